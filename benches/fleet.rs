//! Ten thousand targets (design, section 7): start to ready under a second, a scrape under 100 ms, under 6 KiB a
//! target. And one alert: from the confirming scan to the webhook's arrival under a second.
//!
//! For one target, half of them and all, a daemon scans each until it has a baseline; then another one starts on that
//! store in a process of its own, so that its memory is its own. Above 5,000 targets none has series of its own.

#![expect(clippy::expect_used, reason = "a bench that cannot set up has nothing to measure")]
#![expect(clippy::print_stdout, reason = "its figures")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use driftd::clock::{Clock, Hand};
use driftd::config::{self, Config};
use driftd::control;
use driftd::daemon::Daemon;
use driftd::operations::{Answer, Request};
use driftd::secret::Environment;
use driftd::signals::{Stop, StopHand};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

#[path = "support/peer.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "each bench uses a part of it")]
mod peer;
#[path = "support/usage.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "each bench uses a part of it")]
mod usage;

use peer::Peer;

/// Says to a process of this program that it is to measure a daemon of the configuration in this directory.
const MEASURE: &str = "DRIFTD_BENCH_FLEET";
const TARGETS: usize = 10_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    if let Some(home) = std::env::var_os(MEASURE) {
        runtime.block_on(measure(&PathBuf::from(home)));
        return;
    }
    let peer = Peer::start();
    // `cargo test --benches` runs each bench once to see that it works.
    let most = if std::env::args().any(|argument| argument == "--bench") { targets() } else { 2 };
    for count in [1, most / 2, most] {
        let home = tempfile::tempdir().expect("a directory");
        runtime.block_on(fill(home.path(), &peer, count));
        println!("a daemon with {count} targets:");
        let program = std::env::current_exe().expect("our own program");
        let status = Command::new(program).env(MEASURE, home.path()).status().expect("a process");
        assert!(status.success(), "the measurement failed");
    }
    let home = tempfile::tempdir().expect("a directory");
    runtime.block_on(alert(home.path(), &peer));
}

fn targets() -> usize {
    std::env::var("DRIFTD_BENCH_TARGETS").ok().and_then(|count| count.parse().ok()).unwrap_or(TARGETS)
}

/// A configuration of so many targets.
fn write(home: &Path, peer: &Peer, count: usize, every: &str) {
    let driftd = "metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\n\
        confirm: { sightings: 1, after: 0s }\nscan: { concurrency: 64, per_host: 64 }\n\
        receivers:\n  - { name: terminal, console: {} }\n";
    let url = peer.url("/mcp");
    let target = |n| {
        format!(
            "  - {{ id: target-{n}, kind: mcp, url: \"{url}\", every: {every}, labels: {{ team: t{} }} }}\n",
            n % 20
        )
    };
    let inventory: String = std::iter::once("targets:\n".to_owned()).chain((0..count).map(target)).collect();
    std::fs::write(home.join("driftd.yaml"), driftd).expect("a file");
    std::fs::write(home.join("inventory.yaml"), inventory).expect("a file");
}

fn configuration(home: &Path) -> (Config, Environment) {
    let place = home.to_string_lossy().into_owned();
    let environment = Environment::from_map([("STATE_DIRECTORY", place.clone()), ("RUNTIME_DIRECTORY", place)]);
    let config = config::load(&home.join("driftd.yaml"), &environment).expect("a configuration");
    (config, environment)
}

struct Running {
    hand: Hand,
    stop: StopHand,
    tasks: JoinSet<anyhow::Result<()>>,
    metrics: String,
    control: PathBuf,
    client: reqwest::Client,
}

impl Running {
    async fn start(home: &Path, at: &str) -> Self {
        let (config, environment) = configuration(home);
        Self::with(config, environment, at).await
    }

