//! All facets of one scan, canonical, with what was checked: `driftd.snapshot/1`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::facet::{FacetName, FacetState, UnseenReason};
use super::observation::{Asked, Detection, Outcome};
use super::rule::Severity;
use super::target::TargetSummary;

/// Grows when canonical form, keys or the volatile table change.
pub const MODEL: u32 = 1;

/// All facets of one scan.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// [`MODEL`] at the time.
    pub model: u32,
    /// Whose.
    pub target: TargetSummary,
    /// When the scan began.
    pub at: Timestamp,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// HTTP requests sent.
    pub requests: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// Over the names, states and digests of all facets that were seen or absent.
    pub digest: Digest,
    /// What was found out about MCP.
    pub mcp: Detection,
    /// Each facet that was asked for.
    pub facets: BTreeMap<FacetName, FacetState>,
    /// Which facets are watched, else why not.
    pub coverage: BTreeMap<FacetName, Coverage>,
    /// How it was asked.
    pub asked: Asked,
    /// Conformance questions.
    pub checks: Vec<Check>,
}

/// What a scan says of what it looked at, without any value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// How it ended.
    pub outcome: Outcome,
    /// Its snapshot.
    pub digest: Digest,
    /// What it watched.
    pub coverage: BTreeMap<FacetName, Coverage>,
    /// What it did not see, and why.
    pub unseen: BTreeMap<FacetName, UnseenReason>,
    /// What it checked.
    pub checks: Vec<Check>,
}

/// Whether a facet is watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// It is.
    pub watched: bool,
    /// Why not, or why it was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One conformance question and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The rule.
    pub rule: String,
    /// Its case, or `-`.
    pub case: String,
    /// The answer.
    pub verdict: CheckVerdict,
    /// How bad a finding is.
    pub severity: Severity,
    /// What a finding does to the scan's verdict.
    pub status: CheckStatus,
    /// The finding in a sentence.
    pub message: String,
    /// What to do.
    pub remedy: String,
    /// What was seen, in our words.
    pub evidence: String,
    /// The specification.
    pub spec: String,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// passed, finding or skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckVerdict {
    /// As it should be.
    Passed,
    /// Not as it should be.
    Finding,
    /// Not decided.
    Skipped,
}

/// What a finding does to the scan's verdict, mildest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// Nothing.
    None,
    /// `warning`.
    Warning,
    /// `fail`.
    Fail,
    /// `error`: no verdict at all.
    Error,
}
