//! One target once: probe, judge, settle, commit.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use secrecy::ExposeSecret as _;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::judge;
use crate::judge::settle::Scene;
use crate::metrics::Metrics;
use crate::model::confirm::Confirm;
use crate::model::digest::Digest;
use crate::model::drift::DriftState;
use crate::model::facet::{FacetName, FacetState};
use crate::model::inventory::Target;
use crate::model::memory::{FacetMemory, Memory, ScanMemory};
use crate::model::notice::Route;
use crate::model::observation::{Observation, Outcome};
use crate::model::settlement::Settlement;
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetId;
use crate::net::Door;
use crate::secret::Environment;
use crate::store::{Store, StoreError};
use crate::watch::schedule::Past;

mod ask;

pub use ask::look;

/// A second read of a steady list goes over a fresh connection this often (design, section 3).
const FRESH_EVERY: Duration = Duration::from_hours(1);

/// Everything that a scan needs beside its target.
#[derive(Debug)]
pub struct Scanner {
    door: Door,
    store: Store,
    clock: Clock,
    environment: Environment,
    metrics: Arc<Metrics>,
    wake_delivery: Arc<Notify>,
    manner: Manner,
    cache: Mutex<HashMap<TargetId, Remembered>>,
}

/// How what scans show is confirmed and whom it is told to.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Confirmation by class.
    pub confirm: Confirm,
    /// In order; none is the default.
    pub routes: Vec<Route>,
    /// Names of all receivers.
    pub receivers: Vec<String>,
}

/// What is kept in memory of a target between its scans, so that an unchanged one costs no query.
#[derive(Clone, Debug, Default)]
struct Remembered {
    scans: ScanMemory,
    facets: BTreeMap<FacetName, FacetMemory>,
    recheck: Option<Timestamp>,
    /// Digest of the last scan, when it was complete and nothing about the target is on its way.
    quiet: Option<Digest>,
    /// A block is confirmed: one request an hour.
    blocked: bool,
    pending: u32,
    open: u32,
}

/// What a scan came to, for the loop and for who asked.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Digest of its snapshot.
    pub digest: Digest,
    /// What decides when the next one is due.
    pub past: Past,
    /// Drifts that are pending after it.
    pub pending: u32,
    /// Drifts that are open after it.
    pub open: u32,
    /// What was not seen, and why.
    pub unseen: Vec<String>,
}

/// Why a scan came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanFault {
    /// The inventory has no such target.
    #[error("no such target in the inventory")]
    NoTarget,
    /// What it saw could not be kept; the next scan sees it again.
    #[error("the store failed: {0}")]
    Store(String),
    /// A fault of ours.
    #[error("the scan broke: a fault of driftd, see its log")]
    Broke,
}

impl From<StoreError> for ScanFault {
    fn from(error: StoreError) -> Self {
        Self::Store(error.to_string())
    }
}

impl Scanner {
    /// A scanner that remembers nothing yet; see [`Scanner::remember`].
    pub fn new(
        door: Door,
        store: Store,
        clock: Clock,
        environment: Environment,
        metrics: Arc<Metrics>,
        wake_delivery: Arc<Notify>,
        manner: Manner,
    ) -> Self {
        Self { door, store, clock, environment, metrics, wake_delivery, manner, cache: Mutex::default() }
    }

