//! The table against the catalogue, and every rule against a pair that meets it and one that must not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;

use super::*;
use crate::judge::effective::held_to;
use crate::judge::{canon, document, judge};
use crate::model::facet::FacetName;
use crate::model::json::Json;
use crate::model::memory::Memory;
use crate::model::observation::{RawFacet, RawRead};
use crate::model::policy::NO_POLICY;
use crate::model::snapshot::{CheckVerdict, Snapshot};

#[derive(Deserialize)]
struct Pair {
    facet: String,
    #[serde(default)]
    before: Option<serde_json::Value>,
    #[serde(default)]
    after: Option<serde_json::Value>,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    finds: Vec<String>,
    #[serde(default)]
    spares: Vec<String>,
}

fn fixtures(file: &str) -> Vec<Pair> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rules").join(file);
    serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

const FAMILIES: [&str; 10] = [
    "tools.yaml",
    "schemas.yaml",
    "hints.yaml",
    "resources.yaml",
    "prompts.yaml",
    "handshake.yaml",
    "transport.yaml",
    "tls.yaml",
    "auth.yaml",
    "cards.yaml",
];

fn raw(value: Option<&serde_json::Value>) -> RawFacet {
    match value {
        Some(page) if !page.is_null() => {
            RawFacet::Seen(vec![RawRead { pages: vec![Json::from(page)], ..RawRead::default() }])
        }
        _ => RawFacet::Absent { note: None },
    }
}

