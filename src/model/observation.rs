//! What one scan brought home, before anything is judged: the probe's only result.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::facet::{FacetName, UnseenReason};
use super::json::Json;
use super::snapshot::CheckVerdict;

/// One pass over one target.
#[derive(Clone, Debug)]
pub struct Observation {
    /// When it began.
    pub at: Timestamp,
    /// How long it took.
    pub duration: Duration,
    /// HTTP requests sent.
    pub requests: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// What was wrong with the scan itself, each with its rule: nothing of it is drift.
    pub sights: Vec<SightFact>,
    /// What was found out about MCP.
    pub mcp: Detection,
    /// Each watched facet of each face.
    pub facets: BTreeMap<FacetName, RawFacet>,
    /// Facets that are not watched, and why (a list behind a 401 without a credential; a face switched off).
    pub unwatched: BTreeMap<FacetName, String>,
    /// How the target was asked.
    pub asked: Asked,
    /// Checks that the conversation itself decided (statuses, framing), as (rule, case, evidence).
    pub remarks: Vec<Remark>,
    /// `Retry-After` or its like: not before this instant.
    pub not_before: Option<Timestamp>,
    /// Class of the address that answered, for the guard's memory.
    pub address_class: Option<AddressClass>,
    /// When the certificate ends that it showed.
    pub certificate_ends: Option<Timestamp>,
    /// The end of what the target's program wrote to its standard error, secrets taken out: the peer's text.
    pub stderr: Option<String>,
    /// What was looked at that is not looked at in every scan; `None` when what was kept of it served.
    pub kept: Option<Arc<Kept>>,
    /// By what it is known again; `None` when it was not complete, or not the probe's.
    pub echo: Option<Echo>,
}

/// What is looked at only now and then, and stands in every scan until it is looked at again (design, section 3:
/// cadence and cost).
#[derive(Clone, Debug)]
pub struct Kept {
    /// When it was looked at.
    pub at: Timestamp,
    /// Its facets.
    pub facets: BTreeMap<FacetName, RawFacet>,
    /// What it decided of checks.
    pub remarks: Vec<Remark>,
}

/// By what a complete scan is known again, without a value of it.
///
/// An observation whose echo has the digest of the one that the probe was given brought nothing new, byte for byte,
/// and its lists are not parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Over everything that it brought.
    pub digest: Digest,
    /// The documents of its lists, in the order of their reads.
    pub documents: Box<[(FacetName, Digest)]>,
}

/// How a scan ended: the label of `driftd_scans_total`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every watched facet was seen or absent.
    Ok,
    /// Some watched facet was unseen.
    Partial,
    /// Refused without a challenge.
    Blocked,
    /// 429.
    RateLimited,
    /// No HTTP answer, or 5xx.
    Unreachable,
    /// Our credential was refused.
    CredentialRejected,
    /// Not started: paused, or stopped while waiting.
    Skipped,
    /// Anything else without a verdict: no MCP where we asked for it, a fault of ours.
    Error,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 8] = [
        Self::Ok,
        Self::Partial,
        Self::Blocked,
        Self::RateLimited,
        Self::Unreachable,
        Self::CredentialRejected,
        Self::Skipped,
        Self::Error,
    ];

    /// The label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Partial => "partial",
            Self::Blocked => "blocked",
            Self::RateLimited => "rate_limited",
            Self::Unreachable => "unreachable",
            Self::CredentialRejected => "credential_rejected",
            Self::Skipped => "skipped",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that kept us from seeing. Its key is (target, `scan`, `place`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SightFact {
    /// A rule of section 1, as `scan.unreachable`.
    pub rule: &'static str,
    /// Its case, or `-`.
    pub case: &'static str,
    /// The whole endpoint, or one facet.
    pub place: SightPlace,
    /// In our words: status, limit, what failed; no text of the peer.
    pub detail: String,
}

/// Where sight was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SightPlace {
    /// `/endpoint`: nothing more was asked of it.
    Endpoint,
    /// `/FACET`.
    Facet(FacetName),
}

/// A facet as read, before it is canonical.
#[derive(Clone, Debug)]
pub enum RawFacet {
    /// One or two complete reads.
    Seen(Vec<RawRead>),
    /// The peer said that it has none.
    Absent {
        /// What kind of no.
        note: Option<String>,
    },
    /// Not found out.
    Unseen(UnseenReason),
}

/// One complete read.
#[derive(Clone, Debug, Default)]
pub struct RawRead {
    /// The result objects, one a page, in order.
    pub pages: Vec<Json>,
    /// What RFC 8259 leaves open and a page used, in our words.
    pub ambiguities: Vec<String>,
    /// The read went over a connection and session of its own.
    pub fresh: bool,
    /// The document, when there was only one and it held nothing else.
    pub document: Option<Document>,
}

