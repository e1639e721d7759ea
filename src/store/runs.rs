//! Runs: scans in a row that showed the same and ended alike are one row, however many they are.
//!
//! A scan that changes nothing writes nothing: it extends the newest run here in memory, with what is remembered of
//! the target, and goes out in a batch once a minute. A crash loses at most that minute's counts and last-seen
//! times; whatever is owed to somebody is never buffered (see [`super::commit`]).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::columns::{Columns as _, count, millis};
use super::error::StoreError;
use super::memory::Remembered;
use super::snapshots::{self, ScanDetail};
use super::values::pack;
use super::views::Run;
use crate::model::digest::Digest;
use crate::model::observation::Outcome;
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetId;

pub(super) const NEWEST: &str = "SELECT id, snapshot, outcome, to_at, to_seq, scans, detail_digest FROM run \
     WHERE target = ? ORDER BY id DESC LIMIT 1";
const LIST: &str = "SELECT id, snapshot, outcome, from_at, to_at, from_seq, to_seq, scans FROM run \
     WHERE target = ? ORDER BY id DESC LIMIT ?";

/// The newest run of a target, perhaps further than its row says.
#[derive(Clone, Debug)]
pub(super) struct OpenRun {
    pub(super) id: i64,
    pub(super) snapshot: Digest,
    pub(super) outcome: Outcome,
    pub(super) to_at: Timestamp,
    pub(super) to_seq: u64,
    pub(super) scans: u64,
    detail_digest: Digest,
    /// The newest scan's detail, when it is not the row's any more.
    pub(super) detail: Option<String>,
}

impl OpenRun {
    /// Whether a scan like this belongs to the run.
    pub(super) fn takes(&self, scan: &Snapshot) -> bool {
        self.snapshot == scan.digest && self.outcome == scan.outcome
    }

    /// The run with one more scan.
    pub(super) fn extended(mut self, scan: &Snapshot, seq: u64) -> Result<Self, StoreError> {
        let detail = ScanDetail::of(scan).text()?;
        let digest = Digest::of_bytes(detail.as_bytes());
        if digest != self.detail_digest {
            self.detail_digest = digest;
            self.detail = Some(detail);
        }
        self.to_at = scan.at;
        self.to_seq = seq;
        self.scans += 1;
        Ok(self)
    }
}

/// What the row of a target will hold once it is written.
#[derive(Clone, Debug)]
pub(super) struct Buffered {
    /// The run, if scans extended it.
    pub(super) run: Option<OpenRun>,
    /// What is remembered.
    pub(super) memory: Remembered,
}

/// Targets whose rows are behind. Its lock is held for moments, never across an await; entries change only under
/// the writer's lock.
#[derive(Debug, Default)]
pub(super) struct Buffer(Mutex<BTreeMap<TargetId, Buffered>>);

impl Buffer {
    pub(super) fn get(&self, target: &TargetId) -> Option<Buffered> {
        self.entries().get(target).cloned()
    }

    pub(super) fn put(&self, target: TargetId, entry: Buffered) {
        self.entries().insert(target, entry);
    }

    pub(super) fn remove(&self, target: &TargetId) -> Option<Buffered> {
        self.entries().remove(target)
    }

    /// Up to `limit` targets, in order from `after` on.
    pub(super) fn part(&self, after: Option<&TargetId>, limit: usize) -> Vec<(TargetId, Buffered)> {
        use std::ops::Bound;
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let entries = self.entries();
        let range = entries.range::<TargetId, _>((start, Bound::Unbounded)).take(limit);
        range.map(|(id, entry)| (id.clone(), entry.clone())).collect()
    }

    /// What is remembered, of all targets whose rows are behind.
    pub(super) fn memories(&self) -> BTreeMap<TargetId, Remembered> {
        self.entries().iter().map(|(id, entry)| (id.clone(), entry.memory.clone())).collect()
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, BTreeMap<TargetId, Buffered>> {
        // No code that holds the lock can leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The newest run of `target`, as its row says.
pub(super) async fn newest(conn: &mut SqliteConnection, target: &TargetId) -> Result<Option<OpenRun>, StoreError> {
    let row = sqlx::query(NEWEST).bind(target.as_str()).fetch_optional(conn).await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(OpenRun {
        id: row.int("id")?,
        snapshot: row.digest("snapshot")?,
        outcome: row.variant("outcome")?,
        to_at: row.time("to_at")?,
        to_seq: row.u64("to_seq")?,
        scans: row.u64("scans")?,
        detail_digest: row.digest("detail_digest")?,
        detail: None,
    }))
}

/// Begins a run with its first scan.
pub(super) async fn begin(
    conn: &mut SqliteConnection,
    target: &TargetId,
    scan: &Snapshot,
    seq: u64,
) -> Result<(), StoreError> {
    snapshots::put(conn, scan).await?;
    let detail = ScanDetail::of(scan).text()?;
    let packed = pack(detail.as_bytes())?;
    sqlx::query(
        "INSERT INTO run (target, snapshot, outcome, from_at, to_at, from_seq, to_seq, scans, \
         detail, detail_size, detail_digest) VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)",
    )
    .bind(target.as_str())
    .bind(&scan.digest.bytes()[..])
    .bind(scan.outcome.as_str())
    .bind(millis(scan.at))
    .bind(millis(scan.at))
    .bind(count(seq))
    .bind(count(seq))
    .bind(packed.body)
    .bind(packed.size)
    .bind(&Digest::of_bytes(detail.as_bytes()).bytes()[..])
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes how far a run has come.
pub(super) async fn write(conn: &mut SqliteConnection, run: &OpenRun) -> Result<(), StoreError> {
    sqlx::query("UPDATE run SET to_at = ?, to_seq = ?, scans = ? WHERE id = ?")
        .bind(millis(run.to_at))
        .bind(count(run.to_seq))
        .bind(count(run.scans))
        .bind(run.id)
        .execute(&mut *conn)
        .await?;
    if let Some(detail) = &run.detail {
        let packed = pack(detail.as_bytes())?;
        sqlx::query("UPDATE run SET detail = ?, detail_size = ?, detail_digest = ? WHERE id = ?")
            .bind(packed.body)
            .bind(packed.size)
            .bind(&run.detail_digest.bytes()[..])
            .bind(run.id)
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// The newest runs of `target`, the newest first, what is buffered included.
pub(super) async fn list(
    conn: &mut SqliteConnection,
    target: &TargetId,
    limit: u32,
    buffered: Option<&OpenRun>,
) -> Result<Vec<Run>, StoreError> {
    let rows = sqlx::query(LIST).bind(target.as_str()).bind(limit).fetch_all(conn).await?;
    rows.iter()
        .map(|row| {
            let id = row.int("id")?;
            let ahead = buffered.filter(|run| run.id == id);
            Ok(Run {
                snapshot: row.digest("snapshot")?,
                outcome: row.variant("outcome")?,
                from_at: row.time("from_at")?,
                to_at: ahead.map_or_else(|| row.time("to_at"), |run| Ok(run.to_at))?,
                from_seq: row.u64("from_seq")?,
                to_seq: ahead.map_or_else(|| row.u64("to_seq"), |run| Ok(run.to_seq))?,
                scans: ahead.map_or_else(|| row.u64("scans"), |run| Ok(run.scans))?,
            })
        })
        .collect()
}
