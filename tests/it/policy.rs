//! What the inventory wishes for a target's changes, from its keys to the messages.

use std::time::Duration;

use serde_json::json;

use crate::sight;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer, tool};
use crate::support::webhook::Hook;

const PLAIN: &str = "every: 24h, timeout: 2s, scan_timeout: 10s";

/// A peer with its baseline taken, and these wishes of its inventory entry.
async fn wishing(wishes: &str) -> (ScriptedPeer, Hook, Home, Daemon) {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home_with(&peer.url(), &hook, &format!("{PLAIN}, {wishes}"));
    // Everything at once: what is medium would wait for the digest.
    let driftd = std::fs::read_to_string(home.path().join("driftd.yaml")).unwrap();
    home.write("driftd.yaml", &format!("{driftd}routes: [ {{ to: hook, group_wait: 0s, group_interval: 0s }} ]\n"));
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    daemon.advance(Duration::from_mins(5));
    (peer, hook, home, daemon)
}

/// The daemon anew, with other wishes.
async fn edited(daemon: Daemon, home: &Home, peer: &ScriptedPeer, wishes: &str) -> Daemon {
    let now = daemon.now();
    daemon.stop().await;
    let url = peer.url();
    home.write("inventory.yaml", &format!("targets:\n  - {{ id: peer, kind: mcp, url: {url:?}, {PLAIN}{wishes} }}\n"));
    let daemon = Daemon::start_at(home, now).await;
    daemon.advance(Duration::from_mins(5));
    daemon
}

fn reword(peer: &ScriptedPeer) {
    peer.change(|script| script.tools.as_mut().unwrap()[0]["description"] = json!("Lists what a customer owes."));
}

async fn events(daemon: &Daemon) -> Vec<String> {
    daemon.history("peer").await.into_iter().map(|line| line.event).collect()
}

