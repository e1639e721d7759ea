//! What is told of rounds rather than of incidents: the report of new targets, the one message of a round after a
//! gap, and lines of the history that are about driftd itself.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sqlx::sqlite::SqliteRow;

use super::columns::{Columns as _, from_json, millis, to_json};
use super::snapshots::ScanDetail;
use super::values::unpack;
use super::views::TargetRow;
use super::{Result, Store, Writer, history, outbox, targets};
use crate::model::bulletin::Bulletin;
use crate::model::notice::Notice;
use crate::model::settlement::HistoryLine;
use crate::model::snapshot::Look;
use crate::model::target::TargetId;

pub(super) const UNREPORTED: &str = "SELECT target.id, target.kind, target.url, target.labels, target.state, \
     target.first_seen, target.retired_at, target.became, memory.seq, memory.outcome, memory.last_scan, memory.last_ok, \
     memory.not_before, memory.recheck FROM target LEFT JOIN memory ON memory.target = target.id \
     WHERE target.report IS NULL AND target.state = 'active' ORDER BY target.id";
pub(super) const LOOKS: &str = "SELECT run.target, run.outcome, run.detail, run.detail_size, run.snapshot \
     FROM json_each(?) AS wanted CROSS JOIN run ON run.id = (SELECT max(id) FROM run WHERE target = wanted.value)";
const FIRST_LOOKS: &str = "SELECT run.target, run.outcome, run.detail, run.detail_size, run.snapshot \
     FROM json_each(?) AS wanted CROSS JOIN run ON run.id = \
     (SELECT min(id) FROM run WHERE target = wanted.value AND outcome IN ('ok', 'partial'))";
const NOT_LOOKED_AT: &str = "SELECT target.id FROM target JOIN memory ON memory.target = target.id \
     WHERE target.state = 'active' AND memory.last_scan < ? ORDER BY target.id";
const UNCONFIRMED: &str = "SELECT EXISTS (SELECT 1 FROM drift WHERE ended_at IS NULL AND state = 'pending' \
     AND facet <> 'scan' AND first_at >= ?) AS found";
const HELD: &str =
    "SELECT * FROM notice WHERE message IS NULL AND dropped = 0 AND due_at = ? ORDER BY receiver, at, revision, id";

impl Store {
    /// Targets of the inventory that no report has told of.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn unreported(&self) -> Result<Vec<TargetRow>> {
        let rows = sqlx::query(UNREPORTED).fetch_all(&mut *self.read().await?).await?;
        rows.iter().map(targets::read).collect()
    }

    /// What the newest scan of each of `targets` says of what it looked at; without any value. What is buffered is not
    /// in it: [`Store::flush_runs`] comes first.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn looks(&self, targets: &[TargetId]) -> Result<BTreeMap<TargetId, Look>> {
        let rows = sqlx::query(LOOKS).bind(to_json(targets)?).fetch_all(&mut *self.read().await?).await?;
        rows.iter().map(look).collect()
    }

    /// The first look of each of `targets` that saw something, as far as history goes back.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn first_looks(&self, targets: &[TargetId]) -> Result<BTreeMap<TargetId, Look>> {
        let rows = sqlx::query(FIRST_LOOKS).bind(to_json(targets)?).fetch_all(&mut *self.read().await?).await?;
        rows.iter().map(look).collect()
    }

    /// Targets that were not looked at since `at`, though they were before.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn not_looked_at(&self, at: Timestamp) -> Result<Vec<TargetId>> {
        let rows = sqlx::query(NOT_LOOKED_AT).bind(millis(at)).fetch_all(&mut *self.read().await?).await?;
        rows.iter().map(|row| row.parsed("id")).collect()
    }

    /// Whether drift that was first seen since `at` is not confirmed yet.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn is_unconfirmed(&self, at: Timestamp) -> Result<bool> {
        let row = sqlx::query(UNCONFIRMED).bind(millis(at)).fetch_one(&mut *self.read().await?).await?;
        row.flag("found")
    }

    /// Notices that wait for exactly `due_at`: those that are held for one message.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn held_notices(&self, due_at: Timestamp) -> Result<Vec<Notice>> {
        let rows = sqlx::query(HELD).bind(millis(due_at)).fetch_all(&mut *self.read().await?).await?;
        rows.iter().map(outbox::read_notice).collect()
    }
}

impl Writer<'_> {
    /// Posts the report that tells of `targets`, and notes that it does: each is in exactly one.
    ///
    /// # Errors
    /// As SQLite says; nothing is posted or noted then.
    pub async fn report(
        &mut self,
        bulletin: &Bulletin,
        targets: &[TargetId],
        to: &[String],
        now: Timestamp,
    ) -> Result<()> {
        let mut tx = self.begin().await?;
        sqlx::query("UPDATE target SET report = ? WHERE report IS NULL AND id IN (SELECT value FROM json_each(?))")
            .bind(&bulletin.key)
            .bind(to_json(targets)?)
            .execute(&mut *tx)
            .await?;
        for receiver in to {
            outbox::post(&mut tx, bulletin, receiver, now).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Tells `notices` of one receiver by one message: what is owed is paid, and noted as told; `reminders` are owed from
    /// now on.
    ///
    /// # Errors
    /// As SQLite says, and when a notice was paid meanwhile; nothing is posted then.
    pub async fn tell_together(
        &mut self,
        receiver: &str,
        bulletin: &Bulletin,
        notices: &[Notice],
        reminders: &[Notice],
        now: Timestamp,
    ) -> Result<()> {
        let mut tx = self.begin().await?;
        outbox::post(&mut tx, bulletin, receiver, now).await?;
        let message = bulletin.message_id(receiver);
        for notice in notices {
            outbox::pay(&mut tx, notice, &message, now).await?;
        }
        for reminder in reminders {
            outbox::owe(&mut tx, reminder).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Lets held notices go by themselves, now.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn release(&mut self, notices: &[Notice], now: Timestamp) -> Result<()> {
        let ids: Vec<&str> = notices.iter().map(|notice| notice.id.as_str()).collect();
        let mut tx = self.begin().await?;
        sqlx::query("UPDATE notice SET due_at = ? WHERE message IS NULL AND id IN (SELECT value FROM json_each(?))")
            .bind(millis(now))
            .bind(to_json(&ids)?)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        Ok(())
    }

    /// Adds a line to the history that is about driftd itself.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn note(&mut self, line: &HistoryLine) -> Result<()> {
        let mut tx = self.begin().await?;
        history::append(&mut tx, None, line).await?;
        tx.commit().await?;
        Ok(())
    }
}

fn look(row: &SqliteRow) -> Result<(TargetId, Look)> {
    let detail: ScanDetail = from_json("scan", &unpack("scan", row.bytes("detail")?, row.u64("detail_size")?)?)?;
    let look = Look {
        outcome: row.variant("outcome")?,
        digest: row.digest("snapshot")?,
        coverage: detail.coverage,
        unseen: detail.unseen,
        checks: detail.checks,
    };
    Ok((row.parsed("target")?, look))
}
