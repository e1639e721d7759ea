//! What differs from before an outage once the target is seen again (`scan.recovered`).

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Scene;
use crate::judge::alert::{Meanwhile, MeanwhileChange};
use crate::judge::life;
use crate::model::alert::AlertType;
use crate::model::digest::Digest;
use crate::model::drift::DriftRow;
use crate::model::facet::{FacetName, FacetState};
use crate::model::incident::Incident;
use crate::model::rule::Severity;
use crate::model::snapshot::Snapshot;

/// What the scan that ends an outage found. `None` for anything but such a scan, and where nothing was accepted that
/// it could be compared with.
pub(super) fn of(
    kind: AlertType,
    scene: &Scene<'_>,
    losses: &[&DriftRow],
    rows: &BTreeMap<Digest, DriftRow>,
    snapshot: Option<&Snapshot>,
    incident: &Incident,
) -> Option<Meanwhile> {
    let snapshot = snapshot.filter(|_| kind == AlertType::SightBack && !scene.memory.baseline.is_empty())?;
    let from = losses.iter().map(|row| row.first_at).min().unwrap_or(incident.opened_at);
    let shared = incident.is_shared();
    let own = rows.values().filter(|row| is_new(row, from)).map(|row| MeanwhileChange {
        target: shared.then(|| scene.target.id.clone()),
        message: row.drift.message.clone(),
        severity: row.drift.severity,
    });
    let kin = scene.memory.kin.iter().filter(|kin| incident.is_about(&kin.target.id)).flat_map(|kin| {
        kin.drifts.iter().filter(move |drift| drift.first_at >= from).map(|drift| MeanwhileChange {
            target: Some(kin.target.id.clone()),
            message: drift.message.clone(),
            severity: drift.severity,
        })
    });
    let mut changes: Vec<MeanwhileChange> = own.chain(kin).collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.severity));
    Some(Meanwhile { changes, unread: unread(scene, snapshot) })
}

/// A drift that stands and that nobody saw before the outage.
fn is_new(row: &DriftRow, from: Timestamp) -> bool {
    !life::is_sight(row.drift.facet)
        && !row.state.is_ended()
        && row.first_at >= from
        && row.drift.severity > Severity::Info
}

/// What the baseline holds and the scan did not see.
fn unread(scene: &Scene<'_>, snapshot: &Snapshot) -> Vec<FacetName> {
    let is_read = |name: &FacetName| match snapshot.facets.get(name) {
        Some(FacetState::Seen(_) | FacetState::Absent { .. }) => true,
        Some(FacetState::Unseen { .. }) | None => false,
    };
    let watched = |name: &FacetName| snapshot.coverage.get(name).is_none_or(|coverage| coverage.watched);
    scene.memory.baseline.keys().filter(|name| watched(name) && !is_read(name)).copied().collect()
}
