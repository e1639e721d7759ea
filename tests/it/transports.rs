//! Every way to a server, with real ones: HTTP+SSE, a bridge, and programs over their standard streams. Each is watched,
//! exchanged for another version behind the same address or command, and told.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::daemon::{Daemon, Home};
use crate::support::front::Front;
use crate::support::peers::{BRIDGE_2025_8_21, BRIDGE_2026_8_31, PinnedPeer, SSE_2025_12_18, SSE_2026_1_26, installed};
use crate::support::webhook::Hook;

/// The protocol that `target` speaks, in a line.
async fn protocol(daemon: &Daemon, target: &str) -> String {
    daemon.target(target).await.protocol.unwrap_or_default()
}

/// The rules of the units of the only incident.
async fn told(daemon: &Daemon) -> Vec<String> {
    let incidents = daemon.incidents().await;
    let [incident] = incidents.as_slice() else { panic!("one incident, not {incidents:#?}") };
    incident.units.iter().map(|unit| unit.rule.clone()).collect()
}

/// Scans until what differs is confirmed.
async fn confirm(daemon: &Daemon, target: &str) {
    daemon.scan(target).await;
    daemon.advance(Duration::from_mins(6));
    let confirmed = daemon.scan(target).await;
    assert_eq!(confirmed.pending, 0, "{confirmed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_http_sse_is_watched_and_its_upgrade_is_told() {
    let older = PinnedPeer::start(SSE_2025_12_18).await;
    let front = Front::of(older.port()).await;
    let hook = Hook::start().await;
    let home = Home::told_by(
        &hook,
        "",
        &format!(
            "  - {{ id: old, kind: mcp, url: {:?}, every: 24h, timeout: 1m, scan_timeout: 5m }}\n",
            front.at("/sse")
        ),
    );
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("old").await;
    assert_eq!(protocol(&daemon, "old").await, "MCP 2025-11-25, session, sse");
    let findings = daemon.scan("old").await;
    assert_eq!(findings.outcome, "ok", "{findings:?}");

    for _ in 0..3 {
        daemon.advance(Duration::from_mins(5));
        let unchanged = daemon.scan("old").await;
        assert_eq!((unchanged.pending, unchanged.open), (0, 0), "{unchanged:?}");
    }

    let newer = PinnedPeer::start(SSE_2026_1_26).await;
    front.swap(newer.port());
    confirm(&daemon, "old").await;
    let rules = told(&daemon).await;
    for rule in ["tool.renamed", "tool.removed", "prompt.removed"] {
        assert!(rules.iter().any(|told| told == rule), "{rule} in {rules:?}");
    }
    assert!(!rules.iter().any(|rule| rule.starts_with("mcp.transport")), "{rules:?}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_around_a_program_is_watched_and_the_upgrade_behind_it_is_told() {
    let mut older = PinnedPeer::start(BRIDGE_2025_8_21).await;
    let front = Front::of(older.port()).await;
    let hook = Hook::start().await;
    let home = Home::told_by(
        &hook,
        "",
        &format!("  - {{ id: files, kind: mcp, url: {:?}, every: 24h, timeout: 1m, scan_timeout: 5m }}\n", front.url()),
    );
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("files").await;
    assert!(protocol(&daemon, "files").await.ends_with("streamable_http"), "{}", protocol(&daemon, "files").await);
    assert!(older.is_alive(), "the bridge died of being scanned");

    let newer = PinnedPeer::start(BRIDGE_2026_8_31).await;
    front.swap(newer.port());
    confirm(&daemon, "files").await;
    upgrade_of_files(&told(&daemon).await);
    daemon.stop().await;
}

/// What a person sees between the two releases of the server for files: output schemas and hints, no tool more or less.
fn upgrade_of_files(rules: &[String]) {
    assert!(rules.iter().any(|rule| rule.starts_with("tool.")), "{rules:?}");
    assert!(
        !rules.iter().any(|rule| ["tool.removed", "tool.added", "tool.renamed"].contains(&rule.as_str())),
        "{rules:?}"
    );
}

/// A link that stands in a command, so that another release answers to the same words.
fn point(link: &Path, release: &str) {
    let _ = std::fs::remove_file(link);
    symlink(installed("npm").join("node_modules").join(release), link).unwrap();
}

fn allowing(hook: &Hook, program: &str, targets: &str) -> Home {
    Home::told_by(hook, &format!("commands: {{ allow: [ {program:?} ] }}\n"), targets)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_of_node_is_watched_and_its_upgrade_is_told() {
    let hook = Hook::start().await;
    let place = tempfile::tempdir().unwrap();
    let link = place.path().join("server");
    point(&link, "filesystem-2025-8-21");
    let script = link.join("dist/index.js");
    let targets = format!(
        "  - {{ id: files, kind: mcp, every: 24h, timeout: 1m, scan_timeout: 5m, command: [ node, {:?}, {:?} ] }}\n",
        script.display().to_string(),
        place.path().display().to_string()
    );
    let home = allowing(&hook, "node", &targets);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("files").await;
    assert_eq!(protocol(&daemon, "files").await, "MCP 2025-11-25, session, stdio");
    for _ in 0..3 {
        daemon.advance(Duration::from_mins(5));
        let unchanged = daemon.scan("files").await;
        assert_eq!((unchanged.outcome.as_str(), unchanged.pending, unchanged.open), ("ok", 0, 0), "{unchanged:?}");
    }

    point(&link, "filesystem-2026-8-31");
    confirm(&daemon, "files").await;
    upgrade_of_files(&told(&daemon).await);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_of_python_that_moves_to_the_new_era_is_told_so() {
    let hook = Hook::start().await;
    let place = tempfile::tempdir().unwrap();
    let link = place.path().join("environment");
    let point = |release: &str| {
        let _ = std::fs::remove_file(&link);
        symlink(installed("python").join(release), &link).unwrap();
    };
    point("mcp-server-time-2025.8.4");
    let python: PathBuf = link.join("bin/python");
    let python = python.display().to_string();
    let targets = format!(
        "  - {{ id: clock, kind: mcp, every: 24h, timeout: 1m, scan_timeout: 5m, command: [ {python:?}, -m, mcp_server_time ], env: {{ TZ: UTC }} }}\n"
    );
    let home = allowing(&hook, &python, &targets);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("clock").await;
    assert_eq!(protocol(&daemon, "clock").await, "MCP 2025-06-18, session, stdio");

    point("mcp-server-time-2026.10.19");
    confirm(&daemon, "clock").await;
    let rules = told(&daemon).await;
    // It still answers the date of its baseline, with which it is asked; that it knows the newer one is no drift.
    assert!(rules.iter().any(|rule| rule == "mcp.server-version-changed"), "{rules:?}");
    assert!(!rules.iter().any(|rule| rule == "mcp.era-changed"), "{rules:?}");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_no_longer_starts_is_told_with_its_last_words() {
    let hook = Hook::start().await;
    let place = tempfile::tempdir().unwrap();
    let link = place.path().join("server");
    point(&link, "filesystem-2025-8-21");
    let script = link.join("dist/index.js").display().to_string();
    let root = place.path().display().to_string();
    let targets = format!(
        "  - {{ id: files, kind: mcp, every: 24h, timeout: 1m, scan_timeout: 5m, command: [ node, {script:?}, {root:?} ] }}\n"
    );
    let settings = "commands: { allow: [ node ] }\nconfirm: { sight: { failures: 2, over: 10m } }\n";
    let home = Home::told_by(&hook, settings, &targets);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("files").await;

    std::fs::remove_file(&link).unwrap();
    assert_eq!(daemon.scan("files").await.outcome, "unreachable");
    daemon.advance(Duration::from_mins(11));
    daemon.scan("files").await;
    assert_eq!(told(&daemon).await, ["scan.unreachable"]);
    let told = hook.wait_for(1).await;
    let body = told[0].body.to_string();
    assert!(body.contains("the program ended before it answered (exit status: 1); it wrote"), "{body}");

    point(&link, "filesystem-2025-8-21");
    daemon.advance(Duration::from_mins(11));
    assert_eq!(daemon.scan("files").await.outcome, "ok");
    assert!(daemon.incidents().await.is_empty());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_not_allowed_is_refused_by_the_configuration() {
    let home = Home::with(
        "inventory: [ inventory.yaml ]\nreceivers: [ { name: terminal, console: {} } ]\n",
        "  - { id: files, kind: mcp, command: [ node, server.js ] }\n",
    );
    for arguments in [&["config", "check"][..], &["scan", "files"]] {
        let refused = home.driftd(arguments).await;
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned() + &String::from_utf8_lossy(&refused.stdout);
        assert!(said.contains("the program `node` may not be started"), "{said}");
        assert!(said.contains("commands: { allow: [ PROGRAM ] }"), "{said}");
    }
}
