//! Carrying a target's past over to the id that it has now (`was`), with the inventory that says so.
//!
//! What is known, decided and going on moves. What the old id was held to is copied: should it ever be in the inventory
//! again, it is held to that as if it had never had another name, so that no detour over a name clears a past.

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::views::{Carry, Synced};
use super::writer::flush;
use super::{Result, Writer, drifts, history, incidents, targets};
use crate::model::target::TargetSummary;

/// What moves: a statement takes the new id, then the old one.
const MOVED: [&str; 5] = [
    "UPDATE memory SET target = ? WHERE target = ?",
    "UPDATE run SET target = ? WHERE target = ?",
    "UPDATE drift SET target = ? WHERE target = ?",
    "UPDATE incident SET owner = ? WHERE owner = ?",
    "UPDATE history SET target = ? WHERE target = ?",
];

/// What is copied, likewise.
const COPIED: [&str; 2] = [
    "INSERT INTO baseline (target, facet, digest, value_digests, at, accepted_by, reason, asked, model, entry, \
     reviewed, ended_at, ended_why) SELECT ?, facet, digest, value_digests, at, accepted_by, reason, asked, model, \
     entry, reviewed, ended_at, ended_why FROM baseline WHERE target = ? ORDER BY id",
    "INSERT INTO approval (target, facet, path, value, at, accepted_by, until, entry, ended_at, ended_why) \
     SELECT ?, facet, path, value, at, accepted_by, until, entry, ended_at, ended_why FROM approval \
     WHERE target = ? AND ended_at IS NULL ORDER BY id",
];

impl Writer<'_> {
    /// As [`super::Store::sync_targets`], in one transaction with the pasts that are carried over. Who carries on has
    /// none of its own, and whose past it is has left the inventory.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn take_inventory(
        &mut self,
        inventory: &[TargetSummary],
        carries: &[Carry],
        now: Timestamp,
    ) -> Result<Synced> {
        for carry in carries {
            // What is buffered of the old id is in rows before these move.
            if let Some(buffered) = self.store.inner.buffer.get(&carry.from) {
                flush(self, &[(carry.from.clone(), buffered)]).await?;
                self.store.inner.buffer.remove(&carry.from);
            }
        }
        let mut tx = self.begin().await?;
        let synced = targets::sync(&mut tx, inventory, now).await?;
        for carry in carries {
            over(&mut tx, carry, now).await?;
        }
        tx.commit().await?;
        Ok(synced)
    }
}

async fn over(conn: &mut SqliteConnection, carry: &Carry, now: Timestamp) -> Result<()> {
    let Carry { from, to, drifts, incidents, line } = carry;
    for statement in MOVED.into_iter().chain(COPIED) {
        sqlx::query(statement).bind(to.as_str()).bind(from.as_str()).execute(&mut *conn).await?;
    }
    for incident in incidents {
        incidents::put(&mut *conn, incident).await?;
    }
    for row in drifts {
        drifts::put(&mut *conn, to, row).await?;
    }
    sqlx::query(
        "UPDATE target SET first_seen = min(first_seen, (SELECT first_seen FROM target WHERE id = ?)), \
         report = coalesce(report, (SELECT report FROM target WHERE id = ?)) WHERE id = ?",
    )
    .bind(from.as_str())
    .bind(from.as_str())
    .bind(to.as_str())
    .execute(&mut *conn)
    .await?;
    sqlx::query("UPDATE target SET became = ?, retired_at = coalesce(retired_at, ?) WHERE id = ?")
        .bind(to.as_str())
        .bind(super::columns::millis(now))
        .bind(from.as_str())
        .execute(&mut *conn)
        .await?;
    history::append(conn, Some(to), line).await
}
