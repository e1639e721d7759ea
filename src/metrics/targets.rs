//! Series that describe targets: made anew at each scrape from what the store and the watch loop know.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Gauge, LabelPair, Metric, MetricFamily, MetricType};

use crate::model::facet::FacetName;
use crate::model::rule::{Impact, Severity};
use crate::model::target::TargetSummary;

/// What is known of all targets at one moment.
#[derive(Clone, Debug, Default)]
pub struct TargetGauges {
    /// One row a target that is in the inventory.
    pub targets: Vec<TargetRow>,
    /// Incidents that have not ended: (state, worst severity, main impact) and how many.
    pub incidents: BTreeMap<(&'static str, Severity, Impact), u64>,
    /// When the oldest undecided open unit was confirmed, by severity.
    pub oldest_undecided: BTreeMap<Severity, Timestamp>,
}

/// What is known of one target.
#[derive(Clone, Debug)]
pub struct TargetRow {
    /// Who it is.
    pub summary: TargetSummary,
    /// It answers in its protocol; `None` before anything is known.
    pub up: Option<bool>,
    /// A block is confirmed.
    pub blocked: bool,
    /// No scan was completed for more than twice the interval.
    pub stale: bool,
    /// Its protocol was confirmed in the last scan that saw anything.
    pub confirmed: bool,
    /// Our credential was taken; `None` without one.
    pub credential_ok: Option<bool>,
    /// Last complete scan.
    pub last_success: Option<Timestamp>,
    /// When the certificate ends that it showed last; `None` over plain HTTP.
    pub certificate_ends: Option<Timestamp>,
    /// Sight of each facet.
    pub facets: BTreeMap<FacetName, FacetSight>,
    /// A person has reviewed its baseline; `None` without one.
    pub baseline_reviewed: Option<bool>,
    /// Newest acceptance in its baseline.
    pub baseline_accepted: Option<Timestamp>,
    /// Open units by severity.
    pub drift_open: BTreeMap<Severity, u64>,
}

/// Sight of one facet.
#[derive(Clone, Copy, Debug, Default)]
pub struct FacetSight {
    /// Whether it is watched.
    pub watched: bool,
    /// Last time it was seen or absent.
    pub last_seen: Option<Timestamp>,
}

/// Shows the newest [`TargetGauges`] to the registry.
#[derive(Clone, Debug)]
pub struct TargetCollector {
    shown: Arc<Mutex<Arc<TargetGauges>>>,
    descriptions: Arc<Vec<Desc>>,
}

impl TargetCollector {
    /// A collector that shows nothing yet.
    ///
    /// # Errors
    /// When a description is not valid, which a test rules out.
    pub fn new() -> Result<Self, prometheus::Error> {
        let describe = |family: Family| {
            let labels = family.labels.iter().map(|label| (*label).to_owned()).collect();
            Desc::new(family.full_name(), family.help.to_owned(), labels, HashMap::new())
        };
        let descriptions = Families::new().all().into_iter().map(describe).collect::<Result<_, _>>()?;
        Ok(Self { shown: Arc::default(), descriptions: Arc::new(descriptions) })
    }

    /// Replaces what is shown.
    pub fn show(&self, gauges: TargetGauges) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(gauges);
    }
}

impl Collector for TargetCollector {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let gauges = Arc::clone(&self.shown.lock().unwrap_or_else(PoisonError::into_inner));
        let mut families = Families::new();
        families.fill(&gauges);
        families.all().into_iter().filter(|family| !family.series.is_empty()).map(Family::exposed).collect()
    }
}

/// One family and its series. They are made at once in the form in which they are exposed: `GaugeVec` finds each
/// series among all by its labels, which for thousands of targets takes most of a scrape.
struct Family {
    name: &'static str,
    help: &'static str,
    /// In the order of their names.
    labels: &'static [&'static str],
    series: Vec<Metric>,
}

