//! How receivers fare.

use jiff::Timestamp;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::columns::{Columns as _, millis};
use super::error::StoreError;
use crate::model::condition::Condition;

pub(super) const OF: &str = "SELECT * FROM condition WHERE receiver = ?";

/// How `receiver` fares; of one that never failed, nothing.
pub(super) async fn of(conn: &mut SqliteConnection, receiver: &str) -> Result<Condition, StoreError> {
    let row = sqlx::query(OF).bind(receiver).fetch_optional(conn).await?;
    row.as_ref().map_or_else(|| Ok(Condition::default()), read)
}

/// How receivers fare, by name; those that never failed are not in it.
pub(super) async fn all(conn: &mut SqliteConnection) -> Result<Vec<(String, Condition)>, StoreError> {
    let rows = sqlx::query("SELECT * FROM condition ORDER BY receiver").fetch_all(conn).await?;
    rows.iter().map(|row| Ok((row.text("receiver")?.to_owned(), read(row)?))).collect()
}

fn read(row: &SqliteRow) -> Result<Condition, StoreError> {
    Ok(Condition {
        failures: row.u32("failures")?,
        since: row.maybe_time("since")?,
        error: row.maybe_text("error")?.map(str::to_owned),
        told: row.maybe_time("told")?,
        told_given_up: row.maybe_time("told_given_up")?,
        suspended: row.maybe_time("suspended")?,
        not_before: row.maybe_time("not_before")?,
    })
}

/// Writes how `receiver` fares now.
pub(super) async fn put(conn: &mut SqliteConnection, receiver: &str, condition: &Condition) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO condition (receiver, failures, since, error, told, told_given_up, suspended, not_before) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (receiver) DO UPDATE SET failures = excluded.failures, \
         since = excluded.since, error = excluded.error, told = excluded.told, \
         told_given_up = excluded.told_given_up, suspended = excluded.suspended, not_before = excluded.not_before",
    )
    .bind(receiver)
    .bind(condition.failures)
    .bind(condition.since.map(millis))
    .bind(&condition.error)
    .bind(condition.told.map(millis))
    .bind(condition.told_given_up.map(millis))
    .bind(condition.suspended.map(millis))
    .bind(condition.not_before.map(millis))
    .execute(conn)
    .await?;
    Ok(())
}

/// Has all that waits for `receiver` tried now: it works, or somebody says so.
pub(super) async fn hasten(conn: &mut SqliteConnection, receiver: &str, now: Timestamp) -> Result<(), StoreError> {
    sqlx::query("UPDATE condition SET not_before = NULL WHERE receiver = ?").bind(receiver).execute(&mut *conn).await?;
    sqlx::query("UPDATE message SET next_at = ?1 WHERE receiver = ?2 AND state = 'pending' AND next_at > ?1")
        .bind(millis(now))
        .bind(receiver)
        .execute(conn)
        .await?;
    Ok(())
}
