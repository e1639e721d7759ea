//! Targets of one host that fail together are one incident; one that fails alone is told alone.

use std::time::Duration;

use driftd::operations::document::Incident;

use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer, tool};
use crate::support::webhook::Hook;

const SETTINGS: &str = "every: 24h, timeout: 2s, scan_timeout: 10s";

/// A home with these targets, and a webhook.
pub(crate) fn home(targets: &[(&str, String)], hook: &Hook) -> Home {
    let home = Home::told_by(hook, "", "");
    inventory(&home, targets);
    home
}

/// Writes the inventory.
pub(crate) fn inventory(home: &Home, targets: &[(&str, String)]) {
    let lines: Vec<String> =
        targets.iter().map(|(id, url)| format!("  - {{ id: {id}, kind: mcp, url: {url:?}, {SETTINGS} }}\n")).collect();
    home.write("inventory.yaml", &format!("targets:\n{}", lines.concat()));
}

const IDS: [&str; 3] = ["a", "b", "c"];

/// Three peers of one host, each with its baseline.
async fn three() -> (Vec<ScriptedPeer>, Hook, Home, Daemon) {
    let mut peers = Vec::new();
    for _ in IDS {
        peers.push(ScriptedPeer::start(Script::default()).await);
    }
    let hook = Hook::start().await;
    let targets: Vec<(&str, String)> = IDS.into_iter().zip(peers.iter().map(ScriptedPeer::url)).collect();
    let home = home(&targets, &hook);
    let daemon = Daemon::start(&home).await;
    for id in IDS {
        daemon.scan(id).await;
    }
    daemon.advance(Duration::from_mins(5));
    for id in IDS {
        daemon.scan(id).await;
    }
    (peers, hook, home, daemon)
}

async fn all(daemon: &Daemon, minutes: u64) {
    daemon.advance(Duration::from_mins(minutes));
    for id in IDS {
        daemon.scan(id).await;
    }
}