impl Family {
    const fn new(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Self {
        Self { name, help, labels, series: Vec::new() }
    }

    fn full_name(&self) -> String {
        format!("driftd_{}", self.name)
    }

    /// Adds a series; `values` in the order of the labels.
    fn set<const N: usize>(&mut self, values: [&str; N], value: f64) {
        debug_assert_eq!(self.labels.len(), N, "{}", self.name);
        let pairs = self.labels.iter().zip(values).map(|(name, value)| pair(name, value)).collect();
        self.series.push(series(pairs, value));
    }

    fn exposed(self) -> MetricFamily {
        let mut family = MetricFamily::default();
        family.set_name(self.full_name());
        family.set_help(self.help.to_owned());
        family.set_field_type(MetricType::GAUGE);
        family.set_metric(self.series);
        family
    }
}

fn pair(name: &str, value: &str) -> LabelPair {
    let mut pair = LabelPair::default();
    pair.set_name(name.to_owned());
    pair.set_value(value.to_owned());
    pair
}

fn series(labels: Vec<LabelPair>, value: f64) -> Metric {
    let mut gauge = Gauge::default();
    gauge.set_value(value);
    let mut series = Metric::from_gauge(gauge);
    series.set_label(labels);
    series
}

struct Families {
    up: Family,
    blocked: Family,
    stale: Family,
    confirmed: Family,
    credential_ok: Family,
    last_success: Family,
    certificate_ends: Family,
    facet_watched: Family,
    facet_last_seen: Family,
    baseline_reviewed: Family,
    baseline_accepted: Family,
    drift_open: Family,
    incidents: Family,
    oldest_undecided: Family,
    /// Its labels are those of the inventory too.
    info: Family,
}

impl Families {
    const fn new() -> Self {
        Self {
            up: Family::new(
                "target_up",
                &["target"],
                "1 when the target answers in its protocol, 0 when it is confirmed unreachable or blocked; absent before anything is known.",
            ),
            blocked: Family::new("target_blocked", &["target"], "1 while a block is confirmed."),
            stale: Family::new(
                "target_stale",
                &["target"],
                "1 while no scan was completed for more than twice the interval: driftd lags, the target is not to blame.",
            ),
            confirmed: Family::new(
                "target_protocol_confirmed",
                &["protocol", "target"],
                "1 when the last scan that saw anything confirmed the protocol.",
            ),
            credential_ok: Family::new(
                "target_credential_ok",
                &["target"],
                "1 when our credential was taken, 0 when it was refused or cannot be read; absent without one.",
            ),
            last_success: Family::new(
                "scan_last_success_timestamp_seconds",
                &["target"],
                "When the target's last complete scan ended.",
            ),
            certificate_ends: Family::new(
                "tls_certificate_not_after_timestamp_seconds",
                &["target"],
                "When the certificate ends that the target showed last; absent over plain HTTP.",
            ),
            facet_watched: Family::new(
                "facet_watched",
                &["facet", "target"],
                "1 when the facet is watched, 0 when coverage says why not.",
            ),
            facet_last_seen: Family::new(
                "facet_last_seen_timestamp_seconds",
                &["facet", "target"],
                "When the facet was last seen or clearly absent.",
            ),
            baseline_reviewed: Family::new(
                "baseline_reviewed",
                &["target"],
                "1 when a person accepted every facet of the target's baseline.",
            ),
            baseline_accepted: Family::new(
                "baseline_accepted_timestamp_seconds",
                &["target"],
                "Newest acceptance in the target's baseline.",
            ),
            drift_open: Family::new(
                "drift_open",
                &["severity", "target"],
                "Open units of drift, by severity; absent at zero.",
            ),
            incidents: Family::new(
                "incidents",
                &["impact", "severity", "state"],
                "Incidents that have not ended, by state, worst severity and main impact.",
            ),
            oldest_undecided: Family::new(
                "drift_oldest_undecided_timestamp_seconds",
                &["severity"],
                "When the oldest undecided drift was confirmed, by severity; absent without one.",
            ),
            info: Family::new(
                "target_info",
                &["kind", "target"],
                "Constant 1, labeled by the target's kind and inventory labels.",
            ),
        }
    }

    fn all(self) -> [Family; 15] {
        [
            self.up,
            self.blocked,
            self.stale,
            self.confirmed,
            self.credential_ok,
            self.last_success,
            self.certificate_ends,
            self.facet_watched,
            self.facet_last_seen,
            self.baseline_reviewed,
            self.baseline_accepted,
            self.drift_open,
            self.incidents,
            self.oldest_undecided,
            self.info,
        ]
    }

    fn fill(&mut self, gauges: &TargetGauges) {
        let labels = info_labels(&gauges.targets);
        for row in &gauges.targets {
            self.fill_target(row);
            self.info.series.push(series(info(row, &labels), 1.0));
        }
        for ((state, severity, impact), count) in &gauges.incidents {
            self.incidents.set([impact.as_str(), severity.as_str(), state], whole(*count));
        }
        for (severity, at) in &gauges.oldest_undecided {
            self.oldest_undecided.set([severity.as_str()], seconds(*at));
        }
    }

