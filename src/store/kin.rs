//! Other targets of a target's host, as far as they matter to its sight: a few queries, whatever their number.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::SqliteConnection;

use super::columns::{Columns as _, to_json};
use super::error::StoreError;
use super::{drifts, incidents, targets};
use crate::model::drift::{Drift, DriftRow};
use crate::model::incident::{Incident, IncidentId};
use crate::model::memory::{Kin, KinDrift};
use crate::model::target::{TargetId, TargetSummary};

pub(super) const TARGETS: &str =
    "SELECT target.* FROM json_each(?) AS wanted CROSS JOIN target ON target.id = wanted.value ORDER BY target.id";
/// A path is its JSON string.
pub(super) const LOST: &str = "SELECT drift.* FROM json_each(?) AS wanted CROSS JOIN drift \
     ON drift.target = wanted.value AND drift.facet = 'scan' AND drift.path = '\"/endpoint\"' \
     WHERE drift.ended_at IS NULL";
pub(super) const DRIFTS: &str = "SELECT drift.target, drift.drift, drift.severity, drift.first_at \
     FROM json_each(?) AS wanted CROSS JOIN drift ON drift.target = wanted.value \
     WHERE drift.ended_at IS NULL AND drift.facet <> 'scan'";

/// `siblings`, and the further targets of shared incidents among `incidents`, without `target` itself.
pub(super) async fn load(
    conn: &mut SqliteConnection,
    target: &TargetId,
    siblings: &[TargetId],
    incidents: &[Incident],
) -> Result<Vec<Kin>, StoreError> {
    let sharing = incidents.iter().filter(|incident| incident.is_shared()).flat_map(Incident::targets);
    let wanted: BTreeSet<&TargetId> = siblings.iter().chain(sharing).filter(|id| *id != target).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let ids = to_json(&wanted)?;
    let mut lost = lost(&mut *conn, &ids).await?;
    let named: BTreeSet<IncidentId> = lost.values().filter_map(|row| row.incident).collect();
    let known = incidents::by_ids(&mut *conn, &named.into_iter().collect::<Vec<_>>()).await?;
    let mut standing = standing(&mut *conn, &ids).await?;
    let kin = |summary: TargetSummary| {
        let lost = lost.remove(&summary.id);
        let id = lost.as_ref().and_then(|row| row.incident);
        let incident = known.iter().find(|incident| Some(incident.id) == id).cloned();
        Kin { drifts: standing.remove(&summary.id).unwrap_or_default(), target: summary, lost, incident }
    };
    Ok(summaries(conn, &ids).await?.into_iter().map(kin).collect())
}

async fn summaries(conn: &mut SqliteConnection, ids: &str) -> Result<Vec<TargetSummary>, StoreError> {
    let rows = sqlx::query(TARGETS).bind(ids).fetch_all(conn).await?;
    rows.iter().map(targets::summary).collect()
}

async fn lost(conn: &mut SqliteConnection, ids: &str) -> Result<BTreeMap<TargetId, DriftRow>, StoreError> {
    let rows = sqlx::query(LOST).bind(ids).fetch_all(&mut *conn).await?;
    let filled = drifts::filled(conn, &rows).await?;
    Ok(filled.into_iter().map(|drift| (drift.target, drift.row)).collect())
}

async fn standing(conn: &mut SqliteConnection, ids: &str) -> Result<BTreeMap<TargetId, Vec<KinDrift>>, StoreError> {
    let mut standing = BTreeMap::<TargetId, Vec<KinDrift>>::new();
    for row in sqlx::query(DRIFTS).bind(ids).fetch_all(conn).await? {
        let Drift { message, .. } = row.json("drift")?;
        let drift = KinDrift { message, severity: row.variant("severity")?, first_at: row.time("first_at")? };
        standing.entry(row.parsed("target")?).or_default().push(drift);
    }
    Ok(standing)
}
