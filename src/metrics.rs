//! Every metric, with its help text.
//!
//! What a process counts is registered once; what describes targets is gathered
//! at scrape by [`TargetCollector`], so that no series outlives its target and none is stored.

use jiff::Timestamp;
use prometheus::core::Collector;
use prometheus::{
    Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
    TextEncoder,
};

use crate::model::incident::EndReason;
use crate::model::observation::Outcome;
use crate::model::policy::Suppressed;

mod process;
mod targets;
#[cfg(test)]
mod tests;

pub use targets::{FacetSight, TargetCollector, TargetGauges, TargetRow};

/// What the process counts.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    targets: TargetCollector,
    /// When this process started.
    pub process_start: Gauge,
    /// Scans that ended, by outcome.
    pub scans: IntCounterVec,
    /// How long scans took, by kind of target.
    pub scan_duration: HistogramVec,
    /// When the last scan of any target ended.
    pub scan_last_completed: Gauge,
    /// How late scans start after their due time.
    pub scan_queue_lag: Histogram,
    /// Whether driftd itself is offline.
    pub self_offline: IntGauge,
    /// Drifts confirmed, by rule.
    pub drift_detected: IntCounterVec,
    /// Confirmed drifts that ended, by rule and way.
    pub alerts_closed: IntCounterVec,
    /// What would have been told and was not, by reason.
    pub alerts_suppressed: IntCounterVec,
    /// Tries to deliver, by receiver and outcome.
    pub notifications: IntCounterVec,
    /// Tries that failed, by receiver and reason.
    pub notifications_failed: IntCounterVec,
    /// Messages not delivered yet, by receiver.
    pub outbox_pending: GaugeVec,
    /// Age of the oldest of them, by receiver.
    pub outbox_oldest: GaugeVec,
    /// Whether a receiver is suspended.
    pub receiver_suspended: GaugeVec,
    /// Targets in the inventory.
    pub inventory_targets: IntGauge,
    /// Whether the last reload was taken.
    pub config_last_reload_successful: IntGauge,
    /// When one was taken last; the start counts as one.
    pub config_last_reload_success: Gauge,
    /// Inventory files that stay at their last good version.
    pub inventory_file_held: GaugeVec,
    /// Store operations that failed, by operation.
    pub store_errors: IntCounterVec,
    /// Size of the store's files.
    pub store_size: Gauge,
    /// Entries of the ledger.
    pub ledger_entries: IntCounter,
    /// Registered once it is known.
    ledger_verified: IntGauge,
    /// Registered once there is one.
    backup_last_success: Gauge,
}

/// Deliveries' outcomes: the label of `driftd_notifications_total`.
pub const DELIVERY_OUTCOMES: [&str; 3] = ["sent", "failed", "given_up"];

/// Store operations: the label of `driftd_store_errors_total`.
pub const STORE_OPERATIONS: [&str; 8] = ["read", "commit", "flush", "outbox", "gauges", "prune", "backup", "probe"];

