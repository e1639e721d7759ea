//! A stop in order, a stop at once, and a stop because a part broke.

use driftd::model::target::TargetId;
use driftd::store::Store;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::support::daemon::Home;
use crate::support::eventually;
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::real::{CONSOLE, Real, home};
use crate::support::until;

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_writes_what_is_buffered_and_leaves_no_socket() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (home, _) = home(&peer.url(), CONSOLE);
    let mut real = Real::start(&home, &[("DRIFTD_LOG", "driftd=debug")]);
    let scans = until("it scans some times", || Some(scans(&real.log())).filter(|scans| *scans >= 6)).await;
    assert!(home.path().join("driftd.sock").exists());
    real.signal("TERM").await;
    assert_eq!(real.end().await.code(), Some(0), "{}", real.log());
    assert!(!home.path().join("driftd.sock").exists());
    let store = Store::open(&home.path().join("driftd.db")).await.unwrap();
    let runs = store.runs(&"peer".parse::<TargetId>().unwrap(), 100).await.unwrap();
    let written: u64 = runs.iter().map(|run| run.scans).sum();
    assert!(written >= scans, "{written} of {scans} scans are in the store: {runs:?}");
}

/// How many scans the log tells of.
fn scans(log: &str) -> u64 {
    log.matches(": scanned ").count().try_into().unwrap()
}

/// A receiver that takes a message and does not answer until it is told to.
struct Slow(TcpListener);

impl Slow {
    async fn start() -> (Self, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        (Self(listener), format!("  - {{ name: hook, webhook: {{ url: {url:?} }} }}\n"))
    }

    async fn took(&self) -> tokio::net::TcpStream {
        eventually("a message is under way", async || self.0.accept().await.ok()).await.0
    }
}

/// Answers the request on `stream` with success.
async fn answer(mut stream: tokio::net::TcpStream) {
    let mut bytes = vec![0; 65536];
    assert!(stream.read(&mut bytes).await.unwrap() > 0);
    stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await.unwrap();
}

/// A daemon that has a message under way.
async fn sending(peer: &ScriptedPeer, home: &Home, slow: &Slow) -> (Real, tokio::net::TcpStream) {
    let real = Real::start(home, &[]);
    // Before that a command would open the store itself.
    real.until_said("READY=1", 1).await;
    eventually("the tools are in the baseline", async || {
        let said = home.driftd(&["baseline", "show", "peer", "--output", "json"]).await;
        String::from_utf8_lossy(&said.stdout).contains("\"mcp.tools\"").then_some(())
    })
    .await;
    // The report of the first round.
    answer(slow.took().await).await;
    peer.change(|script| script.tools = Some(Vec::new()));
    let stream = slow.took().await;
    (real, stream)
}

/// Where the messages stand, but for the report of the first round.
async fn states(home: &Home) -> Vec<String> {
    let said = home.driftd(&["alerts", "--output", "json"]).await;
    let list: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    let told = list.as_array().unwrap().iter().filter(|message| message["type"] != "fleet.report");
    told.map(|message| message["state"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_under_way_arrives_and_is_marked_before_the_end() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (slow, receiver) = Slow::start().await;
    let (home, _) = home(&peer.url(), &receiver);
    let (mut real, stream) = sending(&peer, &home, &slow).await;
    real.signal("TERM").await;
    real.until_said("STOPPING=1", 1).await;
    answer(stream).await;
    assert_eq!(real.end().await.code(), Some(0), "{}", real.log());
    assert_eq!(states(&home).await, ["sent"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_takes_too_long_is_given_back_and_sent_by_the_next_daemon() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (slow, receiver) = Slow::start().await;
    let (home, _) = home(&peer.url(), &receiver);
    let (mut real, stream) = sending(&peer, &home, &slow).await;
    real.signal("TERM").await;
    assert_eq!(real.end().await.code(), Some(0), "it is no fault of the stop: {}", real.log());
    assert!(real.log().contains("given back"), "{}", real.log());
    drop(stream);
    assert_eq!(states(&home).await, ["pending"]);
    let next = Real::start(&home, &[]);
    next.until_said("READY=1", 1).await;
    answer(slow.took().await).await;
    eventually("it is sent", async || (states(&home).await == ["sent"]).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let peer = ScriptedPeer::start(Script::default()).await;
        peer.shut_gate();
        let (home, _) = home(&peer.url(), CONSOLE);
        let mut real = Real::start(&home, &[]);
        until("a scan hangs", || (peer.waiting() > 0).then_some(())).await;
        real.signal("TERM").await;
        real.until_said("STOPPING=1", 1).await;
        real.signal(signal).await;
        assert_eq!(real.end().await.code(), Some(code), "{}", real.log());
        assert!(real.log().contains("stopped at once"), "{}", real.log());
        peer.open_gate();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_panics_takes_the_daemon_down_and_is_named() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (home, _) = home(&peer.url(), CONSOLE);
    for task in ["watch", "delivery"] {
        let mut real = Real::start(&home, &[("DRIFTD_PANIC_AT", task)]);
        assert_eq!(real.end().await.code(), Some(4), "{}", real.log());
        let reason = format!("task {task} panicked: asked to by a test");
        assert!(real.said().contains(&format!("STATUS=stopping: {reason}")), "{:?}", real.said());
        assert_eq!(real.said().last().unwrap(), &format!("STATUS=failed: {reason}"));
        assert_eq!(real.log().matches(&reason).count(), 1, "told once: {}", real.log());
        assert!(real.log().contains(&reason) && real.log().contains("panic: a fault of ours"), "{}", real.log());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_configuration_is_told_apart_from_a_failed_start() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (home, metrics) = home(&peer.url(), CONSOLE);
    let taken = std::net::TcpListener::bind(metrics).unwrap();
    let mut real = Real::start(&home, &[]);
    assert_eq!(real.end().await.code(), Some(4), "the port may be free later: {}", real.log());
    assert!(real.log().contains("metrics_listen"), "{}", real.log());
    drop(taken);
    home.write("driftd.yaml", "receivers: 7\n");
    let mut real = Real::start(&home, &[]);
    assert_eq!(real.end().await.code(), Some(2), "a restart does not mend it: {}", real.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_waits_for_a_command_that_holds_the_store() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (home, _) = home(&peer.url(), CONSOLE);
    let lock = Store::lock(&home.path().join("driftd.db")).unwrap();
    let mut real = Real::start(&home, &[("DRIFTD_LOG", "driftd=info")]);
    until("it says that it waits", || real.log().contains("waiting up to").then_some(())).await;
    let holder = format!("in use by process {}", std::process::id());
    assert!(real.log().contains(&holder), "{}", real.log());
    drop(lock);
    real.until_said("READY=1", 1).await;
    assert_eq!(real.log().matches("waiting up to").count(), 1, "{}", real.log());
    real.signal("TERM").await;
    assert_eq!(real.end().await.code(), Some(0), "{}", real.log());
}
