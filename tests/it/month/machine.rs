//! The daemon's own parts under a clock that the story moves: watch loop, outbox loop, the minute's work and decisions,
//! on a real SQLite file. Only what the servers say, what the receivers say and when it is are pretended.
//!
//! One scan at a time and deliveries only between scans, so that a month is the same month each time.

use std::sync::Arc;
use std::time::Duration;

use driftd::clock::{Clock, Hand};
use driftd::daemon::StoreOutbox;
use driftd::deliver::{Delivery, Outbox, Record, Tally};
use driftd::judge::rules;
use driftd::metrics::Metrics;
use driftd::model::condition::Condition;
use driftd::model::notice::Message;
use driftd::net::{Door, DoorSettings, Roots, SystemResolver};
use driftd::operations::{self, Answer, Office, Request, document};
use driftd::plan::{InForce, Live, Plan};
use driftd::pulse::Pulse;
use driftd::receiver::error::Reason;
use driftd::receiver::{Limits, Receivers};
use driftd::reload::Reload;
use driftd::reload::files::Lookout;
use driftd::scan::{Arrivals, Changed, Scanner};
use driftd::signals::Hup;
use driftd::store::{Store, StoreError, StoreLock};
use driftd::watch::beat;
use driftd::watch::{self, Handle, Watch};
use jiff::{SignedDuration, Timestamp};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tokio::sync::{Notify, OwnedRwLockWriteGuard, RwLock, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::post::PostOffice;
use super::world::Servers;
use crate::support::daemon::Home;

/// The minute's work is done each minute while something is on its way, and this often else.
const CALM: Duration = Duration::from_mins(10);
/// So long after something happened, something may be on its way.
const LIVELY: SignedDuration = SignedDuration::from_mins(40);
/// Looks at the loops before the test gives up on them.
const LOOKS: usize = 200_000;

/// The machine that the daemon runs on.
pub(super) struct Machine {
    home: Home,
    hand: Hand,
    clock: Clock,
    servers: Servers,
    post: Arc<PostOffice>,
    running: Option<Running>,
    /// When the minute's work was done last.
    kept: Timestamp,
    /// When something happened last.
    stirred: Timestamp,
}

struct Running {
    store: Store,
    scanner: Arc<Scanner>,
    office: Arc<Office>,
    handle: Handle,
    beats: mpsc::Sender<()>,
    gate: Arc<RwLock<()>>,
    /// Held while nothing is to be delivered.
    closed: Option<OwnedRwLockWriteGuard<()>>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
    _lock: StoreLock,
}

/// The outbox, which waits while its gate is closed.
struct Gated {
    outbox: StoreOutbox,
    gate: Arc<RwLock<()>>,
    clock: Clock,
}

impl Outbox for Gated {
    type Error = StoreError;

    /// What is due when the gate opens.
    async fn fold_due(&self, _: Timestamp) -> Result<(), StoreError> {
        let _open = self.gate.read().await;
        self.outbox.fold_due(self.clock.now()).await
    }

    async fn due_messages(&self, _: Timestamp) -> Result<Vec<Message>, StoreError> {
        let _open = self.gate.read().await;
        self.outbox.due_messages(self.clock.now()).await
    }

    async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        self.outbox.next_due(now).await
    }

    async fn condition(&self, receiver: &str) -> Result<Condition, StoreError> {
        self.outbox.condition(receiver).await
    }

    async fn record(&self, record: &Record, now: Timestamp) -> Result<(), StoreError> {
        self.outbox.record(record, now).await
    }
}

/// Counts are the metrics' and no part of the story; a store that fails would be.
struct Uncounted;

impl Tally for Uncounted {
    fn sent(&self, _: &str) {}
    fn failed(&self, _: &str, _: Reason) {}
    fn dead(&self, _: &str, _: Reason) {}
    fn store_failed(&self, operation: &'static str) {
        panic!("the store failed: {operation}");
    }
}

impl Machine {
    pub(super) fn new(home: Home, start: Timestamp, servers: Servers, post: Arc<PostOffice>) -> Self {
        let (clock, hand) = Clock::manual(start);
        Self { home, hand, clock, servers, post, running: None, kept: start, stirred: start }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.hand.now()
    }

