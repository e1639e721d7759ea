//! Structural comparison: where accepted and seen values differ.
//!
//! A [`Place`] holds every accepted and every seen value at one path, so that a facet held to a set of values, or
//! read in several variants, is compared like any other: a path differs where some seen value is none of the accepted
//! ones. What a difference means is for the rules.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::json::Json;
use crate::model::pointer::Pointer;

/// Accepted and seen values at one path; `None` among them is absence.
#[derive(Clone, Debug)]
pub(super) struct Place<'a> {
    path: Pointer,
    accepted: Vec<Option<&'a Json>>,
    seen: Vec<Option<&'a Json>>,
}

impl<'a> Place<'a> {
    /// The root of a facet; an empty slice is absence.
    pub(super) fn root(accepted: &'a [Json], seen: &'a [Json]) -> Self {
        let side = |values: &'a [Json]| if values.is_empty() { vec![None] } else { values.iter().map(Some).collect() };
        Self { path: Pointer::root(), accepted: side(accepted), seen: side(seen) }
    }

    /// One value each, at a path of the caller's choosing: an item before and after it was renamed.
    pub(super) fn pair(path: Pointer, accepted: Option<&'a Json>, seen: Option<&'a Json>) -> Self {
        Self { path, accepted: vec![accepted], seen: vec![seen] }
    }

    /// What `pick` finds in each value, at `path`: for what may stand in several places.
    pub(super) fn picked(&self, path: Pointer, pick: impl Fn(&'a Json) -> Option<&'a Json>) -> Self {
        let side = |values: &[Option<&'a Json>]| distinct(values.iter().map(|value| value.and_then(&pick)));
        Self { path, accepted: side(&self.accepted), seen: side(&self.seen) }
    }

    /// The place one step below.
    pub(super) fn child(&self, token: &str) -> Self {
        self.picked(self.path.child(token), |value| value.member(token))
    }

    /// Where it is.
    pub(super) const fn path(&self) -> &Pointer {
        &self.path
    }

    /// Its last token.
    pub(super) fn name(&self) -> &str {
        self.path.tokens().next_back().unwrap_or_default()
    }

    /// Whether something seen here is not accepted.
    pub(super) fn differs(&self) -> bool {
        self.unaccepted().next().is_some()
    }

    fn unaccepted(&self) -> impl Iterator<Item = Option<&'a Json>> {
        self.seen.iter().copied().filter(|seen| !self.accepted.contains(seen))
    }

    /// The accepted value, the first of several.
    pub(super) fn old(&self) -> Option<&'a Json> {
        self.accepted.iter().copied().flatten().next()
    }

    /// The value seen and not accepted, the first of several; `None` when what is not accepted is absence.
    pub(super) fn now(&self) -> Option<&'a Json> {
        self.unaccepted().flatten().next()
    }

    /// Old value and value now as texts, when both are.
    pub(super) fn texts(&self) -> (Option<&'a str>, Option<&'a str>) {
        (self.old().and_then(Json::as_str), self.now().and_then(Json::as_str))
    }

    /// Accepted values, in canonical order.
    pub(super) fn before(&self) -> Vec<Json> {
        sorted(self.accepted.iter().copied().flatten())
    }

    /// Values seen and not accepted, in canonical order; empty when it is absent now.
    pub(super) fn after(&self) -> Vec<Json> {
        sorted(self.unaccepted().flatten())
    }

    /// Whether every value that is there is an object.
    pub(super) fn is_object(&self) -> bool {
        self.accepted.iter().chain(&self.seen).flatten().all(|value| value.as_object().is_some())
    }

    /// Names of members in any value here.
    pub(super) fn names(&self) -> BTreeSet<&'a str> {
        let values = self.accepted.iter().chain(&self.seen).copied().flatten();
        values.filter_map(Json::as_object).flat_map(|members| members.keys().map(String::as_str)).collect()
    }

    /// The members that differ, in order of their names.
    pub(super) fn changed(&self) -> Vec<Self> {
        let one_each = match (self.accepted.as_slice(), self.seen.as_slice()) {
            ([accepted], [seen]) => Some((*accepted, *seen)),
            _ => None,
        };
        let differs = |name: &str| match one_each {
            // The usual case, without building a place for each equal member.
            Some((accepted, seen)) => accepted.and_then(|v| v.member(name)) != seen.and_then(|v| v.member(name)),
            None => self.child(name).differs(),
        };
        self.names().into_iter().filter(|name| differs(name)).map(|name| self.child(name)).collect()
    }

    /// The keys that every accepted list names and some seen one, in the order of each, when those orders differ.
    ///
    /// Items that came or went do not make an order differ, nor do those whose place was never accepted.
    pub(super) fn is_reordered(&self) -> bool {
        let keys = |value: Option<&'a Json>| -> Vec<&'a str> {
            let array = value.and_then(Json::as_array);
            array.into_iter().flatten().filter_map(Json::as_str).collect()
        };
        let accepted: Vec<Vec<&str>> = self.accepted.iter().map(|value| keys(*value)).collect();
        self.unaccepted().any(|seen| {
            let seen = keys(seen);
            accepted.iter().all(|accepted| !same_relative_order(accepted, &seen))
        })
    }
}

