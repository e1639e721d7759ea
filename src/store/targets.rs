//! Targets the inventory has named. One that leaves is retired, never removed: it resumes on its return.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::columns::{Columns as _, millis, to_json, word};
use super::error::StoreError;
use super::memory::Remembered;
use super::runs::Buffered;
use super::views::{Synced, TargetRow, TargetState};
use crate::model::target::{TargetId, TargetSummary};

const ALL: &str = "SELECT target.id, target.kind, target.url, target.labels, target.state, target.first_seen, \
     target.retired_at, target.became, memory.seq, memory.outcome, memory.last_scan, memory.last_ok, memory.not_before, \
     memory.recheck FROM target LEFT JOIN memory ON memory.target = target.id ORDER BY target.id";
pub(super) const ONE: &str = "SELECT target.id, target.kind, target.url, target.labels, target.state, \
     target.first_seen, target.retired_at, target.became, memory.seq, memory.outcome, memory.last_scan, memory.last_ok, \
     memory.not_before, memory.recheck FROM target LEFT JOIN memory ON memory.target = target.id \
     WHERE target.id = ?";

const ACTIVE: &str = "active";
const RETIRED: &str = "retired";

/// All targets, by id.
pub(super) async fn all(conn: &mut SqliteConnection) -> Result<Vec<TargetRow>, StoreError> {
    let rows = sqlx::query(ALL).fetch_all(conn).await?;
    rows.iter().map(read).collect()
}

/// One target.
pub(super) async fn one(conn: &mut SqliteConnection, id: &TargetId) -> Result<Option<TargetRow>, StoreError> {
    let row = sqlx::query(ONE).bind(id.as_str()).fetch_optional(conn).await?;
    row.as_ref().map(read).transpose()
}

/// What is buffered of a target stands for what its row says.
pub(super) fn overlay(row: &mut TargetRow, buffered: &Buffered) {
    match buffered {
        Buffered::Whole { memory: Remembered { scans, recheck, .. }, .. } if scans.seq >= row.seq => {
            row.seq = scans.seq;
            row.outcome = scans.outcome;
            row.last_scan = scans.last_at;
            row.last_ok = scans.last_ok;
            row.not_before = scans.not_before;
            row.recheck = *recheck;
        }
        Buffered::Tail(tail) if tail.seq > row.seq => {
            row.seq = tail.seq;
            row.last_scan = Some(tail.quiet.at);
            row.last_ok = Some(tail.quiet.at);
            row.not_before = None;
            row.recheck = None;
        }
        Buffered::Whole { .. } | Buffered::Tail(_) => {}
    }
}

/// What people see of a target.
pub(super) fn summary(row: &SqliteRow) -> Result<TargetSummary, StoreError> {
    Ok(TargetSummary {
        id: row.parsed("id")?,
        kind: row.variant("kind")?,
        url: row.text("url")?.to_owned(),
        labels: row.json("labels")?,
    })
}

pub(super) fn read(row: &SqliteRow) -> Result<TargetRow, StoreError> {
    Ok(TargetRow {
        summary: summary(row)?,
        state: match row.text("state")? {
            ACTIVE => TargetState::Active,
            RETIRED => TargetState::Retired,
            other => return Err(StoreError::unreadable("state", other)),
        },
        first_seen: row.time("first_seen")?,
        retired_at: row.maybe_time("retired_at")?,
        seq: u64::try_from(row.maybe_int("seq")?.unwrap_or(0)).unwrap_or(0),
        outcome: row.maybe_variant("outcome")?,
        last_scan: row.maybe_time("last_scan")?,
        last_ok: row.maybe_time("last_ok")?,
        not_before: row.maybe_time("not_before")?,
        recheck: row.maybe_time("recheck")?,
        became: row.maybe_parsed("became")?,
    })
}

/// Makes the store's targets those of the inventory; writes only what differs.
pub(super) async fn sync(
    conn: &mut SqliteConnection,
    inventory: &[TargetSummary],
    now: Timestamp,
) -> Result<Synced, StoreError> {
    let stored = all(&mut *conn).await?;
    let mut stored: BTreeMap<TargetId, TargetRow> =
        stored.into_iter().map(|row| (row.summary.id.clone(), row)).collect();
    let mut synced = Synced::default();
    for summary in inventory {
        let id = &summary.id;
        match stored.remove(id) {
            None => synced.added.push(id.clone()),
            Some(row) => {
                let same = row.summary == *summary;
                let moved = row.summary.url != summary.url;
                match row.state {
                    TargetState::Active if same => continue,
                    TargetState::Active => {}
                    TargetState::Retired => synced.returned.push(id.clone()),
                }
                if moved {
                    synced.moved.push(id.clone());
                }
            }
        }
        put(&mut *conn, summary, now).await?;
    }
    for (id, row) in stored {
        if row.state == TargetState::Active {
            sqlx::query("UPDATE target SET state = ?, retired_at = ? WHERE id = ?")
                .bind(RETIRED)
                .bind(millis(now))
                .bind(id.as_str())
                .execute(&mut *conn)
                .await?;
            synced.retired.push(id);
        }
    }
    Ok(synced)
}

async fn put(conn: &mut SqliteConnection, summary: &TargetSummary, now: Timestamp) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO target (id, kind, url, labels, state, first_seen) VALUES (?, ?, ?, ?, ?, ?) \
         ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, url = excluded.url, labels = excluded.labels, \
         state = excluded.state, retired_at = NULL, became = NULL",
    )
    .bind(summary.id.as_str())
    .bind(word(summary.kind)?)
    .bind(&summary.url)
    .bind(to_json(&summary.labels)?)
    .bind(ACTIVE)
    .bind(millis(now))
    .execute(conn)
    .await?;
    Ok(())
}