    fn fill_target(&mut self, row: &TargetRow) {
        let id = row.summary.id.as_str();
        let set = |family: &mut Family, value: Option<f64>| {
            if let Some(value) = value {
                family.set([id], value);
            }
        };
        set(&mut self.up, row.up.map(truth));
        set(&mut self.blocked, Some(truth(row.blocked)));
        set(&mut self.stale, Some(truth(row.stale)));
        set(&mut self.credential_ok, row.credential_ok.map(truth));
        set(&mut self.last_success, row.last_success.map(seconds));
        set(&mut self.certificate_ends, row.certificate_ends.map(seconds));
        set(&mut self.baseline_reviewed, row.baseline_reviewed.map(truth));
        set(&mut self.baseline_accepted, row.baseline_accepted.map(seconds));
        self.confirmed.set([&row.summary.kind.to_string(), id], truth(row.confirmed));
        for (facet, sight) in &row.facets {
            let facet = facet.to_string();
            self.facet_watched.set([&facet, id], truth(sight.watched));
            if let Some(at) = sight.last_seen {
                self.facet_last_seen.set([&facet, id], seconds(at));
            }
        }
        for (severity, count) in row.drift_open.iter().filter(|(_, count)| **count > 0) {
            self.drift_open.set([severity.as_str(), id], whole(*count));
        }
    }
}

/// Each Prometheus label that inventory labels become, with those (`a-b` and `a_b` share one).
fn info_labels(targets: &[TargetRow]) -> BTreeMap<String, Vec<&str>> {
    let mut labels: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let written: BTreeSet<&String> = targets.iter().flat_map(|row| row.summary.labels.keys()).collect();
    for label in written {
        labels.entry(label_name(label)).or_default().push(label);
    }
    labels
}

/// The labels of a target's `target_info`, all of them for each target, by name: `kind`, `label_*`, `target`.
fn info(row: &TargetRow, labels: &BTreeMap<String, Vec<&str>>) -> Vec<LabelPair> {
    let of_inventory = labels.iter().map(|(name, written)| {
        let value = written.iter().find_map(|label| row.summary.labels.get(*label));
        pair(name, value.map_or("", String::as_str))
    });
    let kind = pair("kind", &row.summary.kind.to_string());
    [kind].into_iter().chain(of_inventory).chain([pair("target", row.summary.id.as_str())]).collect()
}

/// An inventory label as a Prometheus label: `label_` and its name, anything but `[a-zA-Z0-9_]` replaced by `_`.
fn label_name(label: &str) -> String {
    let clean: String = label.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("label_{clean}")
}

const fn truth(value: bool) -> f64 {
    if value { 1.0 } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "gauges are doubles; counts stay far below 2^53")]
const fn whole(value: u64) -> f64 {
    value as f64
}

fn seconds(at: Timestamp) -> f64 {
    at.as_duration().as_secs_f64()
}

/// One target of which everything is known, for the list of metrics.
pub(super) fn sample() -> TargetGauges {
    let facet = FacetName::stranger(crate::model::facet::Facet::McpTools);
    let Ok(id) = "tickets".parse() else { return TargetGauges::default() };
    let labels = BTreeMap::from([("team".to_owned(), "payments".to_owned())]);
    let kind = crate::model::target::Kind::Mcp;
    let now = Some(Timestamp::UNIX_EPOCH);
    TargetGauges {
        targets: vec![TargetRow {
            summary: TargetSummary { id, kind, url: "https://mcp.example.com/mcp".to_owned(), labels },
            up: Some(true),
            blocked: false,
            stale: false,
            confirmed: true,
            credential_ok: Some(true),
            last_success: now,
            certificate_ends: now,
            facets: BTreeMap::from([(facet, FacetSight { watched: true, last_seen: now })]),
            baseline_reviewed: Some(false),
            baseline_accepted: now,
            drift_open: BTreeMap::from([(Severity::High, 1)]),
        }],
        incidents: BTreeMap::from([(("open", Severity::High, Impact::Breaking), 1)]),
        oldest_undecided: BTreeMap::from([(Severity::High, Timestamp::UNIX_EPOCH)]),
    }
}
