//! Faults of our own house: a full disk, a store that went away or is somebody else's, no descriptors left. Scanning
//! goes on where it can, it is told at once and only as ours, and it mends by itself.

use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use driftd::config::Config;
use tokio::process::Command;

use crate::support::daemon::{Daemon, Home, ready, sum};
use crate::support::eventually;
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::ports::free_port;
use crate::support::webhook::Hook;

/// A small file system of the test's own, as CI's root may mount one.
struct SmallDisk {
    directory: tempfile::TempDir,
}

impl SmallDisk {
    /// Mounts it; where that is not permitted the test says loudly that it tests nothing.
    fn mount(test: &str) -> Option<Self> {
        let disk = Self { directory: tempfile::tempdir().unwrap() };
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"])
            .arg(disk.path())
            .output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Some(disk);
        }
        eprintln!("\n!!! SKIPPED: {test}: no tmpfs can be mounted here; it takes root\n");
        None
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Takes all the room there is.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.ballast()).unwrap();
        for size in [64 * 1024, 4096, 1] {
            let block = vec![1_u8; size];
            while std::io::Write::write_all(&mut file, &block).is_ok() {}
        }
    }

    fn empty(&self) {
        std::fs::remove_file(self.ballast()).unwrap();
    }

    /// Tried again while something is being written there.
    fn remount(&self, how: &str) {
        let mut done = false;
        for _ in 0..1_000 {
            let mut command = std::process::Command::new("mount");
            let told = command.args(["-o", &format!("remount,{how}")]).arg(self.path()).output().unwrap();
            done = told.status.success();
            if done {
                break;
            }
        }
        assert!(done, "cannot be remounted {how}");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: whatever still has a file open there lets go of it with its own end.
        let _ = std::process::Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

/// A home whose store lies at `store`, with a peer that is scanned on demand.
fn home(peer: &str, hook: &Hook, store: &Path, more: &str) -> Home {
    let settings = format!("store: {{ sqlite: {store:?} }}\n{more}");
    Home::told_by(hook, &settings, &format!("  - {{ id: peer, kind: mcp, url: {peer:?}, every: 24h }}\n"))
}

/// A target that is watched, with its store in a directory of its own.
struct Watched {
    peer: ScriptedPeer,
    hook: Hook,
    home: Home,
    daemon: Daemon,
    directory: tempfile::TempDir,
    store: PathBuf,
}

async fn watched() -> Watched {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("driftd.db");
    let home = home(&peer.url(), &hook, &store, "");
    let daemon = Daemon::start(&home).await;
    Watched { peer, hook, home, daemon, directory, store }
}

async fn until_ready(daemon: &Daemon, is: bool) -> String {
    let what = if is { "the daemon is ready" } else { "the daemon is not ready" };
    eventually(what, async || {
        let (status, said) = daemon.page("/-/ready").await;
        ((status == 200) == is).then_some(said)
    })
    .await
}

async fn check(home: &Home) -> (Option<i32>, String) {
    let said = home.driftd(&["store", "check"]).await;
    (said.status.code(), String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_told_at_once_makes_no_drift_and_mends_by_itself() {
    let Some(disk) = SmallDisk::mount("a_full_disk_is_told_at_once_makes_no_drift_and_mends_by_itself") else { return };
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = home(&peer.url(), &hook, &disk.path().join("driftd.db"), "");
    let daemon = Daemon::start(&home).await;
    until_ready(&daemon, true).await;
    daemon.take_baseline("peer").await;

    disk.fill();
    peer.change(|script| script.tools = Some(Vec::new()));
    daemon.advance(Duration::from_mins(5));
    // Each sighting has something to write; the first that does not fit fails, none is written by half.
    let failed = eventually("a scan cannot be kept", async || {
        daemon.advance(Duration::from_mins(5));
        daemon.try_scan("peer").await.err()
    })
    .await;
    assert!(failed.to_string().contains("no space is left"), "{failed}");
    let said = until_ready(&daemon, false).await;
    assert!(said.contains("no space is left for the database; free some"), "{said}");
    assert!(daemon.metric("driftd_store_errors_total").await >= 1.0);
    assert_eq!(daemon.page("/-/healthy").await.0, 200, "it is alive");
    assert_eq!(daemon.target("peer").await.target.id, "peer", "readers read on");
    assert!(daemon.metric("driftd_scans_total").await >= 3.0, "a scan that could not be kept counts");

    disk.empty();
    until_ready(&daemon, true).await;
    daemon.advance(Duration::from_mins(10));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    let told = daemon.delivered().await;
    assert_eq!(told.len(), 1, "{told:#?}");
    let (code, said) = check(&home).await;
    assert_eq!(code, Some(0), "{said}");
    daemon.stop().await;
    assert_eq!(check(&home).await.0, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_marked_is_sent_once() {
    let Some(disk) = SmallDisk::mount("a_message_that_cannot_be_marked_is_sent_once") else { return };
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let store = disk.path().join("driftd.db");
    let home = home(&peer.url(), &hook, &store, "");
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    daemon.housekeep().await;
    crate::support::until("the first round is told", || (!hook.reports().is_empty()).then_some(())).await;
    peer.change(|script| script.tools = Some(Vec::new()));
    hook.refuse(http::StatusCode::SERVICE_UNAVAILABLE);
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    daemon.advance(Duration::from_mins(2));
    crate::support::until("the message is refused", || (!hook.tries().is_empty()).then_some(())).await;
    // The next try arrives, and cannot be noted: there is no room left in the log either.
    truncate_log(&store).await;
    disk.fill();
    hook.accept();
    let unnoted = "driftd_store_errors_total{op=\"outbox\"}";
    eventually("it is sent and cannot be marked for a while", async || {
        daemon.advance(Duration::from_mins(30));
        (daemon.metric(unnoted).await >= 4.0 && !hook.deliveries().is_empty()).then_some(())
    })
    .await;
    assert_eq!(hook.deliveries().len(), 1, "not over and over");
    disk.empty();
    eventually("it is marked", async || {
        daemon.advance(Duration::from_mins(1));
        daemon.messages().await.iter().all(|message| message.state == "sent").then_some(())
    })
    .await;
    assert_eq!(hook.deliveries().len(), 1);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_deleted_under_the_daemon_is_noticed_and_nothing_is_written_to_it() {
    let Watched { peer, daemon, directory, store, home: _home, hook: _hook } = watched().await;
    until_ready(&daemon, true).await;
    daemon.take_baseline("peer").await;
    let kept = directory.path().join("kept.db");
    std::fs::rename(&store, &kept).unwrap();
    peer.change(|script| script.tools = Some(Vec::new()));
    let failed = eventually("a scan cannot be kept", async || daemon.try_scan("peer").await.err()).await;
    assert!(failed.to_string().contains("was deleted or replaced while it was open"), "{failed}");
    eventually("readiness says how to mend it", async || {
        let (status, said) = daemon.page("/-/ready").await;
        (status == 503 && said.contains("driftd store restore")).then_some(())
    })
    .await;
    assert!(!store.exists(), "none is made in its place");
    let size = std::fs::metadata(&kept).unwrap().size();
    assert!(daemon.try_scan("peer").await.is_err());
    assert_eq!(std::fs::metadata(&kept).unwrap().size(), size);
    std::fs::rename(&kept, &store).unwrap();
    until_ready(&daemon, true).await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_cannot_be_says_why_and_how_to_mend_it() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("driftd.db");
    let home = home(&peer.url(), &hook, &store, "");
    Daemon::start(&home).await.stop().await;
    let refused = async |what: &str, code: i32, words: &[&str]| {
        let said = home.driftd(&["--log", "error", "run"]).await;
        let error = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(said.status.code(), Some(code), "{what}: {error}");
        for word in words {
            assert!(error.contains(word), "{what}: {word:?} is not in {error}");
        }
    };

    let daemon = Daemon::start(&home).await;
    refused("a second daemon", 4, &["the store is in use by process", "stop it first"]).await;
    daemon.stop().await;

    let lock = hold_write_lock(&store).await;
    home.write("inventory.yaml", &format!("targets:\n  - {{ id: other, kind: mcp, url: {:?} }}\n", peer.url()));
    refused("a shell in a transaction", 4, &["another program holds a lock on the database"]).await;
    drop(lock);

    let backup = directory.path().join("backup.db");
    let done = home.driftd(&["store", "backup", &backup.to_string_lossy()]).await;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    set_version(&store, 99).await;
    refused("a newer driftd's store", 2, &["schema is 99", "driftd store restore"]).await;

    // What a log beside it holds is read in its place.
    let _ = std::fs::remove_file(directory.path().join("driftd.db-wal"));
    let mut bytes = std::fs::read(&store).unwrap();
    bytes.iter_mut().take(64).for_each(|byte| *byte = b'x');
    std::fs::write(&store, bytes).unwrap();
    refused("a damaged store", 2, &["is damaged", "driftd store check", "driftd store restore"]).await;

    let (code, said) = check(&home).await;
    assert_eq!(code, Some(3), "as a running daemon says: {said}");
    assert!(said.contains("is damaged") && said.contains("file is not a database"), "{said}");
    let other = home.driftd(&["store", "restore", &home.path().join("inventory.yaml").to_string_lossy()]).await;
    let error = String::from_utf8_lossy(&other.stderr);
    assert!(error.contains("is no copy of a driftd store"), "{error}");

    let done = home.driftd(&["store", "restore", &backup.to_string_lossy()]).await;
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Daemon::start(&home).await.stop().await;
}

/// Writes over most of every page of the store and its log but the first.
fn spoil(store: &Path) {
    let mut bytes = std::fs::read(store).unwrap();
    for page in bytes.chunks_mut(4096).skip(1) {
        page.iter_mut().skip(50).take(3000).for_each(|byte| *byte = 0xa5);
    }
    std::fs::write(store, bytes).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_damaged_under_the_daemon_stays_not_ready_though_marks_can_be_written() {
    let Watched { daemon, store, peer: _peer, home: _home, directory: _directory, hook: _hook } = watched().await;
    daemon.take_baseline("peer").await;
    truncate_log(&store).await;
    spoil(&store);
    let said = eventually("the damage is found", async || {
        daemon.housekeep().await;
        let (status, said) = daemon.page("/-/ready").await;
        (status == 503).then_some(said)
    })
    .await;
    assert!(said.contains("driftd store restore") && said.contains("started anew on a whole store"), "{said}");
    // What housekeeping writes to find out whether it can.
    daemon.housekeep().await;
    assert_eq!(daemon.page("/-/ready").await.0, 503);
}

async fn hold_write_lock(store: &Path) -> sqlx::SqliteConnection {
    use sqlx::ConnectOptions as _;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(store);
    let mut conn = options.connect().await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut conn).await.unwrap();
    conn
}

/// Has the log beside `store` hold nothing, so that the next commit needs room.
async fn truncate_log(store: &Path) {
    use sqlx::ConnectOptions as _;
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(store);
    let mut conn = options.connect().await.unwrap();
    sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut conn).await.unwrap();
    sqlx::Connection::close(conn).await.unwrap();
}

async fn set_version(store: &Path, version: u32) {
    use sqlx::ConnectOptions as _;
    let mut conn = sqlx::sqlite::SqliteConnectOptions::new().filename(store).connect().await.unwrap();
    let sql = sqlx::AssertSqlSafe(format!("PRAGMA user_version = {version}"));
    sqlx::query(sql).execute(&mut conn).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_on_a_read_only_file_system_is_refused_and_is_as_it_was_once_it_can_be_written() {
    let test = "a_store_on_a_read_only_file_system_is_refused_and_is_as_it_was_once_it_can_be_written";
    let Some(disk) = SmallDisk::mount(test) else { return };
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = home(&peer.url(), &hook, &disk.path().join("driftd.db"), "");
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    daemon.stop().await;
    disk.remount("ro");
    let said = home.driftd(&["--log", "error", "run"]).await;
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert_eq!(said.status.code(), Some(4), "{error}");
    assert!(error.contains("Read-only file system") || error.contains("read-only"), "{error}");
    disk.remount("rw");
    let daemon = Daemon::start(&home).await;
    assert!(!daemon.baseline("peer").await.facets.is_empty());
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_is_refused_while_the_daemon_runs_and_a_backup_is_not() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let directory = tempfile::tempdir().unwrap();
    let home = home(&peer.url(), &hook, &directory.path().join("driftd.db"), "");
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    let backup = directory.path().join("backup.db").to_string_lossy().into_owned();
    let said = home.driftd(&["store", "backup", &backup]).await;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let said = home.driftd(&["store", "backup", &backup]).await;
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).contains("--force"));
    for verb in [&["store", "restore", &backup][..], &["store", "migrate"]] {
        let said = home.driftd(verb).await;
        let error = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(said.status.code(), Some(2), "{error}");
        assert!(error.contains("stop driftd first"), "{error}");
    }
    let (code, said) = check(&home).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("is whole: schema "), "{said}");
    daemon.stop().await;

    let said = home.driftd(&["store", "restore", &backup, "--output", "json"]).await;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let document: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    assert!(document["aside"].as_str().is_some_and(|aside| Path::new(aside).exists()), "{document}");
    let daemon = Daemon::start(&home).await;
    assert!(daemon.metric("driftd_ledger_entries_total").await >= document["entry"].as_f64().unwrap());
    daemon.stop().await;
}

/// The configuration of `home`, with scheduled backups.
fn with_backups(home: &Home, directory: &Path) -> Config {
    let mut config = home.config();
    config.backups = Some(driftd::model::settings::Backups {
        directory: directory.to_owned(),
        every: Duration::from_hours(24),
        keep: 2,
    });
    config
}

#[tokio::test(flavor = "multi_thread")]
async fn scheduled_backups_are_made_when_due_told_and_kept_to_their_number() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let directory = tempfile::tempdir().unwrap();
    let home = home(&peer.url(), &hook, &directory.path().join("driftd.db"), "");
    let copies = directory.path().join("copies");
    std::fs::create_dir(&copies).unwrap();
    std::fs::write(copies.join("driftd-of-somebody.db"), "not ours").unwrap();
    let mut now: jiff::Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
    for (hours, newest) in [(0, 0), (1, 0), (24, 24), (48, 48), (72, 72)] {
        now = "2026-11-30T12:00:00Z".parse::<jiff::Timestamp>().unwrap() + Duration::from_hours(hours);
        let daemon = Daemon::start_with(with_backups(&home, &copies), &home, now).await;
        let at = "2026-11-30T12:00:00Z".parse::<jiff::Timestamp>().unwrap() + Duration::from_hours(newest);
        let metric = "driftd_store_backup_last_success_timestamp_seconds";
        eventually("the newest backup is told", async || {
            (daemon.metric(metric).await == at.as_duration().as_secs_f64()).then_some(())
        })
        .await;
        daemon.stop().await;
    }
    let mut names: Vec<String> =
        std::fs::read_dir(&copies).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["driftd-20261202T120000Z.db", "driftd-20261203T120000Z.db", "driftd-of-somebody.db"]);
    let newest = copies.join(&names[1]).to_string_lossy().into_owned();
    assert!(home.driftd(&["store", "restore", &newest]).await.status.success());

    // One that fails is counted, and keeps nobody from being ready.
    let nowhere = directory.path().join("driftd.db").join("copies");
    let daemon = Daemon::start_with(with_backups(&home, &nowhere), &home, now).await;
    eventually("a backup fails", async || {
        (daemon.metric("driftd_store_errors_total{op=\"backup\"}").await >= 1.0).then_some(())
    })
    .await;
    until_ready(&daemon, true).await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_descriptors_scans_fail_as_ours_and_the_listeners_live() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let directory = tempfile::tempdir().unwrap();
    let metrics: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    let home = home(&peer.url(), &hook, &directory.path().join("driftd.db"), "confirm: { sightings: 2, after: 1s }\n");
    let yaml = std::fs::read_to_string(home.path().join("driftd.yaml")).unwrap();
    home.write("driftd.yaml", &yaml.replace("127.0.0.1:0", &metrics.to_string()));
    home.write(
        "inventory.yaml",
        &format!("targets:\n  - {{ id: peer, kind: mcp, url: {:?}, every: 1s }}\n", peer.url()),
    );
    let mut command = home.command();
    command.args(["--log", "warn", "run"]).stderr(Stdio::null());
    let mut daemon = command.spawn().unwrap();
    ready(metrics).await;
    eventually("the tools are in the baseline", async || {
        let said = home.driftd(&["baseline", "show", "peer", "--output", "json"]).await;
        String::from_utf8_lossy(&said.stdout).contains("\"mcp.tools\"").then_some(())
    })
    .await;
    // A scraper's connection that is open already, as Prometheus keeps one.
    let scraper = reqwest::Client::builder().no_proxy().build().unwrap();
    let exposition = async || {
        let page = scraper.get(format!("http://{metrics}/metrics")).send().await;
        page.unwrap().text().await.unwrap()
    };
    exposition().await;
    let pid = daemon.id().unwrap();
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    limit(pid, open).await;
    // As many connections as there is room for are taken; further ones wait.
    let crowd: Vec<_> = (0..32).map(|_| std::net::TcpStream::connect(metrics).unwrap()).collect();
    let ours = "driftd_scans_total{outcome=\"error\"}";
    eventually("scans fail as ours", async || (sum(&exposition().await, ours) >= 2.0).then_some(())).await;
    let now = exposition().await;
    assert_eq!(sum(&now, "driftd_scans_total{outcome=\"unreachable\"}"), 0.0, "{now}");
    drop(crowd);
    limit(pid, 1024).await;
    let before = sum(&exposition().await, "driftd_scans_total{outcome=\"ok\"}");
    eventually("scans go on", async || {
        (sum(&exposition().await, "driftd_scans_total{outcome=\"ok\"}") > before).then_some(())
    })
    .await;
    let now = exposition().await;
    assert_eq!(sum(&now, "driftd_scans_total{outcome=\"unreachable\"}"), 0.0, "{now}");
    assert_eq!(sum(&now, "driftd_target_up"), 1.0, "{now}");
    let said = home.driftd(&["drift"]).await;
    assert!(
        String::from_utf8_lossy(&said.stdout).contains("nothing stands"),
        "{}",
        String::from_utf8_lossy(&said.stdout)
    );
    assert!(hook.tries().is_empty());
    daemon.kill().await.unwrap();
}

/// Limits the descriptors of a running process.
async fn limit(pid: u32, most: usize) {
    let done = Command::new("prlimit").args([format!("--pid={pid}"), format!("--nofile={most}:4096")]).status().await;
    assert!(done.unwrap().success(), "prlimit");
}