fn holding(facet: &str, value: Option<&serde_json::Value>) -> Snapshot {
    let mut snapshot = document::read(br#"{"tools":[]}"#).unwrap();
    let name: FacetName = facet.parse().unwrap();
    snapshot.facets = BTreeMap::from([(name, canon::canonicalize(name.facet, &raw(value), false))]);
    snapshot
}

fn said(pair: &Pair) -> Vec<String> {
    let (old, new) = (holding(&pair.facet, pair.before.as_ref()), holding(&pair.facet, pair.after.as_ref()));
    let drifts = judge(&new.target.id, &NO_POLICY, &held_to(&old), &Memory::default(), &new, &[]).drifts;
    let mut said: Vec<String> = drifts.iter().map(|drift| format!("{} {}", drift.rule, drift.path)).collect();
    said.sort();
    said
}

/// Whether `said` (`tool.removed /items/a`) is of the rule or case `of`.
fn is_of(said: &str, of: &str) -> bool {
    let rule = said.split(' ').next().unwrap_or_default();
    rule == of || rule.split('/').next() == Some(of)
}

#[test]
fn every_pair_brings_the_drifts_it_says_and_spares_the_others() {
    for file in FAMILIES {
        for (index, pair) in fixtures(file).iter().enumerate() {
            let said = said(pair);
            let mut wanted = pair.says.clone();
            wanted.sort();
            assert_eq!(said, wanted, "{file}, pair {}", index + 1);
            for spared in &pair.spares {
                assert!(!said.iter().any(|said| is_of(said, spared)), "{file}, pair {}: {spared}", index + 1);
            }
        }
    }
}

/// Cases that no pair of snapshots brings by itself: other parts of the program say them, or a later one.
const ELSEWHERE: [&str; 6] = [
    "tool.added/trusted",
    "tool.input.reach-gained/new_tool",
    "tool.output-schema-removed/typed_consumer",
    "x.protocol-state-rose",
    "x.protocol-state-fell",
    "x.value-unstable",
];

/// What is said of a tool that is new, where hints are trusted and where they are not.
fn new_tool(tool: &serde_json::Value, trust_hints: bool) -> String {
    let page = |tools: &[&serde_json::Value]| serde_json::json!({ "tools": tools });
    let (old, new) = (holding("mcp.tools", Some(&page(&[]))), holding("mcp.tools", Some(&page(&[tool]))));
    let policy = crate::model::policy::Policy { trust_hints, ..NO_POLICY.clone() };
    let drifts = judge(&new.target.id, &policy, &held_to(&old), &Memory::default(), &new, &[]).drifts;
    drifts.iter().map(|drift| format!("{} {}", drift.rule, drift.severity)).collect()
}

#[test]
fn hints_lower_a_severity_where_they_are_trusted_and_nowhere_else() {
    let tool = |name: &str, argument: &str, hints: serde_json::Value| {
        let schema = serde_json::json!({"type": "object", "properties": {argument: {"type": "string"}}});
        serde_json::json!({"name": name, "inputSchema": schema, "annotations": hints})
    };
    let reads = || serde_json::json!({"readOnlyHint": true, "openWorldHint": false});
    let harmless = tool("list_invoices", "customer", reads());
    assert_eq!(new_tool(&harmless, false), "tool.added/plain medium");
    assert_eq!(new_tool(&harmless, true), "tool.added/trusted low");
    let cases = [
        ("it says nothing", tool("list_invoices", "customer", serde_json::json!({}))),
        ("it may write", tool("list_invoices", "customer", serde_json::json!({"openWorldHint": false}))),
        ("it reaches outside", tool("list_invoices", "customer", serde_json::json!({"readOnlyHint": true}))),
        ("a parameter reaches somewhere", tool("list_invoices", "url", reads())),
        ("its name contradicts", tool("delete_invoice", "customer", reads())),
    ];
    for (what, tool) in cases {
        assert_eq!(new_tool(&tool, true), "tool.added/plain medium", "{what}");
    }
}

#[test]
fn how_a_document_may_be_cached_is_said_beside_what_changed_in_it() {
    let page = |text: &str, control: &str| serde_json::json!({"at": "https://a.example/c", "document": {"title": text}, "cache": {"control": [control], "etag": false}});
    let (old, new) = (page("A", "public"), page("B", "no-store"));
    let (old, new) = (holding("mcp.card", Some(&old)), holding("mcp.card", Some(&new)));
    let drifts = judge(&new.target.id, &NO_POLICY, &held_to(&old), &Memory::default(), &new, &[]).drifts;
    let notes: Vec<&str> = drifts.iter().flat_map(|drift| &drift.notes).map(|note| note.rule.as_str()).collect();
    assert_eq!((drifts.len(), notes), (1, vec!["net.cache-policy-changed"]));
}

#[test]
fn every_drift_rule_has_a_pair_that_meets_it() {
    let met: BTreeSet<String> = FAMILIES
        .iter()
        .flat_map(|file| fixtures(file))
        .flat_map(|pair| pair.says)
        .map(|said| said.split(' ').next().unwrap().to_owned())
        .collect();
    let drifts = all().filter(|rule| matches!(rule.kind, Kind::Drift | Kind::CheckAndDrift));
    let names = drifts.flat_map(|rule| {
        rule.cases
            .iter()
            .map(|case| if case.case == "-" { rule.id.to_owned() } else { format!("{}/{}", rule.id, case.case) })
    });
    // What takes turns is life's, and a check that gets worse is `posture`'s; each is tested there.
    let others = || ELSEWHERE.iter().chain(&["x.mixed-fleet", "x.posture-regressed"]);
    let elsewhere = |name: &String| others().any(|other| name.starts_with(other));
    let unmet: Vec<String> = names.filter(|name| !met.contains(name) && !elsewhere(name)).collect();
    assert_eq!(unmet, Vec::<String>::new());
}

#[test]
fn every_drift_rule_that_is_met_is_spared_by_another_pair() {
    let pairs: Vec<Pair> = FAMILIES.iter().flat_map(|file| fixtures(file)).collect();
    let met: BTreeSet<&str> =
        pairs.iter().flat_map(|pair| &pair.says).map(|said| said.split(['/', ' ']).next().unwrap()).collect();
    // Any pair of the same facet that does not bring the rule spares it: the full list of what it says is compared.
    for rule in met {
        let brings = |pair: &&Pair| pair.says.iter().any(|said| is_of(said, rule));
        let facets: BTreeSet<&str> = pairs.iter().filter(brings).map(|pair| pair.facet.as_str()).collect();
        let spared = pairs.iter().any(|pair| facets.contains(pair.facet.as_str()) && !brings(&pair));
        assert!(spared, "{rule}");
    }
}

#[test]
fn every_check_finds_what_it_is_for_and_nothing_else() {
    for (index, pair) in fixtures("checks.yaml").iter().enumerate() {
        let page = pair.after.as_ref().unwrap().clone();
        let found = findings(&pair.facet, &page);
        for finds in &pair.finds {
            assert!(found.contains(finds), "pair {}: {finds} not in {found:?}", index + 1);
        }
        for spared in &pair.spares {
            assert!(!found.contains(spared), "pair {}: {spared}", index + 1);
        }
    }
}

fn findings(facet: &str, page: &serde_json::Value) -> BTreeSet<String> {
    let target = document::read(br#"{"tools":[]}"#).unwrap().target;
    let observation = crate::judge::snapshot::tests::observation([(facet, raw(Some(page)))]);
    let snapshot = crate::judge::snapshot::snapshot(&observation, &target, &Memory::default());
    let found = snapshot.checks.into_iter().filter(|check| check.verdict == CheckVerdict::Finding);
    found.map(|check| if check.case == "-" { check.rule } else { format!("{}/{}", check.rule, check.case) }).collect()
}

// ---- the table itself ----

#[test]
fn ids_and_aliases_are_unique_and_every_rule_has_words() {
    let mut names = BTreeSet::new();
    for rule in all() {
        assert!(names.insert(rule.id), "{}", rule.id);
        assert!(rule.aliases.iter().all(|alias| names.insert(alias)), "{}", rule.id);
        assert!(!rule.cases.is_empty() && !rule.spec.is_empty(), "{}", rule.id);
        for words in [rule.title, rule.head, rule.why, rule.remedy] {
            assert!(!words.is_empty(), "{}", rule.id);
        }
        for sentence in [rule.why, rule.remedy] {
            assert!(sentence.ends_with(['.', '?']), "{}: {sentence}", rule.id);
        }
    }
}

#[test]
fn a_rule_is_found_by_its_older_name() {
    assert_eq!(explain("37A-McpServerAuditor-300").map(|rule| rule.id), Some("mcp.protocol-version-outdated"));
    assert_eq!(explain("tool.no-such-rule"), None);
}

/// Codes of the auditor whose questions about the handshake these are, by the rule that answers to them now.
const CODES: [(&str, &[u16]); 17] = [
    ("mcp.protocol-version-outdated", &[300]),
    ("mcp.instructions-missing", &[310, 312, 314, 317, 320]),
    ("mcp.capability-unknown", &[311, 313, 315, 318, 321]),
    ("mcp.server-title-missing", &[316]),
    ("mcp.server-info-recommended-missing", &[319]),
    ("mcp.no-endpoint", &[400]),
    ("mcp.not-jsonrpc", &[401]),
    ("mcp.protocol-version-unknown", &[402]),
    ("auth.blocked-by-gateway", &[403]),
    ("mcp.initialize-fields-missing", &[410, 413, 416, 419]),
    ("mcp.server-info-incomplete", &[411, 414, 417, 420]),
    ("mcp.protocol-version-mismatch", &[412, 415, 418, 421]),
    ("mcp.discover-fields-missing", &[422]),
    ("mcp.supported-versions-empty", &[423]),
    ("mcp.cache-scope-invalid", &[424]),
    ("mcp.ttl-invalid", &[425]),
    ("mcp.icon-src-missing", &[426]),
];

#[test]
fn every_code_of_the_older_auditor_is_explained() {
    for (rule, codes) in CODES {
        for code in codes {
            let alias = format!("37A-McpServerAuditor-{code}");
            assert_eq!(explain(&alias).map(|rule| rule.id), Some(rule), "{alias}");
        }
    }
    assert_eq!(explain("37A-McpServerAuditor-500").map(|rule| rule.id), Some("scan.error"));
}

#[test]
fn every_alias_of_the_catalogue_leads_to_its_rule_where_it_is_at_hand() {
    let Some(path) = catalogue() else { return };
    for line in std::fs::read_to_string(path).unwrap().lines().skip(1) {
        let columns: Vec<&str> = line.split(',').collect();
        let (id, aliases) = (columns[0], columns.get(12).copied().unwrap_or_default());
        for alias in aliases.split(';').filter(|alias| !alias.is_empty()) {
            // A rule that is not built yet answers to none of its names.
            assert_eq!(explain(alias).map(|rule| rule.id), explain(id).map(|rule| rule.id), "{alias}");
        }
    }
}

#[test]
fn names_are_filled_into_the_words_once() {
    let items = ["{n}".to_owned(), "b".to_owned(), "c".to_owned(), "d".to_owned(), "e".to_owned()];
    assert_eq!(why("tool.removed", &items[..1]), "calls of {n} fail.");
    assert_eq!(why("tool.removed", &items), "calls of {n}, b, c and 2 more fail.");
}

#[test]
fn the_page_of_rules_is_current() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/rules.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, markdown()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), markdown(), "run this test with UPDATE_DOCS=1");
}

