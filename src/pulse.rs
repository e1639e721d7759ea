//! Whether tasks move: what the watchdog and `/-/healthy` go by.
//!
//! Two proofs. Every task is polled at least once a tick (`TICK`): one that is not has a thread blocked under it, or the
//! whole runtime stands. And a loop comes round within a bound of its own: one that does not waits for something that
//! will not come. Time spent waiting for disk or network ([`Pulse::wait`]) is not counted: a store that is slow, or a
//! peer that hangs, is nothing that a restart mends. It shows in readiness instead ([`Pulses::slow`]).

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior};

/// Every task is polled at least this often.
const TICK: Duration = Duration::from_secs(1);

/// A task that was not polled for so long is stuck; far above what a busy machine delays it.
const UNPOLLED: Duration = Duration::from_secs(10);

/// A wait for the disk that is longer than this makes the daemon not ready.
const SLOW: Duration = Duration::from_secs(10);

/// The pulses of all tasks; its clones are one.
#[derive(Clone, Debug, Default)]
pub struct Pulses(Arc<Mutex<Vec<Arc<Task>>>>);

/// One loop's pulse: it says when it comes round, and what it waits for.
#[derive(Clone, Debug)]
pub struct Pulse(Arc<Task>);

/// What a loop may wait for, however long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// The store, or another file.
    Disk,
    /// A peer, a receiver, a name server.
    Network,
}

#[derive(Debug)]
struct Task {
    name: &'static str,
    /// Within what time it comes round; none for one that is no loop of ours.
    round: Option<Duration>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    polled: Instant,
    /// When it last came round, or began or ended to wait.
    since: Instant,
    waits: Option<For>,
    ended: bool,
}

/// A task that does not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Its name.
    pub task: &'static str,
    /// For how long.
    pub stands: Duration,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Unpolled,
    NotRound,
}

/// A task that waits long for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow {
    /// Its name.
    pub task: &'static str,
    /// For how long.
    pub waits: Duration,
}

impl Pulses {
    /// No tasks yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The pulse of the task `name`, which comes round within `round` if it is a loop.
    pub(crate) fn start(&self, name: &'static str, round: Option<Duration>) -> Pulse {
        let task = Arc::new(Task::new(name, round, Instant::now()));
        self.tasks().push(Arc::clone(&task));
        Pulse(task)
    }

    /// The first task that does not move.
    pub fn stuck(&self, now: Instant) -> Option<Stuck> {
        self.living().iter().find_map(|task| task.stuck(now))
    }

    /// The task that waits longest for the disk, if it waits too long.
    pub fn slow(&self, now: Instant) -> Option<Slow> {
        let slow = self.living().into_iter().filter_map(|task| task.slow(now)).max_by_key(|slow| slow.waits);
        slow.filter(|slow| slow.waits >= SLOW)
    }

    fn living(&self) -> Vec<Arc<Task>> {
        let mut tasks = self.tasks();
        tasks.retain(|task| !task.state().ended);
        tasks.clone()
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<Arc<Task>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pulse {
    /// A pulse that nobody takes, for a loop that runs by itself in a test.
    pub fn alone() -> Self {
        Pulses::new().start("alone", None)
    }

    /// The loop has come round.
    pub fn moved(&self) {
        self.0.moved(Instant::now());
    }

    /// Does `work`, which waits for `what`: as long as it is pending, the loop counts as moving.
    pub async fn wait<T>(&self, what: For, work: impl Future<Output = T>) -> T {
        let _waits = Waits::begin(&self.0, what);
        work.await
    }

    /// `work`, with each poll of it noted, and polled each [`TICK`] at least.
    pub(crate) fn polled<F: Future>(&self, work: F) -> Polled<F> {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Polled { work: Box::pin(work), tick, task: Arc::clone(&self.0) }
    }
}

impl Task {
    const fn new(name: &'static str, round: Option<Duration>, now: Instant) -> Self {
        Self { name, round, state: Mutex::new(State { polled: now, since: now, waits: None, ended: false }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn polled(&self, now: Instant) {
        self.state().polled = now;
    }

    fn moved(&self, now: Instant) {
        self.state().since = now;
    }

    /// Sets what it waits for; what it waited for before.
    fn waits(&self, what: Option<For>, now: Instant) -> Option<For> {
        let mut state = self.state();
        state.since = now;
        std::mem::replace(&mut state.waits, what)
    }

    fn stuck(&self, now: Instant) -> Option<Stuck> {
        let state = self.state();
        let found = |how, stands| Some(Stuck { task: self.name, stands, how });
        let unpolled = now.saturating_duration_since(state.polled);
        if unpolled > UNPOLLED {
            return found(How::Unpolled, unpolled);
        }
        let stands = now.saturating_duration_since(state.since);
        if state.waits.is_none() && self.round.is_some_and(|round| stands > round) {
            return found(How::NotRound, stands);
        }
        None
    }

    fn slow(&self, now: Instant) -> Option<Slow> {
        let state = self.state();
        let waits = now.saturating_duration_since(state.since);
        (state.waits == Some(For::Disk)).then_some(Slow { task: self.name, waits })
    }
}

/// As long as it lives, the task waits.
struct Waits<'t> {
    task: &'t Task,
    before: Option<For>,
}

impl<'t> Waits<'t> {
    fn begin(task: &'t Task, what: For) -> Self {
        Self { task, before: task.waits(Some(what), Instant::now()) }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.task.waits(self.before, Instant::now());
    }
}

/// A task whose polls are noted; its end too.
pub(crate) struct Polled<F> {
    // Boxed, so that it can be polled without unsafe code; once for each task of the daemon's lifetime.
    work: Pin<Box<F>>,
    tick: Interval,
    task: Arc<Task>,
}

impl<F: Future> Future for Polled<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.task.polled(Instant::now());
        // Asked until it is pending: only then does it wake us again.
        while self.tick.poll_tick(cx).is_ready() {}
        self.work.as_mut().poll(cx)
    }
}

impl<F> Drop for Polled<F> {
    fn drop(&mut self) {
        self.task.state().ended = true;
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (task, seconds) = (self.task, self.stands.as_secs());
        match self.how {
            How::Unpolled => write!(f, "task {task} has not run for {seconds} s: its thread is blocked"),
            How::NotRound => write!(f, "task {task} has not come round for {seconds} s"),
        }
    }
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store is slow: task {} has waited {} s for it", self.task, self.waits.as_secs())
    }
}

#[cfg(test)]
mod tests;
