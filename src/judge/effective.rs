//! What a target is held to: accepted values with living approvals laid over.
//!
//! Decides which approvals live and what each does to an accepted value. When an approval ends for good is for
//! `settle`; here a void or expired one is skipped.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::model::baseline::{Approval, BaselineFacet, Effective};
use crate::model::facet::{Facet, FacetName, FacetState};
use crate::model::json::{Json, Members};
use crate::model::pointer::Pointer;
use crate::model::snapshot::Snapshot;

/// Lays the approvals of `baseline`'s facet that live at `now` over each of its values; void ones are skipped.
///
/// An approved new item joins `items`, not `order`: where it stands among the others was not decided, so no order is
/// held against it. An approved removal takes the item out of both.
pub fn effective(baseline: &BaselineFacet, approvals: &[Approval], now: Timestamp) -> Effective {
    let mut living: Vec<&Approval> = approvals
        .iter()
        .filter(|approval| approval.facet == baseline.facet && approval.until.is_none_or(|until| now < until))
        .collect();
    // Items before what is inside them, older before newer.
    living.sort_by_key(|approval| (approval.path.depth(), approval.entry));
    let facet = baseline.facet.facet;
    let mut values = baseline.values.clone();
    if values.is_empty() && facet.list().is_some() && living.iter().any(|approval| approval.path.depth() > 0) {
        values.push(empty_list());
    }
    for approval in living {
        lay(facet, &mut values, approval);
    }
    Effective { values, asked: baseline.asked.clone() }
}

/// Takes `snapshot` itself as what is held to: for `diff OLD NEW`.
pub fn held_to(snapshot: &Snapshot) -> BTreeMap<FacetName, Effective> {
    let entry = |(name, state): (&FacetName, &FacetState)| {
        let values = match state {
            FacetState::Seen(seen) => seen.views.clone(),
            FacetState::Absent { .. } => Vec::new(),
            FacetState::Unseen { .. } => return None,
        };
        Some((*name, Effective { values, asked: snapshot.asked.clone() }))
    };
    snapshot.facets.iter().filter_map(entry).collect()
}

/// A list that is there and empty.
pub(super) fn empty_list() -> Json {
    Json::from([("items", Json::object()), ("order", Json::Array(Vec::new())), ("rest", Json::object())])
}

fn lay(facet: Facet, values: &mut Vec<Json>, approval: &Approval) {
    if approval.path.depth() == 0 {
        *values = approval.value.iter().cloned().collect();
        return;
    }
    for value in values {
        let item = facet.list().is_some().then(|| item_of(&approval.path)).flatten();
        match item {
            Some((key, true)) if approval.value.is_none() => remove_item(value, key),
            Some((key, false)) if value.member("items").and_then(|items| items.member(key)).is_none() => {}
            _ => put(value, &approval.path, approval.value.as_ref()),
        }
    }
}

/// The item a path is in, and whether it is the item itself.
fn item_of(path: &Pointer) -> Option<(&str, bool)> {
    (path.token(0) == Some("items")).then(|| path.token(1).map(|key| (key, path.depth() == 2))).flatten()
}

fn remove_item(value: &mut Json, key: &str) {
    let Json::Object(members) = value else { return };
    if let Some(Json::Object(items)) = members.get_mut("items") {
        items.remove(key);
    }
    if let Some(Json::Array(order)) = members.get_mut("order") {
        order.retain(|name| name.as_str() != Some(key));
    }
}

/// Sets or removes the member at `path`; objects on the way are made when a value needs them.
fn put(value: &mut Json, path: &Pointer, new: Option<&Json>) {
    let mut tokens: Vec<&str> = path.tokens().collect();
    let Some(last) = tokens.pop() else { return };
    let mut here = value;
    for token in tokens {
        let Json::Object(members) = here else { return };
        if new.is_none() && !members.contains_key(token) {
            return;
        }
        here = members.entry(token.to_owned()).or_insert_with(Json::object);
    }
    let Json::Object(members) = here else { return };
    match new {
        Some(new) => drop(Members::insert(members, last.to_owned(), new.clone())),
        None => drop(members.remove(last)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::observation::Asked;

    fn json(text: &str) -> Json {
        Json::parse_trusted(text.as_bytes()).unwrap()
    }

    fn tools() -> FacetName {
        FacetName::stranger(Facet::McpTools)
    }

    fn baseline(values: &[&str]) -> BaselineFacet {
        BaselineFacet {
            facet: tools(),
            values: values.iter().map(|text| json(text)).collect(),
            digest: None,
            at: Timestamp::UNIX_EPOCH,
            by: "first_seen".to_owned(),
            reason: None,
            asked: Asked::default(),
            model: 1,
            entry: 1,
            reviewed: false,
        }
    }

    fn approval(path: &str, value: Option<&str>, until: Option<Timestamp>) -> Approval {
        Approval {
            facet: tools(),
            path: path.parse().unwrap(),
            value: value.map(json),
            at: Timestamp::UNIX_EPOCH,
            by: "person:ana".to_owned(),
            until,
            entry: 2,
        }
    }

    const LIST: &str = r#"{"order":["a","b"],"items":{"a":{"name":"a","title":"A"},"b":{"name":"b"}},"rest":{}}"#;

    fn laid(approvals: &[Approval]) -> Vec<Json> {
        effective(&baseline(&[LIST]), approvals, Timestamp::from_second(100).unwrap()).values
    }

    #[test]
    fn an_approved_removal_takes_the_item_out_of_items_and_order() {
        let value = json(r#"{"order":["b"],"items":{"b":{"name":"b"}},"rest":{}}"#);
        assert_eq!(laid(&[approval("/items/a", None, None)]), [value]);
    }

    #[test]
    fn an_approved_item_joins_items_and_leaves_the_order_alone() {
        let values = laid(&[approval("/items/c", Some(r#"{"name":"c"}"#), None)]);
        assert!(values[0].pointer(&Pointer::of(["items", "c"])).is_some());
        assert_eq!(values[0].member("order"), Some(&json(r#"["a","b"]"#)));
    }

    #[test]
    fn an_approval_inside_an_item_that_is_gone_is_void() {
        assert_eq!(laid(&[approval("/items/zz/title", Some("\"Z\""), None)]), [json(LIST)]);
    }

    #[test]
    fn an_approval_past_its_end_is_skipped() {
        let past = Timestamp::from_second(99).unwrap();
        assert_eq!(laid(&[approval("/items/a/title", Some("\"Z\""), Some(past))]), [json(LIST)]);
    }

    #[test]
    fn objects_on_the_way_are_made_for_a_value_and_not_for_an_absence() {
        let values = laid(&[
            approval("/items/b/annotations/readOnlyHint", Some("true"), None),
            approval("/items/a/annotations/readOnlyHint", None, None),
        ]);
        assert_eq!(
            values[0].pointer(&Pointer::of(["items", "b", "annotations", "readOnlyHint"])),
            Some(&Json::Bool(true))
        );
        assert_eq!(values[0].pointer(&Pointer::of(["items", "a", "annotations"])), None);
    }

    #[test]
    fn an_approved_item_of_an_absent_list_makes_the_list() {
        let values = effective(&baseline(&[]), &[approval("/items/c", Some("{}"), None)], Timestamp::UNIX_EPOCH).values;
        assert_eq!(values, [json(r#"{"items":{"c":{}},"order":[],"rest":{}}"#)]);
    }
}
