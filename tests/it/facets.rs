//! Every facet of a conversation is compared, and nothing that differs goes unclaimed.

use std::time::Duration;

use driftd::operations::document::Incident;
use serde_json::json;

use crate::sight;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Quirk, Script, ScriptedPeer, tool};
use crate::support::webhook::Hook;

async fn watched(script: Script) -> (ScriptedPeer, Hook, Home, Daemon) {
    let peer = ScriptedPeer::start(script).await;
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    (peer, hook, home, daemon)
}

fn rules(incidents: &[Incident]) -> Vec<String> {
    let mut rules: Vec<String> =
        incidents.iter().flat_map(|incident| incident.units.iter().map(|unit| unit.rule.clone())).collect();
    rules.sort();
    rules
}

fn everything() -> Script {
    Script {
        prompts: Some(vec![
            json!({"name": "remind", "description": "Writes a reminder.", "arguments": [{"name": "tone", "required": false}]}),
            json!({"name": "thank", "description": "Writes thanks."}),
        ]),
        resources: Some(vec![
            json!({"uri": "ledger://rates", "name": "rates", "mimeType": "text/csv"}),
            json!({"uri": "ledger://codes", "name": "codes"}),
        ]),
        templates: vec![json!({"uriTemplate": "ledger://invoice/{id}", "name": "invoice"})],
        ..Script::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_resources_and_templates_are_watched_like_tools() {
    let (peer, _hook, _home, daemon) = watched(everything()).await;
    let target = daemon.target("peer").await;
    for name in ["mcp.prompts", "mcp.resources", "mcp.resource_templates"] {
        let facet = target.facets.iter().find(|facet| facet.facet == name).unwrap();
        assert_eq!((facet.state.as_str(), facet.baseline.as_str()), ("seen", "accepted"), "{name}");
    }
    peer.change(|script| {
        script.prompts = Some(vec![json!({
            "name": "remind",
            "description": "Writes a reminder.",
            "arguments": [{"name": "tone", "required": true}],
        })]);
        script.resources = Some(vec![
            json!({"uri": "ledger://rates", "name": "rates", "mimeType": "application/json"}),
            json!({"uri": "ledger://accounts", "name": "accounts"}),
        ]);
        script.templates = Vec::new();
    });
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let told = rules(&daemon.incidents().await);
    for wanted in [
        "prompt.argument-became-required",
        "prompt.removed",
        "res.added",
        "res.mime-type-changed",
        "res.removed",
        "res.template-removed",
    ] {
        assert!(told.iter().any(|rule| rule.split('/').next() == Some(wanted)), "{wanted} is missing in {told:?}");
    }
    assert!(!told.iter().any(|rule| rule.starts_with("x.")), "each has a rule of its own: {told:?}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_not_declared_any_more_is_absent_and_its_items_are_gone() {
    let (peer, _hook, _home, daemon) = watched(everything()).await;
    peer.change(|script| script.prompts = None);
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let told = rules(&daemon.incidents().await);
    assert!(told.iter().any(|rule| rule.starts_with("prompt.") || rule.contains("capability")), "{told:?}");
    let target = daemon.target("peer").await;
    let prompts = target.facets.iter().find(|facet| facet.facet == "mcp.prompts").unwrap();
    assert_eq!(prompts.state, "absent");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_rule_knows_is_claimed_all_the_same() {
    let (peer, _hook, _home, daemon) = watched(Script::default()).await;
    peer.change(|script| script.said = json!({"x-house-rules": {"retention": "30 days"}}));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let incidents = daemon.incidents().await;
    assert_eq!(rules(&incidents), ["x.other-changed"], "{incidents:#?}");
    assert!(
        daemon.history("peer").await.iter().any(|line| {
            line.place.as_deref().is_some_and(|place| place.starts_with("mcp.handshake/x-house-rules"))
        })
    );
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_that_is_new_with_each_scan_is_told_though_no_value_is_ever_confirmed() {
    let (peer, hook, _home, daemon) = watched(Script::default()).await;
    let first = Script::default().tools.unwrap().remove(0);
    for turn in 0..5 {
        let text = format!("Gives one invoice by its number; call {turn} is free.");
        peer.change(|script| script.tools = Some(vec![first.clone(), tool("get_invoice", &text)]));
        daemon.advance(Duration::from_mins(6));
        daemon.scan("peer").await;
    }
    let told = rules(&daemon.incidents().await);
    assert!(told.iter().any(|rule| rule.starts_with("x.value-unstable")), "{told:?}");
    assert_eq!(hook.wait_for(1).await[0].kind(), "drift.opened");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_empty_string_is_a_cursor_and_the_page_behind_it_is_read() {
    let script = Script { quirk: Quirk::EmptyCursor, ..Script::default() };
    let (peer, hook, home, daemon) = watched(script).await;
    let scan = home.driftd(&["scan", "peer", "--output", "json"]).await;
    let snapshot: serde_json::Value = serde_json::from_slice(&scan.stdout).unwrap();
    assert_eq!(snapshot["facets"]["mcp.tools"]["value"]["order"], json!(["list_invoices", "get_invoice"]));
    // In one page or two, it is one list.
    peer.change(|script| script.quirk = Quirk::None);
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    assert!(daemon.drifts().await.is_empty());
    assert!(hook.tries().is_empty());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn items_of_one_name_are_kept_apart_and_found() {
    let twin = tool("get_invoice", "Gives one invoice by its date.");
    let mut script = Script::default();
    script.tools.as_mut().unwrap().push(twin);
    let (peer, _hook, home, daemon) = watched(script).await;
    let scan = home.driftd(&["scan", "peer"]).await;
    let page = String::from_utf8_lossy(&scan.stdout).into_owned();
    assert!(page.contains("tools     3\n"), "{page}");
    assert!(page.contains("duplicate"), "it is a finding: {page}");
    peer.change(|script| script.tools.as_mut().unwrap().truncate(2));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let incidents = daemon.incidents().await;
    assert_eq!(incidents.len(), 1, "{incidents:#?}");
    daemon.stop().await;
}
