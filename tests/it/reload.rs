//! A configuration is taken whole or not at all, whichever way it comes; who leaves is remembered, and who returns is
//! held to what was.

mod fleet;
mod held;
mod post;
mod targets;
mod was;

use std::net::SocketAddr;
use std::process::Stdio;

use driftd::operations::Refused;

use crate::support::daemon::{Daemon, Home, page_of, ready, sum};
use crate::support::eventually;
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::ports::free_port;

const DRIFTD: &str = "metrics_listen: 127.0.0.1:0\n\
                      inventory: [ inventory.yaml, \"more/*.yaml\" ]\n\
                      receivers: [ { name: terminal, console: {} } ]\n";

/// Targets at `url`, one a name.
fn targets(url: &str, names: &[&str]) -> String {
    names.iter().map(|name| format!("  - {{ id: {name}, kind: mcp, url: {url:?} }}\n")).collect()
}

fn home(url: &str, names: &[&str]) -> Home {
    let home = Home::with(DRIFTD, &targets(url, names));
    std::fs::create_dir(home.path().join("more")).unwrap();
    home
}

/// As editors write: aside, then over.
fn rename_over(home: &Home, name: &str, content: &str) {
    let aside = home.write(".aside", content);
    std::fs::rename(aside, home.path().join(name)).unwrap();
}

async fn until_inventory(daemon: &Daemon, count: f64) {
    let what = format!("the inventory has {count} targets");
    eventually(&what, async || (daemon.metric("driftd_inventory_targets").await == count).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_way_a_file_changes_is_seen_by_itself() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = home(&peer.url(), &["a"]);
    let daemon = Daemon::open(&home, "2026-11-30T12:00:00Z".parse().unwrap()).await.unwrap();
    until_inventory(&daemon, 1.0).await;

    rename_over(&home, "inventory.yaml", &format!("targets:\n{}", targets(&peer.url(), &["a", "b"])));
    until_inventory(&daemon, 2.0).await;
    daemon.until_target("b", |target| target.target.last_scan.is_some()).await;

    home.write("inventory.yaml", &format!("targets:\n{}", targets(&peer.url(), &["a", "b", "c"])));
    until_inventory(&daemon, 3.0).await;

    home.write("more/team.yaml", &format!("targets:\n{}", targets(&peer.url(), &["d"])));
    until_inventory(&daemon, 4.0).await;
    std::fs::remove_file(home.path().join("more/team.yaml")).unwrap();
    until_inventory(&daemon, 3.0).await;

    rename_over(&home, "driftd.yaml", &DRIFTD.replace(", \"more/*.yaml\"", ""));
    home.write("more/team.yaml", &format!("targets:\n{}", targets(&peer.url(), &["d"])));
    rename_over(&home, "inventory.yaml", &format!("targets:\n{}", targets(&peer.url(), &["a"])));
    until_inventory(&daemon, 1.0).await;
    daemon.stop().await;
}

/// The way in which Kubernetes changes the files of a volume: `..data` leads to a directory, and is swapped whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_swapped_link_to_a_directory_is_seen() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = Home::new();
    let volume = |name: &str, names: &[&str]| {
        let directory = home.path().join(name);
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("driftd.yaml"), DRIFTD).unwrap();
        std::fs::write(directory.join("inventory.yaml"), format!("targets:\n{}", targets(&peer.url(), names))).unwrap();
    };
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, home.path().join(name)).unwrap();
    volume("..2026_one", &["a"]);
    link("..2026_one", "..data");
    link("..data/driftd.yaml", "driftd.yaml");
    link("..data/inventory.yaml", "inventory.yaml");
    let daemon = Daemon::open(&home, "2026-11-30T12:00:00Z".parse().unwrap()).await.unwrap();
    until_inventory(&daemon, 1.0).await;
    volume("..2026_two", &["a", "b"]);
    link("..2026_two", "..data_tmp");
    std::fs::rename(home.path().join("..data_tmp"), home.path().join("..data")).unwrap();
    std::fs::remove_dir_all(home.path().join("..2026_one")).unwrap();
    until_inventory(&daemon, 2.0).await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_edit_changes_nothing_but_metric_and_answer_and_a_right_one_is_live_before_the_next_scan() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let other = ScriptedPeer::start(Script::default()).await;
    let home = home(&peer.url(), &["a"]);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("a").await;
    let before = daemon.target("a").await;

    rename_over(
        &home,
        "inventory.yaml",
        "targets:\n  - { id: a, kind: mcp, url: nonsense }\n  - { id: B!, kind: mcp }\n",
    );
    let refused = daemon.reload().await.unwrap_err();
    let Refused::Mistakes(mistakes) = &refused else { panic!("{refused:?}") };
    let check = home.driftd(&["config", "check"]).await;
    assert_eq!(check.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&check.stderr).trim_end(), format!("driftd: {refused}"), "the same words");
    assert!(mistakes.len() >= 3, "all of them at once: {mistakes:#?}");
    assert_eq!(daemon.metric("driftd_config_last_reload_successful").await, 0.0);
    assert_eq!(daemon.metric("driftd_inventory_targets").await, 1.0);
    let after = daemon.target("a").await;
    assert_eq!((after.target.url, after.target.next_scan), (before.target.url, before.target.next_scan));

    rename_over(&home, "inventory.yaml", &format!("targets:\n{}", targets(&other.url(), &["a"])));
    let asked = peer.asked().len();
    let reloaded = daemon.reload().await.unwrap();
    assert_eq!(reloaded.changes.changed, ["a".parse().unwrap()]);
    assert_eq!(daemon.metric("driftd_config_last_reload_successful").await, 1.0);
    daemon.scan("a").await;
    assert!(!other.asked().is_empty(), "the new one is asked");
    assert_eq!(peer.asked().len(), asked, "the old one is not");
    assert!(daemon.baseline("a").await.facets.len() > 1, "what it is held to stays");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_file_ends_nothing_that_is_watched_and_starts_nothing() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = home(&peer.url(), &["a"]);
    let now = "2026-11-30T12:00:00Z".parse().unwrap();
    let daemon = Daemon::open(&home, now).await.unwrap();
    daemon.take_baseline("a").await;
    home.write("driftd.yaml", "");
    let refused = daemon.reload().await.unwrap_err().to_string();
    for wanted in ["driftd.yaml: the file is empty", "a comment or `{}` says that nothing is meant"] {
        assert!(refused.contains(wanted), "{refused}");
    }
    assert_eq!(daemon.metric("driftd_inventory_targets").await, 1.0);
    daemon.stop().await;
    for arguments in [&["config", "check"][..], &["run"]] {
        let output = home.driftd(arguments).await;
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("the file is empty"), "{output:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_a_restart_is_said_and_kept_as_it_was() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = home(&peer.url(), &["a"]);
    let daemon = Daemon::start(&home).await;
    let moved = format!("{}store: {{ sqlite: other.db }}\ncontrol: other.sock\n", DRIFTD.replace(":0\n", ":1\n"));
    rename_over(&home, "driftd.yaml", &moved);
    let reloaded = daemon.reload().await.unwrap();
    assert_eq!(reloaded.changes.restart, ["metrics_listen", "control", "store"]);
    assert_eq!(daemon.page("/-/ready").await.0, 200, "where it was");
    assert!(!home.path().join("other.db").exists());
    rename_over(&home, "driftd.yaml", DRIFTD);
    assert!(daemon.reload().await.unwrap().changes.restart.is_empty());
    daemon.stop().await;
}

