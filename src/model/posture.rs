//! What a target's checks are held to: how each was answered when that was recorded.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::facet::FacetName;
use super::pointer::Pointer;

/// What the checks of a target are held to, by rule and case (`tool.name-invalid`, `tool.hidden-unicode/chars`). One
/// that is not in it has never been answered.
pub type Posture = BTreeMap<String, Held>;

/// What one check is held to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// It passed: a finding is news.
    Passed,
    /// It was a finding, or a person accepted it as one.
    Finding,
    /// It was a finding and passes since; it is held to that when it lasts.
    Better {
        /// First scan that showed it so.
        since: Timestamp,
    },
    /// A finding was accepted for a while.
    Accepted {
        /// When that is over.
        until: Timestamp,
    },
    /// It passed, and is a finding by a change that another drift tells; whoever accepts that accepts this.
    Claimed {
        /// Where that drift stands.
        facet: FacetName,
        /// Likewise.
        path: Pointer,
    },
}
