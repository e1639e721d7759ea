//! The store: typed methods over SQLite; every change of a scan is one transaction.
//!
//! It decides how nouns are kept and what changes together; what they mean is decided elsewhere. One connection
//! writes, behind a lock that is also what makes *load memory, settle, commit* safe; a few read beside it and never
//! wait for it. What a method returns is a consistent view, with what is still buffered laid over.

mod backup;
mod baselines;
mod carry;
mod check;
mod columns;
mod commit;
mod conditions;
mod drifts;
mod error;
mod gauges;
mod health;
mod history;
mod incidents;
mod inventory;
mod kin;
mod ledger;
mod lock;
pub mod marks;
mod memory;
mod open;
mod outbox;
mod overview;
mod prefix;
mod prune;
mod put_back;
mod references;
mod restore;
mod resume;
mod rounds;
mod runs;
mod schema;
mod snapshots;
mod targets;
mod ticking;
mod transaction;
mod values;
mod views;
mod waiting;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use sqlx::{Sqlite, SqliteConnection, SqlitePool, Transaction};

use crate::model::alert::AlertType;
use crate::model::baseline::BaselineFacet;
use crate::model::bulletin::Bulletin;
use crate::model::condition::Condition;
use crate::model::incident::{Incident, IncidentId};
use crate::model::memory::{LedgerHead, Memory};
use crate::model::notice::{Body, Message, Notice, Told};
use crate::model::target::TargetId;

pub use backup::{CopyError, Replace};
pub use check::Checked;
pub use error::StoreError;
pub use health::Health;
pub use inventory::InventoryFile;
pub use lock::StoreLock;
pub use overview::Overview;
pub use prune::{Horizon, Step, Sweep};
pub use restore::{RestoreError, Restored};
pub use views::{
    BaselineGauge, Carry, DriftFilter, Found, Gauges, HistoryRow, IncidentCount, IncidentState, LastScan, LedgerCheck,
    LedgerFault, LedgerRow, MessageFilter, NoticeRow, Pending, Resumed, Retry, Run, Standing, StoredSnapshot, Synced,
    TargetDrift, TargetRow, TargetState, Tried, Unchanged, UnitCount,
};
pub use writer::Writer;

type Result<T> = std::result::Result<T, StoreError>;

/// The store; its clones are one.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    place: health::Place,
    health: tokio::sync::watch::Sender<Health>,
    readers: SqlitePool,
    writer: tokio::sync::Mutex<WriteSide>,
    buffer: runs::Buffer,
    incident_ids: Mutex<Arc<BTreeSet<IncidentId>>>,
}

/// What only the writer touches.
#[derive(Debug)]
struct WriteSide {
    conn: SqliteConnection,
    /// A transaction was begun, and neither committed nor undone.
    in_transaction: bool,
}