impl Metrics {
    /// Registers everything; series of closed label sets start at zero.
    ///
    /// # Errors
    /// When two metrics have one name, which a test rules out.
    pub fn new(receivers: &[String], rules: usize) -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let targets = TargetCollector::new()?;
        registry.register(Box::new(targets.clone()))?;
        registry.register(Box::new(process::Process::new()))?;
        let add = Registrar(&registry);
        let build =
            add.gauges("build_info", "Constant 1, labeled by version and number of rules.", &["version", "rules"])?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION"), &rules.to_string()]).set(1.0);
        let metrics = Self {
            process_start: add.register(Gauge::with_opts(process::start())?)?,
            scans: add.counters("scans_total", "Scans that ended, by outcome.", &["outcome"])?,
            scan_duration: add.histograms(
                "scan_duration_seconds",
                "Duration of scans, by kind of target.",
                &["kind"],
            )?,
            scan_last_completed: add
                .gauge("scan_last_completed_timestamp_seconds", "When the last scan of any target ended.")?,
            scan_queue_lag: add.histogram("scan_queue_lag_seconds", "Time from a scan's due instant to its start.")?,
            self_offline: add
                .int_gauge("self_offline", "1 while driftd itself is offline: failures count toward nothing.")?,
            drift_detected: add.counters("drift_detected_total", "Drifts confirmed, by rule.", &["rule"])?,
            alerts_closed: add.counters(
                "alerts_closed_total",
                "Confirmed drifts that ended, by rule and way.",
                &["rule", "as"],
            )?,
            alerts_suppressed: add.counters(
                "alerts_suppressed_total",
                "Confirmed drifts, and further values of them, that were recorded and not told, by reason.",
                &["reason"],
            )?,
            notifications: add.counters(
                "notifications_total",
                "Tries to deliver a message, by receiver and outcome.",
                &["receiver", "outcome"],
            )?,
            notifications_failed: add.counters(
                "notifications_failed_total",
                "Failed tries to deliver, by receiver and reason.",
                &["receiver", "reason"],
            )?,
            outbox_pending: add.gauges(
                "outbox_pending",
                "Messages not delivered yet, by receiver; given-up ones, reminders and what waits for a digest are not \
                 counted.",
                &["receiver"],
            )?,
            outbox_oldest: add.gauges(
                "outbox_oldest_seconds",
                "Age of the oldest message not delivered yet, by receiver; 0 without one.",
                &["receiver"],
            )?,
            receiver_suspended: add.gauges(
                "receiver_suspended",
                "1 while a receiver is tried once a day only and its messages wait, else 0.",
                &["receiver"],
            )?,
            inventory_targets: add.int_gauge("inventory_targets", "Targets in the inventory.")?,
            config_last_reload_successful: add.int_gauge(
                "config_last_reload_successful",
                "1 when the configuration read last is in force, 0 when it was refused and the one before still is.",
            )?,
            config_last_reload_success: add.gauge(
                "config_last_reload_success_timestamp_seconds",
                "When a configuration was put in force last, at the start or by a reload.",
            )?,
            inventory_file_held: add.gauges(
                "inventory_file_held",
                "1 for an inventory file that is not used as it is, by file and reason; gone once it is.",
                &["file", "reason"],
            )?,
            store_errors: add.counters("store_errors_total", "Store operations that failed, by operation.", &["op"])?,
            store_size: add.gauge("store_size_bytes", "Size of the store's files.")?,
            ledger_entries: add.counter("ledger_entries_total", "Entries of the ledger.")?,
            ledger_verified: IntGauge::with_opts(options(
                "ledger_verified",
                "1 when the ledger's chain verified after the start, else 0; absent until it was followed.",
            ))?,
            backup_last_success: Gauge::with_opts(options(
                "store_backup_last_success_timestamp_seconds",
                "When the newest scheduled backup was made; absent until there is one.",
            ))?,
            registry,
            targets,
        };
        metrics.start_at_zero(receivers);
        Ok(metrics)
    }

    fn start_at_zero(&self, receivers: &[String]) {
        for outcome in Outcome::ALL {
            self.scans.with_label_values(&[outcome.as_str()]);
        }
        for op in STORE_OPERATIONS {
            self.store_errors.with_label_values(&[op]);
        }
        for reason in Suppressed::REASONS {
            self.alerts_suppressed.with_label_values(&[reason]);
        }
        self.take_in(receivers);
    }

    /// Has the series of `receivers`, at zero where they are new.
    pub fn take_in(&self, receivers: &[String]) {
        for receiver in receivers {
            for outcome in DELIVERY_OUTCOMES {
                self.notifications.with_label_values(&[receiver.as_str(), outcome]);
            }
            // Touched, not set: what waits is gathered at each scrape.
            self.outbox_pending.with_label_values(&[receiver.as_str()]);
            self.outbox_oldest.with_label_values(&[receiver.as_str()]);
            self.receiver_suspended.with_label_values(&[receiver.as_str()]);
        }
    }

    /// Takes out what is said of receivers beside `receivers`. What waits for one that is gone is told as long as it
    /// waits: see [`Metrics::tell_waiting`].
    pub fn take_out(&self, receivers: &[String]) {
        keep_series(&self.notifications, receivers);
        keep_series(&self.notifications_failed, receivers);
    }

    /// Tells of what waits for each receiver: how much, and since how many seconds.
    pub fn tell_waiting(&self, waiting: &[(String, f64, f64)]) {
        let names: Vec<String> = waiting.iter().map(|(name, ..)| name.clone()).collect();
        for (name, count, seconds) in waiting {
            self.outbox_pending.with_label_values(&[name.as_str()]).set(*count);
            self.outbox_oldest.with_label_values(&[name.as_str()]).set(*seconds);
        }
        keep_series(&self.outbox_pending, &names);
        keep_series(&self.outbox_oldest, &names);
    }

    /// Tells which inventory files are held, and why.
    pub fn tell_held(&self, held: &[(String, &'static str)]) {
        self.inventory_file_held.reset();
        for (file, reason) in held {
            self.inventory_file_held.with_label_values(&[file.as_str(), reason]).set(1.0);
        }
    }

    /// Says whether the ledger's chain verified.
    pub fn tell_ledger(&self, is_whole: bool) {
        self.ledger_verified.set(i64::from(is_whole));
        // It is refused when it is there already.
        let _ = self.registry.register(Box::new(self.ledger_verified.clone()));
    }

    /// Says when the newest scheduled backup was made.
    pub fn tell_backup(&self, at: Timestamp) {
        self.backup_last_success.set(at.as_duration().as_secs_f64());
        // It is refused when it is there already.
        let _ = self.registry.register(Box::new(self.backup_last_success.clone()));
    }

    /// Counts a confirmed drift's end.
    pub fn count_closed(&self, rule: &str, reason: EndReason) {
        self.alerts_closed.with_label_values(&[rule, reason.as_str()]).inc();
    }

    /// The exposition in the Prometheus text format, with the per-target series of `gauges`.
    ///
    /// # Errors
    /// When a family cannot be encoded, as one without series.
    pub fn exposition(&self, gauges: TargetGauges) -> Result<String, prometheus::Error> {
        self.targets.show(gauges);
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

/// The list of all metrics as `docs/metrics.md`, from what a daemon with one target of everything exposes.
///
/// # Errors
/// When two metrics have one name, which a test rules out.
pub fn markdown() -> Result<String, prometheus::Error> {
    let metrics = Metrics::new(&["ops-mail".to_owned()], 1)?;
    metrics.tell_held(&[("inventory.d/team.yaml".to_owned(), "removes_too_many")]);
    metrics.drift_detected.with_label_values(&["tool.removed"]);
    metrics.count_closed("tool.removed", EndReason::Accepted);
    metrics.notifications_failed.with_label_values(&["ops-mail", "timeout"]);
    metrics.scan_duration.with_label_values(&["mcp"]);
    metrics.tell_ledger(true);
    metrics.tell_backup(Timestamp::UNIX_EPOCH);
    metrics.targets.show(targets::sample());
    let mut page = String::from(
        "# Metrics\n\nGenerated from the program (`cargo test` writes it anew with `DRIFTD_UPDATE=1`). A metric's series \
         start at zero where its labels are known, and leave with their target.\n\n| metric | type | labels | tells |\n\
         |---|---|---|---|\n",
    );
    for family in metrics.registry.gather() {
        let name = family.name();
        let mut labels: Vec<&str> = family.get_metric().first().map(label_names).unwrap_or_default();
        labels.sort_unstable();
        let kind = format!("{:?}", family.get_field_type()).to_lowercase();
        page.push_str(&["| `", name, "` | ", &kind, " | ", &labels.join(", "), " | ", family.help(), " |\n"].concat());
    }
    Ok(page)
}

fn label_names(metric: &prometheus::proto::Metric) -> Vec<&str> {
    metric.get_label().iter().map(prometheus::proto::LabelPair::name).collect()
}

/// Removes the series of `metric` whose label `receiver` is none of `receivers`.
fn keep_series<T: prometheus::core::MetricVecBuilder>(metric: &prometheus::core::MetricVec<T>, receivers: &[String]) {
    for family in metric.collect() {
        for series in family.get_metric() {
            let labels: std::collections::HashMap<&str, &str> =
                series.get_label().iter().map(|label| (label.name(), label.value())).collect();
            let gone = labels.get("receiver").is_some_and(|name| receivers.iter().all(|known| known != name));
            if gone {
                // Somebody else may have been first.
                let _ = metric.remove(&labels);
            }
        }
    }
}

/// Registers under the prefix `driftd_`.
struct Registrar<'a>(&'a Registry);

impl Registrar<'_> {
    fn register<C: Collector + Clone + 'static>(&self, metric: C) -> Result<C, prometheus::Error> {
        self.0.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn counter(&self, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
        self.register(IntCounter::with_opts(options(name, help))?)
    }

    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> Result<IntCounterVec, prometheus::Error> {
        self.register(IntCounterVec::new(options(name, help), labels)?)
    }

    fn gauge(&self, name: &str, help: &str) -> Result<Gauge, prometheus::Error> {
        self.register(Gauge::with_opts(options(name, help))?)
    }

    fn int_gauge(&self, name: &str, help: &str) -> Result<IntGauge, prometheus::Error> {
        self.register(IntGauge::with_opts(options(name, help))?)
    }

    fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> Result<GaugeVec, prometheus::Error> {
        self.register(GaugeVec::new(options(name, help), labels)?)
    }

    fn histogram(&self, name: &str, help: &str) -> Result<Histogram, prometheus::Error> {
        self.register(Histogram::with_opts(durations(name, help))?)
    }

    fn histograms(&self, name: &str, help: &str, labels: &[&str]) -> Result<HistogramVec, prometheus::Error> {
        self.register(HistogramVec::new(durations(name, help), labels)?)
    }
}

fn options(name: &str, help: &str) -> Opts {
    Opts::new(name, help).namespace("driftd")
}

fn durations(name: &str, help: &str) -> HistogramOpts {
    HistogramOpts::new(name, help)
        .namespace("driftd")
        .buckets(vec![0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0])
}