/// The real program with a receiver whose secret lies where nobody looks for changes.
struct Real {
    home: Home,
    metrics: SocketAddr,
    child: tokio::process::Child,
    secret: tempfile::TempDir,
}

impl Real {
    async fn start() -> Self {
        let (home, secret) = (Home::new(), tempfile::tempdir().unwrap());
        let metrics: SocketAddr = ([127, 0, 0, 1], free_port()).into();
        let log = std::fs::File::create(home.path().join("log")).unwrap();
        let real = |child| Self { home, metrics, child, secret };
        let mut real = real(tokio::process::Command::new("true").spawn().unwrap());
        real.home.write("inventory.yaml", "targets: []\n");
        real.write(false);
        real.child = real.home.command().arg("run").stderr(Stdio::from(log)).spawn().unwrap();
        ready(metrics).await;
        real
    }

    /// With or without the receiver.
    fn write(&self, receiver: bool) {
        let secret = self.secret.path().join("key");
        let hook =
            format!(", {{ name: hook, webhook: {{ url: \"http://127.0.0.1:9\", secret: {{ file: {secret:?} }} }} }}");
        rename_over(
            &self.home,
            "driftd.yaml",
            &format!(
                "metrics_listen: {}\ninventory: [ inventory.yaml ]\nreceivers: [ {{ name: terminal, console: {{}} }}{} ]\n",
                self.metrics,
                if receiver { &hook } else { "" }
            ),
        );
    }

