//! What a stranger sees and what our credential sees are held apart.

use std::time::Duration;

use driftd::operations::document::Incident;

use crate::sight;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer, tool};
use crate::support::webhook::Hook;

const TOKEN: &str = "tok-71c0de5e55ed";
const OURS: &str = "every: 24h, auth: { bearer: { file: token } }";

fn rules(incidents: &[Incident]) -> Vec<String> {
    incidents.iter().flat_map(|incident| incident.units.iter().map(|unit| unit.rule.clone())).collect()
}

async fn watched(script: Script, settings: &str) -> (ScriptedPeer, Hook, Home, Daemon) {
    let peer = ScriptedPeer::start(script).await;
    let hook = Hook::start().await;
    let home = sight::home_with(&peer.url(), &hook, settings);
    home.write("token", TOKEN);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    (peer, hook, home, daemon)
}

fn baseline_of<'t>(target: &'t driftd::operations::document::TargetInFull, name: &str) -> (&'t str, &'t str) {
    let facet = target.facets.iter().find(|facet| facet.facet == name);
    facet.map_or(("", ""), |facet| (facet.state.as_str(), facet.baseline.as_str()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_only_our_credential_sees_is_drift_of_its_face() {
    let mut script = Script::default();
    let ours = [script.tools.clone().unwrap(), vec![tool("refund", "Pays an invoice back.")]].concat();
    script.ours = Some(ours.clone());
    let (peer, hook, _home, daemon) = watched(script, OURS).await;
    let target = daemon.target("peer").await;
    for name in ["mcp.tools", "mcp.tools@auth", "mcp.handshake@auth", "auth.challenge"] {
        assert_eq!(baseline_of(&target, name).1, "accepted", "{name}: {target:#?}");
    }
    peer.change(|script| script.ours = Some(ours[..2].to_vec()));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let incidents = daemon.incidents().await;
    assert_eq!(rules(&incidents), ["tool.removed"]);
    assert!(incidents[0].units[0].title.contains("refund"), "{incidents:#?}");
    assert!(
        daemon
            .history("peer")
            .await
            .iter()
            .any(|line| { line.event == "drift.open" && line.place.as_deref() == Some("mcp.tools@auth/items/refund") })
    );
    // What both see is told once.
    peer.change(|script| {
        script.ours = None;
        script.tools = Some(ours[..1].to_vec());
    });
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let incidents = daemon.incidents().await;
    assert_eq!(incidents.len(), 1, "{incidents:#?}");
    let gone: Vec<_> = incidents[0].units.iter().filter(|unit| unit.title.contains("get_invoice")).collect();
    assert!(gone.len() <= 1, "{incidents:#?}");
    assert!(!hook.wait_for(2).await.iter().any(|delivery| delivery.body.to_string().contains(TOKEN)));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_door_that_closes_and_opens_is_told_and_what_is_behind_it_is_not_gone() {
    let (peer, hook, _home, daemon) = watched(Script::default(), "every: 24h").await;
    peer.change(|script| script.guard = Some(TOKEN));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    assert_eq!(rules(&daemon.drifts().await), ["auth.requirement-added"]);
    let target = daemon.target("peer").await;
    assert_eq!(target.target.outcome.as_deref(), Some("ok"), "what nobody asks for is not unseen");
    let tools = target.facets.iter().find(|facet| facet.facet == "mcp.tools").unwrap();
    let coverage = tools.coverage.as_ref().unwrap();
    assert_eq!((tools.state.as_str(), coverage.watched), ("unwatched", false), "{target:#?}");
    assert!(coverage.reason.as_deref().unwrap().contains("no credential"), "{coverage:?}");
    assert_eq!(tools.baseline, "accepted", "it keeps its baseline for the day the door opens");
    let exposition = daemon.metrics().await;
    assert!(exposition.contains("driftd_facet_watched{facet=\"mcp.tools\",target=\"peer\"} 0"), "{exposition}");
    peer.change(|script| script.guard = None);
    daemon.advance(Duration::from_mins(5));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    assert!(daemon.drifts().await.is_empty());
    let kinds: Vec<String> = hook.wait_for(2).await.iter().map(|delivery| delivery.kind().to_owned()).collect();
    assert_eq!(kinds, ["drift.opened", "drift.resolved"]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_door_that_was_closed_and_serves_strangers_is_critical() {
    let script = Script { guard: Some(TOKEN), ..Script::default() };
    let peer = ScriptedPeer::start(script).await;
    let hook = Hook::start().await;
    let home = sight::home_with(&peer.url(), &hook, OURS);
    home.write("token", TOKEN);
    let daemon = Daemon::start(&home).await;
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let target = daemon.target("peer").await;
    assert_eq!(baseline_of(&target, "auth.challenge"), ("seen", "accepted"));
    assert_eq!(baseline_of(&target, "mcp.tools@auth"), ("seen", "accepted"));
    assert_eq!(baseline_of(&target, "mcp.tools"), ("unwatched", "none"));
    peer.change(|script| script.guard = None);
    daemon.scan_twice("peer", Duration::from_secs(30)).await;
    let incidents = daemon.incidents().await;
    assert_eq!(rules(&incidents), ["auth.requirement-dropped"], "{incidents:#?}");
    assert_eq!(incidents[0].severity.as_str(), "critical");
    assert_eq!(hook.wait_for(1).await[0].body["data"]["severity"], "critical");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_is_refused_or_missing_blinds_only_its_own_face() {
    let (peer, hook, home, daemon) = watched(Script::default(), OURS).await;
    std::fs::remove_file(home.path().join("token")).unwrap();
    daemon.advance(Duration::from_mins(5));
    let missing = daemon.scan("peer").await;
    assert_eq!(missing.outcome, "partial");
    assert!(missing.unseen.iter().all(|line| line.contains("@auth: credential_unavailable")), "{missing:?}");
    assert_eq!(baseline_of(&daemon.target("peer").await, "mcp.tools"), ("seen", "accepted"));
    home.write("token", "tok-that-is-not-known");
    peer.change(|script| script.guard = Some(TOKEN));
    for _ in 0..4 {
        daemon.advance(Duration::from_mins(5));
        assert_eq!(daemon.scan("peer").await.outcome, "credential_rejected");
    }
    let incidents = daemon.incidents().await;
    let rules = rules(&incidents);
    assert!(rules.contains(&"scan.credential-rejected".to_owned()), "{incidents:#?}");
    assert!(!rules.iter().any(|rule| rule.starts_with("tool.")), "{rules:?}");
    assert_eq!(daemon.metric("driftd_target_credential_ok").await, 0.0);
    let told = hook.wait_for(1).await;
    assert!(told.iter().any(|delivery| delivery.kind() == "sight.lost"), "{told:#?}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_credential_starts_its_face_afresh_and_is_no_drift() {
    let mut script = Script { guard: Some(TOKEN), ..Script::default() };
    let few = script.tools.take().unwrap();
    script.tools = Some(few.clone());
    let peer = ScriptedPeer::start(script).await;
    let hook = Hook::start().await;
    let home = sight::home_with(&peer.url(), &hook, OURS);
    home.write("token", TOKEN);
    let daemon = Daemon::start(&home).await;
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    // Something stands in the face of the first credential.
    peer.change(|script| script.tools = Some(few[..1].to_vec()));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    assert_eq!(rules(&daemon.incidents().await), ["tool.removed"]);
    hook.wait_for(1).await;
    let now = daemon.now();
    daemon.stop().await;

    const OTHER: &str = "tok-0ther5e55ed00";
    home.write("other", OTHER);
    let inventory = std::fs::read_to_string(home.path().join("inventory.yaml")).unwrap();
    home.write("inventory.yaml", &inventory.replace("file: token", "file: other"));
    peer.change(|script| {
        script.guard = Some(OTHER);
        script.tools = Some(vec![tool("admin", "Does all there is to do.")]);
    });
    let daemon = Daemon::start_at(&home, now).await;
    daemon.advance(Duration::from_mins(10));
    let first = daemon.scan("peer").await;
    assert_eq!((first.pending, first.open), (0, 0), "an edited credential is ours, not the server's");
    daemon.advance(Duration::from_mins(5));
    let second = daemon.scan("peer").await;
    assert_eq!((second.pending, second.open), (0, 0));
    assert!(daemon.drifts().await.is_empty(), "{:#?}", daemon.drifts().await);
    let told = hook.wait_for(2).await;
    assert_eq!(told[1].kind(), "drift.resolved");
    let baseline = daemon.baseline("peer").await;
    let tools = baseline.facets.iter().find(|facet| facet.facet == "mcp.tools@auth").unwrap();
    assert!(tools.at > now, "it joined anew: {baseline:#?}");

    peer.change(|script| script.tools = Some(vec![]));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    assert!(!daemon.incidents().await.is_empty(), "and it is watched as before");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_header_reaches_the_server_and_is_told_to_nobody() {
    const KEY: &str = "key-9d1f44aa02be";
    let peer = ScriptedPeer::start(Script { name: format!("for {KEY}"), ..Script::default() }).await;
    let hook = Hook::start().await;
    let home = sight::home_with(&peer.url(), &hook, "every: 24h, headers: { X-Tenant: { file: key }, X-Plain: seven }");
    home.write("key", KEY);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    let (keys, plain) = (peer.heard("x-tenant"), peer.heard("x-plain"));
    assert_eq!((keys.len(), plain.len()), (peer.asked().len(), peer.asked().len()), "with each request");
    assert!(keys.iter().all(|key| key == KEY) && plain.iter().all(|value| value == "seven"));
    peer.change(|script| script.name = format!("for {KEY} and others"));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    for arguments in
        [&["scan", "peer", "--output", "json"][..], &["drift"], &["history"], &["baseline", "show", "peer"]]
    {
        let said = home.driftd(arguments).await;
        let said = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
        assert!(!said.contains(KEY), "{arguments:?}: {said}");
    }
    daemon.stop().await;
}
