//! What stands of a target, as that of the id that it has now (`was`).
//!
//! A fingerprint is over the target's id too, so that each is made anew: a drift that is carried over is the same one
//! to the next scan, and to who decides on it.

use std::collections::BTreeMap;

use super::life;
use super::rules::draft;
use crate::model::drift::{Drift, DriftRow, Fingerprint, NextValue};
use crate::model::incident::{Incident, Unit};
use crate::model::memory::Memory;
use crate::model::target::TargetId;

/// The drifts and incidents of `memory`, `from`'s, as those of `to`.
#[must_use]
pub fn carried(memory: &Memory, from: &TargetId, to: &TargetId) -> (Vec<DriftRow>, Vec<Incident>) {
    let mut renamed = BTreeMap::new();
    let drifts = memory.drifts.iter().map(|row| row_of(row, from, to, &mut renamed)).collect();
    let incidents = memory.incidents.iter().map(|incident| Incident {
        owner: to.clone(),
        units: incident.units.iter().map(|unit| unit_of(unit, &renamed)).collect(),
        ..incident.clone()
    });
    (drifts, incidents.collect())
}

type Renamed = BTreeMap<Fingerprint, Fingerprint>;

fn row_of(row: &DriftRow, from: &TargetId, to: &TargetId, renamed: &mut Renamed) -> DriftRow {
    let drift = drift_of(&row.drift, from, to, renamed);
    let next = row.next.as_ref().map(|next| NextValue {
        drift: drift_of(&next.drift, from, to, renamed),
        sightings: next.sightings,
        since: next.since,
    });
    let named = |fingerprint: &Fingerprint| renamed.get(fingerprint).copied().unwrap_or(*fingerprint);
    let values = row.values.iter().map(|(fingerprint, at)| (named(fingerprint), *at)).collect();
    DriftRow { drift, next, values, ..row.clone() }
}

fn drift_of(drift: &Drift, from: &TargetId, to: &TargetId, renamed: &mut Renamed) -> Drift {
    let judged = |id: &TargetId| draft::fingerprint(id, drift.facet, &drift.path, &drift.after, &drift.claims);
    let lived = |id: &TargetId| life::fingerprint(id, drift);
    let fingerprint = if judged(from) == drift.fingerprint {
        judged(to)
    } else if lived(from) == drift.fingerprint {
        lived(to)
    } else {
        // Of an older making: the next scan tells it as changed.
        return drift.clone();
    };
    renamed.insert(drift.fingerprint, fingerprint);
    Drift { fingerprint, ..drift.clone() }
}

fn unit_of(unit: &Unit, renamed: &Renamed) -> Unit {
    let mut unit = unit.clone();
    for member in &mut unit.members {
        member.fingerprint = renamed.get(&member.fingerprint).copied().unwrap_or(member.fingerprint);
    }
    unit
}
