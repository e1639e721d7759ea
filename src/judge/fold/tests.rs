//! What is one unit, what it is called, and in which order units stand.

use std::collections::BTreeMap;

use super::*;
use crate::judge::effective::held_to;
use crate::judge::{document, judge};
use crate::model::facet::{Face, FacetName};
use crate::model::memory::Memory;
use crate::model::policy::NO_POLICY;
use crate::model::snapshot::Snapshot;

fn list(text: &str) -> Snapshot {
    document::read(text.as_bytes()).unwrap()
}

fn drifts(old: &Snapshot, new: &Snapshot) -> Vec<Drift> {
    judge(&new.target.id, &NO_POLICY, &held_to(old), &Memory::default(), new, &[]).drifts
}

fn folded(drifts: &[Drift], known: &[Unit]) -> Vec<Unit> {
    let foldings: Vec<Folding<'_>> = drifts.iter().map(|drift| Folding { drift, mark: UnitMark::Pending }).collect();
    fold(&foldings, known)
}

fn titles(old: &str, new: &str) -> Vec<String> {
    folded(&drifts(&list(old), &list(new)), &[]).into_iter().map(|unit| unit.title).collect()
}

#[test]
fn many_that_went_are_one_unit_and_are_counted() {
    let resources = |range: std::ops::Range<u32>| {
        let items: Vec<String> = range.map(|n| format!(r#"{{"uri":"demo://{n}","name":"r{n}"}}"#)).collect();
        format!(r#"{{"resources":[{}]}}"#, items.join(","))
    };
    assert_eq!(titles(&resources(0..101), &resources(100..101)), ["gone: 100 resources"]);
    assert_eq!(titles(r#"{"prompts":[{"name":"a"}]}"#, r#"{"prompts":[]}"#), ["gone: prompt a"]);
}

#[test]
fn renames_that_reshape_stand_apart() {
    let old = r#"{"tools":[{"name":"makeBill","inputSchema":{"type":"object","properties":{"n":{"type":"number"}}}},{"name":"sendBill","inputSchema":{"type":"object","properties":{"m":{"type":"number"}}}}]}"#;
    let new = r#"{"tools":[{"name":"make-bill","inputSchema":{"type":"object","properties":{"n":{"type":"number"}}}},{"name":"send-bill","inputSchema":{"type":"object","properties":{"m":{"type":"string"}}}}]}"#;
    assert_eq!(titles(old, new), ["renamed: makeBill", "renamed and changed: sendBill"]);
}

#[test]
fn the_same_change_of_many_schemas_is_one_unit_and_another_is_another() {
    let tool = |name: &str, extra: &str| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"{extra}}}}}"#);
    let tools = |extras: [&str; 3]| {
        let all: Vec<String> = ["a", "b", "c"].iter().zip(extras).map(|(name, extra)| tool(name, extra)).collect();
        format!(r#"{{"tools":[{}]}}"#, all.join(","))
    };
    let closed = r#","additionalProperties":false"#;
    let other = r#","additionalProperties":false,"minProperties":1"#;
    let units =
        folded(&drifts(&list(&tools([closed, closed, closed])), &list(&tools(["", "", r#","minProperties":1"#]))), &[]);
    let items: Vec<&[String]> = units.iter().map(|unit| unit.items.as_slice()).collect();
    assert_eq!(items.len(), 2, "{units:#?}");
    assert!(items.contains(&["a".to_owned(), "b".to_owned()].as_slice()));
    let both = folded(&drifts(&list(&tools([other, closed, closed])), &list(&tools(["", closed, closed]))), &[]);
    assert_eq!((both.len(), both[0].members.len()), (1, 2));
}

#[test]
fn faces_fold_into_one_unit() {
    let twice = |text: &str| {
        let mut snapshot = list(text);
        let (name, state) = snapshot.facets.pop_first().unwrap();
        snapshot.facets = BTreeMap::from([(name, state.clone()), (FacetName::of(name.facet, Face::Auth), state)]);
        snapshot
    };
    let found = drifts(&twice(r#"{"tools":[{"name":"a"},{"name":"b"}]}"#), &twice(r#"{"tools":[{"name":"b"}]}"#));
    let units = folded(&found, &[]);
    assert_eq!((found.len(), units.len(), units[0].members.len()), (2, 1, 2));
    assert_eq!((units[0].title.as_str(), units[0].items.as_slice()), ("gone: a", ["a".to_owned()].as_slice()));
}

#[test]
fn a_known_unit_keeps_its_number_and_stays_when_its_last_drift_left() {
    let base = list(r#"{"tools":[{"name":"alpha","title":"A"},{"name":"beta"}]}"#);
    let one = drifts(&base, &list(r#"{"tools":[{"name":"alpha","title":"B"},{"name":"beta"}]}"#));
    let first = folded(&one, &[]);
    let two = drifts(&base, &list(r#"{"tools":[{"name":"beta"}]}"#));
    let second = folded(&two, &first);
    assert_eq!(
        second.iter().map(|unit| (unit.n, unit.title.as_str())).collect::<Vec<_>>(),
        [(1, "titles: alpha"), (2, "gone: alpha")]
    );
    assert_eq!(second[0], first[0]);
}

#[test]
fn power_comes_first_then_what_breaks_then_the_rest() {
    let old = r#"{"tools":[{"name":"alpha","title":"A"},{"name":"beta","inputSchema":{"type":"object"}},{"name":"gamma","annotations":{"readOnlyHint":true}}]}"#;
    let new = r#"{"tools":[{"name":"alpha","title":"B"},{"name":"gamma","annotations":{"readOnlyHint":false}}]}"#;
    assert_eq!(titles(old, new), ["no longer read-only: gamma", "gone: beta", "titles: alpha"]);
}

#[test]
fn new_tools_with_reach_lead_their_unit() {
    let old = r#"{"tools":[{"name":"a"}]}"#;
    let new = r#"{"tools":[{"name":"a"},{"name":"b"},{"name":"z","inputSchema":{"type":"object","properties":{"url":{"type":"string"}}}}]}"#;
    let units = folded(&drifts(&list(old), &list(new)), &[]);
    assert_eq!(units[0].items, ["z", "b"]);
}

#[test]
fn new_units_are_numbered_in_the_order_of_a_message() {
    use crate::model::alert::Section;
    let old = r#"{"tools":[{"name":"a","title":"A"},{"name":"echoAll","inputSchema":{"type":"object","properties":{"m":{}}}},{"name":"zip"}]}"#;
    let new = r#"{"tools":[{"name":"a","title":"B"},{"name":"fetch","inputSchema":{"type":"object","properties":{"url":{"type":"string"}}}},{"name":"echo-all","inputSchema":{"type":"object","properties":{"m":{}}}}]}"#;
    let units = folded(&drifts(&list(old), &list(new)), &[]);
    let titles: Vec<&str> = units.iter().map(|unit| unit.title.as_str()).collect();
    assert_eq!(titles, ["renamed: echoAll", "gone: zip", "new: fetch", "titles: a"]);
    let places = units.iter().map(|unit| (Section::of(unit.severity, &unit.impact), std::cmp::Reverse(unit.severity)));
    assert!(places.is_sorted());
}
