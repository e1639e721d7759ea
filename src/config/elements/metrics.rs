//! `metrics`: which series describe each target.

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Element, Form, Shape, labels, word};
use crate::model::settings::{MetricSettings, PerTarget};

const PER_TARGET: &[&str] = &["auto", "always", "never"];
const LABEL: Shape = Shape::Text(Form::Free);

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new(
        "per_target",
        Shape::Word(PER_TARGET),
        "whether each target has series of its own; `auto`, when not given, leaves them out above 5,000 targets",
    ),
    Element::new(
        "target_labels",
        Shape::OneOrList(&LABEL),
        "the labels of the inventory that `driftd_target_info` shows; all of them when not given",
    ),
];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<MetricSettings> {
    let fields = Fields::of(reader, node, "`metrics`", KEYS);
    let per_target = fields.read(reader, "per_target", |reader, node| {
        word::decode(reader, node, "way to show targets", PER_TARGET, |word| match word {
            "auto" => Some(PerTarget::Auto),
            "always" => Some(PerTarget::Always),
            "never" => Some(PerTarget::Never),
            _ => None,
        })
    });
    let target_labels = fields.read(reader, "target_labels", |reader, node| {
        Some(reader.items(node, &LABEL, "a label of `target_labels`", label))
    });
    Some(MetricSettings { per_target: per_target.unwrap_or_default(), target_labels })
}

fn label(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let name = reader.text(node);
    if labels::is_name(&name) {
        return Some(name);
    }
    let error = ConfigError::Malformed { what: "label", why: labels::NAME.to_owned(), remedy: String::new() };
    reader.mistake(node.span, error);
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn each_target_is_shown_up_to_a_number_unless_it_is_said_otherwise() {
        assert_eq!(taken("{}", decode), MetricSettings { per_target: PerTarget::Auto, target_labels: None });
        let said = taken("{ per_target: never, target_labels: [ team, on-call ] }", decode);
        assert_eq!(said.per_target, PerTarget::Never);
        assert_eq!(said.target_labels.unwrap(), ["team", "on-call"]);
        assert_eq!(taken("{ per_target: always, target_labels: [] }", decode).target_labels.unwrap(), [""; 0]);
        assert_eq!(
            refused("{ per_target: alway, target_labels: [ \"a b\" ] }", decode),
            [
                "this is no way to show targets; did you mean `always`?",
                "this is no label: it has letters, digits, `_`, `-` and `.`, at most 64, and starts with a letter or `_`"
            ]
        );
    }
}
