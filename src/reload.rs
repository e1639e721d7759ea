//! Whether a new configuration takes the place of the old one.
//!
//! Decides when the files are read anew (they changed, a signal, somebody asks), that one reading answers all who wait
//! for one, and what a new configuration changes. A configuration is taken whole or not at all: what it means for the
//! daemon's parts, and how they are swapped, is decided by the [`Site`], which `daemon` puts in.

use std::future::Future;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::signals::Hup;

pub mod changes;
pub mod files;

use files::{Files, Lookout};

/// Asks that may wait at a time; more wait for room.
const ASKS: usize = 64;

/// What somebody asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Read the files anew.
    Reload,
    /// Let the current version of a held inventory file in.
    Release(PathBuf),
}

/// Who wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The files changed.
    Files,
    /// SIGHUP.
    Signal,
    /// `person:NAME`, over the control socket or `listen`.
    Person(String),
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Files => f.write_str("a changed file"),
            Self::Signal => f.write_str("SIGHUP"),
            Self::Person(name) => f.write_str(name),
        }
    }
}

/// How a reload ended.
pub type Outcome = Result<Reloaded, NotReloaded>;

/// A configuration that was taken, and what it changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reloaded {
    /// When.
    pub at: Option<Timestamp>,
    /// Targets in the inventory now.
    pub targets: usize,
    /// What is different from the configuration before.
    #[serde(flatten)]
    pub changes: changes::Changes,
    /// Inventory files that stay at their last good version, and why.
    pub held: Vec<Held>,
    /// Targets that carry on the past of another id.
    pub carried: Vec<Carried>,
    /// Ids whose past was not carried over, and why.
    pub not_carried: Vec<String>,
}

impl Reloaded {
    /// Whether it is what was in force before, with nothing to be said of it.
    pub fn is_nothing_new(&self) -> bool {
        self.changes.is_empty()
            && self.changes.restart.is_empty()
            && self.held.is_empty()
            && self.carried.is_empty()
            && self.not_carried.is_empty()
    }
}

/// An inventory file that is held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The file.
    pub file: PathBuf,
    /// A word for metrics: `wrong`, `shrunk`.
    pub reason: String,
    /// What is wrong with its current version.
    pub why: String,
    /// Whether `driftd inventory release` lets that version in.
    pub releasable: bool,
}

/// A target that carries on the past of another id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// The id it had.
    pub was: String,
    /// The id it has.
    pub is: String,
}

/// Why the configuration before stays in force.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotReloaded {
    /// The files have mistakes: each in the words of `config check`.
    #[error("{}", .0.join("\n\n"))]
    Mistakes(Vec<String>),
    /// A part could not be set up, or the store could not be written.
    #[error("the configuration before stays in force: {0}")]
    Failed(String),
    /// A release names no held file.
    #[error("{0}")]
    NotHeld(String),
    /// A release names a held file that has mistakes.
    #[error("{0}")]
    NotReleased(String),
}

/// Where a configuration is put in force.
pub trait Site: Send {
    /// Reads the files and puts what they say in force, whole or not at all. `released` are held files whose current
    /// versions are let in.
    fn take(&mut self, causes: &[Cause], released: &[PathBuf]) -> impl Future<Output = Outcome> + Send;

    /// The files that the configuration in force was read from.
    fn files(&self) -> Files;
}

#[derive(Debug)]
struct Ask {
    order: Order,
    who: String,
    answer: oneshot::Sender<Outcome>,
}

/// Asks for a reload.
#[derive(Clone, Debug)]
pub struct Handle(mpsc::Sender<Ask>);

impl Handle {
    /// Has the files read anew for `who`, and says what came of it. One reading answers all who asked before it began.
    /// `None` when the daemon is stopping.
    pub async fn ask(&self, order: Order, who: &str) -> Option<Outcome> {
        let (answer, outcome) = oneshot::channel();
        self.0.send(Ask { order, who: who.to_owned(), answer }).await.ok()?;
        outcome.await.ok()
    }
}

/// The loop: waits for a reason to read the files anew.
#[derive(Debug)]
pub struct Reload {
    asks: mpsc::Receiver<Ask>,
    signal: Hup,
    lookout: Lookout,
}

/// Why the files are read anew, and who waits for the outcome.
#[derive(Debug, Default)]
struct Round {
    causes: Vec<Cause>,
    released: Vec<PathBuf>,
    waiting: Vec<oneshot::Sender<Outcome>>,
}

impl Round {
    fn of(cause: Cause) -> Self {
        Self { causes: vec![cause], ..Self::default() }
    }

    fn join(&mut self, ask: Ask) {
        self.causes.push(Cause::Person(ask.who));
        self.waiting.push(ask.answer);
        match ask.order {
            Order::Reload => {}
            Order::Release(file) => self.released.push(file),
        }
    }
}

impl Reload {
    /// A loop that hears `signal` and looks at files with `lookout`, and the handle that asks it.
    pub fn new(signal: Hup, lookout: Lookout) -> (Self, Handle) {
        let (sender, asks) = mpsc::channel(ASKS);
        (Self { asks, signal, lookout }, Handle(sender))
    }

    /// Runs until `stop`; a reload under way is finished first.
    pub async fn run(mut self, mut site: impl Site, stop: CancellationToken) {
        loop {
            let mut round = tokio::select! {
                () = stop.cancelled() => return,
                () = self.signal.asked() => Round::of(Cause::Signal),
                () = self.lookout.changed() => Round::of(Cause::Files),
                ask = self.asks.recv() => {
                    let Some(ask) = ask else { return };
                    let mut round = Round::default();
                    round.join(ask);
                    round
                }
            };
            while let Ok(ask) = self.asks.try_recv() {
                round.join(ask);
            }
            // Before the files are read: a change that comes later is seen as one.
            self.lookout.note().await;
            let outcome = site.take(&round.causes, &round.released).await;
            // Read and refused is known; what was not read, or not put in force for another reason, is looked at again.
            match &outcome {
                Ok(_) | Err(NotReloaded::Mistakes(_)) => {}
                Err(NotReloaded::Failed(_) | NotReloaded::NotReleased(_) | NotReloaded::NotHeld(_)) => {
                    self.lookout.forget();
                }
            }
            self.lookout.look_at(site.files());
            for waiting in round.waiting {
                // Who asked may have gone.
                let _ = waiting.send(outcome.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
