//! What becomes of a check whose verdict changes.

use super::*;
use crate::judge::rules::Kind;
use crate::judge::sample;
use crate::judge::snapshot::{snapshot, tests::observation};
use crate::model::baseline::BaselineFacet;
use crate::model::observation::Asked;
use crate::model::rule::Severity;

const ICONS: &str = "mcp.icon-src-missing";

fn target() -> TargetId {
    sample::target()
}

/// A scan at `hour` that answered the check `rule` so, and no other.
fn scan(hour: i64, rule: &str, verdict: CheckVerdict) -> Snapshot {
    let mut scan = snapshot(&observation([]), &sample::summary(), &Memory::default());
    scan.at = sample::at(hour * 3_600);
    scan.checks = vec![Check {
        rule: rule.to_owned(),
        case: "-".to_owned(),
        verdict,
        severity: Severity::Medium,
        status: crate::model::snapshot::CheckStatus::None,
        message: String::new(),
        remedy: String::new(),
        evidence: "2 of the server's icons".to_owned(),
        spec: String::new(),
        reason: None,
    }];
    scan
}

/// A target with a baseline of its handshake and of the way there, whose check `rule` is held to `held`.
fn memory(rule: &str, held: Option<Held>) -> Memory {
    let mut memory = Memory::default();
    for facet in [Facet::McpHandshake, Facet::McpTransport].map(FacetName::stranger) {
        let held = BaselineFacet {
            facet,
            values: Vec::new(),
            digest: None,
            at: Timestamp::UNIX_EPOCH,
            by: "first_seen".to_owned(),
            reason: None,
            asked: Asked::default(),
            model: 1,
            entry: 1,
            reviewed: false,
        };
        memory.baseline.insert(facet, held);
    }
    let asked = scan(0, rule, CheckVerdict::Passed).asked;
    memory.scans.ours = Some(Box::new(settle::ours(&sample::summary(), &asked)));
    memory.scans.posture.extend(held.map(|held| (rule.to_owned(), held)));
    memory
}

fn judged(memory: &Memory, scan: &Snapshot, drifts: &[Drift]) -> Judgment {
    let mut judgment = Judgment { drifts: drifts.to_vec(), ..Judgment::default() };
    judge(&target(), memory, scan, &mut judgment);
    judgment
}

fn worse(judgment: &Judgment) -> Vec<String> {
    let here = judgment.drifts.iter().filter(|drift| drift.facet == CHECKS);
    here.map(|drift| format!("{} {} {}", drift.path, drift.rule, drift.severity)).collect()
}

fn told() -> Vec<String> {
    vec!["/mcp.icon-src-missing/- x.posture-regressed/medium medium".to_owned()]
}

fn change(path: &[&str], rule: &str) -> Drift {
    let facet = FacetName::stranger(Facet::McpHandshake);
    let path = Pointer::of(path.iter().copied());
    sample::made(facet, path, RuleCase::new(rule, "-"), Some("a"), Some("b"), Severity::Low)
}

fn stands(drift: &Drift) -> DriftRow {
    DriftRow {
        id: Digest::of_parts(["row"]),
        drift: drift.clone(),
        state: DriftState::Open,
        sightings: 2,
        since: sample::at(0),
        last_at: sample::at(0),
        back_count: 0,
        back_since: None,
        next: None,
        values: Vec::new(),
        held: false,
        suppressed: None,
        first_at: sample::at(0),
        confirmed_at: Some(sample::at(0)),
        ended_at: None,
        incident: None,
    }
}

#[test]
fn a_check_that_passed_and_is_a_finding_is_a_drift_of_the_checks_severity() {
    let judgment = judged(&memory(ICONS, Some(Held::Passed)), &scan(1, ICONS, CheckVerdict::Finding), &[]);
    assert_eq!(worse(&judgment), told());
    assert!(judgment.looked_at(CHECKS, &place(ICONS, "-")));
    let details = format!("{:?}", judgment.drifts[0].details);
    assert!(details.contains("2 of the server's icons") && details.contains("remedy: "), "{details}");
    assert_eq!(judgment.posture[ICONS], Held::Passed, "it is held to what it was until somebody accepts it");
}

