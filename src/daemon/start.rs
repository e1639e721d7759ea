//! Builds all parts from configuration and starts them.
//!
//! In this order: the store's lock, the store, receivers, the door, what is remembered of targets, sockets, tasks. All
//! that can be wrong with a configuration on this machine shows before the first task runs.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch as channel};

use super::gauges::GaugeRoom;
use super::housekeeping::{self, Housekeeper, Housekeeping};
use super::outbox::{Counted, Post, StoreOutbox, StoredSecrets};
use super::reload::{self, Renewal};
use super::vitals::Vitals;
use super::{Daemon, Inside};
use crate::clock::Clock;
use crate::config::Config;
use crate::control::{Control, SocketFile};
use crate::deliver::{self, Delivery};
use crate::http::listen::Desk;
use crate::http::{self, Readiness, Shown};
use crate::judge::rules;
use crate::metrics::Metrics;
use crate::net::{Destination, Door, DoorSettings, Egress, HostForm, Roots, SystemResolver, guard};
use crate::operations::{self, Office};
use crate::plan::{InForce, Live, Plan, Swap};
use crate::receiver::{BuildError, Limits as ReceiverLimits, Receivers};
use crate::reload::Reload;
use crate::reload::changes::AtStart;
use crate::reload::files::Lookout;
use crate::scan::{Conversations, Scanner};
use crate::secret::Environment;
use crate::service_manager;
use crate::signals::Hup;
use crate::store::{Store, StoreError, StoreLock};
use crate::supervise::Supervisor;
use crate::watch::beat::{self, Beater, Beats};
use crate::watch::{self, Watch};

/// What a start stands on.
pub(super) struct Ground {
    pub(super) config: Config,
    pub(super) environment: Environment,
    pub(super) clock: Clock,
    pub(super) lock: StoreLock,
    pub(super) store: Store,
    pub(super) hup: Hup,
    pub(super) lookout: Lookout,
}

/// What works together, before anything runs.
struct Parts {
    config: Config,
    environment: Environment,
    clock: Clock,
    store: Store,
    metrics: Arc<Metrics>,
    wake: Arc<Notify>,
    door: Live<Door>,
    swap: Swap,
    plan: InForce,
    receivers: Live<Receivers>,
    scanner: Arc<Scanner>,
    office: Arc<Office>,
    watch: Watch,
    reloading: Reload,
    inside: Inside,
}

/// What others knock at, bound.
struct Sockets {
    metrics: TcpListener,
    metrics_address: SocketAddr,
    listen: Option<TcpListener>,
    listen_address: Option<SocketAddr>,
    control: Control,
    file: SocketFile,
}

/// Starts everything.
pub(super) async fn begin(ground: Ground) -> anyhow::Result<Daemon> {
    let (lock, parts) = assemble(ground).await?;
    take_over(&parts).await?;
    let sockets = Sockets::bind(&parts.config).await?;
    let (beater, beats) = beat::start().await.context("failed to start the scheduler")?;
    settle_in(&parts).await?;
    run_tasks(parts, sockets, beater, beats, lock)
}

/// Builds the parts; nothing is read of the past yet, and nothing runs.
async fn assemble(ground: Ground) -> anyhow::Result<(StoreLock, Parts)> {
    let Ground { config, environment, clock, lock, store, hup, lookout } = ground;
    let names = receiver_names(&config);
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
    let parts = Parts {
        config,
        environment,
        clock,
        store,
        metrics,
        wake,
        door,
        swap,
        plan,
        receivers,
        scanner,
        office,
        watch,
        reloading,
        inside,
    };
    Ok((lock, parts))
}

/// Puts the inventory in force, with what the store knows of its targets.
async fn take_over(parts: &Parts) -> anyhow::Result<()> {
    let Parts { config, clock, metrics, plan, scanner, office, swap, .. } = parts;
    let carries = reload::take_inventory(office, scanner, Plan::of(config), None, |plan| swap.to(plan)).await?;
    carries.refused.iter().for_each(|why| tracing::warn!(why, "a past was not carried over"));
    scanner.remember_all(&config.targets).await?;
    scanner.fleet().resume(watch::overslept(&plan.plan(), scanner, clock.now())).await?;
    reload::tell_warnings(config);
    reload::tell_held(&reload::held(config));
    reload::tell_inventory(metrics, config, config.targets.len());
    Ok(())
}

/// Has the store follow from the configuration: who left, what changed with driftd itself, what is good to go back to.
async fn settle_in(parts: &Parts) -> anyhow::Result<()> {
    let Parts { config, clock, store, metrics, office, .. } = parts;
    office.retire().await.context("failed to retire what left the inventory")?;
    if let Err(error) = office.tell_own_changes().await {
        tracing::error!(%error, "what changed with driftd itself could not be told");
    }
    store.let_receivers_go(&receiver_names(config), clock.now()).await?;
    reload::keep_inventory(store, clock, metrics, config).await;
    // A start goes on with the last good version of a file that a person writes; what is written is not in force then.
    let a_persons = |file: &Path| config.parts.iter().any(|part| part.path == file && !part.listed);
    let is_whole = !config.held.iter().any(|held| a_persons(&held.path));
    metrics.config_last_reload_successful.set(i64::from(is_whole));
    if is_whole {
        metrics.config_last_reload_success.set(clock.now().as_duration().as_secs_f64());
    }
    Ok(())
}

impl Sockets {
    async fn bind(config: &Config) -> anyhow::Result<Self> {
        let metrics = bind("metrics_listen", config.metrics_listen).await?;
        let metrics_address = metrics.local_addr()?;
        let listen = match config.listen {
            Some(address) => Some(bind("listen", address).await?),
            None => None,
        };
        let listen_address = listen.as_ref().map(TcpListener::local_addr).transpose()?;
        let (control, file) = Control::bind(&config.control)
            .with_context(|| format!("failed to bind the control socket {}", config.control.display()))?;
        Ok(Self { metrics, metrics_address, listen, listen_address, control, file })
    }
}

