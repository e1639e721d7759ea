//! `targets` and `why`: what a person is told about when, why and to whom.

use std::time::Duration;

use driftd::operations::document::{Why, WhyIncident, WhyTarget};
use driftd::operations::{Answer, Request};
use jiff::Timestamp;

use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Quirk, Script, ScriptedPeer};
use crate::support::webhook::Hook;

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A target with wishes of its own, and two routes.
fn home(url: &str, hook: &Hook) -> Home {
    let settings = "  - { name: terminal, console: {} }\n\
        routes:\n  \
        - { match: { labels: { team: web } }, to: [ terminal ] }\n  \
        - { match: { severity: \">=medium\" }, to: [ hook ], group_wait: 0s }\n";
    let target = format!("  - {{ id: peer, kind: mcp, url: {url:?}, every: 24h, labels: {{ team: payments }} }}\n");
    Home::told_by(hook, settings, &target)
}

async fn target(daemon: &Daemon, id: &str) -> WhyTarget {
    match daemon.ask(Request::Why { reference: id.to_owned() }).await {
        Ok(Answer::Why(why)) => match *why {
            Why::Target(target) => *target,
            Why::Incident(incident) => panic!("{incident:#?}"),
        },
        other => panic!("{other:?}"),
    }
}

async fn incident(daemon: &Daemon, reference: &str) -> WhyIncident {
    match daemon.ask(Request::Why { reference: reference.to_owned() }).await {
        Ok(Answer::Why(why)) => match *why {
            Why::Incident(incident) => *incident,
            Why::Target(target) => panic!("{target:#?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn why_tells_of_a_target_what_it_is_held_to_what_is_pending_and_who_would_be_told() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = home(&peer.url(), &hook);
    let daemon = Daemon::start_at(&home, at("2026-11-30T12:00:00Z")).await;
    let new = daemon.until_target("peer", |target| target.target.next_scan.is_some()).await.target;
    assert_eq!((new.next_why.as_deref(), new.sight.as_str()), (Some("first"), "new"));
    assert!(target(&daemon, "peer").await.held.is_empty());

    daemon.take_baseline("peer").await;
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    daemon.scan("peer").await;
    let why = target(&daemon, "peer").await;
    assert_eq!(why.next.at, Some(at("2026-11-30T12:10:00Z")));
    assert!(why.next.text.contains("to confirm"), "{:?}", why.next);
    assert!(why.held.iter().any(|facet| facet.facet == "mcp.tools" && facet.by == "first_seen"), "{:#?}", why.held);
    let removed = why.pending.iter().find(|pending| pending.rule.as_deref() == Some("tool.removed")).unwrap();
    assert_eq!((removed.sightings, removed.needed), (1, 2));
    assert_eq!(
        removed.text,
        "seen once, needs 2 sightings in a row, the last at least 5m after the first; next look at 2026-11-30 12:10:00Z"
    );
    let routes: Vec<(u32, bool, String)> =
        why.routes.iter().map(|route| (route.n, route.applies, route.to.join(","))).collect();
    assert_eq!(
        routes,
        [(1, false, "terminal".to_owned()), (2, true, "hook".to_owned()), (0, true, "hook,terminal".to_owned())]
    );
    assert!(why.policy.iter().any(|policy| policy.key == "baseline"), "{:?}", why.policy);

    let page = home.driftd(&["why", "peer"]).await;
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    for wanted in ["Why is the next scan then?", "seen once, needs 2", "route 2", "first_seen"] {
        assert!(page.contains(wanted), "{wanted} is missing in:\n{page}");
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn why_tells_of_an_incident_how_it_was_confirmed_and_what_was_sent() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    hook.wait_for(1).await;
    daemon.delivered().await;
    let reference = daemon.incidents().await[0].reference.clone();
    let why = incident(&daemon, &reference).await;
    assert_eq!(why.state, "open");
    let unit = why.units.iter().find(|unit| unit.rule == "tool.removed").unwrap();
    assert!(unit.severity.text.contains("as the rule tool.removed"), "{:?}", unit.severity);
    assert!(unit.sightings[0].text.starts_with("seen twice in a row"), "{:?}", unit.sightings);
    let [message] = why.messages.as_slice() else { panic!("{:#?}", why.messages) };
    assert_eq!((message.receiver.as_str(), message.state.as_str()), ("hook", "sent"));
    assert!(message.text.starts_with("arrived at "), "{message:?}");
    assert_eq!(why.routes.iter().map(|route| route.n).collect::<Vec<_>>(), [2]);
    assert!(why.untold[0].starts_with("terminal: no route"), "{:?}", why.untold);

    let fingerprint = unit.sightings[0].fingerprint.clone();
    assert_eq!(incident(&daemon, &fingerprint).await.reference, Some(reference.clone()));
    let page = home.driftd(&["why", &reference]).await;
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains("What was sent?") && page.contains("arrived at"), "{page}");
    let nothing = home.driftd(&["why", "nobody"]).await;
    assert_eq!(nothing.status.code(), Some(2));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_targets_tells_how_each_stands_and_why_it_waits() {
    let up = ScriptedPeer::start(Script::default()).await;
    let guarded = ScriptedPeer::start(Script { guard: Some("t0ken"), ..Script::default() }).await;
    let limited = ScriptedPeer::start(Script { quirk: Quirk::RateLimited(86_400 * 365), ..Script::default() }).await;
    let target = |id: &str, url: String| format!("  - {{ id: {id}, kind: mcp, url: {url:?}, every: 24h }}\n");
    let targets = [target("up", up.url()), target("guarded", guarded.url()), target("limited", limited.url())].concat();
    let driftd =
        "metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\nreceivers: [ { name: terminal, console: {} } ]\n";
    let home = Home::with(driftd, &targets);
    let daemon = Daemon::start_at(&home, at("2026-11-30T12:00:00Z")).await;
    for id in ["up", "guarded", "limited"] {
        daemon.scan(id).await;
    }
    let up = daemon.target("up").await.target;
    let coverage = up.coverage.unwrap();
    assert_eq!((up.sight.as_str(), coverage.seen, up.failing), ("up", coverage.watched, None));
    assert_eq!(coverage.text, format!("{0} of {0}", coverage.watched));
    let guarded = daemon.target("guarded").await.target;
    assert!(guarded.coverage.unwrap().text.starts_with("door only: tools not read"), "behind a 401");
    let limited = daemon.target("limited").await.target;
    assert_eq!(limited.sight, "rate_limited");
    assert_eq!(limited.next_scan, Some(at("2026-12-01T12:00:00Z")), "who asks for a year gets a day");
    assert_eq!(limited.next_why.as_deref(), Some("hold"));
    assert_eq!(limited.failing.as_deref(), Some("1 of 3"), "one failure is nothing to tell");
    let page = home.driftd(&["targets"]).await;
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    for wanted in ["door only", "rate limited (1 of 3)", "(hold)"] {
        assert!(page.contains(wanted), "{wanted} is missing in:\n{page}");
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_put_back_freezes_no_target() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let driftd =
        "metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\nreceivers: [ { name: terminal, console: {} } ]\n";
    let home = Home::with(driftd, &format!("  - {{ id: peer, kind: mcp, url: {:?}, every: 15m }}\n", peer.url()));
    let daemon = Daemon::start_at(&home, at("2026-11-30T12:00:00Z")).await;
    daemon.take_baseline("peer").await;
    daemon.put_back(Duration::from_hours(72));
    let now = daemon.now();
    let latest = now + Duration::from_mins(15);
    let target = daemon.until_target("peer", |target| target.target.next_scan <= Some(latest)).await.target;
    assert!(target.next_scan > Some(now), "{target:?}");
    let before = daemon.target("peer").await.target.last_scan;
    daemon.advance(Duration::from_mins(15));
    daemon.until_target("peer", |target| target.target.last_scan != before).await;
    daemon.stop().await;
}
