//! One target once: probe, judge, settle, commit.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::crash;
use crate::fleet::{Fleet, Weighed};
use crate::judge;
use crate::judge::settle::{Arrival, Parts, Scene};
use crate::metrics::Metrics;
use crate::model::digest::Digest;
use crate::model::facet::{FacetName, UnseenKind};
use crate::model::fleet::Times;
use crate::model::inventory::Target;
use crate::model::memory::{Memory, Past};
use crate::model::observation::{Echo, Observation, Outcome, RawFacet};
use crate::model::settlement::Settlement;
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetId;
use crate::net::{self, Door};
use crate::plan::{InForce, Live, Plan};
use crate::store::{Store, StoreError, Unchanged, Writer};

mod ask;
mod neighbours;
mod own_tls;
mod remembered;

pub use ask::{AskManner, Conversations, Eye, look};
use remembered::{Quiet, Remembered};

/// Targets whose past is read at once: their number bounds what is in memory twice.
const RESUMED_AT_ONCE: usize = 1_000;

/// Everything that a scan needs beside its target.
#[derive(Debug)]
pub struct Scanner {
    eye: Box<dyn Eye>,
    /// For what tells whether it is we who are offline.
    door: Live<Door>,
    store: Store,
    clock: Clock,
    metrics: Arc<Metrics>,
    wake_delivery: Arc<Notify>,
    plan: InForce,
    fleet: Fleet,
    cache: Mutex<HashMap<TargetId, Remembered>>,
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
    /// When the certificate ends that it showed last.
    pub certificate_ends: Option<Timestamp>,
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
    /// Other targets that are worth a look at once: of the host that was lost, or is back.
    pub hasten: Vec<TargetId>,
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
    /// No descriptors, or no memory for a socket: nothing was learned of the target.
    #[error(
        "driftd had no descriptors left to scan with; raise its limit (LimitNOFILE= of the unit, or ulimit -n), or lower \
         scan.concurrency"
    )]
    Exhausted,
    /// The inventory says something else of the target than when the scan began, so that nobody is held to it.
    #[error("the target changed while it was scanned; the next scan sees it as it is")]
    Outdated,
    /// A fault of ours.
    #[error("the scan broke: a fault of driftd, see its log")]
    Broke,
}

/// What is remembered of targets that are not in the plan yet.
#[derive(Debug, Default)]
pub struct Arrivals(BTreeMap<TargetId, Remembered>);

impl Arrivals {
    /// Has what is known of `from` known of `to`.
    pub fn rename(&mut self, from: &TargetId, to: &TargetId) {
        if let Some(known) = self.0.remove(from) {
            self.0.insert(to.clone(), known);
        }
    }
}

/// Of which targets something else is said.
#[derive(Clone, Copy, Debug)]
pub enum Changed<'a> {
    /// Of all of them.
    All,
    /// Of these.
    These(&'a [TargetId]),
}

/// What `plan` says of the target that was scanned, if that is what was asked.
fn current<'p>(plan: &'p Plan, scanned: &Target) -> Option<&'p Arc<Target>> {
    plan.targets.get(&scanned.id).filter(|target| target.asks_as(scanned))
}

impl From<StoreError> for ScanFault {
    fn from(error: StoreError) -> Self {
        Self::Store(error.to_string())
    }
}

impl Scanner {
    /// A scanner that remembers nothing yet; see [`Scanner::remember`].
    pub fn new(
        eye: Box<dyn Eye>,
        door: Live<Door>,
        store: Store,
        clock: Clock,
        metrics: Arc<Metrics>,
        wake_delivery: Arc<Notify>,
        plan: InForce,
    ) -> Self {
        let fleet =
            Fleet::new(store.clone(), clock.clone(), Arc::clone(&metrics), Arc::clone(&wake_delivery), plan.clone());
        Self { eye, door, store, clock, metrics, wake_delivery, plan, fleet, cache: Mutex::default() }
    }

