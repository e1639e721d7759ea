//! What an operator decides for the whole daemon, beside receivers and routes.

use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use super::secret::SecretRef;

/// How long things are kept (design, section 5: never a ledger entry, nor a value that something living refers to).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Runs, snapshots, ended drifts and incidents, history lines.
    pub history: Duration,
    /// Messages that were sent or given up.
    pub outbox: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self { history: Duration::from_hours(90 * 24), outbox: Duration::from_hours(30 * 24) }
    }
}

/// Copies of the store that are made by themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backups {
    /// The directory they are written to.
    pub directory: PathBuf,
    /// From one to the next.
    pub every: Duration,
    /// How many are kept.
    pub keep: usize,
}

/// How driftd tells that it is offline itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelfCheck {
    /// What answers as long as we are online; none: only "most targets failed in one minute" tells.
    pub urls: Vec<Url>,
}

/// Somebody who may act over TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Their name in the ledger.
    pub name: String,
    /// Their token.
    pub token: SecretRef,
    /// What they may do.
    pub may: Vec<Right>,
}

/// What a person may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// See.
    Read,
    /// Accept, reject, acknowledge; reload.
    Decide,
}
