//! `kill -9` loses nothing that is owed: at named points, and at a hundred seeded instants of a story in which a peer
//! keeps changing. What is owed arrives under one id, nothing is told that did not happen, and the store opens whole.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use tokio::process::Child;

use crate::support::daemon::{Home, ready};
use crate::support::peer::{Script, ScriptedPeer, tool};
use crate::support::ports::free_port;
use crate::support::webhook::Hook;
use crate::support::{eventually, until};

/// What the instants are drawn from; printed with every failure.
const SEED: u64 = 20_261_130;

/// Homes that live their stories beside each other, and how often each is killed.
const HOMES: usize = 4;
const KILLS: usize = 25;

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
             \x20 - {{ name: hook, webhook: {{ url: {:?}, secret: {{ file: {secret:?} }} }} }}\n\
             routes: [ {{ to: [ hook ], group_wait: 0s, group_interval: 0s }} ]\n",
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

async fn asked(home: &Home, arguments: &[&str]) -> serde_json::Value {
    let said = home.driftd(&[arguments, &["--output", "json"]].concat()).await;
    assert!(said.status.success(), "seed {SEED}: {arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).unwrap()
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

/// The messages that the store holds, oldest first; the report of the first round apart.
async fn messages(home: &Home) -> Vec<serde_json::Value> {
    let mut list = asked(home, &["alerts"]).await.as_array().unwrap().clone();
    list.retain(|message| text(message, "type") != "fleet.report");
    list.reverse();
    list
}

fn text<'a>(message: &'a serde_json::Value, name: &str) -> &'a str {
    message[name].as_str().unwrap_or_default()
}

/// After whatever happened: the daemon runs on, and every message that the store owes is delivered under the id that
/// it has there; nothing arrived that the store does not know, and nothing that is the same under two ids.
async fn nothing_is_lost(home: &Home, hook: &Hook, metrics: SocketAddr) -> Vec<serde_json::Value> {
    let mut daemon = run(home, None);
    ready(metrics).await;
    hook.wait_for(1).await;
    let sent = eventually("every message is sent", async || {
        let messages = messages(home).await;
        (!messages.is_empty() && messages.iter().all(|message| text(message, "state") == "sent")).then_some(messages)
    })
    .await;
    let arrived: BTreeSet<String> = hook.tries().into_iter().collect();
    let owed: BTreeSet<String> = sent.iter().map(|message| text(message, "id").to_owned()).collect();
    assert_eq!(arrived, owed, "seed {SEED}: what is owed arrives, and nothing else does");
    let mut ids: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for delivery in hook.deliveries() {
        assert!(delivery.signed);
        let about = delivery.body["data"]["incident"].to_string();
        ids.entry((delivery.kind().to_owned(), about)).or_default().insert(delivery.id);
    }
    for (about, ids) in &ids {
        assert_eq!(ids.len(), 1, "seed {SEED}: {about:?} under several ids: {ids:?}");
    }
    daemon.kill().await.unwrap();
    whole(home).await;
    sent
}

/// The store opens whole.
async fn whole(home: &Home) {
    let checked = asked(home, &["store", "check"]).await;
    assert_eq!(checked["problems"], serde_json::json!([]), "seed {SEED}");
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
async fn kill_9_at_a_hundred_seeded_instants_loses_nothing() {
    let stories = (0..HOMES).map(|number| async move {
        let mut rng = rand::rngs::StdRng::seed_from_u64(SEED + u64::try_from(number).unwrap());
        let tools = (0..KILLS).map(|n| tool(&format!("tool_{n}"), &format!("Does the {n}th thing."))).collect();
        let peer = ScriptedPeer::start(Script { tools: Some(tools), ..Script::default() }).await;
        let hook = Hook::start().await;
        let (home, metrics) = home(&peer.url(), &hook);
        let mut daemon = run(&home, None);
        ready(metrics).await;
        baseline(&home, &hook).await;
        for kill in 0..KILLS {
            // One more tool goes: what stands, and what is owed for it, changes all the time.
            if kill % 3 == 0 {
                peer.change(|script| drop(script.tools.as_mut().unwrap().pop()));
            }
            // The instant is the point of the test; nothing waits for it.
            let instant = Duration::from_millis(rng.random_range(0..900));
            let _ = tokio::time::timeout(instant, daemon.wait()).await;
            daemon.kill().await.unwrap();
            daemon = run(&home, None);
            ready(metrics).await;
        }
        // The story ends with the tools gone.
        peer.change(|script| script.tools = Some(Vec::new()));
        eventually("it is told that the tools are gone", async || {
            let newest = hook.deliveries().pop()?;
            let data = &newest.body["data"];
            let stands = data["incident"]["state"] == "open" && newest.kind() == "drift.opened";
            (stands || (newest.kind() == "drift.changed" && data["incident"]["state"] == "open")).then_some(())
        })
        .await;
        daemon.kill().await.unwrap();
        let sent = nothing_is_lost(&home, &hook, metrics).await;
        no_drift_is_false(&sent);
    });
    futures_util::future::join_all(stories).await;
}

/// Tools went, one after the other, and nothing else ever happened: no message is about anything else, none tells an end
/// without its beginning, and our own deaths were nobody's drift.
fn no_drift_is_false(sent: &[serde_json::Value]) {
    let mut open = BTreeSet::new();
    for message in sent {
        let (kind, incident) = (text(message, "type"), text(message, "incident"));
        let id = incident.split('.').next().unwrap_or_default().to_owned();
        let headline = text(message, "headline");
        assert!(kind.starts_with("drift."), "seed {SEED}: {message}");
        assert!(headline.contains("tool"), "seed {SEED}: {message}");
        match kind {
            "drift.opened" => assert!(open.insert(id), "seed {SEED}: opened twice: {message}"),
            "drift.resolved" => assert!(open.remove(&id), "seed {SEED}: an end without a beginning: {message}"),
            _ => assert!(open.contains(&id), "seed {SEED}: {message}"),
        }
    }
    assert!(open.len() <= 1, "seed {SEED}: one thing stands at the end: {open:?}");
}
