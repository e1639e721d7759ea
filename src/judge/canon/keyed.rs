//! Re-keys arrays of named things by their identity: list items, and the arguments of prompts.

use std::collections::BTreeMap;

use crate::model::facet::{Facet, ListShape};
use crate::model::json::{Json, Members};
pub(in crate::judge) use crate::model::text::name as shown;

/// Stands in front of what we add to a peer's name; a U+0000 of the peer's own is doubled.
const MARK: char = '\u{0}';

/// Builds `{"order","items","rest"}` from the pages of one read.
pub(super) fn list(shape: ListShape, facet: Facet, pages: &[Json]) -> Json {
    let arrays = pages.iter().filter_map(|page| page.member(shape.array)).filter_map(Json::as_array);
    let items: Vec<Json> = arrays.flatten().map(|item| inner(facet, item)).collect();
    let mut value = by_identity(items, shape.key);
    let rest = pages.first().and_then(Json::as_object).map(|page| {
        let others = page.iter().filter(|(name, _)| name.as_str() != shape.array);
        others.map(|(name, value)| (name.clone(), value.clone())).collect::<Members>()
    });
    value.insert("rest".to_owned(), Json::Object(rest.unwrap_or_default()));
    Json::Object(value)
}

/// Re-keys what was keyed once. A branch without its `order` keeps its keys; only what is inside items is keyed anew.
pub(super) fn again(shape: ListShape, facet: Facet, value: &Json) -> Json {
    let (Some(members), Some(items)) = (value.as_object(), value.member("items").and_then(Json::as_object)) else {
        return value.clone();
    };
    let mut members = members.clone();
    match value.member("order").and_then(Json::as_array) {
        Some(order) => {
            let named = order.iter().filter_map(|key| items.get(key.as_str()?));
            members.extend(by_identity(named.map(|item| inner(facet, item)).collect(), shape.key));
        }
        None => {
            let items = items.iter().map(|(key, item)| (key.clone(), inner(facet, item)));
            members.insert("items".to_owned(), Json::Object(items.collect()));
        }
    }
    Json::Object(members)
}

/// The item with its own named things re-keyed.
fn inner(facet: Facet, item: &Json) -> Json {
    let arguments = (facet == Facet::McpPrompts).then(|| item.member("arguments")).flatten().and_then(Json::as_array);
    let (Some(members), Some(arguments)) = (item.as_object(), arguments) else { return item.clone() };
    if !arguments.iter().all(|argument| argument.member("name").and_then(Json::as_str).is_some()) {
        return item.clone();
    }
    let mut members = members.clone();
    members.insert("arguments".to_owned(), Json::Object(by_identity(arguments.clone(), "name")));
    Json::Object(members)
}

/// `order` and `items` of named things. The n-th of one name, by canonical order, has the key NAME + U+0000 + n.
fn by_identity(items: Vec<Json>, key: &str) -> Members {
    let mut copies: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        copies.entry(identity(item, key)).or_default().push(index);
    }
    let mut keys: Vec<String> = vec![String::new(); items.len()];
    for (name, mut indices) in copies {
        if indices.len() > 1 {
            indices.sort_by_cached_key(|index| items.get(*index).map(Json::canonical));
        }
        let unnamed = is_unnamed(&name);
        for (nth, index) in indices.into_iter().enumerate() {
            if let Some(slot) = keys.get_mut(index) {
                *slot = match nth {
                    0 if !unnamed => name.clone(),
                    _ => format!("{name}{MARK}{}", nth + 1),
                };
            }
        }
    }
    let order = keys.iter().map(|key| Json::String(key.clone())).collect();
    let items = keys.into_iter().zip(items).collect();
    Members::from([("order".to_owned(), Json::Array(order)), ("items".to_owned(), Json::Object(items))])
}

fn identity(item: &Json, key: &str) -> String {
    match item.member(key).and_then(Json::as_str) {
        Some(name) if !name.contains(MARK) => name.to_owned(),
        Some(name) => name.replace(MARK, "\u{0}\u{0}"),
        None => format!("{MARK}unnamed"),
    }
}

/// Whether the key is ours, for an item without a usable name.
pub(in crate::judge) fn is_unnamed(key: &str) -> bool {
    key.strip_prefix(MARK).is_some_and(|rest| !rest.starts_with(MARK))
}
