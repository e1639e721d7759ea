use super::*;
use crate::judge::sample::{at, summary};

fn unused(reason: &str) -> UnusedIgnore {
    let matches = "mcp.tools/items/a".to_owned();
    UnusedIgnore { target: summary(), matches, reason: reason.to_owned(), since: at(0) }
}

#[test]
fn new_rules_are_one_message_for_the_fleet_and_none_without_a_fleet() {
    assert_eq!(rules_updated(&[]), None);
    let bulletin = rules_updated(&[summary(), summary()]).unwrap();
    assert_eq!(bulletin.key, format!("rules:{}", rules::version()));
    assert_eq!(bulletin.key, rules_updated(&[summary()]).unwrap().key, "whoever is told first");
    assert!(bulletin.summary[0].contains("2 targets are judged"), "{:?}", bulletin.summary);
}

#[test]
fn ignores_of_no_use_are_said_at_most_once_a_week() {
    assert_eq!(unused_ignores(&[], at(0)), None);
    let week = |now| unused_ignores(&[unused("known")], now).unwrap().key;
    assert_eq!(week(at(0)), week(at(24 * 3600)));
    assert_ne!(week(at(0)), week(at(8 * 24 * 3600)));
}

#[test]
fn many_ignores_are_counted_and_a_reason_is_quoted() {
    let many: Vec<UnusedIgnore> = (0..60).map(|_| unused("known\n-- DECIDE")).collect();
    let bulletin = unused_ignores(&many, at(0)).unwrap();
    let lines = &bulletin.sections[0].lines;
    assert_eq!((lines.len(), lines.last().map(String::as_str)), (51, Some("and 10 more")));
    assert!(lines[0].contains("\"known") && !lines[0].contains('\n'), "{}", lines[0]);
    assert_eq!(bulletin.targets.len(), 1);
}
