//! Gathers what describes targets, at each scrape: from the store in a few queries, and from what the scanner keeps.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp;

use crate::clock::Clock;
use crate::http::GaugeSource;
use crate::metrics::{FacetSight, Metrics, TargetGauges, TargetRow};
use crate::model::incident::IncidentKind;
use crate::model::inventory::Target;
use crate::model::target::TargetId;
use crate::plan::{InForce, Plan};
use crate::scan::{Scanner, Standing};
use crate::store::{Store, StoreError};
use crate::watch::schedule;

/// Where gauges are gathered.
#[derive(Debug)]
pub(super) struct GaugeRoom {
    store: Store,
    clock: Clock,
    metrics: Arc<Metrics>,
    scanner: Arc<Scanner>,
    plan: InForce,
}

impl GaugeRoom {
    pub(super) const fn new(
        store: Store,
        clock: Clock,
        metrics: Arc<Metrics>,
        scanner: Arc<Scanner>,
        plan: InForce,
    ) -> Self {
        Self { store, clock, metrics, scanner, plan }
    }

    async fn gathered(&self) -> Result<TargetGauges, StoreError> {
        let (now, plan) = (self.clock.now(), self.plan.plan());
        let stored = self.store.gauges(now).await?;
        let shown = if plan.metrics.per_target.shows_each(plan.targets.len()) { usize::MAX } else { 0 };
        let mut rows: BTreeMap<TargetId, TargetRow> =
            plan.targets.iter().take(shown).map(|(id, target)| (id.clone(), self.row(&plan, target, now))).collect();
        for baseline in &stored.baselines {
            if let Some(row) = rows.get_mut(&baseline.target) {
                row.baseline_reviewed = Some(baseline.reviewed);
                row.baseline_accepted = Some(baseline.accepted_at);
            }
        }
        for count in stored.units.iter().filter(|count| count.kind == IncidentKind::Drift) {
            if let Some(row) = rows.get_mut(&count.target) {
                *row.drift_open.entry(count.severity).or_default() += count.units;
            }
        }
        let mut incidents = BTreeMap::new();
        for count in &stored.incidents {
            *incidents.entry((count.state.as_str(), count.severity, count.impact)).or_default() += count.incidents;
        }
        self.outbox(&plan).await?;
        self.metrics.store_size.set(size(self.store.size_bytes()?));
        Ok(TargetGauges { targets: rows.into_values().collect(), incidents, oldest_undecided: stored.oldest_undecided })
    }

    fn row(&self, plan: &Plan, target: &Target, now: Timestamp) -> TargetRow {
        let past = self.scanner.past(&target.id);
        let Standing { up, blocked, confirmed, credential_ok, last_success, certificate_ends, facets } =
            self.scanner.standing(&target.id);
        let mut summary = target.summary();
        if let Some(shown) = &plan.metrics.target_labels {
            summary.labels.retain(|name, _| shown.contains(name));
        }
        TargetRow {
            summary,
            up,
            blocked,
            stale: !target.paused && schedule::is_stale(&target.cadence, &target.id, &past, now),
            confirmed,
            credential_ok: target.auth.as_ref().and(credential_ok),
            last_success,
            certificate_ends,
            facets: facets
                .into_iter()
                .map(|(name, (watched, last_seen))| (name, FacetSight { watched, last_seen }))
                .collect(),
            baseline_reviewed: None,
            baseline_accepted: None,
            drift_open: BTreeMap::new(),
        }
    }

    async fn outbox(&self, plan: &Plan) -> Result<(), StoreError> {
        let now = self.clock.now();
        let mut waiting: BTreeMap<String, (f64, f64)> =
            plan.receivers.iter().map(|receiver| (receiver.clone(), (0.0, 0.0))).collect();
        for pending in self.store.pending_counts().await? {
            let count = pending.messages + pending.notices;
            let age = pending.oldest.map_or(0.0, |oldest| now.duration_since(oldest).as_secs_f64().max(0.0));
            // One that left is told as long as something waits for it.
            if count > 0 {
                waiting.insert(pending.receiver, (size(count), age));
            }
        }
        let waiting: Vec<_> = waiting.into_iter().map(|(name, (count, age))| (name, count, age)).collect();
        self.metrics.tell_waiting(&waiting);
        let conditions = self.store.conditions().await?;
        for receiver in &plan.receivers {
            let condition = conditions.iter().find(|(name, _)| name == receiver);
            let suspended = condition.is_some_and(|(_, condition)| condition.suspended.is_some());
            self.metrics.receiver_suspended.with_label_values(&[receiver.as_str()]).set(f64::from(u8::from(suspended)));
        }
        Ok(())
    }
}

impl GaugeSource for GaugeRoom {
    fn gather(&self) -> Pin<Box<dyn Future<Output = Option<TargetGauges>> + Send + '_>> {
        Box::pin(async {
            self.gathered().await.inspect_err(|error| tracing::error!(%error, "gauges could not be gathered")).ok()
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "gauges are doubles; counts stay far below 2^53")]
const fn size(bytes: u64) -> f64 {
    bytes as f64
}
