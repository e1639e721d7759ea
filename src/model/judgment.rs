//! What the rules said of one snapshot.

use std::collections::BTreeSet;

use super::drift::Drift;
use super::facet::{FacetName, UnseenReason};

/// What the rules said of one snapshot against the effective baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgment {
    /// Drifts of what was seen; at most one for each (facet, path).
    pub drifts: Vec<Drift>,
    /// What kept us from seeing, in the shape of drifts: facet `scan`, path `/endpoint` or `/FACET`.
    pub sights: Vec<Drift>,
    /// Watched facets that were not seen, and why.
    pub unseen: Vec<(FacetName, UnseenReason)>,
    /// Facets that were seen or absent: only these count toward confirming or reverting their drifts.
    pub seen: BTreeSet<FacetName>,
}
