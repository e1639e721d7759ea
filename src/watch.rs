//! The loop: due targets, bounded concurrency, no target twice at once.
//!
//! The due-queue holds every next instant; `tokio-cron-scheduler` beats, and each beat starts what is due. A beat that
//! fails to come for ten seconds is a fault of ours, and is said.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{self, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::crash::{self, Stall};
use crate::metrics::Metrics;
use crate::model::fleet::Gap;
use crate::model::inventory::Target;
use crate::model::memory::Past;
use crate::model::target::TargetId;
use crate::plan::{InForce, Plan};
use crate::pulse::Pulse;
use crate::scan::{Report, ScanFault, Scanner};

pub mod beat;
mod follow;
pub mod pace;
pub mod queue;
pub mod schedule;

use beat::Beater;
use pace::Pace;
use queue::DueQueue;
use schedule::{Due, Why};

/// A beat that is later than this is a fault of ours.
const LATE_BEAT: Duration = Duration::from_secs(10);

/// The loop comes round this often at least: each second by the beat, after `LATE_BEAT` without one.
pub const ROUND: Duration = Duration::from_secs(30);

/// How long scans under way may take to end when the loop is told to stop.
const DRAIN: Duration = Duration::from_secs(5);

/// What the loop is made from.
#[derive(Debug)]
pub struct Watch {
    scanner: Arc<Scanner>,
    clock: Clock,
    metrics: Arc<Metrics>,
    plan: InForce,
    /// The plan that was followed last: what the queue is made from.
    known: Arc<Plan>,
    queue: DueQueue,
    pace: Pace,
    due: DueBoard,
    running: HashMap<TargetId, Running>,
    hosts: HashMap<String, usize>,
    /// Who asked for a scan that has not begun.
    asked: HashMap<TargetId, Vec<Asker>>,
    scans: JoinSet<Result<Report, ScanFault>>,
    tasks: HashMap<task::Id, TargetId>,
    commands: mpsc::Receiver<Command>,
    /// When what is due was last looked for.
    looked: Option<Timestamp>,
}

/// Asks the loop.
#[derive(Clone, Debug)]
pub struct Handle {
    commands: mpsc::Sender<Command>,
    due: DueBoard,
}

/// A scan under way.
#[derive(Debug)]
struct Running {
    /// As it was when the scan began: whose host it keeps busy, and what it asks.
    target: Arc<Target>,
    /// Who asked for it before it began.
    askers: Vec<Asker>,
    /// Cancelled when the scan stands for nothing in the inventory any more.
    outdated: CancellationToken,
}

type Asker = oneshot::Sender<Result<Report, ScanFault>>;

/// When each target is scanned next and why then, for people.
#[derive(Clone, Debug, Default)]
struct DueBoard(Arc<Mutex<HashMap<TargetId, Due>>>);

impl DueBoard {
    fn lock(&self) -> MutexGuard<'_, HashMap<TargetId, Due>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
enum Command {
    ScanNow(TargetId, Asker),
    Replan(TargetId),
    Load(oneshot::Sender<Load>),
}

/// How much the loop holds; all zero once every target has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Targets in the due-queue.
    pub queued: usize,
    /// Targets with an instant to be told to people.
    pub due: usize,
    /// Scans under way.
    pub running: usize,
    /// Tasks of scans.
    pub tasks: usize,
    /// Hosts that are being asked.
    pub hosts: usize,
    /// Targets that somebody asked for.
    pub asked: usize,
    /// When the next target is due.
    pub next: Option<Timestamp>,
}

impl Handle {
    /// Scans `id` now, or as soon as a scan of it that runs has ended; answers with what came of it.
    pub async fn scan_now(&self, id: TargetId) -> Option<Result<Report, ScanFault>> {
        let (asker, answer) = oneshot::channel();
        self.commands.send(Command::ScanNow(id, asker)).await.ok()?;
        answer.await.ok()
    }

    /// Plans `id` anew: a decision or a tick has changed what its next scan can tell.
    pub async fn replan(&self, id: TargetId) {
        // A loop that has stopped scans nothing more.
        let _ = self.commands.send(Command::Replan(id)).await;
    }

    /// How much the loop holds; nothing once it has stopped.
    pub async fn load(&self) -> Load {
        let (asker, load) = oneshot::channel();
        // As above.
        let _ = self.commands.send(Command::Load(asker)).await;
        load.await.unwrap_or_default()
    }

    /// When `id` is scanned next, and what decided it; none while it is paused.
    pub fn next_scan(&self, id: &TargetId) -> Option<Due> {
        self.due.lock().get(id).copied()
    }
}

