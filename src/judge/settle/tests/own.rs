//! What we changed ourselves is told as ours.

use super::{Arrival, HistoryLine, Settlement, drifted, settle_scan, summary, tools};
use crate::judge::sample::{TOOLS, World, drift, snapshot};
use crate::model::drift::Drift;
use crate::model::judgment::Judgment;
use crate::model::observation::{Asked, Outcome};
use crate::model::rule::Severity;
use crate::model::target::TargetSummary;

/// A scan of `world` as it stands, of this target, asked so; what it shows is judged as `judgment` says.
fn scan(world: &mut World, target: &TargetSummary, asked: &Asked, judgment: &Judgment) -> Settlement {
    world.wait(900);
    let mut seen = snapshot(world.shown.clone(), Outcome::Ok, world.now);
    seen.asked = asked.clone();
    let settled = settle_scan(&world.scene(target), &seen, judgment, Arrival::default());
    world.apply(&settled);
    settled
}

fn ours(settled: &Settlement) -> Vec<&HistoryLine> {
    settled.history.iter().filter(|line| line.event.starts_with("base.")).collect()
}

fn seen() -> Judgment {
    Judgment { seen: [TOOLS].into(), ..Judgment::default() }
}

fn asked() -> Asked {
    Asked { date: Some("2025-11-25".to_owned()), ..Asked::default() }
}

#[test]
fn an_edited_url_is_said_once_and_keeps_the_baseline() {
    let mut world = World::held_to("a=1");
    let moved = TargetSummary { url: "https://new.example.com/mcp".to_owned(), ..summary() };
    let settled = scan(&mut world, &moved, &asked(), &seen());
    let [line] = ours(&settled)[..] else { panic!("{:?}", settled.history) };
    assert_eq!(line.event, "base.target-moved");
    assert!(line.text.contains("https://mcp.example.com/mcp -> https://new.example.com/mcp"), "{}", line.text);
    assert!(world.memory.baseline.contains_key(&TOOLS));
    assert!(ours(&scan(&mut world, &moved, &asked(), &seen())).is_empty());
}

#[test]
fn asking_otherwise_is_said_once_with_what_was_edited() {
    let mut world = World::held_to("a=1");
    let edited = Asked {
        headers: vec!["x-tenant".to_owned()],
        credential: Some("env NEW".to_owned()),
        anonymous: true,
        ..asked()
    };
    let settled = scan(&mut world, &summary(), &edited, &seen());
    let [line] = ours(&settled)[..] else { panic!("{:?}", settled.history) };
    assert_eq!(line.event, "base.ask-changed");
    for part in ["credential none -> env NEW", "headers none -> x-tenant", "anonymous off -> on"] {
        assert!(line.text.contains(part), "{}", line.text);
    }
    assert!(ours(&scan(&mut world, &summary(), &edited, &seen())).is_empty());
}

#[test]
fn other_rules_change_what_stands_without_a_word_to_anybody() {
    let mut world = drifted();
    world.fold();
    let ours_then = world.memory.scans.ours.as_mut().unwrap();
    ours_then.rules = "another".to_owned();
    let severe = Drift { severity: Severity::High, ..drift(TOOLS, "a", "2") };
    let judged = Judgment { drifts: vec![severe], ..seen() };
    let settled = scan(&mut world, &summary(), &asked(), &judged);
    assert!(settled.history.iter().any(|line| line.event == "base.rules-updated"));
    assert!(settled.notices.is_empty() && settled.revisions.is_empty());
    assert_eq!(world.drifts().units[0].severity, Severity::High);
    // By the same rules a severity that grows is news.
    let worse = Drift { severity: Severity::Critical, ..drift(TOOLS, "a", "2") };
    let settled = scan(&mut world, &summary(), &asked(), &Judgment { drifts: vec![worse], ..seen() });
    assert_eq!(settled.notices.len(), 1);
}

#[test]
fn other_rules_on_what_is_unchanged_make_no_drift() {
    let mut world = World::held_to("a=1");
    world.memory.scans.ours.as_mut().unwrap().rules = "another".to_owned();
    let settled = world.scan(900, &tools("a=1"));
    assert_eq!(ours(&settled).len(), 1);
    assert!(settled.drifts.is_empty() && settled.notices.is_empty());
}

#[test]
fn a_recomputed_baseline_is_a_line_of_the_history_and_what_stands_stays_the_same_drift() {
    let mut world = drifted();
    world.fold();
    let mut held = world.memory.baseline[&TOOLS].clone();
    held.model = 0;
    world.memory.baseline.insert(TOOLS, held);
    world.memory = crate::judge::recompute(world.memory.clone());
    let id = world.row("a").unwrap().id;
    // The same value has another fingerprint in another form.
    let again = Drift { fingerprint: drift(TOOLS, "b", "9").fingerprint, ..drift(TOOLS, "a", "2") };
    let settled = scan(&mut world, &summary(), &asked(), &Judgment { drifts: vec![again], ..seen() });
    assert_eq!(ours(&settled).iter().map(|line| line.event.as_str()).collect::<Vec<_>>(), ["base.model-outdated"]);
    assert_eq!(settled.recomputed.baseline.len(), 1);
    assert_eq!(world.row("a").unwrap().id, id);
    assert!(world.row("a").unwrap().next.is_none(), "no other value is on its way");
}