#[test]
fn each_severity_of_a_check_is_a_case_of_the_table() {
    for severity in Severity::ALL {
        let mut worse = scan(1, ICONS, CheckVerdict::Finding);
        worse.checks[0].severity = severity;
        let judgment = judged(&memory(ICONS, Some(Held::Passed)), &worse, &[]);
        let drift = &judgment.drifts[0];
        assert_eq!((drift.severity, drift.rule.case.as_str()), (severity, severity.as_str()));
        assert_eq!(drift.class == Class::Security, severity >= Severity::High);
    }
}

#[test]
fn what_was_never_answered_is_recorded_and_not_told() {
    for verdict in [CheckVerdict::Passed, CheckVerdict::Finding] {
        let judgment = judged(&memory(ICONS, None), &scan(1, ICONS, verdict), &[]);
        assert!(worse(&judgment).is_empty());
        let recorded = if verdict == CheckVerdict::Passed { Held::Passed } else { Held::Finding };
        assert_eq!(judgment.posture.get(ICONS), Some(&recorded));
    }
}

#[test]
fn until_its_facet_has_joined_a_check_may_still_settle() {
    let mut before = memory(ICONS, Some(Held::Passed));
    before.baseline.clear();
    let judgment = judged(&before, &scan(1, ICONS, CheckVerdict::Finding), &[]);
    assert!(worse(&judgment).is_empty());
    assert_eq!(judgment.posture[ICONS], Held::Finding);
}

#[test]
fn what_is_skipped_is_not_answered_and_neither_is_anything_while_sight_is_lost() {
    let before = memory(ICONS, Some(Held::Passed));
    let skipped = judged(&before, &scan(1, ICONS, CheckVerdict::Skipped), &[]);
    let mut lost = Judgment { sights: vec![sample::sight("scan.unreachable", "endpoint")], ..Judgment::default() };
    judge(&target(), &before, &scan(1, ICONS, CheckVerdict::Finding), &mut lost);
    let mut part = Judgment { sights: vec![sample::sight("scan.facet-lost", "mcp.handshake")], ..Judgment::default() };
    judge(&target(), &before, &scan(1, ICONS, CheckVerdict::Finding), &mut part);
    for judgment in [skipped, lost, part] {
        assert!(worse(&judgment).is_empty());
        assert!(!judgment.looked_at(CHECKS, &place(ICONS, "-")));
        assert_eq!(judgment.posture, before.scans.posture);
    }
}

#[test]
fn a_drift_of_the_same_change_claims_it_and_whoever_accepts_that_accepts_both() {
    let icons = change(&["serverInfo", "icons"], "mcp.server-icons-changed");
    let mut after = memory(ICONS, Some(Held::Passed));
    let judgment = judged(&after, &scan(1, ICONS, CheckVerdict::Finding), std::slice::from_ref(&icons));
    assert!(worse(&judgment).is_empty());
    after.scans.posture = judgment.posture;
    let row = stands(&icons);
    after.drifts = vec![row.clone()];
    let again = judged(&after, &scan(2, ICONS, CheckVerdict::Finding), std::slice::from_ref(&icons));
    assert!(worse(&again).is_empty());
    let mut accepted = after.clone();
    accept(&mut accepted.scans, &[&row], None);
    accepted.drifts.clear();
    assert_eq!(accepted.scans.posture[ICONS], Held::Finding);
    // Taken back without the check getting better, it is news of its own.
    after.drifts.clear();
    assert_eq!(worse(&judged(&after, &scan(3, ICONS, CheckVerdict::Finding), &[])), told());
}

#[test]
fn a_drift_elsewhere_or_one_that_has_stood_for_long_claims_nothing() {
    let before = memory(ICONS, Some(Held::Passed));
    let elsewhere = change(&["instructions"], "mcp.instructions-changed");
    assert_eq!(worse(&judged(&before, &scan(1, ICONS, CheckVerdict::Finding), &[elsewhere])), told());
    let icons = change(&["serverInfo", "icons"], "mcp.server-icons-changed");
    let mut long = before;
    long.drifts = vec![stands(&icons)];
    assert_eq!(worse(&judged(&long, &scan(1, ICONS, CheckVerdict::Finding), &[icons])), told());
}

