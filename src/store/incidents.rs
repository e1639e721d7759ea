//! Incidents with their units, and what a message says of each at one revision.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::columns::{Columns as _, millis, to_json, word};
use super::error::StoreError;
use super::values::{pack_json, unpack_json};
use crate::model::alert::AlertType;
use crate::model::incident::{Ended, Incident, IncidentId, Unit};
use crate::model::notice::Body;
use crate::model::settlement::Revision;
use crate::model::target::TargetId;

pub(super) const OPEN_OF: &str = "SELECT id, owner, kind, revision, acked, opened_at, ended_at, end_reason \
     FROM incident WHERE owner = ?1 AND ended_at IS NULL \
     UNION SELECT incident.id, owner, kind, revision, acked, opened_at, ended_at, end_reason \
     FROM incident_with JOIN incident ON incident.id = incident_with.incident \
     WHERE incident_with.target = ?1 AND ended_at IS NULL ORDER BY opened_at, id";
pub(super) const BY_IDS: &str =
    "SELECT incident.* FROM json_each(?) AS wanted CROSS JOIN incident ON incident.id = wanted.value";
pub(super) const UNITS_BY_IDS: &str = "SELECT unit.incident, unit.unit FROM json_each(?) AS wanted \
     CROSS JOIN unit ON unit.incident = wanted.value ORDER BY unit.incident, unit.n";
pub(super) const WITH_BY_IDS: &str = "SELECT incident_with.incident, incident_with.target \
     FROM json_each(?) AS wanted CROSS JOIN incident_with ON incident_with.incident = wanted.value";
const OPEN: &str = "SELECT * FROM incident WHERE ended_at IS NULL ORDER BY opened_at, id";
const ALL: &str = "SELECT * FROM incident ORDER BY opened_at, id";
pub(super) const ONE: &str = "SELECT * FROM incident WHERE id = ?";
pub(super) const REVISION: &str = "SELECT body, body_size FROM revision \
     WHERE incident = ? AND revision = ? AND event = coalesce(?, event) ORDER BY id DESC LIMIT 1";

/// The incidents that have not ended and are about `target`.
pub(super) async fn open_of(conn: &mut SqliteConnection, target: &TargetId) -> Result<Vec<Incident>, StoreError> {
    let rows = sqlx::query(OPEN_OF).bind(target.as_str()).fetch_all(&mut *conn).await?;
    assemble(conn, &rows).await
}

/// These incidents, as far as there are such.
pub(super) async fn by_ids(conn: &mut SqliteConnection, ids: &[IncidentId]) -> Result<Vec<Incident>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = sqlx::query(BY_IDS).bind(to_json(ids)?).fetch_all(&mut *conn).await?;
    assemble(conn, &rows).await
}

/// All incidents, or those that have not ended, the oldest first.
pub(super) async fn list(conn: &mut SqliteConnection, open_only: bool) -> Result<Vec<Incident>, StoreError> {
    let rows = sqlx::query(if open_only { OPEN } else { ALL }).fetch_all(&mut *conn).await?;
    assemble(conn, &rows).await
}

/// One incident.
pub(super) async fn one(conn: &mut SqliteConnection, id: IncidentId) -> Result<Option<Incident>, StoreError> {
    let rows = sqlx::query(ONE).bind(id.to_string()).fetch_all(&mut *conn).await?;
    Ok(assemble(conn, &rows).await?.pop())
}

/// Ids of all incidents there ever were.
pub(super) async fn ids(conn: &mut SqliteConnection) -> Result<BTreeSet<IncidentId>, StoreError> {
    let rows = sqlx::query("SELECT id FROM incident UNION ALL SELECT id FROM spent_incident").fetch_all(conn).await?;
    rows.iter().map(|row| row.parsed("id")).collect()
}

/// What a message about a revision says; of `event`, or of the newest thing that happened at it.
pub(super) async fn revision(
    conn: &mut SqliteConnection,
    incident: IncidentId,
    revision: u32,
    event: Option<AlertType>,
) -> Result<Option<Body>, StoreError> {
    let row = sqlx::query(REVISION)
        .bind(incident.to_string())
        .bind(revision)
        .bind(event.map(AlertType::as_str))
        .fetch_optional(conn)
        .await?;
    row.map(|row| unpack_json("revision", row.bytes("body")?, row.u64("body_size")?)).transpose()
}

