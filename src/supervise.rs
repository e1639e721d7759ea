//! The tasks: names, first failure stops all, ordered stop.
//!
//! The only place that spawns tasks for the daemon's lifetime. A task that ends, fails or panics while nobody asked for
//! a stop takes the daemon down, with its reason: half a daemon that looks alive is worse than none, and the service
//! manager starts a whole one.
//!
//! Tasks are stopped one after another, the last started first, so that what others hand their work to outlives them
//! (started: health, delivery, scanning; stopped: scanning, delivery, health); then comes the last thing to do, as
//! closing the store. All of it has one grace period. Whether tasks move while they run is [`crate::pulse`]'s.

use std::any::Any;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::pulse::{Pulse, Pulses};
use crate::signals::Stop;

/// What is left for the last thing to do when tasks did not stop in time.
const LAST: Duration = Duration::from_secs(5);

/// How a task fails.
pub type TaskError = Box<dyn Error + Send + Sync>;

/// The running tasks.
#[derive(Debug, Default)]
pub struct Supervisor {
    running: JoinSet<Result<(), TaskError>>,
    /// In the order they were started.
    tasks: Vec<Task>,
    ids: BTreeMap<Id, &'static str>,
    pulses: Pulses,
}

#[derive(Debug)]
struct Task {
    name: &'static str,
    stop: CancellationToken,
    /// Stopped together with the one started before it.
    together: bool,
}

