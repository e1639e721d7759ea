//! Confirmed drifts that need no person: `auto_accept` writes approvals for them in the settlement that confirms them,
//! so that nothing is sent but what they resolve.
//!
//! Whether a drift may be accepted so is `policy`'s. One that a person rejected, that does not stand still, that has
//! several values at once or that is in a facet without a baseline waits for a person whatever the inventory wishes.

use std::collections::{BTreeMap, BTreeSet};

use super::chain::{Chain, Draft};
use super::decisions::{ask_with, places};
use super::{Scene, said};
use crate::judge::alert::DecisionWords;
use crate::judge::life::{self, LifeStep};
use crate::judge::policy;
use crate::judge::posture::{self, CHECKS};
use crate::model::baseline::Approval;
use crate::model::digest::Digest;
use crate::model::drift::{DriftRow, DriftState};
use crate::model::facet::FacetName;
use crate::model::policy::AutoAccept;
use crate::model::settlement::{HistoryLine, Settlement};
use crate::model::snapshot::Snapshot;

/// Who accepts so.
const POLICY: &str = "policy";

/// Whether no drift that stands waits for nothing but this.
pub(super) fn is_quiet(scene: &Scene<'_>, seen: &BTreeSet<FacetName>) -> bool {
    scene.memory.drifts.iter().all(|row| wish(scene, row, seen).is_none())
}

fn wish<'p>(scene: &Scene<'p>, row: &DriftRow, seen: &BTreeSet<FacetName>) -> Option<&'p AutoAccept> {
    let stands_still = row.state == DriftState::Open && !row.held && !life::is_restless(row) && row.next.is_none();
    let one_value = row.drift.after.len() <= 1 && row.back_count == 0;
    let told = policy::suppression(scene.policy, &row.drift, scene.now).is_none();
    let held_to = row.drift.facet == CHECKS || scene.memory.baseline.contains_key(&row.drift.facet);
    let compared = seen.contains(&row.drift.facet) && held_to;
    if !(stands_still && one_value && told && compared) {
        return None;
    }
    policy::auto_accepts(scene.policy, &row.drift)
}

/// Accepts what the inventory accepts without a person; says so for a message about what that resolves.
pub(super) fn accept(
    settlement: &mut Settlement,
    scene: &Scene<'_>,
    snapshot: &Snapshot,
    seen: &BTreeSet<FacetName>,
    step: &mut LifeStep,
) -> Option<DecisionWords> {
    if scene.policy.auto_accept.is_empty() {
        return None;
    }
    let mut wishes = BTreeMap::<Option<&str>, Vec<&DriftRow>>::new();
    for row in &step.rows {
        if let Some(wish) = wish(scene, row, seen) {
            wishes.entry(wish.reason.as_deref()).or_default().push(row);
        }
    }
    let mut accepted = BTreeSet::<Digest>::new();
    let mut words = None;
    for (reason, rows) in wishes {
        accepted.extend(approve(settlement, scene, snapshot, reason, &rows));
        words = Some(DecisionWords { by: POLICY.to_owned(), reason: reason.map(str::to_owned) });
    }
    let to = |row: &DriftRow| accepted.contains(&row.id).then_some(DriftState::Accepted);
    let mut after = life::decided(&step.rows, &to, &scene.moment(settlement.scans.seq));
    after.after(std::mem::take(step));
    *step = after;
    words.filter(|_| !accepted.is_empty())
}

/// Writes the approvals of `rows`, their entries and their lines; the ids of what is approved.
fn approve(
    settlement: &mut Settlement,
    scene: &Scene<'_>,
    snapshot: &Snapshot,
    reason: Option<&str>,
    rows: &[&DriftRow],
) -> BTreeSet<Digest> {
    // Every row has one value, so there is nothing here that cannot be approved.
    let Ok(places) = places(scene.memory, rows, &snapshot.facets) else { return BTreeSet::new() };
    let mut chain = Chain::new(scene, &settlement.ledger, POLICY).because(reason);
    for ((facet, path), place) in places {
        let after = place.value.as_ref().map(Digest::of);
        let entry =
            chain.push(Draft { before: place.before, after, rule: place.rule, ..Draft::accept(facet, path.clone()) });
        if facet == CHECKS {
            continue;
        }
        settlement.approvals.push(Approval {
            facet,
            path,
            value: place.value,
            at: scene.now,
            by: POLICY.to_owned(),
            until: None,
            entry,
        });
    }
    for row in rows {
        let because = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        settlement.history.push(HistoryLine {
            place: Some((row.drift.facet, row.drift.path.clone())),
            drift: Some(row.id),
            ..said(scene, "base.auto-approved", format!("by the inventory{because}: {}", row.drift.message))
        });
    }
    settlement.ledger.extend(chain.into_entries());
    posture::accept(&mut settlement.scans, rows, None);
    ask_with(settlement, rows, &snapshot.asked);
    rows.iter().map(|row| row.id).collect()
}