impl Inner {
    fn incident_ids(&self) -> Arc<BTreeSet<IncidentId>> {
        Arc::clone(&self.incident_ids.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ids that may be about to be used: one too many does no harm, one too few would be used twice.
    fn note_incidents(&self, ids: impl Iterator<Item = IncidentId>) {
        let mut known = self.incident_ids.lock().unwrap_or_else(PoisonError::into_inner);
        for id in ids {
            if !known.contains(&id) {
                Arc::make_mut(&mut known).insert(id);
            }
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

/// Opening and closing.
impl Store {
    /// Opens the database at `path`, made (readable by us alone) if there is none, and brings its schema up to date.
    ///
    /// Take the lock first: see [`Store::lock`].
    ///
    /// # Errors
    /// [`StoreError::Newer`] and [`StoreError::Foreign`] for what this program must not touch, and what SQLite says.
    pub async fn open(path: &Path) -> Result<Self> {
        let mut conn = open::writer(path).await?;
        let ids = incidents::ids(&mut conn).await?;
        let inner = Inner {
            path: path.to_owned(),
            place: health::Place::of(path)?,
            health: tokio::sync::watch::Sender::new(Health::Fine),
            readers: open::readers(path),
            writer: tokio::sync::Mutex::new(WriteSide::new(conn)),
            buffer: runs::Buffer::default(),
            incident_ids: Mutex::new(Arc::new(ids)),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Brings the database at `path` up to this program's schema; the versions before and after. None is made.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub async fn migrate(path: &Path) -> Result<(i64, i64)> {
        open::migrate(path).await
    }

    /// Takes the right to write the store at `path`; it is given back when the guard is dropped.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another process (or another guard of this one) has it.
    pub fn lock(path: &Path) -> Result<StoreLock> {
        StoreLock::take(path)
    }

    /// Writes what is buffered and stops reading; the writer's connection closes with the last clone.
    ///
    /// # Errors
    /// As [`Store::flush_runs`].
    pub async fn close(&self) -> Result<()> {
        self.flush_runs().await?;
        self.inner.readers.close().await;
        Ok(())
    }

    /// The one writer, once nobody else writes.
    pub async fn writer(&self) -> Writer<'_> {
        let mut side = self.inner.writer.lock().await;
        side.clean().await;
        Writer { store: self, side }
    }

    /// Bytes of the database and its log.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the file is not there any more.
    pub fn size_bytes(&self) -> Result<u64> {
        open::size(&self.inner.path)
    }

    /// A view for several queries: of the file that was opened, never of one that has come to its place.
    async fn read(&self) -> Result<Transaction<'static, Sqlite>> {
        self.stands()?;
        open::read(&self.inner.readers).await
    }
}

/// Targets and their snapshots.
impl Store {
    /// All targets, by id.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn targets(&self) -> Result<Vec<TargetRow>> {
        let mut ahead = self.inner.buffer.all();
        let mut rows = targets::all(&mut *self.read().await?).await?;
        for row in &mut rows {
            if let Some(buffered) = ahead.remove(&row.summary.id) {
                targets::overlay(row, &buffered);
            }
        }
        Ok(rows)
    }

    /// One target.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn target(&self, id: &TargetId) -> Result<Option<TargetRow>> {
        let ahead = self.inner.buffer.get(id);
        let mut row = targets::one(&mut *self.read().await?, id).await?;
        if let (Some(row), Some(ahead)) = (&mut row, &ahead) {
            targets::overlay(row, ahead);
        }
        Ok(row)
    }

    /// A target's past, to be looked at; what is to be settled comes from [`Writer::memory`].
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn memory(&self, target: &TargetId) -> Result<Memory> {
        let ahead = self.inner.buffer.get(target);
        memory::load(&mut *self.read().await?, target, &[], ahead, self.incident_ids()).await
    }

    /// What the scanning of `targets` goes on from: three queries for all of them, and no values. One that was never
    /// scanned is not in it.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn resume(&self, targets: &[TargetId]) -> Result<BTreeMap<TargetId, Resumed>> {
        // Before the rows are read, so that what is flushed meanwhile is in one of the two.
        let ahead = targets.iter().filter_map(|id| Some((id.clone(), self.inner.buffer.get(id)?))).collect();
        resume::load(&mut *self.read().await?, targets, ahead).await
    }

    /// What the newest scan of `target` saw.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn latest_snapshot(&self, target: &TargetId) -> Result<Option<StoredSnapshot>> {
        let ahead = self.inner.buffer.get(target);
        snapshots::latest(&mut *self.read().await?, target, ahead.as_ref()).await
    }

    /// The snapshot of `target` whose digest begins with `prefix`: eight hexadecimal digits or more, with or without
    /// `sha256:`.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn snapshot_by_prefix(&self, target: &TargetId, prefix: &str) -> Result<Found<StoredSnapshot>> {
        let Some(prefix) = prefix::DigestPrefix::parse(prefix) else { return Ok(Found::None) };
        let ahead = self.inner.buffer.get(target);
        snapshots::by_prefix(&mut *self.read().await?, target, &prefix, ahead.as_ref()).await
    }

    /// The newest runs of `target`, the newest first.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn runs(&self, target: &TargetId, limit: u32) -> Result<Vec<Run>> {
        let ahead = self.inner.buffer.get(target);
        runs::list(&mut *self.read().await?, target, limit, ahead.as_ref()).await
    }

    /// What `target` is held to, by facet, without its approvals (those are in [`Store::memory`]).
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn baselines(&self, target: &TargetId) -> Result<Vec<BaselineFacet>> {
        let mut tx = self.read().await?;
        let held = baselines::living(&mut tx, target).await?;
        let mut shelf = values::Shelf::default();
        held.iter().for_each(|entry| entry.want(&mut shelf));
        shelf.load(&mut tx).await?;
        Ok(baselines::by_facet(held, &shelf)?.into_values().collect())
    }
}

