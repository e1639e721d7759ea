//! How an opening can end: a conversation that stands, a guard, a failure.

use super::exchange::Read;
use super::trouble::Trouble;
use crate::model::facet::Facet;
use crate::model::json::Json;
use crate::model::observation::Era;

/// How the opening ended.
#[derive(Debug)]
pub(super) enum Opened {
    /// Lists can be asked for.
    Ready(Box<Ready>),
    /// 401, or 403 with a challenge: the value of `auth.challenge`.
    Guarded(Json),
    /// Neither.
    Failed(Failed),
}

/// A conversation that stands.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) era: Era,
    pub(super) date: String,
    /// The date that `initialize` offered.
    pub(super) offer: Option<String>,
    /// The result, or why there is none although lists are answered.
    pub(super) handshake: Result<Read, Trouble>,
    pub(super) capabilities: Capabilities,
    /// The value of `mcp.transport`.
    pub(super) transport: Json,
    pub(super) supported: Vec<String>,
    /// A valid handshake of a known date.
    pub(super) is_confirmed: bool,
}

/// No conversation.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) trouble: Trouble,
    /// A handshake that was valid all the same, only without a date that we speak.
    pub(super) handshake: Option<Read>,
    /// The server knows the protocol.
    pub(super) era: Option<Era>,
    pub(super) supported: Vec<String>,
}

impl From<Trouble> for Failed {
    fn from(trouble: Trouble) -> Self {
        Self { trouble, handshake: None, era: None, supported: Vec::new() }
    }
}

/// Which capabilities were declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Capabilities {
    /// There is no declaration: each list is asked for.
    Unknown,
    /// These names.
    Declared(Vec<String>),
}

impl Capabilities {
    pub(super) fn of(result: &Json) -> Self {
        match result.member("capabilities").and_then(Json::as_object) {
            Some(members) => {
                let declared = members.iter().filter(|(_, value)| **value != Json::Null);
                Self::Declared(declared.map(|(name, _)| name.clone()).collect())
            }
            None => Self::Unknown,
        }
    }

    /// Whether the list `facet` is to be asked for. Templates have no capability of their own.
    pub(super) fn offers(&self, facet: Facet) -> bool {
        let name = match facet {
            Facet::McpTools => "tools",
            Facet::McpPrompts => "prompts",
            Facet::McpResources | Facet::McpResourceTemplates => "resources",
            Facet::McpHandshake
            | Facet::McpTransport
            | Facet::McpCard
            | Facet::McpCatalog
            | Facet::AuthChallenge
            | Facet::Tls
            | Facet::Checks
            | Facet::Scan => return false,
        };
        match self {
            Self::Unknown => true,
            Self::Declared(names) => names.iter().any(|declared| declared == name),
        }
    }

    /// Whether a missing method contradicts the declaration.
    pub(super) fn promises(&self, facet: Facet) -> bool {
        *self != Self::Unknown && facet != Facet::McpResourceTemplates && self.offers(facet)
    }
}
