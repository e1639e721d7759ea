//! Receivers that fail: how long they are tried, who hears of it, and what can be done by hand.

use std::time::Duration;

use driftd::operations::document::Message;
use http::StatusCode;

use crate::digest;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::ports::free_port;
use crate::support::smtp::{PASSWORD, Smtp, USER};
use crate::support::webhook::Hook;
use crate::support::{eventually, until};
use crate::upgrade;

/// The message of `receiver` about an incident.
async fn message(daemon: &Daemon, receiver: &str) -> Message {
    let about = |message: &Message| message.receiver == receiver && message.incident.is_some();
    eventually("a message is owed", async || daemon.messages().await.into_iter().find(about)).await
}

/// Waits until the message of `receiver` was tried more than `tries` times, or is not on its way any more.
async fn tried(daemon: &Daemon, receiver: &str, tries: u32) -> Message {
    eventually("a message is tried", async || {
        let message = message(daemon, receiver).await;
        (message.attempts > tries || message.state != "pending").then_some(message)
    })
    .await
}

/// Goes to the instant at which the message of `receiver` is tried next.
async fn next_try(daemon: &Daemon, receiver: &str) -> Message {
    let message = message(daemon, receiver).await;
    let next = message.next_at.expect("it is on its way");
    daemon.advance(Duration::try_from(next.duration_since(daemon.now())).unwrap_or_default());
    tried(daemon, receiver, message.attempts).await
}

/// Has the first round told, so that its report is no message of these stories.
async fn first_round(daemon: &Daemon, hook: &Hook) {
    daemon.scan("everything").await;
    daemon.housekeep().await;
    until("the first round is told", || (!hook.reports().is_empty()).then_some(())).await;
}