    async fn with(config: Config, environment: Environment, at: &str) -> Self {
        let (clock, hand) = Clock::manual(at.parse().expect("an instant"));
        let daemon = Daemon::start(config, environment, clock).await.expect("a daemon");
        let (metrics, control) = (format!("http://{}", daemon.metrics_address()), daemon.control().to_owned());
        let (mut asked, stop) = Stop::by_hand();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { daemon.run(&mut asked).await.map(drop) });
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let running = Self { hand, stop, tasks, metrics, control, client };
        while running.page("/-/ready").await.0 != StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        running
    }

    async fn page(&self, path: &str) -> (StatusCode, String) {
        let answer = self.client.get(format!("{}{path}", self.metrics)).send().await.expect("an answer");
        (answer.status(), answer.text().await.expect("a body"))
    }

    /// Waits until so many scans have ended.
    async fn scanned(&self, count: usize) {
        let begins = "driftd_scans_total{outcome=\"ok\"} ";
        loop {
            let (_, page) = self.page("/metrics").await;
            let ended = page.lines().find_map(|line| line.strip_prefix(begins)).and_then(|n| n.parse::<f64>().ok());
            if ended.is_some_and(|ended| ended.round() >= f64::from(u32::try_from(count).unwrap_or(u32::MAX))) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    async fn scan_now(&self, id: &str) {
        let request = Request::ScanNow { id: id.to_owned() };
        let answer = control::ask(&self.control, &request).await.expect("an answer").expect("a scan");
        assert!(matches!(answer, Answer::Scanned(_)), "no scan: {answer:?}");
    }

    async fn stop(mut self) {
        self.stop.stop();
        while let Some(ended) = self.tasks.join_next().await {
            ended.expect("no panic").expect("an orderly end");
        }
    }
}

/// Has each target scanned until it has a baseline.
async fn fill(home: &Path, peer: &Peer, count: usize) {
    write(home, peer, count, "24h");
    let daemon = Running::start(home, "2026-11-30T12:00:00Z").await;
    daemon.hand.advance(Duration::from_secs(11));
    daemon.scanned(count).await;
    daemon.stop().await;
}

async fn measure(home: &Path) {
    let bare = usage::resident();
    let (wall, cpu) = (Instant::now(), usage::cpu());
    let (config, environment) = configuration(home);
    let (read, read_cpu) = (wall.elapsed(), usage::cpu().saturating_sub(cpu));
    let daemon = Running::with(config, environment, "2026-11-30T12:01:00Z").await;
    let used = usage::cpu().saturating_sub(cpu);
    println!("  start to ready    {:7.1} ms, CPU {:7.1} ms", millis(wall.elapsed()), millis(used));
    println!("  configuration     {:7.1} ms, CPU {:7.1} ms of these", millis(read), millis(read_cpu));
    println!("  resident          {:7} KiB after the start, {bare} KiB before", usage::resident());
    for _ in 0..3 {
        let (wall, cpu) = (Instant::now(), usage::cpu());
        let (_, page) = daemon.page("/metrics").await;
        let used = usage::cpu().saturating_sub(cpu);
        println!(
            "  scrape            {:7.1} ms, CPU {:7.1} ms, {} kB",
            millis(wall.elapsed()),
            millis(used),
            page.len() / 1000
        );
    }
    println!("  resident          {:7} KiB after scrapes", usage::resident());
    let count = std::fs::read_to_string(home.join("inventory.yaml")).expect("a file").lines().count() - 1;
    // The slot of a target that was just scanned may be one and a half intervals away.
    daemon.hand.advance(Duration::from_hours(37));
    let cpu = usage::cpu();
    daemon.scanned(count).await;
    println!("  a scan of each    CPU {:7.1} ms", millis(usage::cpu().saturating_sub(cpu)));
    println!("  resident          {:7} KiB after it", usage::resident());
    daemon.stop().await;
}

/// One drift, confirmed by one scan, told to a webhook.
async fn alert(home: &Path, peer: &Peer) {
    let (sender, mut arrived) = mpsc::channel(16);
    let hook = Router::new().route(
        "/hook",
        post(async move || {
            sender.send(Instant::now()).await.expect("somebody waits");
            StatusCode::NO_CONTENT
        }),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { axum::serve(listener, hook).await });
    write(home, peer, 1, "24h");
    let driftd = std::fs::read_to_string(home.join("driftd.yaml")).expect("a file");
    let hooked = driftd.replace("name: terminal, console: {}", &format!("name: hook, webhook: {{ url: \"{url}\" }}"));
    std::fs::write(home.join("driftd.yaml"), hooked).expect("a file");
    let daemon = Running::start(home, "2026-11-30T12:00:00Z").await;
    daemon.scan_now("target-0").await;
    peer.ship(&daemon.client).await;
    daemon.hand.advance(Duration::from_mins(5));
    let asked = Instant::now();
    daemon.scan_now("target-0").await;
    let committed = Instant::now();
    let arrived = arrived.recv().await.expect("a webhook");
    println!(
        "an alert: the scan that confirms took {:.1} ms, the webhook arrived {:.1} ms after it was asked for",
        millis(committed - asked),
        millis(arrived - asked)
    );
    daemon.stop().await;
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
