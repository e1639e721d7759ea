//! Reads a snapshot back, or a bare list result as a snapshot of one facet.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::{SNAPSHOT_SCHEMA, SnapshotDocument};
use crate::judge::snapshot::snapshot;
use crate::model::facet::{Facet, FacetName};
use crate::model::json::{Json, Limits};
use crate::model::memory::Memory;
use crate::model::observation::{Asked, Detection, DetectionState, Observation, Outcome, RawFacet, RawRead};
use crate::model::snapshot::{MODEL, Snapshot};
use crate::model::target::{Kind, TargetId, TargetSummary};

/// Why a file is no document we can compare.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// JSON, and neither a snapshot nor a list result.
    #[error("neither a {SNAPSHOT_SCHEMA} document nor the result of a list: {0}")]
    Unknown(String),
    /// A snapshot of a newer schema or model.
    #[error("a newer driftd wrote this: {0}")]
    Newer(String),
}

/// Reads a snapshot document, or a bare list result (`tools/list` and its kin, with or without its JSON-RPC frame).
///
/// # Errors
/// Says what the text is not.
pub fn read(text: &[u8]) -> Result<Snapshot, DocumentError> {
    // The file may be one that a peer's answer was saved to, hence the peer's limits for a bare list.
    let own = Json::parse_trusted(text).map_err(|error| DocumentError::Json(error.to_string()))?;
    match own.member("schema").and_then(Json::as_str) {
        Some(SNAPSHOT_SCHEMA) => from_document(text, &own),
        Some(other) if other.starts_with("driftd.snapshot/") => Err(DocumentError::Newer(format!("schema {other}"))),
        Some(_) | None => bare(text),
    }
}

fn from_document(text: &[u8], own: &Json) -> Result<Snapshot, DocumentError> {
    let model = own.member("model").and_then(Json::as_number).and_then(crate::model::json::Number::as_i64);
    if model.is_some_and(|model| model > i64::from(MODEL)) {
        return Err(DocumentError::Newer(format!("model {}", model.unwrap_or_default())));
    }
    let document: SnapshotDocument =
        serde_json::from_slice(text).map_err(|error| DocumentError::Unknown(error.to_string()))?;
    let id: TargetId = document.target.id.parse().map_err(|_| DocumentError::Unknown("the target's id".to_owned()))?;
    let states = document.facets.into_iter().map(|(name, facet)| {
        facet
            .into_state()
            .map(|state| (name, state))
            .ok_or_else(|| DocumentError::Unknown(format!("facet {name} is incomplete")))
    });
    let facets = states.collect::<Result<BTreeMap<_, _>, _>>()?;
    Ok(Snapshot {
        model: document.model,
        target: TargetSummary {
            id,
            kind: document.target.kind,
            url: document.target.url,
            labels: document.target.labels,
        },
        at: document.at,
        duration_ms: document.duration_ms,
        requests: document.requests,
        outcome: document.outcome,
        digest: document.digest,
        mcp: document.protocols.mcp,
        facets,
        coverage: document.coverage,
        asked: document.asked,
        checks: document.checks,
    })
}

fn bare(text: &[u8]) -> Result<Snapshot, DocumentError> {
    let parsed = Json::parse(text, Limits::PEER).map_err(|error| DocumentError::Json(error.to_string()))?;
    let result = parsed.value.member("result").unwrap_or(&parsed.value);
    let facets: BTreeMap<FacetName, RawFacet> = Facet::ALL
        .into_iter()
        .filter(|facet| {
            let array = facet.list().and_then(|shape| result.member(shape.array));
            array.and_then(Json::as_array).is_some()
        })
        .map(|facet| {
            let read = RawRead { pages: vec![page(facet, result)], ..RawRead::default() };
            (FacetName::stranger(facet), RawFacet::Seen(vec![read]))
        })
        .collect();
    if facets.is_empty() {
        return Err(DocumentError::Unknown("no list of tools, prompts, resources or templates in it".to_owned()));
    }
    let target = bare_target()?;
    Ok(snapshot(&observation(facets), &target, &Memory::default()))
}

/// The result without the arrays of other lists: some tools save all of them in one object.
fn page(facet: Facet, result: &Json) -> Json {
    let Some(members) = result.as_object() else { return result.clone() };
    let foreign = |name: &str| {
        Facet::ALL.into_iter().any(|other| other != facet && other.list().is_some_and(|shape| shape.array == name))
    };
    Json::Object(members.iter().filter(|(name, _)| !foreign(name)).map(|(name, v)| (name.clone(), v.clone())).collect())
}

fn bare_target() -> Result<TargetSummary, DocumentError> {
    let id: TargetId = "file".parse().map_err(|_| DocumentError::Unknown("the target's id".to_owned()))?;
    Ok(TargetSummary { id, kind: Kind::Mcp, url: String::new(), labels: BTreeMap::new() })
}

fn observation(facets: BTreeMap<FacetName, RawFacet>) -> Observation {
    Observation {
        at: Timestamp::UNIX_EPOCH,
        duration: Duration::ZERO,
        requests: 0,
        outcome: Outcome::Ok,
        sights: Vec::new(),
        mcp: Detection {
            state: DetectionState::Unseen,
            transport: None,
            era: None,
            version: None,
            supported: Vec::new(),
            endpoint: None,
            evidence: vec!["a saved list".to_owned()],
        },
        facets,
        unwatched: BTreeMap::new(),
        asked: Asked::default(),
        remarks: Vec::new(),
        not_before: None,
        address_class: None,
        certificate_ends: None,
        stderr: None,
        kept: None,
        echo: None,
    }
}
