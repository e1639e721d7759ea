//! After days without a look, what changed meanwhile is one message; each incident is decided by itself.

use std::time::Duration;

use crate::sight_hosts::home;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::webhook::Hook;

const IDS: [&str; 2] = ["a", "b"];

/// Two targets, a daemon that was stopped, and what both of them changed meanwhile.
async fn changed_meanwhile(days: u64) -> (Vec<ScriptedPeer>, Hook, Home, Daemon) {
    let mut peers = Vec::new();
    for _ in IDS {
        peers.push(ScriptedPeer::start(Script::default()).await);
    }
    let hook = Hook::start().await;
    let targets: Vec<(&str, String)> = IDS.into_iter().zip(peers.iter().map(ScriptedPeer::url)).collect();
    let home = home(&targets, &hook);
    let daemon = Daemon::start(&home).await;
    all(&daemon, 0).await;
    all(&daemon, 5).await;
    let now = daemon.now();
    daemon.stop().await;
    for peer in &peers {
        peer.change(|script| script.tools = script.tools.take().map(|tools| tools[..1].to_vec()));
    }
    let daemon = Daemon::start_at(&home, now + Duration::from_hours(24 * days)).await;
    (peers, hook, home, daemon)
}

async fn all(daemon: &Daemon, minutes: u64) {
    daemon.advance(Duration::from_mins(minutes));
    for id in IDS {
        daemon.scan(id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_while_nobody_looked_is_one_message() {
    let (peers, hook, home, daemon) = changed_meanwhile(3).await;
    all(&daemon, 1).await;
    daemon.housekeep().await;
    all(&daemon, 5).await;
    let incidents = daemon.incidents().await;
    assert_eq!(incidents.len(), 2, "{incidents:#?}");
    assert!(hook.tries().is_empty(), "held for the one message");
    daemon.housekeep().await;
    daemon.delivered().await;
    assert_eq!(hook.kinds(), ["fleet.report"]);
    let data = &hook.deliveries()[0].body["data"];
    assert_eq!(data["headline"], "2 targets changed while nobody looked");
    let listed = data["passages"].to_string();
    assert!(incidents.iter().all(|incident| listed.contains(&incident.reference)), "{listed}");

    // Each is decided by itself, and who was told of it by the one message is told how it ends.
    let reference = &incidents[0].reference;
    let done = home.driftd(&["drift", "accept", reference, "--reason", "announced"]).await;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    daemon.delivered().await;
    assert_eq!(hook.kinds(), ["fleet.report", "drift.resolved"]);
    // And is reminded of what nobody has decided on, as after a message of its own.
    daemon.advance(Duration::from_hours(24));
    daemon.delivered().await;
    assert_eq!(hook.kinds(), ["fleet.report", "drift.resolved", "drift.reminder"]);
    let reminder = &hook.deliveries()[2].body["data"]["incident"]["id"];
    assert!(incidents[1].reference.starts_with(reminder.as_str().unwrap()), "{reminder}");
    // What changes from now on is told at once.
    for peer in &peers {
        peer.change(|script| script.tools = Some(Vec::new()));
    }
    all(&daemon, 60).await;
    all(&daemon, 5).await;
    daemon.delivered().await;
    assert!(hook.kinds().len() > 3, "{:?}", hook.kinds());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_in_the_middle_of_the_round_changes_nothing() {
    let (_peers, hook, home, daemon) = changed_meanwhile(3).await;
    all(&daemon, 1).await;
    all(&daemon, 5).await;
    let now = daemon.now();
    daemon.stop().await;
    let daemon = Daemon::start_at(&home, now).await;
    daemon.housekeep().await;
    daemon.delivered().await;
    assert_eq!(hook.kinds(), ["fleet.report"]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_stop_is_no_gap() {
    let (_peers, hook, _home, daemon) = changed_meanwhile(0).await;
    all(&daemon, 60).await;
    all(&daemon, 5).await;
    daemon.housekeep().await;
    daemon.delivered().await;
    assert_eq!(hook.kinds(), ["drift.opened", "drift.opened"]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_differs_from_a_restored_backup_is_one_message() {
    let (peers, hook, home, daemon) = changed_meanwhile(0).await;
    let backup = home.path().join("backup.db").to_string_lossy().into_owned();
    let said = home.driftd(&["store", "backup", &backup]).await;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    // What was told and decided after the backup was made is not in it.
    all(&daemon, 60).await;
    all(&daemon, 5).await;
    let told = hook.wait_for(2).await;
    assert_eq!(hook.kinds(), ["drift.opened", "drift.opened"], "{told:#?}");
    let reference = daemon.incidents().await.remove(0).reference;
    let said = home.driftd(&["drift", "accept", &reference, "--reason", "announced"]).await;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    hook.wait_for(3).await;
    let now = daemon.now();
    daemon.stop().await;
    let said = home.driftd(&["store", "restore", &backup]).await;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let daemon = Daemon::start_at(&home, now).await;
    all(&daemon, 1).await;
    all(&daemon, 5).await;
    daemon.housekeep().await;
    daemon.delivered().await;
    assert_eq!(hook.kinds()[3..], ["fleet.report"]);
    let data = &hook.deliveries()[3].body["data"];
    assert_eq!(data["headline"], "2 targets differ from the restored backup");
    assert!(data["summary"].to_string().contains("backup"), "{data:#}");
    drop(peers);
    daemon.stop().await;
}
