//! What is told of the fleet or of driftd itself, rather than of one incident: the report of a first round, our own
//! changes, receivers that fail, digests, tests. It becomes an [`Alert`](super::alert::Alert) without an incident.

use serde::{Deserialize, Serialize};

use super::alert::AlertType;
use super::rule::{Impact, Severity};
use super::target::TargetSummary;

/// A message to people that belongs to no incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bulletin {
    /// What happened.
    pub kind: AlertType,
    /// What makes it one: the same key is the same message, posted once.
    pub key: String,
    /// How bad.
    pub severity: Severity,
    /// The first is the main one.
    pub impact: Vec<Impact>,
    /// The one thing: `4 targets are watched now, 1 only in part`.
    pub headline: String,
    /// The first lines of a message.
    pub summary: Vec<String>,
    /// What follows.
    pub sections: Vec<Passage>,
    /// Whom it is about.
    pub targets: Vec<TargetSummary>,
}

/// A part of a bulletin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// Its heading, in our words.
    pub heading: String,
    /// Its lines; a peer's text in them is quoted already.
    pub lines: Vec<String>,
}
