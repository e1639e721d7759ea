//! Builds all parts from configuration and starts them.
//!
//! In this order: the store's lock, the store, receivers, the door, what is remembered of targets, sockets, tasks. All
//! that can be wrong with a configuration on this machine shows before the first task runs.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch as channel};

use crate::clock::Clock;
use crate::config::Config;
use crate::control::Control;
use crate::deliver::Delivery;
use crate::http::{self, Readiness, Shown};
use crate::judge::rules;
use crate::metrics::Metrics;
use crate::net::{Destination, Door, DoorSettings, Egress, HostForm, Roots, SystemResolver, guard};
use crate::operations::{self, Office};
use crate::plan::{InForce, Plan};
use crate::receiver::{BuildError, Limits as ReceiverLimits, Receivers};
use crate::scan::Scanner;
use crate::secret::Environment;
use crate::signals::Stop;
use crate::store::{LedgerCheck, Store, StoreLock};
use crate::supervise::{Reason, Supervisor};
use crate::watch::{Watch, beat};

mod gauges;
mod housekeeping;
mod outbox;

use gauges::GaugeRoom;
use housekeeping::Housekeeping;
use outbox::{Counted, StoreOutbox, StoredSecrets};

/// How long tasks may take to stop.
const GRACE: Duration = Duration::from_secs(20);

/// A daemon whose tasks run.
#[derive(Debug)]
pub struct Daemon {
    supervisor: Supervisor,
    store: Store,
    metrics_address: SocketAddr,
    control: PathBuf,
    /// Held as long as the daemon writes; released last.
    _lock: StoreLock,
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
        let names: Vec<String> = config.receivers.iter().map(|receiver| receiver.name.clone()).collect();
        let metrics = Arc::new(Metrics::new(&names, rules::all().count())?);
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
        let control = Control::bind(&config.control)
            .with_context(|| format!("failed to bind the control socket {}", config.control.display()))?;
        let sender = Arc::new(receivers(&config, environment)?);

        let (watch, handle) = Watch::new(Arc::clone(&scanner), clock.clone(), Arc::clone(&metrics), plan.clone());
        let (beater, beats) = beat::start().await.context("failed to start the scheduler")?;
        let office = Arc::new(Office {
            store: store.clone(),
            clock: clock.clone(),
            plan: plan.clone(),
            receivers: Arc::clone(&sender),
            daemon: Some(operations::Daemon {
                watch: handle,
                wake_delivery: Arc::clone(&wake),
                scanner: Arc::clone(&scanner),
            }),
        });
        office.retire(&synced.retired).await.context("failed to retire what left the inventory")?;

        let (ready, ready_seen) = channel::channel(Readiness::Starting);
        let room =
            GaugeRoom::new(store.clone(), clock.clone(), Arc::clone(&metrics), Arc::clone(&scanner), plan.clone());
        let shown = Shown { metrics: Arc::clone(&metrics), gauges: Arc::new(room), ready: ready_seen };
        let delivery = Delivery::new(
            StoreOutbox { store: store.clone(), plan: plan.clone() },
            sender,
            Counted(Arc::clone(&metrics)),
            clock.clone(),
            Arc::clone(&wake),
        );
        let housekeeping = Housekeeping::new(Arc::clone(&office), Arc::clone(&metrics), ready);

        let mut supervisor = Supervisor::new();
        supervisor.spawn("http", |stop| async move {
            http::serve(listener, shown, stop.cancelled_owned()).await.map_err(Into::into)
        });
        supervisor.spawn("delivery", |stop| async move {
            delivery.run(rand::make_rng::<rand::rngs::StdRng>(), stop).await;
            Ok(())
        });
        supervisor.spawn("housekeeping", |stop| async move {
            housekeeping.run(beats.housekeeping, stop).await;
            Ok(())
        });
        supervisor.spawn("watch", |stop| async move {
            watch.run(beats.dispatch, stop).await;
            beater.stop().await;
            Ok(())
        });
        supervisor.spawn("control", |stop| async move {
            control.serve(office, stop.cancelled_owned()).await.map_err(Into::into)
        });
        tracing::info!(
            targets = count,
            metrics = %metrics_address,
            control = %config.control.display(),
            "driftd {} is running",
            env!("CARGO_PKG_VERSION")
        );
        // Nothing listens where no service manager started us.
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
        Ok(Self { supervisor, store, metrics_address, control: config.control, _lock: lock })
    }

    /// Where `/metrics` is.
    pub const fn metrics_address(&self) -> SocketAddr {
        self.metrics_address
    }

    /// The control socket.
    pub fn control(&self) -> &std::path::Path {
        &self.control
    }

    /// Runs until `stop` asks, then stops in order and writes what is buffered.
    ///
    /// # Errors
    /// When a task failed, or what is buffered cannot be written.
    pub async fn run(self, stop: &mut Stop) -> anyhow::Result<()> {
        let report = self.supervisor.run(stop, GRACE).await;
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Stopping]);
        self.store.close().await.context("failed to close the store")?;
        match report.reason {
            Reason::Asked(_) => Ok(()),
            failed @ (Reason::Ended(_) | Reason::Failed(..) | Reason::Panicked(..)) => anyhow::bail!("{failed}"),
        }
    }
}

/// The receivers of `config`, also for a process that only tries one.
///
/// # Errors
/// When a mailbox is none, or TLS cannot be set up.
pub fn receivers(config: &Config, environment: Environment) -> Result<Receivers, BuildError> {
    let secrets = Arc::new(StoredSecrets(environment));
    Receivers::new(&config.receivers, secrets, ReceiverLimits::new(may_be_reached))
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
