//! The daemon's own parts under a clock that the story moves: watch loop, outbox loop, the minute's work and decisions,
//! on a real SQLite file. Only what the servers say, what the receivers say and when it is are pretended.
//!
//! One scan at a time and deliveries only between scans, so that a month is the same month each time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
use crate::support::PATIENCE;
use crate::support::daemon::Home;

/// The minute's work is done each minute while something is on its way, and this often else: on the hour, when all that
/// needs a clock and no scan ends in this story.
const CALM: Duration = Duration::from_hours(1);
/// So long after something happened, something may be on its way; and so long before a scan that may tell something.
const LIVELY: SignedDuration = SignedDuration::from_mins(3);
/// So long after a start, new targets are told of.
const NEW: SignedDuration = SignedDuration::from_mins(20);

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
    /// Until when something may be on its way.
    lively: Timestamp,
    /// When something is to be delivered next.
    owed: Option<Timestamp>,
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
    /// Whether the outbox loop wants to deliver: it was woken, or something is due.
    knocks: Arc<AtomicBool>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
    _lock: StoreLock,
}

/// The outbox, which waits while its gate is closed.
struct Gated {
    outbox: StoreOutbox,
    gate: Arc<RwLock<()>>,
    clock: Clock,
    /// Whether somebody stands before it.
    knocks: Arc<AtomicBool>,
}

impl Outbox for Gated {
    type Error = StoreError;

    /// What is due when the gate opens.
    async fn fold_due(&self, _: Timestamp) -> Result<(), StoreError> {
        self.knocks.store(true, Ordering::SeqCst);
        let _open = self.gate.read().await;
        self.knocks.store(false, Ordering::SeqCst);
        self.outbox.fold_due(self.clock.now()).await
    }

    async fn due_messages(&self, _: Timestamp) -> Result<Vec<Message>, StoreError> {
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
    pub(super) fn new(home: Home, (clock, hand): (Clock, Hand), servers: Servers, post: Arc<PostOffice>) -> Self {
        let start = clock.now();
        Self { home, hand, clock, servers, post, running: None, kept: start, lively: start, owed: None }
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
        self.lively = self.now() + LIVELY;
    }

    /// The next second's beat, due or not: the watch loop looks at the clock.
    pub(super) async fn beat(&self) {
        self.running().beat().await;
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
        let knocks = Arc::new(AtomicBool::new(false));
        let outbox = Gated {
            outbox: StoreOutbox::new(store.clone(), plan),
            gate: Arc::clone(&gate),
            clock: self.clock.clone(),
            knocks: Arc::clone(&knocks),
        };
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
        self.lively = self.now() + NEW;
        self.running =
            Some(Running { store, scanner, office, handle, beats, gate, closed, knocks, stop, tasks, _lock: lock });
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
        let scan = self.running().settled().await.next;
        [scan, self.owed, Some(self.minute())].into_iter().flatten().min().unwrap()
    }

    /// When the minute's work is done next.
    fn minute(&self) -> Timestamp {
        let lively = self.kept < self.lively || self.running().is_busy(self.kept);
        let every = if lively { Duration::from_mins(1) } else { CALM };
        let seconds = i64::try_from(every.as_secs()).unwrap();
        Timestamp::from_second((self.kept.as_second().div_euclid(seconds) + 1) * seconds).unwrap()
    }

    /// Does all that is due now.
    pub(super) async fn work(&mut self) {
        let now = self.now();
        self.running().scan_due(now).await;
        if now >= self.minute() {
            self.kept = now;
            self.running().minute().await;
            self.running().scan_due(now).await;
        }
        let tries = self.post.tries();
        let owed = self.owed;
        self.owed = self.running_mut().deliver(owed, now).await;
        if self.post.tries() > tries || self.running().scanner.times().gap.is_some() {
            self.stir();
        }
    }

    /// Something happens.
    pub(super) fn stir(&mut self) {
        self.lively = self.lively.max(self.now() + LIVELY);
    }

    /// The drift of `target` that stands.
    pub(super) async fn drift_of(&self, target: &str) -> Option<document::Incident> {
        let answer = self.running().office.answer(Request::Drifts {}, "person:oncall").await.unwrap();
        let Answer::Drifts(incidents) = answer else { panic!("{answer:?}") };
        incidents.into_iter().find(|incident| {
            incident.target == target
                && incident.kind == "drift"
                && !["pending", "ignored"].contains(&&*incident.reference)
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
            self.beat().await;
        }
        panic!("what is due at {now} is not scanned");
    }

    async fn beat(&self) {
        self.beats.send(()).await.unwrap();
    }

    /// What the watch loop holds once it has taken the last beat and no scan is under way.
    async fn settled(&self) -> watch::Load {
        let settles = async {
            loop {
                let load = self.handle.load().await;
                if self.beats.capacity() == 1 && load.running == 0 && load.tasks == 0 {
                    return load;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, settles).await.expect("scans end")
    }

    /// The minute's work, as `daemon::housekeeping` does it; what is about the store's health is left out.
    async fn minute(&self) {
        self.store.flush_runs().await.unwrap();
        self.office.tick().await.unwrap();
        self.scanner.minute().await.unwrap();
    }

    /// Lets messages go out until none is due, if the outbox loop wants to; says when the next one is.
    async fn deliver(&mut self, owed: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        if !self.knocks.load(Ordering::SeqCst) && owed.is_none_or(|owed| owed > now) {
            return owed;
        }
        let delivers = async {
            loop {
                let next = self.store.next_due(now).await.unwrap();
                if next.is_none_or(|next| next > now) {
                    return next;
                }
                self.closed = None;
                tokio::task::yield_now().await;
            }
        };
        let next = tokio::time::timeout(PATIENCE, delivers).await.expect("what is due is delivered");
        if self.closed.is_none() {
            self.closed = Some(Arc::clone(&self.gate).write_owned().await);
        }
        next
    }

    /// Whether something waits to be confirmed.
    fn is_busy(&self, now: Timestamp) -> bool {
        let plan = self.office.plan.plan();
        let soon = |at: Timestamp| at.duration_since(now) < LIVELY;
        plan.targets.keys().any(|id| self.scanner.past(id).recheck.is_some_and(soon))
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
