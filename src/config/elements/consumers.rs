//! `consumers` of a target: who uses which of its items. Who lists none may use any of them.

use std::collections::BTreeSet;

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Element, Form, Shape, text};
use crate::model::policy::Consumer;

const ITEM: Shape = Shape::Text(Form::Free);

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("name", Shape::Text(Form::Free), "who it is").required().also_called(&["id"]),
    Element::new("uses", Shape::OneOrList(&ITEM), "names of the items it uses; all of them when not given")
        .also_called(&["tools", "items"]),
];

const ONE: Shape = Shape::Map(KEYS);

/// What a list of them looks like.
pub(in crate::config) const SHAPE: Shape = Shape::List(&ONE);

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<Consumer>> {
    let mut names = BTreeSet::new();
    Some(reader.items(node, &ONE, "a consumer", |reader, node| {
        let fields = Fields::of(reader, node, "a consumer", KEYS);
        let name = fields.read(reader, "name", |reader, node| text::decode(reader, node, "name of a consumer"));
        let uses = fields.read(reader, "uses", |reader, node| {
            let uses = reader
                .items(node, &ITEM, "an item of `uses`", |reader, node| text::decode(reader, node, "name of an item"));
            // An empty list would say "everything" to us and "nothing" to who reads it.
            reader.is_filled(node);
            Some(uses)
        });
        let name = name?;
        if !names.insert(name.clone()) {
            let span = fields.node("name").map_or(fields.span, |name| name.span);
            reader.mistake(span, ConfigError::DuplicateName { what: "consumers", name });
            return None;
        }
        Some(Consumer { name, uses: uses.unwrap_or_default() })
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_consumer_uses_some_items_or_all() {
        assert_eq!(
            taken(
                "[ { name: refund-agent, uses: [ create_refund, 7 ] }, { name: intern }, { name: a, uses: b } ]",
                decode
            ),
            [
                Consumer { name: "refund-agent".into(), uses: vec!["create_refund".into(), "7".into()] },
                Consumer { name: "intern".into(), uses: Vec::new() },
                Consumer { name: "a".into(), uses: vec!["b".into()] },
            ]
        );
    }

    #[test]
    fn what_would_be_read_in_two_ways_is_refused() {
        assert_eq!(
            refused("[ { name: a, uses: [] }, { name: a }, { uses: [x] }, b ]", decode),
            [
                "this list is empty; name at least one",
                "two consumers have the name `a`; one name stands for one of them",
                "a consumer has no `name`; add `name`: who it is",
                "a consumer has to be a map with `name`, this is a text",
            ]
        );
    }
}
