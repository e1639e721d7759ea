//! Facets: the named parts of what a face shows (design, section 3).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::json::Json;

/// A part of what a target shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Facet {
    /// The whole result of `server/discover` or `initialize`.
    McpHandshake,
    /// `tools/list`.
    McpTools,
    /// `prompts/list`.
    McpPrompts,
    /// `resources/list`.
    McpResources,
    /// `resources/templates/list`.
    McpResourceTemplates,
    /// How the conversation was carried.
    McpTransport,
    /// The Server Card, and where it was found.
    McpCard,
    /// The AI Catalog, and where it was found.
    McpCatalog,
    /// Status and challenges of the anonymous request.
    AuthChallenge,
    /// What the TLS handshake shows.
    Tls,
    /// No facet of the target: what became of its checks, so that a worse verdict has a key.
    Checks,
    /// No facet of the target: the outcome of our scan, so that sight has keys like drift.
    Scan,
}

impl Facet {
    /// All facets.
    pub const ALL: [Self; 12] = [
        Self::McpHandshake,
        Self::McpTools,
        Self::McpPrompts,
        Self::McpResources,
        Self::McpResourceTemplates,
        Self::McpTransport,
        Self::McpCard,
        Self::McpCatalog,
        Self::AuthChallenge,
        Self::Tls,
        Self::Checks,
        Self::Scan,
    ];

    /// The name in the design's table.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::McpHandshake => "mcp.handshake",
            Self::McpTools => "mcp.tools",
            Self::McpPrompts => "mcp.prompts",
            Self::McpResources => "mcp.resources",
            Self::McpResourceTemplates => "mcp.resource_templates",
            Self::McpTransport => "mcp.transport",
            Self::McpCard => "mcp.card",
            Self::McpCatalog => "mcp.catalog",
            Self::AuthChallenge => "auth.challenge",
            Self::Tls => "tls",
            Self::Checks => "checks",
            Self::Scan => "scan",
        }
    }

    /// For a list facet, the name of the array in its result and of the member that identifies an item.
    #[must_use]
    pub const fn list(self) -> Option<ListShape> {
        match self {
            Self::McpTools => Some(ListShape { array: "tools", key: "name", method: "tools/list" }),
            Self::McpPrompts => Some(ListShape { array: "prompts", key: "name", method: "prompts/list" }),
            Self::McpResources => Some(ListShape { array: "resources", key: "uri", method: "resources/list" }),
            Self::McpResourceTemplates => {
                Some(ListShape { array: "resourceTemplates", key: "uriTemplate", method: "resources/templates/list" })
            }
            Self::McpHandshake
            | Self::McpTransport
            | Self::McpCard
            | Self::McpCatalog
            | Self::AuthChallenge
            | Self::Tls
            | Self::Checks
            | Self::Scan => None,
        }
    }
}

impl fmt::Display for Facet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The shape of a list's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListShape {
    /// Member of the result that holds the items.
    pub array: &'static str,
    /// Member of an item that identifies it.
    pub key: &'static str,
    /// JSON-RPC method.
    pub method: &'static str,
}

/// Whose view it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Face {
    /// The stranger's: no credential. No suffix.
    Stranger,
    /// Our credential's: suffix `@auth`.
    Auth,
}

/// A facet of a face, as `mcp.tools` or `mcp.tools@auth`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FacetName {
    /// The facet.
    pub facet: Facet,
    /// The face.
    pub face: Face,
}

impl FacetName {
    /// The stranger's `facet`.
    #[must_use]
    pub const fn stranger(facet: Facet) -> Self {
        Self { facet, face: Face::Stranger }
    }

    /// `facet` of `face`.
    #[must_use]
    pub const fn of(facet: Facet, face: Face) -> Self {
        Self { facet, face }
    }
}

impl fmt::Display for FacetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.facet.as_str())?;
        match self.face {
            Face::Stranger => Ok(()),
            Face::Auth => f.write_str("@auth"),
        }
    }
}

/// A text that names no facet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no facet is called {0:?}")]
pub struct FacetNameError(String);

impl FromStr for FacetName {
    type Err = FacetNameError;

