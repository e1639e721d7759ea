//! Series that describe targets: made anew at each scrape from what the store and the watch loop know.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, Opts};

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

/// Targets up to which each has series of its own; above, only what is counted over all of them is shown.
const MOST: usize = 5_000;

/// Whether each of so many targets has series of its own: what is not shown need not be gathered.
pub const fn shows_each(targets: usize) -> bool {
    targets <= MOST
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
        let families = Families::new(&[])?;
        let descriptions = families.all().iter().flat_map(|family| family.desc()).cloned().collect();
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
        // The names are fixed and a test makes them all, so `new` cannot fail here; a scrape without them beats none.
        let Ok(families) = Families::new(&gauges.targets) else { return Vec::new() };
        families.fill(&gauges);
        families
            .all()
            .iter()
            .flat_map(|family| family.collect())
            .filter(|family| !family.get_metric().is_empty())
            .collect()
    }
}

struct Families {
    up: GaugeVec,
    blocked: GaugeVec,
    confirmed: GaugeVec,
    credential_ok: GaugeVec,
    last_success: GaugeVec,
    certificate_ends: GaugeVec,
    facet_watched: GaugeVec,
    facet_last_seen: GaugeVec,
    baseline_reviewed: GaugeVec,
    baseline_accepted: GaugeVec,
    drift_open: GaugeVec,
    incidents: GaugeVec,
    oldest_undecided: GaugeVec,
    info: GaugeVec,
    /// Prometheus label and the inventory labels that it stands for (`a-b` and `a_b` share one).
    info_labels: BTreeMap<String, Vec<String>>,
}

impl Families {
    fn new(targets: &[TargetRow]) -> Result<Self, prometheus::Error> {
        let family =
            |name: &str, help: &str, labels: &[&str]| GaugeVec::new(Opts::new(name, help).namespace("driftd"), labels);
        let mut info_labels: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let written: BTreeSet<&String> = targets.iter().flat_map(|row| row.summary.labels.keys()).collect();
        for label in written {
            info_labels.entry(label_name(label)).or_default().push(label.clone());
        }
        let mut info: Vec<&str> = vec!["target", "kind"];
        info.extend(info_labels.keys().map(String::as_str));
        Ok(Self {
            up: family(
                "target_up",
                "1 when the target answers in its protocol, 0 when it is confirmed unreachable or blocked; absent before anything is known.",
                &["target"],
            )?,
            blocked: family("target_blocked", "1 while a block is confirmed.", &["target"])?,
            confirmed: family(
                "target_protocol_confirmed",
                "1 when the last scan that saw anything confirmed the protocol.",
                &["target", "protocol"],
            )?,
            credential_ok: family(
                "target_credential_ok",
                "1 when our credential was taken, 0 when it was refused or cannot be read; absent without one.",
                &["target"],
            )?,
            last_success: family(
                "scan_last_success_timestamp_seconds",
                "When the target's last complete scan ended.",
                &["target"],
            )?,
            certificate_ends: family(
                "tls_certificate_not_after_timestamp_seconds",
                "When the certificate ends that the target showed last; absent over plain HTTP.",
                &["target"],
            )?,
            facet_watched: family(
                "facet_watched",
                "1 when the facet is watched, 0 when coverage says why not.",
                &["target", "facet"],
            )?,
            facet_last_seen: family(
                "facet_last_seen_timestamp_seconds",
                "When the facet was last seen or clearly absent.",
                &["target", "facet"],
            )?,
            baseline_reviewed: family(
                "baseline_reviewed",
                "1 when a person accepted every facet of the target's baseline.",
                &["target"],
            )?,
            baseline_accepted: family(
                "baseline_accepted_timestamp_seconds",
                "Newest acceptance in the target's baseline.",
                &["target"],
            )?,
            drift_open: family(
                "drift_open",
                "Open units of drift, by severity; absent at zero.",
                &["target", "severity"],
            )?,
            incidents: family(
                "incidents",
                "Incidents that have not ended, by state, worst severity and main impact.",
                &["state", "severity", "impact"],
            )?,
            oldest_undecided: family(
                "drift_oldest_undecided_timestamp_seconds",
                "When the oldest undecided drift was confirmed, by severity; absent without one.",
                &["severity"],
            )?,
            info: family("target_info", "Constant 1, labeled by the target's kind and inventory labels.", &info)?,
            info_labels,
        })
    }

    const fn all(&self) -> [&GaugeVec; 14] {
        [
            &self.up,
            &self.blocked,
            &self.confirmed,
            &self.credential_ok,
            &self.last_success,
            &self.certificate_ends,
            &self.facet_watched,
            &self.facet_last_seen,
            &self.baseline_reviewed,
            &self.baseline_accepted,
            &self.drift_open,
            &self.incidents,
            &self.oldest_undecided,
            &self.info,
        ]
    }

    fn fill(&self, gauges: &TargetGauges) {
        for row in &gauges.targets {
            self.fill_target(row);
        }
        for ((state, severity, impact), count) in &gauges.incidents {
            let labels = [*state, severity.as_str(), impact.as_str()];
            self.incidents.with_label_values(&labels).set(whole(*count));
        }
        for (severity, at) in &gauges.oldest_undecided {
            self.oldest_undecided.with_label_values(&[severity.as_str()]).set(seconds(*at));
        }
    }

    fn fill_target(&self, row: &TargetRow) {
        let id = row.summary.id.as_str();
        let set = |family: &GaugeVec, value: Option<f64>| {
            if let Some(value) = value {
                family.with_label_values(&[id]).set(value);
            }
        };
        set(&self.up, row.up.map(truth));
        set(&self.blocked, Some(truth(row.blocked)));
        set(&self.credential_ok, row.credential_ok.map(truth));
        set(&self.last_success, row.last_success.map(seconds));
        set(&self.certificate_ends, row.certificate_ends.map(seconds));
        set(&self.baseline_reviewed, row.baseline_reviewed.map(truth));
        set(&self.baseline_accepted, row.baseline_accepted.map(seconds));
        let kind = row.summary.kind.to_string();
        self.confirmed.with_label_values(&[id, &kind]).set(truth(row.confirmed));
        for (facet, sight) in &row.facets {
            let facet = facet.to_string();
            self.facet_watched.with_label_values(&[id, &facet]).set(truth(sight.watched));
            if let Some(at) = sight.last_seen {
                self.facet_last_seen.with_label_values(&[id, &facet]).set(seconds(at));
            }
        }
        for (severity, count) in row.drift_open.iter().filter(|(_, count)| **count > 0) {
            self.drift_open.with_label_values(&[id, severity.as_str()]).set(whole(*count));
        }
        let mut values: Vec<&str> = vec![id, &kind];
        values.extend(
            self.info_labels.values().map(|written| {
                written.iter().find_map(|label| row.summary.labels.get(label)).map_or("", String::as_str)
            }),
        );
        self.info.with_label_values(&values).set(1.0);
    }
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