    /// Reads what the store knows of `id`, so that its next scan is asked as the last one was.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn remember(&self, id: &TargetId) -> Result<(), StoreError> {
        self.resume(std::slice::from_ref(id)).await
    }

    /// Reads what the store knows of all of `targets`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn remember_all(&self, targets: &[Target]) -> Result<(), StoreError> {
        let ids: Vec<TargetId> = targets.iter().map(|target| target.id.clone()).collect();
        self.resume(&ids).await
    }

    async fn resume(&self, ids: &[TargetId]) -> Result<(), StoreError> {
        for part in ids.chunks(RESUMED_AT_ONCE) {
            let resumed = self.store.resume(part).await?;
            let mut cache = self.cache();
            // Under the lock: what leaves the plan leaves the cache after.
            let plan = self.plan.plan();
            for (id, resumed) in resumed.into_iter().filter(|(id, _)| plan.targets.contains_key(id)) {
                let remembered = Remembered::resumed(resumed, cache.get(&id));
                cache.insert(id, remembered);
            }
        }
        Ok(())
    }

    /// What the store knows of `ids`, for [`Scanner::adopt`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn arrivals(&self, ids: &[TargetId]) -> Result<Arrivals, StoreError> {
        let mut arrivals = Arrivals::default();
        for part in ids.chunks(RESUMED_AT_ONCE) {
            let resumed = self.store.resume(part).await?;
            arrivals.0.extend(resumed.into_iter().map(|(id, resumed)| (id, Remembered::resumed(resumed, None))));
        }
        Ok(arrivals)
    }

    /// Has another plan put in force by `swap`, so that no scan begins between it and what is remembered: what came with
    /// `arrivals`; of targets that are `changed`, that the next scan is judged whatever it shows; of targets that left,
    /// nothing.
    ///
    /// The writer is held meanwhile: no scan is settled either.
    pub fn adopt(&self, _: &Writer<'_>, arrivals: Arrivals, changed: Changed<'_>, swap: impl FnOnce()) {
        let mut cache = self.cache();
        swap();
        let plan = self.plan.plan();
        cache.extend(arrivals.0);
        cache.retain(|id, _| plan.targets.contains_key(id));
        match changed {
            Changed::All => cache.values_mut().for_each(Remembered::stir),
            Changed::These(ids) => ids.iter().for_each(|id| {
                if let Some(known) = cache.get_mut(id) {
                    known.stir();
                }
            }),
        }
        cache.shrink_to_fit();
    }

    /// Targets that something is remembered of.
    pub fn remembered(&self) -> usize {
        self.cache().len()
    }

    /// What is known of `id`, for gauges.
    pub fn standing(&self, id: &TargetId) -> Standing {
        self.cache().get(id).map(Remembered::standing).unwrap_or_default()
    }

    /// What is known of the fleet as a whole.
    pub const fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// How what is settled now stands to what befell the fleet.
    pub fn times(&self) -> Times {
        self.fleet.times(self.clock.now())
    }

    /// The minute's work for the fleet as a whole.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn minute(&self) -> Result<(), StoreError> {
        self.fleet.minute(&self.door.get()).await
    }

    /// What decides when `id` is due.
    pub fn past(&self, id: &TargetId) -> Past {
        self.cache().get(id).map(Remembered::past).unwrap_or_default()
    }

    /// Scans `target` once and commits what it changes. Once `outdated` is cancelled it asks no further; when the plan
    /// says something else of the target by then, nothing is committed.
    ///
    /// # Errors
    /// When what it saw could not be kept, or stands for nothing in the inventory any more.
    pub async fn scan(&self, target: &Target, outdated: &CancellationToken) -> Result<Report, ScanFault> {
        let before = self.cache().get(&target.id).cloned().unwrap_or_default();
        let manner = AskManner {
            date: before.scans.date.as_deref(),
            transport: before.scans.transport,
            known_class: before.known_class(target),
            endpoint: before.endpoint(target),
            fresh: before.wants_fresh_read(self.clock.now()),
            probe_only: before.blocked,
            kept: before.kept(self.clock.now()),
            before: before.kept.as_ref(),
            known: before.quiet.as_ref().and_then(|quiet| quiet.echo.as_ref()),
        };
        if !net::descriptors_left() {
            return Err(self.exhausted(target));
        }
        let observation = tokio::select! {
            () = outdated.cancelled() => return Err(ScanFault::Outdated),
            observation = self.eye.look(target, &manner, self.clock.now()) => observation,
        };
        if is_our_fault(&observation) {
            return Err(self.exhausted(target));
        }
        let hasten = match self.fleet.weigh(&self.door.get(), target, &observation).await {
            Weighed::Counts(hasten) => hasten,
            Weighed::SetAside(again) => {
                self.count(target, &observation);
                return Ok(self.set_aside(target, &observation, again));
            }
        };
        let settled = self.settle(target, &before, &observation).await;
        if !matches!(settled, Err(ScanFault::Outdated)) {
            self.count(target, &observation);
        }
        let report = settled.inspect_err(|fault| match fault {
            ScanFault::Store(error) => {
                self.metrics.store_errors.with_label_values(&["commit"]).inc();
                tracing::error!(target_id = %target.id, %error, "a scan could not be kept; the next one sees it again");
            }
            ScanFault::Outdated | ScanFault::Exhausted | ScanFault::NoTarget | ScanFault::Broke => {}
        })?;
        tracing::debug!(
            target_id = %target.id,
            outcome = %report.outcome,
            requests = observation.requests,
            "scanned"
        );
        Ok(Report { hasten: report.hasten.iter().cloned().chain(hasten).collect(), ..report })
    }

    /// What is left of a scan whose failure was ours: that it was made, and when its target is looked at again.
    fn set_aside(&self, target: &Target, observation: &Observation, again: Option<Timestamp>) -> Report {
        tracing::debug!(target_id = %target.id, outcome = %observation.outcome, "set aside: driftd itself is offline");
        let snapshot = judge::snapshot::snapshot(observation, &target.summary(), &Memory::default());
        let mut cache = self.cache();
        let remembered = cache.entry(target.id.clone()).or_default();
        remembered.set_aside(self.clock.now(), again);
        remembered.report(&snapshot)
    }

    /// Counts a scan that told nothing of its target. It is not settled: it is no sighting, and no failure of the target.
    fn exhausted(&self, target: &Target) -> ScanFault {
        self.metrics.scans.with_label_values(&[Outcome::Error.as_str()]).inc();
        tracing::error!(target_id = %target.id, error = %ScanFault::Exhausted, "not scanned");
        ScanFault::Exhausted
    }

    async fn settle(
        &self,
        target: &Target,
        before: &Remembered,
        observation: &Observation,
    ) -> Result<Report, ScanFault> {
        if let Some(report) = self.settle_quiet(target, before, observation).await? {
            return Ok(report);
        }
        let mut writer = self.store.writer().await;
        // Under the writer's lock, which a swap of the plan takes too: whoever left is settled as such after this.
        let (now, plan) = (self.clock.now(), self.plan.plan());
        let target = current(&plan, target).ok_or(ScanFault::Outdated)?;
        let summary = target.summary();
        let siblings = if observation.outcome == Outcome::Ok { Vec::new() } else { plan.siblings(&target.id) };
        let memory = judge::recompute(writer.memory_beside(&target.id, &siblings).await?);
        let memory = judge::afresh(memory, &observation.asked);
        let snapshot = judge::snapshot::snapshot(observation, &summary, &memory);
        let effective = memory
            .baseline
            .iter()
            .map(|(name, facet)| (*name, judge::effective::effective(facet, &memory.approvals, now)))
            .collect();
        let judgment = judge::judge(&target.id, &target.policy, &effective, &memory, &snapshot, &observation.sights);
        let scene = Scene {
            target: &summary,
            mode: target.baseline,
            policy: &target.policy,
            confirm: plan.confirm_of(&target.id),
            routes: &plan.routes,
            receivers: &plan.receivers,
            memory: &memory,
            times: self.fleet.times(now),
            now,
            parts: Parts::default(),
        };
        let settlement = judge::settle::settle_scan(&scene, &snapshot, &judgment, Arrival::of(observation));
        let quiet = judge::settle::is_quiet(&scene, &snapshot, &judgment);
        writer.commit(&settlement, Some(&snapshot), now).await?;
        if !settlement.notices.is_empty() {
            crash::point(crash::Point::AfterCommit);
        }
        // Still under the writer's lock: no decision comes between what is stored and what is kept.
        let quiet = quiet.then(|| observation.echo.clone());
        let report = self.keep(target, &memory, &settlement, &snapshot, quiet, observation);
        drop(writer);
        self.tell(&settlement);
        Ok(Report { hasten: neighbours::to_hasten(&memory, &settlement, &siblings), ..report })
    }

    /// Counts what a settlement did, and wakes who sends what it owes.
    pub fn tell(&self, settlement: &Settlement) {
        for rule in &settlement.detected {
            self.metrics.drift_detected.with_label_values(&[rule.as_str()]).inc();
        }
        for (rule, reason) in &settlement.closed {
            self.metrics.count_closed(rule, *reason);
        }
        for why in &settlement.suppressed {
            self.metrics.alerts_suppressed.with_label_values(&[why.as_str()]).inc();
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

    fn keep(
        &self,
        target: &Target,
        memory: &Memory,
        settlement: &Settlement,
        snapshot: &Snapshot,
        quiet: Option<Option<Echo>>,
        observation: &Observation,
    ) -> Report {
        let mut cache = self.cache();
        let until = judge::settle::rests_until(&target.policy, memory, &settlement.scans);
        let wishes = remembered::wishes(target);
        let quiet = quiet.map(|echo| Quiet {
            snapshot: snapshot.digest,
            echo,
            verdicts: judge::posture::verdicts(&snapshot.checks),
            remarks: remembered::remarks(&observation.remarks),
            until,
            wishes,
        });
        let before = cache.get(&settlement.target);
        let remembered =
            Remembered::settled(memory, settlement, snapshot, quiet, before).keeping(observation.kept.clone(), before);
        let report = remembered.report(snapshot);
        cache.insert(settlement.target.clone(), remembered);
        report
    }

    /// An unchanged scan: no query, no row; the store counts it in memory. `None` when it is another one, or a
    /// decision came in between.
    async fn settle_quiet(
        &self,
        target: &Target,
        before: &Remembered,
        observation: &Observation,
    ) -> Result<Option<Report>, ScanFault> {
        let lasts = |quiet: &&Quiet| observation.outcome == Outcome::Ok && quiet.lasts(self.clock.now());
        // Whoever edits the entry wants what stands looked at again.
        let unedited = |quiet: &&Quiet| quiet.wishes == remembered::wishes(target);
        let Some(quiet) = before.quiet.as_ref().filter(lasts).filter(unedited) else { return Ok(None) };
        // While a target is quiet no order is ignored, which is all that memory says to a snapshot.
        let other = (!quiet.is_echoed(observation))
            .then(|| judge::snapshot::snapshot(observation, &target.summary(), &Memory::default()));
        let differs = |snapshot: &Snapshot| {
            snapshot.digest != quiet.snapshot || judge::posture::verdicts(&snapshot.checks) != quiet.verdicts
        };
        if other.as_ref().is_some_and(differs) {
            return Ok(None);
        }
        let mut writer = self.store.writer().await;
        let (now, plan) = (self.clock.now(), self.plan.plan());
        current(&plan, target).ok_or(ScanFault::Outdated)?;
        let known = self.cache().get(&target.id).filter(|known| known.quiet.is_some()).map(|known| known.scans.seq);
        let Some(last) = known else { return Ok(None) };
        let unchanged = Unchanged {
            seq: last + 1,
            snapshot: quiet.snapshot,
            began: observation.at,
            ended: now,
            fresh: remembered::read_fresh(observation),
            scan: other.as_ref(),
        };
        writer.extend(&target.id, &unchanged).await?;
        let mut cache = self.cache();
        let remembered = cache.entry(target.id.clone()).or_default();
        remembered.lengthen(now, unchanged.fresh, observation.certificate_ends);
        if observation.kept.is_some() {
            remembered.kept.clone_from(&observation.kept);
        }
        // A fresh read brings other ids; the next one will not.
        if other.is_some() && !unchanged.fresh {
            let remarks = remembered::remarks(&observation.remarks);
            remembered.quiet = Some(Quiet { echo: observation.echo.clone(), remarks, ..quiet.clone() });
        }
        Ok(Some(remembered.unchanged(quiet.snapshot)))
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, HashMap<TargetId, Remembered>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a limit of ours kept us from seeing: told by what went wrong, or still so while something did. A secret's
/// file that could not be opened, or a name that could not be looked up, says no more than that it failed.
fn is_our_fault(observation: &Observation) -> bool {
    let told = observation.facets.values().any(|facet| match facet {
        RawFacet::Unseen(reason) => reason.kind == UnseenKind::OurFault,
        RawFacet::Seen(_) | RawFacet::Absent { .. } => false,
    });
    told || (observation.outcome != Outcome::Ok && !net::descriptors_left())
}