    fn from_str(text: &str) -> Result<Self, FacetNameError> {
        let (name, face) = match text.strip_suffix("@auth") {
            Some(name) => (name, Face::Auth),
            None => (text, Face::Stranger),
        };
        let facet = Facet::ALL.into_iter().find(|facet| facet.as_str() == name);
        facet.map(|facet| Self { facet, face }).ok_or_else(|| FacetNameError(text.to_owned()))
    }
}

impl TryFrom<String> for FacetName {
    type Error = FacetNameError;

    fn try_from(text: String) -> Result<Self, FacetNameError> {
        text.parse()
    }
}

impl From<FacetName> for String {
    fn from(name: FacetName) -> Self {
        name.to_string()
    }
}

/// Seen, absent, unseen: law 1 of the design.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum FacetState {
    /// The peer showed it.
    Seen(SeenFacet),
    /// The peer said clearly that it has none.
    Absent {
        /// What kind of no it was, where that matters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// We could not find out.
    Unseen {
        /// Why.
        reason: UnseenReason,
    },
}

/// What a facet showed in one scan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFacet {
    /// The canonical values, volatile members taken out: one where all reads agree (`views[0]`), each distinct
    /// read's otherwise, sorted by digest. Items that only one read of a list had are in every view.
    pub views: Vec<Json>,
    /// Digest of the only view, or of all views' digests.
    pub digest: Digest,
    /// The volatile members of the newest read, by pointer (as text).
    pub volatile: Json,
    /// How two reads of one list differed.
    pub stability: Stability,
    /// Whether a document held a duplicate member, a lone surrogate or a number out of range, and where.
    pub ambiguities: Vec<String>,
}

/// How the reads of one scan agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stability {
    /// The same items came in another order.
    pub order_differs: bool,
    /// An item was in one read only.
    pub set_differs: bool,
    /// An item or other member had another value.
    pub value_differs: bool,
    /// One read was empty and another was not.
    pub empty_beside_full: bool,
    /// The reads went over different connections and sessions.
    pub fresh: bool,
}

/// Why a facet was not seen. The word is stable: it is in snapshots, metrics and messages.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UnseenReason {
    /// The kind.
    pub kind: UnseenKind,
    /// In our words, without the peer's text: status, limit, method.
    pub detail: String,
}

/// The kinds of not seeing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnseenKind {
    /// DNS, connect, TLS, reset.
    Unreachable,
    /// A time limit ran out.
    Timeout,
    /// 5xx.
    ServerError,
    /// Any other status outside the expected set.
    HttpStatus,
    /// 403, 407 or a gateway's page, without a challenge.
    Blocked,
    /// 429.
    RateLimited,
    /// 401: guarded, and we have no credential (not watched; hence no sight).
    Guarded,
    /// Our credential was answered 401 or 403.
    CredentialRejected,
    /// Our credential's reference gave nothing.
    CredentialUnavailable,
    /// Not JSON, or cut.
    InvalidJson,
    /// No JSON-RPC answer to our request, or a result without its required members.
    InvalidJsonrpc,
    /// A JSON-RPC error other than "method not found".
    RpcError,
    /// A cursor came twice, or there were too many pages.
    CursorLoop,
    /// A cap on bytes, values, depth, items or events.
    TooLarge,
    /// The guard refused the address.
    Refused,
    /// The name was public at the baseline and resolves to special space now: nothing was asked there.
    Rebound,
    /// The scan ended before it got there.
    NotReached,
    /// A limit of ours kept us from asking; such a scan is never settled.
    OurFault,
}

impl UnseenKind {
    /// The word in snapshots.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::ServerError => "server_error",
            Self::HttpStatus => "http_status",
            Self::Blocked => "blocked",
            Self::RateLimited => "rate_limited",
            Self::Guarded => "guarded",
            Self::CredentialRejected => "credential_rejected",
            Self::CredentialUnavailable => "credential_unavailable",
            Self::InvalidJson => "invalid_json",
            Self::InvalidJsonrpc => "invalid_jsonrpc",
            Self::RpcError => "rpc_error",
            Self::CursorLoop => "cursor_loop",
            Self::TooLarge => "too_large",
            Self::Refused => "refused",
            Self::Rebound => "rebound",
            Self::NotReached => "not_reached",
            Self::OurFault => "our_fault",
        }
    }
}

impl fmt::Display for UnseenReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.detail.is_empty() {
            f.write_str(self.kind.as_str())
        } else {
            write!(f, "{}: {}", self.kind.as_str(), self.detail)
        }
    }
}