/// Why everything stopped.
#[derive(Debug)]
pub enum Reason {
    /// Somebody asked: a signal's name.
    Asked(&'static str),
    /// A task ended that should not have.
    Ended(&'static str),
    /// A task failed.
    Failed(&'static str, TaskError),
    /// A task panicked, with these words.
    Panicked(&'static str, &'static str),
}

/// How the tasks came to an end.
#[derive(Debug)]
pub struct Report<L> {
    /// Why everything stopped.
    pub reason: Reason,
    /// Tasks that did not stop in time and were cut off.
    pub cut_off: Vec<&'static str>,
    /// Whether it was cut short, and by whom: a second signal's name.
    pub cut_by: Option<&'static str>,
    /// What came of the last thing to do, if it was done in time.
    pub last: Option<L>,
}

/// How stopping in order was broken off.
enum Cut {
    Late,
    By(&'static str),
}

impl Supervisor {
    /// No tasks yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The pulses of all tasks, also of those that are started later.
    pub fn pulses(&self) -> Pulses {
        self.pulses.clone()
    }

    /// Starts the task `name`. It gets the token that tells it to stop, and should then end soon.
    pub fn spawn<F, T>(&mut self, name: &'static str, task: F)
    where
        F: FnOnce(CancellationToken) -> T,
        T: Future<Output = Result<(), TaskError>> + Send + 'static,
    {
        self.start(name, None, false, |stop, _| task(stop));
    }

    /// Starts the loop `name`, which comes round (see [`Pulse`]) within `round`.
    pub fn spawn_loop<F, T>(&mut self, name: &'static str, round: Duration, task: F)
    where
        F: FnOnce(CancellationToken, Pulse) -> T,
        T: Future<Output = Result<(), TaskError>> + Send + 'static,
    {
        self.start(name, Some(round), false, task);
    }

    /// Starts the task `name`, which is told to stop together with the one started before it.
    pub fn spawn_beside<F, T>(&mut self, name: &'static str, task: F)
    where
        F: FnOnce(CancellationToken) -> T,
        T: Future<Output = Result<(), TaskError>> + Send + 'static,
    {
        self.start(name, None, true, |stop, _| task(stop));
    }

    fn start<F, T>(&mut self, name: &'static str, round: Option<Duration>, together: bool, task: F)
    where
        F: FnOnce(CancellationToken, Pulse) -> T,
        T: Future<Output = Result<(), TaskError>> + Send + 'static,
    {
        let stop = CancellationToken::new();
        let pulse = self.pulses.start(name, round);
        let work = pulse.polled(task(stop.clone(), pulse.clone()));
        let handle = self.running.spawn(work);
        self.ids.insert(handle.id(), name);
        self.tasks.push(Task { name, stop, together });
    }

    /// Runs until a stop is asked for or a task ends; tells `stopping` why; then stops the tasks in order and does
    /// `last`, all of it within `grace`. A second wish to stop cuts off at once what still runs, `last` too.
    pub async fn run<L>(
        mut self,
        stop: &mut Stop,
        grace: Duration,
        stopping: impl FnOnce(&Reason),
        last: impl Future<Output = L>,
    ) -> Report<L> {
        let reason = tokio::select! {
            asked = stop.asked() => Reason::Asked(asked),
            Some(ended) = self.running.join_next_with_id() => self.ended(ended),
        };
        stopping(&reason);
        let mut last = std::pin::pin!(last);
        let in_order = async {
            self.stop_in_order().await;
            last.as_mut().await
        };
        let cut = tokio::select! {
            done = in_order => {
                return Report { reason, cut_off: Vec::new(), cut_by: None, last: Some(done) };
            }
            () = tokio::time::sleep(grace) => Cut::Late,
            asked = stop.asked() => Cut::By(asked),
        };
        let cut_off = self.cut_off();
        let (cut_by, last) = match cut {
            Cut::By(by) => (Some(by), None),
            Cut::Late if cut_off.is_empty() => (None, None),
            // It was a task that took the time: what is last still has its chance, and a second wish still ends it.
            Cut::Late => tokio::select! {
                done = tokio::time::timeout(LAST, last) => (None, done.ok()),
                asked = stop.asked() => (Some(asked), None),
            },
        };
        Report { reason, cut_off, cut_by, last }
    }

    /// Stops the tasks, the last started first, each when those after it have ended.
    async fn stop_in_order(&mut self) {
        while let Some(task) = self.tasks.pop() {
            let mut names = vec![task.name];
            task.stop.cancel();
            let mut together = task.together;
            while together && let Some(task) = self.tasks.pop() {
                task.stop.cancel();
                names.push(task.name);
                together = task.together;
            }
            while self.ids.values().any(|name| names.contains(name)) {
                let Some(ended) = self.running.join_next_with_id().await else { return };
                self.ended_while_stopping(ended);
            }
        }
    }

    fn ended_while_stopping(&mut self, ended: Result<(Id, Result<(), TaskError>), JoinError>) {
        match self.ended(ended) {
            Reason::Ended(_) | Reason::Asked(_) => {}
            reason @ (Reason::Failed(..) | Reason::Panicked(..)) => {
                tracing::error!(%reason, "a task broke while stopping")
            }
        }
    }

    /// Aborts what still runs; the names.
    fn cut_off(&mut self) -> Vec<&'static str> {
        let names: Vec<_> = self.ids.values().copied().collect();
        // Not waited for: one whose thread is blocked never ends, and the process does.
        self.running.abort_all();
        names
    }

    fn ended(&mut self, ended: Result<(Id, Result<(), TaskError>), JoinError>) -> Reason {
        let (id, outcome) = match ended {
            Ok((id, outcome)) => (id, Ok(outcome)),
            Err(error) => (error.id(), Err(error)),
        };
        let name = self.ids.remove(&id).unwrap_or("unknown");
        match outcome {
            Ok(Ok(())) => Reason::Ended(name),
            Ok(Err(error)) => Reason::Failed(name, error),
            Err(error) => match error.try_into_panic() {
                Ok(payload) => Reason::Panicked(name, words(payload.as_ref())),
                Err(_) => Reason::Ended(name),
            },
        }
    }
}

/// What a panic says, where the code wrote it; a formatted one may quote a peer, and the log has its place.
fn words(payload: &(dyn Any + Send)) -> &'static str {
    payload.downcast_ref::<&'static str>().copied().unwrap_or("see the log for its place")
}

impl Reason {
    /// Whether this is the end that somebody wanted.
    pub const fn is_asked(&self) -> bool {
        matches!(self, Self::Asked(_))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked(by) => write!(f, "asked by {by}"),
            Self::Ended(name) => write!(f, "task {name} ended"),
            Self::Failed(name, error) => {
                write!(f, "task {name} failed: {error}")?;
                let mut cause = error.source();
                while let Some(error) = cause {
                    write!(f, ": {error}")?;
                    cause = error.source();
                }
                Ok(())
            }
            Self::Panicked(name, words) => write!(f, "task {name} panicked: {words}"),
        }
    }
}

#[cfg(test)]
mod tests;
