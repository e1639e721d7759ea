//! Whole stories: scans, ticks and decisions on one target, with every settlement applied and checked.

mod own;
mod policy;

use super::*;
use crate::judge::decide::{About, Decision, NewsKind, Refusal};
use crate::judge::sample::{PROMPTS, Show, TOOLS, World, at, author, decision, items, summary};
use crate::model::alert::AlertType;
use crate::model::digest::Digest;
use crate::model::incident::{EndReason, IncidentKind, UnitMark};
use crate::model::json::Json;
use crate::model::ledger::Action;
use crate::model::observation::Asked;

fn asked() -> Asked {
    Asked { date: Some("2025-11-25".to_owned()), ..Asked::default() }
}

fn tools(text: &'static str) -> [(FacetName, Show); 1] {
    [(TOOLS, items(text))]
}

impl World {
    fn accept(&mut self, decision: &Decision) -> Result<Settlement, Refusal> {
        let summary = summary();
        let incident = match decision.about {
            About::Revision { incident, revision } => self.bodies.get(&(incident, revision)),
            About::Fingerprint(_) => None,
        };
        let settled = settle_accept_incident(&self.scene(&summary), &self.shown, &asked(), decision, incident)?;
        self.apply(&settled);
        Ok(settled)
    }

    fn reject(&mut self, decision: &Decision) -> Result<Settlement, Refusal> {
        let summary = summary();
        let settled = settle_reject(&self.scene(&summary), decision, None)?;
        self.apply(&settled);
        Ok(settled)
    }

    fn ack(&mut self, decision: &Decision) -> Result<Settlement, Refusal> {
        let summary = summary();
        let settled = settle_ack(&self.scene(&summary), decision, None)?;
        self.apply(&settled);
        Ok(settled)
    }

    fn accept_baseline(&mut self, beside: bool) -> Result<Settlement, Refusal> {
        let (summary, asked) = (summary(), asked());
        let named = self.named(&asked, beside);
        let settled = settle_baseline_accept(&self.scene(&summary), &named, &author("reviewed"))?;
        self.apply(&settled);
        Ok(settled)
    }

    fn drifts(&self) -> &Incident {
        self.incident(IncidentKind::Drift).expect("an incident of drift stands")
    }

    fn decide(&self) -> Decision {
        decision(self.drifts().id, self.drifts().revision)
    }
}

/// Held to `a=1 b=1`, and `a=2` is confirmed.
fn drifted() -> World {
    let mut world = World::held_to("a=1 b=1");
    world.scan(900, &tools("a=2 b=1"));
    world.scan(300, &tools("a=2 b=1"));
    world
}

#[test]
fn a_target_takes_its_first_baseline_and_then_nothing_is_written() {
    let mut world = World::new();
    let first = world.scan(0, &tools("a=1"));
    assert_eq!((first.baseline.len(), first.recheck), (0, Some(at(300))));
    let second = world.scan(300, &tools("a=1"));
    assert_eq!(second.baseline.len(), 1);
    assert_eq!((second.ledger[0].who.as_str(), second.ledger[0].action), ("first_seen", Action::Accept));
    assert!(world.history.contains(&"base.created".to_owned()));
    let before = world.quiet.get();
    for _ in 0..5 {
        world.scan(900, &tools("a=1"));
    }
    assert_eq!(world.quiet.get(), before + 5);
}

#[test]
fn a_drift_is_told_once_and_its_revert_too() {
    let mut world = drifted();
    world.fold();
    assert_eq!(world.told(), [AlertType::DriftOpened]);
    for _ in 0..5 {
        world.scan(900, &tools("a=2 b=1"));
    }
    world.fold();
    assert_eq!(world.told().len(), 1);
    world.scan(900, &tools("a=1 b=1"));
    world.scan(300, &tools("a=1 b=1"));
    world.fold();
    assert_eq!(world.told(), [AlertType::DriftOpened, AlertType::DriftResolved]);
    let resolved = &world.messages[1].body;
    assert_eq!((resolved.alert.incident.as_ref().unwrap().reason, resolved.reply), (Some(EndReason::Reverted), true));
    assert_eq!(world.last.as_ref().unwrap().closed, [("sample.changed".to_owned(), EndReason::Reverted)]);
}