    /// Moves the clock, and nothing else happens meanwhile.
    pub(super) fn advance(&self, by: Duration) {
        self.hand.advance(by);
    }

    /// Moves the clock back.
    pub(super) fn put_back(&mut self, by: Duration) {
        self.hand.put_back(by);
        self.kept = self.now();
        self.stirred = self.now();
    }

    /// Starts the daemon, in the order in which `daemon` does.
    pub(super) async fn start(&mut self) {
        let config = self.home.config();
        let lock = Store::lock(&config.store).unwrap();
        let store = Store::open(&config.store).await.unwrap();
        let names: Vec<String> = config.receivers.iter().map(|receiver| receiver.name.clone()).collect();
        let metrics = Arc::new(Metrics::new(&names, rules::all().count()).unwrap());
        let wake = Arc::new(Notify::new());
        let (swap, plan) = InForce::new(Plan::default());
        let scanner = Arc::new(Scanner::new(
            Box::new(self.servers.clone()),
            Live::new(door()),
            store.clone(),
            self.clock.clone(),
            Arc::clone(&metrics),
            Arc::clone(&wake),
            plan.clone(),
        ));
        let (watch, handle) = Watch::new(Arc::clone(&scanner), self.clock.clone(), metrics, plan.clone());
        let office = Arc::new(Office {
            store: store.clone(),
            clock: self.clock.clone(),
            plan: plan.clone(),
            receivers: Live::new(nobody()),
            daemon: Some(operations::Daemon {
                watch: handle.clone(),
                wake_delivery: Arc::clone(&wake),
                scanner: Arc::clone(&scanner),
                reload: Reload::new(Hup::silent(), Lookout::closed()).1,
            }),
        });
        let summaries: Vec<_> = config.targets.iter().map(driftd::model::inventory::Target::summary).collect();
        let mut writer = store.writer().await;
        writer.take_inventory(&summaries, &[], self.now()).await.unwrap();
        scanner.adopt(&writer, Arrivals::default(), Changed::These(&[]), || swap.to(Plan::of(&config)));
        drop(writer);
        scanner.remember_all(&config.targets).await.unwrap();
        let overslept = watch::overslept(&plan.plan(), &scanner, self.now());
        scanner.fleet().resume(overslept).await.unwrap();
        office.retire().await.unwrap();
        office.tell_own_changes().await.unwrap();
        store.let_receivers_go(&names, self.now()).await.unwrap();

        let gate = Arc::new(RwLock::new(()));
        let closed = Some(Arc::clone(&gate).write_owned().await);
        let outbox =
            Gated { outbox: StoreOutbox::new(store.clone(), plan), gate: Arc::clone(&gate), clock: self.clock.clone() };
        let delivery = Delivery::new(outbox, Arc::clone(&self.post), Uncounted, self.clock.clone(), wake);
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let stopped = stop.clone();
        tasks.spawn(async move { delivery.run(StdRng::seed_from_u64(7), stopped, Pulse::alone()).await });
        let (beats, beaten) = mpsc::channel(1);
        let stopped = stop.clone();
        tasks.spawn(async move {
            let (mut beater, _real) = beat::start().await.unwrap();
            watch.run(beaten, &mut beater, stopped, Pulse::alone()).await;
            beater.stop().await;
        });
        self.kept = self.now();
        self.stirred = self.now();
        self.running =
            Some(Running { store, scanner, office, handle, beats, gate, closed, stop, tasks, _lock: lock });
    }

    /// Stops it in order.
    pub(super) async fn stop(&mut self) {
        let Running { store, mut tasks, stop, closed, .. } = self.running.take().unwrap();
        drop(closed);
        stop.cancel();
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
        store.close().await.unwrap();
    }

    /// When something is to be done next.
    pub(super) async fn next(&self) -> Timestamp {
        let running = self.running();
        let scan = running.settled().await.next;
        let delivery = running.store.next_due(self.now()).await.unwrap();
        let lively = self.now().duration_since(self.stirred) < LIVELY || running.is_busy();
        let every = if lively { Duration::from_mins(1) } else { CALM };
        let grid = i64::try_from(every.as_secs()).unwrap();
        let minute = Timestamp::from_second((self.kept.as_second().div_euclid(grid) + 1) * grid).unwrap();
        [scan, delivery, Some(minute)].into_iter().flatten().min().unwrap()
    }

