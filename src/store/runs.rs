//! Runs: scans in a row that showed the same and ended alike are one row, however many they are.
//!
//! A scan that changes nothing writes nothing: it extends the newest run here in memory, with what is remembered of
//! the target, and goes out in a batch once a minute. A crash loses at most that minute's counts and last-seen
//! times; whatever is owed to somebody is never buffered (see [`super::commit`]).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::columns::{Columns as _, count, millis};
use super::error::StoreError;
use super::memory::{Quiet, Remembered};
use super::snapshots::{self, ScanDetail};
use super::values::pack;
use super::views::{Run, Unchanged};
use crate::model::digest::Digest;
use crate::model::observation::Outcome;
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetId;

pub(super) const NEWEST: &str = "SELECT id, snapshot, outcome, to_at, to_seq, scans, detail_digest FROM run \
     WHERE target = ? ORDER BY id DESC LIMIT 1";
pub(super) const EXTEND: &str = "UPDATE run SET to_at = ?, to_seq = ?, scans = scans + ? \
     WHERE id = (SELECT max(id) FROM run WHERE target = ?) AND snapshot = ?";
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

    /// The run with one more scan, which showed the same.
    pub(super) fn lengthened(mut self, scan: &Unchanged<'_>) -> Result<Self, StoreError> {
        if let Some(whole) = scan.scan {
            return self.extended(whole, scan.seq);
        }
        self.to_at = scan.began;
        self.to_seq = scan.seq;
        self.scans += 1;
        Ok(self)
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

/// How far ahead of its rows a target is.
#[expect(clippy::large_enum_variant, reason = "some 300 bytes a target that was scanned within the last minute")]
#[derive(Clone, Debug)]
pub(super) enum Buffered {
    /// This is what they will hold.
    Whole {
        /// The run, if scans extended it.
        run: Option<OpenRun>,
        /// What is remembered.
        memory: Remembered,
    },
    /// So many more scans showed what they tell of: the usual case.
    Tail(Tail),
}

/// Complete scans that showed what the newest run shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    /// What they showed.
    pub(super) snapshot: Digest,
    /// Number of the last one.
    pub(super) seq: u64,
    /// When the last one began.
    pub(super) began: Timestamp,
    /// What they change.
    pub(super) quiet: Quiet,
}

impl Tail {
    pub(super) fn of(scan: &Unchanged<'_>) -> Self {
        let quiet = Quiet { scans: 1, at: scan.ended, fresh: scan.fresh.then_some(scan.ended) };
        Self { snapshot: scan.snapshot, seq: scan.seq, began: scan.began, quiet }
    }

    fn then(self, next: Self) -> Self {
        let Quiet { scans, at, fresh } = next.quiet;
        let quiet = Quiet { scans: self.quiet.scans.saturating_add(scans), at, fresh: fresh.or(self.quiet.fresh) };
        Self { quiet, ..next }
    }

    /// Whether a row whose newest scan is `to_seq` is the one it goes on from.
    const fn follows(&self, to_seq: u64) -> bool {
        to_seq.saturating_add(self.quiet.scans as u64) == self.seq
    }
}

/// What a run's row does not say yet.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    pub(super) to_at: Timestamp,
    pub(super) to_seq: u64,
    pub(super) scans: u64,
    pub(super) detail: Option<String>,
}

impl Buffered {
    /// What it says of the run whose row this is.
    pub(super) fn of_run(&self, row: &SqliteRow) -> Result<Option<Ahead>, StoreError> {
        match self {
            Self::Whole { run, .. } => {
                let id = row.int("id")?;
                let run = run.as_ref().filter(|run| run.id == id);
                let ahead = |run: &OpenRun| Ahead {
                    to_at: run.to_at,
                    to_seq: run.to_seq,
                    scans: run.scans,
                    detail: run.detail.clone(),
                };
                Ok(run.map(ahead))
            }
            Self::Tail(tail) if tail.follows(row.u64("to_seq")?) => Ok(Some(Ahead {
                to_at: tail.began,
                to_seq: tail.seq,
                scans: row.u64("scans")? + u64::from(tail.quiet.scans),
                detail: None,
            })),
            Self::Tail(_) => Ok(None),
        }
    }
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

    /// One more scan that showed the same. False when what is buffered is more than a tail: then that is lengthened.
    pub(super) fn extend(&self, target: &TargetId, tail: Tail) -> bool {
        let mut entries = self.entries();
        match entries.get_mut(target) {
            Some(Buffered::Whole { .. }) => return false,
            Some(Buffered::Tail(before)) => *before = before.then(tail),
            None => drop(entries.insert(target.clone(), Buffered::Tail(tail))),
        }
        true
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

    /// All targets whose rows are behind.
    pub(super) fn all(&self) -> BTreeMap<TargetId, Buffered> {
        self.entries().clone()
    }

    fn entries(&self) -> std::sync::MutexGuard<'_, BTreeMap<TargetId, Buffered>> {
        // No code that holds the lock can leave the map half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The newest run of `target`, what is buffered included.
pub(super) async fn open(
    conn: &mut SqliteConnection,
    target: &TargetId,
    buffered: Option<&Buffered>,
) -> Result<Option<OpenRun>, StoreError> {
    match buffered {
        Some(Buffered::Whole { run: Some(run), .. }) => Ok(Some(run.clone())),
        Some(Buffered::Whole { run: None, .. }) | None => newest(conn, target).await,
        Some(Buffered::Tail(tail)) => {
            let mut run = newest(conn, target).await?;
            if let Some(run) = run.as_mut().filter(|run| tail.follows(run.to_seq)) {
                run.to_at = tail.began;
                run.to_seq = tail.seq;
                run.scans += u64::from(tail.quiet.scans);
            }
            Ok(run)
        }
    }
}

/// The newest run of `target`, as its row says.
async fn newest(conn: &mut SqliteConnection, target: &TargetId) -> Result<Option<OpenRun>, StoreError> {
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

/// Writes how far the newest run has come.
pub(super) async fn write_tail(conn: &mut SqliteConnection, target: &TargetId, tail: &Tail) -> Result<(), StoreError> {
    sqlx::query(EXTEND)
        .bind(millis(tail.began))
        .bind(count(tail.seq))
        .bind(tail.quiet.scans)
        .bind(target.as_str())
        .bind(&tail.snapshot.bytes()[..])
        .execute(conn)
        .await?;
    Ok(())
}

/// The newest runs of `target`, the newest first, what is buffered included.
pub(super) async fn list(
    conn: &mut SqliteConnection,
    target: &TargetId,
    limit: u32,
    buffered: Option<&Buffered>,
) -> Result<Vec<Run>, StoreError> {
    let rows = sqlx::query(LIST).bind(target.as_str()).bind(limit).fetch_all(conn).await?;
    rows.iter()
        .map(|row| {
            let ahead = buffered.map(|buffered| buffered.of_run(row)).transpose()?.flatten();
            let ahead = ahead.as_ref();
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