#[test]
fn another_date_asks_other_questions_and_claims_what_they_find() {
    let date = change(&["protocolVersion"], "mcp.protocol-version-changed");
    let judgment = judged(&memory(ICONS, Some(Held::Passed)), &scan(1, ICONS, CheckVerdict::Finding), &[date]);
    assert!(worse(&judgment).is_empty());
}

#[test]
fn a_check_that_wavers_is_held_to_passing_after_a_day_only() {
    let mut held = memory(ICONS, Some(Held::Finding));
    for (hour, verdict, news) in [
        (1, CheckVerdict::Passed, false),
        (2, CheckVerdict::Finding, false),
        (3, CheckVerdict::Passed, false),
        (4, CheckVerdict::Passed, false),
        (28, CheckVerdict::Passed, false),
        (29, CheckVerdict::Finding, true),
    ] {
        let judgment = judged(&held, &scan(hour, ICONS, verdict), &[]);
        assert_eq!(!worse(&judgment).is_empty(), news, "hour {hour}");
        held.scans.posture = judgment.posture;
    }
}

#[test]
fn what_was_accepted_for_a_while_is_news_again_when_that_is_over() {
    let held = memory(ICONS, Some(Held::Accepted { until: sample::at(2 * 3_600) }));
    assert_eq!(ends(&held.scans.posture).collect::<Vec<_>>(), [sample::at(2 * 3_600)]);
    assert!(worse(&judged(&held, &scan(1, ICONS, CheckVerdict::Finding), &[])).is_empty());
    assert_eq!(worse(&judged(&held, &scan(2, ICONS, CheckVerdict::Finding), &[])), told());
}

#[test]
fn by_other_rules_everything_is_recorded_anew_but_what_stands() {
    let mut before = memory(ICONS, Some(Held::Passed));
    if let Some(ours) = &mut before.scans.ours {
        ours.rules = "others".to_owned();
    }
    let worsened = scan(1, ICONS, CheckVerdict::Finding);
    let judgment = judged(&before, &worsened, &[]);
    assert!(worse(&judgment).is_empty());
    assert_eq!(judgment.posture[ICONS], Held::Finding);
    before.drifts = vec![stands(&drift(&target(), &worsened.checks[0]))];
    assert_eq!(worse(&judged(&before, &worsened, &[])), told());
}

#[test]
fn a_drift_that_stands_is_told_as_it_was_confirmed_and_ends_when_the_check_passes() {
    let mut before = memory(ICONS, Some(Held::Passed));
    let mut worsened = scan(1, ICONS, CheckVerdict::Finding);
    let stood = drift(&target(), &worsened.checks[0]);
    before.drifts = vec![stands(&stood)];
    worsened.checks[0].evidence = "3 of the server's icons".to_owned();
    assert_eq!(judged(&before, &worsened, &[]).drifts, [stood]);
    let passed = judged(&before, &scan(2, ICONS, CheckVerdict::Passed), &[]);
    assert!(worse(&passed).is_empty() && passed.looked_at(CHECKS, &place(ICONS, "-")));
}

#[test]
fn what_is_said_of_the_scan_of_sight_and_of_a_certificates_end_is_none_of_it() {
    for rule in ["scan.json-ambiguous", "auth.blocked-by-gateway", "net.tls-expiring"] {
        let judgment = judged(&memory(rule, Some(Held::Passed)), &scan(1, rule, CheckVerdict::Finding), &[]);
        assert!(worse(&judgment).is_empty(), "{rule}");
    }
}

#[test]
fn every_check_of_the_table_looks_at_a_facet() {
    let checks = rules::all().filter(|rule| matches!(rule.kind, Kind::Check | Kind::CheckAndDrift));
    let lost: Vec<&str> = checks
        .map(|rule| rule.id)
        .filter(|rule| !rule.starts_with("scan.") && claims::looks_at(rule).is_empty())
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
}
