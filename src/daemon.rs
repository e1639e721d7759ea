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
use crate::receiver::{Limits as ReceiverLimits, Receivers};
use crate::scan::Scanner;
use crate::secret::Environment;
use crate::signals::Stop;
use crate::store::{Store, StoreLock};
use crate::supervise::{Reason, Supervisor};
use crate::watch::{self, Watch, beat};

mod gauges;
mod housekeeping;
mod outbox;

use gauges::GaugeRoom;
pub use housekeeping::Housekeeper;
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
    housekeeper: Housekeeper,
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
        let receivers: Vec<String> = config.receivers.iter().map(|receiver| receiver.name.clone()).collect();
        let metrics = Arc::new(Metrics::new(&receivers, rules::all().count())?);
        metrics.ledger_entries.inc_by(store.ledger_head().await?.no);
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
        scanner.fleet().resume(watch::overslept(&plan.plan(), &scanner, now)).await?;
        metrics.inventory_targets.set(i64::try_from(count).unwrap_or(i64::MAX));

        let listener = TcpListener::bind(config.metrics_listen)
            .await
            .with_context(|| format!("failed to listen on {} (metrics_listen)", config.metrics_listen))?;
        let metrics_address = listener.local_addr()?;
        let control = Control::bind(&config.control)
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

        let (ready, ready_seen) = channel::channel(Readiness::Starting);
        let room = GaugeRoom::new(store.clone(), clock.clone(), Arc::clone(&metrics), Arc::clone(&scanner), plan);
        let shown = Shown { metrics: Arc::clone(&metrics), gauges: Arc::new(room), ready: ready_seen };
        let delivery = Delivery::new(
            StoreOutbox(store.clone()),
            sender,
            Counted(Arc::clone(&metrics)),
            clock.clone(),
            Arc::clone(&wake),
        );
        let (housekeeper, asked) = Housekeeper::new();
        let housekeeping = Housekeeping::new(Arc::clone(&office), Arc::clone(&metrics), ready, asked);

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
        Ok(Self { supervisor, store, metrics_address, control: config.control, housekeeper, _lock: lock })
    }

    /// Where `/metrics` is.
    pub const fn metrics_address(&self) -> SocketAddr {
        self.metrics_address
    }

    /// The control socket.
    pub fn control(&self) -> &std::path::Path {
        &self.control
    }

    /// Has the minute's work done out of turn.
    pub fn housekeeper(&self) -> Housekeeper {
        self.housekeeper.clone()
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

fn door(config: &Config) -> anyhow::Result<Door> {
    Ok(Door::new(DoorSettings {
        contact: config.scan.contact.clone(),
        allow: config.egress_allow.clone(),
        resolver: Arc::new(SystemResolver),
        roots: Roots::Platform,
    })?)
}

/// Whether a receiver's name may lead to `address`: the rule for written destinations (design, section 6).
fn may_be_reached(address: std::net::IpAddr) -> bool {
    guard::decide(Destination::Written, HostForm::Name, address, &Egress::default()).is_ok()
}
