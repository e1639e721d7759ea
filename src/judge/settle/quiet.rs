//! Whether a scan changes nothing: the common case, which must write no row (design, section 3).

use std::collections::{BTreeMap, BTreeSet};

use super::{Scene, auto, own, record, suppress, unused};
use crate::judge::{join, life};
use crate::model::drift::{Drift, DriftRow, DriftState};
use crate::model::facet::{Facet, FacetName, FacetState};
use crate::model::judgment::Judgment;
use crate::model::memory::{FacetMemory, LastSight, Memory};
use crate::model::pointer::Pointer;
use crate::model::snapshot::Snapshot;

/// Whether a scan changes nothing: then it writes no row, and only last-seen times move.
///
/// A shortcut: [`super::settle_scan`] of such a scan changes counts and times alone. It errs toward `false`: what a settlement would not change may still be settled, never the other way round. While
/// a facet has changed within the last 6 h its scans are counted one by one, and so are failures until they are
/// confirmed and facets until they have joined; that lists were read over a fresh connection is remembered too.
#[must_use]
pub fn is_quiet(scene: &Scene<'_>, snapshot: &Snapshot, judgment: &Judgment) -> bool {
    let memory = scene.memory;
    memory.scans.outcome == Some(snapshot.outcome)
        && memory.scans.not_before.is_none()
        && !snapshot.facets.values().any(record::read_fresh)
        && judgment.posture == memory.scans.posture
        && facets_are_quiet(scene, snapshot, judgment)
        && own::is_quiet(scene, snapshot)
        && suppress::is_quiet(scene)
        && auto::is_quiet(scene, &judgment.seen)
        && unused::is_quiet(scene)
        && drifts_are_quiet(memory, judgment)
}

fn facets_are_quiet(scene: &Scene<'_>, snapshot: &Snapshot, judgment: &Judgment) -> bool {
    let memory = scene.memory;
    let missed: BTreeSet<FacetName> = judgment.unseen.iter().map(|(name, _)| *name).collect();
    snapshot.facets.iter().all(|(name, state)| {
        let Some(facet) = memory.facets.get(name) else { return false };
        match join::digest(state) {
            None => facet.unseen_since.is_some() == missed.contains(name) && !life::is_due_blind(facet, scene.now),
            Some(digest) => {
                let settled = memory.baseline.contains_key(name) || facet.awaiting_approval;
                settled && facet.last == LastSight::from(digest) && is_calm(facet, state)
            }
        }
    })
}

fn is_calm(facet: &FacetMemory, state: &FacetState) -> bool {
    facet.unseen_since.is_none()
        && facet.runs.len() == 1
        && facet.order_differed.is_empty()
        && !record::order_differs(state)
}

/// Every drift shown stands as it is, and no drift that stands is missed where the scan looked.
fn drifts_are_quiet(memory: &Memory, judgment: &Judgment) -> bool {
    let known: BTreeMap<(FacetName, &Pointer), &DriftRow> =
        memory.drifts.iter().map(|row| ((row.drift.facet, &row.drift.path), row)).collect();
    let stands = |drift: &Drift| {
        let row = known.get(&(drift.facet, &drift.path));
        row.is_some_and(|row| is_settled(row) && same(row, drift))
    };
    let shown = || judgment.drifts.iter().chain(&judgment.sights);
    let places: BTreeSet<(FacetName, &Pointer)> = shown().map(|drift| (drift.facet, &drift.path)).collect();
    let missed = |row: &DriftRow| {
        let looked = row.drift.facet.facet == Facet::Scan || judgment.looked_at(row.drift.facet, &row.drift.path);
        looked && !places.contains(&(row.drift.facet, &row.drift.path))
    };
    shown().all(stands) && !memory.drifts.iter().any(missed)
}

/// For sight the reason is all that counts; the rest of it may be ours by now (a rate limit that became a block).
fn same(row: &DriftRow, drift: &Drift) -> bool {
    if life::is_sight(drift.facet) { row.drift.rule.rule == drift.rule.rule } else { row.drift == *drift }
}

/// Confirmed, and on the way to nothing else.
fn is_settled(row: &DriftRow) -> bool {
    let confirmed = matches!(row.state, DriftState::Open | DriftState::Rejected);
    // A block turns high by itself; the tick sees to it.
    confirmed && !row.held && row.next.is_none() && row.back_count == 0
}