#[test]
fn accepting_approves_the_paths_ends_the_incident_and_sends_one_message() {
    let mut world = drifted();
    world.fold();
    let settled = world.accept(&world.decide()).unwrap();
    assert_eq!(settled.approvals[0].value, Some(Json::from("2")));
    assert_eq!((settled.ledger.len(), settled.ledger[0].who.as_str()), (1, "person:oncall"));
    assert_eq!(settled.revisions[0].body.alert.ledger.entry, settled.ledger[0].no);
    world.fold();
    assert_eq!(world.told(), [AlertType::DriftOpened, AlertType::DriftResolved]);
    assert_eq!(world.messages[1].body.alert.incident.as_ref().unwrap().reason, Some(EndReason::Accepted));
    for _ in 0..5 {
        world.scan(900, &tools("a=2 b=1"));
    }
    assert!(world.fold().payments.is_empty() && world.memory.drifts.is_empty());
}

#[test]
fn a_value_after_the_approved_one_is_a_new_drift() {
    let mut world = drifted();
    world.accept(&world.decide()).unwrap();
    world.scan(900, &tools("a=3 b=1"));
    world.scan(300, &tools("a=3 b=1"));
    assert_eq!(world.row("a").unwrap().drift.before, vec![Json::from("2")]);
}

#[test]
fn accepting_a_rename_approves_what_it_claims_elsewhere_and_nothing_above() {
    let mut world = drifted();
    let mut row = world.row("a").unwrap().clone();
    let claim = |tokens: &[&str], after: Option<&str>| crate::model::drift::Claim {
        path: Pointer::of(tokens.iter().copied()),
        after: after.map(|value| crate::model::digest::Digest::of(&Json::from(value))),
    };
    row.drift.claims = vec![
        claim(&["items", "a"], Some("2")),
        claim(&["items"], Some("above")),
        claim(&["items", "a", "title"], Some("below")),
        claim(&["items", "old"], None),
        claim(&["items", "b"], Some("1")),
        claim(&["items", "stale"], Some("not what is there")),
    ];
    world.memory.drifts = vec![row];
    let settled = world.accept(&world.decide()).unwrap();
    let approved: Vec<(String, Option<Json>)> =
        settled.approvals.iter().map(|approval| (approval.path.to_string(), approval.value.clone())).collect();
    let expected = [("/items/a", Some("2")), ("/items/b", Some("1")), ("/items/old", None)];
    assert_eq!(approved, expected.map(|(path, value)| (path.to_owned(), value.map(Json::from))));
    let decisions: std::collections::BTreeSet<&String> = settled.ledger.iter().map(|entry| &entry.decision).collect();
    assert_eq!((settled.ledger.len(), decisions.len()), (3, 1));
}

#[test]
fn a_decision_on_an_older_revision_is_refused_with_what_is_new() {
    let mut world = drifted();
    let read = world.decide();
    world.scan(900, &tools("a=2 b=1 c=1"));
    world.scan(300, &tools("a=2 b=1 c=1"));
    assert_eq!(world.drifts().revision, 2);
    let refusal = world.accept(&read).unwrap_err();
    let Refusal::Older { named: 1, current: 2, news, .. } = &refusal else { panic!("{refusal}") };
    assert_eq!(news.iter().map(|news| (news.n, news.what)).collect::<Vec<_>>(), [(2, NewsKind::Added)]);
    assert!(refusal.to_string().contains("2. sample.added (new)"), "{refusal}");
    world.accept(&world.decide()).unwrap();
    assert!(world.incident(IncidentKind::Drift).is_none());
}

