//! The tasks: names, first failure stops all, ordered stop.
//!
//! The only place that spawns tasks for the daemon's lifetime. A task that ends, fails or panics while nobody asked for
//! a stop takes the daemon down, with its reason: half a daemon that looks alive is worse than none, and the service
//! manager starts a whole one.
//!
//! Tasks are stopped one after another, the last started first, so that what others hand their work to outlives them
//! (started: health, delivery, scanning; stopped: scanning, delivery, health).

use std::any::Any;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::signals::Stop;

/// How a task fails.
pub type TaskError = Box<dyn Error + Send + Sync>;

/// The running tasks.
#[derive(Debug, Default)]
pub struct Supervisor {
    running: JoinSet<Result<(), TaskError>>,
    /// In the order they were started.
    tasks: Vec<Task>,
    ids: BTreeMap<Id, &'static str>,
}

#[derive(Debug)]
struct Task {
    name: &'static str,
    stop: CancellationToken,
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
    Panicked(&'static str, String),
}

/// How the tasks came to an end.
#[derive(Debug)]
pub struct Report {
    /// Why everything stopped.
    pub reason: Reason,
    /// Tasks that did not stop in time and were cut off.
    pub cut_off: Vec<&'static str>,
}

impl Supervisor {
    /// No tasks yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts the task `name`. It gets the token that tells it to stop, and should then end soon.
    pub fn spawn<F, T>(&mut self, name: &'static str, task: F)
    where
        F: FnOnce(CancellationToken) -> T,
        T: Future<Output = Result<(), TaskError>> + Send + 'static,
    {
        let stop = CancellationToken::new();
        let handle = self.running.spawn(task(stop.clone()));
        self.ids.insert(handle.id(), name);
        self.tasks.push(Task { name, stop });
    }

    /// Runs until a stop is asked for or a task ends, then stops the tasks in order, all of them within `grace`. A
    /// second wish to stop cuts off at once what still runs.
    pub async fn run(mut self, stop: &mut Stop, grace: Duration) -> Report {
        let reason = tokio::select! {
            asked = stop.asked() => Reason::Asked(asked),
            Some(ended) = self.running.join_next_with_id() => self.ended(ended),
        };
        tracing::info!(%reason, "stopping");
        let cut_off = tokio::select! {
            () = self.stop_in_order() => false,
            () = tokio::time::sleep(grace) => true,
            _ = stop.asked() => true,
        };
        let cut_off = if cut_off { self.cut_off().await } else { Vec::new() };
        Report { reason, cut_off }
    }

    /// Stops the tasks, the last started first, each when those after it have ended.
    async fn stop_in_order(&mut self) {
        while let Some(task) = self.tasks.pop() {
            task.stop.cancel();
            while self.ids.values().any(|name| *name == task.name) {
                let Some(ended) = self.running.join_next_with_id().await else { return };
                self.ended_while_stopping(ended);
            }
        }
    }

    fn ended_while_stopping(&mut self, ended: Result<(Id, Result<(), TaskError>), JoinError>) {
        match self.ended(ended) {
            Reason::Ended(_) | Reason::Asked(_) => {}
            reason @ (Reason::Failed(..) | Reason::Panicked(..)) => tracing::error!(%reason, "while stopping"),
        }
    }

    /// Aborts what still runs; the names.
    async fn cut_off(&mut self) -> Vec<&'static str> {
        let names: Vec<_> = self.ids.values().copied().collect();
        self.running.shutdown().await;
        tracing::warn!(tasks = names.join(", "), "cut off");
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

/// What a panic says.
fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words").to_owned()
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