/// The bytes of a document.
#[derive(Clone, Debug)]
pub struct Document {
    /// Their digest, once secrets were taken out.
    pub digest: Digest,
    /// Themselves, while they stand for the pages that nobody has parsed.
    pub unparsed: Option<Vec<u8>>,
}

/// What the conversation itself says to a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The rule.
    pub rule: &'static str,
    /// Its case, or `-`.
    pub case: &'static str,
    /// The answer.
    pub verdict: CheckVerdict,
    /// In our words: what was found, or why nothing was decided.
    pub evidence: String,
}

impl Remark {
    /// It is not as it should be.
    pub fn finding(rule: &'static str, evidence: impl Into<String>) -> Self {
        Self { rule, case: "-", verdict: CheckVerdict::Finding, evidence: evidence.into() }
    }

    /// It was looked at, and is as it should be.
    #[must_use]
    pub const fn passed(rule: &'static str) -> Self {
        Self { rule, case: "-", verdict: CheckVerdict::Passed, evidence: String::new() }
    }

    /// It was not decided, and why.
    pub fn skipped(rule: &'static str, why: impl Into<String>) -> Self {
        Self { rule, case: "-", verdict: CheckVerdict::Skipped, evidence: why.into() }
    }
}

/// Three states of detection with their evidence, or unseen (design, section 3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detection {
    /// The state.
    pub state: DetectionState,
    /// Transport, when it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Era, when it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub era: Option<Era>,
    /// The date that was spoken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Dates that the server named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supported: Vec<String>,
    /// Where the endpoint was found; none when it is the URL as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Found>,
    /// What says so, in our words.
    pub evidence: Vec<String>,
}

/// An endpoint that is not the URL as written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Where it is.
    pub url: String,
    /// What led there.
    pub found_by: FoundBy,
}

/// What led to an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// A card that the origin's AI Catalog names or holds.
    AiCatalog,
    /// A Server Card.
    ServerCard,
    /// The path `/mcp` of the origin, where many servers are.
    McpPath,
}

impl FoundBy {
    /// The word in documents and values.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AiCatalog => "ai_catalog",
            Self::ServerCard => "server_card",
            Self::McpPath => "mcp_path",
        }
    }

    /// For people: the endpoint was found by it.
    #[must_use]
    pub const fn told(self) -> &'static str {
        match self {
            Self::AiCatalog => "named by the AI catalog",
            Self::ServerCard => "named by a server card",
            Self::McpPath => "at the origin's path /mcp",
        }
    }
}

/// How sure we are that a protocol is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DetectionState {
    /// It answered, and not in this protocol.
    NotDetected,
    /// Signs, no proof.
    Indicated,
    /// A valid handshake of a known date.
    Confirmed,
    /// Nothing answered.
    Unseen,
}

/// How MCP is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Streamable HTTP.
    StreamableHttp,
    /// HTTP+SSE of 2024-11-05: a stream by GET, messages by POST.
    Sse,
    /// A program of ours, by its standard input and output.
    Stdio,
}

impl Transport {
    /// The word in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StreamableHttp => "streamable_http",
            Self::Sse => "sse",
            Self::Stdio => "stdio",
        }
    }
}

/// With `initialize` or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Era {
    /// 2026-07-28: every request stands alone.
    Stateless,
    /// Until 2025-11-25: `initialize`.
    Session,
}

impl Era {
    /// The word in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stateless => "stateless",
            Self::Session => "session",
        }
    }
}

/// How a target was asked, kept beside its baseline: what changes here is our doing, not the server's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The protocol date that the conversation used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
    /// Dates offered, in order.
    pub offered: Vec<String>,
    /// Of the URL as written, which may hold a token and so is not kept here; `None` in what an older version accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Digest>,
    /// Names of the extra headers sent.
    pub headers: Vec<String>,
    /// Of the authorities that vouch for it, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<Digest>,
    /// Of the certificate that it is shown, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Digest>,
    /// `passive` or `negative`.
    pub tier: String,
    /// The credential's name (of its reference, never its value), for the `@auth` face.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// Whether the stranger's face is watched beside the credential's.
    #[serde(default)]
    pub anonymous: bool,
}

/// What kind of address it is (RFC 6890 and its kin).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressClass {
    /// Globally reachable.
    Public,
    /// RFC 1918, unique local, shared (RFC 6598).
    Private,
    /// `127.0.0.0/8`, `::1`.
    Loopback,
    /// `169.254.0.0/16`, `fe80::/10`.
    LinkLocal,
    /// A cloud's metadata service.
    Metadata,
    /// Multicast and broadcast.
    Multicast,
    /// `0.0.0.0/8`, `::`.
    Unspecified,
    /// Documentation, benchmarking, reserved, obsolete transition space.
    Reserved,
}

impl AddressClass {
    /// The word in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link_local",
            Self::Metadata => "metadata",
            Self::Multicast => "multicast",
            Self::Unspecified => "unspecified",
            Self::Reserved => "reserved",
        }
    }
}
