use super::*;
use crate::model::digest::Digest;
use crate::model::facet::{Face, UnseenKind, UnseenReason};
use crate::model::snapshot::{CheckStatus, Coverage as Watched};
use crate::model::target::Kind;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn target(id: &str) -> TargetSummary {
    TargetSummary {
        id: id.parse().unwrap(),
        kind: Kind::Mcp,
        url: format!("https://{id}.example.com/mcp"),
        labels: BTreeMap::new(),
    }
}

fn watched(watched: bool, reason: Option<&str>) -> Watched {
    Watched { watched, reason: reason.map(str::to_owned) }
}

/// A look that saw tools and prompts.
fn look() -> Look {
    let facets = [Facet::McpTools, Facet::McpPrompts].map(FacetName::stranger);
    Look {
        outcome: Outcome::Ok,
        digest: Digest::of_bytes(b"look"),
        coverage: facets.into_iter().map(|name| (name, watched(true, None))).collect(),
        unseen: BTreeMap::new(),
        checks: Vec::new(),
    }
}

fn finding(rule: &str, severity: Severity) -> Check {
    Check {
        rule: rule.to_owned(),
        case: "-".to_owned(),
        verdict: CheckVerdict::Finding,
        severity,
        status: CheckStatus::Warning,
        message: format!("{rule} was found"),
        remedy: String::new(),
        evidence: String::new(),
        spec: String::new(),
        reason: None,
    }
}

fn section<'a>(bulletin: &'a Bulletin, heading: &str) -> &'a [String] {
    bulletin.sections.iter().find(|section| section.heading == heading).map_or(&[], |section| section.lines.as_slice())
}

#[test]
fn one_face_of_a_facet_is_enough_to_watch_it() {
    let mut both = look();
    let stranger = FacetName::stranger(Facet::McpTools);
    both.coverage.insert(stranger, watched(false, Some("behind a 401")));
    assert_eq!(coverage(Some(&both)).missing().as_deref(), Some("not read: tools (behind a 401)"));
    both.coverage.insert(FacetName::of(Facet::McpTools, Face::Auth), watched(true, None));
    assert_eq!(coverage(Some(&both)), Coverage::Full);
}

#[test]
fn what_is_missing_is_told_with_its_reason() {
    let mut part = look();
    let reason = UnseenReason { kind: UnseenKind::Timeout, detail: "tools/list".to_owned() };
    part.unseen.insert(FacetName::stranger(Facet::McpTools), reason);
    part.outcome = Outcome::Partial;
    assert!(coverage(Some(&part)).missing().unwrap().starts_with("not read: tools ("));
    let out = Look { outcome: Outcome::Unreachable, ..look() };
    assert_eq!(coverage(Some(&out)), Coverage::Nothing("unreachable".to_owned()));
    assert_eq!(coverage(None), Coverage::Nothing("not looked at yet".to_owned()));
}

#[test]
fn a_first_round_is_one_report_with_the_three_worst_rules() {
    let mut noisy = look();
    noisy.checks = vec![
        finding("tool.schema-loose", Severity::Low),
        finding("tool.hidden-text", Severity::Critical),
        finding("mcp.instructions-missing", Severity::Info),
        Check { verdict: CheckVerdict::Passed, ..finding("tool.passed", Severity::High) },
    ];
    let mut other = look();
    other.checks = vec![
        finding("tool.hidden-text", Severity::Critical),
        finding("mcp.version-outdated", Severity::Medium),
        finding("res.sensitive", Severity::High),
    ];
    let quiet = look();
    let (a, b, c, d) = (target("a"), target("b"), target("c"), target("d"));
    let newcomers = [
        Newcomer { target: &a, look: Some(&noisy) },
        Newcomer { target: &b, look: Some(&other) },
        Newcomer { target: &c, look: Some(&quiet) },
        Newcomer { target: &d, look: None },
    ];
    let bulletin = first_round(&newcomers, "key".to_owned());
    assert_eq!(bulletin.headline, "4 new targets are watched, 1 not seen");
    assert_eq!(bulletin.severity, Severity::Critical);
    assert_eq!(
        section(&bulletin, "Worth a look"),
        [
            "a and b: critical tool.hidden-text was found [tool.hidden-text]",
            "b: high res.sensitive was found [res.sensitive]",
            "b: medium mcp.version-outdated was found [mcp.version-outdated]",
        ]
    );
    assert_eq!(section(&bulletin, "Not seen yet"), ["d: not looked at yet"]);
    assert_eq!(section(&bulletin, "How to trust")[0], "driftd review");
}

#[test]
fn a_finding_that_many_have_names_two_and_counts_the_rest() {
    let mut noisy = look();
    noisy.checks = vec![finding("tool.schema-loose", Severity::Low), finding("tool.schema-loose", Severity::Low)];
    let targets: Vec<TargetSummary> = (0..8).map(|n| target(&format!("x{n}"))).collect();
    let newcomers: Vec<Newcomer<'_>> = targets.iter().map(|target| Newcomer { target, look: Some(&noisy) }).collect();
    let bulletin = first_round(&newcomers, "key".to_owned());
    assert_eq!(
        section(&bulletin, "Worth a look"),
        ["x0, x1 and 6 more: low tool.schema-loose was found [tool.schema-loose]"]
    );
}

#[test]
fn a_very_long_list_is_cut_with_a_count() {
    let targets: Vec<TargetSummary> = (0..200).map(|n| target(&format!("t{n:03}"))).collect();
    let look = look();
    let newcomers: Vec<Newcomer<'_>> = targets.iter().map(|target| Newcomer { target, look: Some(&look) }).collect();
    let bulletin = first_round(&newcomers, "key".to_owned());
    let full = section(&bulletin, "Watched in full");
    assert_eq!((full.len(), full.last().unwrap().as_str()), (41, "and 160 more"));
    assert_eq!(bulletin.targets.len(), 40);
}

#[test]
fn a_short_time_offline_is_told_to_nobody() {
    let blindness = Blindness { since: at(0), why: BlindWhy::MostFail };
    let least = Duration::from_mins(10);
    assert_eq!(back_online(&blindness, 3, least, at(599)), None);
    let told = back_online(&blindness, 1, least, at(5_400)).unwrap();
    assert_eq!(told.headline, "driftd was offline for 1 h 30 min");
    assert!(told.summary[1].contains("1 failed scan counted"), "{:?}", told.summary);
    // Told again after a restart, it is the same message.
    assert_eq!(told.key, back_online(&blindness, 9, least, at(9_999)).unwrap().key);
}
