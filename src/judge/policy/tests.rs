use super::*;
use crate::judge::sample::{TOOLS, alarm, at, drift, made};
use crate::model::facet::{Face, Facet, FacetName};
use crate::model::pointer::Pointer;
use crate::model::policy::{PathPattern, PatternSegment, Reweigh};
use crate::model::rule::RuleCase;

/// A pattern as the inventory writes it.
fn pattern(text: &str) -> PathPattern {
    let segment = |segment: &str| match segment {
        "*" => PatternSegment::One,
        "**" => PatternSegment::Many,
        name => PatternSegment::Exactly(name.replace("~2", "*").replace("~1", "/").replace("~0", "~")),
    };
    PathPattern(text.split('/').map(segment).collect())
}

fn fits(text: &str, facet: FacetName, path: &str) -> bool {
    matches_path(&pattern(text), facet, &path.parse().unwrap())
}

fn wish(rule: Option<&str>, path: Option<&str>) -> PolicyMatch {
    PolicyMatch { rule: rule.map(str::to_owned), path: path.map(pattern) }
}

#[test]
fn a_pattern_says_the_whole_place() {
    let cases = [
        ("mcp.tools/items/a/description", "/items/a/description", true),
        ("mcp.tools/items/*/description", "/items/a/description", true),
        ("mcp.tools/items/*", "/items/a/description", false),
        ("mcp.tools/items/a", "/items/a/description", false),
        ("mcp.tools/items/a/**", "/items/a/description", true),
        ("mcp.tools/items/a/**", "/items/a", true),
        ("mcp.tools/**/description", "/items/a/description", true),
        ("mcp.tools/**/b/**", "/items/a/b", true),
        ("mcp.tools/**/b/**", "/items/a/c", false),
        ("**", "/items/a", true),
        ("*/items/a", "/items/a", true),
        ("mcp.prompts/**", "/items/a", false),
        ("mcp.tools", "", true),
        ("mcp.tools", "/items", false),
        ("mcp.tools/items/a~2b", "/items/a*b", true),
        ("mcp.tools/items/a~1b", "/items/a~1b", true),
        ("mcp.tools/items/a~2b", "/items/axb", false),
    ];
    for (text, path, expected) in cases {
        assert_eq!(fits(text, TOOLS, path), expected, "{text} and {path}");
    }
}

#[test]
fn a_facet_without_a_face_is_that_of_every_face() {
    let ours = FacetName::of(Facet::McpTools, Face::Auth);
    assert!(fits("mcp.tools/items/a", ours, "/items/a") && fits("mcp.tools/items/a", TOOLS, "/items/a"));
    assert!(fits("mcp.tools@auth/items/a", ours, "/items/a"));
    assert!(!fits("mcp.tools@auth/items/a", TOOLS, "/items/a"));
}

#[test]
fn a_name_that_looks_like_a_facet_is_no_facet() {
    assert!(!fits("**/mcp.tools@auth", FacetName::of(Facet::McpTools, Face::Auth), "/items/mcp.tools"));
}

#[test]
fn a_rule_is_matched_by_stars() {
    for (text, rule, expected) in [
        ("tool.*", "tool.added", true),
        ("*.added", "tool.added", true),
        ("tool.*d", "tool.added", true),
        ("tool", "tool.added", false),
        ("*", "tool.added", true),
        ("t*l.*e*", "tool.renamed", true),
        ("", "tool.added", false),
    ] {
        assert_eq!(glob(text, rule), expected, "{text} and {rule}");
    }
}

#[test]
fn no_pattern_is_slow_whatever_the_path() {
    // With a try for every split this would not end in the life of this machine.
    let many = format!("mcp.tools/{}b", "**/a/".repeat(200));
    let path = Pointer::of(std::iter::repeat_n("a", 4_000));
    assert!(!matches_path(&pattern(&many), TOOLS, &path));
    assert!(!glob(&format!("{}b", "*a".repeat(200)), &"a".repeat(4_000)));
}

#[test]
fn of_several_severities_the_last_that_matches_wins() {
    let reweigh = |rule: &str, set| Reweigh { matches: wish(Some(rule), None), set };
    let mut policy = Policy {
        severity: vec![reweigh("sample.*", Some(Severity::Critical)), reweigh("sample.changed", Some(Severity::Low))],
        ..Policy::default()
    };
    let mut weighed = drift(TOOLS, "a", "2");
    weigh(&policy, &mut weighed);
    assert_eq!(weighed.severity, Severity::Low);
    policy.severity.push(reweigh("other.*", None));
    assert_eq!(suppression(&policy, &weighed, at(0)), None);
    policy.severity.push(reweigh("sample.*", None));
    assert_eq!(suppression(&policy, &weighed, at(0)), Some(Suppressed::Off));
    policy.severity.push(reweigh("sample.changed", Some(Severity::High)));
    assert_eq!(suppression(&policy, &weighed, at(0)), None);
}

#[test]
fn an_ignore_ends_at_its_instant_and_another_goes_on() {
    let ignore = |reason: &str, until| Ignore {
        matches: wish(None, Some("mcp.tools/items/a")),
        reason: reason.to_owned(),
        until,
    };
    let mut policy = Policy { ignore: vec![ignore("short", Some(at(10)))], ..Policy::default() };
    let told = drift(TOOLS, "a", "2");
    assert!(suppression(&policy, &told, at(9)).is_some());
    assert_eq!(suppression(&policy, &told, at(10)), None);
    policy.ignore.push(ignore("long", None));
    let kept = suppression(&policy, &told, at(10));
    assert_eq!(kept, Some(Suppressed::Ignored { reason: "long".to_owned(), until: None }));
}

#[test]
fn what_gives_power_is_never_accepted_without_a_person() {
    let accept = AutoAccept { matches: PolicyMatch::default(), at_most: Severity::Critical, reason: None };
    let policy = Policy { auto_accept: vec![accept], ..Policy::default() };
    assert!(auto_accepts(&policy, &drift(TOOLS, "a", "2")).is_some());
    assert!(auto_accepts(&policy, &alarm(TOOLS, "a", "2")).is_none());
    let critical = Drift { severity: Severity::Critical, ..drift(TOOLS, "a", "2") };
    assert!(auto_accepts(&policy, &critical).is_none());
    // Nor when the inventory calls it milder than it is.
    let milder = Drift { severity: Severity::Info, ..alarm(TOOLS, "a", "2") };
    assert!(auto_accepts(&policy, &milder).is_none());
    let rule = RuleCase::new("tool.readonly-lost", "-");
    let by_table = made(TOOLS, Pointer::of(["items", "a"]), rule, Some("1"), Some("2"), Severity::Info);
    assert!(auto_accepts(&policy, &by_table).is_none());
}

#[test]
fn only_what_is_mild_enough_is_accepted() {
    let accept = AutoAccept { matches: PolicyMatch::default(), at_most: Severity::Low, reason: None };
    let policy = Policy { auto_accept: vec![accept], ..Policy::default() };
    assert!(auto_accepts(&policy, &drift(TOOLS, "a", "2")).is_none());
    assert!(auto_accepts(&policy, &Drift { severity: Severity::Low, ..drift(TOOLS, "a", "2") }).is_some());
}
