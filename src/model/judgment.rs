//! What the rules said of one snapshot.

use std::collections::BTreeSet;

use super::drift::Drift;
use super::facet::{Facet, FacetName, UnseenReason};
use super::pointer::Pointer;
use super::posture::Posture;

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
    /// Places of the checks that were decided: only these count toward confirming or reverting a worse verdict.
    pub answered: BTreeSet<Pointer>,
    /// What the checks are held to from here.
    pub posture: Posture,
}

impl Judgment {
    /// Whether the scan could tell what is at a place.
    #[must_use]
    pub fn looked_at(&self, facet: FacetName, path: &Pointer) -> bool {
        self.seen.contains(&facet) && (facet.facet != Facet::Checks || self.answered.contains(path))
    }
}