impl Watch {
    /// A loop over the targets of `plan`, and the handle that asks it.
    pub fn new(scanner: Arc<Scanner>, clock: Clock, metrics: Arc<Metrics>, plan: InForce) -> (Self, Handle) {
        let (sender, commands) = mpsc::channel(64);
        let due = DueBoard::default();
        let handle = Handle { commands: sender, due: due.clone() };
        let watch = Self {
            scanner,
            clock,
            metrics,
            known: plan.plan(),
            plan,
            queue: DueQueue::default(),
            pace: Pace::default(),
            due,
            running: HashMap::new(),
            hosts: HashMap::new(),
            asked: HashMap::new(),
            scans: JoinSet::new(),
            tasks: HashMap::new(),
            commands,
            looked: None,
        };
        (watch, handle)
    }

    /// Runs until `stop`. Scans under way may then end, for a moment; what is broken off after it has written nothing,
    /// so that nothing is lost but the sighting.
    pub async fn run(
        mut self,
        mut beats: mpsc::Receiver<()>,
        beater: &mut Beater,
        stop: CancellationToken,
        pulse: Pulse,
    ) {
        self.known = self.plan.plan();
        // From here on the clock is watched; nothing was put back yet.
        let _ = self.pace.beat(self.clock.now(), self.known.targets.len());
        self.fill();
        let mut late = std::pin::pin!(tokio::time::sleep(LATE_BEAT));
        loop {
            pulse.moved();
            crash::stall(Stall::Watch);
            tokio::select! {
                () = stop.cancelled() => break,
                beat = beats.recv() => {
                    if beat.is_none() {
                        break;
                    }
                    late.set(tokio::time::sleep(LATE_BEAT));
                    self.beat(beater).await;
                }
                () = &mut late => {
                    tracing::error!(seconds = LATE_BEAT.as_secs(), "the dispatch beat is late; scans start late");
                    late.set(tokio::time::sleep(LATE_BEAT));
                    self.beat(beater).await;
                }
                plan = self.plan.changed() => self.follow(plan),
                Some(command) = self.commands.recv() => self.command(command),
                Some(ended) = self.scans.join_next_with_id() => {
                    self.settle(ended);
                    self.dispatch();
                }
            }
        }
        self.drain().await;
    }

    /// Starts nothing more, tells so who asked, and lets what runs end.
    async fn drain(&mut self) {
        self.commands.close();
        while self.commands.try_recv().is_ok() {}
        self.asked.clear();
        let ends = async {
            while let Some(ended) = self.scans.join_next_with_id().await {
                self.settle(ended);
            }
        };
        // Bounded, and nobody looks at the pulse of a loop that stops.
        if tokio::time::timeout(DRAIN, ends).await.is_err() {
            tracing::info!(scans = self.scans.len(), "scans under way are broken off; nothing of them was written");
            self.scans.shutdown().await;
        }
    }

    fn fill(&mut self) {
        let now = self.clock.now();
        let known = Arc::clone(&self.known);
        for id in known.targets.keys() {
            let past = self.scanner.past(id);
            self.plan(id, &past, now);
        }
    }

    /// Puts `id` into the queue for when it is due, or out of it: one that is paused is scanned when somebody asks.
    fn plan(&mut self, id: &TargetId, past: &Past, now: Timestamp) {
        let plan = self.plan.plan();
        let asked = self.asked.contains_key(id);
        match plan.targets.get(id).filter(|target| asked || !target.paused) {
            Some(_) if asked => self.put(id, Due { at: now, why: Why::Asked }),
            Some(target) => self.put(id, schedule::step(&target.cadence, id, past, now)),
            None => self.take_out(id),
        }
    }

    fn put(&mut self, id: &TargetId, due: Due) {
        self.queue.set(id.clone(), due.at);
        self.due.lock().insert(id.clone(), due);
    }

    fn take_out(&mut self, id: &TargetId) {
        self.queue.remove(id);
        self.due.lock().remove(id);
    }

    /// A second has passed. Where the wall clock was put back, what waits is planned anew, and so are the beats: they
    /// would wait for an instant that is far away by now.
    async fn beat(&mut self, beater: &mut Beater) {
        if self.pace.beat(self.clock.now(), self.plan.plan().targets.len()) {
            tracing::warn!("the clock was put back; every scan is planned anew");
            self.fill();
            beater.renew().await;
        }
        self.dispatch();
    }

    /// Starts what is due, as far as the limits let it.
    fn dispatch(&mut self) {
        let (now, plan) = (self.clock.now(), self.plan.plan());
        let looked = self.looked.replace(now);
        if looked.is_some_and(|looked| now.duration_since(looked) > Gap::LEAST)
            && let Some(since) = overslept(&plan, &self.scanner, now)
        {
            self.scanner.fleet().overslept(since, now);
        }
        let mut waiting = Vec::new();
        while self.scans.len() < plan.limits.concurrency {
            let Some((id, at)) = self.queue.pop_due(now) else { break };
            // One that left is taken out when the new plan is followed.
            let Some(target) = plan.targets.get(&id).cloned() else { continue };
            let held_up = self.running.contains_key(&id) || self.host_is_full(&target, plan.limits.per_host);
            if !held_up && !self.pace.lets_start(at, now) {
                // Those behind it are due after it: they wait for the next beat too.
                waiting.push((id, at));
                break;
            }
            if held_up {
                waiting.push((id, at));
                continue;
            }
            self.metrics.scan_queue_lag.observe(now.duration_since(at).as_secs_f64().max(0.0));
            self.start(id, target);
        }
        for (id, at) in waiting {
            self.queue.set(id, at);
        }
    }

