//! Who is told what, and when.

use std::fmt::Write as _;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::support::PATIENCE;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::webhook::Hook;

/// Targets `paid` (team payments) and `other` at one peer, receivers `first`, `second` and `third`.
fn home(peer: &ScriptedPeer, hooks: [&Hook; 3], routes: &str) -> Home {
    let home = Home::new();
    let mut driftd = "metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\nreceivers:\n".to_owned();
    for (name, hook) in ["first", "second", "third"].into_iter().zip(hooks) {
        let secret = home.write(name, &hook.secret());
        let webhook = format!("{{ url: {:?}, secret: {{ file: {secret:?} }} }}", hook.url());
        writeln!(driftd, "  - {{ name: {name}, webhook: {webhook} }}").unwrap();
    }
    home.write("driftd.yaml", &format!("{driftd}routes:\n{routes}"));
    let url = peer.url();
    home.write(
        "inventory.yaml",
        &format!(
            "targets:\n  - {{ id: paid, kind: mcp, url: {url:?}, every: 24h, labels: {{ team: payments }} }}\n  \
             - {{ id: other, kind: mcp, url: {url:?}, every: 24h }}\n"
        ),
    );
    home
}

async fn three() -> [Hook; 3] {
    [Hook::start().await, Hook::start().await, Hook::start().await]
}

/// A tool is gone, of both targets.
async fn drift(peer: &ScriptedPeer, daemon: &Daemon) {
    for id in ["paid", "other"] {
        daemon.take_baseline(id).await;
    }
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    for id in ["paid", "other"] {
        daemon.scan_twice(id, Duration::from_mins(5)).await;
    }
}

fn targets(hook: &Hook) -> Vec<String> {
    let id = |delivery: &crate::support::webhook::Delivery| delivery.body["data"]["targets"][0]["id"].clone();
    let mut ids: Vec<String> = hook.deliveries().iter().map(|it| id(it).as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_match_takes_it_unless_it_goes_on_and_what_nobody_takes_goes_to_all() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hooks = three().await;
    let routes = "  - { match: { labels: { team: payments } }, to: [ first ], continue: true, group_wait: 0s }\n  \
                  - { match: { severity: \">=high\", labels: { team: payments } }, to: [ second ], group_wait: 0s }\n  \
                  - { match: { labels: { team: payments } }, to: [ third ], group_wait: 0s }\n";
    let home = home(&peer, [&hooks[0], &hooks[1], &hooks[2]], routes);
    let daemon = Daemon::start(&home).await;
    drift(&peer, &daemon).await;
    daemon.delivered().await;
    assert_eq!(targets(&hooks[0]), ["other", "paid"]);
    assert_eq!(targets(&hooks[1]), ["other", "paid"]);
    assert_eq!(targets(&hooks[2]), ["other"], "the second route took it");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_within_the_groups_wait_is_one_message_and_what_ends_in_it_none() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hooks = three().await;
    let routes = "  - { match: { target: paid }, to: first, group_wait: 20m, group_interval: 1h }\n  \
                  - { match: { target: other }, to: second, group_wait: 20m }\n";
    let home = home(&peer, [&hooks[0], &hooks[1], &hooks[2]], routes);
    let daemon = Daemon::start(&home).await;
    drift(&peer, &daemon).await;
    // A second revision of the one, before its time has come.
    peer.change(|script| script.tools = Some(Vec::new()));
    daemon.scan_twice("paid", Duration::from_mins(5)).await;
    let paid = daemon.incidents().await.into_iter().find(|incident| incident.target == "paid").unwrap();
    assert!(paid.reference.ends_with(".2"), "{paid:#?}");
    // The other goes back.
    peer.change(|script| script.tools = Script::default().tools);
    daemon.scan("other").await;
    daemon.advance(Duration::from_mins(5));
    daemon.scan("other").await;
    assert!(!daemon.drifts().await.iter().any(|incident| incident.target == "other"));
    assert!(daemon.messages().await.is_empty(), "nothing is due yet");
    assert!(daemon.metric("driftd_outbox_pending").await > 0.0);

    daemon.advance(Duration::from_mins(20));
    daemon.delivered().await;
    assert_eq!(hooks[0].wait_for(1).await.len(), 1);
    assert_eq!(hooks[0].deliveries()[0].body["data"]["incident"]["revision"], 2);
    assert_eq!(hooks[0].deliveries()[0].kind(), "drift.opened", "nobody was told the first revision");
    assert!(hooks[1].tries().is_empty(), "what opens and ends within the wait is history");
    assert!(hooks[2].tries().is_empty());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_console_receiver_prints_what_a_mail_would_say_and_keeps_hostile_text_still() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = Home::new();
    home.write(
        "driftd.yaml",
        "metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\nreceivers: [ { name: terminal, console: {} } ]\n\
         confirm: { sightings: 1, after: 0s }\n",
    );
    home.write(
        "inventory.yaml",
        &format!("targets:\n  - {{ id: peer, kind: mcp, url: {:?}, every: 24h }}\n", peer.url()),
    );
    let mut running = home.command().arg("run").stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stdout.take().unwrap()).lines();
    let scan = || async {
        let socket = home.path().join("driftd.sock");
        crate::support::until("driftd answers", || std::os::unix::net::UnixStream::connect(&socket).ok()).await;
        home.driftd(&["targets", "scan", "peer"]).await
    };
    let first = scan().await;
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    let hostile =
        serde_json::json!({"name": "wipe\u{1b}[2J\u{202e}", "description": "Done.", "inputSchema": {"type": "object"}});
    peer.change(|script| script.tools = Some(vec![hostile]));
    scan().await;
    let mut said = String::new();
    let reading = async {
        while !said.contains("drift accept") {
            said += &lines.next_line().await.unwrap().unwrap();
            said.push('\n');
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.unwrap();
    assert!(said.contains("HIGH peer:") && said.contains("get_invoice"), "{said}");
    assert!(!said.contains(['\u{1b}', '\u{202e}']), "{said:?}");
    running.kill().await.unwrap();
}
