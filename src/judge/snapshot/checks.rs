//! Conformance questions that one passive scan decides.
//!
//! What a facet that was not seen would have to answer is skipped with the reason, never passed (law 1).

use crate::judge::rules::{date_of, is_stateless, knows_capability, server_info};
use crate::model::facet::{Face, Facet, FacetName, FacetState, SeenFacet};
use crate::model::json::Json;
use crate::model::observation::Remark;
use crate::model::snapshot::{Check, Snapshot};

use super::finding::{check, skipped};
use super::{cards, items};

/// The newest date there is.
const NEWEST: &str = "2026-07-28";

const LISTS: [(Facet, &str); 4] = [
    (Facet::McpTools, "tools"),
    (Facet::McpPrompts, "prompts"),
    (Facet::McpResources, "resources"),
    (Facet::McpResourceTemplates, ""),
];

/// All checks of a snapshot; what the conversation itself decided comes first.
pub(super) fn all(snapshot: &Snapshot, remarks: &[Remark]) -> Vec<Check> {
    let mut out: Vec<Check> = remarks.iter().map(remark).collect();
    out.push(ambiguous(snapshot));
    out.extend(items::hidden(snapshot));
    out.extend(cards::checks(snapshot));
    for face in faces(snapshot) {
        match snapshot.facets.get(&FacetName::of(Facet::McpHandshake, face)) {
            Some(FacetState::Seen(seen)) => {
                if let Some(value) = seen.views.first() {
                    out.extend(handshake(value, seen));
                    out.extend(capabilities(snapshot, face, value));
                }
            }
            Some(FacetState::Unseen { reason }) => {
                out.push(skipped("mcp.instructions-missing", "-", &reason.to_string()))
            }
            Some(FacetState::Absent { .. }) | None => {}
        }
        out.extend(cache_hints(snapshot, face));
        out.extend(items::tools(snapshot, face));
        out.extend(items::others(snapshot, face));
    }
    worst_of_each(out)
}

fn remark(remark: &Remark) -> Check {
    check(remark.rule, remark.case, std::slice::from_ref(&remark.evidence))
}

/// Faces with a facet in the snapshot.
fn faces(snapshot: &Snapshot) -> impl Iterator<Item = Face> {
    [Face::Stranger, Face::Auth].into_iter().filter(|face| snapshot.facets.keys().any(|name| name.face == *face))
}

/// One answer for each (rule, case): a finding stands over a skipped one, that over a passed one.
fn worst_of_each(checks: Vec<Check>) -> Vec<Check> {
    use crate::model::snapshot::CheckVerdict::{Finding, Passed, Skipped};
    let rank = |check: &Check| match check.verdict {
        Passed => 0,
        Skipped => 1,
        Finding => 2,
    };
    checks.into_iter().fold(Vec::new(), |mut all: Vec<Check>, next| {
        match all.iter_mut().find(|known| known.rule == next.rule && known.case == next.case) {
            Some(known) if rank(&next) > rank(known) => *known = next,
            Some(_) => {}
            None => all.push(next),
        }
        all
    })
}

fn ambiguous(snapshot: &Snapshot) -> Check {
    let evidence: Vec<String> = snapshot
        .facets
        .iter()
        .filter_map(|(name, state)| match state {
            FacetState::Seen(seen) => Some((name, seen)),
            FacetState::Absent { .. } | FacetState::Unseen { .. } => None,
        })
        .flat_map(|(name, seen)| seen.ambiguities.iter().map(move |text| format!("{name}: {text}")))
        .collect();
    check("scan.json-ambiguous", "-", &evidence)
}

fn evidence(found: bool, text: &str) -> Vec<String> {
    if found { vec![text.to_owned()] } else { Vec::new() }
}

fn handshake(value: &Json, seen: &SeenFacet) -> Vec<Check> {
    let mut out = if is_stateless(value) { discover(value, seen) } else { initialize(value) };
    let blank = value.member("instructions").and_then(Json::as_str).is_none_or(|text| text.trim().is_empty());
    out.push(check("mcp.instructions-missing", "-", &evidence(blank, "no instructions text")));
    let icons = server_info(value, "icons").and_then(Json::as_array).into_iter().flatten();
    let without = icons.filter(|icon| icon.member("src").and_then(Json::as_str).is_none_or(str::is_empty)).count();
    let text = format!("{without} of the server's icons");
    out.push(check("mcp.icon-src-missing", "-", &evidence(without > 0, &text)));
    out
}

fn missing(value: &Json, names: &[&str]) -> Vec<String> {
    names.iter().filter(|name| value.member(name).is_none()).map(|name| format!("no {name}")).collect()
}