async fn drift(daemon: &Daemon, peer: &ScriptedPeer) {
    daemon.take_baseline("everything").await;
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    daemon.scan_twice("everything", Duration::from_mins(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_receiver_is_told_through_the_other_over_a_restart_and_again_when_it_works() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (smtp, hook) = (Smtp::start().await, Hook::start().await);
    let home = upgrade::home(&peer.url(), &smtp, &hook);
    let daemon = Daemon::start(&home).await;
    first_round(&daemon, &hook).await;
    hook.refuse(StatusCode::INTERNAL_SERVER_ERROR);
    drift(&daemon, &peer).await;
    smtp.wait_for(1).await;
    tried(&daemon, "hook", 0).await;
    next_try(&daemon, "hook").await;
    let now = daemon.now();
    daemon.stop().await;
    let daemon = Daemon::start_at(&home, now).await;
    assert_eq!(next_try(&daemon, "hook").await.attempts, 3);
    assert_eq!(smtp.mails().len(), 1, "three failures are nobody's alarm");
    next_try(&daemon, "hook").await;
    let mail = smtp.wait_for(2).await.remove(1);
    assert_eq!(mail.header("Subject").as_deref(), Some("HIGH driftd: receiver hook takes no messages"));
    let text = mail.text();
    for words in ["4 tries in a row", "1 message waits for it", "(status 500)", "driftd receiver test hook"] {
        assert!(text.contains(words), "{words:?} is not in:\n{text}");
    }
    next_try(&daemon, "hook").await;
    hook.accept();
    next_try(&daemon, "hook").await;
    let mail = smtp.wait_for(3).await.remove(2);
    assert_eq!(mail.header("Subject").as_deref(), Some("INFO driftd: receiver hook takes messages again"));
    daemon.delivered().await;
    daemon.stop().await;
    assert_eq!((smtp.mails().len(), hook.deliveries().len()), (3, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_tried_ten_times_over_days_and_restarts_and_comes_back_by_retry() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (smtp, hook) = (Smtp::start().await, Hook::start().await);
    let home = upgrade::home(&peer.url(), &smtp, &hook);
    let mut daemon = Daemon::start(&home).await;
    hook.refuse(StatusCode::BAD_REQUEST);
    drift(&daemon, &peer).await;
    let first = tried(&daemon, "hook", 0).await;
    let mut waits = Vec::new();
    for _ in 0..9 {
        let before = daemon.now();
        next_try(&daemon, "hook").await;
        let now = daemon.now();
        waits.push(now.duration_since(before).as_secs());
        daemon.stop().await;
        daemon = Daemon::start_at(&home, now).await;
    }
    let dead = message(&daemon, "hook").await;
    assert_eq!((dead.state.as_str(), dead.attempts, &dead.id), ("dead", 10, &first.id));
    assert!(hook.tries().iter().all(|id| *id == first.id) && hook.tries().len() == 10, "{:?}", hook.tries());
    for (wait, hours) in waits[3..].iter().zip([2, 5, 10, 14, 20, 24]) {
        let planned = hours * 3600;
        assert!((planned * 4 / 5..=planned * 6 / 5).contains(wait), "{waits:?}");
    }
    // The other receiver is told of both, and lists say so too.
    for told in ["HIGH driftd: receiver hook takes no messages", "HIGH driftd: a message to hook was given up"] {
        until(told, || smtp.mails().iter().any(|mail| mail.header("Subject").as_deref() == Some(told)).then_some(()))
            .await;
    }
    let listed = home.driftd(&["alerts", "--dead"]).await;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("dead (the receiver's server rejected the message (status 400))"), "{listed}");
    assert_eq!(listed.lines().count(), 2, "a head and one message: {listed}");

    hook.accept();
    let retry = home.driftd(&["alerts", "retry", &first.id]).await;
    assert_eq!(String::from_utf8_lossy(&retry.stdout), "1 to be sent again\n");
    assert_eq!(hook.wait_for(1).await[0].id, first.id);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_gone_is_tried_once_a_day_and_what_waits_for_it_is_not_lost() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (smtp, hook) = (Smtp::start().await, Hook::start().await);
    let home = upgrade::home(&peer.url(), &smtp, &hook);
    let daemon = Daemon::start(&home).await;
    first_round(&daemon, &hook).await;
    hook.refuse(StatusCode::GONE);
    drift(&daemon, &peer).await;
    let dead = tried(&daemon, "hook", 0).await;
    assert_eq!(dead.state, "dead");
    let told = smtp.wait_for(2).await;
    let subject = "HIGH driftd: receiver hook is tried once a day only";
    assert!(told.iter().any(|mail| mail.header("Subject").as_deref() == Some(subject)));
    assert!((daemon.metric("driftd_receiver_suspended{receiver=\"hook\"}").await - 1.0).abs() < f64::EPSILON);

    // A second message waits, over a restart; no try is made before the day is over.
    peer.change(|script| *script = Script::default());
    daemon.scan_twice("everything", Duration::from_mins(5)).await;
    smtp.wait_for(3).await;
    let now = daemon.now();
    daemon.stop().await;
    let daemon = Daemon::start_at(&home, now).await;
    assert_eq!(hook.tries().len(), 1);
    for day in 2..=3 {
        daemon.advance(Duration::from_hours(24));
        eventually("the daily try is made", async || (hook.tries().len() == day).then_some(())).await;
    }
    hook.accept();
    daemon.advance(Duration::from_hours(24));
    let delivered = hook.wait_for(1).await;
    assert_eq!(delivered[0].kind(), "drift.resolved");
    daemon.delivered().await;
    assert!(daemon.metric("driftd_receiver_suspended{receiver=\"hook\"}").await < 1.0);
    let subject = "INFO driftd: receiver hook takes messages again";
    assert!(smtp.wait_for(4).await.iter().any(|mail| mail.header("Subject").as_deref() == Some(subject)));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_asks_for_a_pause_is_left_alone_for_it() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (smtp, hook) = (Smtp::start().await, Hook::start().await);
    let home = upgrade::home(&peer.url(), &smtp, &hook);
    let daemon = Daemon::start(&home).await;
    hook.refuse_for(StatusCode::TOO_MANY_REQUESTS, 90);
    drift(&daemon, &peer).await;
    let message = tried(&daemon, "hook", 0).await;
    assert_eq!(message.next_at.unwrap().duration_since(daemon.now()).as_secs(), 90);
    // Another message of the same receiver waits as well.
    peer.change(|script| script.tools = Some(Vec::new()));
    daemon.scan("everything").await;
    hook.accept();
    daemon.advance(Duration::from_secs(89));
    smtp.wait_for(1).await;
    assert_eq!(hook.tries().len(), 1);
    daemon.advance(Duration::from_secs(1));
    hook.wait_for(1).await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmed_drift_reaches_the_webhook_and_the_time_it_takes_is_printed() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = digest::home(&hook, &[("everything", &peer.url())]);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("everything").await;
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    daemon.scan("everything").await;
    daemon.advance(Duration::from_mins(5));
    let began = tokio::time::Instant::now();
    daemon.scan("everything").await;
    let scanned = began.elapsed();
    hook.wait_for(1).await;
    let told = began.elapsed();
    // For whoever looks (`--nocapture`); a budget is for benchmarks, not for tests.
    println!("from the confirming scan's begin to its end {scanned:?}, to the webhook's arrival {told:?}");
    daemon.stop().await;
}

/// A home with one receiver.
fn with(receiver: &str) -> Home {
    let home = Home::new();
    home.write(
        "driftd.yaml",
        &format!("metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\nreceivers: [ {receiver} ]\n"),
    );
    home.write("inventory.yaml", "targets: []\n");
    home
}

fn mail(smtp: &Smtp, tls: &str, password: &std::path::Path) -> String {
    format!(
        "{{ name: owners, email: {{ from: driftd@example.com, to: [ owners@example.com ], smtp: {{ host: localhost, \
         port: {}, tls: {tls}, ca: {:?}, username: {USER}, password: {{ file: {password:?} }} }} }} }}",
        smtp.port(),
        smtp.ca()
    )
}

/// What `receiver test` prints, its code first; ports and ids are not shown.
async fn test(home: &Home, name: &str) -> String {
    let output = home.driftd(&["receiver", "test", name]).await;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(!format!("{out}{err}").contains(PASSWORD), "{out}{err}");
    let mut shown = format!("{}\n{out}", output.status.code().unwrap());
    if !err.is_empty() {
        shown.push_str(&err);
    }
    let words = shown.split_inclusive([' ', '\n']).map(|word| {
        let (body, end) = word.split_at(word.trim_end().len());
        let body = match body.rsplit_once(':') {
            Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("{host}:PORT")
            }
            _ if body.starts_with("b-") => "ID".to_owned(),
            _ => body.to_owned(),
        };
        format!("{body}{end}")
    });
    let shown: String = words.collect();
    shown.replace(&home.path().display().to_string(), "HOME").replace("::1, 127.0.0.1", "127.0.0.1")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_says_what_happened_on_the_way_without_a_daemon() {
    let smtp = Smtp::start().await;
    let hook = Hook::start().await;
    let right = Home::new();
    let password = right.write("password", PASSWORD);
    let wrong = right.write("wrong", "not the password");
    let webhook = |url: &str| format!("{{ name: hook, webhook: {{ url: {url:?} }} }}");
    let secrets = right.path().display().to_string();
    let mut said = Vec::new();
    let mut say =
        async |what: &str, home: Home, name: &str| said.push(format!("== {what}\n{}", test(&home, name).await));
    say("mail arrives", with(&mail(&smtp, "starttls", &password)), "owners").await;
    say("a wrong password", with(&mail(&smtp, "starttls", &wrong)), "owners").await;
    say("TLS from the first byte where it is not spoken", with(&mail(&smtp, "implicit", &password)), "owners").await;
    say("a webhook arrives", with(&webhook(&hook.url())), "hook").await;
    hook.refuse(StatusCode::INTERNAL_SERVER_ERROR);
    say("its server fails", with(&webhook(&hook.url())), "hook").await;
    hook.refuse(StatusCode::FOUND);
    say("it points elsewhere", with(&webhook(&hook.url())), "hook").await;
    say("nothing listens", with(&webhook(&format!("http://127.0.0.1:{}/hook", free_port()))), "hook").await;
    say("a wrong name", with(&webhook(&hook.url())), "hok").await;
    assert_eq!(smtp.mails().len(), 1);
    let subject = smtp.mails()[0].header("Subject");
    assert_eq!(subject.as_deref(), Some("INFO driftd: test: messages of driftd arrive here"));
    assert_eq!(hook.deliveries()[0].kind(), "test");
    insta::assert_snapshot!(said.join("\n").replace(&secrets, "SECRETS"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_through_the_daemon_sends_what_waits_when_it_works_and_shows_no_secret_url() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = Home::new();
    let url = home.write("hook-url", &hook.url());
    home.write(
        "driftd.yaml",
        &format!(
            "metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\n\
             receivers: [ {{ name: hook, webhook: {{ url: {{ file: {url:?} }} }} }} ]\n"
        ),
    );
    home.write(
        "inventory.yaml",
        &format!("targets:\n  - {{ id: everything, kind: mcp, url: {:?}, every: 24h }}\n", peer.url()),
    );
    let daemon = Daemon::start(&home).await;
    hook.refuse(StatusCode::SERVICE_UNAVAILABLE);
    drift(&daemon, &peer).await;
    tried(&daemon, "hook", 0).await;
    let failed = test(&home, "hook").await;
    assert!(failed.starts_with("3\n") && failed.contains("not delivered: "), "{failed}");
    assert!(failed.contains("the http URL of file HOME/hook-url") && !failed.contains("/hook\n"), "{failed}");
    hook.accept();
    let works = test(&home, "hook").await;
    assert!(works.starts_with("0\n") && works.ends_with("delivered\n"), "{works}");
    let kinds: Vec<String> = hook.wait_for(2).await.iter().map(|delivery| delivery.kind().to_owned()).collect();
    assert_eq!(kinds, ["test", "drift.opened"], "what waited goes out, long before its own time");
    daemon.stop().await;
}
