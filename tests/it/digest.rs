//! What can wait comes in one message a week, where no routes say otherwise.

use std::time::Duration;

use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::webhook::Hook;

/// The Monday after the daemon's first day (Monday, 2026-11-30, 12:00), and the one after that.
const MONDAYS: [&str; 2] = ["2026-12-07T08:00:00Z", "2026-12-14T08:00:00Z"];

/// A webhook receiver and no routes; each of `targets` is asked by the test alone.
pub(crate) fn home(hook: &Hook, targets: &[(&str, &str)]) -> Home {
    let targets: String =
        targets.iter().map(|(id, url)| format!("  - {{ id: {id}, kind: mcp, url: {url:?}, every: 24h }}\n")).collect();
    Home::told_by(hook, "", &targets)
}

/// Moves the daemon's wall time to `instant`.
pub(crate) fn move_to(daemon: &Daemon, instant: &str) {
    let instant: jiff::Timestamp = instant.parse().unwrap();
    daemon.advance(Duration::try_from(instant.duration_since(daemon.now())).unwrap());
}

/// Another description of the first tool: nobody's calls fail by it.
fn describe(peer: &ScriptedPeer, words: &str) {
    peer.change(|script| {
        script.tools.as_mut().unwrap()[0]["description"] = words.into();
    });
}

fn passages(body: &serde_json::Value) -> Vec<(String, String)> {
    let passages = body["data"]["passages"].as_array().unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let lines = |passage: &serde_json::Value| {
        passage["lines"].as_array().unwrap().iter().map(text).collect::<Vec<_>>().join("\n")
    };
    passages.iter().map(|passage| (text(&passage["heading"]), lines(passage))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_wait_is_told_on_monday_and_its_end_on_the_next_whatever_restarts_in_between() {
    let peers = [ScriptedPeer::start(Script::default()).await, ScriptedPeer::start(Script::default()).await];
    let hook = Hook::start().await;
    let home = home(&hook, &[("stays", &peers[0].url()), ("goes", &peers[1].url())]);
    let daemon = Daemon::start(&home).await;
    for (id, peer) in [("stays", &peers[0]), ("goes", &peers[1])] {
        daemon.take_baseline(id).await;
        describe(peer, "Reads one invoice, in a few other words.");
        daemon.scan_twice(id, Duration::from_mins(5)).await;
    }
    assert_eq!(daemon.incidents().await.len(), 2);
    describe(&peers[1], Script::default().tools.unwrap()[0]["description"].as_str().unwrap());
    daemon.scan_twice("goes", Duration::from_mins(5)).await;
    let incidents = daemon.incidents().await;
    let reference = &incidents[0].reference;
    assert_eq!((incidents.len(), incidents[0].target.as_str()), (1, "stays"));
    assert!(daemon.messages().await.is_empty() && hook.tries().is_empty());
    assert!(daemon.metric("driftd_outbox_pending").await < 1.0, "what waits for the digest is not stuck");

    let now = daemon.now();
    daemon.stop().await;
    let daemon = Daemon::start_at(&home, now).await;
    move_to(&daemon, MONDAYS[0]);
    let digest = hook.wait_for(1).await.remove(0);
    assert_eq!((digest.kind(), digest.signed), ("digest", true));
    assert_eq!(digest.body["data"]["incident"], serde_json::Value::Null);
    let told = passages(&digest.body);
    let headings: Vec<&str> = told.iter().map(|(heading, _)| heading.as_str()).collect();
    assert_eq!(headings, ["NEW", "CAME AND WENT"]);
    assert!(told[0].1.contains(&format!("driftd drift show {reference}")), "{told:#?}");
    assert!(told[0].1.contains("stays: ") && told[1].1.contains("goes ("), "{told:#?}");

    // It is told once; the end comes with the next digest, as it came with this one.
    let now = daemon.now();
    daemon.stop().await;
    let daemon = Daemon::start_at(&home, now).await;
    daemon.delivered().await;
    describe(&peers[0], Script::default().tools.unwrap()[0]["description"].as_str().unwrap());
    daemon.scan_twice("stays", Duration::from_mins(5)).await;
    assert!(daemon.incidents().await.is_empty());
    move_to(&daemon, MONDAYS[1]);
    let digests = hook.wait_for(2).await;
    let over = passages(&digests[1].body);
    assert_eq!((over.len(), over[0].0.as_str()), (1, "OVER"));
    assert!(over[0].1.contains("back as it was"), "{over:#?}");
    daemon.delivered().await;
    daemon.stop().await;
    assert_eq!(hook.deliveries().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_calls_does_not_wait_and_takes_along_what_did() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = home(&hook, &[("tickets", &peer.url())]);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("tickets").await;
    describe(&peer, "Reads one invoice, in a few other words.");
    daemon.scan_twice("tickets", Duration::from_mins(5)).await;
    assert!(daemon.messages().await.is_empty());
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    daemon.scan_twice("tickets", Duration::from_mins(5)).await;
    let opened = hook.wait_for(1).await.remove(0);
    assert_eq!((opened.kind(), &opened.body["data"]["incident"]["revision"]), ("drift.opened", &2.into()));
    assert!(opened.body["data"]["units"].as_array().unwrap().len() > 1, "both are in it");
    daemon.stop().await;
    let daemon = Daemon::start_at(&home, "2026-12-01T07:00:00Z".parse().unwrap()).await;
    peer.change(|script| *script = Script::default());
    daemon.scan_twice("tickets", Duration::from_mins(5)).await;
    let kinds: Vec<String> = hook.wait_for(2).await.iter().map(|delivery| delivery.kind().to_owned()).collect();
    assert_eq!(kinds, ["drift.opened", "drift.resolved"]);
    move_to(&daemon, MONDAYS[0]);
    daemon.delivered().await;
    daemon.stop().await;
    assert_eq!(hook.deliveries().len(), 2, "nothing is left for the digest");
}