fn discover(value: &Json, seen: &SeenFacet) -> Vec<Check> {
    let mut fields = missing(value, &["resultType", "supportedVersions", "capabilities", "cacheScope"]);
    // `ttlMs` is volatile and kept beside the value.
    let ttl = seen.volatile.member("/ttlMs");
    fields.extend(evidence(ttl.is_none(), "no ttlMs"));
    let scope = value.member("cacheScope");
    let known = |scope: &Json| matches!(scope.as_str(), Some("public" | "private"));
    let versions = value.member("supportedVersions").and_then(Json::as_array);
    let newest = versions.is_some_and(|all| all.iter().any(|date| date.as_str() == Some(NEWEST)));
    vec![
        check("mcp.discover-fields-missing", "-", &fields),
        check("mcp.supported-versions-empty", "-", &evidence(versions.is_some_and(Vec::is_empty), "an empty list")),
        check(
            "mcp.cache-scope-invalid",
            "-",
            &evidence(scope.is_some_and(|scope| !known(scope)), "cacheScope of server/discover"),
        ),
        check(
            "mcp.ttl-invalid",
            "-",
            &evidence(ttl.is_some_and(|ttl| !items::is_ttl(ttl)), "ttlMs of server/discover"),
        ),
        check("mcp.protocol-version-outdated", "-", &evidence(!newest, "the newest date is not on offer")),
    ]
}

fn initialize(value: &Json) -> Vec<Check> {
    let date = date_of(value).unwrap_or_default();
    let incomplete: Vec<String> = ["name", "version"]
        .into_iter()
        .filter(|name| server_info(value, name).and_then(Json::as_str).is_none())
        .map(|name| format!("no {name}"))
        .collect();
    let mut out = vec![
        check(
            "mcp.initialize-fields-missing",
            "-",
            &missing(value, &["protocolVersion", "capabilities", "serverInfo"]),
        ),
        check("mcp.server-info-incomplete", "-", &incomplete),
        check("mcp.protocol-version-outdated", "-", &evidence(date < NEWEST, "the session dates end at 2025-11-25")),
    ];
    if date == "2025-06-18" {
        let blank = server_info(value, "title").and_then(Json::as_str).is_none_or(|text| text.trim().is_empty());
        out.push(check("mcp.server-title-missing", "-", &evidence(blank, "no title")));
    }
    if date == "2025-11-25" {
        let absent = ["title", "description", "icons", "websiteUrl"]
            .into_iter()
            .filter(|name| server_info(value, name).is_none());
        let absent: Vec<String> = absent.map(|name| format!("no {name}")).collect();
        out.push(check("mcp.server-info-recommended-missing", "-", &absent));
    }
    out
}

fn capabilities(snapshot: &Snapshot, face: Face, value: &Json) -> Vec<Check> {
    let declared = value.member("capabilities").and_then(Json::as_object);
    let date = date_of(value).or(snapshot.mcp.version.as_deref()).unwrap_or(NEWEST);
    let unknown: Vec<String> = declared
        .into_iter()
        .flatten()
        .filter(|(name, _)| !knows_capability(date, name))
        .map(|(name, _)| crate::judge::canon::shown(name))
        .collect();
    let mut mismatch = Vec::new();
    let mut failing = Vec::new();
    for (facet, capability) in LISTS {
        if declared.is_none_or(|all| !all.contains_key(capability)) {
            continue;
        }
        match snapshot.facets.get(&FacetName::of(facet, face)) {
            Some(FacetState::Absent { .. }) => {
                mismatch.push(format!("{capability} is declared, and its list is not found"))
            }
            Some(FacetState::Unseen { reason }) if reason.kind == crate::model::facet::UnseenKind::RpcError => {
                failing.push(format!("{facet}: {reason}"));
            }
            Some(FacetState::Seen(_) | FacetState::Unseen { .. }) | None => {}
        }
    }
    failing.retain(|text| !text.starts_with(Facet::McpTools.as_str()));
    let logging = is_stateless(value) && declared.is_some_and(|all| all.contains_key("logging"));
    vec![
        check("mcp.capability-unknown", "-", &unknown),
        check("mcp.capability-mismatch", "-", &mismatch),
        check("res.list-error", "-", &failing),
        check("mcp.deprecated-feature-in-use", "logging", &evidence(logging, "logging at 2026-07-28")),
    ]
}

fn cache_hints(snapshot: &Snapshot, face: Face) -> Vec<Check> {
    let (mut invalid, mut absent, mut seen_any) = (Vec::new(), Vec::new(), false);
    let stateless = match snapshot.facets.get(&FacetName::of(Facet::McpHandshake, face)) {
        Some(FacetState::Seen(seen)) => seen.views.first().is_some_and(is_stateless),
        Some(FacetState::Absent { .. } | FacetState::Unseen { .. }) | None => false,
    };
    for (facet, _) in LISTS {
        let Some(FacetState::Seen(seen)) = snapshot.facets.get(&FacetName::of(facet, face)) else { continue };
        seen_any = true;
        let scope = seen.views.first().and_then(|view| view.member("rest")?.member("cacheScope"));
        let ttl = seen.volatile.member("/rest/ttlMs");
        if scope.is_some_and(|scope| !matches!(scope.as_str(), Some("public" | "private"))) {
            invalid.push(format!("{facet}: cacheScope"));
        }
        if ttl.is_some_and(|ttl| !items::is_ttl(ttl)) {
            invalid.push(format!("{facet}: ttlMs"));
        }
        if scope.is_none() || ttl.is_none() {
            absent.push(facet.to_string());
        }
    }
    if !seen_any {
        return Vec::new();
    }
    let missing = if stateless {
        check("mcp.cache-hint-missing", "-", &absent)
    } else {
        skipped("mcp.cache-hint-missing", "-", "older dates define no cache hints")
    };
    vec![check("mcp.cache-hint-invalid", "-", &invalid), missing]
}
