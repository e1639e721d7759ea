//! Finding the endpoint from a bare origin, and what cards say of it over time.

use std::time::Duration;

use driftd::operations::document::Incident;
use serde_json::{Value, json};

use crate::sight;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Quirk, Script, ScriptedPeer};
use crate::support::webhook::Hook;

const WELL_KNOWN: &str = "/.well-known/mcp/server-card.json";

fn card(url: &str, description: &str) -> Value {
    json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": "example/ledger",
        "version": "1.0.0",
        "description": description,
        "remotes": [{"type": "streamable-http", "url": url, "supportedProtocolVersions": ["2026-07-28"]}],
    })
}

fn rules(incidents: &[Incident]) -> Vec<String> {
    let mut rules: Vec<String> =
        incidents.iter().flat_map(|incident| incident.units.iter().map(|unit| unit.rule.clone())).collect();
    rules.sort();
    rules
}

/// A peer whose origin is watched, with its card leading to its endpoint.
async fn watched_origin() -> (ScriptedPeer, Hook, Home, Daemon) {
    let peer = ScriptedPeer::start(Script::default()).await;
    peer.change(|script| script.documents = vec![(WELL_KNOWN, card(&peer.url(), "Keeps a ledger."))]);
    let hook = Hook::start().await;
    let home = sight::home(&peer.origin(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    (peer, hook, home, daemon)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_works_with_nothing_but_an_origin() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = Home::new();
    let scan = home.driftd(&["scan", &peer.origin(), "--output", "json"]).await;
    let snapshot: Value = serde_json::from_slice(&scan.stdout).unwrap();
    let mcp = &snapshot["protocols"]["mcp"];
    assert_eq!(mcp["state"], "confirmed");
    assert_eq!(mcp["endpoint"], json!({"url": peer.url(), "found_by": "mcp_path"}));
    let evidence = mcp["evidence"].as_array().unwrap();
    assert!(evidence.iter().any(|said| said.as_str().unwrap().contains(&peer.url())), "{evidence:?}");
    assert_eq!(snapshot["facets"]["mcp.transport"]["value"]["endpoint"], json!(peer.url()));
    assert_eq!(snapshot["facets"]["mcp.card"]["state"], "absent");

    peer.change(|script| script.documents = vec![(WELL_KNOWN, card(&peer.url(), "Keeps a ledger."))]);
    let page = home.driftd(&["scan", &peer.origin()]).await;
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains(&format!("endpoint  {} (named by a server card)", peer.url())), "{page}");
    assert!(page.contains("card      at "), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_that_disagrees_with_its_server_is_a_finding() {
    let peer = ScriptedPeer::start(Script { date: "2025-06-18", ..Script::default() }).await;
    peer.change(|script| script.documents = vec![("/mcp/server-card", card(&peer.url(), "Keeps a ledger."))]);
    let home = Home::new();
    let scan = home.driftd(&["scan", &peer.url(), "--output", "json"]).await;
    let snapshot: Value = serde_json::from_slice(&scan.stdout).unwrap();
    let checks = snapshot["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["rule"] == "mcp.card-versions-disagree").unwrap();
    assert_eq!((&check["verdict"], &check["status"]), (&json!("finding"), &json!("warning")), "{check}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_moves_is_told_once_accepted_and_quiet_afterwards() {
    let (peer, hook, home, daemon) = watched_origin().await;
    let target = daemon.target("peer").await;
    let facet = |name: &str| target.facets.iter().find(|facet| facet.facet == name).unwrap().baseline.clone();
    assert_eq!((facet("mcp.card"), facet("mcp.transport")), ("accepted".to_owned(), "accepted".to_owned()));

    daemon.scan("peer").await;
    let moved = format!("{}/v2/mcp", peer.origin());
    peer.change(|script| {
        script.at.push("/v2/mcp");
        script.documents = vec![(WELL_KNOWN, card(&moved, "Keeps a ledger."))];
    });
    // Nobody searches in between: the endpoint that was found is asked at once.
    daemon.advance(Duration::from_mins(30));
    daemon.scan("peer").await;
    assert!(daemon.drifts().await.is_empty());
    daemon.advance(Duration::from_hours(6));
    daemon.scan_twice("peer", Duration::from_mins(6)).await;
    let incidents = daemon.incidents().await;
    assert_eq!(rules(&incidents), ["mcp.card-remote-changed/path", "mcp.endpoint-moved/path"], "{incidents:#?}");

    let reference = incidents[0].reference.clone();
    let accepted = home.driftd(&["drift", "accept", &reference, "--reason", "announced"]).await;
    assert!(accepted.status.success(), "{}", String::from_utf8_lossy(&accepted.stderr));
    for _ in 0..3 {
        daemon.advance(Duration::from_hours(4));
        assert_eq!(daemon.scan("peer").await.outcome, "ok");
    }
    assert!(daemon.drifts().await.is_empty());
    drop(hook);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_is_searched_for_anew_when_it_is_gone_and_an_outage_is_no_move() {
    let (mut peer, _hook, _home, daemon) = watched_origin().await;
    peer.down().await;
    daemon.advance(Duration::from_mins(6));
    assert_eq!(daemon.scan("peer").await.outcome, "unreachable");
    peer.up().await;
    assert_eq!(daemon.scan("peer").await.outcome, "ok");
    assert!(daemon.drifts().await.is_empty());
    for _ in 0..2 {
        daemon.advance(Duration::from_mins(6));
        daemon.scan("peer").await;
    }
    // It is found at once where it is now, long before the next search would have been due.
    let moved = format!("{}/v2/mcp", peer.origin());
    peer.change(|script| {
        script.at = vec!["/v2/mcp"];
        script.documents = vec![(WELL_KNOWN, card(&moved, "Keeps a ledger."))];
    });
    daemon.advance(Duration::from_mins(5));
    assert_eq!(daemon.scan_twice("peer", Duration::from_mins(6)).await.outcome, "ok");
    assert!(rules(&daemon.incidents().await).contains(&"mcp.endpoint-moved/path".to_owned()));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_words_of_a_card_are_watched_where_the_url_was_written_too() {
    let peer = ScriptedPeer::start(Script::default()).await;
    peer.change(|script| script.documents = vec![("/mcp/server-card", card(&peer.url(), "Keeps a ledger."))]);
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    peer.change(|script| script.documents = vec![("/mcp/server-card", card(&peer.url(), "Keeps two ledgers."))]);
    daemon.advance(Duration::from_hours(7));
    daemon.scan_twice("peer", Duration::from_mins(6)).await;
    assert_eq!(rules(&daemon.incidents().await), ["mcp.card-text-changed"]);
    // Back again: it reverts, which is looked at while it stands.
    peer.change(|script| script.documents = vec![("/mcp/server-card", card(&peer.url(), "Keeps a ledger."))]);
    daemon.advance(Duration::from_hours(7));
    daemon.scan_twice("peer", Duration::from_mins(6)).await;
    assert!(daemon.drifts().await.is_empty());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_website_where_mcp_was_is_told_as_that_and_its_return_too() {
    for status in [200, 404] {
        let peer = ScriptedPeer::start(Script::default()).await;
        let hook = Hook::start().await;
        let home = sight::home(&peer.url(), &hook);
        let daemon = Daemon::start(&home).await;
        daemon.take_baseline("peer").await;
        peer.change(|script| script.quirk = Quirk::Website(status));
        for _ in 0..4 {
            daemon.advance(Duration::from_mins(5));
            assert_eq!(daemon.scan("peer").await.outcome, "error");
        }
        let incidents = daemon.incidents().await;
        assert_eq!(rules(&incidents), ["x.protocol-state-fell"], "{status}: {incidents:#?}");
        assert_eq!((incidents[0].kind.as_str(), incidents[0].severity.as_str()), ("sight", "high"));
        peer.change(|script| script.quirk = Quirk::None);
        daemon.advance(Duration::from_mins(5));
        assert_eq!(daemon.scan("peer").await.outcome, "ok");
        assert!(daemon.drifts().await.is_empty());
        daemon.stop().await;
    }
}
