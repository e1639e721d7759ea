use super::*;
use crate::judge::sample::{TOOLS, alarm, at, drift, fold, sight, target};
use crate::model::drift::Drift;
use crate::model::rule::RuleCase;

/// A confirmed row that has been seen since second 0.
fn open(drift: Drift) -> DriftRow {
    let id = [drift.facet.to_string(), drift.path.to_string()];
    DriftRow {
        suppressed: None,
        id: Digest::of_parts(id),
        values: vec![(drift.fingerprint, at(0))],
        drift,
        state: DriftState::Open,
        sightings: 2,
        since: at(0),
        last_at: at(300),
        back_count: 0,
        back_since: None,
        next: None,
        held: false,
        first_at: at(0),
        confirmed_at: Some(at(300)),
        ended_at: None,
        incident: None,
    }
}

/// The target's drifts and the incident they are in.
struct Desk {
    rows: BTreeMap<Digest, DriftRow>,
    incident: Option<Incident>,
    ids: BTreeSet<IncidentId>,
}

impl Desk {
    fn with(rows: impl IntoIterator<Item = DriftRow>) -> Self {
        let rows = rows.into_iter().map(|row| (row.id, row)).collect();
        Self { rows, incident: None, ids: BTreeSet::new() }
    }

    fn put(&mut self, row: DriftRow) {
        let incident = self.rows.get(&row.id).and_then(|row| row.incident);
        self.rows.insert(row.id, DriftRow { incident, ..row });
    }

    fn end(&mut self, row: &DriftRow, to: DriftState) -> Transition {
        let row = self.rows.get_mut(&row.id).unwrap();
        let from = std::mem::replace(&mut row.state, to);
        Transition { id: row.id, facet: row.drift.facet, path: row.drift.path.clone(), turn: Turn::Ended { from, to } }
    }

    fn step(&mut self, transitions: &[Transition]) -> Option<Event> {
        let target = target();
        let owner = Owner { target: &target, ids: &self.ids, also_taken: &[], own_rules: false, fold, now: at(300) };
        let known = self.incident.take();
        let step = incident_step(known.as_ref(), IncidentKind::Drift, &mut self.rows, transitions, &owner);
        self.incident = step.incident.or(known);
        self.rows.retain(|_, row| !row.state.is_ended());
        step.event
    }
}

#[test]
fn the_first_confirmed_drift_opens_an_incident() {
    let mut desk = Desk::with([open(drift(TOOLS, "a", "1")), open(alarm(TOOLS, "b", "1"))]);
    let event = desk.step(&[]).unwrap();
    assert_eq!((event.kind, event.revision, event.severity), (AlertType::DriftOpened, 1, Severity::High));
    let id = desk.incident.as_ref().unwrap().id;
    assert!(desk.rows.values().all(|row| row.incident == Some(id)));
    assert_eq!(desk.step(&[]), None);
}

#[test]
fn pending_drift_opens_nothing() {
    let pending = DriftRow { state: DriftState::Pending, confirmed_at: None, ..open(drift(TOOLS, "a", "1")) };
    let mut desk = Desk::with([pending]);
    assert_eq!(desk.step(&[]), None);
    assert_eq!(desk.incident, None);
}

#[test]
fn pending_drift_joins_when_both_sightings_show_it() {
    let pending = |name, since, last| DriftRow {
        state: DriftState::Pending,
        since,
        last_at: last,
        ..open(drift(TOOLS, name, "1"))
    };
    let held = DriftRow { held: true, ..pending("held", at(0), at(300)) };
    let rows = [
        open(drift(TOOLS, "a", "1")),
        pending("both", at(0), at(300)),
        pending("late", at(200), at(300)),
        pending("missed", at(0), at(200)),
        held,
    ];
    let mut desk = Desk::with(rows);
    desk.step(&[]);
    let members: Vec<&str> =
        desk.incident.as_ref().unwrap().units[0].members.iter().filter_map(|member| member.path.token(1)).collect();
    assert_eq!(members, ["a", "both"]);
}

#[test]
fn an_id_that_is_taken_is_not_given_again() {
    let row = open(drift(TOOLS, "a", "1"));
    let mut desk = Desk::with([row.clone()]);
    desk.step(&[]);
    let first = desk.incident.unwrap().id;
    let mut desk = Desk { ids: BTreeSet::from([first]), ..Desk::with([row]) };
    desk.step(&[]);
    assert_ne!(desk.incident.unwrap().id, first);
}

#[test]
fn news_makes_a_revision_and_a_mark_does_not() {
    let a = || open(drift(TOOLS, "a", "1"));
    let other_rule = |name: &str| {
        let mut drift = drift(TOOLS, name, "1");
        drift.rule = RuleCase::new("sample.other", "-");
        open(drift)
    };
    let worse = DriftRow { drift: Drift { severity: Severity::High, ..a().drift }, ..a() };
    let milder = DriftRow { drift: Drift { severity: Severity::Low, ..a().drift }, ..a() };
    let rejected = DriftRow { state: DriftState::Rejected, ..a() };
    let reworded = DriftRow { drift: Drift { message: "other".to_owned(), ..a().drift }, ..a() };
    let cases = [
        ("another unit", other_rule("b"), Some(2)),
        ("another drift in a unit", open(drift(TOOLS, "b", "1")), Some(2)),
        ("another value", open(drift(TOOLS, "a", "2")), Some(2)),
        ("a worse severity", worse, Some(2)),
        ("a milder severity", milder, Some(2)),
        ("a mark", rejected, None),
        ("other words", reworded, None),
    ];
    for (what, row, revision) in cases {
        let mut desk = Desk::with([a()]);
        desk.step(&[]);
        desk.put(row);
        let event = desk.step(&[]);
        assert_eq!(event.as_ref().map(|event| event.revision), revision, "{what}");
        assert!(event.is_none_or(|event| event.kind == AlertType::DriftChanged), "{what}");
    }
}

