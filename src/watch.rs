//! The loop: due targets, bounded concurrency, no target twice at once.
//!
//! The due-queue holds every next instant; `tokio-cron-scheduler` beats, and each beat starts what is due. A beat that
//! fails to come for ten seconds is a fault of ours, and is said.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{self, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::model::fleet::Gap;
use crate::model::inventory::Target;
use crate::model::memory::Past;
use crate::model::target::TargetId;
use crate::plan::{InForce, Plan};
use crate::scan::{Report, ScanFault, Scanner};

pub mod beat;
pub mod queue;
pub mod schedule;

use queue::DueQueue;

/// A beat that is later than this is a fault of ours.
const LATE_BEAT: Duration = Duration::from_secs(10);

/// What the loop is made from.
#[derive(Debug)]
pub struct Watch {
    scanner: Arc<Scanner>,
    clock: Clock,
    metrics: Arc<Metrics>,
    plan: InForce,
    queue: DueQueue,
    due: Due,
    /// Scans under way, with who asked for each before it began.
    running: HashMap<TargetId, Vec<Asker>>,
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
    due: Due,
}

type Asker = oneshot::Sender<Result<Report, ScanFault>>;

/// When each target is scanned next, for people.
#[derive(Clone, Debug, Default)]
struct Due(Arc<Mutex<HashMap<TargetId, Timestamp>>>);

#[derive(Debug)]
enum Command {
    ScanNow(TargetId, Asker),
    Replan(TargetId),
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

    /// When `id` is scanned next; none while it is paused.
    pub fn next_scan(&self, id: &TargetId) -> Option<Timestamp> {
        self.due.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied()
    }
}

impl Watch {
    /// A loop over the targets of `plan`, and the handle that asks it.
    pub fn new(scanner: Arc<Scanner>, clock: Clock, metrics: Arc<Metrics>, plan: InForce) -> (Self, Handle) {
        let (sender, commands) = mpsc::channel(64);
        let due = Due::default();
        let handle = Handle { commands: sender, due: due.clone() };
        let watch = Self {
            scanner,
            clock,
            metrics,
            plan,
            queue: DueQueue::default(),
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

    /// Runs until `stop`; scans under way are then broken off, which loses nothing: they have written nothing.
    pub async fn run(mut self, mut beats: mpsc::Receiver<()>, stop: CancellationToken) {
        self.fill();
        let mut late = std::pin::pin!(tokio::time::sleep(LATE_BEAT));
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                beat = beats.recv() => {
                    if beat.is_none() {
                        break;
                    }
                    late.set(tokio::time::sleep(LATE_BEAT));
                    self.dispatch();
                }
                () = &mut late => {
                    tracing::error!(seconds = LATE_BEAT.as_secs(), "the dispatch beat is late; scans start late");
                    late.set(tokio::time::sleep(LATE_BEAT));
                    self.dispatch();
                }
                Some(command) = self.commands.recv() => self.command(command),
                Some(ended) = self.scans.join_next_with_id() => self.ended(ended),
            }
        }
        self.scans.shutdown().await;
    }

    fn fill(&mut self) {
        let now = self.clock.now();
        let ids: Vec<TargetId> = self.plan.plan().targets.keys().cloned().collect();
        for id in ids {
            let past = self.scanner.past(&id);
            self.plan(&id, &past, now);
        }
    }

    fn plan(&mut self, id: &TargetId, past: &Past, now: Timestamp) {
        let plan = self.plan.plan();
        let Some(target) = plan.targets.get(id).filter(|target| !target.paused) else { return };
        let at = if self.asked.contains_key(id) { now } else { schedule::step(&target.cadence, id, past, now).at };
        self.queue.set(id.clone(), at);
        self.due.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), at);
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
            let Some(target) = plan.targets.get(&id).cloned() else { continue };
            if self.running.contains_key(&id) || self.host_is_full(&target, plan.limits.per_host) {
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
        self.hosts.get(&host(target)).is_some_and(|running| *running >= most)
    }

    fn start(&mut self, id: TargetId, target: Arc<Target>) {
        *self.hosts.entry(host(&target)).or_default() += 1;
        let askers = self.asked.remove(&id).unwrap_or_default();
        self.running.insert(id.clone(), askers);
        let scanner = Arc::clone(&self.scanner);
        let task = self.scans.spawn(async move { scanner.scan(&target).await });
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
            // One that runs is planned when it ends.
            Command::Replan(id) if self.running.contains_key(&id) => {}
            Command::Replan(id) => {
                let past = self.scanner.past(&id);
                self.plan(&id, &past, self.clock.now());
                self.dispatch();
            }
        }
    }

    fn ended(&mut self, ended: Result<(task::Id, Result<Report, ScanFault>), task::JoinError>) {
        let (task, report) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!(%error, "a scan broke: a fault of ours");
                (error.id(), Err(ScanFault::Broke))
            }
        };
        let Some(id) = self.tasks.remove(&task) else { return };
        let askers = self.let_go(&id);
        let now = self.clock.now();
        // A scan that came to nothing counts as made: the next one comes by plan, not at once.
        let past = report.as_ref().map_or_else(|_| Past { last: Some(now), ..Past::default() }, |report| report.past);
        self.plan(&id, &past, now);
        for neighbour in report.iter().flat_map(|report| &report.hasten) {
            self.hasten(neighbour, now);
        }
        for asker in askers {
            // Who asked may have gone.
            let _ = asker.send(report.clone());
        }
        self.dispatch();
    }

    /// Has a target looked at now that would be due later, unless it asked us to wait, or refuses us.
    fn hasten(&mut self, id: &TargetId, now: Timestamp) {
        let past = self.scanner.past(id);
        let may_ask = !past.blocked && past.hold.is_none_or(|hold| hold <= now);
        if may_ask && self.queue.due(id).is_some_and(|due| due > now) {
            self.queue.set(id.clone(), now);
            self.due.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), now);
        }
    }

    fn let_go(&mut self, id: &TargetId) -> Vec<Asker> {
        if let Some(host) = self.plan.plan().targets.get(id).map(|target| host(target)) {
            match self.hosts.get_mut(&host) {
                Some(running) if *running > 1 => *running -= 1,
                Some(_) | None => drop(self.hosts.remove(&host)),
            }
        }
        self.running.remove(id).unwrap_or_default()
    }
}

fn host(target: &Target) -> String {
    target.url.host_str().unwrap_or_default().to_owned()
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
