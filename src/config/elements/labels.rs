//! `labels`: names and values of a person's choice, of a target and in a route's match.

use std::collections::BTreeMap;

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::tree::{Node, Value};
use super::{Form, Shape, text};

const VALUE: Shape = Shape::Text(Form::Free);

/// What labels look like.
pub(in crate::config) const SHAPE: Shape = Shape::Names(&VALUE);

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<BTreeMap<String, String>> {
    let Value::Map(entries) = &node.value else { return None };
    let mut labels = BTreeMap::new();
    for entry in entries {
        if !is_name(&entry.key) {
            let why = NAME.to_owned();
            reader.mistake(entry.span, ConfigError::Malformed { what: "label", why, remedy: String::new() });
        } else if labels.contains_key(&entry.key) {
            let error = ConfigError::DuplicateKey { key: entry.key.clone(), inside: "labels" };
            reader.mistake(entry.span, error);
        } else if reader.is_of(&entry.value, &VALUE, &format!("the label `{}`", entry.key)) {
            let value = text::decode(reader, &entry.value, "value of a label");
            labels.insert(entry.key.clone(), value.unwrap_or_default());
        }
    }
    Some(labels)
}

/// What is said of a name that is none.
pub(super) const NAME: &str = "it has letters, digits, `_`, `-` and `.`, at most 64, and starts with a letter or `_`";

pub(super) fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.len() <= 64
        && name.starts_with(letter)
        && name.chars().all(|c| letter(c) || c.is_ascii_digit() || matches!(c, '-' | '.'))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn values_are_texts_as_they_are_written() {
        let labels = taken("{ team: payments, tier: 1.0, critical: true }", decode);
        let pairs: Vec<_> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(pairs, ["critical=true", "team=payments", "tier=1.0"]);
    }

    #[test]
    fn a_label_has_a_name_and_one_value() {
        let messages = refused("{ 1st: a, team: [a], x: , env: a, env: b }", decode);
        assert_eq!(
            messages,
            [
                "this is no label: it has letters, digits, `_`, `-` and `.`, at most 64, and starts with a letter or `_`",
                "the label `team` has to be a text, this is a list",
                "the label `x` has to be a text, this is nothing",
                "the key `env` stands twice in labels; keep one of them",
            ]
        );
    }
}
