//! Stories of a target whose inventory has wishes.

use super::{drifted, tools};
use crate::judge::sample::{PROMPTS, TOOLS, World, at, items};
use crate::model::alert::AlertType;
use crate::model::drift::DriftState;
use crate::model::incident::{EndReason, IncidentKind, UnitMark};
use crate::model::policy::{AutoAccept, Ignore, PathPattern, PatternSegment, PolicyMatch, Reweigh, Suppressed};
use crate::model::rule::Severity;

const DAY: i64 = 24 * 3600;

fn item(name: &str) -> PolicyMatch {
    let names = ["mcp.tools", "items", name].map(|name| PatternSegment::Exactly(name.to_owned()));
    PolicyMatch { rule: None, path: Some(PathPattern(names.to_vec())) }
}

fn rule(name: &str) -> PolicyMatch {
    PolicyMatch { rule: Some(name.to_owned()), path: None }
}

fn ignore(matches: PolicyMatch, until: Option<i64>) -> Ignore {
    Ignore { matches, reason: "known".to_owned(), until: until.map(at) }
}

fn accepting(matches: PolicyMatch, at_most: Severity) -> AutoAccept {
    AutoAccept { matches, at_most, reason: Some("routine".to_owned()) }
}

/// Held to `a=1 b=1`, with an ignore of `a`.
fn ignoring() -> World {
    let mut world = World::held_to("a=1 b=1");
    world.policy.ignore.push(ignore(item("a"), None));
    world
}

/// How often `event` stands in the history.
fn said(world: &World, event: &str) -> usize {
    world.history.iter().filter(|said| *said == event).count()
}

#[test]
fn what_is_ignored_is_recorded_and_opens_nothing() {
    let mut world = ignoring();
    world.scan(900, &tools("a=2 b=1"));
    let settled = world.scan(300, &tools("a=2 b=1"));
    assert_eq!(world.state("a"), Some(DriftState::Open));
    let why = Suppressed::Ignored { reason: "known".to_owned(), until: None };
    assert_eq!(world.row("a").unwrap().suppressed, Some(why.clone()));
    assert_eq!(settled.suppressed, [why]);
    assert!(world.memory.incidents.is_empty() && world.notices.is_empty());
    assert_eq!(said(&world, "drift.ignored"), 1);
    world.scan(7 * 3600, &tools("a=2 b=1"));
    let quiet = world.quiet.get();
    for _ in 0..5 {
        world.scan(900, &tools("a=2 b=1"));
    }
    assert_eq!(world.quiet.get(), quiet + 5);
}

#[test]
fn what_is_ignored_reverts_without_a_word() {
    let mut world = ignoring();
    for _ in 0..3 {
        world.scan(900, &tools("a=2 b=1"));
    }
    for _ in 0..3 {
        world.scan(900, &tools("a=1 b=1"));
    }
    assert_eq!(world.state("a"), None);
    assert_eq!(said(&world, "drift.reverted"), 1);
    assert!(world.notices.is_empty());
    assert!(world.last.as_ref().unwrap().closed.is_empty(), "nothing was told, so nothing is closed");
}

#[test]
fn an_ignore_hides_nothing_but_what_it_names() {
    let mut world = ignoring();
    world.scan(900, &tools("a=2 b=2"));
    world.scan(300, &tools("a=2 b=2"));
    let incident = world.drifts();
    let members: Vec<_> =
        incident.units.iter().flat_map(|unit| &unit.members).map(|member| member.path.to_string()).collect();
    assert_eq!(members, ["/items/b"]);
}

#[test]
fn another_change_at_an_ignored_place_is_judged_anew() {
    let mut world = World::held_to("a=1 b=1");
    world.policy.ignore.push(ignore(rule("sample.changed"), None));
    for _ in 0..3 {
        world.scan(900, &tools("a=2 b=1"));
    }
    assert!(world.memory.incidents.is_empty());
    world.scan(900, &tools("b=1"));
    assert_eq!(world.state("a"), Some(DriftState::Pending), "that it is gone is another drift");
    world.scan(300, &tools("b=1"));
    assert_eq!(world.drifts().units.len(), 1);
    assert_eq!(world.drifts().units[0].rule.rule, "sample.removed");
}

