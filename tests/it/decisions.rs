//! What people decide holds as long as they said, is written down, and is never a way around what was not read.

use std::process::Output;
use std::time::Duration;

use serde_json::json;

use crate::sight;
use crate::support::daemon::{Daemon, Home};
use crate::support::eventually;
use crate::support::peer::{Quirk, Script, ScriptedPeer};
use crate::support::webhook::Hook;

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

async fn watched() -> (ScriptedPeer, Hook, Home, Daemon) {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    (peer, hook, home, daemon)
}

/// One tool gone, confirmed; gives the incident's reference.
async fn lose_a_tool(peer: &ScriptedPeer, daemon: &Daemon) -> String {
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    daemon.incidents().await.remove(0).reference
}

async fn state(daemon: &Daemon) -> String {
    daemon.incidents().await.remove(0).state
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_drift_stands_until_it_is_gone() {
    let (peer, hook, home, daemon) = watched().await;
    let reference = lose_a_tool(&peer, &daemon).await;
    let without = home.driftd(&["drift", "reject", &reference]).await;
    assert_eq!(without.status.code(), Some(2));
    assert!(err(&without).contains("--reason"), "{}", err(&without));
    let rejected = home.driftd(&["drift", "reject", &reference, "--reason", "agents need it"]).await;
    assert!(rejected.status.success(), "{}", err(&rejected));
    assert_eq!(state(&daemon).await, "rejected");
    for _ in 0..3 {
        daemon.advance(Duration::from_hours(1));
        daemon.scan("peer").await;
    }
    assert_eq!(hook.tries().len(), 1, "rejecting sends nothing");
    peer.change(|script| script.tools = Script::default().tools);
    daemon.advance(Duration::from_mins(5));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    assert!(daemon.drifts().await.is_empty());
    let told = hook.wait_for(2).await;
    assert_eq!(told[1].kind(), "drift.resolved");
    assert_eq!(told[1].body["data"]["incident"]["reason"], "rejected");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_on_it_is_written_down_and_the_incident_still_stands() {
    let (peer, hook, home, daemon) = watched().await;
    let reference = lose_a_tool(&peer, &daemon).await;
    let entries = daemon.metric("driftd_ledger_entries_total").await;
    let acked = home.driftd(&["drift", "ack", &reference, "--until", "2026-12-07"]).await;
    assert!(acked.status.success(), "{}", err(&acked));
    assert_eq!(state(&daemon).await, "acked");
    assert_eq!(daemon.metric("driftd_ledger_entries_total").await, entries + 1.0);
    assert!(
        daemon.metrics().await.contains("driftd_incidents{impact=\"breaking\",severity=\"high\",state=\"acked\"} 1")
    );
    let nonsense = home.driftd(&["drift", "ack", &reference, "--until", "soon"]).await;
    assert_eq!(nonsense.status.code(), Some(2));
    daemon.advance(Duration::from_hours(24 * 8));
    peer.change(|script| script.version = "3.2.0".to_owned());
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    assert_eq!(state(&daemon).await, "open", "an ack ends at its time");
    assert_eq!(hook.deliveries()[0].kind(), "drift.opened");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_ends_at_its_time_and_what_it_allowed_is_told_again() {
    let (peer, hook, home, daemon) = watched().await;
    let reference = lose_a_tool(&peer, &daemon).await;
    let until = "2026-12-02T00:00:00Z";
    let accepted = home.driftd(&["drift", "accept", &reference, "--reason", "a test", "--until", until]).await;
    assert!(accepted.status.success(), "{}", err(&accepted));
    let baseline = daemon.baseline("peer").await;
    assert_eq!(baseline.approvals.len(), 1, "{baseline:#?}");
    assert_eq!(baseline.approvals[0].path, "/items/get_invoice");
    assert_eq!(baseline.approvals[0].until.unwrap().to_string(), until);
    for _ in 0..3 {
        daemon.advance(Duration::from_hours(2));
        let scanned = daemon.scan("peer").await;
        assert_eq!((scanned.pending, scanned.open), (0, 0));
    }
    daemon.advance(Duration::from_hours(48));
    assert!(daemon.scan("peer").await.pending > 0, "the approval is over");
    daemon.advance(Duration::from_mins(5));
    daemon.scan("peer").await;
    let again = daemon.incidents().await.remove(0);
    assert_ne!(again.reference, reference);
    assert_eq!(again.units[0].rule, "tool.removed");
    let kinds: Vec<String> = hook.wait_for(3).await.iter().map(|delivery| delivery.kind().to_owned()).collect();
    assert_eq!(kinds, ["drift.opened", "drift.resolved", "drift.opened"]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn units_are_left_out_by_number_and_one_place_is_named_by_fingerprint() {
    let (peer, hook, home, daemon) = watched().await;
    peer.change(|script| {
        let wipe = json!({"name": "zz_wipe", "description": "Empties the books.", "inputSchema": {"type": "object"}});
        script.tools = Some(vec![script.tools.as_ref().unwrap()[0].clone(), wipe]);
    });
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let incident = daemon.incidents().await.remove(0);
    assert_eq!(incident.units.len(), 2, "{incident:#?}");
    let added = incident.units.iter().find(|unit| unit.rule.starts_with("tool.added")).unwrap().n;
    let none = ["drift", "accept", &incident.reference, "--except", "1", "--except", "2", "--reason", "x"];
    let none = home.driftd(&none).await;
    assert_eq!(none.status.code(), Some(2), "{}", out(&none));
    let unknown = home.driftd(&["drift", "accept", &incident.reference, "--except", "9", "--reason", "x"]).await;
    assert_eq!(unknown.status.code(), Some(2));
    assert!(err(&unknown).contains("no unit 9"), "{}", err(&unknown));
    let some = ["drift", "accept", &incident.reference, "--except", &added.to_string(), "--reason", "announced"];
    let some = home.driftd(&some).await;
    assert!(some.status.success(), "{}", err(&some));
    let left = daemon.incidents().await.remove(0);
    assert_eq!(left.reference, incident.reference, "a settled unit is no new revision");
    assert!(left.units.iter().all(|unit| unit.rule.starts_with("tool.added")), "{left:#?}");
    daemon.delivered().await;
    assert_eq!(hook.deliveries().len(), 1);

    let data = &hook.deliveries()[0].body["data"];
    let unit = data["units"].as_array().unwrap().iter().find(|unit| unit["n"] == added).unwrap();
    let fingerprint = unit["fingerprints"][0].as_str().unwrap().to_owned();
    let prefix: String = fingerprint.trim_start_matches("sha256:").chars().take(12).collect();
    let shown = home.driftd(&["drift", "show", &prefix]).await;
    assert!(out(&shown).contains("zz_wipe"), "{}{}", out(&shown), err(&shown));
    let rest = home.driftd(&["drift", "accept", &prefix, "--reason", "read"]).await;
    assert!(rest.status.success(), "{}", err(&rest));
    assert!(daemon.drifts().await.is_empty());
    let told = hook.wait_for(2).await;
    assert_eq!(told[1].body["data"]["incident"]["reason"], "accepted");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_seen_is_acked_and_never_accepted() {
    let (peer, _hook, home, daemon) = watched().await;
    peer.change(|script| script.quirk = Quirk::ForbiddenPage);
    for _ in 0..4 {
        daemon.advance(Duration::from_mins(5));
        daemon.scan("peer").await;
    }
    let reference = daemon.incidents().await.remove(0).reference;
    for verb in ["accept", "reject"] {
        let refused = home.driftd(&["drift", verb, &reference, "--reason", "known"]).await;
        assert_eq!(refused.status.code(), Some(2), "{verb}: {}", out(&refused));
        assert!(err(&refused).contains("never accepted"), "{verb}: {}", err(&refused));
    }
    let acked = home.driftd(&["drift", "ack", &reference]).await;
    assert!(acked.status.success(), "{}", err(&acked));
    assert_eq!(state(&daemon).await, "acked");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_and_history_can_be_read_afterwards() {
    let (peer, _hook, home, daemon) = watched().await;
    let reference = lose_a_tool(&peer, &daemon).await;
    let messages = daemon.delivered().await;
    assert_eq!((messages.len(), messages[0].state.as_str()), (1, "sent"));
    let listed = home.driftd(&["alerts"]).await;
    assert!(out(&listed).contains(&reference) && out(&listed).contains("drift.opened"), "{}", out(&listed));
    let shown = home.driftd(&["alerts", "show", &messages[0].id]).await;
    for wanted in ["get_invoice", "driftd drift accept", &reference, "HOW TO DECIDE"] {
        assert!(out(&shown).contains(wanted), "{wanted} is missing in {}", out(&shown));
    }
    let shown = home.driftd(&["alerts", "show", &messages[0].id, "--output", "json"]).await;
    let document: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(document["alert"]["schema"], "driftd.alert/1", "{document:#}");
    assert_eq!(document["alert"]["incident"]["revision"], 1);
    let none = home.driftd(&["alerts", "show", "m-00000000"]).await;
    assert_eq!(none.status.code(), Some(2));
    let history = home.driftd(&["history", "peer", "--limit", "3"]).await;
    assert_eq!(out(&history).lines().count(), 4, "a head and three lines: {}", out(&history));
    assert!(out(&history).contains("incident.open"), "{}", out(&history));
    let nobody = home.driftd(&["history", "nobody"]).await;
    assert_eq!(nobody.status.code(), Some(2));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_that_was_changed_behind_driftd_is_found_with_the_entry() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    let whole = home.driftd(&["ledger", "verify"]).await;
    let said = String::from_utf8_lossy(&whole.stdout).into_owned();
    assert_eq!(whole.status.code(), Some(0), "{said}");
    assert!(said.starts_with("The ledger is whole: 10 entries, head sha256:"), "{said}");
    daemon.stop().await;
    let database = sqlx::sqlite::SqliteConnectOptions::new().filename(home.path().join("driftd.db"));
    let mut store = sqlx::ConnectOptions::connect(&database).await.unwrap();
    let forged = "DROP TRIGGER ledger_never_changes; UPDATE ledger SET entry = replace(entry, 'first_seen', 'person:x') \
                  WHERE no = 3;";
    sqlx::raw_sql(forged).execute(&mut store).await.unwrap();
    sqlx::Connection::close(store).await.unwrap();
    let broken = home.driftd(&["ledger", "verify", "--output", "json"]).await;
    assert_eq!(broken.status.code(), Some(3));
    let document: serde_json::Value = serde_json::from_slice(&broken.stdout).unwrap();
    let broken = json!({ "entry": 3, "fault": "changed", "words": "was changed after it was written" });
    assert_eq!(document["broken"], broken, "{document}");
    let daemon = Daemon::start(&home).await;
    eventually("the metric tells", async || daemon.metrics().await.contains("driftd_ledger_verified 0").then_some(()))
        .await;
    daemon.stop().await;
}