const REWORDED: &str = "ignore: [ { path: \"mcp.tools/items/list_invoices/description\", reason: they reword it } ]";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_ignored_is_listed_with_its_reason_counted_and_never_told() {
    let (peer, hook, home, daemon) = wishing(REWORDED).await;
    reword(&peer);
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let drifts = daemon.drifts().await;
    assert_eq!((drifts.len(), drifts[0].state.as_str()), (1, "ignored"), "{drifts:#?}");
    assert_eq!(drifts[0].units[0].reason.as_deref(), Some("they reword it"));
    let listed = home.driftd(&["drift"]).await;
    assert!(String::from_utf8_lossy(&listed.stdout).contains("ignored: they reword it"), "{listed:?}");
    assert_eq!(daemon.metric("driftd_alerts_suppressed_total{reason=\"ignored\"}").await, 1.0);
    assert_eq!(daemon.metric("driftd_drift_open").await, 0.0);
    let ignores = daemon.target("peer").await.ignores;
    assert_eq!((ignores[0].drifts, ignores[0].unused), (1, false), "{ignores:?}");
    // It hides nothing else.
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    daemon.advance(Duration::from_mins(5));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let told = hook.wait_for(1).await;
    assert_eq!(told[0].body["data"]["units"].as_array().unwrap().len(), 1);
    assert_eq!(told[0].body["data"]["units"][0]["rule"], "tool.removed");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ignore_of_no_use_is_told_while_the_daemon_runs_and_not_again_the_same_week() {
    let (_peer, hook, _home, daemon) = wishing(REWORDED).await;
    // To a Thursday: the days looked at lie in one week.
    let day = Duration::from_hours(24);
    daemon.advance(31 * day);
    daemon.scan("peer").await;
    for _ in 0..3 {
        daemon.housekeep().await;
        daemon.advance(day);
    }
    daemon.delivered().await;
    let told = hook.wait_for(1).await;
    assert_eq!(hook.kinds(), ["fleet.report"], "{told:#?}");
    let data = &told[0].body["data"];
    assert_eq!(data["headline"], "1 ignore is of no use");
    let listed = data["passages"].to_string();
    assert!(listed.contains("peer: ") && listed.contains("they reword it"), "{listed}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_ignored_is_told_once_the_ignore_is_gone_and_not_before_it_is_confirmed() {
    let (peer, hook, home, daemon) = wishing(REWORDED).await;
    reword(&peer);
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let daemon = edited(daemon, &home, &peer, "").await;
    daemon.scan("peer").await;
    assert!(daemon.incidents().await.is_empty(), "once is not confirmed");
    daemon.advance(Duration::from_mins(5));
    daemon.scan("peer").await;
    let told = hook.wait_for(1).await;
    assert_eq!(told[0].kind(), "drift.opened");
    // And back: the incident ends, which is told to whom it was told, and nothing more.
    let daemon = edited(daemon, &home, &peer, &format!(", {REWORDED}")).await;
    daemon.scan("peer").await;
    let told = hook.wait_for(2).await;
    assert_eq!(told[1].kind(), "drift.resolved");
    assert_eq!(told[1].body["data"]["incident"]["reason"], "ignored");
    assert!(events(&daemon).await.contains(&"drift.ignored".to_owned()));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_an_ignore_needs_no_change_of_the_server() {
    let until = "ignore: [ { path: \"mcp.tools/items/list_invoices/**\", reason: they reword it, until: 2026-12-01 } ]";
    let (peer, hook, _home, daemon) = wishing(until).await;
    reword(&peer);
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    assert_eq!(daemon.drifts().await[0].state, "ignored");
    daemon.advance(Duration::from_hours(48));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    assert_eq!(hook.wait_for(1).await[0].kind(), "drift.opened");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_severity_is_what_the_inventory_says_and_off_is_recorded() {
    let wishes = "severity: [ { rule: \"tool.*\", set: critical }, { rule: tool.removed, set: low }, \
                  { path: \"mcp.tools/items/*/description\", set: \"off\" } ]";
    let (peer, _hook, _home, daemon) = wishing(wishes).await;
    reword(&peer);
    peer.change(|script| {
        let tools = script.tools.as_mut().unwrap();
        tools.truncate(1);
        let mut pay = tool("pay_invoice", "Pays an invoice at once, whoever it is from.");
        pay["inputSchema"] = json!({ "type": "object", "properties": { "amount": { "type": "number" } } });
        tools.push(pay);
    });
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let drifts = daemon.drifts().await;
    let said: Vec<(String, String)> = drifts
        .iter()
        .flat_map(|drift| drift.units.iter().map(|unit| (unit.rule.clone(), unit.severity.to_string())))
        .collect();
    let severity = |rule: &str| said.iter().find(|(id, _)| id.starts_with(rule)).map(|(_, severity)| severity.as_str());
    assert_eq!((severity("tool.added"), severity("tool.removed")), (Some("critical"), Some("low")), "{said:?}");
    assert_eq!(daemon.metric("driftd_alerts_suppressed_total{reason=\"off\"}").await, 1.0);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_no_person_is_accepted_by_the_inventory_and_nothing_is_sent() {
    let wishes =
        "auto_accept: [ { path: \"mcp.tools/items/*/description\", at_most: medium, reason: texts may change } ]";
    let (peer, hook, _home, daemon) = wishing(wishes).await;
    reword(&peer);
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    assert!(daemon.drifts().await.is_empty());
    let baseline = daemon.baseline("peer").await;
    assert_eq!(baseline.approvals.len(), 1);
    assert_eq!(
        (baseline.approvals[0].by.as_str(), baseline.approvals[0].path.as_str()),
        ("policy", "/items/list_invoices/description")
    );
    assert!(events(&daemon).await.contains(&"base.auto-approved".to_owned()));
    assert!(daemon.delivered().await.is_empty() && hook.tries().is_empty());
    // What gives power is a person's to accept, whatever the inventory wishes.
    daemon.advance(Duration::from_mins(5));
    peer.change(|script| {
        script.tools.as_mut().unwrap()[0]["description"] = json!("Lists\u{200b}\u{200b}\u{202e} what a customer owes.");
    });
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    assert_eq!(hook.wait_for(1).await[0].body["data"]["units"][0]["rule"], "tool.hidden-unicode");
    assert_eq!(daemon.baseline("peer").await.approvals.len(), 1);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_breaks_nobody_is_low_and_whom_the_rest_breaks_is_named() {
    let wishes = "consumers: [ { name: refund-agent, uses: [ get_invoice ] } ]";
    let (peer, hook, home, daemon) = wishing(wishes).await;
    peer.change(|script| drop(script.tools.as_mut().unwrap().remove(0)));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let incident = daemon.incidents().await.remove(0);
    assert_eq!(incident.units[0].severity.to_string(), "low", "nobody uses list_invoices");
    daemon.advance(Duration::from_mins(5));
    peer.change(|script| {
        script.tools = Some(vec![tool("other", "Something else altogether, with nothing in common.")])
    });
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let told = hook.wait_for(2).await;
    assert_eq!(told[0].body["data"]["consumers"], json!([]));
    let data = &told[1].body["data"];
    assert_eq!(
        data["consumers"],
        json!([{"name": "refund-agent", "items": ["get_invoice"], "effect": "fails"}]),
        "{data:#}"
    );
    let reference = daemon.incidents().await.remove(0).reference;
    let shown = home.driftd(&["drift", "show", &reference]).await;
    let page = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(page.contains("refund-agent uses 1 of them") && page.contains("used by refund-agent"), "{page}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_url_keeps_the_baseline_and_an_edited_header_starts_afresh() {
    let (peer, hook, home, daemon) = wishing("paused: false").await;
    let other = ScriptedPeer::start(Script::default()).await;
    let daemon = edited(daemon, &home, &other, "").await;
    daemon.scan("peer").await;
    assert!(events(&daemon).await.contains(&"base.target-moved".to_owned()));
    assert_eq!(daemon.baseline("peer").await.facets.len(), daemon.target("peer").await.target.baseline_facets as usize);
    assert!(!daemon.baseline("peer").await.facets.is_empty());
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    assert!(daemon.drifts().await.is_empty() && hook.tries().is_empty(), "{:#?}", daemon.drifts().await);
    let daemon = edited(daemon, &home, &other, ", headers: { X-Tenant: blue }").await;
    reword(&other);
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    assert!(events(&daemon).await.contains(&"base.ask-changed".to_owned()));
    assert!(daemon.drifts().await.is_empty(), "what another header shows is no drift");
    assert!(hook.tries().is_empty());
    drop(peer);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_to_an_edited_url_is_taken_anew_and_held_to_from_then_on() {
    let (_peer, hook, home, daemon) = wishing("paused: false").await;
    let tools = |baseline: &driftd::operations::document::Baseline| {
        baseline.facets.iter().find(|facet| facet.facet.starts_with("mcp.tools")).map(|facet| (facet.at, facet.entry))
    };
    let before = daemon.baseline("peer").await;
    let other = ScriptedPeer::start(Script::default()).await;
    let daemon = edited(daemon, &home, &other, "").await;
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let after = daemon.baseline("peer").await;
    assert_eq!(tools(&after), tools(&before), "what the server shows is held to as before");
    assert_eq!(after.facets.len(), before.facets.len(), "the way there has joined anew");
    assert!(daemon.drifts().await.is_empty() && daemon.delivered().await.is_empty() && hook.tries().is_empty());
    // What nobody edited is drift there too.
    daemon.advance(Duration::from_mins(5));
    other.change(|script| script.sse = true);
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let drifts = daemon.drifts().await;
    assert!(!drifts.is_empty() && drifts.iter().all(|drift| drift.state == "open"), "{drifts:#?}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_driftd_says_once_that_its_rules_are_others_and_makes_no_drift_of_it() {
    let (peer, hook, home, daemon) = wishing("paused: false").await;
    let now = daemon.now();
    daemon.stop().await;
    // As an older version left it: other rules, and a canonical form of before the first.
    let database = sqlx::sqlite::SqliteConnectOptions::new().filename(home.path().join("driftd.db"));
    let mut store = sqlx::ConnectOptions::connect(&database).await.unwrap();
    let older = "UPDATE memory SET scans = json_set(scans, '$.ours.rules', 'older'); UPDATE baseline SET model = 0;";
    sqlx::raw_sql(older).execute(&mut store).await.unwrap();
    sqlx::Connection::close(store).await.unwrap();
    for round in 1..=2 {
        let daemon = Daemon::start_at(&home, now).await;
        daemon.advance(Duration::from_mins(5));
        daemon.scan_twice("peer", Duration::from_mins(5)).await;
        assert!(daemon.drifts().await.is_empty());
        daemon.delivered().await;
        let told = hook.wait_for(1).await;
        assert_eq!((told.len(), told[0].kind()), (1, "fleet.report"), "round {round}");
        let said = events(&daemon).await;
        let count = |event: &str| said.iter().filter(|said| *said == event).count();
        assert_eq!(count("base.rules-updated"), 1, "round {round}");
        assert_eq!(count("base.model-outdated"), daemon.baseline("peer").await.facets.len(), "round {round}");
        daemon.stop().await;
    }
    drop(peer);
}
