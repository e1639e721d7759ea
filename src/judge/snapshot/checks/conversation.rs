//! What is asked of the way to the server: whether anything answers, how, and what the prober saw on the way.
//!
//! A [`crate::model::observation::Remark`] of the conversation stands before everything that is said here.

use crate::model::facet::{Facet, FacetName, FacetState};
use crate::model::json::Json;
use crate::model::observation::Observation;
use crate::model::snapshot::{Check, CheckStatus, CheckVerdict, Snapshot};

use super::super::finding::{check, skipped};
use super::{evidence, seen_of_any, why_unseen};

/// The rules of the negative tier.
const NEGATIVE: [&str; 5] = [
    "mcp.ordering-not-enforced",
    "mcp.origin-not-validated",
    "mcp.version-header-not-checked",
    "mcp.header-mismatch-accepted",
    "mcp.jsonrpc-lax",
];

/// What a scan answers by itself about the door.
pub(super) fn door(snapshot: &Snapshot, observation: &Observation) -> Vec<Check> {
    let said = |rule: &str| observation.remarks.iter().any(|remark| remark.rule == rule);
    let unseen = || why_unseen(snapshot, Facet::McpHandshake);
    let speaks = seen_of_any(snapshot, Facet::McpHandshake).is_some();
    let challenge = snapshot.facets.get(&FacetName::stranger(Facet::AuthChallenge));
    let lists = speaks || seen_of_any(snapshot, Facet::McpTransport).is_some();
    let is_guarded = matches!(challenge, Some(FacetState::Seen(_)));
    let mut out = vec![error(observation), sse(snapshot)];
    if !said("mcp.no-endpoint") {
        let in_mcp = ["mcp.not-jsonrpc", "mcp.discover-fields-missing", "mcp.protocol-version-unknown"];
        let answers = lists || is_guarded || in_mcp.into_iter().any(said);
        let rule = "mcp.no-endpoint";
        out.push(if answers { check(rule, "-", &[]) } else { skipped(rule, "-", &unseen()) });
    }
    if !said("mcp.not-jsonrpc") {
        let rule = "mcp.not-jsonrpc";
        out.push(if speaks { check(rule, "-", &[]) } else { skipped(rule, "-", &unseen()) });
    }
    if !said("auth.blocked-by-gateway") {
        let rule = "auth.blocked-by-gateway";
        out.push(match challenge {
            Some(FacetState::Seen(_) | FacetState::Absent { .. }) => check(rule, "-", &[]),
            Some(FacetState::Unseen { .. }) | None => skipped(rule, "-", &why_unseen(snapshot, Facet::AuthChallenge)),
        });
    }
    out
}

/// The probe broke before any verdict: then nothing else has a status.
fn error(observation: &Observation) -> Check {
    let sight = observation.sights.iter().find(|sight| sight.rule == "scan.error");
    let broke = check("scan.error", "-", &sight.map(|sight| sight.detail.clone()).into_iter().collect::<Vec<_>>());
    let status = if broke.verdict == CheckVerdict::Finding { CheckStatus::Error } else { CheckStatus::None };
    Check { status, ..broke }
}

fn sse(snapshot: &Snapshot) -> Check {
    let (rule, case) = ("mcp.deprecated-feature-in-use", "http_sse");
    match seen_of_any(snapshot, Facet::McpTransport) {
        Some(value) => {
            let is_sse = word(value, "transport") == Some("sse");
            check(rule, case, &evidence(is_sse, "HTTP+SSE, of 2024-11-05 alone"))
        }
        None => skipped(rule, case, &why_unseen(snapshot, Facet::McpTransport)),
    }
}

/// What remains where the prober made no remark.
pub(super) fn rest(snapshot: &Snapshot) -> impl Iterator<Item = Check> {
    let transport = seen_of_any(snapshot, Facet::McpTransport);
    let of_transport = |else_why: &dyn Fn(&Json) -> &'static str| {
        transport.map_or_else(|| why_unseen(snapshot, Facet::McpTransport), |value| else_why(value).to_owned())
    };
    let session = of_transport(&|value| match value.member("session") {
        Some(Json::Bool(true)) => "two session ids were not compared",
        Some(_) | None => "the server gives no session id",
    });
    let stream = of_transport(&|value| match (word(value, "transport"), word(value, "era")) {
        (Some("streamable_http"), Some("session")) => "GET was not tried",
        (Some("streamable_http"), _) => "asked of sessions; requests of 2026-07-28 stand alone",
        (_, _) => "asked of Streamable HTTP",
    });
    let lists = match seen_of_any(snapshot, Facet::McpTools) {
        Some(_) => "two connections were not compared".to_owned(),
        None => why_unseen(snapshot, Facet::McpTools),
    };
    let negative = if snapshot.asked.tier == "negative" {
        why_not_asked(snapshot)
    } else {
        "of the negative tier, which was not asked for (`tier: negative`)".to_owned()
    };
    let client = "roots and sampling are of clients: a passive scan cannot see them";
    [
        skipped("scan.clock-skew", "-", &why_unseen(snapshot, Facet::McpHandshake)),
        skipped("mcp.session-id-weak", "-", &session),
        skipped("mcp.get-not-sse", "-", &stream),
        skipped("mcp.list-varies-by-connection", "-", &lists),
        skipped("mcp.deprecated-feature-in-use", "roots", client),
        skipped("mcp.deprecated-feature-in-use", "sampling", client),
    ]
    .into_iter()
    .chain(NEGATIVE.map(|rule| skipped(rule, "-", &negative)))
}

/// Why nothing odd was asked although it was asked for.
fn why_not_asked(snapshot: &Snapshot) -> String {
    match seen_of_any(snapshot, Facet::McpTransport) {
        Some(_) => "it was not asked in this scan".to_owned(),
        None => why_unseen(snapshot, Facet::McpTransport),
    }
}

fn word<'j>(value: &'j Json, name: &str) -> Option<&'j str> {
    value.member(name).and_then(Json::as_str)
}
