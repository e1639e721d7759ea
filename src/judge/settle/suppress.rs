//! Drifts that the inventory does not want told: `ignore` and `severity: off`.
//!
//! They live like any other (pending, open, reverted), with the reason written on their row, and belong to no incident.
//! An open one that becomes ignored leaves its incident; when nothing is left of that, it ends, which is told to whoever
//! was told of it. One that is not ignored any more is judged anew: it is pending again, and is confirmed as usual.

use std::collections::BTreeMap;

use super::{Scene, said};
use crate::judge::life::{self, LifeStep, Turn};
use crate::judge::policy;
use crate::model::digest::Digest;
use crate::model::drift::{Drift, DriftRow, DriftState};
use crate::model::facet::FacetName;
use crate::model::incident::EndReason;
use crate::model::judgment::Judgment;
use crate::model::pointer::Pointer;
use crate::model::policy::Suppressed;
use crate::model::settlement::{HistoryLine, Settlement};

/// Whether every drift that stands is told, or not told, as the inventory wishes now.
pub(super) fn is_quiet(scene: &Scene<'_>) -> bool {
    scene.memory.drifts.iter().all(|row| row.suppressed == wish(scene, &row.drift))
}

fn wish(scene: &Scene<'_>, drift: &Drift) -> Option<Suppressed> {
    policy::suppression(scene.policy, drift, scene.now)
}

/// Before a step: what is not to be kept quiet any more begins anew, by what the scan shows of it where it looked.
pub(super) fn lift(settlement: &mut Settlement, scene: &Scene<'_>, step: &mut LifeStep, judgment: Option<&Judgment>) {
    if step.rows.iter().all(|row| row.suppressed.is_none()) {
        return;
    }
    let shown = shown(judgment);
    let standing = step.rows.iter_mut().filter(|row| row.suppressed.is_some() && !row.state.is_ended());
    for row in standing {
        let now = shown.get(&(row.drift.facet, &row.drift.path)).copied();
        if wish(scene, now.unwrap_or(&row.drift)).is_some() {
            continue;
        }
        row.suppressed = None;
        life::anew(row, scene.now);
        step.changed.insert(row.id);
        let text = format!("not ignored any more, and judged anew: {}", row.drift.message);
        settlement.history.push(line(scene, row, "drift.pending", text));
    }
}

fn shown(judgment: Option<&Judgment>) -> BTreeMap<(FacetName, &Pointer), &Drift> {
    let all = judgment.into_iter().flat_map(|judgment| {
        let seen = judgment.drifts.iter().filter(|drift| judgment.seen.contains(&drift.facet));
        seen.chain(&judgment.sights)
    });
    all.map(|drift| ((drift.facet, &drift.path), drift)).collect()
}

/// After a step: what is not to be told is marked so, before incidents look at it.
pub(super) fn mark(settlement: &mut Settlement, scene: &Scene<'_>, step: &mut LifeStep) {
    let news: BTreeMap<Digest, Turn> =
        step.transitions.iter().map(|transition| (transition.id, transition.turn)).collect();
    for row in step.rows.iter_mut().filter(|row| !row.state.is_ended()) {
        let wished = wish(scene, &row.drift);
        let begins = row.suppressed.is_none() && wished.is_some();
        if row.suppressed != wished {
            row.suppressed.clone_from(&wished);
            step.changed.insert(row.id);
        }
        let Some(why) = wished else { continue };
        if begins {
            settlement.history.push(line(scene, row, &format!("drift.{}", why.as_str()), words(&why, row)));
        }
        let confirmed = matches!(row.state, DriftState::Open | DriftState::Rejected);
        let turned = matches!(news.get(&row.id), Some(Turn::Confirmed | Turn::Changed));
        if confirmed && (begins || turned) {
            settlement.suppressed.push(why);
        }
        if row.incident.is_some() && confirmed {
            settlement.closed.push((row.drift.rule.rule.clone(), EndReason::Ignored));
        }
    }
}

fn words(why: &Suppressed, row: &DriftRow) -> String {
    let left = row.incident.map(|incident| format!(", left incident {incident}")).unwrap_or_default();
    match why {
        Suppressed::Ignored { reason, until } => {
            let until = until.map(|until| format!(" until {until}")).unwrap_or_default();
            format!("recorded and not told{until}{left} ({reason}): {}", row.drift.message)
        }
        Suppressed::Off => format!("recorded and not told{left} (severity off): {}", row.drift.message),
    }
}

fn line(scene: &Scene<'_>, row: &DriftRow, event: &str, text: String) -> HistoryLine {
    HistoryLine {
        place: Some((row.drift.facet, row.drift.path.clone())),
        drift: Some(row.id),
        incident: row.incident,
        ..said(scene, event, text)
    }
}
