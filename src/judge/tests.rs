//! The whole pure core on lists as files hold them: known pairs, faces, eras, sight, properties.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;
use crate::judge::effective::held_to;
use crate::judge::fold::{Folding, fold};
use crate::model::facet::{UnseenKind, UnseenReason};
use crate::model::incident::{Unit, UnitMark};
use crate::model::observation::SightPlace;
use crate::model::policy::NO_POLICY;
use crate::model::rule::{Class, Severity};

fn judged(old: &Snapshot, new: &Snapshot) -> Judgment {
    judge(&new.target.id, &NO_POLICY, &held_to(old), &Memory::default(), new, &[])
}

fn units(judgment: &Judgment) -> Vec<Unit> {
    let foldings: Vec<Folding<'_>> =
        judgment.drifts.iter().map(|drift| Folding { drift, mark: UnitMark::Pending }).collect();
    fold(&foldings, &[])
}

fn list(text: &str) -> Snapshot {
    document::read(text.as_bytes()).unwrap()
}

fn with(facets: &[(&str, &str)], date: Option<&str>) -> Snapshot {
    let mut snapshot = list(r#"{"tools":[]}"#);
    snapshot.facets = facets
        .iter()
        .map(|(name, value)| {
            let name: FacetName = name.parse().unwrap();
            let page = Json::parse_trusted(value.as_bytes()).unwrap();
            let read = crate::model::observation::RawRead { pages: vec![page], ..Default::default() };
            (name, canon::canonicalize(name.facet, &crate::model::observation::RawFacet::Seen(vec![read]), false))
        })
        .collect();
    snapshot.asked.date = date.map(str::to_owned);
    snapshot.coverage.clear();
    snapshot
}

/// (rule/case, path) of each drift.
fn said(judgment: &Judgment) -> Vec<String> {
    judgment.drifts.iter().map(|drift| format!("{} {}", drift.rule, drift.path)).collect()
}

// ---- captures, where they are at hand: real lists, judged by a person ----

fn captures() -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/captures");
    let named = std::env::var_os("DRIFTD_SHARED").map(|shared| PathBuf::from(shared).join("captures"));
    [Some(beside), named].into_iter().flatten().find(|path| path.is_dir())
}

fn capture(name: &str) -> Option<Snapshot> {
    let path = captures()?.join(format!("{name}.tools.json"));
    Some(document::read(&std::fs::read(path).unwrap()).unwrap())
}

fn pair(old: &str, new: &str) -> Option<Judgment> {
    Some(judged(&capture(old)?, &capture(new)?))
}

#[test]
fn every_pair_of_captures_of_one_server_is_judged_and_every_drift_has_its_row() {
    let Some(folder) = captures() else { return };
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".tools.json").map(str::to_owned))
        .collect();
    names.sort();
    for old in &names {
        for new in names.iter().filter(|new| new.split('@').next() == old.split('@').next()) {
            let judgment = pair(old, new).unwrap();
            assert_eq!(
                judgment.drifts.is_empty(),
                capture(old).unwrap().digest == capture(new).unwrap().digest,
                "{old} {new}"
            );
            for drift in &judgment.drifts {
                assert!(rules::case(&drift.rule.rule, &drift.rule.case).is_some(), "{} is no row", drift.rule);
            }
        }
    }
}

#[test]
fn control_pairs_bring_nothing() {
    for (old, new) in
        [("server-everything@2025.11.25", "server-everything@2025.12.18"), ("lab-py-mcp@1.30.0", "lab-py-mcp@2.3.0")]
    {
        if let Some(judgment) = pair(old, new) {
            assert_eq!(said(&judgment), Vec::<String>::new());
        }
    }
}

