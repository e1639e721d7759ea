//! Builds all parts from configuration and starts them.
//!
//! In this order: the store's lock, the store, receivers, the door, what is remembered of targets, sockets, tasks. All
//! that can be wrong with a configuration on this machine shows before the first task runs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch as channel};

use crate::clock::Clock;
use crate::config::{self, Config};
use crate::control::Control;
use crate::deliver::Delivery;
use crate::http::listen::Desk;
use crate::http::{self, Readiness, Shown};
use crate::judge::rules;
use crate::metrics::Metrics;
use crate::net::{Destination, Door, DoorSettings, Egress, HostForm, Roots, SystemResolver, guard};
use crate::operations::{self, Office};
use crate::plan::{InForce, Live, Plan};
use crate::receiver::{Limits as ReceiverLimits, Receivers};
use crate::reload::Reload;
use crate::reload::changes::AtStart;
use crate::reload::files::{Lookout, POLL};
use crate::scan::Scanner;
use crate::secret::Environment;
use crate::signals::{Hup, Stop};
use crate::store::{LedgerCheck, Store, StoreLock};
use crate::supervise::{Reason, Supervisor};
use crate::watch::{Load, Watch, beat};

mod gauges;
mod housekeeping;
mod outbox;
mod reload;

use gauges::GaugeRoom;
use housekeeping::Housekeeping;
use outbox::{Counted, Post, StoreOutbox, StoredSecrets};
use reload::Renewal;

