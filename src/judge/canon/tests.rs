//! Canonical values: keys, volatile members, reads that differ, and what holds for any list.

use proptest::prelude::*;

use super::*;
use crate::model::pointer::Pointer;

fn json(text: &str) -> Json {
    Json::parse_trusted(text.as_bytes()).unwrap()
}

fn read(text: &str) -> RawRead {
    RawRead { pages: vec![json(text)], ..RawRead::default() }
}

fn canon(facet: Facet, reads: Vec<RawRead>, order_ignored: bool) -> SeenFacet {
    match canonicalize(facet, &RawFacet::Seen(reads), order_ignored) {
        FacetState::Seen(seen) => seen,
        other @ (FacetState::Absent { .. } | FacetState::Unseen { .. }) => panic!("{other:?}"),
    }
}

fn tools(text: &str) -> SeenFacet {
    canon(Facet::McpTools, vec![read(text)], false)
}

#[test]
fn a_list_is_keyed_by_name_over_all_its_pages() {
    let pages = vec![
        json(r#"{"tools":[{"name":"b"}],"nextCursor":"x","ttlMs":5,"cacheScope":"public"}"#),
        json(r#"{"tools":[{"name":"a"}],"cacheScope":"private"}"#),
    ];
    let seen = canon(Facet::McpTools, vec![RawRead { pages, ..RawRead::default() }], false);
    let value =
        json(r#"{"order":["b","a"],"items":{"a":{"name":"a"},"b":{"name":"b"}},"rest":{"cacheScope":"public"}}"#);
    assert_eq!(seen.views, [value]);
    assert_eq!(seen.volatile, json(r#"{"/rest/nextCursor":"x","/rest/ttlMs":5}"#));
}

#[test]
fn the_second_of_a_name_is_told_apart_by_canonical_order_and_shown_with_its_number() {
    let one = tools(r#"{"tools":[{"name":"a","title":"Z"},{"name":"a","title":"B"}]}"#);
    let two = tools(r#"{"tools":[{"name":"a","title":"B"},{"name":"a","title":"Z"}]}"#);
    let title = |seen: &SeenFacet, key: &str| seen.views[0].pointer(&Pointer::of(["items", key, "title"])).cloned();
    assert_eq!(title(&one, "a"), Some(Json::from("B")));
    assert_eq!(title(&one, "a\u{0}2"), Some(Json::from("Z")));
    assert_eq!(one.views[0].member("items"), two.views[0].member("items"));
    assert_eq!(shown("a\u{0}2"), "a#2");
}

#[test]
fn a_name_with_our_mark_in_it_stays_its_own() {
    let seen = tools(r#"{"tools":[{"name":"a\u00002"},{"name":"a"},{"name":"a"},{"title":"x"},7]}"#);
    let items = seen.views[0].member("items").and_then(Json::as_object).unwrap();
    let keys: Vec<&str> = items.keys().map(String::as_str).collect();
    assert_eq!(keys, ["\u{0}unnamed\u{0}1", "\u{0}unnamed\u{0}2", "a", "a\u{0}\u{0}2", "a\u{0}2"]);
    assert!(is_unnamed(keys[0]) && !is_unnamed(keys[3]));
    assert_eq!((shown(keys[3]), shown(keys[0])), ("\"a<U+0000>2\"".to_owned(), "(unnamed 1)".to_owned()));
}

#[test]
fn a_member_called_like_a_volatile_one_stays_elsewhere() {
    let text = r#"{"tools":[{"name":"a","size":1,"inputSchema":{"properties":{"size":{},"ttlMs":{}},"_meta":{"baggage":1}},"_meta":{"baggage":1,"k":2}}]}"#;
    let seen = tools(text);
    let item = seen.views[0].pointer(&Pointer::of(["items", "a"])).unwrap();
    assert_eq!(
        *item,
        json(
            r#"{"name":"a","size":1,"inputSchema":{"properties":{"size":{},"ttlMs":{}},"_meta":{"baggage":1}},"_meta":{"k":2}}"#
        )
    );
    let resources = canon(
        Facet::McpResources,
        vec![read(r#"{"resources":[{"uri":"u:a","size":1,"annotations":{"lastModified":"x","priority":1}}]}"#)],
        false,
    );
    let item = resources.views[0].pointer(&Pointer::of(["items", "u:a"])).unwrap();
    assert_eq!(*item, json(r#"{"uri":"u:a","annotations":{"priority":1}}"#));
}

#[test]
fn reads_that_differ_in_order_only_are_one_view_without_order() {
    let seen = canon(
        Facet::McpTools,
        vec![read(r#"{"tools":[{"name":"b"},{"name":"a"}]}"#), read(r#"{"tools":[{"name":"a"},{"name":"b"}]}"#)],
        false,
    );
    assert!(seen.stability.order_differs && !seen.stability.set_differs && !seen.stability.value_differs);
    assert_eq!(seen.views.len(), 1);
    assert_eq!(seen.views[0].member("order"), Some(&json(r#"["a","b"]"#)));
}

#[test]
fn an_item_of_one_read_is_in_every_view_whichever_read_came_first() {
    let (full, part) =
        (r#"{"tools":[{"name":"b"},{"name":"x"},{"name":"a"}]}"#, r#"{"tools":[{"name":"b"},{"name":"a"}]}"#);
    let one = canon(Facet::McpTools, vec![read(full), read(part)], false);
    let two = canon(Facet::McpTools, vec![read(part), read(full)], false);
    assert!(one.stability.set_differs && !one.stability.order_differs);
    assert_eq!((one.views.len(), one.digest), (1, two.digest));
    assert_eq!(one.views[0].member("order"), Some(&json(r#"["b","x","a"]"#)));
}

#[test]
fn a_value_that_differs_between_reads_makes_two_views() {
    let (one, two) = (r#"{"tools":[{"name":"a","title":"X"}]}"#, r#"{"tools":[{"name":"a","title":"Y"}]}"#);
    let seen = canon(Facet::McpTools, vec![read(one), read(two)], false);
    let swapped = canon(Facet::McpTools, vec![read(two), read(one)], false);
    assert!(seen.stability.value_differs);
    assert_eq!((seen.views.len(), seen.digest), (2, swapped.digest));
    assert_eq!(seen.views, swapped.views);
}

fn page() -> impl Strategy<Value = Vec<(String, i64, bool)>> {
    prop::collection::vec(("[a-c\u{0}]{0,2}", 0_i64..3, any::<bool>()), 0..8)
}

/// A list written with members in one order or the other.
fn written(items: &[(String, i64, bool)], flip: bool) -> RawRead {
    let item = |(name, number, named): &(String, i64, bool)| {
        let name = if *named { format!("\"name\":{}", Json::from(name.as_str())) } else { "\"x\":0".to_owned() };
        let parts = [name, format!("\"n\":{number}")];
        let parts: Vec<&String> = if flip { parts.iter().rev().collect() } else { parts.iter().collect() };
        format!("{{{},{}}}", parts[0], parts[1])
    };
    let items = items.iter().map(item).collect::<Vec<_>>().join(",");
    let text =
        if flip { format!("{{\"z\":1,\"tools\":[{items}]}}") } else { format!("{{\"tools\":[{items}],\"z\":1.0}}") };
    read(&text)
}

/// The page that a canonical list would be sent as.
fn unkeyed(view: &Json) -> RawRead {
    let items = view.member("items").unwrap();
    let order = view.member("order").and_then(Json::as_array).unwrap();
    let tools: Vec<Json> = order.iter().map(|key| items.member(key.as_str().unwrap()).unwrap().clone()).collect();
    let mut page = view.member("rest").and_then(Json::as_object).unwrap().clone();
    page.insert("tools".to_owned(), Json::Array(tools));
    RawRead { pages: vec![Json::Object(page)], ..RawRead::default() }
}

proptest! {
    #[test]
    fn the_order_of_members_and_the_spelling_of_numbers_do_not_count(items in page()) {
        let one = canon(Facet::McpTools, vec![written(&items, false)], false);
        let two = canon(Facet::McpTools, vec![written(&items, true)], false);
        prop_assert_eq!(one.digest, two.digest);
    }

    #[test]
    fn canonicalizing_what_is_canonical_changes_nothing(items in page(), ignored in any::<bool>()) {
        let once = canon(Facet::McpTools, vec![written(&items, false)], ignored);
        let twice = canon(Facet::McpTools, vec![unkeyed(&once.views[0])], ignored);
        prop_assert_eq!(&once.views, &twice.views);
    }

    #[test]
    fn two_reads_are_judged_alike_whichever_came_first_as_far_as_items_go(one in page(), two in page()) {
        let forth = canon(Facet::McpTools, vec![written(&one, false), written(&two, false)], true);
        let back = canon(Facet::McpTools, vec![written(&two, false), written(&one, false)], true);
        prop_assert_eq!(forth.digest, back.digest);
        prop_assert_eq!(forth.stability, back.stability);
        let keys = |view: &Json| view.member("items").and_then(Json::as_object).unwrap().keys().cloned().collect::<Vec<_>>();
        prop_assert!(forth.views.iter().all(|view| keys(view) == keys(&forth.views[0])));
    }
}
