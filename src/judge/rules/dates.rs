//! Which member of a list item or capability which protocol date defines (MCP schemas of the five dates).
//!
//! Lists read at two dates are compared without what only one of them defines: a member that comes or goes with the
//! date is the protocol's doing, told by `mcp.era-changed` or `mcp.protocol-version-changed`.

use crate::model::facet::Facet;

/// Dates of the baseline's conversation and of this one, where both are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::judge) struct Dates {
    old: Option<String>,
    new: Option<String>,
}

/// First date that defines a member, and the last one where it was taken out again.
struct Span {
    name: &'static str,
    from: &'static str,
    to: &'static str,
}

/// The dates that are implemented, newest first.
pub(in crate::judge) const DATES: [&str; 5] = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const ALWAYS: &str = "2024-11-05";
const OPEN: &str = "9999-12-31";

const fn span(name: &'static str, from: &'static str, to: &'static str) -> Span {
    Span { name, from, to }
}

const TOOL: &[Span] = &[
    span("annotations", "2025-03-26", OPEN),
    span("title", "2025-06-18", OPEN),
    span("outputSchema", "2025-06-18", OPEN),
    span("_meta", "2025-06-18", OPEN),
    span("icons", "2025-11-25", OPEN),
    span("execution", "2025-11-25", "2025-11-25"),
];

const OTHER_ITEM: &[Span] =
    &[span("title", "2025-06-18", OPEN), span("_meta", "2025-06-18", OPEN), span("icons", "2025-11-25", OPEN)];

const REST: &[Span] = &[span("cacheScope", "2026-07-28", OPEN), span("resultType", "2026-07-28", OPEN)];

const CAPABILITY: &[Span] = &[
    span("experimental", ALWAYS, OPEN),
    span("logging", ALWAYS, OPEN),
    span("prompts", ALWAYS, OPEN),
    span("resources", ALWAYS, OPEN),
    span("tools", ALWAYS, OPEN),
    span("completions", "2025-03-26", OPEN),
    span("tasks", "2025-11-25", "2025-11-25"),
    span("extensions", "2026-07-28", OPEN),
];

const SERVER_INFO: &[Span] = &[
    span("title", "2025-06-18", OPEN),
    span("description", "2025-11-25", OPEN),
    span("icons", "2025-11-25", OPEN),
    span("websiteUrl", "2025-11-25", OPEN),
];

impl Dates {
    /// The dates of two conversations.
    pub(in crate::judge) const fn new(old: Option<String>, new: Option<String>) -> Self {
        Self { old, new }
    }

    /// Both dates, when both are known and differ.
    pub(in crate::judge) fn differ(&self) -> Option<(&str, &str)> {
        let pair = self.old.as_deref().zip(self.new.as_deref());
        pair.filter(|(old, new)| old != new)
    }

    /// Whether the member of a list's item is defined by one of the two dates only.
    pub(super) fn skip_item_member(&self, facet: Facet, name: &str) -> bool {
        self.skip(if facet == Facet::McpTools { TOOL } else { OTHER_ITEM }, name)
    }

    /// The same for other members of a list's result.
    pub(super) fn skip_rest_member(&self, name: &str) -> bool {
        self.skip(REST, name)
    }

    /// The same for a capability.
    pub(super) fn skip_capability(&self, name: &str) -> bool {
        self.skip(CAPABILITY, name)
    }

    /// The same for a member of the server info.
    pub(super) fn skip_server_info(&self, name: &str) -> bool {
        self.skip(SERVER_INFO, name)
    }

    fn skip(&self, spans: &[Span], name: &str) -> bool {
        let Some((old, new)) = self.differ() else { return false };
        let span = spans.iter().find(|span| span.name == name);
        span.is_some_and(|span| defines(span, old) != defines(span, new))
    }
}

/// Dates are compared as text: `YYYY-MM-DD` sorts by time.
fn defines(span: &Span, date: &str) -> bool {
    span.from <= date && date <= span.to
}

/// Whether `date` knows the capability; true for a date we do not know.
pub(in crate::judge) fn knows_capability(date: &str, name: &str) -> bool {
    CAPABILITY.iter().any(|span| span.name == name && (defines(span, date) || date > "2026-07-28"))
}