fn distinct<'a>(values: impl Iterator<Item = Option<&'a Json>>) -> Vec<Option<&'a Json>> {
    values.fold(Vec::new(), |mut all, value| {
        if !all.contains(&value) {
            all.push(value);
        }
        all
    })
}

fn sorted<'a>(values: impl Iterator<Item = &'a Json>) -> Vec<Json> {
    let mut values: Vec<Json> = values.cloned().collect();
    if values.len() > 1 {
        values.sort_by_cached_key(Json::canonical);
        values.dedup();
    }
    values
}

/// Whether the keys that both have come in one order.
pub(super) fn same_relative_order(left: &[&str], right: &[&str]) -> bool {
    let places: BTreeMap<&str, usize> = right.iter().enumerate().map(|(place, key)| (*key, place)).collect();
    let mut last = None;
    left.iter().filter_map(|key| places.get(key)).all(|place| {
        let grows = last.is_none_or(|last| last < place);
        last = Some(place);
        grows
    })
}

/// Pointers, relative to both, at which `old` and `new` differ: the shallowest where one is absent or no object.
/// At most `limit` are listed; the second part says how many there are.
pub(super) fn leaves(old: Option<&Json>, new: Option<&Json>, limit: usize) -> (Vec<Pointer>, usize) {
    let mut found = (Vec::new(), 0);
    collect(old, new, &mut Vec::new(), limit, &mut found);
    found
}

fn collect<'a>(
    old: Option<&'a Json>,
    new: Option<&'a Json>,
    path: &mut Vec<&'a str>,
    limit: usize,
    found: &mut (Vec<Pointer>, usize),
) {
    if old == new {
        return;
    }
    if let (Some(Json::Object(left)), Some(Json::Object(right))) = (old, new) {
        let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
        for name in names {
            path.push(name);
            collect(left.get(name), right.get(name), path, limit, found);
            path.pop();
        }
        return;
    }
    found.1 += 1;
    if found.0.len() < limit {
        found.0.push(Pointer::of(path.iter().copied()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse_trusted(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_path_differs_only_when_a_seen_value_is_none_of_the_accepted() {
        let accepted = [json(r#"{"a":1,"b":1}"#), json(r#"{"a":2,"b":1}"#)];
        let seen = [json(r#"{"a":2,"b":1}"#), json(r#"{"a":3,"b":1}"#)];
        let changed = Place::root(&accepted, &seen).changed();
        assert_eq!(changed.len(), 1);
        assert_eq!(changed[0].before(), [json("1"), json("2")]);
        assert_eq!(changed[0].after(), [json("3")]);
    }

    #[test]
    fn order_is_that_of_the_keys_both_have() {
        assert!(same_relative_order(&["a", "b", "c"], &["x", "a", "c"]));
        assert!(!same_relative_order(&["a", "b"], &["b", "a"]));
    }

    #[test]
    fn leaves_are_counted_beyond_the_limit() {
        let (listed, count) = leaves(Some(&json(r#"{"a":{"b":1},"c":1}"#)), Some(&json(r#"{"a":{"b":2}}"#)), 1);
        assert_eq!((listed, count), (vec![Pointer::of(["a", "b"])], 2));
    }
}
