//! Which drift accounts for a check that worsens: one of the same change, in what the check looks at.

use crate::judge::rules;
use crate::model::drift::Drift;
use crate::model::facet::Facet;
use crate::model::pointer::Pointer;
use crate::model::snapshot::Check;

const LISTS: &[Facet] = &[Facet::McpTools, Facet::McpPrompts, Facet::McpResources, Facet::McpResourceTemplates];
const TEXTS: &[Facet] = &[
    Facet::McpTools,
    Facet::McpPrompts,
    Facet::McpResources,
    Facet::McpResourceTemplates,
    Facet::McpHandshake,
    Facet::McpCard,
    Facet::McpCatalog,
];
const DECLARED: &[Facet] =
    &[Facet::McpHandshake, Facet::McpTools, Facet::McpPrompts, Facet::McpResources, Facet::McpResourceTemplates];

/// Another protocol date asks other questions: nothing that is answered otherwise then is a change of its own.
const DATES: [&str; 4] =
    ["mcp.era-changed", "mcp.transport-changed", "mcp.protocol-version-changed", "mcp.protocol-version-downgraded"];

/// The facets that decide a check. How a server refuses what is odd stands in no facet; the way to it stands for it.
pub(super) fn looks_at(rule: &str) -> &'static [Facet] {
    match rule {
        "tool.hidden-unicode" => TEXTS,
        "tool.description-injection" | "mcp.cache-hint-missing" | "mcp.cache-hint-invalid" => LISTS,
        "res.scheme-sensitive" | "res.duplicate-uri" => &[Facet::McpResources],
        "prompt.duplicate-name" => &[Facet::McpPrompts],
        "res.list-error" => &[Facet::McpResources, Facet::McpResourceTemplates, Facet::McpPrompts],
        "mcp.list-varies-by-connection" => &[Facet::McpTools],
        "mcp.capability-mismatch" => DECLARED,
        "mcp.session-id-weak"
        | "mcp.get-not-sse"
        | "mcp.ordering-not-enforced"
        | "mcp.origin-not-validated"
        | "mcp.version-header-not-checked"
        | "mcp.header-mismatch-accepted"
        | "mcp.jsonrpc-lax" => &[Facet::McpTransport],
        "mcp.card-versions-disagree" => &[Facet::McpCard, Facet::McpHandshake],
        "net.redirect-cross-origin" => &[Facet::McpCard, Facet::McpCatalog],
        "mcp.deprecated-feature-in-use"
        | "mcp.no-endpoint"
        | "mcp.not-jsonrpc"
        | "mcp.protocol-version-unknown"
        | "mcp.protocol-version-outdated"
        | "mcp.protocol-version-mismatch" => &[Facet::McpHandshake, Facet::McpTransport],
        _ => of_family(rule),
    }
}

fn of_family(rule: &str) -> &'static [Facet] {
    match rule.split_once('.').map(|(family, _)| family) {
        Some("tool") => &[Facet::McpTools],
        Some("mcp") => &[Facet::McpHandshake],
        Some("net") => &[Facet::Tls, Facet::McpTransport],
        Some("auth") => &[Facet::AuthChallenge],
        Some(_) | None => &[],
    }
}

/// Members of the handshake, or of the way to the server, of which a check says something; none where it is all of it.
fn members(rule: &str, case: &str) -> &'static [&'static str] {
    match (rule, case) {
        ("mcp.instructions-missing", _) => &["instructions"],
        ("mcp.icon-src-missing", _) => &["icons"],
        ("mcp.capability-unknown" | "mcp.capability-mismatch", _) | ("mcp.deprecated-feature-in-use", "logging") => {
            &["capabilities"]
        }
        ("mcp.server-title-missing", _) => &["title", "name"],
        ("mcp.server-info-incomplete", _) => &["name", "version"],
        ("mcp.server-info-recommended-missing", _) => &["title", "name", "description", "icons", "websiteUrl"],
        ("mcp.cache-scope-invalid", _) => &["cacheScope"],
        ("mcp.ttl-invalid", _) => &["ttlMs"],
        ("mcp.supported-versions-empty", _) => &["supportedVersions"],
        ("mcp.session-id-weak", _) => &["session"],
        (
            "mcp.get-not-sse"
            | "mcp.ordering-not-enforced"
            | "mcp.origin-not-validated"
            | "mcp.version-header-not-checked"
            | "mcp.header-mismatch-accepted"
            | "mcp.jsonrpc-lax",
            _,
        )
        | ("mcp.deprecated-feature-in-use", _) => &["transport", "era"],
        (_, _) => &[],
    }
}

/// Whether the change that `drift` tells is the one by which `check` is a finding.
pub(super) fn explains(drift: &Drift, check: &Check) -> bool {
    if check.rule.starts_with("mcp.") && DATES.contains(&drift.rule.rule.as_str()) {
        return true;
    }
    let facet = drift.facet.facet;
    if !looks_at(&check.rule).contains(&facet) {
        return false;
    }
    let members = members(&check.rule, &check.case);
    let narrow = matches!(facet, Facet::McpHandshake | Facet::McpTransport) && !members.is_empty();
    let touches = |path: &Pointer| is_whole(path) || path.tokens().any(|token| members.contains(&token));
    !narrow || touches(&drift.path) || drift.claims.iter().any(|claim| touches(&claim.path))
}

/// Whether a path is the facet itself, or all of the server info.
fn is_whole(path: &Pointer) -> bool {
    let last = path.tokens().next_back();
    last.is_none_or(|last| last == "serverInfo" || last == rules::SERVER_INFO_KEY)
}