/// The target and those it shares its incident with.
fn about(incident: &Incident) -> Vec<String> {
    let mut about = vec![incident.target.clone()];
    about.extend(incident.with.iter().cloned());
    about.sort();
    about
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_lost_is_one_message_and_one_when_it_is_back() {
    let (mut peers, hook, home, daemon) = three().await;
    for peer in &mut peers {
        peer.down().await;
    }
    for _ in 0..4 {
        all(&daemon, 4).await;
    }
    let incidents = daemon.incidents().await;
    assert_eq!(incidents.len(), 1, "{incidents:#?}");
    assert_eq!(about(&incidents[0]), IDS);
    daemon.delivered().await;
    let told = hook.deliveries();
    assert_eq!(hook.kinds(), ["sight.lost"]);
    let data = &told[0].body["data"];
    assert_eq!(data["targets"].as_array().unwrap().len(), 3);
    let headline = data["headline"].as_str().unwrap();
    assert!(headline.contains("3 targets not watched"), "{headline}");
    assert_eq!(daemon.metric("driftd_incidents").await, 1.0);
    assert_eq!(daemon.metric("driftd_target_up").await, 0.0, "each target says for itself that it is down");

    // Whoever is asked of the targets, the ack is the incident's.
    let reference = incidents[0].reference.clone();
    let ack = home.driftd(&["drift", "ack", &reference]).await;
    assert!(ack.status.success(), "{}", String::from_utf8_lossy(&ack.stderr));
    assert_eq!(daemon.incidents().await[0].state, "acked");

    // A restart neither forgets nor repeats.
    let now = daemon.now();
    daemon.stop().await;
    let daemon = Daemon::start_at(&home, now).await;
    all(&daemon, 4).await;
    assert_eq!(daemon.incidents().await[0].reference, reference);
    for peer in &mut peers {
        peer.up().await;
    }
    all(&daemon, 4).await;
    daemon.delivered().await;
    assert_eq!(hook.kinds(), ["sight.lost", "sight.back"]);
    let back = &hook.deliveries()[1].body["data"];
    assert_eq!(back["targets"].as_array().unwrap().len(), 3);
    let said = back["summary"].to_string();
    assert!(said.contains("Nothing changed meanwhile") && said.contains("a, b and c"), "{said}");
    assert!(daemon.incidents().await.is_empty());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_failure_has_its_siblings_looked_at_before_anything_is_said() {
    let (mut peers, hook, _home, daemon) = three().await;
    for peer in &mut peers {
        peer.down().await;
    }
    daemon.advance(Duration::from_mins(1));
    daemon.scan("b").await;
    // Nobody asked for these.
    for id in ["a", "c"] {
        daemon.until_target(id, |target| target.target.outcome.as_deref() == Some("unreachable")).await;
    }
    assert!(hook.tries().is_empty());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_fails_alone_is_told_alone() {
    let (mut peers, hook, _home, daemon) = three().await;
    peers[1].down().await;
    for _ in 0..4 {
        all(&daemon, 4).await;
    }
    let incidents = daemon.incidents().await;
    assert_eq!(incidents.iter().map(about).collect::<Vec<_>>(), [["b"]]);
    // Later another one: it has a cause of its own.
    peers[2].down().await;
    all(&daemon, 60).await;
    for _ in 0..3 {
        all(&daemon, 4).await;
    }
    let incidents = daemon.incidents().await;
    let mut alone: Vec<Vec<String>> = incidents.iter().map(about).collect();
    alone.sort();
    assert_eq!(alone, [["b"], ["c"]]);
    daemon.delivered().await;
    assert_eq!(hook.kinds(), ["sight.lost", "sight.lost"]);
    peers[1].up().await;
    all(&daemon, 4).await;
    daemon.delivered().await;
    assert_eq!(hook.kinds(), ["sight.lost", "sight.lost", "sight.back"]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_leaves_the_inventory_leaves_the_others_incident_standing() {
    let (mut peers, hook, home, daemon) = three().await;
    for peer in &mut peers {
        peer.down().await;
    }
    for _ in 0..4 {
        all(&daemon, 4).await;
    }
    let reference = daemon.incidents().await[0].reference.clone();
    let now = daemon.now();
    daemon.stop().await;
    let rest: Vec<(&str, String)> = IDS.into_iter().zip(peers.iter().map(ScriptedPeer::url)).skip(1).collect();
    inventory(&home, &rest);
    let daemon = Daemon::start_at(&home, now).await;
    assert_eq!(daemon.incidents().await[0].reference, reference);
    for peer in &mut peers {
        peer.up().await;
    }
    daemon.advance(Duration::from_mins(4));
    daemon.scan("b").await;
    daemon.scan("c").await;
    daemon.delivered().await;
    assert_eq!(hook.kinds(), ["sight.lost", "sight.back"]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_while_it_was_away_is_told_when_it_is_back() {
    let (mut peers, hook, _home, daemon) = three().await;
    peers[0].down().await;
    for _ in 0..4 {
        all(&daemon, 4).await;
    }
    let tools = Script::default().tools.unwrap();
    peers[0].change(|script| {
        script.tools = Some(vec![tools[0].clone(), tool("wipe_ledger", "Removes everything.")]);
    });
    peers[0].up().await;
    all(&daemon, 4).await;
    daemon.delivered().await;
    let told = hook.deliveries();
    assert_eq!(hook.kinds(), ["sight.lost", "sight.back"]);
    let said = told[1].body["data"]["summary"].to_string();
    assert!(said.contains("Changed meanwhile") && said.contains("wipe_ledger"), "{said}");
    let history = daemon.history("a").await;
    let line = history.iter().find(|line| line.event == "scan.recovered").expect("the history says so too");
    assert!(line.text.contains("meanwhile"), "{line:?}");
    daemon.stop().await;
}