/// How long tasks may take to stop.
const GRACE: Duration = Duration::from_secs(20);

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
    control: PathBuf,
    inside: Inside,
    /// Held as long as the daemon writes; released last.
    _lock: StoreLock,
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
        let (lock, store) = open_store(&places.store).await?;
        let last_good = reload::last_good(&store).await.context("failed to read the last good inventory")?;
        let (path, known) = (file.to_owned(), environment.clone());
        let read = move || config::load_at_start(&path, &known, &last_good, &reload::rule_ids());
        let config = tokio::task::spawn_blocking(read).await.context("reading the configuration broke")??;
        let lookout = Lookout::new(reload::files(&config), POLL);
        Self::begin(Ground { config, environment, clock, lock, store, hup, lookout }).await
    }

    /// Starts everything that `config` asks for; the files are read anew when somebody asks.
    ///
    /// # Errors
    /// When another daemon holds the store, the store cannot be opened, or a socket cannot be bound.
    pub async fn start(config: Config, environment: Environment, clock: Clock) -> anyhow::Result<Self> {
        let (lock, store) = open_store(&config.store).await?;
        let (hup, lookout) = (Hup::silent(), Lookout::closed());
        Self::begin(Ground { config, environment, clock, lock, store, hup, lookout }).await
    }

    async fn begin(ground: Ground) -> anyhow::Result<Self> {
        let Ground { config, environment, clock, lock, store, hup, lookout } = ground;
        let names: Vec<String> = config.receivers.iter().map(|receiver| receiver.name.clone()).collect();
        let metrics = Arc::new(Metrics::new(&names, rules::all().count())?);
        verify_ledger(&store, &metrics).await?;
        let wake = Arc::new(Notify::new());
        let door = Live::new(door(&config)?);
        // One inventory for all who look into it: its targets are what most of our memory holds.
        let (swap, plan) = InForce::new(Plan::default());
        let scanner = Arc::new(Scanner::new(
            door.clone(),
            store.clone(),
            clock.clone(),
            environment.clone(),
            Arc::clone(&metrics),
            Arc::clone(&wake),
            plan.clone(),
        ));
        let (watch, handle) = Watch::new(Arc::clone(&scanner), clock.clone(), Arc::clone(&metrics), plan.clone());
        let inside = Inside { watch: handle.clone(), scanner: Arc::clone(&scanner) };
        let (reloading, reload) = Reload::new(hup, lookout);
        let office = Arc::new(Office {
            store: store.clone(),
            clock: clock.clone(),
            plan: plan.clone(),
            daemon: Some(operations::Daemon {
                watch: handle,
                wake_delivery: Arc::clone(&wake),
                scanner: Arc::clone(&scanner),
                reload,
            }),
        });
        let carries = reload::take_inventory(&office, &scanner, Plan::of(&config), None, |plan| swap.to(plan)).await?;
        carries.refused.iter().for_each(|why| tracing::warn!(why, "a past was not carried over"));
        scanner.remember_all(&config.targets).await?;
        reload::tell_warnings(&config);
        reload::tell_held(&reload::held(&config));
        reload::tell_inventory(&metrics, &config, config.targets.len());

        let listener = bind("metrics_listen", config.metrics_listen).await?;
        let metrics_address = listener.local_addr()?;
        let changing = match config.listen {
            Some(address) => Some(bind("listen", address).await?),
            None => None,
        };
        let listen_address = changing.as_ref().map(TcpListener::local_addr).transpose()?;
        let control = Control::bind(&config.control)
            .with_context(|| format!("failed to bind the control socket {}", config.control.display()))?;
        let receivers = Live::new(receivers(&config, &environment)?);
        let (beater, beats) = beat::start().await.context("failed to start the scheduler")?;
        office.retire().await.context("failed to retire what left the inventory")?;
        store.let_receivers_go(&names, clock.now()).await?;
        reload::keep_inventory(&store, &clock, &metrics, &config).await;
        metrics.config_last_reload_successful.set(1);
        metrics.config_last_reload_success.set(clock.now().as_duration().as_secs_f64());

        let (ready, ready_seen) = channel::channel(Readiness::Starting);
        let room =
            GaugeRoom::new(store.clone(), clock.clone(), Arc::clone(&metrics), Arc::clone(&scanner), plan.clone());
        let shown = Shown { metrics: Arc::clone(&metrics), gauges: Arc::new(room), ready: ready_seen };
        let delivery = Delivery::new(
            StoreOutbox(store.clone(), plan.clone()),
            Arc::new(Post(receivers.clone())),
            Counted(Arc::clone(&metrics), plan.clone()),
            clock.clone(),
            Arc::clone(&wake),
        );
        let housekeeping = Housekeeping::new(Arc::clone(&office), Arc::clone(&metrics), ready);
        let desk = Desk { office: Arc::clone(&office), environment: environment.clone() };
        let (count, socket) = (config.targets.len(), config.control.clone());
        let renewal = Renewal {
            start: AtStart::of(&config),
            config: Config { targets: Vec::new(), ..config },
            environment,
            office: Arc::clone(&office),
            scanner,
            metrics,
            swap,
            door,
            receivers,
        };

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
        supervisor.spawn("reload", |stop| async move {
            reloading.run(renewal, stop).await;
            Ok(())
        });
        if let Some(changing) = changing {
            supervisor.spawn("listen", |stop| async move {
                http::listen::serve(changing, desk, stop.cancelled_owned()).await.map_err(Into::into)
            });
        }
        supervisor.spawn("control", |stop| async move {
            control.serve(office, stop.cancelled_owned()).await.map_err(Into::into)
        });
        tracing::info!(
            targets = count,
            metrics = %metrics_address,
            listen = listen_address.map(tracing::field::display),
            control = %socket.display(),
            "driftd {} is running",
            env!("CARGO_PKG_VERSION")
        );
        // Nothing listens where no service manager started us.
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
        Ok(Self { supervisor, store, metrics_address, listen_address, control: socket, inside, _lock: lock })
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

/// What a start stands on.
struct Ground {
    config: Config,
    environment: Environment,
    clock: Clock,
    lock: StoreLock,
    store: Store,
    hup: Hup,
    lookout: Lookout,
}

async fn open_store(path: &Path) -> anyhow::Result<(StoreLock, Store)> {
    let lock = Store::lock(path).with_context(|| format!("failed to lock {}", path.display()))?;
    let store = Store::open(path).await.with_context(|| format!("failed to open the store {}", path.display()))?;
    Ok((lock, store))
}

async fn bind(key: &str, address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("failed to listen on {address} ({key})"))
}

fn receivers(config: &Config, environment: &Environment) -> anyhow::Result<Receivers> {
    let secrets = Arc::new(StoredSecrets(environment.clone()));
    Ok(Receivers::new(&config.receivers, secrets, ReceiverLimits::new(may_be_reached))?)
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