#[test]
fn an_incident_whose_last_drift_is_ignored_now_ends_and_says_so_once() {
    let mut world = drifted();
    world.fold();
    world.policy.ignore.push(ignore(item("a"), None));
    let settled = world.tick(60).expect("the edit is seen without a scan");
    assert_eq!(settled.closed, [("sample.changed".to_owned(), EndReason::Ignored)]);
    assert_eq!(settled.suppressed.len(), 1);
    assert!(world.memory.incidents.is_empty());
    assert!(world.tick(60).is_none());
    world.scan(900, &tools("a=2 b=1"));
    world.fold();
    assert_eq!(world.told(), [AlertType::DriftOpened, AlertType::DriftResolved]);
    assert_eq!(world.messages[1].body.alert.incident.as_ref().unwrap().reason, Some(EndReason::Ignored));
}

#[test]
fn a_drift_that_is_ignored_now_leaves_an_incident_that_stands_without_a_word() {
    let mut world = World::held_to("a=1 xb=1");
    world.scan(900, &tools("a=2 xb=2"));
    world.scan(300, &tools("a=2 xb=2"));
    world.fold();
    world.policy.ignore.push(ignore(item("a"), None));
    let settled = world.scan(900, &tools("a=2 xb=2"));
    assert!(settled.notices.is_empty() && settled.revisions.is_empty());
    let line = settled.history.iter().find(|line| line.event == "drift.ignored").unwrap();
    assert!(line.text.contains("left incident"), "{}", line.text);
    let marks: Vec<UnitMark> = world.drifts().units.iter().map(|unit| unit.mark).collect();
    assert!(marks.contains(&UnitMark::Open) || marks.contains(&UnitMark::Ignored), "{marks:?}");
    let standing: Vec<_> =
        world.drifts().units.iter().filter(|unit| unit.mark.stands()).flat_map(|unit| &unit.members).collect();
    assert_eq!(standing.len(), 1);
    assert_eq!(standing[0].path.to_string(), "/items/xb");
}

#[test]
fn when_an_ignore_runs_out_what_stands_is_confirmed_as_usual() {
    let mut world = World::held_to("a=1 b=1");
    world.policy.ignore.push(ignore(item("a"), Some(5 * DAY)));
    for _ in 0..3 {
        world.scan(900, &tools("a=2 b=1"));
    }
    assert_eq!(super::next_tick(&world.memory), Some(at(5 * DAY)));
    assert!(world.tick(5 * DAY - 3600).is_none());
    let settled = world.tick(3600).expect("its end is due");
    assert_eq!(settled.recheck, Some(world.now));
    assert_eq!(world.state("a"), Some(DriftState::Pending));
    world.scan(60, &tools("a=2 b=1"));
    assert!(world.memory.incidents.is_empty(), "once is not confirmed");
    world.scan(300, &tools("a=2 b=1"));
    world.fold();
    assert_eq!(world.told(), [AlertType::DriftOpened]);
}

#[test]
fn when_an_ignore_is_taken_out_what_stands_is_confirmed_as_usual_and_what_is_gone_is_not() {
    let mut world = ignoring();
    for _ in 0..3 {
        world.scan(900, &tools("a=2 b=1"));
    }
    world.policy.ignore.clear();
    world.scan(900, &tools("a=2 b=1"));
    assert_eq!(world.state("a"), Some(DriftState::Pending));
    world.scan(300, &tools("a=2 b=1"));
    assert_eq!(world.drifts().units.len(), 1);

    let mut world = ignoring();
    for _ in 0..3 {
        world.scan(900, &tools("a=2 b=1"));
    }
    world.policy.ignore.clear();
    world.scan(900, &tools("a=1 b=1"));
    assert_eq!(world.state("a"), None);
    assert!(world.notices.is_empty());
}