#[test]
fn a_changed_value_is_news_too() {
    let mut world = drifted();
    let read = world.decide();
    world.scan(900, &tools("a=3 b=1"));
    world.scan(300, &tools("a=3 b=1"));
    let Refusal::Older { news, .. } = world.accept(&read).unwrap_err() else { panic!() };
    assert_eq!((news.len(), news[0].what), (1, NewsKind::Changed));
}

#[test]
fn decisions_are_refused_that_name_nothing_or_give_no_reason() {
    let mut world = drifted();
    let good = world.decide();
    let (id, fingerprint) = (world.drifts().id, crate::model::drift::Fingerprint(Digest::ZERO));
    let cases = [
        (decision("00000".parse().unwrap(), 1), Refusal::NoSuchIncident("00000".parse().unwrap())),
        (decision(id, 7), Refusal::NoSuchRevision { incident: id, named: 7, current: 1 }),
        (Decision { about: About::Fingerprint(fingerprint), ..good.clone() }, Refusal::NoSuchFingerprint(fingerprint)),
        (Decision { except: vec![4], ..good.clone() }, Refusal::NoSuchUnit { incident: id, n: 4 }),
        (Decision { except: vec![1], ..good.clone() }, Refusal::NothingLeft),
        (Decision { author: author("  "), ..good.clone() }, Refusal::ReasonMissing),
    ];
    for (decision, refusal) in cases {
        assert_eq!(world.accept(&decision).unwrap_err(), refusal);
        assert_eq!(world.reject(&decision).unwrap_err(), refusal);
    }
    world.accept(&good).unwrap();
}

#[test]
fn a_unit_left_out_keeps_the_incident_open() {
    let mut world = drifted();
    world.scan(900, &tools("a=2 b=1 c=1"));
    world.scan(300, &tools("a=2 b=1 c=1"));
    let settled = world.accept(&Decision { except: vec![1], ..world.decide() }).unwrap();
    assert!(settled.notices.is_empty() && settled.revisions.is_empty());
    let marks: Vec<UnitMark> = world.drifts().units.iter().map(|unit| unit.mark).collect();
    assert_eq!(marks, [UnitMark::Open, UnitMark::Accepted]);
}

#[test]
fn one_drift_can_be_accepted_by_its_fingerprint_before_it_is_confirmed() {
    let mut world = World::held_to("a=1");
    world.scan(900, &tools("a=2"));
    let about = About::Fingerprint(world.row("a").unwrap().drift.fingerprint);
    let pending = Decision { about, except: vec![], author: author("announced") };
    assert_eq!(world.ack(&pending).unwrap_err(), Refusal::NoIncident);
    let settled = world.accept(&pending).unwrap();
    assert!(settled.notices.is_empty() && settled.closed.is_empty());
    world.scan(300, &tools("a=2"));
    assert!(world.memory.drifts.is_empty());
}

#[test]
fn what_is_pending_in_an_incident_can_be_decided_too() {
    let mut world = World::held_to("xa=1 b=1");
    world.scan(900, &tools("xa=2 b=2"));
    world.scan(30, &tools("xa=2 b=2"));
    assert_eq!(world.state("b"), Some(DriftState::Pending));
    assert_eq!(world.drifts().units[0].members.len(), 2);
    let settled = world.accept(&world.decide()).unwrap();
    assert_eq!(settled.approvals.len(), 2);
}

#[test]
fn what_only_one_sighting_shows_is_not_in_the_incident() {
    let mut world = World::held_to("xa=1 b=1");
    world.scan(900, &tools("xa=2 b=1"));
    world.scan(30, &tools("xa=2 b=2"));
    assert_eq!(world.drifts().units[0].members.len(), 1);
    world.scan(300, &tools("xa=2 b=2"));
    assert_eq!((world.drifts().units[0].members.len(), world.drifts().revision), (2, 2));
}

