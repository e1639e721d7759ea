//! When it is we who are offline, nothing is held against the targets.

use std::time::Duration;

use jiff::Timestamp;

use crate::sight_hosts::home;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::webhook::Hook;

const IDS: [&str; 3] = ["near", "far", "remote"];
/// Three hosts, all of them loopback.
const HOSTS: [&str; 3] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];

async fn three_hosts() -> (Vec<ScriptedPeer>, Hook, Home, Daemon) {
    let mut peers = Vec::new();
    for host in HOSTS {
        peers.push(ScriptedPeer::start_on(host, Script::default()).await);
    }
    let hook = Hook::start().await;
    let targets: Vec<(&str, String)> = IDS.into_iter().zip(peers.iter().map(ScriptedPeer::url)).collect();
    let home = home(&targets, &hook);
    let daemon = Daemon::start(&home).await;
    all(&daemon, 0).await;
    all(&daemon, 5).await;
    (peers, hook, home, daemon)
}

async fn all(daemon: &Daemon, minutes: u64) {
    daemon.advance(Duration::from_mins(minutes));
    for id in IDS {
        daemon.scan(id).await;
    }
}

/// What a person is shown who asks about the targets: that driftd is offline since then, or nothing of it.
async fn said_by_command_line(home: &Home, since: Option<Timestamp>) {
    for arguments in [&["targets"][..], &["targets", "show", "near"], &["why", "near"]] {
        let page = home.driftd(arguments).await;
        let page = String::from_utf8_lossy(&page.stdout).into_owned();
        let first = page.lines().next().unwrap_or_default();
        assert_eq!(first.starts_with("driftd itself is offline since "), since.is_some(), "{arguments:?}: {page}");
        let document = home.driftd(&[arguments, &["--output", "json"]].concat()).await;
        let document: serde_json::Value = serde_json::from_slice(&document.stdout).unwrap();
        let target = [document.get(0), document.get("target"), Some(&document)].into_iter().flatten().next().unwrap();
        let told = target.get("offline_since").map(|since| since.as_str().unwrap().parse().unwrap());
        assert_eq!(told, since, "{arguments:?}: {document:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn most_targets_failing_at_once_is_our_own_outage_and_no_incident() {
    let (mut peers, hook, home, daemon) = three_hosts().await;
    for peer in &mut peers {
        peer.down().await;
    }
    all(&daemon, 10).await;
    assert_eq!(daemon.metric("driftd_self_offline").await, 1.0);
    let since = daemon.now();
    for _ in 0..6 {
        all(&daemon, 10).await;
    }
    said_by_command_line(&home, Some(since)).await;
    assert!(daemon.incidents().await.is_empty(), "{:#?}", daemon.incidents().await);
    assert!(hook.tries().is_empty());
    assert_eq!(daemon.metric("driftd_target_up").await, 3.0, "nothing is known against them");

    // A restart in between knows that we are offline.
    let now = daemon.now();
    daemon.stop().await;
    let daemon = Daemon::start_at(&home, now).await;
    assert_eq!(daemon.metric("driftd_self_offline").await, 1.0);
    for peer in &mut peers {
        peer.up().await;
    }
    all(&daemon, 10).await;
    assert_eq!(daemon.metric("driftd_self_offline").await, 0.0);
    said_by_command_line(&home, None).await;
    daemon.delivered().await;
    let told = hook.deliveries();
    assert_eq!(told.len(), 1, "{told:#?}");
    let data = &told[0].body["data"];
    assert_eq!(
        (told[0].kind(), data["headline"].as_str().unwrap()),
        ("fleet.report", "driftd was offline for 1 h 10 min")
    );
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_count_anew_once_we_are_back() {
    let (mut peers, hook, _home, daemon) = three_hosts().await;
    for peer in &mut peers {
        peer.down().await;
    }
    for _ in 0..4 {
        all(&daemon, 10).await;
    }
    // One of them is really gone.
    for peer in &mut peers[..2] {
        peer.up().await;
    }
    all(&daemon, 10).await;
    assert_eq!(daemon.metric("driftd_self_offline").await, 0.0);
    all(&daemon, 4).await;
    assert!(daemon.incidents().await.is_empty(), "two failures since we are back are too few");
    for _ in 0..3 {
        all(&daemon, 4).await;
    }
    let incidents = daemon.incidents().await;
    assert_eq!(incidents.iter().map(|incident| incident.target.as_str()).collect::<Vec<_>>(), ["remote"]);
    daemon.delivered().await;
    assert_eq!(hook.kinds(), ["fleet.report", "sight.lost"]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_host_that_fails_is_no_outage_of_ours() {
    let (mut peers, _hook, _home, daemon) = three_hosts().await;
    peers[0].down().await;
    for _ in 0..4 {
        all(&daemon, 4).await;
    }
    assert_eq!(daemon.metric("driftd_self_offline").await, 0.0);
    assert_eq!(daemon.incidents().await.len(), 1);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_answers_as_long_as_we_are_online_decides_whose_fault_one_failure_is() {
    let mut peer = ScriptedPeer::start(Script::default()).await;
    let mut reference = ScriptedPeer::start_on("127.0.0.2", Script::default()).await;
    let hook = Hook::start().await;
    let target = format!("  - {{ id: near, kind: mcp, url: {:?}, every: 24h, timeout: 2s }}\n", peer.url());
    let home = Home::told_by(&hook, &format!("scan: {{ self_check: {:?} }}\n", reference.url()), &target);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("near").await;
    let fails = async |times: u32| {
        for _ in 0..times {
            daemon.advance(Duration::from_mins(5));
            daemon.scan("near").await;
        }
    };
    peer.down().await;
    reference.down().await;
    fails(6).await;
    assert_eq!(daemon.metric("driftd_self_offline").await, 1.0);
    assert!(daemon.incidents().await.is_empty(), "nothing is held against the only target there is");
    reference.up().await;
    fails(6).await;
    assert_eq!(daemon.metric("driftd_self_offline").await, 0.0);
    assert_eq!(daemon.incidents().await.len(), 1, "we are online, so it is the target's");
    daemon.delivered().await;
    assert_eq!(hook.kinds(), ["fleet.report", "sight.lost"]);
    daemon.stop().await;
}
