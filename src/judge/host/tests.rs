//! A host's targets, each settled by itself, with what they share kept beside them.

use super::*;
use crate::judge::sample::{at, fold, sight};
use crate::model::json::Json;
use crate::model::notice::Event;
use crate::model::target::{Kind, TargetSummary};

const URL: &str = "https://mcp.example.com/mcp";

#[derive(Default)]
struct Fleet {
    rows: BTreeMap<TargetId, DriftRow>,
    incidents: Vec<Incident>,
    ids: BTreeSet<IncidentId>,
}

fn id(name: &str) -> TargetId {
    name.parse().unwrap()
}

fn loss(name: &str, rule: &str, since: i64, state: DriftState) -> DriftRow {
    let mut drift = sight(rule, "endpoint");
    // As the rules do, whose fingerprints are over the target too.
    drift.fingerprint = Fingerprint(Digest::of_parts([name, rule]));
    drift.after = vec![Json::from(rule)];
    DriftRow {
        id: Digest::of_parts([name, &since.to_string()]),
        values: vec![(drift.fingerprint, at(since))],
        drift,
        state,
        sightings: 3,
        since: at(since),
        last_at: at(since + 600),
        back_count: 0,
        back_since: None,
        next: None,
        held: false,
        suppressed: None,
        first_at: at(since),
        confirmed_at: None,
        ended_at: None,
        incident: None,
    }
}

impl Fleet {
    /// `name` is lost since `since`, not confirmed.
    fn fails(&mut self, name: &str, since: i64) {
        self.rows.insert(id(name), loss(name, "scan.unreachable", since, DriftState::Pending));
    }

    fn moves(&mut self, name: &str, to: DriftState) -> Option<Event> {
        let row = self.rows.get_mut(&id(name)).unwrap();
        let turn = if to.is_ended() { Turn::Ended { from: row.state, to } } else { Turn::Confirmed };
        row.state = to;
        let transition = Transition { id: row.id, facet: row.drift.facet, path: row.drift.path.clone(), turn };
        self.settle(name, &[transition])
    }

    fn confirms(&mut self, name: &str) -> Option<Event> {
        self.moves(name, DriftState::Open)
    }

    fn is_back(&mut self, name: &str) -> Option<Event> {
        self.moves(name, DriftState::Reverted)
    }

    /// The steps of one target: the host's, then its own.
    fn settle(&mut self, name: &str, transitions: &[Transition]) -> Option<Event> {
        let me = id(name);
        let kin: Vec<Kin> = self.rows.iter().filter(|(id, _)| **id != me).map(|(id, row)| self.kin(id, row)).collect();
        let mut rows: BTreeMap<Digest, DriftRow> =
            self.rows.get(&me).map(|row| (row.id, row.clone())).into_iter().collect();
        let standing: Vec<Incident> =
            self.incidents.iter().filter(|incident| incident.is_about(&me)).cloned().collect();
        let owner = Owner { target: &me, ids: &self.ids, also_taken: &[], own_rules: false, fold, now: at(10_000) };
        let host = Host { url: URL, kin: &kin, confirm: &Confirm::default() };
        let shared = host_step(&standing, &mut rows, transitions, &host, &owner);
        let known = standing.iter().find(|incident| !incident.is_shared());
        let own = incident::incident_step(known, IncidentKind::Sight, &mut rows, transitions, &owner);
        self.rows.extend(rows.into_values().map(|row| (me.clone(), row)));
        self.rows.retain(|_, row| !row.state.is_ended());
        let mut events = Vec::new();
        for step in [shared, own] {
            events.extend(step.event);
            let Some(incident) = step.incident else { continue };
            self.ids.insert(incident.id);
            self.incidents.retain(|known| known.id != incident.id);
            if incident.ended.is_none() {
                self.incidents.push(incident);
            }
        }
        assert!(events.len() <= 1, "one cause, one event: {events:?}");
        events.pop()
    }

    fn kin(&self, id: &TargetId, row: &DriftRow) -> Kin {
        let target = TargetSummary { id: id.clone(), kind: Kind::Mcp, url: URL.to_owned(), labels: BTreeMap::new() };
        let incident = self.incidents.iter().find(|incident| Some(incident.id) == row.incident).cloned();
        Kin { target, lost: Some(row.clone()), incident, drifts: Vec::new() }
    }

    fn only(&self) -> &Incident {
        assert_eq!(self.incidents.len(), 1, "{:#?}", self.incidents);
        &self.incidents[0]
    }
}