/// Rules of ours that the catalogue does not have.
const ADDED: [&str; 11] = [
    "res.duplicate-uri",
    "prompt.duplicate-name",
    "mcp.item-unnamed",
    "mcp.endpoint-moved",
    "mcp.card-added",
    "mcp.card-removed",
    "mcp.card-remote-changed",
    "mcp.card-header-required",
    "mcp.card-text-changed",
    "mcp.card-version-changed",
    "mcp.catalog-changed",
];

/// Cases of ours that it does not have: they are only ever skipped.
const ADDED_CASES: [(&str, &str); 2] =
    [("mcp.deprecated-feature-in-use", "roots"), ("mcp.deprecated-feature-in-use", "sampling")];

/// The catalogue, where it is at hand.
fn catalogue() -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/rules.csv");
    let named = std::env::var_os("DRIFTD_SHARED").map(|shared| PathBuf::from(shared).join("rules.csv"));
    [Some(beside), named].into_iter().flatten().find(|path| path.is_file())
}

#[test]
fn the_table_agrees_with_the_catalogue_where_it_is_at_hand() {
    let Some(path) = catalogue() else { return };
    let mut rows: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for line in std::fs::read_to_string(path).unwrap().lines().skip(1) {
        let columns: Vec<String> = line.split(',').take(8).map(str::to_owned).collect();
        rows.insert((columns[0].clone(), columns[1].clone()), columns);
    }
    for rule in all().filter(|rule| !ADDED.contains(&rule.id)) {
        let ours = || rule.cases.iter().filter(|case| !ADDED_CASES.contains(&(rule.id, case.case)));
        for case in ours() {
            let row = rows.get(&(rule.id.to_owned(), case.case.to_owned()));
            let row = row.unwrap_or_else(|| panic!("{}/{} is no row of the catalogue", rule.id, case.case));
            let ours = [
                case.severity.map_or("-", Severity::as_str).to_owned(),
                letters(case.impact),
                status(case.status).to_owned(),
                if case.fold == Fold::Case { "case" } else { "value" }.to_owned(),
                class(case.class).to_owned(),
            ];
            assert_eq!(ours.as_slice(), &row[3..8], "{}/{}", rule.id, case.case);
        }
        let cases = rows.keys().filter(|(id, _)| id == rule.id).count();
        assert_eq!(cases, ours().count(), "cases of {}", rule.id);
    }
}

fn letters(impact: &[Impact]) -> String {
    let letter = |impact: &Impact| match impact {
        Impact::Breaking => 'B',
        Impact::Security => 'S',
        Impact::Exposure => 'A',
        Impact::Behavior => 'M',
        Impact::Cosmetic => 'C',
        Impact::Operational => 'O',
        Impact::Conformance => 'Q',
    };
    if impact.is_empty() { "-".to_owned() } else { impact.iter().map(letter).collect() }
}

const fn status(status: Option<CheckStatus>) -> &'static str {
    match status {
        None => "-",
        Some(CheckStatus::None) => "none",
        Some(CheckStatus::Warning) => "warning",
        Some(CheckStatus::Fail) => "fail",
        Some(CheckStatus::Error) => "error",
    }
}

const fn class(class: Option<Class>) -> &'static str {
    match class {
        None => "none",
        Some(Class::Security) => "security",
        Some(Class::Surface) => "surface",
        Some(Class::Sight) => "sight",
    }
}
