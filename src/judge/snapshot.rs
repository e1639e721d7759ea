//! Makes the snapshot of a scan: canonical facets, coverage, checks.
//!
//! Decides what is watched, and puts together what the reads and the conversation showed. Nothing here compares with
//! a baseline.

use std::collections::BTreeMap;

use crate::judge::canon::canonicalize;
use crate::model::digest::Digest;
use crate::model::facet::{FacetName, FacetState, UnseenKind};
use crate::model::memory::Memory;
use crate::model::observation::Observation;
use crate::model::snapshot::{Coverage, MODEL, Snapshot};
use crate::model::target::TargetSummary;

mod cards;
mod checks;
mod finding;
mod items;
pub(super) mod tls;

/// Scans for which an order that differed stays ignored.
const ORDER_SCANS: u64 = 20;

/// Makes the snapshot of what one scan brought home.
pub fn snapshot(observation: &Observation, target: &TargetSummary, memory: &Memory) -> Snapshot {
    let facets: BTreeMap<FacetName, FacetState> = observation
        .facets
        .iter()
        .map(|(name, raw)| (*name, canonicalize(name.facet, raw, order_ignored(memory, *name))))
        .collect();
    let mut snapshot = Snapshot {
        model: MODEL,
        target: target.clone(),
        at: observation.at,
        duration_ms: u64::try_from(observation.duration.as_millis()).unwrap_or(u64::MAX),
        requests: observation.requests,
        outcome: observation.outcome,
        digest: digest(&facets),
        mcp: observation.mcp.clone(),
        coverage: coverage(&facets, &observation.unwatched),
        facets,
        asked: observation.asked.clone(),
        checks: Vec::new(),
    };
    snapshot.checks = checks::all(&snapshot, observation);
    snapshot
}

/// Whether the order of a list is ignored: it differed between the reads of one of the last scans.
pub(super) fn order_ignored(memory: &Memory, name: FacetName) -> bool {
    let differed = memory.facets.get(&name).map(|facet| facet.order_differed.as_slice()).unwrap_or_default();
    differed.iter().any(|seq| memory.scans.seq.saturating_sub(*seq) < ORDER_SCANS)
}

/// Over the names, states and digests of all facets that were seen or absent.
pub(super) fn digest(facets: &BTreeMap<FacetName, FacetState>) -> Digest {
    let parts = facets.iter().filter_map(|(name, state)| match state {
        FacetState::Seen(seen) => Some([name.to_string(), "seen".to_owned(), seen.digest.hex()]),
        FacetState::Absent { .. } => Some([name.to_string(), "absent".to_owned(), String::new()]),
        FacetState::Unseen { .. } => None,
    });
    Digest::of_parts(parts.flatten())
}

fn coverage(
    facets: &BTreeMap<FacetName, FacetState>,
    unwatched: &BTreeMap<FacetName, String>,
) -> BTreeMap<FacetName, Coverage> {
    let seen = facets.iter().map(|(name, state)| {
        let coverage = match state {
            FacetState::Seen(_) | FacetState::Absent { .. } => Coverage { watched: true, reason: None },
            FacetState::Unseen { reason } => {
                Coverage { watched: reason.kind != UnseenKind::Guarded, reason: Some(reason.to_string()) }
            }
        };
        (*name, coverage)
    });
    let not = unwatched.iter().map(|(name, why)| (*name, Coverage { watched: false, reason: Some(why.clone()) }));
    seen.chain(not).collect()
}

#[cfg(test)]
pub(super) mod tests;
