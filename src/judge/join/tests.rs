use super::*;
use crate::judge::sample::{PROMPTS, Show, TOOLS, World, items};
use crate::model::confirm::Threshold;

fn tools(text: &'static str) -> [(FacetName, Show); 1] {
    [(TOOLS, items(text))]
}

fn joined(world: &World) -> Vec<FacetName> {
    world.memory.baseline.keys().copied().collect()
}

#[test]
fn a_facet_joins_when_it_was_seen_alike_often_and_long_enough() {
    let mut world = World::new();
    world.scan(0, &tools("a=1"));
    world.scan(299, &tools("a=1"));
    assert_eq!(joined(&world), []);
    world.scan(1, &tools("a=1"));
    assert_eq!(joined(&world), [TOOLS]);
    assert_eq!(world.memory.facets[&TOOLS].joining, None);
}

#[test]
fn another_value_starts_the_count_again() {
    let mut world = World::new();
    for (seconds, text) in [(0, "a=1"), (300, "a=2"), (299, "a=2")] {
        world.scan(seconds, &tools(text));
    }
    assert_eq!(joined(&world), []);
    world.scan(1, &tools("a=2"));
    assert_eq!(joined(&world), [TOOLS]);
}

#[test]
fn a_scan_that_missed_something_counts_neither_way() {
    let mut world = World::new();
    let both = || [(TOOLS, items("a=1")), (PROMPTS, items("p=1"))];
    world.scan(0, &both());
    world.scan(300, &[(TOOLS, items("a=1")), (PROMPTS, Show::Unseen)]);
    assert_eq!(joined(&world), []);
    world.scan(1, &both());
    assert_eq!(joined(&world), [TOOLS, PROMPTS]);
}

#[test]
fn a_list_that_was_never_seen_does_not_keep_the_others_out() {
    let mut world = World::new();
    for _ in 0..2 {
        world.scan(300, &[(TOOLS, items("a=1")), (PROMPTS, Show::Unseen)]);
    }
    assert_eq!(joined(&world), [TOOLS]);
}

#[test]
fn in_approve_everything_waits_and_says_so_once() {
    let mut world = World::new();
    world.mode = BaselineMode::Approve;
    for _ in 0..4 {
        world.scan(300, &tools("a=1"));
    }
    assert_eq!(joined(&world), []);
    assert!(world.memory.facets[&TOOLS].awaiting_approval);
    assert_eq!(world.history.iter().filter(|event| *event == "base.awaiting-approval").count(), 1);
}

#[test]
fn a_facet_joins_beside_drift_below_high() {
    let mut world = World::held_to("a=1");
    for _ in 0..2 {
        world.scan(300, &[(TOOLS, items("a=2")), (PROMPTS, items("p=1"))]);
    }
    assert_eq!(joined(&world), [TOOLS, PROMPTS]);
    assert!(world.history.contains(&"base.facet-created".to_owned()));
}

#[test]
fn one_alarming_scan_is_enough_to_wait_for_a_person() {
    let mut world = World::held_to("xa=1");
    world.scan(900, &[(TOOLS, items("xa=2")), (PROMPTS, items("p=1"))]);
    for _ in 0..3 {
        world.scan(300, &[(TOOLS, items("xa=1")), (PROMPTS, items("p=1"))]);
    }
    assert_eq!(joined(&world), [TOOLS]);
}

#[test]
fn a_joining_facet_is_looked_at_again_when_it_can_join() {
    let confirm = Confirm { surface: Threshold { sightings: 3, ..Confirm::default().surface }, ..Confirm::default() };
    let mut world = World::new();
    world.confirm = confirm;
    let first = world.scan(0, &tools("a=1"));
    assert_eq!(first.recheck, Some(crate::judge::sample::at(150)));
    let second = world.scan(150, &tools("a=1"));
    assert_eq!(second.recheck, Some(crate::judge::sample::at(300)));
    assert_eq!(world.scan(150, &tools("a=1")).baseline.len(), 1);
}
