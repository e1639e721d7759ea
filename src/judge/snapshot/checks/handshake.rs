//! What the result of `server/discover` or `initialize` lacks, by the protocol date under which it is judged.

use crate::judge::canon::shown;
use crate::judge::rules::{DATES, date_of, is_stateless, knows_capability, server_info};
use crate::model::facet::{Face, Facet, FacetName, FacetState, SeenFacet};
use crate::model::json::Json;
use crate::model::snapshot::{Check, Snapshot};

use super::super::finding::{check, skipped};
use super::super::items;
use super::{evidence, why_unseen};

/// The newest date there is.
const NEWEST: &str = "2026-07-28";

/// Under which `initialize` is judged where it names no date of its own.
const NEWEST_SESSION: &str = "2025-11-25";

/// What is asked of every handshake.
const ALL: [(&str, &str); 6] = [
    ("mcp.protocol-version-unknown", "-"),
    ("mcp.protocol-version-outdated", "-"),
    ("mcp.instructions-missing", "-"),
    ("mcp.icon-src-missing", "-"),
    ("mcp.capability-unknown", "-"),
    ("mcp.deprecated-feature-in-use", "logging"),
];

/// What is asked of `initialize` alone.
const OF_INITIALIZE: [&str; 5] = [
    "mcp.protocol-version-mismatch",
    "mcp.initialize-fields-missing",
    "mcp.server-info-incomplete",
    "mcp.server-title-missing",
    "mcp.server-info-recommended-missing",
];

/// What is asked of `server/discover` alone.
const OF_DISCOVER: [&str; 4] =
    ["mcp.discover-fields-missing", "mcp.supported-versions-empty", "mcp.cache-scope-invalid", "mcp.ttl-invalid"];

/// The checks of the handshake of `face`.
pub(super) fn all(snapshot: &Snapshot, face: Face) -> Vec<Check> {
    match snapshot.facets.get(&FacetName::of(Facet::McpHandshake, face)) {
        Some(FacetState::Seen(seen)) => seen.views.first().map(|value| judged(value, seen)).unwrap_or_default(),
        Some(FacetState::Unseen { reason }) => skip_all(&reason.to_string()).collect(),
        Some(FacetState::Absent { .. }) | None => Vec::new(),
    }
}

/// The answers where no face was asked for its handshake.
pub(super) fn unanswered(snapshot: &Snapshot) -> impl Iterator<Item = Check> {
    skip_all(&why_unseen(snapshot, Facet::McpHandshake))
}

fn skip_all(reason: &str) -> impl Iterator<Item = Check> + use<> {
    let reason = reason.to_owned();
    let single = OF_INITIALIZE.into_iter().chain(OF_DISCOVER).map(|rule| (rule, "-"));
    ALL.into_iter().chain(single).map(move |(rule, case)| skipped(rule, case, &reason))
}

fn skip(rules: &[&str], reason: &str) -> Vec<Check> {
    rules.iter().map(|rule| skipped(rule, "-", reason)).collect()
}

fn judged(value: &Json, seen: &SeenFacet) -> Vec<Check> {
    let unknown = unknown_dates(value);
    let mut out = vec![check("mcp.protocol-version-unknown", "-", &unknown)];
    if !unknown.is_empty() {
        // What a date of which we know nothing asks for is not known either.
        let reason = format!("{} is a date that we do not know", unknown.join(", "));
        out.extend(skip_all(&reason).filter(|check| check.rule != "mcp.protocol-version-unknown"));
        return out;
    }
    if is_stateless(value) {
        out.extend(discover(value, seen));
        out.extend(skip(&OF_INITIALIZE, "asked of initialize; the server answers server/discover"));
        out.extend(of_every_date(value, NEWEST));
    } else {
        let date = date_of(value).filter(|date| *date != NEWEST).unwrap_or(NEWEST_SESSION);
        out.extend(initialize(value, date));
        out.extend(skip(&OF_DISCOVER, "asked of server/discover; the server answers initialize"));
        out.extend(of_every_date(value, date));
    }
    out
}

/// The dates that are offered, where none of them is one of ours.
fn unknown_dates(value: &Json) -> Vec<String> {
    let offered: Vec<&str> = match value.member("supportedVersions").and_then(Json::as_array) {
        Some(dates) => dates.iter().filter_map(Json::as_str).collect(),
        None => date_of(value).into_iter().collect(),
    };
    let knows_none = !offered.iter().any(|date| DATES.contains(date));
    offered.into_iter().filter(|_| knows_none).map(shown).collect()
}

