//! What one scan, decision or tick changes: computed by the pure core, committed by the store in one transaction.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::baseline::{Approval, BaselineFacet, EndedWhy};
use super::digest::Digest;
use super::drift::DriftRow;
use super::facet::FacetName;
use super::incident::{EndReason, Incident, IncidentId};
use super::ledger::LedgerEntry;
use super::memory::{FacetMemory, ScanMemory};
use super::notice::{Body, Notice};
use super::pointer::Pointer;
use super::policy::Suppressed;
use super::target::TargetId;

/// Everything that changes together, for one target.
#[derive(Clone, Debug)]
pub struct Settlement {
    /// Whose.
    pub target: TargetId,
    /// New or changed drifts, ended ones included, by id.
    pub drifts: Vec<DriftRow>,
    /// New or changed incidents, ended ones included.
    pub incidents: Vec<Incident>,
    /// New revisions, and the end of an incident, with what a message about them says.
    pub revisions: Vec<Revision>,
    /// Accepted facets; each supersedes the living entry of its facet and voids that facet's approvals.
    pub baseline: Vec<BaselineFacet>,
    /// Accepted values at single paths; each supersedes approvals at its path and below.
    pub approvals: Vec<Approval>,
    /// Approvals that ended otherwise.
    pub ended_approvals: Vec<(FacetName, Pointer, EndedWhy)>,
    /// Entries for the ledger, numbered and chained on the head that memory had.
    pub ledger: Vec<LedgerEntry>,
    /// What is owed.
    pub notices: Vec<Notice>,
    /// What is remembered of facets, all of them.
    pub facets: BTreeMap<FacetName, FacetMemory>,
    /// What is remembered of scans.
    pub scans: ScanMemory,
    /// Lines for the history.
    pub history: Vec<HistoryLine>,
    /// Earliest instant at which a further scan can confirm or revert something.
    pub recheck: Option<Timestamp>,
    /// Rules of drifts that were confirmed (`driftd_drift_detected_total`).
    pub detected: Vec<String>,
    /// Rules of drifts that ended after they were confirmed (`driftd_alerts_closed_total`).
    pub closed: Vec<(String, EndReason)>,
    /// What would have been told and was not (`driftd_alerts_suppressed_total`).
    pub suppressed: Vec<Suppressed>,
    /// Baselines recomputed in place because they are of an older model.
    pub recomputed: Recomputed,
}

/// What a target is held to, in the canonical form of today: the same acceptances, written otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recomputed {
    /// Accepted facets, each known by its ledger entry.
    pub baseline: Vec<BaselineFacet>,
    /// Living approvals.
    pub approvals: Vec<Approval>,
}

impl Recomputed {
    /// Whether nothing was recomputed: the usual case.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.baseline.is_empty() && self.approvals.is_empty()
    }
}

impl Settlement {
    /// A scan that changed nothing but what is remembered.
    #[must_use]
    pub fn unchanged(target: TargetId, facets: BTreeMap<FacetName, FacetMemory>, scans: ScanMemory) -> Self {
        Self {
            target,
            drifts: Vec::new(),
            incidents: Vec::new(),
            revisions: Vec::new(),
            baseline: Vec::new(),
            approvals: Vec::new(),
            ended_approvals: Vec::new(),
            ledger: Vec::new(),
            notices: Vec::new(),
            facets,
            scans,
            history: Vec::new(),
            recheck: None,
            detected: Vec::new(),
            closed: Vec::new(),
            suppressed: Vec::new(),
            recomputed: Recomputed::default(),
        }
    }
}

/// An incident at one of its revisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The incident.
    pub incident: IncidentId,
    /// The revision.
    pub revision: u32,
    /// When.
    pub at: Timestamp,
    /// What a message about it says; its id and type are set when notices are folded.
    pub body: Body,
}

/// A line of `driftd history`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryLine {
    /// When.
    pub at: Timestamp,
    /// A `base.*` rule, or `drift.STATE`, or `incident.STATE`, or `scan.OUTCOME`.
    pub event: String,
    /// Facet and path, where it is about one.
    pub place: Option<(FacetName, Pointer)>,
    /// Drift, by id.
    pub drift: Option<Digest>,
    /// Incident.
    pub incident: Option<IncidentId>,
    /// One sentence of ours.
    pub text: String,
}
