//! Everything that writes, one at a time.

use jiff::Timestamp;
use tokio::sync::MutexGuard;

use super::runs::Buffered;
use super::transaction::Tx;
use super::{
    Result, Retry, Store, Synced, Tried, Unchanged, WriteSide, commit, conditions, memory, outbox, runs, targets,
};
use crate::model::bulletin::Bulletin;
use crate::model::condition::Fate;
use crate::model::memory::Memory;
use crate::model::notice::Fold;
use crate::model::settlement::Settlement;
use crate::model::snapshot::Snapshot;
use crate::model::target::{TargetId, TargetSummary};

/// Targets written in one transaction of a flush, so that a commit never waits for all of them.
const FLUSHED_AT_ONCE: usize = 500;

/// The one writer. Whoever holds it may load a target's memory, settle it and commit: nothing changes in between.
pub struct Writer<'s> {
    pub(super) store: &'s Store,
    pub(super) side: MutexGuard<'s, WriteSide>,
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("store", self.store).finish_non_exhaustive()
    }
}

impl Writer<'_> {
    /// Everything the core needs to know of a target's past.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn memory(&mut self, target: &TargetId) -> Result<Memory> {
        self.memory_beside(target, &[]).await
    }

    /// The same, with what keeps us from seeing `siblings`: other targets of its host. Those that share an incident
    /// with it are always there.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn memory_beside(&mut self, target: &TargetId, siblings: &[TargetId]) -> Result<Memory> {
        self.side.clean().await;
        let ahead = self.store.inner.buffer.get(target);
        let loaded = memory::load(&mut self.side.conn, target, siblings, ahead, self.store.incident_ids()).await;
        self.store.read_so(loaded)
    }

    /// Writes all of a settlement, with the scan that it came from (if it did), in one transaction; on an error
    /// nothing of it. One that changes only counts and last-seen times, and whose scan showed what the one before
    /// showed, is buffered until [`Store::flush_runs`].
    ///
    /// # Errors
    /// [`StoreError::Ledger`](super::StoreError::Ledger) when its entries do not continue the ledger, and what SQLite says.
    pub async fn commit(&mut self, settlement: &Settlement, scan: Option<&Snapshot>, now: Timestamp) -> Result<()> {
        commit::commit(self, settlement, scan, now).await
    }

    /// Buffers an unchanged scan of `target` until [`Store::flush_runs`].
    ///
    /// # Errors
    /// As SQLite says; and [`StoreError::Other`](super::StoreError::Other) when the newest run shows something else, which is a fault of ours.
    pub async fn extend(&mut self, target: &TargetId, scan: &Unchanged<'_>) -> Result<()> {
        commit::extend(self, target, scan).await
    }

    /// Posts `bulletins` to the receivers called `to`, in one transaction: a message for each of both, in this order.
    /// What was posted to a receiver under the same key before is not posted to it again, delivered or not. Says how
    /// many messages there are now that were not there; whoever posts wakes the outbox.
    ///
    /// # Errors
    /// As SQLite says; nothing is posted then.
    pub async fn post(&mut self, bulletins: &[Bulletin], to: &[String], now: Timestamp) -> Result<u64> {
        let mut tx = self.begin().await?;
        let mut posted = 0;
        for bulletin in bulletins {
            for receiver in to {
                posted += u64::from(outbox::post(&mut tx, bulletin, receiver, now).await?);
            }
        }
        tx.commit().await?;
        Ok(posted)
    }

    /// Writes what a try came to, in one transaction: what became of the message, how its receiver fares, and what is
    /// posted about that.
    ///
    /// # Errors
    /// As SQLite says; nothing of it is written then.
    pub async fn tried(&mut self, tried: &Tried<'_>, now: Timestamp) -> Result<()> {
        let store = self.store;
        let written = self.try_all(tried, now).await;
        store.wrote(written)
    }

    async fn try_all(&mut self, tried: &Tried<'_>, now: Timestamp) -> Result<()> {
        let mut tx = self.begin().await?;
        outbox::fate(&mut tx, tried.message, tried.fate, now).await?;
        conditions::put(&mut tx, tried.receiver, tried.condition).await?;
        if tried.recovered {
            conditions::hasten(&mut tx, tried.receiver, now).await?;
        }
        for (bulletin, to) in tried.posts {
            for receiver in to {
                outbox::post(&mut tx, bulletin, receiver, now).await?;
            }
        }
        tx.commit().await?;
        Ok(())
    }

    pub(super) async fn begin(&mut self) -> Result<Tx<'_>> {
        self.side.begin(self.store).await
    }
}

