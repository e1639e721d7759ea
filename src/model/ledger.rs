//! The chained record of decisions (design, section 5).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::facet::FacetName;
use super::pointer::Pointer;
use super::target::TargetId;

/// In the place of a target: the entry is about all of them. Its action tells it from a target of that name.
pub const EVERY_TARGET: &str = "store";

/// One decision, or one automatic acceptance, about one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// Its number, from 1 without gaps.
    pub no: u64,
    /// Shared by the entries of one decision.
    pub decision: String,
    /// When.
    pub at: Timestamp,
    /// Whose; [`EVERY_TARGET`] for all of them.
    pub target: TargetId,
    /// Where.
    pub facet: FacetName,
    /// Where in it; the root for a whole facet.
    pub path: Pointer,
    /// Digest of what was held before; `None` for absent or nothing.
    pub before: Option<Digest>,
    /// Digest of what it is about.
    pub after: Option<Digest>,
    /// The rule that told it, where one did.
    pub rule: Option<String>,
    /// What was decided.
    pub action: Action,
    /// `person:NAME`, `first_seen`.
    pub who: String,
    /// Why.
    pub reason: Option<String>,
    /// A reference into somebody's tracker.
    pub ticket: Option<String>,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
    /// Hash of the entry before; 64 zeros for the first.
    pub prev: Digest,
}

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// It is the baseline, or approved at its path.
    Accept,
    /// It stands and is not trusted.
    Reject,
    /// Somebody is on it.
    Ack,
    /// The store was put back from a backup.
    Restore,
}

impl LedgerEntry {
    /// The entry's own hash: over all its fields, the hash of the entry before included.
    #[must_use]
    pub fn hash(&self) -> Digest {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let digest = |value: &Option<Digest>| value.map(|digest| digest.to_string()).unwrap_or_default();
        let action = match self.action {
            Action::Accept => "accept",
            Action::Reject => "reject",
            Action::Ack => "ack",
            Action::Restore => "restore",
        };
        Digest::of_parts([
            self.no.to_string(),
            self.decision.clone(),
            self.at.to_string(),
            self.target.to_string(),
            self.facet.to_string(),
            self.path.to_string(),
            digest(&self.before),
            digest(&self.after),
            text(&self.rule),
            action.to_owned(),
            self.who.clone(),
            text(&self.reason),
            text(&self.ticket),
            self.until.map(|until| until.to_string()).unwrap_or_default(),
            self.prev.to_string(),
        ])
    }
}
