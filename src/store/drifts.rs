//! Drifts and their lives. The values before and after are blobs; the rest of a drift is a document.

use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::columns::{Columns as _, millis, path_text, to_json};
use super::error::StoreError;
use super::prefix::DigestPrefix;
use super::values::{self, Shelf};
use super::views::{DriftFilter, Found, TargetDrift};
use crate::model::digest::Digest;
use crate::model::drift::{Drift, DriftRow, NextValue};
use crate::model::target::TargetId;

pub(super) const LIVING: &str = "SELECT * FROM drift WHERE target = ? AND ended_at IS NULL ORDER BY first_at, id";
pub(super) const FINGERPRINTS: &str =
    "SELECT DISTINCT fingerprint FROM drift WHERE fingerprint BETWEEN ? AND ? LIMIT 2";
pub(super) const OF_FINGERPRINT: &str = "SELECT * FROM drift WHERE fingerprint = ? \
     ORDER BY ended_at IS NOT NULL, ended_at DESC, first_at DESC LIMIT 1";

/// A drift whose values are still to be fetched.
#[derive(Debug)]
pub(super) struct Bare {
    row: DriftRow,
    before: Vec<Digest>,
    after: Vec<Digest>,
    next_before: Vec<Digest>,
    next_after: Vec<Digest>,
}

impl Bare {
    pub(super) fn want(&self, shelf: &mut Shelf) {
        for digests in [&self.before, &self.after, &self.next_before, &self.next_after] {
            shelf.want(digests);
        }
    }

    pub(super) fn filled(mut self, shelf: &Shelf) -> Result<DriftRow, StoreError> {
        self.row.drift.before = shelf.get(&self.before)?;
        self.row.drift.after = shelf.get(&self.after)?;
        if let Some(next) = &mut self.row.next {
            next.drift.before = shelf.get(&self.next_before)?;
            next.drift.after = shelf.get(&self.next_after)?;
        }
        Ok(self.row)
    }

    fn read(row: &SqliteRow) -> Result<Self, StoreError> {
        let drift_row = DriftRow {
            id: row.digest("id")?,
            drift: row.json("drift")?,
            state: row.variant("state")?,
            sightings: row.u32("sightings")?,
            since: row.time("since")?,
            last_at: row.time("last_at")?,
            back_count: row.u32("back_count")?,
            back_since: row.maybe_time("back_since")?,
            next: row.maybe_json("next")?,
            values: row.json("past")?,
            held: row.flag("held")?,
            suppressed: row.maybe_json("suppressed")?,
            first_at: row.time("first_at")?,
            confirmed_at: row.maybe_time("confirmed_at")?,
            ended_at: row.maybe_time("ended_at")?,
            incident: row.maybe_parsed("incident")?,
        };
        Ok(Self {
            row: drift_row,
            before: row.json("before_values")?,
            after: row.json("after_values")?,
            next_before: row.maybe_json("next_before")?.unwrap_or_default(),
            next_after: row.maybe_json("next_after")?.unwrap_or_default(),
        })
    }
}

/// The drifts of `target` that have not ended.
pub(super) async fn living(conn: &mut SqliteConnection, target: &TargetId) -> Result<Vec<Bare>, StoreError> {
    let rows = sqlx::query(LIVING).bind(target.as_str()).fetch_all(conn).await?;
    rows.iter().map(Bare::read).collect()
}

/// Drifts, the newest first.
pub(super) async fn list(conn: &mut SqliteConnection, filter: &DriftFilter) -> Result<Vec<TargetDrift>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new("SELECT * FROM drift WHERE TRUE");
    if filter.open {
        query.push(" AND ended_at IS NULL");
    }
    if let Some(target) = &filter.target {
        query.push(" AND target = ").push_bind(target.to_string());
    }
    query.push(" ORDER BY first_at DESC, id");
    if filter.limit > 0 {
        query.push(" LIMIT ").push_bind(filter.limit);
    }
    let rows = query.build().fetch_all(&mut *conn).await?;
    filled(conn, &rows).await
}

/// The drift whose fingerprint begins with `prefix`: the one that lives, else the one that ended last.
pub(super) async fn by_fingerprint(
    conn: &mut SqliteConnection,
    prefix: &DigestPrefix,
) -> Result<Found<TargetDrift>, StoreError> {
    let fingerprints = sqlx::query(FINGERPRINTS).bind(prefix.first()).bind(prefix.last()).fetch_all(&mut *conn).await?;
    let fingerprint = match fingerprints.as_slice() {
        [] => return Ok(Found::None),
        [one] => one.digest("fingerprint")?,
        [_, _, ..] => return Ok(Found::Several),
    };
    let rows = sqlx::query(OF_FINGERPRINT).bind(&fingerprint.bytes()[..]).fetch_all(&mut *conn).await?;
    let mut found = filled(conn, &rows).await?;
    Ok(found.pop().map_or(Found::None, Found::One))
}

