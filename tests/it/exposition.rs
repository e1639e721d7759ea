//! `/metrics` and its neighbours, as Prometheus and a service manager meet them.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::sight;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::webhook::Hook;
use crate::support::{checkout, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn promtool_has_nothing_to_say_of_the_exposition() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home_with(&peer.url(), &hook, "every: 24h, labels: { team: payments, cost-center: x }");
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    peer.change(|script| script.tools = Some(Vec::new()));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    daemon.delivered().await;
    let exposition = daemon.metrics().await;
    assert!(exposition.contains("driftd_drift_open{severity=\"critical\",target=\"peer\"} 1"), "{exposition}");
    let mut promtool = Command::new(checkout(".peers/debian/usr/bin/promtool"))
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(exposition.as_bytes()).await.unwrap();
    let said = promtool.wait_with_output().await.unwrap();
    let words = String::from_utf8_lossy(&said.stderr).into_owned() + &String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success() && words.is_empty(), "promtool: {words}\n{exposition}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_says_which_targets_and_labels_have_series() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let target =
        format!("{{ id: peer, kind: mcp, url: {:?}, every: 24h, labels: {{ team: a, room: b }} }}", peer.url());
    let home = Home::told_by(&hook, "metrics: { target_labels: team }\n", &format!("  - {target}\n"));
    let daemon = Daemon::start(&home).await;
    daemon.scan("peer").await;
    let exposition = daemon.metrics().await;
    assert!(exposition.contains("driftd_target_info{kind=\"mcp\",label_team=\"a\",target=\"peer\"} 1"), "{exposition}");
    let driftd = std::fs::read_to_string(home.path().join("driftd.yaml")).unwrap();
    home.write("driftd.yaml", &driftd.replace("target_labels: team", "per_target: never"));
    assert_eq!(daemon.reload().await.unwrap().changes.settings, ["metrics"]);
    let exposition = daemon.metrics().await;
    assert!(!exposition.contains("target=\"peer\""), "{exposition}");
    assert!(exposition.contains("driftd_inventory_targets 1"), "{exposition}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gauges_are_there_again_after_a_restart_before_any_scan() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    peer.change(|script| script.tools = Some(Vec::new()));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    daemon.delivered().await;
    let now = daemon.now();
    daemon.stop().await;
    let asked = peer.asked().len();
    let daemon = Daemon::start_at(&home, now).await;
    let exposition = daemon.metrics().await;
    assert_eq!(peer.asked().len(), asked, "nothing was scanned yet");
    for wanted in [
        "driftd_target_up{target=\"peer\"} 1",
        "driftd_drift_open{severity=\"critical\",target=\"peer\"} 1",
        "driftd_facet_watched{facet=\"mcp.tools\",target=\"peer\"} 1",
        "driftd_baseline_reviewed{target=\"peer\"} 0",
    ] {
        assert!(exposition.contains(wanted), "{wanted} is missing in {exposition}");
    }
    // It is followed beside everything else.
    eventually("the ledger's chain is verified", async || {
        (daemon.metric("driftd_ledger_verified").await >= 1.0).then_some(())
    })
    .await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_readiness_answer_apart_and_a_foreign_host_is_refused() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    assert_eq!(daemon.page("/-/healthy").await, (200, "ok\n".to_owned()));
    eventually("it is ready", async || (daemon.page("/-/ready").await.0 == 200).then_some(())).await;
    assert_eq!(daemon.page("/nothing").await.0, 404);
    daemon.stop().await;
}
