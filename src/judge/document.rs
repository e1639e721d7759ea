//! `driftd.snapshot/1` and `driftd.diff/1`: the documents of `scan`, `diff` and `check` (design, section 6).
//!
//! Decides their form, and reads a snapshot back, so that two saved ones can be compared. A bare list result is read
//! as a snapshot of that one facet.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::digest::Digest;
use crate::model::drift::{Detail, Drift, Fingerprint, Note};
use crate::model::facet::{FacetName, UnseenReason};
use crate::model::incident::Unit;
use crate::model::json::Json;
use crate::model::judgment::Judgment;
use crate::model::observation::{Asked, Detection, Outcome};
use crate::model::pointer::Pointer;
use crate::model::rule::{Impact, Severity};
use crate::model::snapshot::{Check, Coverage, Snapshot};
use crate::model::target::Kind;

use super::rules;

mod facet;
mod read;
mod verdict;

use facet::FacetDocument;
pub use read::{DocumentError, read};
pub use verdict::{Verdict, verdict};

/// The value of `schema` in a snapshot.
pub const SNAPSHOT_SCHEMA: &str = "driftd.snapshot/1";
/// The value of `schema` in a diff.
pub const DIFF_SCHEMA: &str = "driftd.diff/1";

/// `driftd.snapshot/1`.
#[derive(Debug, Serialize, Deserialize)]
pub struct SnapshotDocument {
    schema: String,
    model: u32,
    target: TargetDocument,
    at: Timestamp,
    duration_ms: u64,
    requests: u32,
    digest: Digest,
    verdict: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    verdict_coverage: String,
    outcome: Outcome,
    #[serde(default)]
    asked: Asked,
    specs: Vec<Spec>,
    coverage: BTreeMap<FacetName, Coverage>,
    protocols: Protocols,
    facets: BTreeMap<FacetName, FacetDocument>,
    checks: Vec<Check>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stderr: Option<String>,
}

impl SnapshotDocument {
    /// With the end of what the target's program wrote to its standard error.
    #[must_use]
    pub fn with_stderr(self, stderr: Option<String>) -> Self {
        Self { stderr, ..self }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct TargetDocument {
    id: String,
    kind: Kind,
    url: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Spec {
    name: String,
    url: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Protocols {
    mcp: Detection,
}

/// The document of a snapshot.
pub fn snapshot_document(snapshot: &Snapshot) -> SnapshotDocument {
    let verdict = verdict(snapshot);
    let spec = |date: &&str| Spec {
        name: format!("MCP {date}"),
        url: format!("https://modelcontextprotocol.io/specification/{date}"),
    };
    SnapshotDocument {
        schema: SNAPSHOT_SCHEMA.to_owned(),
        model: snapshot.model,
        target: TargetDocument {
            id: snapshot.target.id.to_string(),
            kind: snapshot.target.kind,
            url: snapshot.target.url.clone(),
            labels: snapshot.target.labels.clone(),
        },
        at: snapshot.at,
        duration_ms: snapshot.duration_ms,
        requests: snapshot.requests,
        digest: snapshot.digest,
        verdict: verdict.word.to_owned(),
        verdict_coverage: verdict.coverage,
        outcome: snapshot.outcome,
        asked: snapshot.asked.clone(),
        specs: rules::DATES.iter().map(spec).collect(),
        coverage: snapshot.coverage.clone(),
        protocols: Protocols { mcp: snapshot.mcp.clone() },
        facets: snapshot.facets.iter().map(|(name, state)| (*name, FacetDocument::of(state))).collect(),
        checks: snapshot.checks.clone(),
        stderr: None,
    }
}

/// `driftd.diff/1`.
#[derive(Debug, Serialize)]
pub struct DiffDocument {
    schema: &'static str,
    drifts: Vec<DriftDocument>,
    units: Vec<UnitDocument>,
    unseen: Vec<UnseenDocument>,
}

#[derive(Debug, Serialize)]
struct DriftDocument {
    rule: String,
    case: String,
    severity: Severity,
    impact: Vec<Impact>,
    facet: FacetName,
    path: Pointer,
    before: Option<Json>,
    after: Option<Json>,
    message: String,
    remedy: String,
    notes: Vec<Note>,
    details: Vec<Detail>,
    fingerprint: Fingerprint,
}

#[derive(Debug, Serialize)]
struct UnitDocument {
    n: u32,
    rule: String,
    case: String,
    severity: Severity,
    impact: Vec<Impact>,
    title: String,
    items: Vec<String>,
}

#[derive(Debug, Serialize)]
struct UnseenDocument {
    facet: FacetName,
    reason: UnseenReason,
}

/// The document of a comparison. What kept us from seeing stands under `unseen`, not among the drifts.
pub fn diff_document(judgment: &Judgment, units: &[Unit]) -> DiffDocument {
    DiffDocument {
        schema: DIFF_SCHEMA,
        drifts: judgment.drifts.iter().map(drift).collect(),
        units: units.iter().map(unit).collect(),
        unseen: judgment
            .unseen
            .iter()
            .map(|(facet, reason)| UnseenDocument { facet: *facet, reason: reason.clone() })
            .collect(),
    }
}

fn drift(drift: &Drift) -> DriftDocument {
    let item = drift.path.token(1).map(super::canon::shown);
    DriftDocument {
        rule: drift.rule.rule.clone(),
        case: drift.rule.case.clone(),
        severity: drift.severity,
        impact: drift.impact.clone(),
        facet: drift.facet,
        path: drift.path.clone(),
        before: value(&drift.before),
        after: value(&drift.after),
        message: drift.message.clone(),
        remedy: rules::ask(&drift.rule.rule, item.as_slice()),
        notes: drift.notes.clone(),
        details: drift.all_details().collect(),
        fingerprint: drift.fingerprint,
    }
}

/// Absent is `null`, one value is itself, several are their array.
fn value(values: &[Json]) -> Option<Json> {
    match values {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(Json::Array(several.to_vec())),
    }
}

fn unit(unit: &Unit) -> UnitDocument {
    UnitDocument {
        n: unit.n,
        rule: unit.rule.rule.clone(),
        case: unit.rule.case.clone(),
        severity: unit.severity,
        impact: unit.impact.clone(),
        title: unit.title.clone(),
        items: unit.items.clone(),
    }
}

#[cfg(test)]
mod tests;