#[test]
fn the_rename_sweep_is_eight_renames_two_gone_and_four_new() {
    let Some(judgment) = pair("server-everything@2025.12.18", "server-everything@2026.1.26") else { return };
    let count = |rule: &str| judgment.drifts.iter().filter(|drift| drift.rule.rule == rule).count();
    assert_eq!((count("tool.renamed"), count("tool.removed"), count("tool.added")), (8, 2, 4));
    let titles: Vec<String> = units(&judgment).into_iter().map(|unit| unit.title).collect();
    assert!(titles.contains(&"renamed: 6".to_owned()) && titles.contains(&"gone: 2".to_owned()), "{titles:?}");
}

#[test]
fn a_lost_schema_is_told_once_for_all_tools() {
    let Some(judgment) = pair("server-filesystem@2025.8.21+zod3", "server-filesystem@2025.8.21") else { return };
    let units = units(&judgment);
    assert_eq!(judgment.drifts.iter().filter(|drift| drift.rule.rule == "tool.input.schema-lost").count(), 13);
    assert!(units.len() <= 13, "{units:#?}");
}

#[test]
fn one_description_is_one_unit() {
    let Some(judgment) = pair("server-filesystem@2025.7.29+zod3", "server-filesystem@2025.8.21+zod3") else { return };
    assert_eq!(judgment.drifts.len(), 1, "{:?}", said(&judgment));
    assert!(judgment.drifts[0].rule.rule.starts_with("tool.description"));
}

#[test]
fn hints_and_closed_objects_that_change_everywhere_are_one_unit_each() {
    let Some(judgment) = pair("server-everything@2026.1.26", "server-everything@2026.8.31") else { return };
    let units = units(&judgment);
    let of = |rule: &str| units.iter().filter(|unit| unit.rule.rule == rule).collect::<Vec<_>>();
    assert_eq!(of("tool.annotations-introduced").len(), 1, "{units:#?}");
    assert_eq!(of("tool.input.schema-undecidable").len(), 1, "{units:#?}");
    assert_eq!(of("tool.input.schema-undecidable")[0].items.len(), 9);
}

// ---- the whole: faces, eras, sight ----

const SESSION: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{}}},"serverInfo":{"name":"till","version":"1.0.0"}}"#;
const STATELESS: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"till","version":"1.0.0"}}}"#;

