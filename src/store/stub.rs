//! Signatures first; the bodies follow.
#![expect(clippy::unimplemented, clippy::unused_async, reason = "signatures first")]
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use super::*;
use crate::model::alert::AlertType;
use crate::model::baseline::BaselineFacet;
use crate::model::facet::FacetName;
use crate::model::incident::{Incident, IncidentId};
use crate::model::memory::{LedgerHead, Memory};
use crate::model::notice::{Body, Message, Notice, Told};
use crate::model::settlement::Settlement;
use crate::model::snapshot::Snapshot;
use crate::model::target::{TargetId, TargetSummary};

type Result<T> = std::result::Result<T, StoreError>;

/// The store.
#[derive(Clone, Debug)]
pub struct Store {}

/// The one writer.
#[derive(Debug)]
pub struct Writer<'s> {
    _store: &'s Store,
}

#[allow(missing_docs, clippy::missing_errors_doc, unused_variables)]
impl Store {
    pub async fn open(path: &Path) -> Result<Self> { unimplemented!() }
    /// Takes the exclusive lock of the store at `path`.
    pub fn lock(path: &Path) -> Result<StoreLock> { StoreLock::take(path) }
    /// Writes what is buffered and closes.
    pub async fn close(self) -> Result<()> { unimplemented!() }
    pub async fn writer(&self) -> Writer<'_> { unimplemented!() }
    /// Writes the unchanged scans that are buffered; call once a minute. Says how many targets.
    pub async fn flush_runs(&self) -> Result<usize> { unimplemented!() }

    pub async fn sync_targets(&self, targets: &[TargetSummary], now: Timestamp) -> Result<Synced> { unimplemented!() }
    pub async fn targets(&self) -> Result<Vec<TargetRow>> { unimplemented!() }
    pub async fn target(&self, id: &TargetId) -> Result<Option<TargetRow>> { unimplemented!() }
    /// A target's past without the right to write (for `targets show`); the writer's for settling.
    pub async fn memory(&self, target: &TargetId) -> Result<Memory> { unimplemented!() }
    pub async fn latest_snapshot(&self, target: &TargetId) -> Result<Option<StoredSnapshot>> { unimplemented!() }
    /// `prefix`: at least 8 hex digits, with or without `sha256:`.
    pub async fn snapshot_by_prefix(&self, target: &TargetId, prefix: &str) -> Result<Found<StoredSnapshot>> { unimplemented!() }
    pub async fn runs(&self, target: &TargetId, limit: u32) -> Result<Vec<Run>> { unimplemented!() }

    /// All waiting notices of each (receiver, incident) of which one is due.
    pub async fn due_notices(&self, now: Timestamp) -> Result<Vec<Notice>> { unimplemented!() }
    /// What receivers were told of these incidents.
    pub async fn told(&self, incidents: &[IncidentId]) -> Result<Vec<Told>> { unimplemented!() }
    /// When the next notice can be folded or the next message sent.
    pub async fn next_due(&self) -> Result<Option<Timestamp>> { unimplemented!() }
    pub async fn fold(&self, messages: &[(Message, Vec<String>)], dropped: &[String]) -> Result<()> { unimplemented!() }
    pub async fn due_messages(&self, now: Timestamp) -> Result<Vec<Message>> { unimplemented!() }
    pub async fn mark_sent(&self, id: &str, at: Timestamp) -> Result<()> { unimplemented!() }
    pub async fn mark_failed(&self, id: &str, attempts: u32, next_at: Timestamp, error: &str) -> Result<()> { unimplemented!() }
    pub async fn mark_dead(&self, id: &str, attempts: u32, error: &str) -> Result<()> { unimplemented!() }
    /// Says how many are to be sent again.
    pub async fn retry(&self, which: &Retry, now: Timestamp) -> Result<u64> { unimplemented!() }
    pub async fn messages(&self, filter: &MessageFilter) -> Result<Vec<Message>> { unimplemented!() }
    /// By id or a prefix of it of at least 8 characters.
    pub async fn message(&self, id: &str) -> Result<Found<Message>> { unimplemented!() }
    pub async fn pending_counts(&self) -> Result<Vec<Pending>> { unimplemented!() }

    pub async fn drifts(&self, filter: &DriftFilter) -> Result<Vec<TargetDrift>> { unimplemented!() }
    /// By a prefix of its fingerprint (8 hex digits or more): the living one first, else the last that ended.
    pub async fn drift(&self, fingerprint: &str) -> Result<Found<TargetDrift>> { unimplemented!() }
    pub async fn incidents(&self, open_only: bool) -> Result<Vec<Incident>> { unimplemented!() }
    pub async fn incident(&self, id: IncidentId) -> Result<Option<Incident>> { unimplemented!() }
    /// What a message about `revision` says; of `kind`, or the newest written at that revision.
    pub async fn revision(&self, incident: IncidentId, revision: u32, kind: Option<AlertType>) -> Result<Option<Body>> { unimplemented!() }
    pub async fn history(&self, target: Option<&TargetId>, limit: u32) -> Result<Vec<HistoryRow>> { unimplemented!() }
    pub async fn baselines(&self, target: &TargetId) -> Result<Vec<BaselineFacet>> { unimplemented!() }
    /// Entries from number `from` on, at most `limit`.
    pub async fn ledger(&self, from: u64, limit: u32) -> Result<Vec<LedgerRow>> { unimplemented!() }
    pub async fn ledger_head(&self) -> Result<LedgerHead> { unimplemented!() }
    pub async fn verify_ledger(&self) -> Result<LedgerCheck> { unimplemented!() }
    pub async fn gauges(&self, now: Timestamp) -> Result<Gauges> { unimplemented!() }
    pub async fn facets_seen(&self) -> Result<Vec<FacetSeen>> { unimplemented!() }
    pub fn size_bytes(&self) -> Result<u64> { unimplemented!() }
    pub fn incident_ids(&self) -> Arc<BTreeSet<IncidentId>> { unimplemented!() }
}

#[allow(missing_docs, clippy::missing_errors_doc, unused_variables)]
impl Writer<'_> {
    /// Everything the core needs to know of a target's past.
    pub async fn memory(&mut self, target: &TargetId) -> Result<Memory> { unimplemented!() }
    /// Writes all of a settlement, and the scan it came from, in one transaction; nothing on error.
    pub async fn commit(&mut self, settlement: &Settlement, scan: Option<&Snapshot>) -> Result<()> { unimplemented!() }
}
const _: Option<FacetName> = None;
