//! Builds all parts from configuration and starts them.
//!
//! In this order: the store's lock, the store, receivers, the door, what is remembered of targets, sockets, tasks. All
//! that can be wrong with a configuration on this machine shows before the first task runs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch as channel};

use crate::clock::Clock;
use crate::config::Config;
use crate::control::{Control, SocketFile};
use crate::deliver::{self, Delivery};
use crate::http::{self, Readiness, Shown};
use crate::judge::rules;
use crate::metrics::Metrics;
use crate::net::{Destination, Door, DoorSettings, Egress, HostForm, Roots, SystemResolver, guard};
use crate::operations::{self, Office};
use crate::plan::{InForce, Plan};
use crate::receiver::{Limits as ReceiverLimits, Receivers};
use crate::scan::Scanner;
use crate::secret::Environment;
use crate::service_manager;
use crate::signals::Stop;
use crate::store::{LedgerCheck, Store, StoreError, StoreLock};
use crate::supervise::{Reason, Report, Supervisor};
use crate::watch::{self, Watch, beat};

mod gauges;
mod housekeeping;
mod outbox;
mod vitals;

use gauges::GaugeRoom;
use housekeeping::Housekeeping;
use outbox::{Counted, StoreOutbox, StoredSecrets};
use vitals::{Vitals, Watching};

/// How long it may take to stop in order; the unit's `TimeoutStopSec` is well above it.
const GRACE: Duration = Duration::from_secs(25);

