use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use super::*;
use crate::model::notice::Message;
use crate::model::receiver::{Channel, Email, Receiver, SmtpLogin};
use crate::model::secret::SecretRef;
use crate::receiver::Receivers;
use crate::receiver::sample::{self, Known};

/// What the relay answers to each command, by its first word (`END` is the end of the mail); `250 ok` where nothing is
/// said. An empty answer is a hang.
type Script = &'static [(&'static str, &'static str)];

const HELLO: &str = "250-relay\r\n250 AUTH PLAIN LOGIN";

/// Plays `script` on one connection; what it was told, a line each.
async fn play(listener: &TcpListener, script: Script) -> Vec<String> {
    let (stream, _) = listener.accept().await.unwrap();
    let mut stream = BufReader::new(stream);
    let answer = |command: &str| {
        let found = script.iter().find(|(word, _)| command.starts_with(word)).map(|(_, answer)| *answer);
        found.unwrap_or(match command {
            "GREETING" => "220 ready",
            command if command.starts_with("EHLO") => HELLO,
            "DATA" => "354 go on",
            _ => "250 ok",
        })
    };
    let mut told = vec!["GREETING".to_owned()];
    let mut in_data = false;
    loop {
        let line = told.last().unwrap().clone();
        let command = if in_data && line == "." { "END".to_owned() } else { line };
        if !in_data || command == "END" {
            let text = answer(&command);
            if text.is_empty() {
                std::future::pending::<()>().await;
            }
            in_data = command == "DATA" && text.starts_with('3');
            if stream.get_mut().write_all(format!("{text}\r\n").as_bytes()).await.is_err() {
                return told;
            }
        }
        let mut next = String::new();
        if !matches!(stream.read_line(&mut next).await, Ok(1..)) {
            return told;
        }
        told.push(next.trim_end().to_owned());
    }
}

fn email(port: u16, tls: SmtpTls, login: bool) -> Email {
    let login =
        login.then(|| SmtpLogin { username: "driftd".to_owned(), password: SecretRef::Env("PASSWORD".to_owned()) });
    Email {
        from: "driftd@example.com".to_owned(),
        to: vec!["one@example.com".to_owned(), "two@example.com".to_owned()],
        smtp: Smtp { host: Ipv4Addr::LOCALHOST.to_string(), port, tls, ca: None, login },
    }
}

fn receivers(email: Email, limits: Limits) -> Receivers {
    let receiver = Receiver { name: "mail".to_owned(), channel: Channel::Email(Box::new(email)) };
    let known = Known(BTreeMap::from([("PASSWORD", "s3cret".to_owned())]));
    Receivers::new(&[receiver], Arc::new(known), limits).unwrap()
}

async fn try_once(
    script: Script,
    message: &Message,
    tls: SmtpTls,
    login: bool,
) -> (Result<(), DeliveryError>, Vec<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let receivers = receivers(email(listener.local_addr().unwrap().port(), tls, login), sample::limits());
    tokio::join!(receivers.send(message, jiff::Timestamp::UNIX_EPOCH), play(&listener, script))
}

async fn outcome(script: Script) -> Result<(), DeliveryError> {
    try_once(script, &sample::message("m-1", "mail"), SmtpTls::None, true).await.0
}

const fn transient(reason: Reason, code: u16) -> DeliveryError {
    DeliveryError::Transient { reason, code: Some(code), retry_after: None }
}

#[tokio::test]
async fn a_mail_is_handed_over_after_a_login_and_a_farewell_follows() {
    let (outcome, told) = try_once(&[("AUTH", "235 in")], &sample::message("m-1", "mail"), SmtpTls::None, true).await;
    assert_eq!(outcome, Ok(()));
    let commands: Vec<_> = told.iter().filter(|line| !line.contains(": ")).map(String::as_str).collect();
    assert_eq!(commands[2], "AUTH PLAIN AGRyaWZ0ZABzM2NyZXQ=");
    assert_eq!(
        commands[3..7],
        ["MAIL FROM:<driftd@example.com>", "RCPT TO:<one@example.com>", "RCPT TO:<two@example.com>", "DATA",]
    );
    assert_eq!(commands.last(), Some(&"QUIT"));
    assert!(told.contains(&"Message-ID: <m-1@example.com>".to_owned()));
}

#[tokio::test]
async fn a_relay_that_knows_only_login_is_logged_into() {
    let script: Script = &[
        ("EHLO", "250 AUTH LOGIN"),
        ("AUTH LOGIN", "334 VXNlcm5hbWU6"),
        ("ZHJpZnRk", "334 UGFzc3dvcmQ6"),
        ("czNjcmV0", "235 in"),
    ];
    assert_eq!(outcome(script).await, Ok(()));
}