impl Store {
    /// Makes the store's targets those of the inventory: new ones join, those that left are retired, those that
    /// return resume with their baseline. Says what changed; the drifts of retired targets are for the core to end.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn sync_targets(&self, inventory: &[TargetSummary], now: Timestamp) -> Result<Synced> {
        let mut writer = self.writer().await;
        let synced = async {
            let mut tx = writer.begin().await?;
            let synced = targets::sync(&mut tx, inventory, now).await?;
            tx.commit().await?;
            Ok(synced)
        };
        self.wrote(synced.await)
    }

    /// Writes the unchanged scans that are buffered, a part at a time. Says of how many targets.
    ///
    /// # Errors
    /// As SQLite says; what could not be written stays buffered.
    pub async fn flush_runs(&self) -> Result<usize> {
        let mut flushed = 0;
        let mut after: Option<TargetId> = None;
        loop {
            let mut writer = self.writer().await;
            let part = self.inner.buffer.part(after.as_ref(), FLUSHED_AT_ONCE);
            let Some((last, _)) = part.last() else { return Ok(flushed) };
            after = Some(last.clone());
            self.wrote(flush(&mut writer, &part).await)?;
            // Only now, so that readers see no gap; nobody else touches an entry while the writer is held.
            for (target, _) in &part {
                self.inner.buffer.remove(target);
            }
            flushed += part.len();
        }
    }

    /// Makes messages of notices, drops those that are not told and puts off those that wait longer; notes what receivers
    /// are told, and what they are owed next. All or nothing.
    ///
    /// # Errors
    /// [`StoreError::NotWaiting`](super::StoreError::NotWaiting) when a notice was folded or dropped before, and what SQLite says.
    pub async fn fold(&self, fold: &Fold) -> Result<()> {
        let mut writer = self.writer().await;
        let folded = async {
            let mut tx = writer.begin().await?;
            outbox::fold(&mut tx, fold).await?;
            tx.commit().await?;
            Ok(())
        };
        self.wrote(folded.await)
    }

    /// What became of a message after a try, at `now`, without anything about its receiver.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn record_fate(&self, id: &str, fate: &Fate, now: Timestamp) -> Result<()> {
        let mut writer = self.writer().await;
        let marked = async {
            let mut tx = writer.begin().await?;
            outbox::fate(&mut tx, id, fate, now).await?;
            tx.commit().await?;
            Ok(())
        };
        self.wrote(marked.await)
    }

    /// Has all that waits for `receiver` tried now, also when it rests or is suspended.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn hasten(&self, receiver: &str, now: Timestamp) -> Result<()> {
        let mut writer = self.writer().await;
        let hastened = async {
            let mut tx = writer.begin().await?;
            conditions::hasten(&mut tx, receiver, now).await?;
            tx.commit().await?;
            Ok(())
        };
        self.wrote(hastened.await)
    }

    /// Has messages sent again, now. Says how many; a delivered one is never sent again.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn retry(&self, which: &Retry, now: Timestamp) -> Result<u64> {
        let mut writer = self.writer().await;
        let marked = async {
            let mut tx = writer.begin().await?;
            let marked = outbox::retry(&mut tx, which, now).await?;
            tx.commit().await?;
            Ok(marked)
        };
        self.wrote(marked.await)
    }
}

pub(super) async fn flush(writer: &mut Writer<'_>, part: &[(TargetId, Buffered)]) -> Result<()> {
    let mut tx = writer.begin().await?;
    for (target, entry) in part {
        match entry {
            Buffered::Whole { run, memory } => {
                if let Some(run) = run {
                    runs::write(&mut tx, run).await?;
                }
                memory::write(&mut tx, target, memory).await?;
            }
            Buffered::Tail(tail) => {
                runs::write_tail(&mut tx, target, tail).await?;
                memory::write_quiet(&mut tx, target, tail.seq, &tail.quiet).await?;
            }
        }
    }
    tx.commit().await?;
    Ok(())
}

#[cfg(test)]
impl Writer<'_> {
    /// Rows that were ever written over this connection.
    pub(super) async fn changes(&mut self) -> i64 {
        sqlx::query_scalar("SELECT total_changes()").fetch_one(&mut self.side.conn).await.unwrap()
    }
}
