//! A file that another program writes is held when it is wrong, and the rest goes on; the last good inventory outlives
//! a stop.

use driftd::operations::{Answer, Refused, Request};
use jiff::Timestamp;

use super::{rename_over, targets};
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer};

const DRIFTD: &str = "metrics_listen: 127.0.0.1:0\n\
                      inventory: [ inventory.yaml, { path: generated.yaml, trust: listed, may_remove: 20% } ]\n\
                      receivers: [ { name: terminal, console: {} } ]\n";

fn now() -> Timestamp {
    "2026-11-30T12:00:00Z".parse().unwrap()
}

fn listing(url: &str, names: &[&str]) -> String {
    format!("targets:\n{}", targets(url, names))
}

fn home(url: &str) -> Home {
    let home = Home::new();
    home.write("driftd.yaml", DRIFTD);
    home.write("inventory.yaml", &listing(url, &["own"]));
    home.write("generated.yaml", &listing(url, &["g1", "g2", "g3", "g4"]));
    home
}

async fn held(daemon: &Daemon) -> Vec<String> {
    let metrics = daemon.metrics().await;
    metrics.lines().filter(|line| line.starts_with("driftd_inventory_file_held{")).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_file_that_goes_wrong_is_held_and_the_others_go_on() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = home(&peer.url());
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("g1").await;
    let (right, url) = (listing(&peer.url(), &["g1", "g2", "g3", "g4"]), peer.url());
    for (n, (wrong, reason)) in [
        (String::new(), "empty"),
        ("targets: []\n".to_owned(), "empty"),
        (format!("{right}  - {{ id: g5, kind: mcp, command: [ sh ] }}\n"), "forbidden"),
        (
            format!("{right}  - {{ id: g5, kind: mcp, url: {url:?}, auth: {{ bearer: {{ env: HOME }} }} }}\n"),
            "forbidden",
        ),
        (format!("{right}  - {{ id: g5, kind: mcp, url: \"http://169.254.169.254/latest/\" }}\n"), "forbidden"),
        (format!("{right}  - {{ id: own0, kind: mcp, url: {url:?} }}\n"), "conflict"),
        (listing(&url, &["g1", "g2"]), "removes_too_many"),
    ]
    .into_iter()
    .enumerate()
    {
        rename_over(&home, "generated.yaml", &wrong);
        let own: Vec<String> = (0..=n).map(|n| format!("own{n}")).collect();
        rename_over(&home, "inventory.yaml", &listing(&url, &own.iter().map(String::as_str).collect::<Vec<_>>()));
        let reloaded = daemon.reload().await.unwrap_or_else(|refused| panic!("{reason}: {refused}"));
        assert_eq!(reloaded.held.iter().map(|held| held.reason.as_str()).collect::<Vec<_>>(), [reason], "{wrong}");
        assert_eq!(reloaded.targets, 4 + n + 1, "the others go on: {wrong}");
        let series = held(&daemon).await;
        assert!(series.len() == 1 && series[0].contains(&format!("reason=\"{reason}\"")), "{series:?}");
        assert_eq!(daemon.target("g1").await.target.state, "active");
    }
    let released = |file: &str| Request::Release { file: home.path().join(file) };
    assert!(matches!(daemon.ask(released("inventory.yaml")).await, Err(Refused::NotFound(_))));
    let Ok(Answer::Reloaded(reloaded)) = daemon.ask(released("generated.yaml")).await else { panic!("not released") };
    assert_eq!((reloaded.held.len(), reloaded.changes.removed.len()), (0, 2));
    assert!(held(&daemon).await.is_empty(), "the series is gone");
    assert_eq!(daemon.target("g3").await.target.state, "retired");
    rename_over(&home, "generated.yaml", &right);
    assert_eq!(daemon.reload().await.unwrap().changes.added.len(), 2);
    assert!(!daemon.baseline("g1").await.facets.is_empty());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_with_a_wrong_inventory_goes_on_with_the_last_good_one_and_says_so() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = home(&peer.url());
    let daemon = Daemon::open(&home, now()).await.unwrap();
    daemon.take_baseline("own").await;
    daemon.stop().await;

    home.write("inventory.yaml", "targets:\n  - { id: own, kind: mcp, url: \"http");
    home.write("generated.yaml", "");
    let daemon = Daemon::open(&home, now()).await.unwrap();
    assert_eq!(daemon.metric("driftd_inventory_targets").await, 5.0);
    assert_eq!(held(&daemon).await.len(), 2);
    assert_eq!(daemon.metric("driftd_config_last_reload_successful").await, 0.0, "what is written is not in force");
    assert_eq!(daemon.page("/-/ready").await.0, 200, "it watches what it watched");
    assert_eq!(daemon.scan("own").await.outcome, "ok");
    assert!(!daemon.baseline("own").await.facets.is_empty());
    rename_over(&home, "inventory.yaml", &listing(&peer.url(), &["own", "more"]));
    assert_eq!(daemon.reload().await.unwrap().targets, 6);
    assert_eq!(daemon.metric("driftd_config_last_reload_successful").await, 1.0);
    daemon.stop().await;

    home.write("driftd.yaml", "metrics_listen: nowhere\n");
    let refused = Daemon::open(&home, now()).await.unwrap_err().to_string();
    assert!(refused.contains("driftd.yaml:1:"), "{refused}");
    assert_eq!(home.driftd(&["run"]).await.status.code(), Some(2), "nobody knows what else a wrong driftd.yaml means");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_start_with_a_wrong_inventory_has_nothing_to_go_on_with() {
    let home = home("http://127.0.0.1:9/mcp");
    home.write("inventory.yaml", "targets:\n  - { id: own, kind: mcp }\n");
    let refused = Daemon::open(&home, now()).await.unwrap_err().to_string();
    assert!(refused.contains("inventory.yaml:2:"), "{refused}");
}