    fn host_is_full(&self, target: &Target, most: usize) -> bool {
        self.hosts.get(&target.host()).is_some_and(|running| *running >= most)
    }

    fn start(&mut self, id: TargetId, target: Arc<Target>) {
        *self.hosts.entry(target.host()).or_default() += 1;
        let askers = self.asked.remove(&id).unwrap_or_default();
        let outdated = CancellationToken::new();
        let running = Running { target: Arc::clone(&target), askers, outdated: outdated.clone() };
        self.running.insert(id.clone(), running);
        let scanner = Arc::clone(&self.scanner);
        let task = self.scans.spawn(async move { scanner.scan(&target, &outdated).await });
        self.tasks.insert(task.id(), id);
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::ScanNow(id, asker) => {
                if !self.plan.plan().targets.contains_key(&id) {
                    let _ = asker.send(Err(ScanFault::NoTarget));
                    return;
                }
                self.queue.set(id.clone(), self.clock.now());
                self.asked.entry(id).or_default().push(asker);
                self.dispatch();
            }
            Command::Load(asker) => {
                let _ = asker.send(self.load());
            }
            // One that runs is planned when it ends.
            Command::Replan(id) if self.running.contains_key(&id) => {}
            Command::Replan(id) => {
                let past = self.scanner.past(&id);
                self.plan(&id, &past, self.clock.now());
                self.dispatch();
            }
        }
    }

    fn load(&mut self) -> Load {
        Load {
            queued: self.queue.len(),
            due: self.due.lock().len(),
            running: self.running.len(),
            tasks: self.scans.len().max(self.tasks.len()),
            hosts: self.hosts.len(),
            asked: self.asked.len(),
            next: self.queue.next_at(),
        }
    }

    fn settle(&mut self, ended: Result<(task::Id, Result<Report, ScanFault>), task::JoinError>) {
        let (task, report) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                // Its words may quote the peer.
                tracing::error!(panicked = error.is_panic(), "a scan broke: a fault of ours");
                (error.id(), Err(ScanFault::Broke))
            }
        };
        let Some(id) = self.tasks.remove(&task) else { return };
        let Some(Running { askers, outdated, .. }) = self.let_go(&id) else { return };
        // One that was settled just before the plan changed is outdated too.
        if outdated.is_cancelled() || matches!(report, Err(ScanFault::Outdated)) {
            self.again(&id, askers);
        } else {
            let now = self.clock.now();
            // A scan that came to nothing counts as made: the next one comes by plan, not at once.
            let past =
                report.as_ref().map_or_else(|_| Past { last: Some(now), ..Past::default() }, |report| report.past);
            self.plan(&id, &past, now);
            for neighbour in report.iter().flat_map(|report| &report.hasten) {
                self.hasten(neighbour, now);
            }
            for asker in askers {
                // Who asked may have gone.
                let _ = asker.send(report.clone());
            }
        }
    }

    /// Has a target looked at now that would be due later, unless it asked us to wait, or refuses us.
    fn hasten(&mut self, id: &TargetId, now: Timestamp) {
        let past = self.scanner.past(id);
        let may_ask = !past.blocked && past.hold.is_none_or(|hold| hold <= now);
        if may_ask && self.queue.due(id).is_some_and(|due| due > now) {
            self.put(id, Due { at: now, why: Why::Recheck });
        }
    }

    fn let_go(&mut self, id: &TargetId) -> Option<Running> {
        let running = self.running.remove(id)?;
        let host = running.target.host();
        match self.hosts.get_mut(&host) {
            Some(running) if *running > 1 => *running -= 1,
            Some(_) | None => drop(self.hosts.remove(&host)),
        }
        Some(running)
    }
}

/// When somebody looked last, if nobody has for a day although somebody should have.
pub fn overslept(plan: &Plan, scanner: &Scanner, now: Timestamp) -> Option<Timestamp> {
    let is_long_ago = |at: &Timestamp| now.duration_since(*at) > Gap::LEAST;
    let mut newest = None::<Timestamp>;
    let mut missed = false;
    for (id, target) in plan.targets.iter().filter(|(_, target)| !target.paused) {
        let past = scanner.past(id);
        if past.last.is_some() {
            newest = newest.max(past.last);
            missed |= is_long_ago(&schedule::step(&target.cadence, id, &past, now).at);
        }
    }
    newest.filter(|newest| missed && is_long_ago(newest))
}
