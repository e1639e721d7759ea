//! What holds for every sequence of scans, failures, ticks and pauses.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use proptest::prelude::*;

use crate::judge::sample::{PROMPTS, Show, TOOLS, World, decision};
use crate::model::alert::AlertType;
use crate::model::digest::Digest;
use crate::model::drift::{DriftRow, DriftState};
use crate::model::facet::{Facet, FacetName};
use crate::model::incident::IncidentId;
use crate::model::rule::Class;

/// What a peer does next.
#[derive(Clone, Debug)]
enum Move {
    /// Tools with these values of `a`, `b` and the alarming `x`; prompts seen or not.
    Shows([u8; 3], bool),
    /// Tools are not seen; prompts are.
    ToolsUnseen,
    /// Nothing is seen.
    Down(&'static str),
    /// No scan; the clock ticks.
    Tick,
    /// A person accepts the incident that stands, if one does.
    Accept,
}

fn moves() -> impl Strategy<Value = Vec<(i64, Move)>> {
    let value = prop_oneof![4 => Just(0_u8), 2 => Just(1), 1 => Just(2), 1 => 3_u8..6];
    let shows = ([value.clone(), value.clone(), value], any::<bool>())
        .prop_map(|(values, prompts)| Move::Shows(values, prompts));
    let rule = prop_oneof![Just("scan.unreachable"), Just("scan.blocked"), Just("scan.rate-limited")];
    let step = prop_oneof![
        10 => shows,
        2 => Just(Move::ToolsUnseen),
        3 => rule.prop_map(Move::Down),
        1 => Just(Move::Tick),
        1 => Just(Move::Accept),
    ];
    let pause = prop_oneof![
        6 => prop::sample::select(vec![15_i64, 30, 60, 300, 900]),
        1 => prop::sample::select(vec![3600_i64, 6 * 3600, 24 * 3600]),
    ];
    prop::collection::vec((pause, step), 1..40)
}

fn shows(values: [u8; 3], prompts: bool) -> Vec<(FacetName, Show)> {
    let items = ["a", "b", "x"].into_iter().zip(values);
    // 5 is an item that is gone.
    let items = items.filter(|(_, value)| *value != 5).map(|(name, value)| (name, value.to_string())).collect();
    let prompts = if prompts { Show::Items(vec![("p", "0".to_owned())]) } else { Show::Unseen };
    vec![(TOOLS, Show::Items(items)), (PROMPTS, prompts)]
}

const BASE: [u8; 3] = [0, 0, 0];

fn start() -> World {
    let mut world = World::new();
    world.scan(0, &shows(BASE, true));
    world.scan(300, &shows(BASE, true));
    world
}

fn act(world: &mut World, pause: i64, step: &Move) {
    match step {
        Move::Shows(values, prompts) => drop(world.scan(pause, &shows(*values, *prompts))),
        Move::ToolsUnseen => {
            let prompts = Show::Items(vec![("p", "0".to_owned())]);
            drop(world.scan(pause, &[(TOOLS, Show::Unseen), (PROMPTS, prompts)]));
        }
        Move::Down(rule) => drop(world.fail(pause, rule)),
        Move::Tick => drop(world.tick(pause)),
        Move::Accept => {
            world.wait(pause);
            let Some(incident) = world.incident(crate::model::incident::IncidentKind::Drift) else { return };
            let accept = decision(incident.id, incident.revision);
            let summary = crate::judge::sample::summary();
            let asked = crate::model::observation::Asked::default();
            let scene = world.scene(&summary);
            // Values that take turns are refused; that too must change nothing.
            if let Ok(settled) =
                crate::judge::settle::settle_accept_incident(&scene, &world.shown, &asked, &accept, None)
            {
                world.apply(&settled);
            }
        }
    }
}

/// Every sight of a value, and every scan that saw the place: what confirmation is measured by.
#[derive(Default)]
struct Sightings(BTreeMap<Digest, Vec<jiff::Timestamp>>);

impl Sightings {
    fn note(&mut self, world: &World) {
        for row in &world.memory.drifts {
            if row.last_at == world.now && row.state == DriftState::Pending {
                self.0.entry(row.id).or_default().push(world.now);
            }
        }
    }
}

fn by_id(rows: &[DriftRow]) -> BTreeMap<Digest, DriftRow> {
    rows.iter().map(|row| (row.id, row.clone())).collect()
}

fn is_special(row: &DriftRow) -> bool {
    row.drift.rule.rule.starts_with("x.")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_drift_never_opens_with_fewer_sightings_or_less_time_than_its_class_asks(moves in moves()) {
        let mut world = start();
        let mut sightings = Sightings::default();
        for (pause, step) in &moves {
            let before = by_id(&world.memory.drifts);
            act(&mut world, *pause, step);
            for row in &world.memory.drifts {
                let was_pending = before.get(&row.id).is_none_or(|row| row.state == DriftState::Pending);
                let released = before.get(&row.id).is_some_and(|row| row.held);
                if !was_pending || row.state == DriftState::Pending || is_special(row) || released {
                    continue;
                }
                let asks = world.confirm.of(row.drift.class);
                let seen = sightings.0.get(&row.id).map_or(0, Vec::len) + 1;
                let seen = u32::try_from(seen).unwrap();
                prop_assert!(seen >= asks.sightings && row.sightings >= asks.sightings, "{seen} {row:#?}");
                let took = world.now.duration_since(row.since);
                prop_assert!(took >= SignedDuration::try_from(asks.after).unwrap(), "{took} {row:#?}");
                prop_assert!(row.drift.class != Class::Sight || seen >= 3);
            }
            sightings.note(&world);
        }
    }

    #[test]
    fn what_was_not_seen_leaves_its_drifts_as_they_are(moves in moves()) {
        let mut world = start();
        for (pause, step) in &moves {
            let before = by_id(&world.memory.drifts);
            act(&mut world, *pause, step);
            if matches!(step, Move::ToolsUnseen | Move::Down(_)) {
                for (id, row) in before.iter().filter(|(_, row)| row.drift.facet.facet == Facet::McpTools) {
                    prop_assert_eq!(world.rows.get(id), Some(row));
                }
            }
        }
    }

    #[test]
    fn a_confirmed_drift_is_never_lost(moves in moves()) {
        let mut world = start();
        for (pause, step) in &moves {
            let before = world.memory.drifts.clone();
            act(&mut world, *pause, step);
            for row in before.iter().filter(|row| row.confirmed_at.is_some()) {
                let after = &world.rows[&row.id];
                let ended = after.state.is_ended();
                prop_assert!(matches!(after.state, DriftState::Open | DriftState::Rejected) || ended);
                prop_assert!(!ended || after.ended_at == Some(world.now));
                prop_assert_ne!(after.state, DriftState::Transient);
            }
        }
    }

    #[test]
    fn revisions_rise_and_an_end_is_told_only_to_who_was_told_the_beginning(moves in moves()) {
        let mut world = start();
        let mut newest = BTreeMap::<IncidentId, (u32, bool)>::new();
        for (pause, step) in &moves {
            let count = world.notices.len();
            act(&mut world, *pause, step);
            world.fold();
            for notice in world.notices.iter().skip(count) {
                let ends = matches!(notice.event, AlertType::DriftResolved | AlertType::SightBack);
                let (then, over) = newest.insert(notice.incident, (notice.revision, ends)).unwrap_or((0, false));
                prop_assert!(!over, "nothing follows an end");
                prop_assert!(notice.revision > then || (ends && notice.revision == then && then > 0), "{notice:?}");
            }
        }
        let mut begun = BTreeSet::new();
        for message in &world.messages {
            match message.body.alert.kind {
                AlertType::DriftOpened => prop_assert!(begun.insert(message.incident)),
                AlertType::SightLost => drop(begun.insert(message.incident)),
                AlertType::DriftChanged | AlertType::DriftReminder => {
                    prop_assert!(begun.contains(&message.incident));
                }
                AlertType::DriftResolved | AlertType::SightBack => prop_assert!(begun.remove(&message.incident)),
                AlertType::FleetReport | AlertType::Digest | AlertType::Test => {
                    prop_assert!(false, "{:?}", message.body.alert.kind);
                }
            }
        }
        let ids: BTreeSet<&String> = world.messages.iter().map(|message| &message.id).collect();
        prop_assert_eq!(ids.len(), world.messages.len());
    }

    #[test]
    fn everything_ends_when_the_baselines_values_are_back_for_long_enough(moves in moves()) {
        let mut world = start();
        for (pause, step) in moves.iter().filter(|(_, step)| !matches!(step, Move::Accept)) {
            act(&mut world, *pause, step);
        }
        for _ in 0..30 {
            world.scan(900, &shows(BASE, true));
        }
        prop_assert_eq!(&world.memory.drifts, &vec![]);
        prop_assert!(world.memory.incidents.is_empty());
        world.fold();
        prop_assert!(world.waiting.is_empty());
        // And from then on nothing is written.
        let quiet = world.quiet.get();
        world.scan(900, &shows(BASE, true));
        prop_assert_eq!(world.quiet.get(), quiet + 1);
    }

    #[test]
    fn a_recheck_is_never_in_the_past_and_confirms_what_stands(moves in moves()) {
        let mut world = start();
        for (pause, step) in &moves {
            act(&mut world, *pause, step);
            let last = world.last.as_ref().unwrap();
            prop_assert!(last.recheck.is_none_or(|at| Some(at) >= last.scans.last_at));
        }
        // Following the rechecks alone, whatever is shown now is decided within a day of them.
        world.scan(900, &shows([1, 0, 1], true));
        for _ in 0..40 {
            let Some(at) = world.last.as_ref().unwrap().recheck else { break };
            let wait = at.duration_since(world.now).as_secs().max(0);
            world.scan(wait, &shows([1, 0, 1], true));
        }
        let undecided = |row: &&DriftRow| row.state == DriftState::Pending || row.next.is_some();
        prop_assert_eq!(world.memory.drifts.iter().find(undecided), None);
    }
}
