//! Builds all parts from configuration and starts them.
//!
//! In this order: the store's lock, the store, receivers, the door, what is remembered of targets, sockets, tasks. All
//! that can be wrong with a configuration on this machine shows before the first task runs.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch as channel};

use crate::clock::Clock;
use crate::config::{self, Config};
use crate::control::{Control, SocketFile};
use crate::deliver::{self, Delivery};
use crate::http::listen::Desk;
use crate::http::{self, Readiness, Shown};
use crate::judge::rules;
use crate::metrics::Metrics;
use crate::net::{Destination, Door, DoorSettings, Egress, HostForm, Roots, SystemResolver, guard};
use crate::operations::{self, Office};
use crate::plan::{InForce, Live, Plan};
use crate::receiver::{BuildError, Limits as ReceiverLimits, Receivers};
use crate::reload::Reload;
use crate::reload::changes::AtStart;
use crate::reload::files::{Lookout, POLL};
use crate::scan::{Conversations, Scanner};
use crate::secret::Environment;
use crate::service_manager;
use crate::signals::{Hup, Stop};
use crate::store::{Store, StoreError, StoreLock};
use crate::supervise::{Reason, Report, Supervisor};
use crate::watch::{self, Load, Watch, beat};

mod gauges;
mod housekeeping;
mod outbox;
mod reload;
mod vitals;

use gauges::GaugeRoom;
pub use housekeeping::Housekeeper;
use housekeeping::Housekeeping;
pub use outbox::StoreOutbox;
use outbox::{Counted, Post, StoredSecrets};
use reload::Renewal;
use vitals::{Vitals, Watching};

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
        metrics.process_start.set(clock.now().as_duration().as_secs_f64());
        metrics.ledger_entries.inc_by(store.ledger_head().await?.no);
        let wake = Arc::new(Notify::new());
        let door = Live::new(door(&config)?);
        // One inventory for all who look into it: its targets are what most of our memory holds.
        let (swap, plan) = InForce::new(Plan::default());
        let scanner = Arc::new(Scanner::new(
            Box::new(Conversations { door: door.clone(), environment: environment.clone() }),
            door.clone(),
            store.clone(),
            clock.clone(),
            Arc::clone(&metrics),
            Arc::clone(&wake),
            plan.clone(),
        ));
        let (watch, handle) = Watch::new(Arc::clone(&scanner), clock.clone(), Arc::clone(&metrics), plan.clone());
        let inside = Inside { watch: handle.clone(), scanner: Arc::clone(&scanner) };
        let (reloading, reload) = Reload::new(hup, lookout);
        let receivers = Live::new(receivers(&config, &environment)?);
        let office = Arc::new(Office {
            store: store.clone(),
            clock: clock.clone(),
            plan: plan.clone(),
            receivers: receivers.clone(),
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
        scanner.fleet().resume(watch::overslept(&plan.plan(), &scanner, clock.now())).await?;
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
        let (control, socket_file) = Control::bind(&config.control)
            .with_context(|| format!("failed to bind the control socket {}", config.control.display()))?;
        let (beater, beats) = beat::start().await.context("failed to start the scheduler")?;
        office.retire().await.context("failed to retire what left the inventory")?;
        if let Err(error) = office.tell_own_changes().await {
            tracing::error!(%error, "what changed with driftd itself could not be told");
        }
        store.let_receivers_go(&names, clock.now()).await?;
        reload::keep_inventory(&store, &clock, &metrics, &config).await;
        metrics.config_last_reload_successful.set(1);
        metrics.config_last_reload_success.set(clock.now().as_duration().as_secs_f64());

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
        let room =
            GaugeRoom::new(store.clone(), clock.clone(), Arc::clone(&metrics), Arc::clone(&scanner), plan.clone());
        let shown = Shown {
            metrics: Arc::clone(&metrics),
            gauges: Arc::new(room),
            ready: ready_seen,
            pulses: supervisor.pulses(),
        };
        let delivery = Delivery::new(
            StoreOutbox::new(store.clone(), plan.clone()),
            Arc::new(Post(receivers.clone())),
            Counted(Arc::clone(&metrics), plan.clone()),
            clock.clone(),
            Arc::clone(&wake),
        );
        let (housekeeper, asked) = Housekeeper::new();
        let housekeeping = Housekeeping::new(Arc::clone(&office), Arc::clone(&metrics), store_ready, incidents, asked);
        let desk = Desk { office: Arc::clone(&office), environment: environment.clone() };
        let count = config.targets.len();
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
            let mut beater = beater;
            watch.run(beats.dispatch, &mut beater, stop, pulse).await;
            beater.stop().await;
            Ok(())
        });
        // Told to stop together: no new scan and no new question, and who asked for a scan that runs gets its answer.
        supervisor.spawn_beside("reload", |stop| async move {
            reloading.run(renewal, stop).await;
            Ok(())
        });
        if let Some(changing) = changing {
            supervisor.spawn_beside("listen", |stop| async move {
                http::listen::serve(changing, desk, stop.cancelled_owned()).await.map_err(Into::into)
            });
        }
        supervisor.spawn_beside("control", |stop| async move {
            control.serve(office, stop.cancelled_owned()).await.map_err(Into::into)
        });
        tracing::info!(
            targets = count,
            metrics = %metrics_address,
            listen = listen_address.map(tracing::field::display),
            control = %socket_file.path().display(),
            "driftd {} is running",
            env!("CARGO_PKG_VERSION")
        );
        let watching = vitals.watch().context("failed to start the watchdog's thread")?;
        service_manager::ready();
        let control = socket_file;
        Ok(Self {
            supervisor,
            store,
            metrics_address,
            listen_address,
            control,
            inside,
            watching,
            housekeeper,
            _lock: lock,
        })
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

/// The receivers of `config`, also for a process that only tries one.
///
/// # Errors
/// When a mailbox is none, or TLS cannot be set up.
pub fn receivers(config: &Config, environment: &Environment) -> Result<Receivers, BuildError> {
    let secrets = Arc::new(StoredSecrets(environment.clone()));
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

/// Whether a receiver's name may lead to `address`: the rule for written destinations (design, section 6).
fn may_be_reached(address: std::net::IpAddr) -> bool {
    guard::decide(Destination::Written, HostForm::Name, address, &Egress::default()).is_ok()
}
