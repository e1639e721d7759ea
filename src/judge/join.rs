//! How a facet without an entry joins the baseline (design, section 5).
//!
//! Seen alike in as many complete scans, as far apart, as class *surface* asks, it joins by itself in `first_seen`.
//! When one of those scans shows drift of high or above that is pending or open, and always in `approve`, it waits
//! for a person. A scan that was not complete, or did not see the facet, counts neither way; a facet that was never
//! seen makes no scan incomplete, for else one broken list would keep a whole target without a baseline.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::model::baseline::BaselineFacet;
use crate::model::confirm::Confirm;
use crate::model::digest::Digest;
use crate::model::drift::DriftRow;
use crate::model::facet::{Facet, FacetName, FacetState};
use crate::model::memory::{FacetMemory, Joining};
use crate::model::observation::{Asked, Outcome};
use crate::model::rule::Severity;
use crate::model::snapshot::Snapshot;
use crate::model::target::BaselineMode;

/// Who accepts what joins by itself.
pub const FIRST_SEEN: &str = "first_seen";

/// What a joining step looks at.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// The scan.
    pub snapshot: &'a Snapshot,
    /// What has an entry already.
    pub baseline: &'a BTreeMap<FacetName, BaselineFacet>,
    /// The drifts as they stand after the scan.
    pub rows: &'a [DriftRow],
    /// How the target gets its baseline.
    pub mode: BaselineMode,
    /// What confirms.
    pub confirm: &'a Confirm,
    /// Now.
    pub now: Timestamp,
}

/// What became of facets without an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Facets that joined.
    pub facets: Vec<FacetName>,
    /// Facets that wait for a person from now on.
    pub waiting: Vec<FacetName>,
}

/// The step of facets without an entry; what is remembered of them changes in `memory`.
pub fn join_step(memory: &mut BTreeMap<FacetName, FacetMemory>, candidates: &Candidates<'_>) -> Joined {
    let complete = is_complete(candidates.snapshot, memory);
    let alarming = candidates.rows.iter().any(is_alarming);
    let mut joined = Joined::default();
    for (name, state) in &candidates.snapshot.facets {
        if candidates.baseline.contains_key(name) || name.facet == Facet::Scan {
            continue;
        }
        let Some(digest) = digest(state) else { continue };
        let facet = memory.entry(*name).or_default();
        if !count(facet, digest, complete, candidates.now) {
            continue;
        }
        let steady = facet
            .joining
            .as_ref()
            .is_some_and(|joining| candidates.confirm.surface.met(joining.sightings, joining.since, candidates.now));
        if alarming || (steady && candidates.mode == BaselineMode::Approve) {
            if !std::mem::replace(&mut facet.awaiting_approval, true) {
                joined.waiting.push(*name);
            }
        } else if steady && !facet.awaiting_approval {
            facet.joining = None;
            joined.facets.push(*name);
        }
    }
    joined
}

/// When a further scan can make a facet join.
#[must_use]
pub fn recheck(memory: &BTreeMap<FacetName, FacetMemory>, confirm: &Confirm, now: Timestamp) -> Option<Timestamp> {
    let waiting = memory.values().filter(|facet| !facet.awaiting_approval && facet.unseen_since.is_none());
    let joining = waiting.filter_map(|facet| facet.joining.as_ref());
    joining.map(|joining| confirm.surface.next_due(joining.sightings, joining.since)).filter(|due| *due > now).min()
}

/// Counts a sight; whether it counted.
fn count(facet: &mut FacetMemory, digest: Option<Digest>, complete: bool, now: Timestamp) -> bool {
    match &mut facet.joining {
        Some(joining) if joining.digest == digest => {
            // A clock that was put back must not keep it waiting.
            joining.since = joining.since.min(now);
            if complete {
                joining.sightings = joining.sightings.saturating_add(1);
            }
        }
        joining => *joining = complete.then_some(Joining { digest, sightings: 1, since: now }),
    }
    complete
}

fn is_complete(snapshot: &Snapshot, memory: &BTreeMap<FacetName, FacetMemory>) -> bool {
    let never_seen = |name: &FacetName| memory.get(name).is_none_or(|facet| facet.last_seen.is_none());
    match snapshot.outcome {
        Outcome::Ok => true,
        Outcome::Partial => {
            let missed = |(name, state): (&FacetName, &FacetState)| digest(state).is_none() && !never_seen(name);
            !snapshot.facets.iter().any(missed)
        }
        Outcome::Blocked
        | Outcome::RateLimited
        | Outcome::Unreachable
        | Outcome::CredentialRejected
        | Outcome::Skipped
        | Outcome::Error => false,
    }
}

/// The value's digest, `None` in it for absent; `None` when it was not seen.
pub(super) const fn digest(state: &FacetState) -> Option<Option<Digest>> {
    match state {
        FacetState::Seen(seen) => Some(Some(seen.digest)),
        FacetState::Absent { .. } => Some(None),
        FacetState::Unseen { .. } => None,
    }
}

fn is_alarming(row: &DriftRow) -> bool {
    // What nobody is to hear of alarms nobody.
    let told = row.suppressed.is_none() && !row.state.is_ended();
    told && !super::life::is_sight(row.drift.facet) && row.drift.severity >= Severity::High
}

/// The entry of a facet as a snapshot shows it; `None` when it does not. The ledger's number is the caller's.
pub(super) fn entry(
    name: FacetName,
    state: &FacetState,
    by: &str,
    asked: &Asked,
    now: Timestamp,
) -> Option<BaselineFacet> {
    let digest = digest(state)?;
    let values = match state {
        FacetState::Seen(seen) => seen.views.clone(),
        FacetState::Absent { .. } | FacetState::Unseen { .. } => Vec::new(),
    };
    Some(BaselineFacet {
        facet: name,
        values,
        digest,
        at: now,
        by: by.to_owned(),
        reason: None,
        asked: asked.clone(),
        model: crate::model::snapshot::MODEL,
        entry: 0,
        reviewed: false,
    })
}

#[cfg(test)]
mod tests;
