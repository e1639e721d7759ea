//! What people ask and decide, over the store: the control socket and the command line both come here, so that an
//! answer is the same with the daemon and without.

use serde::{Deserialize, Serialize};

use crate::reload::Reloaded;

mod carry;
mod decide;
pub mod document;
mod office;
mod own;
mod read;
pub mod reference;
mod renew;
mod review;
pub mod trial;
mod why;
pub mod words;

pub use carry::Carries;
pub use office::{Daemon, Office};

/// A question or a decision. What changes something is told apart by [`Request::changes`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// All targets.
    Targets {},
    /// One target.
    Target {
        /// Its id.
        id: String,
    },
    /// Scan a target now; only a daemon can.
    ScanNow {
        /// Its id.
        id: String,
    },
    /// Drift and sight that stand.
    Drifts {},
    /// An incident at its newest or a given revision, or a drift by fingerprint.
    Drift {
        /// `4F7K2`, `4F7K2.1`, or a fingerprint.
        reference: String,
    },
    /// Accept.
    Accept(Decision),
    /// Reject.
    Reject(Decision),
    /// Somebody is on it.
    Ack(Decision),
    /// What a target is held to.
    Baseline {
        /// Its id.
        id: String,
    },
    /// Hold a target to a snapshot.
    BaselineAccept {
        /// Its id.
        id: String,
        /// Eight hexadecimal digits of the snapshot's digest, or more.
        digest: String,
        /// Beside what it is held to.
        beside: bool,
        /// Why.
        reason: String,
        /// A reference into somebody's tracker.
        ticket: Option<String>,
    },
    /// Targets that no person has looked at yet.
    Review {},
    /// Messages, newest first.
    Alerts {},
    /// One message.
    Alert {
        /// Its id.
        id: String,
    },
    /// Send given-up messages again.
    Retry {
        /// One, or all.
        id: Option<String>,
    },
    /// Whether the store is whole.
    StoreCheck {},
    /// Whether the chain of the ledger is whole.
    LedgerVerify {},
    /// Why a target, an incident or a drift is as it is.
    Why {
        /// A target's id, `4F7K2`, `4F7K2.1`, or a fingerprint.
        reference: String,
    },
    /// Read the configuration anew; only a daemon can.
    Reload {},
    /// Let the current version of a held inventory file in; only a daemon can.
    Release {
        /// The file, as it is listed or found.
        file: std::path::PathBuf,
    },
    /// Send a test message to a receiver.
    ReceiverTest {
        /// Its name.
        name: String,
    },
    /// What happened, newest first.
    History {
        /// Of one target.
        target: Option<String>,
        /// How many lines.
        limit: u32,
    },
}

impl Request {
    /// Whether it changes something.
    pub const fn changes(&self) -> bool {
        match self {
            Self::Targets {}
            | Self::Target { .. }
            | Self::Drifts {}
            | Self::Drift { .. }
            | Self::Baseline { .. }
            | Self::Review {}
            | Self::Alerts {}
            | Self::Alert { .. }
            | Self::StoreCheck {}
            | Self::LedgerVerify {}
            | Self::Why { .. }
            | Self::History { .. } => false,
            Self::ScanNow { .. }
            | Self::Accept(_)
            | Self::Reject(_)
            | Self::Ack(_)
            | Self::BaselineAccept { .. }
            | Self::Reload {}
            | Self::Release { .. }
            | Self::ReceiverTest { .. }
            | Self::Retry { .. } => true,
        }
    }
}

/// A decision, bound to what was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// `4F7K2.1`, or a fingerprint.
    pub reference: String,
    /// Units left out.
    #[serde(default)]
    pub except: Vec<u32>,
    /// Why.
    pub reason: Option<String>,
    /// A reference into somebody's tracker.
    pub ticket: Option<String>,
    /// When it ends by itself.
    pub until: Option<jiff::Timestamp>,
}

/// The answer to a [`Request`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// To `targets`.
    Targets(Vec<document::Target>),
    /// To `target`.
    Target(Box<document::TargetInFull>),
    /// To `scan_now`.
    Scanned(document::Scanned),
    /// To `drifts`.
    Drifts(Vec<document::Incident>),
    /// To `drift`.
    Drift(Box<document::IncidentInFull>),
    /// To a decision.
    Decided(document::Decided),
    /// To `baseline`.
    Baseline(document::Baseline),
    /// To `review`.
    Review(Vec<document::Reviewed>),
    /// To `alerts`.
    Alerts(Vec<document::Message>),
    /// To `alert`.
    Alert(Box<document::MessageInFull>),
    /// To `retry`: messages that will be sent again.
    Retried(u64),
    /// To `store_check`.
    StoreChecked(document::StoreCheck),
    /// To `ledger_verify`.
    LedgerVerified(document::LedgerVerified),
    /// To `why`.
    Why(Box<document::Why>),
    /// To `reload` and `release`.
    Reloaded(Box<Reloaded>),
    /// To `receiver_test`.
    Tried(document::Trial),
    /// To `history`.
    History(Vec<document::HistoryLine>),
}

/// Why a request was not answered; each says what, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "kind", content = "message", rename_all = "snake_case")]
pub enum Refused {
    /// Nothing is called that.
    #[error("{0}")]
    NotFound(String),
    /// The request makes no sense.
    #[error("{0}")]
    Usage(String),
    /// What was decided on is not what stands, or a law forbids it.
    #[error("{0}")]
    Conflict(String),
    /// The configuration has these mistakes, in the words of `config check`; the one before stays in force.
    #[error("{}", .0.join("\n\n"))]
    Mistakes(Vec<String>),
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(String),
    /// Only a running daemon can do it.
    #[error("{0}")]
    NeedsDaemon(String),
}
