//! Scans come by plan, by need, and never more of them than the guest rules allow.

use std::time::Duration;

use driftd::operations::Request;
use jiff::Timestamp;

use crate::sight;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Quirk, Script, ScriptedPeer};
use crate::support::until;
use crate::support::webhook::Hook;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn home(scan: &str, targets: &str) -> Home {
    let driftd = format!(
        "metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\nreceivers: [ {{ name: terminal, console: {{}} }} ]\n{scan}"
    );
    Home::with(&driftd, targets)
}

#[tokio::test(flavor = "multi_thread")]
async fn cron_keeps_its_hour_over_a_change_of_summer_time() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let target = format!(
        "  - {{ id: peer, kind: mcp, url: {:?}, schedule: {{ cron: \"0 9 * * *\", timezone: Europe/Madrid }} }}\n",
        peer.url()
    );
    let home = home("", &target);
    let daemon = Daemon::start_at(&home, at("2026-10-24T06:30:00Z")).await;
    daemon.advance(Duration::from_secs(10));
    let first = daemon.until_target("peer", |target| target.target.last_scan.is_some()).await;
    assert_eq!(first.target.outcome.as_deref(), Some("ok"), "at once, not at nine");
    daemon.advance(Duration::from_mins(5));
    let scanned = daemon.until_target("peer", |target| target.target.baseline_facets > 0).await;
    let nine = at("2026-10-24T07:00:00Z");
    assert_eq!(scanned.target.next_scan, Some(nine), "nine o'clock in summer");
    daemon.advance(Duration::from_mins(30));
    let scanned = daemon.until_target("peer", |target| target.target.last_scan >= Some(nine)).await;
    assert_eq!(scanned.target.next_scan, Some(at("2026-10-25T08:00:00Z")), "nine o'clock in winter");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_looked_at_again_by_itself_as_soon_as_it_can_be_confirmed() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    let now = daemon.now();
    let scanned = daemon.scan("peer").await;
    assert_eq!(scanned.recheck, Some(now + Duration::from_mins(5)));
    assert_eq!(daemon.target("peer").await.target.next_scan, scanned.recheck);
    daemon.advance(Duration::from_mins(5));
    assert_eq!(hook.wait_for(1).await[0].kind(), "drift.opened", "nobody asked for that scan");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_what_is_pending_and_how_often_it_was_seen() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    assert!(daemon.scan("peer").await.pending > 0);
    let now = daemon.now();
    daemon.stop().await;
    let daemon = Daemon::start_at(&home, now).await;
    assert_eq!(daemon.drifts().await[0].state, "pending");
    let due = daemon.until_target("peer", |target| target.target.next_scan.is_some()).await.target.next_scan;
    assert_eq!(due, Some(now + Duration::from_mins(5)), "the confirming scan is still due");
    daemon.advance(Duration::from_mins(5));
    hook.wait_for(1).await;
    assert_eq!(daemon.incidents().await[0].units[0].rule, "tool.removed", "one more sighting is enough");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_us_to_wait_is_not_asked_before() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home_with(&peer.url(), &hook, "every: 1m");
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    peer.change(|script| script.quirk = Quirk::RateLimited(3600));
    let now = daemon.now();
    let scanned = daemon.scan("peer").await;
    assert_eq!(scanned.outcome, "rate_limited");
    let wait = now + Duration::from_hours(1);
    assert_eq!(daemon.target("peer").await.target.next_scan, Some(wait), "{scanned:?}");
    let asked = peer.asked().len();
    peer.change(|script| script.quirk = Quirk::None);
    daemon.advance(Duration::from_hours(1));
    let after = daemon.until_target("peer", |target| target.target.last_scan >= Some(wait)).await;
    assert_eq!(after.target.outcome.as_deref(), Some("ok"));
    assert!(peer.asked().len() > asked);
    assert!(daemon.incidents().await.is_empty(), "one 429 is nothing to tell");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_target_is_left_alone_until_somebody_asks() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let other = ScriptedPeer::start(Script::default()).await;
    let targets = format!(
        "  - {{ id: still, kind: mcp, url: {:?}, every: 1m, paused: true }}\n  \
         - {{ id: other, kind: mcp, url: {:?}, every: 1m }}\n",
        peer.url(),
        other.url()
    );
    let home = home("", &targets);
    let daemon = Daemon::start(&home).await;
    for _ in 0..3 {
        let other = daemon.until_target("other", |target| target.target.next_scan > Some(daemon.now())).await;
        let due = other.target.next_scan.unwrap();
        daemon.advance(due.duration_since(daemon.now()).unsigned_abs());
        daemon.until_target("other", |target| target.target.last_scan >= Some(due)).await;
    }
    let target = daemon.target("still").await.target;
    assert_eq!((target.state.as_str(), target.next_scan, target.last_scan), ("paused", None, None));
    assert!(peer.asked().is_empty());
    assert_eq!(daemon.scan("still").await.outcome, "ok");
    assert_eq!(daemon.target("still").await.target.next_scan, None);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_asked_by_so_many_scans_at_once_and_no_target_by_two() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let target = |id: &str| format!("  - {{ id: {id}, kind: mcp, url: {:?}, every: 24h }}\n", peer.url());
    let home = home("scan: { per_host: 2 }\n", &["a", "b", "c"].map(target).concat());
    let daemon = Daemon::start(&home).await;
    peer.shut_gate();
    let ask = |id: &str| daemon.ask(Request::ScanNow { id: id.to_owned() });
    let scans = async { tokio::join!(ask("a"), ask("a"), ask("b"), ask("b"), ask("c")) };
    let gate = async {
        until("two scans wait at the gate", || (peer.waiting() == 2).then_some(())).await;
        // One by one, so that what the limits hold back would show beside the others.
        while peer.asked().len() < 6 {
            let asked = peer.asked().len();
            peer.let_in(1);
            until("a request was answered", || (peer.asked().len() > asked).then_some(())).await;
        }
        peer.open_gate();
    };
    let (answers, ()) = tokio::join!(scans, gate);
    for answer in [answers.0, answers.1, answers.2, answers.3, answers.4] {
        answer.unwrap();
    }
    assert_eq!(peer.most_waiting(), 2);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_asked_for_while_it_is_scanned_is_scanned_after_that_and_not_beside_it() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let target = format!("  - {{ id: a, kind: mcp, url: {:?}, every: 24h }}\n", peer.url());
    let home = home("scan: { per_host: 8 }\n", &target);
    let daemon = Daemon::start(&home).await;
    peer.shut_gate();
    let ask = || daemon.ask(Request::ScanNow { id: "a".to_owned() });
    let scans = async { tokio::join!(ask(), ask(), ask()) };
    let gate = async {
        // Each request is let in by itself: a second scan would wait beside it.
        loop {
            until("a request waits", || (peer.waiting() > 0).then_some(())).await;
            let asked = peer.asked().len();
            peer.let_in(1);
            until("it was answered", || (peer.asked().len() > asked).then_some(())).await;
        }
    };
    let answers = tokio::select! {
        answers = scans => answers,
        () = gate => unreachable!("the gate has no end"),
    };
    for answer in [answers.0, answers.1, answers.2] {
        answer.unwrap();
    }
    assert_eq!(peer.most_waiting(), 1);
    daemon.stop().await;
}
