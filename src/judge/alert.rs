//! Composes what a message says of an incident at one revision, for every kind of receiver.

use jiff::Timestamp;

use crate::model::alert::AlertType;
use crate::model::confirm::Confirm;
use crate::model::drift::DriftRow;
use crate::model::incident::Incident;
use crate::model::memory::Memory;
use crate::model::notice::Body;
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetSummary;

/// Everything that a message is composed from.
#[derive(Debug)]
pub struct Story<'a> {
    /// Whose.
    pub target: &'a TargetSummary,
    /// The incident, after the change, with its units numbered.
    pub incident: &'a Incident,
    /// What happened.
    pub kind: AlertType,
    /// The drifts of its units; those that just ended included.
    pub drifts: &'a [&'a DriftRow],
    /// The target's past, before this scan or decision.
    pub memory: &'a Memory,
    /// The scan that showed it; none for a decision or a tick.
    pub snapshot: Option<&'a Snapshot>,
    /// How it was confirmed.
    pub confirm: &'a Confirm,
    /// For an end by decision: who decided and why.
    pub decision: Option<&'a DecisionWords>,
    /// Now.
    pub now: Timestamp,
}

/// A decision, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionWords {
    /// Who: `person:NAME`.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

/// Composes the body of a message. Its alert's `id` is empty until notices are folded.
pub fn compose(story: &Story<'_>) -> Body {
    let _ = story;
    unimplemented!()
}
