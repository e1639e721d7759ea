//! One target once: probe, judge, settle, commit.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::crash;
use crate::judge;
use crate::judge::settle::{Arrival, Parts, Scene};
use crate::metrics::Metrics;
use crate::model::confirm::Confirm;
use crate::model::digest::Digest;
use crate::model::drift::{DriftRow, DriftState};
use crate::model::facet::{Face, Facet, FacetName, FacetState, UnseenKind};
use crate::model::inventory::Target;
use crate::model::memory::{FacetMemory, Memory, Past, ScanMemory};
use crate::model::notice::Route;
use crate::model::observation::{Detection, DetectionState, Observation, Outcome};
use crate::model::pointer::Pointer;
use crate::model::settlement::Settlement;
use crate::model::snapshot::{Coverage, Snapshot};
use crate::model::target::TargetId;
use crate::net::Door;
use crate::secret::Environment;
use crate::store::{Store, StoreError};

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
    /// When that ends by itself: an approval that it was held to runs out.
    quiet_until: Option<Timestamp>,
    /// A block is confirmed: one request an hour.
    blocked: bool,
    pending: u32,
    open: u32,
    sight: Sight,
}

/// What the last scans say of a target's sight, for gauges.
#[derive(Clone, Debug, Default)]
struct Sight {
    /// It has answered in its protocol at least once.
    answered: bool,
    /// Losing it is confirmed.
    lost: bool,
    confirmed: bool,
    credential_ok: Option<bool>,
    watched: BTreeMap<FacetName, bool>,
}

