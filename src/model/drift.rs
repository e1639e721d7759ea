//! A change as judged by a rule, and its life.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::facet::FacetName;
use super::json::Json;
use super::pointer::Pointer;
use super::policy::Suppressed;
use super::rule::{Class, Fold, Impact, RuleCase, Severity};

/// A change as judged by a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The facet it is in; `scan` for sight.
    pub facet: FacetName,
    /// The place; for a rename the new item's.
    pub path: Pointer,
    /// Rule and case.
    #[serde(flatten)]
    pub rule: RuleCase,
    /// After notes.
    pub severity: Severity,
    /// The first is the main one.
    pub impact: Vec<Impact>,
    /// Which confirmation it needs.
    pub class: Class,
    /// How it folds.
    pub fold: Fold,
    /// Accepted values at the place; empty when it was absent.
    pub before: Vec<Json>,
    /// Values seen there that are not accepted; empty when it is absent now.
    pub after: Vec<Json>,
    /// Every place it claims, its own included, with the value now.
    pub claims: Vec<Claim>,
    /// Companions of the same change.
    pub notes: Vec<Note>,
    /// One sentence of ours; a peer's words in it are quoted and inert.
    pub message: String,
    /// Facts that a message shows, in order: see [`Detail`].
    pub details: Vec<Detail>,
    /// What else changed in an item that goes by another name now, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inside: Vec<Inside>,
    /// Over facet, path, new values and claims.
    pub fingerprint: Fingerprint,
}

impl Drift {
    /// Every fact of it: its own, then those of each change inside it under that change's sentence.
    pub fn all_details(&self) -> impl Iterator<Item = Detail> {
        let inside = self.inside.iter().flat_map(|inner| {
            let message = Detail::Text { text: inner.message.clone() };
            std::iter::once(message).chain(inner.details.iter().cloned())
        });
        self.details.iter().cloned().chain(inside)
    }
}

/// A place that a drift accounts for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Claim {
    /// The place.
    pub path: Pointer,
    /// Digest of the value now; `None` when absent.
    pub after: Option<Digest>,
}

/// A companion of a drift: it never stands alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// A note rule.
    pub rule: String,
    /// One sentence of ours.
    pub text: String,
}

/// A change inside a renamed item: told with the rename, never by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inside {
    /// The place, in the renamed item.
    pub path: Pointer,
    /// Rule and case it would have by itself.
    #[serde(flatten)]
    pub rule: RuleCase,
    /// The severity it would have by itself.
    pub severity: Severity,
    /// One sentence of ours.
    pub message: String,
    /// Facts, as in [`Drift::details`].
    pub details: Vec<Detail>,
}

/// One line or block of what changed, told apart by whose words it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Detail {
    /// Our own words.
    Text {
        /// The line.
        text: String,
    },
    /// A name or short value that became another (rename, title, version).
    Moved {
        /// What was there.
        from: String,
        /// What is there.
        to: String,
    },
    /// A word diff of two texts of the peer: `[-old-] {+new+}`.
    Words {
        /// The diff, as long as it is.
        diff: String,
        /// Characters before and after, words kept and words of the shorter text.
        before_chars: usize,
        /// See `before_chars`.
        after_chars: usize,
        /// See `before_chars`.
        kept_words: usize,
        /// See `before_chars`.
        total_words: usize,
    },
    /// A text of the peer, quoted.
    Quote {
        /// What it is, in our words.
        label: String,
        /// The peer's text.
        text: String,
    },
}

impl Detail {
    /// A text of which so little is left that its new words say more than a word diff.
    #[must_use]
    pub fn is_rewritten(&self) -> bool {
        const KEPT_PERCENT: usize = 45;
        match self {
            Self::Words { kept_words, total_words, .. } => {
                kept_words.saturating_mul(100) < total_words.saturating_mul(KEPT_PERCENT)
            }
            Self::Text { .. } | Self::Moved { .. } | Self::Quote { .. } => false,
        }
    }
}

/// Identifies what was decided on: key, new values, claims; not the rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub Digest);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A drift with its life. Its key is (target, facet, path); one row of a key is not ended at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriftRow {
    /// Identity of this life: hash of target, facet, path and `first_at`.
    pub id: Digest,
    /// The drift as last confirmed, or as last seen while pending.
    pub drift: Drift,
    /// Where it is in its life.
    pub state: DriftState,
    /// Sightings of this value in a row.
    pub sightings: u32,
    /// First of them.
    pub since: Timestamp,
    /// Last of them.
    pub last_at: Timestamp,
    /// Scans in a row that saw the facet without it.
    pub back_count: u32,
    /// First of them.
    pub back_since: Option<Timestamp>,
    /// While open: another value on its way to being confirmed.
    pub next: Option<NextValue>,
    /// Fingerprints this drift has had, with the first sight of each; those of the last 24 h are kept.
    pub values: Vec<(Fingerprint, Timestamp)>,
    /// Held by a mixed fleet: neither opens nor closes.
    pub held: bool,
    /// Recorded and never told, for as long as this stands: it belongs to no incident.
    pub suppressed: Option<Suppressed>,
    /// First sight of the drift.
    pub first_at: Timestamp,
    /// When it was confirmed.
    pub confirmed_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The incident it belongs to.
    pub incident: Option<super::incident::IncidentId>,
}

/// A further value of an open drift, not confirmed yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextValue {
    /// The drift with that value.
    pub drift: Drift,
    /// Sightings in a row.
    pub sightings: u32,
    /// First of them.
    pub since: Timestamp,
}

/// Where a drift is in its life (design, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DriftState {
    /// Seen, not confirmed.
    Pending,
    /// Confirmed.
    Open,
    /// Confirmed and not trusted: stands until it reverts or is accepted.
    Rejected,
    /// Ended before it was confirmed.
    Transient,
    /// Ended: the baseline's value is back.
    Reverted,
    /// Ended: approved, or the baseline is new.
    Accepted,
    /// Ended: its target left the inventory.
    Retired,
}

impl DriftState {
    /// The word in documents and the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Open => "open",
            Self::Rejected => "rejected",
            Self::Transient => "transient",
            Self::Reverted => "reverted",
            Self::Accepted => "accepted",
            Self::Retired => "retired",
        }
    }

    /// Whether its life is over.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        match self {
            Self::Pending | Self::Open | Self::Rejected => false,
            Self::Transient | Self::Reverted | Self::Accepted | Self::Retired => true,
        }
    }
}
