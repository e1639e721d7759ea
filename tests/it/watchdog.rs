//! The watchdog is fed as long as loops move, whatever disk and network do; what stands still is named.

use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use driftd::store::Store;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::support::peer::{Script, ScriptedPeer};
use crate::support::real::{CONSOLE, Real, get, home};
use crate::support::{eventually, until};

/// Fed each tenth of a second.
const WATCHED: (&str, &str) = ("WATCHDOG_USEC", "200000");
const FED: &str = "WATCHDOG=1";

#[tokio::test(flavor = "multi_thread")]
async fn ready_is_said_with_the_store_open_and_the_sockets_bound() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (home, metrics) = home(&peer.url(), CONSOLE);
    let mut real = Real::start(&home, &[]);
    real.until_said("READY=1", 1).await;
    assert!(home.path().join("driftd.db").exists(), "{}", real.log());
    assert!(TcpStream::connect(metrics).is_ok() && UnixStream::connect(home.path().join("driftd.sock")).is_ok());
    real.until_status("the targets are counted", |line| line == "1 target, 0 open incidents").await;
    real.signal("TERM").await;
    assert!(real.end().await.success());
    assert_eq!(real.times("STOPPING=1"), 1);
    assert_eq!(real.times(FED), 0, "nobody asked for it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_does_not_get_its_store_is_never_ready() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (home, _) = home(&peer.url(), CONSOLE);
    let _lock = Store::lock(&home.path().join("driftd.db")).unwrap();
    let mut real = Real::start(&home, &[WATCHED]);
    assert_eq!(real.end().await.code(), Some(4), "a restart may mend it: {}", real.log());
    assert!(real.log().contains("driftd did not start"), "{}", real.log());
    assert_eq!((real.times("READY=1"), real.times(FED)), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_somebody_else_holds_is_not_ready_and_keeps_nobody_from_feeding() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (home, metrics) = home(&peer.url(), CONSOLE);
    peer.shut_gate();
    let mut real = Real::start(&home, &[WATCHED]);
    real.until_said("READY=1", 1).await;
    let mut held = hold(&home.path().join("driftd.db")).await;
    peer.open_gate();
    // A scan waits for the lock as long as it may, and is then given up: it did meet the lock.
    let before = real.times(FED);
    until("a scan cannot be kept", || real.log().contains("a scan could not be kept").then_some(())).await;
    real.until_said(FED, before + 10).await;
    is_ready(metrics, false).await;
    assert!(!real.said().iter().any(|said| said.contains("stuck")), "{:?}", real.said());
    sqlx::query("COMMIT").execute(&mut held).await.unwrap();
    held.close().await.unwrap();
    let asked = peer.asked().len();
    until("it scans on", || (peer.asked().len() > asked).then_some(())).await;
    is_ready(metrics, true).await;
    real.signal("TERM").await;
    assert!(real.end().await.success(), "{}", real.log());
}

/// Waits until `/-/ready` says so; `/-/healthy` says yes all the while.
async fn is_ready(metrics: SocketAddr, ready: bool) {
    eventually("readiness is as wanted", async || {
        assert!(get(metrics, "/-/healthy").await.starts_with("HTTP/1.1 200"));
        let wanted = if ready { "HTTP/1.1 200" } else { "HTTP/1.1 503" };
        get(metrics, "/-/ready").await.starts_with(wanted).then_some(())
    })
    .await;
}

/// Holds the write lock of the database.
async fn hold(path: &Path) -> sqlx::SqliteConnection {
    let mut conn = sqlx::sqlite::SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    sqlx::query("BEGIN IMMEDIATE").execute(&mut conn).await.unwrap();
    conn
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_hangs_keeps_nobody_from_feeding() {
    let peer = ScriptedPeer::start(Script::default()).await;
    peer.shut_gate();
    let (home, _) = home(&peer.url(), CONSOLE);
    let mut real = Real::start(&home, &[WATCHED]);
    until("a scan hangs", || (peer.waiting() > 0).then_some(())).await;
    let before = real.times(FED);
    real.until_said(FED, before + 20).await;
    assert!(peer.waiting() > 0, "it still hangs");
    assert!(!real.said().iter().any(|said| said.contains("stuck")), "{:?}", real.said());
    peer.open_gate();
    real.signal("TERM").await;
    assert!(real.end().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_that_stands_is_named_and_feeds_no_more() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (home, metrics) = home(&peer.url(), CONSOLE);
    let mut real = Real::start(&home, &[WATCHED, ("DRIFTD_STALL_AT", "watch")]);
    let stuck = "stuck: task watch has not run for ";
    let first = real.until_status("the loop is named", |line| line.starts_with(stuck)).await;
    let fed = real.times(FED);
    assert!(fed > 0, "at first nothing was wrong");
    // It looks on, and says how long it stands by now; it does not feed.
    real.until_status("it looks again", |line| line.starts_with(stuck) && line != first).await;
    assert_eq!(real.times(FED), fed);
    let healthy = get(metrics, "/-/healthy").await;
    assert!(healthy.starts_with("HTTP/1.1 503") && healthy.contains("task watch"), "{healthy}");
    assert_eq!(real.log().matches("the watchdog is not fed").count(), 1, "told once: {}", real.log());
    // A blocked thread does not keep the process.
    real.signal("TERM").await;
    real.until_said("STOPPING=1", 1).await;
    real.signal("TERM").await;
    assert_eq!(real.end().await.code(), Some(143), "{}", real.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watchdog_that_is_meant_for_another_process_is_left_alone() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (home, _) = home(&peer.url(), CONSOLE);
    let mut real = Real::start(&home, &[WATCHED, ("WATCHDOG_PID", "1")]);
    until("it scans", || (peer.asked().len() > 3).then_some(())).await;
    real.signal("TERM").await;
    assert!(real.end().await.success());
    assert_eq!(real.times(FED), 0);
}