#[test]
fn a_pending_unit_that_confirms_only_changes_its_mark() {
    let mut world = World::held_to("xa=1 b=1");
    world.scan(900, &tools("xa=2 b=2"));
    world.scan(30, &tools("xa=2 b=2"));
    let settled = world.scan(270, &tools("xa=2 b=2"));
    assert_eq!((world.state("b"), world.drifts().revision), (Some(DriftState::Open), 1));
    assert!(settled.notices.is_empty());
}

#[test]
fn rejected_drift_stands_and_the_end_says_so() {
    let mut world = drifted();
    world.fold();
    let settled = world.reject(&world.decide()).unwrap();
    assert!(settled.notices.is_empty() && settled.approvals.is_empty());
    assert_eq!((world.state("a"), settled.ledger[0].action), (Some(DriftState::Rejected), Action::Reject));
    assert_eq!(world.drifts().units[0].mark, UnitMark::Rejected);
    world.scan(900, &tools("a=1 b=1"));
    world.scan(300, &tools("a=1 b=1"));
    world.fold();
    assert_eq!(world.messages[1].body.alert.incident.as_ref().unwrap().reason, Some(EndReason::Rejected));
}

#[test]
fn an_ack_stands_until_its_time_is_over() {
    let mut world = drifted();
    let until = at(7200);
    let mut ack = world.decide();
    ack.author.reason = None;
    ack.author.until = Some(until);
    let settled = world.ack(&ack).unwrap();
    assert_eq!((settled.ledger[0].action, settled.ledger[0].until), (Action::Ack, Some(until)));
    assert_eq!(world.drifts().acked.as_ref().unwrap().by, "person:oncall");
    assert_eq!(next_tick(&world.memory), Some(until));
    assert!(world.tick(60).is_none());
    assert!(world.tick(7200).is_some());
    assert_eq!(world.drifts().acked, None);
}

#[test]
fn an_approval_ends_at_its_until_and_the_drift_is_back() {
    let mut world = drifted();
    let mut decision = world.decide();
    decision.author.until = Some(at(10_000));
    world.accept(&decision).unwrap();
    world.scan(900, &tools("a=2 b=1"));
    assert!(world.memory.drifts.is_empty());
    let settled = world.tick(10_000).unwrap();
    assert_eq!((settled.ended_approvals.len(), settled.recheck), (1, Some(world.now)));
    world.scan(1, &tools("a=2 b=1"));
    assert_eq!(world.state("a"), Some(DriftState::Pending));
}

#[test]
fn a_person_accepts_a_whole_snapshot() {
    let mut world = drifted();
    world.fold();
    let settled = world.accept_baseline(false).unwrap();
    assert_eq!((settled.baseline.len(), settled.baseline[0].reviewed), (1, true));
    assert_eq!(settled.baseline[0].reason.as_deref(), Some("reviewed"));
    assert_eq!(world.memory.scans.date.as_deref(), Some("2025-11-25"));
    world.fold();
    assert_eq!(world.told(), [AlertType::DriftOpened, AlertType::DriftResolved]);
    world.scan(900, &tools("a=2 b=1"));
    assert!(world.memory.drifts.is_empty());
}

#[test]
fn accepting_beside_holds_to_both_values_however_they_alternate() {
    let mut world = drifted();
    world.accept_baseline(true).unwrap();
    assert_eq!(world.memory.baseline[&TOOLS].values.len(), 2);
    for text in ["a=1 b=1", "a=2 b=1", "a=1 b=1", "a=2 b=1"] {
        world.scan(600, &tools(text));
    }
    assert!(world.memory.drifts.is_empty());
}

#[test]
fn nothing_seen_is_nothing_to_accept() {
    let mut world = World::new();
    world.scan(0, &[(TOOLS, Show::Unseen)]);
    assert_eq!(world.accept_baseline(false).unwrap_err(), Refusal::NothingLeft);
}