/// Drifts, incidents, decisions and what became of them.
impl Store {
    /// Drifts, the newest first.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn drifts(&self, filter: &DriftFilter) -> Result<Vec<TargetDrift>> {
        drifts::list(&mut *self.read().await?, filter).await
    }

    /// The drift whose fingerprint begins with `prefix` (eight hexadecimal digits or more): the one that lives, else
    /// the one that ended last.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn drift(&self, prefix: &str) -> Result<Found<TargetDrift>> {
        let Some(prefix) = prefix::DigestPrefix::parse(prefix) else { return Ok(Found::None) };
        drifts::by_fingerprint(&mut *self.read().await?, &prefix).await
    }

    /// Incidents, the oldest first.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn incidents(&self, open_only: bool) -> Result<Vec<Incident>> {
        incidents::list(&mut *self.read().await?, open_only).await
    }

    /// One incident.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn incident(&self, id: IncidentId) -> Result<Option<Incident>> {
        incidents::one(&mut *self.read().await?, id).await
    }

    /// Ids of all incidents there ever were.
    pub fn incident_ids(&self) -> Arc<BTreeSet<IncidentId>> {
        self.inner.incident_ids()
    }

    /// What a message about a revision of an incident says: about `event`, or about the last thing at that revision.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn revision(
        &self,
        incident: IncidentId,
        revision: u32,
        event: Option<AlertType>,
    ) -> Result<Option<Body>> {
        incidents::revision(&mut *self.read().await?, incident, revision, event).await
    }

    /// The newest lines of the history, of one target or of all, the newest first.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn history(&self, target: Option<&TargetId>, limit: u32) -> Result<Vec<HistoryRow>> {
        history::newest(&mut *self.read().await?, target, limit).await
    }

    /// Entries of the ledger from number `from` on, at most `limit`.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn ledger(&self, from: u64, limit: u32) -> Result<Vec<LedgerRow>> {
        ledger::range(&mut *self.read().await?, from, limit).await
    }

    /// The newest entry of the ledger.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn ledger_head(&self) -> Result<LedgerHead> {
        ledger::head(&mut *self.read().await?).await
    }

    /// Follows the ledger's chain from its first entry to its last.
    ///
    /// # Errors
    /// As SQLite says; a broken chain is an answer, not an error.
    pub async fn verify_ledger(&self) -> Result<LedgerCheck> {
        ledger::verify(&mut *self.read().await?).await
    }
}

/// What is owed.
impl Store {
    /// All waiting notices of each receiver and incident of which one is due, in the order in which they were made.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn due_notices(&self, now: Timestamp) -> Result<Vec<Notice>> {
        outbox::due_notices(&mut *self.read().await?, now).await
    }

    /// All notices of an incident, the oldest first, and what became of each.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn notices(&self, incident: IncidentId) -> Result<Vec<NoticeRow>> {
        outbox::notices_of(&mut *self.read().await?, incident).await
    }

    /// What receivers were told of `incidents`.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn told(&self, incidents: &[IncidentId]) -> Result<Vec<Told>> {
        outbox::told(&mut *self.read().await?, incidents).await
    }

    /// When there is something to fold or to send.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>> {
        outbox::next_due(&mut *self.read().await?, now).await
    }

    /// Receivers and incidents of which a message is on its way.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn undelivered(&self) -> Result<BTreeSet<(String, IncidentId)>> {
        outbox::undelivered(&mut *self.read().await?).await
    }

    /// How `receiver` fares.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn condition(&self, receiver: &str) -> Result<Condition> {
        conditions::of(&mut *self.read().await?, receiver).await
    }

    /// How receivers fare, by name; those that never failed are not in it.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn conditions(&self) -> Result<Vec<(String, Condition)>> {
        conditions::all(&mut *self.read().await?).await
    }

    /// Those of `receivers` to whom a bulletin of this key was posted.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn posted(&self, bulletin: &Bulletin, receivers: &[String]) -> Result<Vec<String>> {
        outbox::posted(&mut *self.read().await?, bulletin, receivers).await
    }

    /// Messages to be sent now, the longest due first, at most 256. Of one receiver and incident only the earliest
    /// that is pending: a later one waits for it.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn due_messages(&self, now: Timestamp) -> Result<Vec<Message>> {
        outbox::due_messages(&mut *self.read().await?, now).await
    }

    /// Messages, the newest first.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn messages(&self, filter: &MessageFilter) -> Result<Vec<Message>> {
        outbox::list(&mut *self.read().await?, filter).await
    }

    /// The message whose id is `id`, or begins with it (eight characters or more).
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn message(&self, id: &str) -> Result<Found<Message>> {
        outbox::by_id(&mut *self.read().await?, id).await
    }

    /// What is owed to each receiver that is or was owed anything undelivered.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn pending_counts(&self) -> Result<Vec<Pending>> {
        outbox::pending(&mut *self.read().await?).await
    }
}

/// What metrics say.
impl Store {
    /// Counts of units, incidents and baselines.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn gauges(&self, now: Timestamp) -> Result<Gauges> {
        // Read each minute: damage that the writer has not come upon shows here.
        self.read_so(gauges::load(&mut *self.read().await?, now).await)
    }
}

#[cfg(test)]
mod tests;
