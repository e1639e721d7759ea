//! The daemon in process, on a store and a socket of its own; its wall time is moved by the test.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use driftd::clock::{Clock, Hand};
use driftd::config;
use driftd::control;
use driftd::daemon::{Daemon as Running, Housekeeper, Inside};
use driftd::operations::{Answer, Refused, Request, document};
use driftd::reload::Reloaded;
use driftd::secret::Environment;
use driftd::signals::{Hup, Stop, StopHand};
use driftd::watch::Load;
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::task::JoinSet;

use super::webhook::Hook;
use super::{eventually, until};

/// A directory with configuration, secrets, store and socket.
#[derive(Debug)]
pub(crate) struct Home {
    directory: TempDir,
}

impl Home {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    /// One with this `driftd.yaml` and these targets.
    pub(crate) fn with(driftd: &str, targets: &str) -> Self {
        let home = Self::new();
        home.write("driftd.yaml", driftd);
        home.write("inventory.yaml", &format!("targets:\n{targets}"));
        home
    }

    /// One with these targets whose messages go to `hook`. `settings` follow the receivers in `driftd.yaml`, and may begin
    /// with further ones.
    pub(crate) fn told_by(hook: &Hook, settings: &str, targets: &str) -> Self {
        let home = Self::with("", targets);
        let secret = home.write("hook-secret", &hook.secret());
        home.write(
            "driftd.yaml",
            &format!(
                "metrics_listen: 127.0.0.1:0\n\
                 inventory: [ inventory.yaml ]\n\
                 receivers:\n\
                 \x20 - {{ name: hook, webhook: {{ url: {:?}, secret: {{ file: {secret:?} }} }} }}\n\
                 {settings}",
                hook.url()
            ),
        );
        home
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file into it.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The environment that the daemon reads.
    pub(crate) fn environment(&self) -> Environment {
        let home = self.path().to_string_lossy().into_owned();
        // Programs are found as the test finds them.
        let path = std::env::var("PATH").unwrap_or_default();
        Environment::from_map([("STATE_DIRECTORY", home.clone()), ("RUNTIME_DIRECTORY", home), ("PATH", path)])
    }

    /// The configuration as `driftd` reads it.
    pub(crate) fn config(&self) -> config::Config {
        config::load(&self.path().join("driftd.yaml"), &self.environment())
            .unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    /// Runs the real program on this home.
    pub(crate) async fn driftd(&self, arguments: &[&str]) -> Output {
        self.command().args(arguments).output().await.unwrap()
    }

    /// The real program, set up for this home.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_driftd"));
        command
            .arg("--config")
            .arg(self.path().join("driftd.yaml"))
            .env("STATE_DIRECTORY", self.path())
            .env("RUNTIME_DIRECTORY", self.path())
            .kill_on_drop(true);
        command
    }
}

/// A daemon that runs in this process.
#[derive(Debug)]
pub(crate) struct Daemon {
    hand: Hand,
    stop: StopHand,
    running: JoinSet<anyhow::Result<()>>,
    control: PathBuf,
    metrics: SocketAddr,
    /// Where `POST /-/reload` is.
    pub(crate) listen: Option<SocketAddr>,
    inside: Inside,
    housekeeper: Housekeeper,
}

impl Daemon {
    /// Starts it at a fixed instant.
    pub(crate) async fn start(home: &Home) -> Self {
        Self::start_at(home, "2026-11-30T12:00:00Z".parse().unwrap()).await
    }

    /// Starts it at `now`.
    pub(crate) async fn start_at(home: &Home, now: Timestamp) -> Self {
        Self::start_with(home.config(), home, now).await
    }

    /// Starts it on this configuration, at `now`.
    pub(crate) async fn start_with(config: config::Config, home: &Home, now: Timestamp) -> Self {
        let (clock, hand) = Clock::manual(now);
        Self::of(Running::start(config, home.environment(), clock).await.unwrap(), hand).await
    }

