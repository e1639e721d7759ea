use std::path::PathBuf;

use super::*;
use crate::model::receiver::SmtpTls;
use crate::receiver::sample;

fn email() -> Email {
    Email {
        from: "driftd@example.com".to_owned(),
        to: vec!["ops@example.com".to_owned(), "Second <two@example.org>".to_owned()],
        smtp: Smtp {
            host: "smtp.example.com".to_owned(),
            port: 587,
            tls: SmtpTls::StartTls,
            ca: None::<PathBuf>,
            login: None,
        },
    }
}

fn formatted(message: &Message) -> String {
    let mail = Mailer::new("ops-mail", &email()).unwrap().mail(message).unwrap();
    String::from_utf8(mail.formatted()).unwrap()
}

/// The headers of the mail itself, unfolded.
fn headers(message: &Message) -> Vec<(String, String)> {
    let mail = formatted(message);
    let (head, _) = mail.split_once("\r\n\r\n").unwrap();
    let pair = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
    head.replace("\r\n ", " ").split("\r\n").map(pair).collect()
}

#[test]
fn the_first_mail_of_an_incident_starts_its_thread() {
    let message = sample::message("m-7c1e", "ops-mail");
    let mut headers = headers(&message);
    let (name, kind) = headers.pop().unwrap();
    assert!(name == "Content-Type" && kind.starts_with("multipart/mixed; boundary="), "{name}: {kind}");
    let expected = [
        ("From", "driftd <driftd@example.com>"),
        ("Subject", &message::subject(&message.body)),
        ("Date", "Sun, 09 Sep 2001 01:46:40 +0000"),
        ("Message-ID", "<m-7c1e@example.com>"),
        ("References", "<9XTB4@example.com>"),
        ("Auto-Submitted", "auto-generated"),
        ("X-Driftd", &message::tag(&message.body)),
        ("To", "ops@example.com, Second <two@example.org>"),
        ("MIME-Version", "1.0"),
    ];
    assert_eq!(headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn a_later_mail_answers_in_the_thread() {
    let mut message = sample::message("m-8d2f", "ops-mail");
    message.body.reply = true;
    let headers = headers(&message);
    let value = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    assert_eq!(value("In-Reply-To"), Some("<9XTB4@example.com>"));
    assert_eq!(value("References"), Some("<9XTB4@example.com>"));
    assert_eq!(value("Message-ID"), Some("<m-8d2f@example.com>"));
}

#[test]
fn no_text_can_end_a_header() {
    let mut message = sample::message("m-1\r\nBcc: evil@example.net", "ops-mail");
    message.body.alert.headline = "gone\r\nBcc: evil@example.net\n\n<script>\0".to_owned();
    let names: Vec<_> = headers(&message).into_iter().map(|(name, _)| name).collect();
    let expected = [
        "From",
        "Subject",
        "Date",
        "Message-ID",
        "References",
        "Auto-Submitted",
        "X-Driftd",
        "To",
        "MIME-Version",
        "Content-Type",
    ];
    assert_eq!(names, expected);
    assert_eq!(one_line("a\r\nb\u{85}c\0"), "a  b c ");
    assert_eq!(token("m-1\r\n<x@y>:é"), "m-1---x-y---");
}

#[test]
fn the_mail_is_seven_bit_with_text_and_attachments() {
    let message = sample::message("m-1", "ops-mail");
    let mail = formatted(&message);
    assert!(mail.is_ascii(), "nothing asks more of a relay than the oldest can do");
    assert!(mail.lines().all(|line| line.len() <= 998));
    let parts: Vec<_> = mail
        .replace("\r\n ", " ")
        .lines()
        .filter(|line| line.starts_with("Content-Type") || line.starts_with("Content-Disposition"))
        .skip(1)
        .map(str::to_owned)
        .collect();
    let expected = [
        "Content-Type: text/plain; charset=utf-8",
        "Content-Disposition: attachment; filename=\"9XTB4.1.diff.txt\"",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Disposition: attachment; filename=\"9XTB4.1.json\"",
        "Content-Type: application/json",
    ];
    assert_eq!(parts, expected);
}

#[test]
fn a_mailbox_that_is_none_is_a_mistake_at_the_start() {
    let broken = Email { to: vec!["ops@".to_owned()], ..email() };
    let error = Mailer::new("ops-mail", &broken).unwrap_err();
    assert_eq!(error.to_string(), "receiver ops-mail: \"ops@\" is no mailbox");
    let nobody = Email { to: Vec::new(), ..email() };
    assert!(matches!(Mailer::new("ops-mail", &nobody), Err(BuildError::NoRecipient { .. })));
    assert!(Mailer::new("m", &Email { from: "a@b.c\r\nBcc: d@e.f".to_owned(), ..email() }).is_err());
}
