//! What is owed arrives after the receivers return, under its first id.

use std::time::Duration;

use driftd::operations::document::Message;

use crate::support::daemon::Daemon;
use crate::support::eventually;
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::smtp::Smtp;
use crate::support::webhook::Hook;
use crate::upgrade;

#[tokio::test(flavor = "multi_thread")]
async fn messages_owed_while_mail_and_webhook_are_down_arrive_under_their_first_ids() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let mut smtp = Smtp::start().await;
    let mut hook = Hook::start().await;
    let home = upgrade::home(&peer.url(), &smtp, &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("everything").await;
    smtp.down();
    hook.down().await;

    let old = Script::default().tools.unwrap();
    peer.change(|script| script.tools = Some(vec![old[0].clone()]));
    daemon.scan_twice("everything", Duration::from_mins(5)).await;
    let reference = daemon.incidents().await.remove(0).reference;
    tried(&daemon, 2, 1).await;
    let reject = home.driftd(&["drift", "reject", &reference, "--reason", "nobody told us"]).await;
    assert!(reject.status.success(), "{}", String::from_utf8_lossy(&reject.stderr));
    peer.change(|script| script.tools = Some(old));
    daemon.advance(Duration::from_mins(5));
    daemon.scan_twice("everything", Duration::from_mins(5)).await;
    tried(&daemon, 4, 0).await;
    let owed = daemon.messages().await;
    assert_eq!(owed.len(), 4, "opened and resolved, for two receivers: {owed:#?}");
    assert!(owed.iter().all(|message| message.sent_at.is_none()));

    // A restart forgets nothing of it.
    let now = daemon.now();
    daemon.stop().await;
    let daemon = Daemon::start_at(&home, now).await;
    smtp.up().await;
    hook.up().await;
    for _ in 0..12 {
        daemon.advance(Duration::from_hours(6));
        if daemon.messages().await.iter().all(|message| message.sent_at.is_some()) {
            break;
        }
        settle(&daemon).await;
    }
    let sent = daemon.delivered().await;
    assert_eq!(sent.len(), 4);
    for message in &owed {
        let now = sent.iter().find(|sent| sent.id == message.id).expect("each message keeps its first id");
        assert_eq!(now.state, "sent", "{now:?}");
    }
    let kinds: Vec<String> = hook.deliveries().iter().map(|delivery| delivery.kind().to_owned()).collect();
    assert_eq!(kinds, ["drift.opened", "drift.resolved"], "in order");
    for delivery in hook.deliveries() {
        assert!(owed.iter().any(|message| message.id == delivery.id && message.receiver == "hook"), "{}", delivery.id);
    }
    let mails = smtp.mails();
    assert_eq!(mails.len(), 2);
    for mail in mails {
        let id = mail.header("Message-ID").unwrap();
        assert!(owed.iter().any(|message| id.contains(&message.id)), "{id}");
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_given_up_is_sent_again_by_retry_under_its_id() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let smtp = Smtp::start().await;
    let hook = Hook::start().await;
    let home = upgrade::home(&peer.url(), &smtp, &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("everything").await;
    hook.refuse(http::StatusCode::GONE);
    peer.change(|script| script.tools = Some(Vec::new()));
    daemon.scan_twice("everything", Duration::from_mins(5)).await;
    let messages = daemon.delivered().await;
    let dead = messages.iter().find(|message| message.state == "dead").expect("410 gives up for good");
    assert_eq!(dead.receiver, "hook");
    hook.accept();
    let retry = home.driftd(&["alerts", "retry"]).await;
    assert!(retry.status.success(), "{}", String::from_utf8_lossy(&retry.stderr));
    let delivery = hook.wait_for(1).await.remove(0);
    assert_eq!(delivery.id, dead.id);
    assert!(hook.tries().iter().all(|id| *id == dead.id), "the same id on each try");
    daemon.stop().await;
}

/// Waits until `messages` messages have been tried at least `attempts` times.
async fn tried(daemon: &Daemon, messages: usize, attempts: u32) {
    eventually("messages are tried", async || {
        let tried = daemon.messages().await.iter().filter(|message| message.attempts >= attempts).count();
        (tried >= messages).then_some(())
    })
    .await;
}

/// Waits until every message that is due at this instant was tried.
async fn settle(daemon: &Daemon) {
    eventually("what is due is tried", async || {
        let now = daemon.now();
        let due = |message: &Message| message.state == "pending" && message.next_at.is_some_and(|at| at <= now);
        (!daemon.messages().await.iter().any(due)).then_some(())
    })
    .await;
}