    /// Starts it as the program does: it reads the files itself, and knows what was in force last.
    pub(crate) async fn open(home: &Home, now: Timestamp) -> anyhow::Result<Self> {
        let (clock, hand) = Clock::manual(now);
        let file = home.path().join("driftd.yaml");
        Ok(Self::of(Running::open(&file, home.environment(), clock, Hup::silent()).await?, hand).await)
    }

    /// The daemon, once it has started.
    async fn of(daemon: Running, hand: Hand) -> Self {
        let (control, metrics) = (daemon.control().to_owned(), daemon.metrics_address());
        let (listen, inside, housekeeper) = (daemon.listen_address(), daemon.inside(), daemon.housekeeper());
        let (mut asked, stop) = Stop::by_hand();
        let mut running = JoinSet::new();
        running.spawn(async move { daemon.run(&mut asked).await.map(drop) });
        let daemon = Self { hand, stop, running, control, metrics, listen, inside, housekeeper };
        eventually("the daemon has started", async || (daemon.page("/-/ready").await.1 != "starting\n").then_some(()))
            .await;
        daemon
    }

    /// The instant that it believes in.
    pub(crate) fn now(&self) -> Timestamp {
        self.hand.now()
    }

    /// Moves its wall time.
    pub(crate) fn advance(&self, by: Duration) {
        self.hand.advance(by);
    }

    /// Puts its wall time back.
    pub(crate) fn put_back(&self, by: Duration) {
        self.hand.put_back(by);
    }

    /// Has the minute's work done.
    pub(crate) async fn housekeep(&self) {
        assert!(self.housekeeper.minute().await, "the daemon has stopped");
    }

    /// Asks over the control socket.
    pub(crate) async fn ask(&self, request: Request) -> Result<Answer, Refused> {
        control::ask(&self.control, &request).await.unwrap()
    }

    /// What its loop holds, and of how many targets something is remembered.
    pub(crate) async fn load(&self) -> (Load, usize) {
        self.inside.load().await
    }

    /// Has the files read anew.
    pub(crate) async fn reload(&self) -> Result<Reloaded, Refused> {
        match self.ask(Request::Reload {}).await {
            Ok(Answer::Reloaded(reloaded)) => Ok(*reloaded),
            Ok(other) => panic!("no reload: {other:?}"),
            Err(refused) => Err(refused),
        }
    }

    /// Has `id` scanned now.
    pub(crate) async fn scan(&self, id: &str) -> document::Scanned {
        match self.ask(Request::ScanNow { id: id.to_owned() }).await {
            Ok(Answer::Scanned(scanned)) => scanned,
            other => panic!("no scan of {id}: {other:?}"),
        }
    }

    /// Has `id` scanned now, which may come to nothing.
    pub(crate) async fn try_scan(&self, id: &str) -> Result<document::Scanned, Refused> {
        match self.ask(Request::ScanNow { id: id.to_owned() }).await {
            Ok(Answer::Scanned(scanned)) => Ok(scanned),
            Ok(other) => panic!("no answer to a scan: {other:?}"),
            Err(refused) => Err(refused),
        }
    }

    /// Scans `id`, moves time by `by`, and scans again: enough to take a baseline or to confirm.
    pub(crate) async fn scan_twice(&self, id: &str, by: Duration) -> document::Scanned {
        self.scan(id).await;
        self.advance(by);
        self.scan(id).await
    }

    /// Scans `id` until its baseline holds `facets` facets.
    pub(crate) async fn take_baseline(&self, id: &str) -> document::Baseline {
        self.scan_twice(id, Duration::from_mins(5)).await;
        let baseline = self.baseline(id).await;
        assert!(baseline.facets.iter().any(|facet| facet.facet.starts_with("mcp.tools")), "no baseline: {baseline:#?}");
        baseline
    }