#[test]
fn a_drift_that_leaves_a_unit_is_no_news() {
    let (a, b) = (open(alarm(TOOLS, "a", "1")), open(drift(TOOLS, "b", "1")));
    let mut desk = Desk::with([a.clone(), b]);
    desk.step(&[]);
    let gone = desk.end(&a, DriftState::Reverted);
    assert_eq!(desk.step(&[gone]), None);
    let unit = &desk.incident.as_ref().unwrap().units[0];
    assert_eq!((unit.members.len(), unit.severity), (1, Severity::Medium));
}

#[test]
fn an_incident_ends_with_its_last_confirmed_drift_for_the_most_decided_reason() {
    use DriftState::{Accepted, Open, Rejected, Retired, Reverted};
    let cases = [
        (Open, Reverted, Open, Reverted, EndReason::Reverted),
        (Open, Reverted, Open, Accepted, EndReason::Accepted),
        (Rejected, Reverted, Open, Reverted, EndReason::Rejected),
        (Rejected, Accepted, Open, Reverted, EndReason::Accepted),
        (Open, Retired, Open, Retired, EndReason::Retired),
    ];
    for (from_a, to_a, from_b, to_b, reason) in cases {
        let a = DriftRow { state: from_a, ..open(alarm(TOOLS, "a", "1")) };
        let b = DriftRow { state: from_b, ..open(drift(TOOLS, "b", "1")) };
        let mut desk = Desk::with([a.clone(), b.clone()]);
        desk.step(&[]);
        let ends = [desk.end(&a, to_a), desk.end(&b, to_b)];
        let event = desk.step(&ends).unwrap();
        assert_eq!((event.kind, event.reason, event.revision), (AlertType::DriftResolved, Some(reason), 1));
        assert_eq!(event.severity, Severity::High, "the worst that stood");
        let incident = desk.incident.unwrap();
        assert_eq!(incident.ended, Some(Ended { at: at(300), reason }));
        assert!(incident.units.iter().all(|unit| !unit.mark.stands()));
    }
}

#[test]
fn what_is_pending_when_an_incident_ends_may_open_another() {
    let a = open(drift(TOOLS, "a", "1"));
    let pending = DriftRow { state: DriftState::Pending, ..open(drift(TOOLS, "b", "1")) };
    let mut desk = Desk::with([a.clone(), pending.clone()]);
    desk.step(&[]);
    let end = desk.end(&a, DriftState::Reverted);
    assert_eq!(desk.step(&[end]).unwrap().kind, AlertType::DriftResolved);
    assert_eq!(desk.rows[&pending.id].incident, None);
}

#[test]
fn a_unit_that_comes_back_keeps_its_number_and_is_news() {
    let (a, mut other) = (open(drift(TOOLS, "a", "1")), drift(TOOLS, "b", "1"));
    other.rule = RuleCase::new("sample.other", "-");
    let b = open(other);
    let mut desk = Desk::with([a, b.clone()]);
    desk.step(&[]);
    let n = |desk: &Desk| {
        let units = &desk.incident.as_ref().unwrap().units;
        units.iter().find(|unit| unit.rule.rule == "sample.other").map(|unit| (unit.n, unit.mark)).unwrap()
    };
    let (number, _) = n(&desk);
    let end = desk.end(&b, DriftState::Reverted);
    assert_eq!(desk.step(&[end]), None);
    assert_eq!(n(&desk), (number, UnitMark::Reverted));
    desk.put(b);
    assert_eq!(desk.step(&[]).unwrap().revision, 2);
    assert_eq!(n(&desk), (number, UnitMark::Open));
}

#[test]
fn drift_and_sight_do_not_mix() {
    let mut desk = Desk::with([open(sight("scan.unreachable", "endpoint"))]);
    assert_eq!(desk.step(&[]), None);
}

#[test]
fn a_drift_that_another_rule_tells_keeps_its_unit_and_stands_once() {
    let row = open(drift(TOOLS, "a", "x"));
    let target = target();
    let mut desk = Desk::with([row.clone()]);
    let mut step = |row: DriftRow| {
        desk.put(row);
        let real = crate::judge::fold::fold;
        let owner =
            Owner { target: &target, ids: &desk.ids, also_taken: &[], own_rules: false, fold: real, now: at(300) };
        let known = desk.incident.take();
        let step = incident_step(known.as_ref(), IncidentKind::Drift, &mut desk.rows, &[], &owner);
        desk.incident = step.incident.or(known);
        (desk.incident.clone().unwrap(), step.event)
    };
    let (before, _) = step(row.clone());
    let mut worse = row;
    worse.drift.rule = RuleCase::new("tool.description-rewritten", "-");
    worse.drift.severity = Severity::Critical;
    let (after, event) = step(worse.clone());
    let numbers = |incident: &Incident| incident.units.iter().map(|unit| unit.n).collect::<Vec<_>>();
    assert_eq!((numbers(&before), numbers(&after)), (vec![1], vec![1]), "{after:#?}");
    assert_eq!(after.units[0].rule.rule, "tool.description-rewritten");
    assert_eq!((after.revision, event.is_some()), (before.revision + 1, true));
    let (still, event) = step(worse);
    assert_eq!((still, event), (after, None));
}
