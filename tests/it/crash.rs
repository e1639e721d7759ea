//! `kill -9` loses nothing that is owed: at named points, and at seeded instants.

use std::net::SocketAddr;
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use tokio::process::Child;

use crate::support::daemon::{Home, ready};
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::ports::free_port;
use crate::support::webhook::Hook;
use crate::support::{eventually, until};

/// A home for the real program on the machine's clock, so everything is confirmed within a second.
fn home(url: &str, hook: &Hook) -> (Home, SocketAddr) {
    let home = Home::new();
    let secret = home.write("hook-secret", &hook.secret());
    let metrics: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    home.write(
        "driftd.yaml",
        &format!(
            "metrics_listen: {metrics}\n\
             inventory: [ inventory.yaml ]\n\
             confirm: {{ sightings: 2, after: 1s }}\n\
             receivers:\n\
             \x20 - {{ name: hook, webhook: {{ url: {:?}, secret: {{ file: {secret:?} }} }} }}\n",
            hook.url()
        ),
    );
    home.write("inventory.yaml", &format!("targets:\n  - {{ id: peer, kind: mcp, url: {url:?}, every: 1s }}\n"));
    (home, metrics)
}

fn run(home: &Home, crash_at: Option<&str>) -> Child {
    let mut command = home.command();
    command.args(["--log", "warn", "run"]);
    if let Some(point) = crash_at {
        command.env("DRIFTD_CRASH_AT", point);
    }
    command.spawn().unwrap()
}

/// Waits until the tools are in the baseline and the first round is told, so that nothing else is owed.
async fn baseline(home: &Home, hook: &Hook) {
    until("the first round is told", || (!hook.reports().is_empty()).then_some(())).await;
    eventually("the tools are in the baseline", async || {
        let said = home.driftd(&["baseline", "show", "peer", "--output", "json"]).await;
        String::from_utf8_lossy(&said.stdout).contains("\"mcp.tools\"").then_some(())
    })
    .await;
}

/// The messages that the store holds, as (id, state).
async fn messages(home: &Home) -> Vec<(String, String)> {
    let said = home.driftd(&["alerts", "--output", "json"]).await;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let list: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    let text = |message: &serde_json::Value, name: &str| message[name].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(|message| (text(message, "id"), text(message, "state"))).collect()
}

/// After whatever happened: the daemon runs on, the opened message arrives under one id, and every message that the
/// store owes is delivered under the id that it has there.
async fn nothing_is_lost(home: &Home, hook: &Hook, metrics: SocketAddr) {
    let mut daemon = run(home, None);
    ready(metrics).await;
    hook.wait_for(1).await;
    let sent = eventually("every message is sent", async || {
        let messages = messages(home).await;
        (!messages.is_empty() && messages.iter().all(|(_, state)| state == "sent")).then_some(messages)
    })
    .await;
    for (id, _) in &sent {
        let reported = hook.reports().iter().any(|report| report.id == *id);
        assert!(reported || hook.tries().contains(id), "{id} never arrived");
    }
    let opened: std::collections::BTreeSet<String> = hook
        .deliveries()
        .into_iter()
        .filter(|delivery| delivery.kind() == "drift.opened")
        .map(|delivery| delivery.id)
        .collect();
    assert_eq!(opened.len(), 1, "one id however often it was sent: {opened:?}");
    assert!(hook.deliveries().iter().all(|delivery| delivery.signed));
    let verified = home.driftd(&["drift"]).await;
    assert!(verified.status.success());
    daemon.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_at_a_named_point_loses_nothing() {
    for point in ["after-commit", "before-send", "after-send"] {
        let peer = ScriptedPeer::start(Script::default()).await;
        let hook = Hook::start().await;
        let (home, metrics) = home(&peer.url(), &hook);
        let mut daemon = run(&home, None);
        ready(metrics).await;
        baseline(&home, &hook).await;
        daemon.kill().await.unwrap();
        let mut daemon = run(&home, Some(point));
        ready(metrics).await;
        peer.change(|script| script.tools = Some(Vec::new()));
        let ended =
            tokio::time::timeout(crate::support::PATIENCE, daemon.wait()).await.expect("it crashes at the point");
        assert!(!ended.unwrap().success(), "{point}");
        nothing_is_lost(&home, &hook, metrics).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_at_ten_seeded_instants_loses_nothing() {
    let mut rng = rand::rngs::StdRng::seed_from_u64(20_261_130);
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let (home, metrics) = home(&peer.url(), &hook);
    let mut daemon = run(&home, None);
    ready(metrics).await;
    baseline(&home, &hook).await;
    peer.change(|script| script.tools = Some(Vec::new()));
    for _ in 0..10 {
        // The instant is the point of the test; nothing waits for it.
        let instant = Duration::from_millis(rng.random_range(0..600));
        let _ = tokio::time::timeout(instant, daemon.wait()).await;
        daemon.kill().await.unwrap();
        daemon = run(&home, None);
        ready(metrics).await;
    }
    daemon.kill().await.unwrap();
    nothing_is_lost(&home, &hook, metrics).await;
}
