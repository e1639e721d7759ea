//! What a target is held to (design, section 5).

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::facet::FacetName;
use super::json::Json;
use super::observation::Asked;
use super::pointer::Pointer;

/// One facet's accepted value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineFacet {
    /// The facet.
    pub facet: FacetName,
    /// Accepted values; empty when *absent* was accepted, several after `--beside` or for an unsteady facet.
    pub values: Vec<Json>,
    /// Digest, as in [`super::facet::SeenFacet::digest`]; `None` when *absent* was accepted.
    pub digest: Option<Digest>,
    /// When it was accepted.
    pub at: Timestamp,
    /// Who: `first_seen`, `person:NAME`.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
    /// How it was asked.
    pub asked: Asked,
    /// [`super::snapshot::MODEL`] of the values.
    pub model: u32,
    /// Number of the ledger entry.
    pub entry: u64,
    /// A person has accepted it (then it is also what texts and reach are measured against).
    pub reviewed: bool,
}

/// An accepted value at one path, laid over the facet's baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The facet.
    pub facet: FacetName,
    /// The place.
    pub path: Pointer,
    /// The accepted value; `None` when its absence is accepted.
    pub value: Option<Json>,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: String,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
    /// Number of the ledger entry.
    pub entry: u64,
}

/// A facet's accepted values with its living approvals laid over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// Empty when *absent* is accepted.
    pub values: Vec<Json>,
    /// How the baseline was asked.
    pub asked: Asked,
}

/// What became of a baseline or approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedWhy {
    /// A newer acceptance stands.
    Superseded,
    /// Its `until` passed.
    Expired,
    /// The item it was about is gone.
    Void,
}