/// A daemon whose tasks run.
#[derive(Debug)]
pub struct Daemon {
    supervisor: Supervisor,
    store: Store,
    metrics_address: SocketAddr,
    control: SocketFile,
    watching: Watching,
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
    /// Starts everything that `config` asks for.
    ///
    /// # Errors
    /// When another daemon holds the store, the store cannot be opened, or a socket cannot be bound.
    pub async fn start(config: Config, environment: Environment, clock: Clock) -> anyhow::Result<Self> {
        let lock = Store::lock(&config.store).with_context(|| format!("failed to lock {}", config.store.display()))?;
        let store = Store::open(&config.store)
            .await
            .with_context(|| format!("failed to open the store {}", config.store.display()))?;
        let receivers: Vec<String> = config.receivers.iter().map(|receiver| receiver.name.clone()).collect();
        let metrics = Arc::new(Metrics::new(&receivers, rules::all().count())?);
        metrics.process_start.set(clock.now().as_duration().as_secs_f64());
        verify_ledger(&store, &metrics).await?;
        let wake = Arc::new(Notify::new());
        let door = door(&config)?;
        // One inventory for all who look into it: its targets are what most of our memory holds.
        let (_swap, plan) = InForce::new(Plan::of(&config));
        let scanner = Arc::new(Scanner::new(
            door,
            store.clone(),
            clock.clone(),
            environment.clone(),
            Arc::clone(&metrics),
            Arc::clone(&wake),
            plan.clone(),
        ));
        let now = clock.now();
        let count = config.targets.len();
        let synced = {
            let summaries: Vec<_> = config.targets.iter().map(crate::model::inventory::Target::summary).collect();
            store.sync_targets(&summaries, now).await?
        };
        scanner.remember_all(&config.targets).await?;
        metrics.inventory_targets.set(i64::try_from(count).unwrap_or(i64::MAX));

        let listener = TcpListener::bind(config.metrics_listen)
            .await
            .with_context(|| format!("failed to listen on {} (metrics_listen)", config.metrics_listen))?;
        let metrics_address = listener.local_addr()?;
        let (control, socket_file) = Control::bind(&config.control)
            .with_context(|| format!("failed to bind the control socket {}", config.control.display()))?;
        let sender = Arc::new(Receivers::new(
            &config.receivers,
            Arc::new(StoredSecrets(environment)),
            ReceiverLimits::new(may_be_reached),
        )?);

        let (watch, handle) = Watch::new(Arc::clone(&scanner), clock.clone(), Arc::clone(&metrics), plan.clone());
        let (beater, beats) = beat::start().await.context("failed to start the scheduler")?;
        let office = Arc::new(Office {
            store: store.clone(),
            clock: clock.clone(),
            plan: plan.clone(),
            daemon: Some(operations::Daemon {
                watch: handle,
                wake_delivery: Arc::clone(&wake),
                scanner: Arc::clone(&scanner),
            }),
        });
        office.retire(&synced.retired).await.context("failed to retire what left the inventory")?;

        let mut supervisor = Supervisor::new();
        let (store_ready, store_seen) = channel::channel(Readiness::Starting);
        let (incidents, incidents_seen) = channel::channel(0);
        let (ready, ready_seen) = channel::channel(Readiness::Starting);
        let vitals = Vitals {
            pulses: supervisor.pulses(),
            store: store_seen,
            incidents: incidents_seen,
            plan: plan.clone(),
            ready,
        };
        let room = GaugeRoom::new(store.clone(), clock.clone(), Arc::clone(&metrics), Arc::clone(&scanner), plan);
        let shown = Shown {
            metrics: Arc::clone(&metrics),
            gauges: Arc::new(room),
            ready: ready_seen,
            pulses: supervisor.pulses(),
        };
        let delivery = Delivery::new(
            StoreOutbox(store.clone()),
            sender,
            Counted(Arc::clone(&metrics)),
            clock.clone(),
            Arc::clone(&wake),
        );
        let housekeeping = Housekeeping::new(Arc::clone(&office), Arc::clone(&metrics), store_ready, incidents);

        supervisor.spawn("http", |stop| async move {
            http::serve(listener, shown, stop.cancelled_owned()).await.map_err(Into::into)
        });
        supervisor.spawn_loop("delivery", deliver::ROUND, |stop, pulse| async move {
            delivery.run(rand::make_rng::<rand::rngs::StdRng>(), stop, pulse).await;
            Ok(())
        });
        supervisor.spawn_loop("housekeeping", housekeeping::ROUND, |stop, pulse| async move {
            housekeeping.run(beats.housekeeping, stop, pulse).await;
            Ok(())
        });
        supervisor.spawn_loop("watch", watch::ROUND, |stop, pulse| async move {
            watch.run(beats.dispatch, stop, pulse).await;
            beater.stop().await;
            Ok(())
        });
        // Told to stop together: no new scan and no new question, and who asked for a scan that runs gets its answer.
        supervisor.spawn_beside("control", |stop| async move {
            control.serve(office, stop.cancelled_owned()).await.map_err(Into::into)
        });
        tracing::info!(
            targets = count,
            metrics = %metrics_address,
            control = %config.control.display(),
            "driftd {} is running",
            env!("CARGO_PKG_VERSION")
        );
        let watching = vitals.watch().context("failed to start the watchdog's thread")?;
        service_manager::ready();
        Ok(Self { supervisor, store, metrics_address, control: socket_file, watching, _lock: lock })
    }

    /// Where `/metrics` is.
    pub const fn metrics_address(&self) -> SocketAddr {
        self.metrics_address
    }

    /// The control socket.
    pub fn control(&self) -> &std::path::Path {
        self.control.path()
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

fn door(config: &Config) -> anyhow::Result<Door> {
    Ok(Door::new(DoorSettings {
        contact: config.scan.contact.clone(),
        allow: config.egress_allow.clone(),
        resolver: Arc::new(SystemResolver),
        roots: Roots::Platform,
    })?)
}

/// Follows the ledger's chain. A broken one is told loudly and keeps nobody from being watched.
async fn verify_ledger(store: &Store, metrics: &Metrics) -> anyhow::Result<()> {
    match store.verify_ledger().await? {
        LedgerCheck::Whole { entries, .. } => {
            metrics.ledger_entries.inc_by(entries);
            metrics.ledger_verified.set(1);
        }
        LedgerCheck::Broken { no, fault } => {
            metrics.ledger_verified.set(0);
            tracing::error!(
                entry = no,
                ?fault,
                "the ledger's chain is broken: somebody changed the store behind driftd"
            );
        }
    }
    Ok(())
}

/// Whether a receiver's name may lead to `address`: the rule for written destinations (design, section 6).
fn may_be_reached(address: std::net::IpAddr) -> bool {
    guard::decide(Destination::Written, HostForm::Name, address, &Egress::default()).is_ok()
}