#[tokio::test]
async fn a_refusal_means_what_its_step_says() {
    let cases: [(Script, DeliveryError); 12] = [
        (&[("GREETING", "421 later")], transient(Reason::Unavailable, 421)),
        (&[("GREETING", "554 not you")], transient(Reason::Rejected, 554)),
        (&[("GREETING", "SSH-2.0-x")], DeliveryError::transient(Reason::Protocol)),
        (&[("AUTH", "535 wrong")], transient(Reason::Auth, 535)),
        (&[("AUTH", "454 not now")], transient(Reason::Auth, 454)),
        (&[("EHLO", "250 relay")], DeliveryError::transient(Reason::Auth)),
        (&[("AUTH", "235 in"), ("MAIL", "530 log in")], transient(Reason::Auth, 530)),
        (&[("AUTH", "235 in"), ("MAIL", "451 later")], transient(Reason::Deferred, 451)),
        (&[("AUTH", "235 in"), ("RCPT", "450 greylisted")], transient(Reason::Deferred, 450)),
        (
            &[("AUTH", "235 in"), ("RCPT", "550 nobody")],
            DeliveryError::Permanent { reason: Reason::Rejected, code: Some(550) },
        ),
        (&[("AUTH", "235 in"), ("END", "452 full")], transient(Reason::Deferred, 452)),
        (
            &[("AUTH", "235 in"), ("END", "554 spam")],
            DeliveryError::Permanent { reason: Reason::Rejected, code: Some(554) },
        ),
    ];
    for (script, expected) in cases {
        assert_eq!(outcome(script).await, Err(expected), "{script:?}");
    }
}

#[tokio::test]
async fn a_closed_mailbox_does_not_keep_the_mail_from_the_others() {
    let script: Script = &[("AUTH", "235 in"), ("RCPT TO:<one", "550 nobody")];
    let (outcome, told) = try_once(script, &sample::message("m-1", "mail"), SmtpTls::None, true).await;
    assert_eq!(outcome, Ok(()));
    assert!(told.contains(&"DATA".to_owned()));
}

#[tokio::test]
async fn a_recipient_that_is_put_off_holds_the_mail_back_only_for_a_while() {
    let script: Script = &[("AUTH", "235 in"), ("RCPT TO:<one", "452 over quota")];
    let mut message = sample::message("m-1", "mail");
    for (attempts, expected) in [(0, Err(transient(Reason::Deferred, 452))), (PATIENCE, Ok(()))] {
        message.attempts = attempts;
        let (outcome, told) = try_once(script, &message, SmtpTls::None, true).await;
        assert_eq!(outcome, expected);
        assert_eq!(told.contains(&"DATA".to_owned()), expected.is_ok());
    }
}

#[tokio::test]
async fn without_starttls_nothing_is_said_in_clear() {
    let (outcome, told) = try_once(&[], &sample::message("m-1", "mail"), SmtpTls::StartTls, true).await;
    assert_eq!(outcome, Err(DeliveryError::transient(Reason::Tls)));
    assert!(!told.iter().any(|line| line.starts_with("AUTH") || line.starts_with("MAIL")), "{told:?}");
}

#[tokio::test]
async fn a_relay_that_hangs_is_too_slow_and_one_that_hangs_up_late_is_not() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let message = sample::message("m-1", "mail");
    let short = Limits { email: Duration::from_millis(100), ..sample::limits() };
    for (script, limits, expected) in [
        (&[("DATA", "")] as Script, short, Err(DeliveryError::transient(Reason::Timeout))),
        (&[("QUIT", "")], sample::limits(), Ok(())),
    ] {
        let receivers = receivers(email(listener.local_addr().unwrap().port(), SmtpTls::None, false), limits);
        let outcome = tokio::select! {
            outcome = receivers.send(&message, jiff::Timestamp::UNIX_EPOCH) => outcome,
            _ = play(&listener, script) => panic!("the relay never ends by itself"),
        };
        assert_eq!(outcome, expected, "{script:?}");
    }
}

#[tokio::test]
async fn a_line_without_end_is_cut_off() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let receivers = receivers(email(listener.local_addr().unwrap().port(), SmtpTls::None, false), sample::limits());
    let flood = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut sent = 0_usize;
        while stream.write_all(&[b'2'; 8192]).await.is_ok() {
            sent += 8192;
        }
        sent
    };
    let message = sample::message("m-1", "mail");
    let (outcome, sent) = tokio::join!(receivers.send(&message, jiff::Timestamp::UNIX_EPOCH), flood);
    assert_eq!(outcome, Err(DeliveryError::transient(Reason::Protocol)));
    assert!(sent < 64 * 1024 * 1024, "{sent}");
}

#[tokio::test]
async fn a_password_that_cannot_be_read_sends_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let email = email(listener.local_addr().unwrap().port(), SmtpTls::None, true);
    let receiver = Receiver { name: "mail".to_owned(), channel: Channel::Email(Box::new(email)) };
    let receivers = Receivers::new(&[receiver], Arc::new(Known::default()), sample::limits()).unwrap();
    let outcome = receivers.send(&sample::message("m-1", "mail"), jiff::Timestamp::UNIX_EPOCH).await;
    assert_eq!(outcome, Err(DeliveryError::transient(Reason::SecretUnavailable)));
}
