//! What is remembered of a scan and its facets.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Arrival;
use crate::judge::{join, life};
use crate::model::facet::{Facet, FacetName, FacetState};
use crate::model::judgment::Judgment;
use crate::model::memory::{FacetMemory, Memory, ScanMemory};
use crate::model::observation::Outcome;
use crate::model::snapshot::Snapshot;

/// Scans within which one other order makes a list's order ignored (design, section 3).
const ORDER_SCANS: u64 = 20;

/// Remembers the scan.
pub(super) fn scan(scans: &mut ScanMemory, memory: &Memory, snapshot: &Snapshot, arrival: Arrival, now: Timestamp) {
    scans.seq += 1;
    scans.last_at = Some(now);
    scans.outcome = Some(snapshot.outcome);
    scans.certificate_ends = arrival.certificate_ends.or(scans.certificate_ends);
    scans.not_before = arrival.not_before.filter(|hold| *hold > now);
    if snapshot.outcome == Outcome::Ok {
        scans.last_ok = Some(now);
    }
    // Where nothing was found, what was found before is still the best that is known.
    if matches!(snapshot.outcome, Outcome::Ok | Outcome::Partial | Outcome::CredentialRejected) {
        scans.endpoint = snapshot.mcp.endpoint.clone().map(Box::new);
    }
    if snapshot.facets.values().any(read_fresh) {
        scans.last_fresh = Some(now);
    }
    // What the baseline was asked with and where it answered: until there is one, the newest.
    if !memory.baseline.keys().any(|name| name.facet == Facet::McpHandshake) {
        scans.date = snapshot.asked.date.clone().or_else(|| scans.date.take());
        scans.transport = snapshot.mcp.transport.or(scans.transport);
    }
    if memory.baseline.is_empty() {
        scans.address_class = arrival.address_class.or(scans.address_class);
    } else {
        scans.address_class = scans.address_class.or(arrival.address_class);
    }
}

pub(super) fn read_fresh(state: &FacetState) -> bool {
    match state {
        FacetState::Seen(seen) => seen.stability.fresh,
        FacetState::Absent { .. } | FacetState::Unseen { .. } => false,
    }
}

/// Remembers what the scan, number `seq`, showed of each facet.
pub(super) fn facets(
    known: &mut BTreeMap<FacetName, FacetMemory>,
    seq: u64,
    snapshot: &Snapshot,
    judgment: &Judgment,
    now: Timestamp,
) {
    let missed: BTreeSet<FacetName> = judgment.unseen.iter().map(|(name, _)| *name).collect();
    for (name, state) in &snapshot.facets {
        let facet = known.entry(*name).or_default();
        let Some(digest) = join::digest(state) else {
            // What is not watched is not missed.
            facet.unseen_since = missed.contains(name).then(|| facet.unseen_since.unwrap_or(now).min(now));
            continue;
        };
        life::remember_run(facet, digest, now);
        facet.last = digest.into();
        facet.last_seen = Some(now);
        facet.unseen_since = None;
        facet.order_differed.retain(|then| *then + ORDER_SCANS > seq);
        if order_differs(state) {
            facet.order_differed.push(seq);
        }
    }
}

pub(super) fn order_differs(state: &FacetState) -> bool {
    match state {
        FacetState::Seen(seen) => seen.stability.order_differs,
        FacetState::Absent { .. } | FacetState::Unseen { .. } => false,
    }
}
