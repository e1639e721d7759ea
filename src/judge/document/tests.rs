//! Documents: written, read back, and what is no document.

use super::*;
use crate::judge::canon::canonicalize;
use crate::judge::effective::held_to;
use crate::judge::judge;
use crate::model::facet::{Facet, FacetState, UnseenKind};
use crate::model::memory::Memory;
use crate::model::observation::{RawFacet, RawRead};
use crate::model::policy::NO_POLICY;

fn page(text: &str) -> RawRead {
    RawRead { pages: vec![Json::parse_trusted(text.as_bytes()).unwrap()], ..RawRead::default() }
}

fn sample() -> Snapshot {
    let mut snapshot = read(
        br#"{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"n":{"maximum":9007199254740993}}}}]}"#,
    )
    .unwrap();
    let reads = vec![
        page(r#"{"prompts":[{"name":"p","title":"X","description":"same"}]}"#),
        page(r#"{"prompts":[{"name":"p","description":"same"},{"name":"q"}]}"#),
    ];
    let prompts = canonicalize(Facet::McpPrompts, &RawFacet::Seen(reads), false);
    snapshot.facets.insert(FacetName::stranger(Facet::McpPrompts), prompts);
    snapshot
        .facets
        .insert(FacetName::stranger(Facet::AuthChallenge), FacetState::Absent { note: Some("served".to_owned()) });
    let reason = UnseenReason { kind: UnseenKind::ServerError, detail: "HTTP 500".to_owned() };
    snapshot.facets.insert(FacetName::stranger(Facet::McpResources), FacetState::Unseen { reason });
    snapshot
}

#[test]
fn a_snapshot_read_back_is_the_snapshot_with_every_digit_and_every_view() {
    let snapshot = sample();
    let text = serde_json::to_string(&snapshot_document(&snapshot)).unwrap();
    assert!(text.contains("9007199254740993"), "{text}");
    let back = read(text.as_bytes()).unwrap();
    assert_eq!(back.facets, snapshot.facets);
    assert_eq!((back.digest, back.at, back.checks), (snapshot.digest, snapshot.at, snapshot.checks));
}

#[test]
fn what_differed_between_reads_stands_under_unstable_by_its_place() {
    let text = serde_json::to_string(&snapshot_document(&sample())).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let unstable = document["facets"]["mcp.prompts"]["unstable"].as_object().unwrap();
    assert_eq!(unstable.keys().collect::<Vec<_>>(), ["/items/p"]);
    assert_eq!(unstable["/items/p"].as_array().unwrap().len(), 2);
}

#[test]
fn a_bare_list_is_read_with_and_without_its_frame() {
    let bare = read(br#"{"tools":[{"name":"a"}]}"#).unwrap();
    let framed = read(br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}"#).unwrap();
    assert_eq!(bare.facets, framed.facets);
    let many = read(br#"{"tools":[],"prompts":[{"name":"p"}]}"#).unwrap();
    assert_eq!(many.facets.len(), 2);
}

#[test]
fn what_is_no_document_is_refused_in_words() {
    assert!(matches!(read(b"nonsense"), Err(DocumentError::Json(_))));
    assert!(matches!(read(br#"{"a":1}"#), Err(DocumentError::Unknown(_))));
    assert!(matches!(read(br#"{"schema":"driftd.snapshot/2"}"#), Err(DocumentError::Newer(_))));
    assert!(matches!(read(br#"{"schema":"driftd.snapshot/1","model":99}"#), Err(DocumentError::Newer(_))));
    assert!(matches!(read(br#"{"schema":"driftd.snapshot/1","model":1}"#), Err(DocumentError::Unknown(_))));
}

#[test]
fn the_verdict_is_the_worst_finding_and_says_what_it_does_not_cover() {
    let good = read(br#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#).unwrap();
    assert_eq!(verdict(&good), Verdict { word: "ok", coverage: String::new() });
    let bad = read(br#"{"tools":[{"name":"a"}]}"#).unwrap();
    assert_eq!(verdict(&bad).word, "fail");
    let mut door = good;
    door.facets = [(FacetName::stranger(Facet::AuthChallenge), FacetState::Absent { note: None })].into();
    door.coverage = [Facet::McpTools, Facet::McpPrompts, Facet::McpResources, Facet::McpResourceTemplates]
        .map(|facet| {
            (FacetName::stranger(facet), Coverage { watched: false, reason: Some("no credential".to_owned()) })
        })
        .into();
    assert_eq!(verdict(&door).coverage, "door only: tools not read, no credential");
    door.facets.clear();
    assert_eq!(verdict(&door).word, "error");
}

#[test]
fn a_diff_lists_drifts_units_and_what_was_unseen() {
    let (old, new) =
        (read(br#"{"tools":[{"name":"a"},{"name":"b"}]}"#).unwrap(), read(br#"{"tools":[{"name":"b"}]}"#).unwrap());
    let judgment = judge(&new.target.id, &NO_POLICY, &held_to(&old), &Memory::default(), &new, &[]);
    let text = serde_json::to_string(&diff_document(&judgment, &[])).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let drift = &document["drifts"][0];
    assert_eq!(
        (drift["rule"].as_str(), drift["case"].as_str(), drift["path"].as_str()),
        (Some("tool.removed"), Some("-"), Some("/items/a"))
    );
    assert_eq!((drift["before"]["name"].as_str(), drift["after"].is_null()), (Some("a"), true));
    assert_eq!(document["schema"], "driftd.diff/1");
}