/// Starts the tasks: from here on things happen.
fn run_tasks(parts: Parts, sockets: Sockets, beater: Beater, beats: Beats, lock: StoreLock) -> anyhow::Result<Daemon> {
    let Parts { config, environment, clock, store, metrics, wake, plan, receivers, scanner, office, inside, .. } =
        parts;
    let Sockets { metrics: listener, metrics_address, listen, listen_address, control, file } = sockets;
    let mut supervisor = Supervisor::new();
    let (store_ready, store_seen) = channel::channel(Readiness::Starting);
    let (incidents, incidents_seen) = channel::channel(0);
    let (ready, ready_seen) = channel::channel(Readiness::Starting);
    let vitals =
        Vitals { pulses: supervisor.pulses(), store: store_seen, incidents: incidents_seen, plan: plan.clone(), ready };
    let room = GaugeRoom::new(store.clone(), clock.clone(), Arc::clone(&metrics), Arc::clone(&scanner), plan.clone());
    let shown =
        Shown { metrics: Arc::clone(&metrics), gauges: Arc::new(room), ready: ready_seen, pulses: supervisor.pulses() };
    let delivery = Delivery::new(
        StoreOutbox::new(store.clone(), plan.clone()),
        Arc::new(Post(receivers.clone())),
        Counted(Arc::clone(&metrics), plan),
        clock,
        wake,
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
        swap: parts.swap,
        door: parts.door,
        receivers,
    };
    let tasks = Tasks {
        listener,
        shown,
        delivery,
        housekeeping,
        watch: parts.watch,
        reloading: parts.reloading,
        renewal,
        changing: listen.map(|listen| (listen, desk)),
        control,
        office,
    };
    tasks.start(&mut supervisor, beater, beats);
    tracing::info!(
        targets = count,
        metrics = %metrics_address,
        listen = listen_address.map(tracing::field::display),
        control = %file.path().display(),
        "driftd {} is running",
        env!("CARGO_PKG_VERSION")
    );
    let watching = vitals.watch().context("failed to start the watchdog's thread")?;
    service_manager::ready();
    Ok(Daemon {
        supervisor,
        store,
        metrics_address,
        listen_address,
        control: file,
        inside,
        watching,
        housekeeper,
        _lock: lock,
    })
}

/// What runs, task by task.
struct Tasks {
    listener: TcpListener,
    shown: Shown,
    delivery: Delivery<StoreOutbox, Post, Counted>,
    housekeeping: Housekeeping,
    watch: Watch,
    reloading: Reload,
    renewal: Renewal,
    changing: Option<(TcpListener, Desk)>,
    control: Control,
    office: Arc<Office>,
}

impl Tasks {
    fn start(self, supervisor: &mut Supervisor, mut beater: Beater, beats: Beats) {
        let Self { listener, shown, delivery, housekeeping, watch, reloading, renewal, changing, control, office } =
            self;
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
            watch.run(beats.dispatch, &mut beater, stop, pulse).await;
            beater.stop().await;
            Ok(())
        });
        // Told to stop together: no new scan and no new question, and who asked for a scan that runs gets its answer.
        supervisor.spawn_beside("reload", |stop| async move {
            reloading.run(renewal, stop).await;
            Ok(())
        });
        if let Some((listen, desk)) = changing {
            supervisor.spawn_beside("listen", |stop| async move {
                http::listen::serve(listen, desk, stop.cancelled_owned()).await.map_err(Into::into)
            });
        }
        supervisor.spawn_beside("control", |stop| async move {
            control.serve(office, stop.cancelled_owned()).await.map_err(Into::into)
        });
    }
}

fn receiver_names(config: &Config) -> Vec<String> {
    config.receivers.iter().map(|receiver| receiver.name.clone()).collect()
}

/// How long a start waits for a command that holds the store's lock: most take less than a second.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// How often it looks whether the lock is free.
const LOCK_LOOK: Duration = Duration::from_millis(100);

/// The store's lock, once whoever holds it has ended; of another daemon it is not to be had, which is an error then.
async fn lock(path: &Path) -> Result<StoreLock, StoreError> {
    let taken = Store::lock(path);
    let Err(held @ StoreError::Locked { .. }) = &taken else { return taken };
    tracing::warn!("{held}; waiting up to {} s for it", LOCK_WAIT.as_secs());
    let free = async {
        let mut look = tokio::time::interval(LOCK_LOOK);
        loop {
            look.tick().await;
            let again = Store::lock(path);
            if !matches!(again, Err(StoreError::Locked { .. })) {
                return again;
            }
        }
    };
    tokio::time::timeout(LOCK_WAIT, free).await.unwrap_or(taken)
}

pub(super) async fn open_store(path: &Path) -> anyhow::Result<(StoreLock, Store)> {
    let lock = lock(path).await.with_context(|| format!("failed to lock {}", path.display()))?;
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

pub(super) fn door(config: &Config) -> anyhow::Result<Door> {
    Ok(Door::new(DoorSettings {
        contact: config.scan.contact.clone(),
        allow: config.egress_allow.clone(),
        resolver: Arc::new(SystemResolver),
        roots: Roots::Platform,
    })?)
}

/// Whether a receiver's name may lead to `address`: the rule for written destinations (design, section 6).
fn may_be_reached(address: IpAddr) -> bool {
    guard::decide(Destination::Written, HostForm::Name, address, &Egress::default()).is_ok()
}