#[test]
fn a_mixed_fleet_is_one_incident_and_cannot_be_accepted_by_path() {
    let mut world = World::held_to("a=1");
    for text in ["a=2", "a=1", "a=2", "a=1", "a=2"] {
        world.scan(900, &tools(text));
    }
    world.fold();
    assert_eq!(world.told(), [AlertType::DriftOpened]);
    assert_eq!(world.drifts().units.len(), 1);
    assert!(world.memory.facets[&TOOLS].mixed_since.is_some());
    assert!(matches!(world.accept(&world.decide()), Err(Refusal::Unsteady { .. })));
    world.scan(6 * 3600, &tools("a=2"));
    assert_eq!((world.state("a"), world.memory.facets[&TOOLS].mixed_since), (Some(DriftState::Open), None));
}

#[test]
fn a_target_that_leaves_retires_its_drifts_and_says_so_to_who_was_told() {
    let mut world = drifted();
    world.fold();
    let summary = summary();
    let settled = settle_retire(&world.scene(&summary));
    world.apply(&settled);
    world.fold();
    assert_eq!(world.messages[1].body.alert.incident.as_ref().unwrap().reason, Some(EndReason::Retired));
    assert!(world.memory.drifts.is_empty() && world.memory.baseline.contains_key(&TOOLS));
}

#[test]
fn a_lost_target_is_told_apart_from_its_drift_and_changes_nothing_of_it() {
    let mut world = drifted();
    let before = world.memory.drifts.clone();
    for seconds in [900, 60, 180, 360] {
        world.fail(seconds, "scan.unreachable");
    }
    world.fold();
    assert_eq!(world.told(), [AlertType::DriftOpened, AlertType::SightLost]);
    assert!(world.memory.drifts.contains(&before[0]));
    world.scan(60, &tools("a=2 b=1"));
    world.fold();
    assert_eq!(world.told()[2], AlertType::SightBack);
    assert_eq!(world.state("a"), Some(DriftState::Open));
}

#[test]
fn a_block_is_one_unit_turns_high_after_a_day_and_is_never_accepted() {
    let mut world = World::held_to("a=1");
    for seconds in [900, 60, 180, 360] {
        world.fail(seconds, "scan.blocked");
    }
    let sight = world.incident(IncidentKind::Sight).unwrap().clone();
    assert_eq!((sight.units.len(), sight.units[0].rule.rule.as_str()), (1, "scan.blocked"));
    let refused = decision(sight.id, 1);
    assert_eq!(world.accept(&refused).unwrap_err(), Refusal::Sight);
    assert_eq!(world.reject(&refused).unwrap_err(), Refusal::Sight);
    world.ack(&refused).unwrap();
    world.fold();
    world.tick(24 * 3600).unwrap();
    world.fold();
    assert_eq!(world.told(), [AlertType::SightLost, AlertType::SightLost]);
    assert!(world.messages[1].body.reply);
}

#[test]
fn what_opens_and_ends_within_the_wait_is_history() {
    let mut world = World::held_to("a=1");
    world.routes = vec![crate::model::notice::Route {
        matches: crate::model::notice::RouteMatch::default(),
        to: vec!["ops".to_owned()],
        goes_on: false,
        group_wait: std::time::Duration::from_secs(3600),
        group_interval: std::time::Duration::from_secs(3600),
        repeat: None,
    }];
    for (seconds, text) in [(900, "a=2"), (300, "a=2"), (300, "a=1"), (300, "a=1")] {
        world.scan(seconds, &tools(text));
        world.fold();
    }
    world.wait(7200);
    let folded = world.fold();
    assert!(world.messages.is_empty() && world.waiting.is_empty(), "{folded:?}");
    assert_eq!(world.history.iter().filter(|event| event.starts_with("incident.")).count(), 2);
}

#[test]
fn a_scan_that_was_skipped_changes_nothing() {
    let world = drifted();
    let snapshot = crate::judge::sample::snapshot(std::collections::BTreeMap::new(), Outcome::Skipped, world.now);
    let summary = summary();
    let settled = settle_scan(&world.scene(&summary), &snapshot, &Judgment::default(), Arrival::default());
    assert_eq!((settled.scans == world.memory.scans, settled.drifts.len()), (true, 0));
}