async fn assemble(conn: &mut SqliteConnection, rows: &[SqliteRow]) -> Result<Vec<Incident>, StoreError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let ids = rows.iter().map(|row| row.text("id")).collect::<Result<Vec<_>, _>>()?;
    let ids = to_json(&ids)?;
    let mut by_incident: BTreeMap<IncidentId, Vec<Unit>> = BTreeMap::new();
    for row in sqlx::query(UNITS_BY_IDS).bind(&ids).fetch_all(&mut *conn).await? {
        by_incident.entry(row.parsed("incident")?).or_default().push(row.json("unit")?);
    }
    let mut with: BTreeMap<IncidentId, Vec<TargetId>> = BTreeMap::new();
    for row in sqlx::query(WITH_BY_IDS).bind(&ids).fetch_all(conn).await? {
        with.entry(row.parsed("incident")?).or_default().push(row.parsed("target")?);
    }
    rows.iter()
        .map(|row| {
            let id = row.parsed("id")?;
            let ended = match row.maybe_time("ended_at")? {
                Some(at) => Some(Ended { at, reason: row.variant("end_reason")? }),
                None => None,
            };
            Ok(Incident {
                id,
                owner: row.parsed("owner")?,
                with: with.remove(&id).unwrap_or_default(),
                kind: row.variant("kind")?,
                revision: row.u32("revision")?,
                units: by_incident.remove(&id).unwrap_or_default(),
                acked: row.maybe_json("acked")?,
                opened_at: row.time("opened_at")?,
                ended,
            })
        })
        .collect()
}

/// Writes an incident, new or changed, with all its units.
pub(super) async fn put(conn: &mut SqliteConnection, incident: &Incident) -> Result<(), StoreError> {
    let id = incident.id.to_string();
    sqlx::query(
        "INSERT INTO incident (id, owner, kind, revision, acked, opened_at, ended_at, end_reason) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, \
         acked = excluded.acked, ended_at = excluded.ended_at, end_reason = excluded.end_reason",
    )
    .bind(&id)
    .bind(incident.owner.as_str())
    .bind(word(incident.kind)?)
    .bind(incident.revision)
    .bind(incident.acked.as_ref().map(to_json).transpose()?)
    .bind(millis(incident.opened_at))
    .bind(incident.ended.as_ref().map(|ended| millis(ended.at)))
    .bind(incident.ended.as_ref().map(|ended| ended.reason.as_str()))
    .execute(&mut *conn)
    .await?;
    for target in &incident.with {
        sqlx::query("INSERT INTO incident_with (incident, target) VALUES (?, ?) ON CONFLICT DO NOTHING")
            .bind(&id)
            .bind(target.as_str())
            .execute(&mut *conn)
            .await?;
    }
    for unit in &incident.units {
        sqlx::query(
            "INSERT INTO unit (incident, n, mark, severity, impact, unit) VALUES (?, ?, ?, ?, ?, ?) \
             ON CONFLICT (incident, n) DO UPDATE SET mark = excluded.mark, severity = excluded.severity, \
             impact = excluded.impact, unit = excluded.unit",
        )
        .bind(&id)
        .bind(unit.n)
        .bind(word(unit.mark)?)
        .bind(unit.severity.as_str())
        .bind(unit.impact.first().map(|impact| impact.as_str()))
        .bind(to_json(unit)?)
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Writes what a message says of a revision. What was written first stays: people decide on what they read.
pub(super) async fn put_revision(conn: &mut SqliteConnection, revision: &Revision) -> Result<(), StoreError> {
    let packed = pack_json(&revision.body)?;
    sqlx::query(
        "INSERT INTO revision (incident, revision, event, at, body, body_size) VALUES (?, ?, ?, ?, ?, ?) \
         ON CONFLICT (incident, revision, event) DO NOTHING",
    )
    .bind(revision.incident.to_string())
    .bind(revision.revision)
    .bind(revision.body.alert.kind.as_str())
    .bind(millis(revision.at))
    .bind(packed.body)
    .bind(packed.size)
    .execute(conn)
    .await?;
    Ok(())
}