    /// Does all that is due now.
    pub(super) async fn work(&mut self) {
        let now = self.now();
        self.running().scan_due(now).await;
        let next = |kept: Timestamp| kept.checked_add(Duration::from_mins(1)).unwrap();
        let minute = now.as_second() % 60 == 0 || now >= next(self.kept);
        if minute && now > self.kept {
            self.kept = now;
            self.running().minute(now).await;
            self.running().scan_due(now).await;
        }
        let post = Arc::clone(&self.post);
        let tries = post.tries();
        self.running_mut().deliver(now).await;
        if post.tries() > tries {
            self.stirred = now;
        }
    }

    /// Something happens.
    pub(super) fn stir(&mut self) {
        self.stirred = self.now();
    }

    /// The drift of `target` that stands.
    pub(super) async fn drift_of(&self, target: &str) -> Option<document::Incident> {
        let answer = self.running().office.answer(Request::Drifts {}, "person:oncall").await.unwrap();
        let Answer::Drifts(incidents) = answer else { panic!("{answer:?}") };
        incidents.into_iter().find(|incident| {
            incident.target == target && incident.kind == "drift" && !["pending", "ignored"].contains(&&*incident.reference)
        })
    }

    /// Decides as the command line does.
    pub(super) async fn decide(&self, request: Request) {
        let answer = self.running().office.answer(request, "person:oncall").await;
        assert!(matches!(answer, Ok(Answer::Decided(_))), "{answer:?}");
    }

    /// The store, to look into it.
    pub(super) fn store(&self) -> &Store {
        &self.running().store
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("the daemon runs")
    }

    const fn running_mut(&mut self) -> &mut Running {
        self.running.as_mut().expect("the daemon runs")
    }
}

impl Running {
    /// Beats until nothing is due any more and every scan has ended.
    async fn scan_due(&self, now: Timestamp) {
        for _ in 0..20 {
            if self.settled().await.next.is_none_or(|next| next > now) {
                return;
            }
            self.beats.send(()).await.unwrap();
        }
        panic!("what is due at {now} is not scanned");
    }

    /// What the watch loop holds once it has taken the last beat and no scan is under way.
    async fn settled(&self) -> watch::Load {
        for _ in 0..LOOKS {
            let load = self.handle.load().await;
            if self.beats.capacity() == 1 && load.running == 0 && load.tasks == 0 {
                return load;
            }
            tokio::task::yield_now().await;
        }
        panic!("scans do not end");
    }

    /// The minute's work, as `daemon::housekeeping` does it.
    async fn minute(&self, now: Timestamp) {
        self.store.flush_runs().await.unwrap();
        self.store.try_write(now).await.unwrap();
        self.office.tick().await.unwrap();
        self.scanner.minute().await.unwrap();
    }

    /// Lets messages go out until none is due.
    async fn deliver(&mut self, now: Timestamp) {
        if self.store.next_due(now).await.unwrap().is_none_or(|next| next > now) {
            return;
        }
        self.closed = None;
        for look in 0.. {
            if self.store.next_due(now).await.unwrap().is_none_or(|next| next > now) {
                break;
            }
            assert!(look < LOOKS, "what is due at {now} is not delivered");
            tokio::task::yield_now().await;
        }
        self.closed = Some(Arc::clone(&self.gate).write_owned().await);
    }

    /// Whether something waits to be confirmed.
    fn is_busy(&self) -> bool {
        let plan = self.office.plan.plan();
        plan.targets.keys().any(|id| self.scanner.past(id).recheck.is_some())
    }
}

/// Nobody goes through it.
fn door() -> Door {
    let resolver = Arc::new(SystemResolver);
    Door::new(DoorSettings { contact: None, allow: Vec::new(), resolver, roots: Roots::Only(Vec::new()) }).unwrap()
}

/// Nobody is sent to by it: messages go through the [`PostOffice`].
fn nobody() -> Receivers {
    struct NoSecrets;
    impl driftd::receiver::Secrets for NoSecrets {
        fn read(&self, _: &driftd::model::secret::SecretRef) -> Option<secrecy::SecretString> {
            None
        }
    }
    Receivers::new(&[], Arc::new(NoSecrets), Limits::new(|_| false)).unwrap()
}
