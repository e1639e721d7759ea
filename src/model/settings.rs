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

/// Which series describe each target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetricSettings {
    /// Whether each target has series of its own.
    pub per_target: PerTarget,
    /// The labels of the inventory that are shown; `None`: all.
    pub target_labels: Option<Vec<String>>,
}

/// Whether each target has series of its own; what is counted over all of them is always shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PerTarget {
    /// Up to a number of targets that a scrape has time for.
    #[default]
    Auto,
    /// However many there are.
    Always,
    /// No target.
    Never,
}

impl PerTarget {
    /// Targets up to which each has series of its own by itself.
    const MOST: usize = 5_000;

    /// Whether each of so many targets has series of its own: what is not shown need not be gathered.
    pub const fn shows_each(self, targets: usize) -> bool {
        match self {
            Self::Auto => targets <= Self::MOST,
            Self::Always => true,
            Self::Never => false,
        }
    }
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