#[test]
fn to_and_fro_a_drift_is_told_again_when_it_is_told_at_all() {
    let mut world = drifted();
    world.fold();
    world.policy.ignore.push(ignore(item("a"), None));
    world.scan(900, &tools("a=2 b=1"));
    world.fold();
    world.policy.ignore.clear();
    world.scan(900, &tools("a=2 b=1"));
    world.scan(300, &tools("a=2 b=1"));
    world.fold();
    assert_eq!(world.told(), [AlertType::DriftOpened, AlertType::DriftResolved, AlertType::DriftOpened]);
}

#[test]
fn severity_off_records_and_never_tells() {
    let mut world = World::held_to("a=1 b=1");
    world.policy.severity.push(Reweigh { matches: item("a"), set: None });
    world.scan(900, &tools("a=2 b=1"));
    let settled = world.scan(300, &tools("a=2 b=1"));
    assert_eq!(settled.suppressed, [Suppressed::Off]);
    assert!(world.notices.is_empty() && world.memory.incidents.is_empty());
    assert_eq!(said(&world, "drift.off"), 1);
}

#[test]
fn an_ignored_alarm_keeps_no_facet_from_joining() {
    let mut world = World::held_to("xa=1");
    world.policy.ignore.push(ignore(item("xa"), None));
    for _ in 0..3 {
        world.scan(900, &[(TOOLS, items("xa=2")), (PROMPTS, items("p=1"))]);
    }
    assert!(world.memory.baseline.contains_key(&PROMPTS));
}

#[test]
fn variants_that_nobody_is_to_hear_of_make_no_mixed_fleet() {
    let mut world = ignoring();
    for value in ["a=2 b=1", "a=1 b=1", "a=2 b=1", "a=1 b=1", "a=2 b=1"] {
        world.scan(900, &tools(value));
    }
    assert!(world.memory.incidents.is_empty() && world.notices.is_empty());
    // The same without the ignore is told.
    let mut world = World::held_to("a=1 b=1");
    for value in ["a=2 b=1", "a=1 b=1", "a=2 b=1", "a=1 b=1", "a=2 b=1"] {
        world.scan(900, &tools(value));
    }
    assert_eq!(world.drifts().units[0].rule.rule, "x.mixed-fleet");
}

#[test]
fn what_needs_no_person_is_accepted_as_it_is_confirmed_and_nothing_is_sent() {
    let mut world = World::held_to("a=1 b=1");
    world.policy.auto_accept.push(accepting(item("a"), Severity::Medium));
    let first = world.scan(900, &tools("a=2 b=1"));
    assert!(first.approvals.is_empty(), "once is not confirmed");
    let settled = world.scan(300, &tools("a=2 b=1"));
    assert_eq!(settled.approvals.len(), 1);
    assert_eq!(settled.approvals[0].by, "policy");
    assert_eq!((settled.ledger[0].who.as_str(), settled.ledger[0].reason.as_deref()), ("policy", Some("routine")));
    assert_eq!(settled.closed, [("sample.changed".to_owned(), EndReason::Accepted)]);
    assert!(world.notices.is_empty() && world.incidents.is_empty());
    assert_eq!(
        (said(&world, "base.auto-approved"), said(&world, "drift.open"), said(&world, "drift.accepted")),
        (1, 1, 1)
    );
    world.scan(7 * 3600, &tools("a=2 b=1"));
    let quiet = world.quiet.get();
    for _ in 0..3 {
        world.scan(900, &tools("a=2 b=1"));
    }
    assert_eq!(world.quiet.get(), quiet + 3);
    // The next change is measured against what was accepted.
    world.scan(900, &tools("a=1 b=1"));
    world.scan(300, &tools("a=1 b=1"));
    assert_eq!(world.memory.approvals.len(), 1);
    assert_eq!(world.memory.ledger.no, 3);
}

#[test]
fn an_alarm_is_never_accepted_without_a_person_whatever_the_inventory_calls_it() {
    let mut world = World::held_to("xa=1 b=1");
    world.policy.auto_accept.push(accepting(PolicyMatch::default(), Severity::Critical));
    world.policy.severity.push(Reweigh { matches: item("xa"), set: Some(Severity::Info) });
    world.scan(900, &tools("xa=2 b=2"));
    let settled = world.scan(300, &tools("xa=2 b=2"));
    let approved: Vec<String> = settled.approvals.iter().map(|approval| approval.path.to_string()).collect();
    assert_eq!(approved, ["/items/b"]);
    assert_eq!(world.state("xa"), Some(DriftState::Open));
}

