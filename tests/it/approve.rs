//! How a target gets what it is held to: by itself, or by a person who names what was read.

use std::process::{Output, Stdio};
use std::time::Duration;

use driftd::operations::document;

use crate::sight;
use crate::support::PATIENCE;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer, tool};
use crate::support::peers::installed;
use crate::support::webhook::Hook;

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Those of a target that is no guarded one: the conversation's, its door, card, catalog and TLS.
const FACETS: usize = 10;

fn states(target: &document::TargetInFull) -> Vec<&str> {
    target.facets.iter().map(|facet| facet.baseline.as_str()).collect()
}

/// `peer@DIGEST` of the newest snapshot.
async fn newest(daemon: &Daemon) -> String {
    format!("peer@{}", daemon.baseline("peer").await.newest.unwrap().short())
}

async fn watched(settings: &str) -> (ScriptedPeer, Hook, Home, Daemon) {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home_with(&peer.url(), &hook, settings);
    let daemon = Daemon::start(&home).await;
    (peer, hook, home, daemon)
}

#[tokio::test(flavor = "multi_thread")]
async fn in_approve_nothing_is_held_until_a_person_accepts_what_was_read() {
    let (peer, hook, home, daemon) = watched("every: 24h, baseline: approve").await;
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let target = daemon.target("peer").await;
    assert!(states(&target).iter().all(|state| *state == "waiting"), "{target:#?}");
    assert_eq!(usize::try_from(target.target.awaiting_approval).unwrap(), FACETS);
    let lines = daemon.history("peer").await;
    assert_eq!(lines.iter().filter(|line| line.event == "base.awaiting-approval").count(), FACETS);
    assert_eq!(daemon.metric("driftd_ledger_entries_total").await, 0.0, "nobody accepted anything");

    // Without a baseline nothing is drift.
    let old = Script::default().tools.unwrap();
    peer.change(|script| script.tools = Some(vec![old[0].clone()]));
    daemon.advance(Duration::from_mins(5));
    let scanned = daemon.scan("peer").await;
    assert_eq!((scanned.pending, scanned.open), (0, 0));

    let short = home.driftd(&["baseline", "accept", "peer@12ab", "--reason", "read"]).await;
    assert_eq!(short.status.code(), Some(2));
    assert!(err(&short).contains("eight"), "{}", err(&short));
    let unnamed = home.driftd(&["baseline", "accept", "peer", "--reason", "read"]).await;
    assert_eq!(unnamed.status.code(), Some(2));
    assert!(err(&unnamed).contains("peer@DIGEST"), "nobody can be asked: {}", err(&unnamed));
    let foreign = home.driftd(&["baseline", "accept", "peer@00000000", "--reason", "read"]).await;
    assert_eq!(foreign.status.code(), Some(2));

    let accept = ["baseline", "accept", &newest(&daemon).await, "--reason", "read and trusted", "--ticket", "OPS-7"];
    let accepted = home.driftd(&accept).await;
    assert!(accepted.status.success(), "{}", err(&accepted));
    let baseline = daemon.baseline("peer").await;
    assert_eq!(baseline.facets.len(), FACETS);
    for facet in &baseline.facets {
        assert!(facet.reviewed && facet.by.starts_with("person:") && facet.entry > 0, "{facet:?}");
        assert_eq!(facet.reason.as_deref(), Some("read and trusted"));
    }
    assert!(baseline.awaiting.is_empty());
    assert_eq!(daemon.metric("driftd_ledger_entries_total").await.to_string(), FACETS.to_string());
    assert_eq!(daemon.metric("driftd_baseline_reviewed").await, 1.0);

    // From here on what was there before is what is new.
    peer.change(|script| script.tools = Some(old));
    daemon.advance(Duration::from_mins(5));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let incidents = daemon.incidents().await;
    assert_eq!(incidents[0].units[0].rule, "tool.added/plain", "{incidents:#?}");
    // A tool more breaks nobody: it can wait for Monday.
    daemon.advance(Duration::from_hours(7 * 24));
    let told = hook.wait_for(1).await;
    assert_eq!(told[0].kind(), "digest");
    daemon.stop().await;
}

