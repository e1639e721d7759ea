//! What a reload means for targets: who comes is scanned at once, who leaves is settled and remembered, who returns is
//! held to what was, and no other name clears a past.

use std::time::Duration;

use super::{home, rename_over, targets};
use crate::sight;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::webhook::Hook;
use crate::support::{eventually, until};

const CONFIRM: Duration = Duration::from_mins(5);

async fn take(daemon: &Daemon, home: &Home, inventory: &str) -> driftd::reload::Reloaded {
    rename_over(home, "inventory.yaml", inventory);
    daemon.reload().await.unwrap_or_else(|refused| panic!("{refused}"))
}

fn shorter(peer: &ScriptedPeer) {
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_is_retired_and_who_returns_is_held_to_what_was() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let inventory = std::fs::read_to_string(home.path().join("inventory.yaml")).unwrap();
    let daemon = Daemon::start(&home).await;
    let baseline = daemon.take_baseline("peer").await;
    shorter(&peer);
    daemon.scan_twice("peer", CONFIRM).await;
    assert_eq!(hook.wait_for(1).await[0].kind(), "drift.opened");

    let gone = take(&daemon, &home, "targets: []\n").await;
    assert_eq!(gone.changes.removed, ["peer".parse().unwrap()]);
    let ended = &hook.wait_for(2).await[1];
    assert_eq!(ended.kind(), "drift.resolved");
    assert_eq!(ended.body["data"]["incident"]["reason"], "retired");
    let row = daemon.target("peer").await;
    assert_eq!((row.target.state.as_str(), row.target.next_scan), ("retired", None));
    assert!(!daemon.metrics().await.contains("target=\"peer\""), "no series of it");
    assert!(daemon.incidents().await.is_empty());

    let asked = peer.asked().len();
    take(&daemon, &home, &inventory).await;
    until("it is scanned at once", || (peer.asked().len() > asked).then_some(())).await;
    daemon.until_target("peer", |target| target.target.state == "active").await;
    let resumed = daemon.baseline("peer").await;
    assert_eq!(resumed.facets.len(), baseline.facets.len(), "what it is held to came back with it");
    daemon.scan_twice("peer", CONFIRM).await;
    assert_eq!(hook.wait_for(3).await[2].kind(), "drift.opened", "no laundering: what changed is told again");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_under_way_of_a_target_that_leaves_is_never_written() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = home(&peer.url(), &["a"]);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("a").await;
    let before = daemon.target("a").await.target.last_scan;
    daemon.advance(CONFIRM);
    peer.shut_gate();
    let scanning = async { daemon.ask(driftd::operations::Request::ScanNow { id: "a".to_owned() }).await };
    let leaving = async {
        until("its scan has begun", || (peer.waiting() > 0).then_some(())).await;
        take(&daemon, &home, "targets: []\n").await;
        peer.open_gate();
    };
    let (scanned, ()) = tokio::join!(scanning, leaving);
    let refused = scanned.unwrap_err().to_string();
    assert!(refused.contains("not in the inventory any more"), "{refused}");
    assert_eq!(daemon.target("a").await.target.last_scan, before);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_under_way_of_a_target_that_moves_begins_anew_where_it_is_now() {
    let (old, new) = (ScriptedPeer::start(Script::default()).await, ScriptedPeer::start(Script::default()).await);
    let home = home(&old.url(), &["a"]);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("a").await;
    old.shut_gate();
    let moving = async {
        until("its scan has begun", || (old.waiting() > 0).then_some(())).await;
        take(&daemon, &home, &format!("targets:\n{}", targets(&new.url(), &["a"]))).await;
    };
    let (scanned, ()) = tokio::join!(daemon.scan("a"), moving);
    assert_eq!(scanned.outcome, "ok", "who asked is answered with what the new place shows");
    assert!(!new.asked().is_empty());
    old.open_gate();
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_target_is_in_no_queue_and_another_cadence_is_another_plan() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = home(&peer.url(), &["a"]);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("a").await;
    assert!(daemon.target("a").await.target.next_scan.is_some());
    let with = |more: &str| format!("targets:\n  - {{ id: a, kind: mcp, url: {:?}{more} }}\n", peer.url());
    take(&daemon, &home, &with(", paused: true")).await;
    let paused = daemon.until_target("a", |target| target.target.next_scan.is_none()).await;
    assert_eq!(paused.target.state, "paused");
    let daily = with(", schedule: { cron: \"0 9 * * *\", timezone: UTC }");
    take(&daemon, &home, &daily).await;
    // It was not to be scanned, and is again: at once, and then by its plan.
    let nine = "2026-12-01T09:00:00Z".parse().unwrap();
    daemon.until_target("a", |target| target.target.next_scan == Some(nine)).await;
    take(&daemon, &home, &with(", schedule: { cron: \"0 10 * * *\", timezone: UTC }")).await;
    let ten = "2026-12-01T10:00:00Z".parse().unwrap();
    daemon.until_target("a", |target| target.target.next_scan == Some(ten)).await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_a_receiver_that_left_wait_until_it_is_back() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let mut hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let driftd = std::fs::read_to_string(home.path().join("driftd.yaml")).unwrap();
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    hook.down().await;
    shorter(&peer);
    daemon.scan_twice("peer", CONFIRM).await;
    eventually("a try has failed", async || {
        daemon.messages().await.first().is_some_and(|message| message.attempts > 0).then_some(())
    })
    .await;
    let without: String = driftd
        .lines()
        .map(|line| {
            if line.contains("name: hook") {
                "  - { name: terminal, console: {} }\n".to_owned()
            } else {
                format!("{line}\n")
            }
        })
        .filter(|line| !line.contains("to: [ hook ]"))
        .collect();
    rename_over(&home, "driftd.yaml", &without);
    daemon.reload().await.unwrap();
    hook.up().await;
    let metrics = daemon.metrics().await;
    assert!(metrics.contains("driftd_outbox_pending{receiver=\"hook\"} 1"), "told as long as it waits: {metrics}");
    assert!(!metrics.contains("driftd_notifications_total{outcome=\"failed\",receiver=\"hook\"}"), "{metrics}");
    let waiting = daemon.messages().await.remove(0);
    assert_eq!(waiting.state, "pending");
    assert!(waiting.error.as_deref().is_some_and(|error| error.contains("left the configuration")), "{waiting:?}");
    rename_over(&home, "driftd.yaml", &driftd);
    daemon.reload().await.unwrap();
    daemon.advance(Duration::from_hours(1));
    assert_eq!(hook.wait_for(1).await[0].kind(), "drift.opened");
    daemon.stop().await;
}
