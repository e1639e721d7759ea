//! `driftd.snapshot/1` and `driftd.diff/1`: the documents of `scan`, `diff` and `check`.

use serde::Serialize;

use crate::model::incident::Unit;
use crate::model::judgment::Judgment;
use crate::model::snapshot::Snapshot;

/// `driftd.snapshot/1`.
#[derive(Debug, Serialize)]
pub struct SnapshotDocument {}

/// `driftd.diff/1`.
#[derive(Debug, Serialize)]
pub struct DiffDocument {}

/// Why a file is no document we can compare.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(String),
    /// JSON, and neither a snapshot nor a list result.
    #[error("neither a driftd.snapshot/1 document nor a list result: {0}")]
    Unknown(String),
    /// A snapshot of a newer schema or model.
    #[error("a newer driftd wrote this: {0}")]
    Newer(String),
}

/// The worst status of a snapshot's findings, with its coverage in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// `ok`, `warning`, `fail` or `error`.
    pub word: &'static str,
    /// What it covers; empty when everything was read.
    pub coverage: String,
}

/// The verdict of `snapshot`.
pub fn verdict(snapshot: &Snapshot) -> Verdict {
    let _ = snapshot;
    unimplemented!()
}

/// The document of a snapshot.
pub fn snapshot_document(snapshot: &Snapshot) -> SnapshotDocument {
    let _ = snapshot;
    unimplemented!()
}

/// The document of a comparison.
pub fn diff_document(judgment: &Judgment, units: &[Unit]) -> DiffDocument {
    let _ = (judgment, units);
    unimplemented!()
}

/// Reads a snapshot document, or a bare list result (`tools/list` and its kin, with or without its JSON-RPC frame).
///
/// # Errors
/// Says what the text is not.
pub fn read(text: &[u8]) -> Result<Snapshot, DocumentError> {
    let _ = text;
    unimplemented!()
}