#[test]
fn a_change_of_era_is_one_drift_and_the_lists_say_nothing_of_it() {
    let old = with(
        &[
            ("mcp.handshake", SESSION),
            ("mcp.transport", r#"{"transport":"streamable_http","era":"session","date":"2025-11-25","session":true}"#),
            (
                "mcp.tools",
                r#"{"tools":[{"name":"pay","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}"#,
            ),
        ],
        Some("2025-11-25"),
    );
    let new = with(
        &[
            ("mcp.handshake", STATELESS),
            (
                "mcp.transport",
                r#"{"transport":"streamable_http","era":"stateless","date":"2026-07-28","session":false}"#,
            ),
            (
                "mcp.tools",
                r#"{"resultType":"complete","cacheScope":"private","ttlMs":0,"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}"#,
            ),
        ],
        Some("2026-07-28"),
    );
    let judgment = judged(&old, &new);
    assert_eq!(said(&judgment), ["mcp.era-changed /era"]);
    let claimed: Vec<String> = judgment.drifts[0].claims.iter().map(|claim| claim.path.to_string()).collect();
    assert_eq!(claimed, ["/date", "/era", "/session"]);
}

#[test]
fn another_date_of_one_era_is_told_by_the_handshake_alone() {
    let at = |date: &str| {
        with(
            &[
                ("mcp.handshake", &SESSION.replace("2025-11-25", date)),
                ("mcp.transport", &format!(r#"{{"era":"session","date":"{date}"}}"#)),
            ],
            Some(date),
        )
    };
    assert_eq!(said(&judged(&at("2025-06-18"), &at("2025-11-25"))), ["mcp.protocol-version-changed /protocolVersion"]);
    let down = judged(&at("2025-11-25"), &at("2025-06-18"));
    assert_eq!(said(&down), ["mcp.protocol-version-downgraded /protocolVersion"]);
    assert_eq!(down.drifts[0].class, Class::Security);
}

#[test]
fn an_unseen_facet_makes_no_drift_and_says_why() {
    let old = list(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#);
    let mut new = old.clone();
    let name = FacetName::stranger(Facet::McpTools);
    let reason = UnseenReason { kind: UnseenKind::Timeout, detail: "tools/list".to_owned() };
    new.facets.insert(name, FacetState::Unseen { reason: reason.clone() });
    new.checks.clear();
    let judgment = judged(&old, &new);
    assert!(judgment.drifts.is_empty() && judgment.seen.is_empty());
    assert_eq!(judgment.unseen, [(name, reason)]);
}

#[test]
fn an_absent_list_is_an_empty_one_and_a_facet_without_baseline_says_nothing() {
    let old = list(r#"{"prompts":[{"name":"hi"}]}"#);
    let mut new = list(r#"{"tools":[{"name":"a"}]}"#);
    new.facets.insert(FacetName::stranger(Facet::McpPrompts), FacetState::Absent { note: None });
    assert_eq!(said(&judged(&old, &new)), ["prompt.removed /items/hi"]);
}

#[test]
fn a_block_stands_for_everything_else_that_the_scan_would_say() {
    let fact = |rule, case, place| SightFact { rule, case, place, detail: "HTTP 403".to_owned() };
    let tools = SightPlace::Facet(FacetName::stranger(Facet::McpTools));
    let facts = [fact("scan.partial", "-", tools), fact("scan.blocked", "under_24h", SightPlace::Endpoint)];
    let snapshot = list(r#"{"tools":[]}"#);
    let sights = judge(&snapshot.target.id, &NO_POLICY, &BTreeMap::new(), &Memory::default(), &snapshot, &facts).sights;
    assert_eq!(sights.len(), 1);
    assert_eq!((sights[0].facet.to_string(), sights[0].path.to_string()), ("scan".to_owned(), "/endpoint".to_owned()));
    assert_eq!((sights[0].class, sights[0].severity), (Class::Sight, Severity::Medium));
    assert_eq!(sights[0].after, [Json::from("scan.blocked")]);
}

#[test]
fn a_version_that_stood_still_raises_what_hurts_and_nothing_else() {
    let at = |description: &str, version: &str| {
        with(
            &[
                ("mcp.handshake", &SESSION.replace("1.0.0", version)),
                (
                    "mcp.tools",
                    &format!(
                        r#"{{"tools":[{{"name":"pay","description":"{description}","inputSchema":{{"type":"object"}}}}]}}"#
                    ),
                ),
            ],
            None,
        )
    };
    let still = judged(&at("Pays a bill", "1.0.0"), &at("Pays one bill", "1.0.0"));
    assert_eq!(still.drifts[0].severity, Severity::Medium);
    assert_eq!(still.drifts[0].notes[0].rule, "mcp.server-version-static");
    let moved = judged(&at("Pays a bill", "1.0.0"), &at("Pays one bill", "1.1.0"));
    let tool = moved.drifts.iter().find(|drift| drift.facet.facet == Facet::McpTools).unwrap();
    assert_eq!(tool.severity, Severity::Low);
}

#[test]
fn the_fingerprint_holds_key_and_value_and_not_the_rule() {
    let tool = |name: &str| list(&format!(r#"{{"tools":[{{"name":"a"}},{{"name":"{name}"}}]}}"#));
    let print = |old: &Snapshot, new: &Snapshot| judged(old, new).drifts[0].fingerprint;
    let base = list(r#"{"tools":[{"name":"a"}]}"#);
    assert_eq!(print(&base, &tool("b")), print(&base, &tool("b")));
    assert_ne!(print(&base, &tool("b")), print(&base, &tool("c")));
}

mod properties;