/// What is known of a target, for gauges.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// It answers in its protocol; `None` before anything is known.
    pub up: Option<bool>,
    /// A block is confirmed.
    pub blocked: bool,
    /// Its protocol was confirmed in the last scan that saw anything.
    pub confirmed: bool,
    /// Our credential was taken; `None` before it was tried.
    pub credential_ok: Option<bool>,
    /// Last complete scan.
    pub last_success: Option<Timestamp>,
    /// For each facet whether it is watched, and when it was last seen.
    pub facets: BTreeMap<FacetName, (bool, Option<Timestamp>)>,
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
        let mut sight = self.cache().get(id).map(|before| before.sight.clone()).unwrap_or_default();
        if sight.watched.is_empty()
            && let Some(last) = self.store.latest_snapshot(id).await?
        {
            sight.see(last.outcome, &last.mcp, &last.facets, &last.coverage);
        }
        sight.lost = lost(&memory.drifts);
        let remembered = Remembered {
            recheck,
            blocked: is_blocked(&memory.drifts),
            pending: count_in(&memory.drifts, DriftState::Pending),
            open: count_in(&memory.drifts, DriftState::Open),
            quiet: None,
            quiet_until: None,
            scans: memory.scans,
            facets: memory.facets,
            sight,
        };
        self.cache().insert(id.clone(), remembered);
        Ok(())
    }

    /// Reads what the store knows of all of `targets`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn remember_all(&self, targets: &[Target]) -> Result<(), StoreError> {
        for target in targets {
            self.remember(&target.id).await?;
        }
        Ok(())
    }

    /// What is known of `id`, for gauges.
    pub fn standing(&self, id: &TargetId) -> Standing {
        let cache = self.cache();
        let Some(remembered) = cache.get(id) else { return Standing::default() };
        let facets =
            remembered.sight.watched.iter().map(|(name, watched)| {
                (*name, (*watched, remembered.facets.get(name).and_then(|facet| facet.last_seen)))
            });
        Standing {
            up: (remembered.sight.answered || remembered.sight.lost).then_some(!remembered.sight.lost),
            blocked: remembered.blocked,
            confirmed: remembered.sight.confirmed,
            credential_ok: remembered.sight.credential_ok,
            last_success: remembered.scans.last_ok,
            facets: facets.collect(),
        }
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
        let over = before.quiet_until.is_some_and(|until| until <= now);
        if before.quiet == Some(snapshot.digest) && snapshot.outcome == Outcome::Ok && !over {
            return self.settle_quiet(&target.id, &snapshot, now).await;
        }
        let mut writer = self.store.writer().await;
        let memory = judge::afresh(writer.memory(&target.id).await?, &observation.asked);
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
            parts: Parts::default(),
        };
        let settlement = judge::settle::settle_scan(&scene, &snapshot, &judgment, Arrival::of(observation));
        let quiet = judge::settle::is_quiet(&memory, &snapshot, &judgment);
        writer.commit(&settlement, Some(&snapshot), now).await?;
        if !settlement.notices.is_empty() {
            crash::point(crash::Point::AfterCommit);
        }
        // Still under the writer's lock: no decision comes between what is stored and what is kept.
        let report = self.keep(&memory, &settlement, &snapshot, quiet);
        drop(writer);
        self.tell(&settlement);
        Ok(report)
    }

    /// Counts what a settlement did, and wakes who sends what it owes.
    pub fn tell(&self, settlement: &Settlement) {
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
        let mut remembered = Remembered {
            scans: settlement.scans.clone(),
            facets: settlement.facets.clone(),
            recheck: settlement.recheck,
            quiet: quiet.then_some(snapshot.digest),
            quiet_until: memory.approvals.iter().filter_map(|approval| approval.until).min(),
            blocked: is_blocked(&drifts),
            pending: count_in(&drifts, DriftState::Pending),
            open: count_in(&drifts, DriftState::Open),
            sight: Sight::default(),
        };
        let mut cache = self.cache();
        let sight = cache.get(&settlement.target).map(|before| before.sight.clone()).unwrap_or_default();
        remembered.sight = sight;
        remembered.sight.see(snapshot.outcome, &snapshot.mcp, &snapshot.facets, &snapshot.coverage);
        remembered.sight.lost = lost(&drifts);
        let report = remembered.report(snapshot);
        cache.insert(settlement.target.clone(), remembered);
        report
    }

    /// An unchanged scan: no query, no row; the store lengthens a run in memory.
    async fn settle_quiet(&self, id: &TargetId, snapshot: &Snapshot, now: Timestamp) -> Result<Report, StoreError> {
        let mut writer = self.store.writer().await;
        let remembered = {
            let mut cache = self.cache();
            let remembered = cache.entry(id.clone()).or_default();
            remembered.lengthen(snapshot, now);
            remembered.clone()
        };
        let report = remembered.report(snapshot);
        let settlement = Settlement::unchanged(id.clone(), remembered.facets, remembered.scans);
        writer.commit(&settlement, Some(snapshot), now).await?;
        Ok(report)
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, HashMap<TargetId, Remembered>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    /// One more scan like the last.
    fn lengthen(&mut self, snapshot: &Snapshot, now: Timestamp) {
        self.scans.seq += 1;
        self.scans.last_at = Some(now);
        self.scans.last_ok = Some(now);
        self.scans.outcome = Some(snapshot.outcome);
        self.scans.not_before = None;
        if read_fresh(snapshot) {
            self.scans.last_fresh = Some(now);
        }
        for (name, facet) in &mut self.facets {
            if matches!(snapshot.facets.get(name), Some(FacetState::Seen(_) | FacetState::Absent { .. })) {
                facet.last_seen = Some(now);
                if let Some(run) = facet.runs.last_mut() {
                    run.to = now;
                    run.scans = run.scans.saturating_add(1);
                }
            }
        }
        self.recheck = None;
    }

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
fn after(memory: &Memory, settlement: &Settlement) -> Vec<DriftRow> {
    let mut drifts: BTreeMap<Digest, _> = memory.drifts.iter().map(|row| (row.id, row.clone())).collect();
    drifts.extend(settlement.drifts.iter().map(|row| (row.id, row.clone())));
    drifts.into_values().filter(|row| !row.state.is_ended()).collect()
}

fn count_in(drifts: &[DriftRow], state: DriftState) -> u32 {
    u32::try_from(drifts.iter().filter(|row| row.state == state).count()).unwrap_or(u32::MAX)
}

/// Whether a block is confirmed.
fn is_blocked(drifts: &[DriftRow]) -> bool {
    drifts.iter().any(|row| {
        row.drift.facet.facet == Facet::Scan && row.drift.rule.rule == "scan.blocked" && row.state == DriftState::Open
    })
}

/// Whether a list was read a second time over a connection of its own.
fn read_fresh(snapshot: &Snapshot) -> bool {
    snapshot.facets.values().any(|state| matches!(state, FacetState::Seen(seen) if seen.stability.fresh))
}

/// Whether losing sight of the whole endpoint is confirmed.
fn lost(drifts: &[DriftRow]) -> bool {
    drifts.iter().any(|row| {
        row.drift.facet.facet == Facet::Scan
            && row.drift.path == Pointer::of(["endpoint"])
            && row.state == DriftState::Open
    })
}

impl Sight {
    /// Takes in what a scan says.
    fn see(
        &mut self,
        outcome: Outcome,
        mcp: &Detection,
        facets: &BTreeMap<FacetName, FacetState>,
        coverage: &BTreeMap<FacetName, Coverage>,
    ) {
        self.watched = coverage.iter().map(|(name, coverage)| (*name, coverage.watched)).collect();
        if mcp.state != DetectionState::Unseen {
            self.confirmed = mcp.state == DetectionState::Confirmed;
        }
        match outcome {
            Outcome::Ok | Outcome::Partial | Outcome::CredentialRejected => self.answered = true,
            Outcome::Blocked | Outcome::RateLimited | Outcome::Unreachable | Outcome::Skipped | Outcome::Error => {}
        }
        let ours = facets.iter().filter(|(name, _)| name.face == Face::Auth).map(|(_, state)| state);
        for state in ours {
            match state {
                FacetState::Seen(_) | FacetState::Absent { .. } => self.credential_ok = Some(true),
                FacetState::Unseen { reason } => match reason.kind {
                    UnseenKind::CredentialRejected | UnseenKind::CredentialUnavailable => {
                        self.credential_ok = Some(false);
                        return;
                    }
                    UnseenKind::Unreachable
                    | UnseenKind::Timeout
                    | UnseenKind::ServerError
                    | UnseenKind::HttpStatus
                    | UnseenKind::Blocked
                    | UnseenKind::RateLimited
                    | UnseenKind::Guarded
                    | UnseenKind::InvalidJson
                    | UnseenKind::InvalidJsonrpc
                    | UnseenKind::RpcError
                    | UnseenKind::CursorLoop
                    | UnseenKind::TooLarge
                    | UnseenKind::Refused
                    | UnseenKind::NotReached => {}
                },
            }
        }
    }
}