    /// Reads what the store knows of `id`, so that its next scan is asked as the last one was.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn remember(&self, id: &TargetId) -> Result<(), StoreError> {
        let memory = self.store.memory(id).await?;
        let recheck = self.store.target(id).await?.and_then(|row| row.recheck);
        let remembered = Remembered {
            recheck,
            blocked: judge::settle::is_blocked(&memory.drifts),
            pending: standing(&memory.drifts, DriftState::Pending),
            open: standing(&memory.drifts, DriftState::Open),
            quiet: None,
            scans: memory.scans,
            facets: memory.facets,
        };
        self.cache().insert(id.clone(), remembered);
        Ok(())
    }

    /// What decides when `id` is due.
    pub fn past(&self, id: &TargetId) -> Past {
        self.cache().get(id).map(Remembered::past).unwrap_or_default()
    }

    /// Scans `target` once and commits what it changes.
    ///
    /// # Errors
    /// When what it saw could not be kept.
    pub async fn scan(&self, target: &Target) -> Result<Report, ScanFault> {
        let before = self.cache().get(&target.id).cloned().unwrap_or_default();
        let manner = ask::AskManner {
            date: before.scans.date.as_deref(),
            known_class: before.scans.address_class,
            fresh: before.wants_fresh_read(self.clock.now()),
            probe_only: before.blocked,
        };
        let observation = ask::observe(&self.door, target, &self.environment, &manner, self.clock.now()).await;
        let settled = self.settle(target, &before, &observation).await;
        self.count(target, &observation);
        let report = settled.inspect_err(|error| {
            self.metrics.store_errors.with_label_values(&["commit"]).inc();
            tracing::error!(target_id = %target.id, %error, "a scan could not be kept; the next one sees it again");
        })?;
        tracing::debug!(
            target_id = %target.id,
            outcome = %report.outcome,
            requests = observation.requests,
            "scanned"
        );
        Ok(report)
    }

    async fn settle(
        &self,
        target: &Target,
        before: &Remembered,
        observation: &Observation,
    ) -> Result<Report, StoreError> {
        let summary = target.summary();
        let slim = Memory { facets: before.facets.clone(), scans: before.scans.clone(), ..Memory::default() };
        let snapshot = judge::snapshot::snapshot(observation, &summary, &slim);
        let now = self.clock.now();
        if before.quiet == Some(snapshot.digest) && snapshot.outcome == Outcome::Ok {
            self.store.note_unchanged(&target.id, &snapshot, now);
            return Ok(self.keep_quiet(&target.id, &snapshot, now));
        }
        let mut writer = self.store.writer().await;
        let memory = writer.memory(&target.id).await?;
        let snapshot = judge::snapshot::snapshot(observation, &summary, &memory);
        let effective = memory
            .baseline
            .iter()
            .map(|(name, facet)| (*name, judge::effective::effective(facet, &memory.approvals, now)))
            .collect();
        let judgment = judge::judge(&target.id, &effective, &memory, &snapshot, &observation.sights);
        let scene = Scene {
            target: &summary,
            mode: target.baseline,
            confirm: &self.manner.confirm,
            routes: &self.manner.routes,
            receivers: &self.manner.receivers,
            memory: &memory,
            now,
        };
        let mut settlement = judge::settle::settle_scan(&scene, &snapshot, &judgment);
        settlement.scans.not_before = observation.not_before;
        let quiet = judge::settle::is_quiet(&memory, &snapshot, &judgment);
        writer.commit(&settlement, Some(&snapshot)).await?;
        drop(writer);
        crate::deliver::crash::point("after-commit");
        self.tell(&settlement);
        Ok(self.keep(&memory, &settlement, &snapshot, quiet))
    }

    /// Counts what a settlement did, and wakes who sends what it owes.
    fn tell(&self, settlement: &Settlement) {
        for rule in &settlement.detected {
            self.metrics.drift_detected.with_label_values(&[rule.as_str()]).inc();
        }
        for (rule, reason) in &settlement.closed {
            self.metrics.count_closed(rule, *reason);
        }
        self.metrics.ledger_entries.inc_by(u64::try_from(settlement.ledger.len()).unwrap_or(0));
        if !settlement.notices.is_empty() {
            self.wake_delivery.notify_one();
        }
    }

    fn count(&self, target: &Target, observation: &Observation) {
        self.metrics.scans.with_label_values(&[observation.outcome.as_str()]).inc();
        let kind = target.kind.to_string();
        self.metrics.scan_duration.with_label_values(&[kind.as_str()]).observe(observation.duration.as_secs_f64());
        self.metrics.scan_last_completed.set(self.clock.now().as_duration().as_secs_f64());
    }

    fn keep(&self, memory: &Memory, settlement: &Settlement, snapshot: &Snapshot, quiet: bool) -> Report {
        let drifts = after(memory, settlement);
        let remembered = Remembered {
            scans: settlement.scans.clone(),
            facets: settlement.facets.clone(),
            recheck: settlement.recheck,
            quiet: quiet.then_some(snapshot.digest),
            blocked: judge::settle::is_blocked(&drifts),
            pending: standing(&drifts, DriftState::Pending),
            open: standing(&drifts, DriftState::Open),
        };
        let report = remembered.report(snapshot);
        self.cache().insert(settlement.target.clone(), remembered);
        report
    }

    fn keep_quiet(&self, id: &TargetId, snapshot: &Snapshot, now: Timestamp) -> Report {
        let mut cache = self.cache();
        let remembered = cache.entry(id.clone()).or_default();
        remembered.scans.seq += 1;
        remembered.scans.last_at = Some(now);
        remembered.scans.last_ok = Some(now);
        remembered.scans.outcome = Some(Outcome::Ok);
        if judge::settle::read_fresh(snapshot) {
            remembered.scans.last_fresh = Some(now);
        }
        remembered.recheck = None;
        remembered.report(snapshot)
    }

    /// Forgets what is kept of `id` in memory, after a decision changed what the store holds.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn refresh(&self, id: &TargetId) -> Result<(), StoreError> {
        self.remember(id).await
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, HashMap<TargetId, Remembered>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    const fn past(&self) -> Past {
        Past { last: self.scans.last_at, recheck: self.recheck, hold: self.scans.not_before, blocked: self.blocked }
    }

    fn wants_fresh_read(&self, now: Timestamp) -> bool {
        let due = |last: Timestamp| now.duration_since(last).unsigned_abs() >= FRESH_EVERY;
        self.pending > 0 || self.recheck.is_some() || self.scans.last_fresh.is_none_or(due)
    }

    fn report(&self, snapshot: &Snapshot) -> Report {
        let unseen = |(name, state): (&FacetName, &FacetState)| match state {
            FacetState::Unseen { reason } => Some(format!("{name}: {reason}")),
            FacetState::Seen(_) | FacetState::Absent { .. } => None,
        };
        Report {
            outcome: snapshot.outcome,
            digest: snapshot.digest,
            past: self.past(),
            pending: self.pending,
            open: self.open,
            unseen: snapshot.facets.iter().filter_map(unseen).collect(),
        }
    }
}

/// The drifts that stand once `settlement` is committed.
fn after(memory: &Memory, settlement: &Settlement) -> Vec<crate::model::drift::DriftRow> {
    let mut drifts: BTreeMap<Digest, _> = memory.drifts.iter().map(|row| (row.id, row.clone())).collect();
    drifts.extend(settlement.drifts.iter().map(|row| (row.id, row.clone())));
    drifts.into_values().filter(|row| !row.state.is_ended()).collect()
}

fn standing(drifts: &[crate::model::drift::DriftRow], state: DriftState) -> u32 {
    u32::try_from(drifts.iter().filter(|row| row.state == state).count()).unwrap_or(u32::MAX)
}