fn of_every_date(value: &Json, date: &str) -> Vec<Check> {
    let blank = value.member("instructions").and_then(Json::as_str).is_none_or(|text| text.trim().is_empty());
    let icons = server_info(value, "icons").and_then(Json::as_array).into_iter().flatten();
    let without = icons.filter(|icon| icon.member("src").and_then(Json::as_str).is_none_or(str::is_empty)).count();
    let icons = format!("{without} of the server's icons");
    let declared = value.member("capabilities").and_then(Json::as_object);
    let unknown: Vec<String> = declared
        .into_iter()
        .flatten()
        .filter(|(name, _)| !knows_capability(date, name))
        .map(|(name, _)| shown(name))
        .collect();
    let logging = date == NEWEST && declared.is_some_and(|all| all.contains_key("logging"));
    vec![
        check("mcp.instructions-missing", "-", &evidence(blank, "no instructions text")),
        check("mcp.icon-src-missing", "-", &evidence(without > 0, &icons)),
        check("mcp.capability-unknown", "-", &unknown),
        check("mcp.deprecated-feature-in-use", "logging", &evidence(logging, "logging at 2026-07-28")),
    ]
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
    let is_empty = versions.is_some_and(Vec::is_empty);
    let newest = versions.is_some_and(|all| all.iter().any(|date| date.as_str() == Some(NEWEST)));
    let outdated = if is_empty {
        skipped("mcp.protocol-version-outdated", "-", "no date is on offer")
    } else {
        check("mcp.protocol-version-outdated", "-", &evidence(!newest, "the newest date is not on offer"))
    };
    vec![
        check("mcp.discover-fields-missing", "-", &fields),
        check("mcp.supported-versions-empty", "-", &evidence(is_empty, "an empty list")),
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
        outdated,
    ]
}

fn initialize(value: &Json, date: &str) -> Vec<Check> {
    let named = value.member("protocolVersion");
    let is_other = named.is_some_and(|named| named.as_str() != Some(date));
    let other = match named.and_then(Json::as_str) {
        Some(named) => format!("{} in a result of {date}", shown(named)),
        None => format!("no text in a result of {date}"),
    };
    let mut out = vec![
        check(
            "mcp.initialize-fields-missing",
            "-",
            &missing(value, &["protocolVersion", "capabilities", "serverInfo"]),
        ),
        check("mcp.protocol-version-mismatch", "-", &evidence(is_other, &other)),
        check("mcp.protocol-version-outdated", "-", &evidence(true, "the session dates end at 2025-11-25")),
    ];
    out.extend(identity(value, date));
    out
}

/// What the server info lacks; without any, that is told by `mcp.initialize-fields-missing` alone.
fn identity(value: &Json, date: &str) -> Vec<Check> {
    let rules = ["mcp.server-info-incomplete", "mcp.server-title-missing", "mcp.server-info-recommended-missing"];
    if value.member("serverInfo").is_none() {
        return skip(&rules, "the result has no server info");
    }
    let absent = |names: &[&str]| -> Vec<String> {
        names.iter().filter(|name| server_info(value, name).is_none()).map(|name| format!("no {name}")).collect()
    };
    let no_text = |name: &&&str| server_info(value, name).and_then(Json::as_str).is_none();
    let incomplete = ["name", "version"].iter().filter(no_text).map(|name| format!("no {name}")).collect::<Vec<_>>();
    let blank = server_info(value, "title").and_then(Json::as_str).is_none_or(|text| text.trim().is_empty());
    let [_, title, recommended] = rules;
    let asked_at = |of: &str| format!("asked at {of}; the server speaks {date}");
    vec![
        check("mcp.server-info-incomplete", "-", &incomplete),
        match date {
            "2025-06-18" => check(title, "-", &evidence(blank, "no title")),
            _ => skipped(title, "-", &asked_at("2025-06-18")),
        },
        match date {
            NEWEST_SESSION => check(recommended, "-", &absent(&["title", "description", "icons", "websiteUrl"])),
            _ => skipped(recommended, "-", &asked_at(NEWEST_SESSION)),
        },
    ]
}