#[test]
fn nothing_is_asked_again_before_the_peers_time() {
    let world = World::held_to("a=1");
    let hold = at(50_000);
    let unseen = crate::judge::sample::unseen();
    let facets =
        std::collections::BTreeMap::from([(TOOLS, crate::model::facet::FacetState::Unseen { reason: unseen.clone() })]);
    let snapshot = crate::judge::sample::snapshot(facets, Outcome::RateLimited, world.now);
    let judgment = Judgment {
        sights: vec![crate::judge::sample::sight("scan.rate-limited", "endpoint")],
        unseen: vec![(TOOLS, unseen)],
        ..Judgment::default()
    };
    let summary = summary();
    let arrival = Arrival { not_before: Some(hold), ..Arrival::default() };
    let settled = settle_scan(&world.scene(&summary), &snapshot, &judgment, arrival);
    assert_eq!((settled.recheck, settled.scans.not_before), (Some(hold), Some(hold)));
}

#[test]
fn a_facet_that_appears_beside_an_alarm_waits_for_a_person() {
    let mut world = World::held_to("xa=1");
    let shows = || [(TOOLS, items("xa=2")), (PROMPTS, items("p=1"))];
    world.scan(900, &shows());
    world.scan(300, &shows());
    assert!(!world.memory.baseline.contains_key(&PROMPTS));
    assert!(world.memory.facets[&PROMPTS].awaiting_approval);
    assert_eq!(world.history.iter().filter(|event| *event == "base.awaiting-approval").count(), 1);
    world.accept_baseline(false).unwrap();
    assert!(world.memory.baseline.contains_key(&PROMPTS) && !world.memory.facets[&PROMPTS].awaiting_approval);
}

/// A drift of critical severity in a facet that has no baseline yet, confirmed.
fn finding_without_baseline() -> World {
    let mut world = World::held_to("a=1");
    let judgment = Judgment {
        drifts: vec![crate::judge::sample::alarm(PROMPTS, "p", "hidden")],
        seen: std::collections::BTreeSet::from([TOOLS, PROMPTS]),
        ..Judgment::default()
    };
    for _ in 0..2 {
        world.wait(30);
        let tools = world.shown[&TOOLS].clone();
        let shown = std::collections::BTreeMap::from([(TOOLS, tools.clone()), (PROMPTS, tools)]);
        let snapshot = crate::judge::sample::snapshot(shown.clone(), Outcome::Ok, world.now);
        let summary = summary();
        let settled = settle_scan(&world.scene(&summary), &snapshot, &judgment, Arrival::default());
        world.shown = shown;
        world.apply(&settled);
    }
    world
}

#[test]
fn accepting_a_finding_of_a_facet_without_baseline_accepts_the_facet() {
    let mut world = finding_without_baseline();
    assert!(world.memory.facets[&PROMPTS].awaiting_approval);
    let settled = world.accept(&world.decide()).unwrap();
    assert_eq!((settled.approvals.len(), settled.baseline.len()), (0, 1));
    assert_eq!((settled.baseline[0].facet, settled.baseline[0].by.as_str()), (PROMPTS, "person:oncall"));
    assert!(world.memory.drifts.is_empty() && !world.memory.facets[&PROMPTS].awaiting_approval);
}

#[test]
fn a_facet_that_was_not_seen_is_not_accepted_whole() {
    let mut world = finding_without_baseline();
    world.shown.remove(&PROMPTS);
    assert_eq!(world.accept(&world.decide()).unwrap_err(), Refusal::NotSeen(PROMPTS));
}

#[test]
fn a_drift_that_begins_anew_within_the_same_moment_is_another_one() {
    let mut world = drifted();
    world.accept(&world.decide()).unwrap();
    let first = world.scan(0, &tools("a=3 b=1")).drifts[0].id;
    world.scan(0, &tools("a=2 b=1"));
    let second = world.scan(0, &tools("a=3 b=1")).drifts[0].id;
    assert_ne!(first, second);
}