pub(super) async fn filled(conn: &mut SqliteConnection, rows: &[SqliteRow]) -> Result<Vec<TargetDrift>, StoreError> {
    let mut shelf = Shelf::default();
    let mut bare = Vec::with_capacity(rows.len());
    for row in rows {
        let drift = Bare::read(row)?;
        drift.want(&mut shelf);
        bare.push((row.parsed("target")?, drift));
    }
    shelf.load(conn).await?;
    let fill = |(target, drift): (TargetId, Bare)| Ok(TargetDrift { target, row: drift.filled(&shelf)? });
    bare.into_iter().map(fill).collect()
}

/// Writes a drift, new or changed.
pub(super) async fn put(conn: &mut SqliteConnection, target: &TargetId, row: &DriftRow) -> Result<(), StoreError> {
    let stored = Stored::of(&mut *conn, row).await?;
    sqlx::query(
        "INSERT INTO drift (id, target, facet, path, state, rule, severity, fingerprint, drift, before_values, \
         after_values, next, next_before, next_after, past, held, sightings, since, last_at, back_count, back_since, \
         first_at, confirmed_at, ended_at, incident, suppressed) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
         ON CONFLICT (id) DO UPDATE SET state = excluded.state, rule = excluded.rule, severity = excluded.severity, \
         fingerprint = excluded.fingerprint, drift = excluded.drift, before_values = excluded.before_values, \
         after_values = excluded.after_values, next = excluded.next, next_before = excluded.next_before, \
         next_after = excluded.next_after, past = excluded.past, held = excluded.held, \
         sightings = excluded.sightings, since = excluded.since, last_at = excluded.last_at, \
         back_count = excluded.back_count, back_since = excluded.back_since, \
         confirmed_at = excluded.confirmed_at, ended_at = excluded.ended_at, incident = excluded.incident, \
         suppressed = excluded.suppressed",
    )
    .bind(&row.id.bytes()[..])
    .bind(target.as_str())
    .bind(row.drift.facet.to_string())
    .bind(path_text(&row.drift.path)?)
    .bind(row.state.as_str())
    .bind(&row.drift.rule.rule)
    .bind(row.drift.severity.as_str())
    .bind(&row.drift.fingerprint.0.bytes()[..])
    .bind(stored.drift)
    .bind(stored.before)
    .bind(stored.after)
    .bind(stored.next)
    .bind(stored.next_before)
    .bind(stored.next_after)
    .bind(to_json(&row.values)?)
    .bind(row.held)
    .bind(row.sightings)
    .bind(millis(row.since))
    .bind(millis(row.last_at))
    .bind(row.back_count)
    .bind(row.back_since.map(millis))
    .bind(millis(row.first_at))
    .bind(row.confirmed_at.map(millis))
    .bind(row.ended_at.map(millis))
    .bind(row.incident.map(|incident| incident.to_string()))
    .bind(row.suppressed.as_ref().map(to_json).transpose()?)
    .execute(conn)
    .await?;
    Ok(())
}

/// The documents of a row, its values stored.
struct Stored {
    drift: String,
    before: String,
    after: String,
    next: Option<String>,
    next_before: Option<String>,
    next_after: Option<String>,
}

impl Stored {
    async fn of(conn: &mut SqliteConnection, row: &DriftRow) -> Result<Self, StoreError> {
        let before = to_json(&values::put_all(&mut *conn, &row.drift.before).await?)?;
        let after = to_json(&values::put_all(&mut *conn, &row.drift.after).await?)?;
        let (mut next_before, mut next_after) = (None, None);
        if let Some(next) = &row.next {
            next_before = Some(to_json(&values::put_all(&mut *conn, &next.drift.before).await?)?);
            next_after = Some(to_json(&values::put_all(&mut *conn, &next.drift.after).await?)?);
        }
        let next = row.next.as_ref().map(|next| {
            to_json(&NextValue { drift: without_values(&next.drift), sightings: next.sightings, since: next.since })
        });
        let next = next.transpose()?;
        Ok(Self { drift: to_json(&without_values(&row.drift))?, before, after, next, next_before, next_after })
    }
}

fn without_values(drift: &Drift) -> Drift {
    Drift {
        facet: drift.facet,
        path: drift.path.clone(),
        rule: drift.rule.clone(),
        severity: drift.severity,
        impact: drift.impact.clone(),
        class: drift.class,
        fold: drift.fold,
        before: Vec::new(),
        after: Vec::new(),
        claims: drift.claims.clone(),
        notes: drift.notes.clone(),
        message: drift.message.clone(),
        details: drift.details.clone(),
        inside: drift.inside.clone(),
        fingerprint: drift.fingerprint,
    }
}
