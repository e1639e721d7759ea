use super::*;
use crate::judge::sample::{TOOLS, drift, made};
use crate::model::drift::Claim;
use crate::model::facet::{Facet, FacetName};
use crate::model::pointer::Pointer;
use crate::model::rule::RuleCase;

fn consumer(name: &str, uses: &[&str]) -> Consumer {
    Consumer { name: name.to_owned(), uses: uses.iter().map(|used| (*used).to_owned()).collect() }
}

fn policy(consumers: &[Consumer]) -> Policy {
    Policy { consumers: consumers.to_vec(), ..Policy::default() }
}

fn breaking(item: &str, rule: &str) -> Drift {
    let path = Pointer::of(["items", item]);
    let drift = made(TOOLS, path, RuleCase::new(rule, "-"), Some("1"), None, Severity::High);
    Drift { impact: vec![Impact::Breaking], ..drift }
}

fn renamed(from: &str, to: &str) -> Drift {
    let gone = Claim { path: Pointer::of(["items", from]), after: None };
    let drift = breaking(to, "tool.renamed");
    Drift { claims: vec![gone], before: Vec::new(), ..drift }
}

fn narrowed(policy: &Policy, mut drift: Drift) -> Severity {
    narrow(policy, &mut drift);
    drift.severity
}

#[test]
fn what_breaks_an_item_nobody_uses_is_low() {
    let policy = policy(&[consumer("bot", &["pay"])]);
    assert_eq!(narrowed(&policy, breaking("zip", "tool.removed")), Severity::Low);
    assert_eq!(narrowed(&policy, breaking("pay", "tool.removed")), Severity::High);
    let cosmetic = Drift { impact: vec![Impact::Cosmetic], ..breaking("zip", "tool.title-changed") };
    assert_eq!(narrowed(&policy, cosmetic), Severity::Low);
}

#[test]
fn what_a_model_reads_is_told_whoever_uses_it() {
    let policy = policy(&[consumer("bot", &["pay"])]);
    for impact in [Impact::Security, Impact::Exposure, Impact::Behavior] {
        let told = Drift { impact: vec![Impact::Breaking, impact], ..breaking("zip", "tool.renamed") };
        assert_eq!(narrowed(&policy, told), Severity::High, "{impact}");
        let told = Drift { impact: vec![impact], ..breaking("zip", "tool.removed") };
        assert_eq!(narrowed(&policy, told), Severity::High, "{impact}");
    }
}

#[test]
fn without_consumers_or_items_everything_may_be_used() {
    assert_eq!(narrowed(&policy(&[]), breaking("zip", "tool.removed")), Severity::High);
    assert_eq!(narrowed(&policy(&[consumer("all", &[])]), breaking("zip", "tool.removed")), Severity::High);
    let list = Drift { path: Pointer::of(["order"]), claims: Vec::new(), ..breaking("zip", "tool.reordered") };
    assert_eq!(narrowed(&policy(&[consumer("bot", &["pay"])]), list), Severity::High);
    let facet = FacetName::stranger(Facet::McpHandshake);
    let handshake = Drift { facet, ..breaking("zip", "mcp.capability-removed") };
    assert_eq!(narrowed(&policy(&[consumer("bot", &["pay"])]), handshake), Severity::High);
}

#[test]
fn a_renamed_item_is_used_by_whoever_knows_its_old_name() {
    let policy = policy(&[consumer("bot", &["add"])]);
    assert_eq!(narrowed(&policy, renamed("add", "get-sum")), Severity::High);
    assert_eq!(narrowed(&policy, renamed("echo", "get-echo")), Severity::Low);
    let gone = renamed("add", "get-sum");
    let hit = hit(&policy, &[&gone]);
    assert_eq!(
        hit.first().map(|one| (one.consumer.items.clone(), one.consumer.effect.as_str())),
        Some((vec!["add".to_owned()], "fails"))
    );
}

#[test]
fn a_list_that_is_empty_now_hits_whoever_used_one_of_it() {
    let claims = ["pay", "zip"].map(|name| Claim { path: Pointer::of(["items", name]), after: None }).to_vec();
    let all = Drift { path: Pointer::of(["items"]), claims, ..breaking("-", "tool.all-removed") };
    let policy = policy(&[consumer("bot", &["pay"]), consumer("other", &["mail"])]);
    let hit = hit(&policy, &[&all]);
    assert_eq!(hit.len(), 1);
    assert_eq!(
        (hit[0].consumer.name.as_str(), hit[0].consumer.items.clone(), hit[0].consumer.effect.as_str()),
        ("bot", vec!["pay".to_owned()], "fails")
    );
}

#[test]
fn who_is_hit_worst_comes_first_and_who_uses_nothing_of_it_is_left_out() {
    let policy = policy(&[consumer("a", &["text"]), consumer("b", &["pay"]), consumer("c", &["mail"])]);
    let (gone, reworded) = (breaking("pay", "tool.removed"), drift(TOOLS, "text", "2"));
    let hit = hit(&policy, &[&reworded, &gone]);
    let said: Vec<(&str, &str)> =
        hit.iter().map(|one| (one.consumer.name.as_str(), one.consumer.effect.as_str())).collect();
    assert_eq!(said, [("b", "fails"), ("a", "differs")]);
}

#[test]
fn what_is_new_hits_nobody() {
    let new = Drift { before: Vec::new(), ..breaking("pay", "tool.added") };
    assert!(hit(&policy(&[consumer("all", &[])]), &[&new]).is_empty());
}

#[test]
fn the_second_of_one_name_is_used_under_the_name() {
    let policy = policy(&[consumer("bot", &["pay"])]);
    assert_eq!(narrowed(&policy, breaking("pay\u{0}2", "tool.removed")), Severity::High);
    assert_eq!(narrowed(&policy, breaking("pay\u{0}\u{0}2", "tool.removed")), Severity::Low);
}