    /// Makes the secret, which nobody sees.
    fn mend(&self) {
        std::fs::write(self.secret.path().join("key"), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    }

    async fn until_metric(&self, name: &str, wanted: f64) {
        eventually(&format!("{name} is {wanted}"), async || {
            let (_, page) = page_of(self.metrics, "/metrics").await.ok()?;
            (sum(&page, name) == wanted).then_some(())
        })
        .await;
    }

    async fn metric(&self, name: &str) -> f64 {
        let (_, page) = page_of(self.metrics, "/metrics").await.unwrap();
        sum(&page, name)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("log")).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_has_the_files_read_anew_and_does_not_kill() {
    let mut real = Real::start().await;
    real.write(true);
    real.until_metric("driftd_config_last_reload_successful", 0.0).await;
    let log = real.log();
    assert!(log.contains("the configuration has mistakes") && log.contains("driftd.yaml:3:"), "{log}");
    real.mend();
    let killed = tokio::process::Command::new("kill").args(["-HUP", &real.child.id().unwrap().to_string()]).status();
    assert!(killed.await.unwrap().success());
    real.until_metric("driftd_config_last_reload_successful", 1.0).await;
    real.until_metric("driftd_outbox_pending{receiver=\"hook\"}", 0.0).await;
    assert!(real.log().contains("SIGHUP"), "{}", real.log());
    assert!(real.child.try_wait().unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_touched_and_says_the_same_is_no_news_of_the_log() {
    let real = Real::start().await;
    let name = "driftd_config_last_reload_success_timestamp_seconds";
    let before = real.metric(name).await;
    real.write(false);
    eventually("the files were read anew", async || (real.metric(name).await > before).then_some(())).await;
    assert!(!real.log().contains("the configuration is in force"), "{}", real.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_tells_what_changed_or_every_mistake_and_ends_with_two() {
    let real = Real::start().await;
    real.write(true);
    real.until_metric("driftd_config_last_reload_successful", 0.0).await;
    let (check, refused) = (real.home.driftd(&["config", "check"]).await, real.home.driftd(&["reload"]).await);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(String::from_utf8_lossy(&refused.stderr), String::from_utf8_lossy(&check.stderr));
    real.mend();
    let taken = real.home.driftd(&["reload"]).await;
    assert_eq!(taken.status.code(), Some(0), "{}", String::from_utf8_lossy(&taken.stderr));
    let said = String::from_utf8_lossy(&taken.stdout).into_owned();
    assert_eq!(said, "the configuration is in force: 0 targets\n  receivers: hook\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_daemon_there_is_nothing_to_reload() {
    let home = home("http://127.0.0.1:9/mcp", &["a"]);
    let refused = home.driftd(&["reload"]).await;
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no daemon runs"), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_file_with_mistakes_is_not_released_and_its_mistakes_are_told() {
    let home = home("http://127.0.0.1:9/mcp", &[]);
    let metrics: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    home.write(
        "driftd.yaml",
        &format!("metrics_listen: {metrics}\ninventory: [ {{ path: gen.yaml, trust: listed }} ]\nreceivers: [ {{ name: terminal, console: {{}} }} ]\n"),
    );
    home.write("gen.yaml", "targets: []\n");
    let mut child = home.command().arg("run").stderr(Stdio::null()).spawn().unwrap();
    ready(metrics).await;
    home.write("gen.yaml", "targets: [\n");
    let file = home.path().join("gen.yaml");
    // Asked at once, when the change may not have been looked at yet: the question does not hide it.
    home.driftd(&["inventory", "release", &file.to_string_lossy()]).await;
    eventually("the file is held", async || {
        let (_, exposition) = page_of(metrics, "/metrics").await.ok()?;
        exposition.contains("driftd_inventory_file_held{").then_some(())
    })
    .await;
    let released = home.driftd(&["inventory", "release", &file.to_string_lossy()]).await;
    let error = String::from_utf8_lossy(&released.stderr).into_owned();
    assert_eq!(released.status.code(), Some(2), "{error}");
    assert!(error.contains("has mistakes to mend first") && error.contains("this is not YAML"), "{error}");
    let reloaded = home.driftd(&["reload"]).await;
    let said = String::from_utf8_lossy(&reloaded.stdout).into_owned();
    assert!(said.contains("held at its last good version") && !said.contains("inventory release"), "{said}");
    child.kill().await.unwrap();
}