/// Runs the real program with a terminal as its standard input, on which somebody types `answer`.
async fn on_a_terminal(home: &Home, arguments: &[&str], answer: &str) -> Output {
    use tokio::io::AsyncWriteExt as _;
    let spawn = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let mut running = tokio::process::Command::new(installed("python").join("aiosmtpd-1.4.6/bin/python"))
        .args(["-c", spawn, env!("CARGO_BIN_EXE_driftd"), "--config"])
        .arg(home.path().join("driftd.yaml"))
        .args(arguments)
        .env("STATE_DIRECTORY", home.path())
        .env("RUNTIME_DIRECTORY", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    running.stdin.as_mut().unwrap().write_all(answer.as_bytes()).await.unwrap();
    tokio::time::timeout(PATIENCE, running.wait_with_output()).await.expect("the program ends").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_terminal_the_snapshot_is_shown_and_only_yes_accepts_it() {
    let (_peer, _hook, home, daemon) = watched("every: 24h, baseline: approve").await;
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let digest = daemon.baseline("peer").await.newest.unwrap().to_string();
    let arguments = ["baseline", "accept", "peer", "--reason", "read here"];
    let no = on_a_terminal(&home, &arguments, "n\n").await;
    let said = String::from_utf8_lossy(&no.stdout).into_owned();
    assert_eq!(no.status.code(), Some(2), "{said}");
    assert!(said.contains(&digest) && said.contains("mcp.tools") && said.contains("nothing was accepted"), "{said}");
    assert!(daemon.baseline("peer").await.facets.is_empty());
    let yes = on_a_terminal(&home, &arguments, "y\n").await;
    assert!(yes.status.success(), "{}", String::from_utf8_lossy(&yes.stdout));
    let baseline = daemon.baseline("peer").await;
    assert!(baseline.facets.iter().all(|facet| facet.reviewed), "{baseline:#?}");
    assert_eq!(baseline.facets.len(), FACETS);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_joins_by_itself_is_in_the_ledger_too() {
    let (_peer, _hook, _home, daemon) = watched("every: 24h").await;
    let baseline = daemon.take_baseline("peer").await;
    assert_eq!(daemon.metric("driftd_ledger_entries_total").await.to_string(), FACETS.to_string());
    let mut entries: Vec<usize> = baseline.facets.iter().map(|facet| usize::try_from(facet.entry).unwrap()).collect();
    entries.sort_unstable();
    assert_eq!(entries, (1..=FACETS).collect::<Vec<_>>());
    for facet in &baseline.facets {
        assert_eq!((facet.by.as_str(), facet.reviewed), ("first_seen", false), "{facet:?}");
        assert_eq!(facet.date.as_deref(), Some("2026-07-28"), "a baseline says how it was asked: {facet:?}");
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_accepted_beside_is_held_beside() {
    let (peer, hook, home, daemon) = watched("every: 24h").await;
    daemon.take_baseline("peer").await;
    let old = Script::default().tools.unwrap();
    let other = vec![old[0].clone(), tool("get_invoice", "Gives one invoice with its lines.")];
    peer.change(|script| script.tools = Some(other.clone()));
    daemon.scan("peer").await;
    let accept = ["baseline", "accept", &newest(&daemon).await, "--beside", "--reason", "two builds are deployed"];
    let accepted = home.driftd(&accept).await;
    assert!(accepted.status.success(), "{}", err(&accepted));
    let baseline = daemon.baseline("peer").await;
    let tools = baseline.facets.iter().find(|facet| facet.facet == "mcp.tools").unwrap();
    assert_eq!(tools.values, 2, "{baseline:#?}");
    for shown in [old.clone(), other, old.clone()] {
        peer.change(|script| script.tools = Some(shown));
        daemon.advance(Duration::from_hours(1));
        let scanned = daemon.scan("peer").await;
        assert_eq!((scanned.pending, scanned.open), (0, 0));
    }
    peer.change(|script| script.tools = Some(vec![old[0].clone()]));
    daemon.advance(Duration::from_hours(1));
    assert!(daemon.scan("peer").await.pending > 0, "a third value is drift");
    assert!(hook.tries().is_empty());
    daemon.stop().await;
}