/// Three targets of a host that are lost together; the first is confirmed.
fn lost() -> (Fleet, Event) {
    let mut fleet = Fleet::default();
    for (name, since) in [("a", 0), ("b", 3), ("c", 8)] {
        fleet.fails(name, since);
    }
    let event = fleet.confirms("a").unwrap();
    (fleet, event)
}

#[test]
fn targets_lost_in_one_window_are_one_incident_that_lists_them() {
    let (mut fleet, event) = lost();
    assert_eq!((event.kind, event.revision), (AlertType::SightLost, 1));
    assert_eq!(fleet.only().units[0].items, ["a", "b", "c"]);
    assert_eq!(fleet.only().units[0].title, "no answer: 3 targets of mcp.example.com");
    assert_eq!(fleet.confirms("b"), None, "a confirmation of what was told is no news");
    assert_eq!(fleet.confirms("c"), None);
    assert_eq!(fleet.only().revision, 1);
}

#[test]
fn it_ends_once_with_the_last_of_them() {
    let (mut fleet, _) = lost();
    fleet.confirms("b");
    fleet.confirms("c");
    assert_eq!(fleet.is_back("b"), None);
    assert_eq!(fleet.is_back("a"), None);
    assert_eq!(fleet.only().units[0].items, ["c"]);
    let event = fleet.is_back("c").unwrap();
    assert_eq!((event.kind, event.reason), (AlertType::SightBack, Some(EndReason::Reverted)));
    assert!(fleet.incidents.is_empty());
}

#[test]
fn who_was_back_before_it_was_confirmed_keeps_nobody_waiting() {
    let (mut fleet, _) = lost();
    assert_eq!(fleet.moves("b", DriftState::Transient), None);
    assert_eq!(fleet.moves("c", DriftState::Transient), None);
    assert_eq!(fleet.is_back("a").map(|event| event.kind), Some(AlertType::SightBack));
}

#[test]
fn a_target_that_is_lost_later_is_told_on_its_own() {
    let (mut fleet, _) = lost();
    let shared = fleet.only().id;
    fleet.fails("d", 7_200);
    let event = fleet.confirms("d").unwrap();
    assert_eq!(event.kind, AlertType::SightLost);
    assert_ne!(event.incident, shared);
    let back = fleet.is_back("d").unwrap();
    assert_eq!((back.kind, back.incident), (AlertType::SightBack, event.incident));
    assert_eq!(fleet.only().id, shared);
}

#[test]
fn a_target_lost_alone_has_an_incident_of_its_own() {
    let mut fleet = Fleet::default();
    fleet.fails("a", 0);
    let event = fleet.confirms("a").unwrap();
    assert!(!fleet.only().is_shared());
    assert_eq!(fleet.is_back("a").map(|back| back.incident), Some(event.incident));
}

#[test]
fn who_follows_in_the_window_joins_with_a_revision() {
    let mut fleet = Fleet::default();
    fleet.fails("a", 0);
    let first = fleet.confirms("a").unwrap();
    fleet.fails("b", 500);
    let event = fleet.confirms("b").unwrap();
    assert_eq!((event.incident, event.revision, event.kind), (first.incident, 2, AlertType::SightLost));
    assert_eq!(fleet.only().units.last().unwrap().items, ["a", "b"]);
    assert_eq!(fleet.is_back("a"), None);
    assert_eq!(fleet.is_back("b").map(|event| event.kind), Some(AlertType::SightBack));
}

#[test]
fn a_target_that_falls_again_while_others_are_out_is_news() {
    let (mut fleet, _) = lost();
    fleet.confirms("b");
    assert_eq!(fleet.is_back("b"), None);
    fleet.fails("b", 400);
    let event = fleet.confirms("b").unwrap();
    assert_eq!(event.revision, 2);
}

#[test]
fn the_last_that_leaves_the_inventory_ends_it_as_retired() {
    let (mut fleet, _) = lost();
    fleet.moves("b", DriftState::Retired);
    fleet.moves("c", DriftState::Retired);
    let event = fleet.moves("a", DriftState::Retired).unwrap();
    assert_eq!(event.reason, Some(EndReason::Retired));
}

#[test]
fn a_worse_failure_of_one_of_them_is_told() {
    let (mut fleet, _) = lost();
    let worse = fleet.rows.get_mut(&id("a")).unwrap();
    worse.drift.severity = crate::model::rule::Severity::High;
    let event = fleet.settle("a", &[]).unwrap();
    assert_eq!((event.revision, event.severity), (2, crate::model::rule::Severity::High));
    assert_eq!(fleet.settle("a", &[]), None);
}
