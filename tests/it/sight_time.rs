//! Time and sight: parts that stay unseen for a day, clocks that jump, scans that come late.

use std::time::Duration;

use crate::sight::home;
use crate::support::daemon::Daemon;
use crate::support::peer::{Quirk, Script, ScriptedPeer};
use crate::support::webhook::Hook;

async fn rules(daemon: &Daemon) -> Vec<String> {
    let incidents = daemon.incidents().await;
    incidents.iter().flat_map(|incident| incident.units.iter().map(|unit| unit.rule.clone())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_stays_unseen_for_a_day_is_told_as_blind_and_ends_when_it_is_read() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    peer.change(|script| script.quirk = Quirk::ListStatus(500));
    for _ in 0..4 {
        daemon.advance(Duration::from_mins(5));
        daemon.scan("peer").await;
    }
    let before = rules(&daemon).await;
    assert!(before.iter().all(|rule| !rule.starts_with("scan.blind")), "{before:?}");
    daemon.advance(Duration::from_hours(23));
    daemon.scan("peer").await;
    assert!(rules(&daemon).await.iter().all(|rule| !rule.starts_with("scan.blind")), "not before a day is over");
    daemon.advance(Duration::from_hours(2));
    daemon.scan("peer").await;
    assert_eq!(rules(&daemon).await, ["scan.blind"], "{:#?}", daemon.incidents().await);
    daemon.delivered().await;
    let told = hook.deliveries();
    let last = &told.last().unwrap().body["data"];
    assert_eq!(last["severity"], "high", "{last:#}");
    let count = told.len();
    daemon.advance(Duration::from_hours(24));
    daemon.scan("peer").await;
    daemon.delivered().await;
    assert_eq!(hook.deliveries().len(), count, "it is told once");

    peer.change(|script| script.quirk = Quirk::None);
    daemon.advance(Duration::from_mins(5));
    daemon.scan("peer").await;
    assert!(daemon.incidents().await.is_empty());
    daemon.delivered().await;
    assert_eq!(hook.deliveries().last().unwrap().kind(), "sight.back");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_leaps_confirms_nothing_by_itself() {
    let mut peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    peer.down().await;
    daemon.scan("peer").await;
    daemon.advance(Duration::from_hours(5));
    let scanned = daemon.scan("peer").await;
    assert_eq!((scanned.pending, scanned.open), (1, 0), "two failures are too few, however far apart");
    let soon = daemon.now() + Duration::from_mins(2);
    assert!(scanned.recheck.is_some_and(|at| at <= soon), "the third is looked for at once: {scanned:?}");
    daemon.advance(Duration::from_mins(2));
    assert_eq!(daemon.scan("peer").await.open, 1);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_put_back_freezes_no_outage() {
    let mut peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    daemon.advance(Duration::from_hours(30));
    peer.down().await;
    daemon.scan("peer").await;
    daemon.put_back(Duration::from_hours(24));
    for _ in 0..3 {
        daemon.scan("peer").await;
        daemon.advance(Duration::from_mins(6));
    }
    assert_eq!(daemon.scan("peer").await.open, 1, "it is confirmed by the time that is now");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_we_are_late_for_is_stale_and_not_to_blame() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    assert_eq!(daemon.metric("driftd_target_stale").await, 0.0);
    // The next scan begins and does not end.
    peer.shut_gate();
    daemon.advance(Duration::from_hours(80));
    assert_eq!(daemon.metric("driftd_target_stale").await, 1.0);
    peer.open_gate();
    daemon.scan("peer").await;
    assert_eq!(daemon.metric("driftd_target_stale").await, 0.0);
    assert!(daemon.incidents().await.is_empty());
    daemon.stop().await;
}
