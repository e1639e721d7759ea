//! Coverage, digests and checks of whole scans.

use std::time::Duration;

use jiff::Timestamp;

use super::*;
use crate::model::facet::{Facet, UnseenReason};
use crate::model::json::Json;
use crate::model::memory::FacetMemory;
use crate::model::observation::{Asked, Detection, DetectionState, Outcome, RawFacet, RawRead, Remark};
use crate::model::snapshot::{Check, CheckVerdict};
use crate::model::target::Kind;

pub(in crate::judge) fn observation<const N: usize>(facets: [(&str, RawFacet); N]) -> Observation {
    Observation {
        at: Timestamp::UNIX_EPOCH,
        duration: Duration::from_millis(7),
        requests: 3,
        outcome: Outcome::Ok,
        sights: Vec::new(),
        mcp: Detection {
            state: DetectionState::Confirmed,
            transport: None,
            era: None,
            version: None,
            supported: Vec::new(),
            endpoint: None,
            evidence: Vec::new(),
        },
        facets: facets.into_iter().map(|(name, raw)| (name.parse().unwrap(), raw)).collect(),
        unwatched: BTreeMap::new(),
        asked: Asked::default(),
        remarks: Vec::new(),
        not_before: None,
        address_class: None,
        certificate_ends: None,
        stderr: None,
        kept: None,
        echo: None,
    }
}

fn target() -> TargetSummary {
    TargetSummary {
        id: "till".parse().unwrap(),
        kind: Kind::Mcp,
        url: "https://mcp.example.com/mcp".to_owned(),
        labels: BTreeMap::new(),
    }
}

fn read(text: &str) -> RawRead {
    RawRead { pages: vec![Json::parse_trusted(text.as_bytes()).unwrap()], ..RawRead::default() }
}

fn finding<'s>(snapshot: &'s Snapshot, rule: &str) -> Option<&'s Check> {
    snapshot.checks.iter().find(|check| check.rule == rule && check.verdict == CheckVerdict::Finding)
}

fn tools() -> FacetName {
    FacetName::stranger(Facet::McpTools)
}

#[test]
fn what_is_unseen_is_skipped_and_covered_with_its_reason() {
    let reason = UnseenReason { kind: UnseenKind::Timeout, detail: "tools/list".to_owned() };
    let snapshot = snapshot(&observation([("mcp.tools", RawFacet::Unseen(reason))]), &target(), &Memory::default());
    assert_eq!(snapshot.coverage[&tools()].reason.as_deref(), Some("timeout: tools/list"));
    let skipped: Vec<&Check> = snapshot.checks.iter().filter(|check| check.rule == "tool.duplicate-name").collect();
    assert_eq!((skipped.len(), skipped[0].verdict), (1, CheckVerdict::Skipped));
    assert!(
        !snapshot.checks.iter().any(|check| check.rule == "tool.name-invalid" && check.verdict == CheckVerdict::Passed)
    );
}

#[test]
fn a_list_behind_a_door_is_not_watched() {
    let reason = UnseenReason { kind: UnseenKind::Guarded, detail: String::new() };
    let snapshot = snapshot(&observation([("mcp.tools", RawFacet::Unseen(reason))]), &target(), &Memory::default());
    assert!(!snapshot.coverage[&tools()].watched);
}

#[test]
fn an_unseen_facet_does_not_move_the_digest() {
    let unseen = RawFacet::Unseen(UnseenReason { kind: UnseenKind::Timeout, detail: String::new() });
    let one = observation([("mcp.tools", RawFacet::Seen(vec![read(r#"{"tools":[]}"#)]))]);
    let mut two = one.clone();
    two.facets.insert(FacetName::stranger(Facet::McpPrompts), unseen);
    let digest = |observation: &Observation| snapshot(observation, &target(), &Memory::default()).digest;
    assert_eq!(digest(&one), digest(&two));
    two.facets.insert(FacetName::stranger(Facet::McpPrompts), RawFacet::Absent { note: None });
    assert_ne!(digest(&one), digest(&two));
}

#[test]
fn reads_that_differ_are_findings() {
    let reads = |first: &str, second: &str| {
        let raw = RawFacet::Seen(vec![read(first), read(second)]);
        snapshot(&observation([("mcp.tools", raw)]), &target(), &Memory::default())
    };
    let order = reads(r#"{"tools":[{"name":"a"},{"name":"b"}]}"#, r#"{"tools":[{"name":"b"},{"name":"a"}]}"#);
    assert!(
        finding(&order, "tool.order-nondeterministic").is_some()
            && finding(&order, "tool.set-nondeterministic").is_none()
    );
    let set = reads(r#"{"tools":[{"name":"a"}]}"#, r#"{"tools":[{"name":"a"},{"name":"b"}]}"#);
    assert!(finding(&set, "tool.set-nondeterministic").is_some() && finding(&set, "tool.list-unreliable").is_none());
    let empty = reads(r#"{"tools":[{"name":"a"}]}"#, r#"{"tools":[]}"#);
    assert!(
        finding(&empty, "tool.list-unreliable").is_some() && finding(&empty, "tool.set-nondeterministic").is_none()
    );
}

#[test]
fn an_order_that_differed_lately_is_ignored_for_twenty_scans() {
    let mut memory = Memory::default();
    memory.facets.insert(tools(), FacetMemory { order_differed: vec![10], ..FacetMemory::default() });
    memory.scans.seq = 29;
    assert!(order_ignored(&memory, tools()));
    memory.scans.seq = 30;
    assert!(!order_ignored(&memory, tools()));
}

#[test]
fn a_declared_capability_without_its_list_and_a_remark_of_the_conversation_are_findings() {
    let handshake = read(r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#);
    let mut seen = observation([
        ("mcp.handshake", RawFacet::Seen(vec![handshake])),
        ("mcp.tools", RawFacet::Absent { note: Some("method not found".to_owned()) }),
    ]);
    seen.remarks.push(Remark::finding("mcp.session-id-weak", "8 characters"));
    let snapshot = snapshot(&seen, &target(), &Memory::default());
    assert!(finding(&snapshot, "mcp.capability-mismatch").is_some());
    let weak = finding(&snapshot, "mcp.session-id-weak").unwrap();
    assert_eq!(weak.message, "a session id is short, sequential, repeated or not visible ASCII: 8 characters");
}

#[test]
fn each_rule_and_case_is_answered_once_for_both_faces() {
    let list = || RawFacet::Seen(vec![read(r#"{"tools":[{"name":"a"},{"name":"a"}]}"#)]);
    let clean = RawFacet::Seen(vec![read(r#"{"tools":[{"name":"a"}]}"#)]);
    let snapshot =
        snapshot(&observation([("mcp.tools", clean), ("mcp.tools@auth", list())]), &target(), &Memory::default());
    let answers: Vec<&Check> = snapshot.checks.iter().filter(|check| check.rule == "tool.duplicate-name").collect();
    assert_eq!((answers.len(), answers[0].verdict), (1, CheckVerdict::Finding));
}
