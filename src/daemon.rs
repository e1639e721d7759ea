//! The daemon as a whole: opened on its configuration, run until it is told to stop, stopped in order.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;

use crate::clock::Clock;
use crate::config::{self, Config};
use crate::control::SocketFile;
use crate::reload::files::{Lookout, POLL};
use crate::scan::Scanner;
use crate::secret::Environment;
use crate::service_manager;
use crate::signals::{Hup, Stop};
use crate::store::{Store, StoreError, StoreLock};
use crate::supervise::{Reason, Report, Supervisor};
use crate::watch::Load;

mod gauges;
mod housekeeping;
mod outbox;
mod reload;
mod start;
mod vitals;

pub use housekeeping::Housekeeper;
pub use outbox::StoreOutbox;
use start::Ground;
pub use start::receivers;
use vitals::Watching;

/// How long it may take to stop in order; the unit's `TimeoutStopSec` is well above it.
const GRACE: Duration = Duration::from_secs(25);

/// Looks into a daemon that runs, for tests and for whoever embeds one.
#[derive(Clone, Debug)]
pub struct Inside {
    watch: crate::watch::Handle,
    scanner: Arc<Scanner>,
}

impl Inside {
    /// How much the watch loop holds, and of how many targets something is remembered.
    pub async fn load(&self) -> (Load, usize) {
        (self.watch.load().await, self.scanner.remembered())
    }
}

/// A daemon whose tasks run.
#[derive(Debug)]
pub struct Daemon {
    supervisor: Supervisor,
    store: Store,
    metrics_address: SocketAddr,
    listen_address: Option<SocketAddr>,
    control: SocketFile,
    inside: Inside,
    watching: Watching,
    housekeeper: Housekeeper,
    /// Held as long as the daemon writes; released last.
    _lock: StoreLock,
}

/// How a daemon that was asked to stop did so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// In order: what was under way has ended, what was buffered is written.
    InOrder,
    /// At once, since it was asked a second time: by this signal.
    AtOnce(&'static str),
}

impl Daemon {
    /// Starts everything that `file` asks for, and reads it anew when it changes or `hup` says so. An inventory file
    /// that is wrong is held at its last good version, where the store has one.
    ///
    /// # Errors
    /// When `driftd.yaml` is wrong, or an inventory file of which there is no other version; and as [`Daemon::start`].
    pub async fn open(file: &Path, environment: Environment, clock: Clock, hup: Hup) -> anyhow::Result<Self> {
        let places = match config::places(file, &environment) {
            Ok(places) => places,
            // With those of the inventory, if there are any.
            Err(mistakes) => {
                return Err(config::load(file, &environment).map_or_else(Into::into, |_| mistakes.into()));
            }
        };
        let (lock, store) = start::open_store(&places.store).await?;
        let last_good = reload::last_good(&store).await.context("failed to read the last good inventory")?;
        let (path, known) = (file.to_owned(), environment.clone());
        let read = move || config::load_at_start(&path, &known, &last_good, &reload::rule_ids());
        let config = tokio::task::spawn_blocking(read).await.context("reading the configuration broke")??;
        let lookout = Lookout::new(reload::files(&config), POLL);
        start::begin(Ground { config, environment, clock, lock, store, hup, lookout }).await
    }

    /// Starts everything that `config` asks for; the files are read anew when somebody asks.
    ///
    /// # Errors
    /// When another daemon holds the store, the store cannot be opened, or a socket cannot be bound.
    pub async fn start(config: Config, environment: Environment, clock: Clock) -> anyhow::Result<Self> {
        let (lock, store) = start::open_store(&config.store).await?;
        let (hup, lookout) = (Hup::silent(), Lookout::closed());
        start::begin(Ground { config, environment, clock, lock, store, hup, lookout }).await
    }

    /// Where `POST /-/reload` is, if anywhere.
    pub const fn listen_address(&self) -> Option<SocketAddr> {
        self.listen_address
    }

    /// Looks into it while it runs.
    pub fn inside(&self) -> Inside {
        self.inside.clone()
    }

    /// Where `/metrics` is.
    pub const fn metrics_address(&self) -> SocketAddr {
        self.metrics_address
    }

    /// The control socket.
    pub fn control(&self) -> &std::path::Path {
        self.control.path()
    }

    /// Has the minute's work done out of turn.
    pub fn housekeeper(&self) -> Housekeeper {
        self.housekeeper.clone()
    }

    /// Runs until `stop` asks, then stops in order: no new scan and no new question is taken, what runs ends or is
    /// broken off, messages under way are sent or given back, what is buffered is written, the store is closed, the
    /// sockets go. A second wish to stop ends it at once.
    ///
    /// # Errors
    /// When a task failed, did not stop in time, or what is buffered cannot be written. Why is in the log already.
    pub async fn run(self, stop: &mut Stop) -> anyhow::Result<Stopped> {
        let Self { supervisor, store, control, watching, _lock, .. } = self;
        let stopping = |reason: &Reason| {
            let line = format!("stopping: {reason}");
            if reason.is_asked() {
                tracing::info!(%reason, "stopping");
            } else {
                tracing::error!(%reason, "stopping, since a part of driftd broke");
            }
            service_manager::stopping(&line);
            watching.stopping(&line);
        };
        let report = supervisor.run(stop, GRACE, stopping, async { store.close().await }).await;
        drop(control);
        watching.end();
        let ended = ended(report);
        match &ended {
            Ok(Stopped::InOrder) => tracing::info!("stopped"),
            Ok(Stopped::AtOnce(by)) => tracing::warn!(by, "stopped at once; buffered scans are not written"),
            Err(error) => {
                service_manager::status(&format!("failed: {error:#}"));
                tracing::info!("stopped, and not as it should");
            }
        }
        ended
    }
}

/// What a report comes to: the first cause. Each is told here, but for the one that was told when stopping began.
fn ended(report: Report<Result<(), StoreError>>) -> anyhow::Result<Stopped> {
    let Report { reason, cut_off, cut_by, last } = report;
    let grace = GRACE.as_secs();
    let failed = match (&reason, cut_by, last) {
        (Reason::Asked(_), Some(by), _) => return Ok(Stopped::AtOnce(by)),
        (_, Some(_), _) | (_, None, Some(Ok(()))) if cut_off.is_empty() => None,
        (_, Some(_), _) | (_, None, Some(Ok(()))) => {
            Some(format!("did not stop within {grace} s: {}", cut_off.join(", ")))
        }
        (_, None, Some(Err(error))) => Some(format!("failed to close the store: {error}")),
        (_, None, None) => Some(format!("the store was not closed within {grace} s")),
    };
    if let Some(error) = &failed {
        tracing::error!(error, "could not stop in order");
    }
    match (reason, failed) {
        (Reason::Asked(_), None) => Ok(Stopped::InOrder),
        (Reason::Asked(_), Some(error)) => anyhow::bail!(error),
        (broken @ (Reason::Ended(_) | Reason::Failed(..) | Reason::Panicked(..)), _) => anyhow::bail!("{broken}"),
    }
}
