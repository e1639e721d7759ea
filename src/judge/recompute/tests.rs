use std::collections::BTreeMap;

use super::*;
use crate::judge::effective::effective;
use crate::judge::judge;
use crate::judge::sample::{at, summary};
use crate::model::baseline::Approval;
use crate::model::digest::Digest;
use crate::model::facet::{Facet, FacetState};
use crate::model::observation::{Asked, Outcome, RawFacet, RawRead};
use crate::model::policy::NO_POLICY;

const TOOLS: FacetName = FacetName::stranger(Facet::McpTools);

fn json(text: &str) -> Json {
    Json::parse_trusted(text.as_bytes()).unwrap()
}

/// What the peer shows today.
fn shown() -> FacetState {
    let page = json(
        r#"{"tools":[{"name":"b","title":"B","_meta":{"traceparent":"2"}},{"name":"a","title":"A"}],"ttlMs":7,"kept":1}"#,
    );
    canon::canonicalize(
        Facet::McpTools,
        &RawFacet::Seen(vec![RawRead { pages: vec![page], ..RawRead::default() }]),
        false,
    )
}

/// The same as it was written before the volatile table: nothing was taken out.
fn old_form() -> Json {
    json(
        r#"{"order":["b","a"],"items":{"a":{"name":"a","title":"A"},
            "b":{"name":"b","title":"old","_meta":{"traceparent":"1"}}},"rest":{"ttlMs":5,"kept":1}}"#,
    )
}

fn outdated() -> Memory {
    let held = BaselineFacet {
        facet: TOOLS,
        values: vec![old_form()],
        digest: Some(Digest::of(&old_form())),
        at: at(0),
        by: "first_seen".to_owned(),
        reason: None,
        asked: Asked::default(),
        model: 0,
        entry: 1,
        reviewed: false,
    };
    let approval = Approval {
        facet: TOOLS,
        path: Pointer::of(["items", "b"]),
        value: Some(json(r#"{"name":"b","title":"B","_meta":{"traceparent":"1"}}"#)),
        at: at(0),
        by: "person:oncall".to_owned(),
        until: None,
        entry: 2,
    };
    Memory { baseline: BTreeMap::from([(TOOLS, held)]), approvals: vec![approval], ..Memory::default() }
}

#[test]
fn a_baseline_of_an_older_model_makes_no_drift() {
    let drifts = |memory: &Memory| {
        let held = memory.baseline.iter().map(|(name, held)| (*name, effective(held, &memory.approvals, at(1))));
        let mut snapshot = crate::judge::sample::snapshot(BTreeMap::from([(TOOLS, shown())]), Outcome::Ok, at(1));
        snapshot.target = summary();
        judge(&snapshot.target.id, &NO_POLICY, &held.collect(), memory, &snapshot, &[]).drifts
    };
    assert!(!drifts(&outdated()).is_empty(), "as it was written it differs");
    let memory = recompute(outdated());
    assert_eq!(drifts(&memory), []);
    assert_eq!(memory.baseline[&TOOLS].model, MODEL);
    assert_eq!(memory.recomputed.baseline, [memory.baseline[&TOOLS].clone()]);
    assert_eq!(memory.recomputed.approvals, memory.approvals);
}

#[test]
fn what_is_of_today_stays_as_it_is() {
    let mut memory = recompute(outdated());
    memory.recomputed = Recomputed::default();
    assert_eq!(recompute(memory.clone()), memory);
}

#[test]
fn a_value_of_today_is_written_again_as_it_was() {
    for facet in [Facet::McpTools, Facet::McpPrompts, Facet::McpResources, Facet::McpHandshake] {
        let page = json(
            r#"{"tools":[{"name":"b"},{"name":"a"},{"name":"a","x":1}],"resources":[{"uri":"u","size":1},{"n":1}],
                "prompts":[{"name":"p","arguments":[{"name":"z"},{"name":"y"}]}],"k":[1,2],"ttlMs":1}"#,
        );
        let raw = RawFacet::Seen(vec![RawRead { pages: vec![page], ..RawRead::default() }]);
        let FacetState::Seen(seen) = canon::canonicalize(facet, &raw, false) else { panic!("{facet} was seen") };
        let again: Vec<Json> = seen.views.iter().map(|view| canon::again(facet, view)).collect();
        assert_eq!(again, seen.views, "{facet}");
        assert_eq!(canon::held(again), (seen.views, seen.digest), "{facet}");
    }
}