#[test]
fn a_wish_that_comes_later_resolves_what_stands_and_that_alone_is_sent() {
    let mut world = drifted();
    world.fold();
    world.policy.auto_accept.push(accepting(item("a"), Severity::Medium));
    world.scan(900, &tools("a=2 b=1"));
    world.fold();
    assert_eq!(world.told(), [AlertType::DriftOpened, AlertType::DriftResolved]);
    assert_eq!(world.messages[1].body.alert.incident.as_ref().unwrap().reason, Some(EndReason::Accepted));
    assert!(world.incident(IncidentKind::Drift).is_none());
}

#[test]
fn what_a_person_rejected_is_not_accepted_behind_their_back() {
    let mut world = drifted();
    let decision = world.decide();
    world.reject(&decision).unwrap();
    world.policy.auto_accept.push(accepting(item("a"), Severity::Critical));
    for _ in 0..3 {
        world.scan(900, &tools("a=2 b=1"));
    }
    assert_eq!(world.state("a"), Some(DriftState::Rejected));
    assert!(world.memory.approvals.is_empty());
}

#[test]
fn versions_that_take_turns_are_never_accepted_without_a_person() {
    let mut world = World::held_to("a=1 b=1");
    for value in ["a=2 b=1", "a=1 b=1", "a=2 b=1", "a=1 b=1", "a=2 b=1"] {
        world.scan(900, &tools(value));
    }
    world.policy.auto_accept.push(accepting(PolicyMatch::default(), Severity::High));
    world.scan(900, &tools("a=1 b=1"));
    assert!(world.memory.approvals.is_empty());
    assert!(world.drifts().units.iter().any(|unit| unit.mark == UnitMark::Open));
}

#[test]
fn what_the_inventory_ignores_is_not_accepted_either() {
    let mut world = ignoring();
    world.policy.auto_accept.push(accepting(item("a"), Severity::Medium));
    for _ in 0..3 {
        world.scan(900, &tools("a=2 b=1"));
    }
    assert!(world.memory.approvals.is_empty());
    assert!(world.row("a").unwrap().suppressed.is_some());
}

#[test]
fn an_ignore_that_nothing_matches_for_thirty_days_is_said_once() {
    let mut world = ignoring();
    world.scan(900, &tools("a=1 b=1"));
    world.scan(29 * DAY, &tools("a=1 b=1"));
    assert_eq!(said(&world, "base.ignore-unused"), 0);
    world.scan(DAY, &tools("a=1 b=1"));
    world.scan(40 * DAY, &tools("a=1 b=1"));
    assert_eq!(said(&world, "base.ignore-unused"), 1);
}

#[test]
fn an_ignore_is_of_use_while_something_it_matches_stands() {
    let mut world = ignoring();
    for _ in 0..3 {
        world.scan(900, &tools("a=2 b=1"));
    }
    for _ in 0..8 {
        world.scan(10 * DAY, &tools("a=2 b=1"));
    }
    assert_eq!(said(&world, "base.ignore-unused"), 0);
    world.scan(900, &tools("a=1 b=1"));
    world.scan(900, &tools("a=1 b=1"));
    world.scan(29 * DAY, &tools("a=1 b=1"));
    assert_eq!(said(&world, "base.ignore-unused"), 0);
    world.scan(2 * DAY, &tools("a=1 b=1"));
    assert_eq!(said(&world, "base.ignore-unused"), 1);
}

#[test]
fn an_ignore_that_leaves_the_inventory_is_forgotten() {
    let mut world = ignoring();
    world.scan(900, &tools("a=1 b=1"));
    assert_eq!(world.memory.scans.ignores.len(), 1);
    world.policy.ignore.clear();
    world.scan(900, &tools("a=1 b=1"));
    assert!(world.memory.scans.ignores.is_empty());
}