    /// What `id` is held to.
    pub(crate) async fn baseline(&self, id: &str) -> document::Baseline {
        match self.ask(Request::Baseline { id: id.to_owned() }).await {
            Ok(Answer::Baseline(baseline)) => baseline,
            other => panic!("no baseline of {id}: {other:?}"),
        }
    }

    /// All that is known of `id`.
    pub(crate) async fn target(&self, id: &str) -> document::TargetInFull {
        match self.ask(Request::Target { id: id.to_owned() }).await {
            Ok(Answer::Target(target)) => *target,
            other => panic!("no target {id}: {other:?}"),
        }
    }

    /// Waits until what is known of `id` is as `wanted` says.
    pub(crate) async fn until_target(
        &self,
        id: &str,
        wanted: impl Fn(&document::TargetInFull) -> bool,
    ) -> document::TargetInFull {
        eventually("a target is as wanted", async || Some(self.target(id).await).filter(&wanted)).await
    }

    /// What stands.
    pub(crate) async fn drifts(&self) -> Vec<document::Incident> {
        match self.ask(Request::Drifts {}).await {
            Ok(Answer::Drifts(drifts)) => drifts,
            other => panic!("no list of drifts: {other:?}"),
        }
    }

    /// The incidents that are not pending.
    pub(crate) async fn incidents(&self) -> Vec<document::Incident> {
        self.drifts().await.into_iter().filter(|incident| incident.state != "pending").collect()
    }

    /// All messages, newest first; reports of first rounds apart.
    pub(crate) async fn messages(&self) -> Vec<document::Message> {
        match self.ask(Request::Alerts {}).await {
            Ok(Answer::Alerts(messages)) => {
                messages.into_iter().filter(|message| !super::is_of_first_round(&message.headline)).collect()
            }
            other => panic!("no list of messages: {other:?}"),
        }
    }

    /// Waits until no message and no notice is on its way.
    pub(crate) async fn delivered(&self) -> Vec<document::Message> {
        eventually("no message is on its way", async || {
            // In this order: what stops waiting in between is in the list by then.
            if self.metric("driftd_outbox_pending").await > 0.0 {
                return None;
            }
            Some(self.messages().await).filter(|all| all.iter().all(|message| message.state != "pending"))
        })
        .await
    }

    /// What happened to `target`, newest first.
    pub(crate) async fn history(&self, target: &str) -> Vec<document::HistoryLine> {
        match self.ask(Request::History { target: Some(target.to_owned()), limit: 1000 }).await {
            Ok(Answer::History(lines)) => lines,
            other => panic!("no history: {other:?}"),
        }
    }

    /// A page of the metrics listener.
    pub(crate) async fn page(&self, path: &str) -> (u16, String) {
        page_of(self.metrics, path).await.unwrap()
    }

    /// The exposition.
    pub(crate) async fn metrics(&self) -> String {
        self.page("/metrics").await.1
    }

    /// The sum of the series of `name` (with or without labels, as written in the exposition).
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        sum(&self.metrics().await, name)
    }

    /// Stops it in order.
    pub(crate) async fn stop(mut self) {
        self.stop.stop();
        self.running.join_next().await.unwrap().unwrap().unwrap();
    }
}

/// The sum of the series of `name` in `exposition`.
pub(crate) fn sum(exposition: &str, name: &str) -> f64 {
    let values = exposition.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?;
        let bare = rest.starts_with([' ', '{']);
        bare.then(|| rest.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok())).flatten()
    });
    values.sum()
}

/// A page of a metrics listener.
pub(crate) async fn page_of(metrics: SocketAddr, path: &str) -> Result<(u16, String), reqwest::Error> {
    // The clients of a process share a provider; another test may have installed it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build()?;
    let response = client.get(format!("http://{metrics}{path}")).send().await?;
    Ok((response.status().as_u16(), response.text().await?))
}

/// Waits until a child of the real program is ready.
pub(crate) async fn ready(metrics: SocketAddr) {
    until("driftd listens", || std::net::TcpStream::connect(metrics).is_ok().then_some(())).await;
}
