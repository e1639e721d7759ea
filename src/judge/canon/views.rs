//! How two reads of one list agree, and what each looks like once completed by the other (design, "Read twice").

use std::collections::{BTreeMap, BTreeSet};

use crate::model::facet::Stability;
use crate::model::json::{Json, Members};

/// Completes each read with the items only others had, settles the order, and says how they differed.
pub(super) fn reconcile(reads: Vec<Json>, order_ignored: bool, stability: &mut Stability) -> Vec<Json> {
    if reads.len() < 2 {
        return sort_orders(reads, order_ignored);
    }
    let keys: Vec<Vec<String>> = reads.iter().map(order_of).collect();
    let sets: Vec<BTreeSet<&String>> = keys.iter().map(|keys| keys.iter().collect()).collect();
    let common: BTreeSet<&String> =
        sets.iter().skip(1).fold(sets.first().cloned().unwrap_or_default(), |all, set| &all & set);
    stability.set_differs = sets.iter().any(|set| set.len() != common.len());
    stability.empty_beside_full = sets.iter().any(BTreeSet::is_empty) && sets.iter().any(|set| !set.is_empty());
    let mut common_orders = keys.iter().map(|keys| keys.iter().filter(|key| common.contains(key)).collect::<Vec<_>>());
    let first = common_orders.next();
    stability.order_differs = common_orders.any(|order| Some(&order) != first.as_ref());
    stability.value_differs = values_differ(&reads, &common);
    let order = merged(&keys);
    let views = if stability.set_differs { complete(&reads, &order) } else { reads };
    let mut distinct: Vec<Json> = Vec::new();
    for view in sort_orders(views, order_ignored || stability.order_differs) {
        if !distinct.contains(&view) {
            distinct.push(view);
        }
    }
    distinct
}

fn order_of(read: &Json) -> Vec<String> {
    let order = read.member("order").and_then(Json::as_array);
    order.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
}

fn values_differ(reads: &[Json], common: &BTreeSet<&String>) -> bool {
    let Some((first, others)) = reads.split_first() else { return false };
    others.iter().any(|other| {
        first.member("rest") != other.member("rest") || common.iter().any(|key| item(first, key) != item(other, key))
    })
}

fn item<'j>(read: &'j Json, key: &str) -> Option<&'j Json> {
    read.member("items")?.member(key)
}

/// One order over all reads: each further key stands after the key it followed where it was read.
///
/// The result does not depend on which of two reads came first, except where both add at one place.
fn merged(keys: &[Vec<String>]) -> Vec<String> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    let mut after: BTreeMap<Option<&str>, Vec<&str>> = BTreeMap::new();
    for read in keys {
        let mut previous: Option<&str> = None;
        for key in read {
            if known.insert(key) {
                after.entry(previous).or_default().push(key);
            }
            previous = Some(key);
        }
    }
    let mut order = Vec::with_capacity(known.len());
    let mut stack: Vec<&str> = Vec::new();
    stack.extend(after.get(&None).into_iter().flatten());
    while let Some(key) = stack.pop() {
        order.push(key.to_owned());
        stack.extend(after.get(&Some(key)).into_iter().flatten());
    }
    order
}

/// Every read with all items: what only others had is theirs (several values of one missing item: the first's).
fn complete(reads: &[Json], order: &[String]) -> Vec<Json> {
    let mut all: BTreeMap<&String, &Json> = BTreeMap::new();
    for (key, item) in reads.iter().filter_map(|read| read.member("items")?.as_object()).flatten() {
        all.entry(key).or_insert(item);
    }
    let order = Json::Array(order.iter().map(|key| Json::String(key.clone())).collect());
    let completed = reads.iter().map(|read| {
        let own = read.member("items").and_then(Json::as_object);
        let pick = |key: &String, other: &Json| own.and_then(|own| own.get(key)).unwrap_or(other).clone();
        let items: Members = all.iter().map(|(key, other)| ((*key).clone(), pick(key, other))).collect();
        let mut members = read.as_object().cloned().unwrap_or_default();
        members.insert("items".to_owned(), Json::Object(items));
        members.insert("order".to_owned(), order.clone());
        Json::Object(members)
    });
    completed.collect()
}

fn sort_orders(mut views: Vec<Json>, sorted: bool) -> Vec<Json> {
    if sorted {
        for view in &mut views {
            if let Json::Object(members) = view
                && let Some(Json::Array(order)) = members.get_mut("order")
            {
                order.sort();
            }
        }
    }
    views
}
