//! What one inventory file says.
//!
//! What all of them say together is `inventories`' matter.

use super::daemon_file;
use super::elements::defaults::{self, Defaults};
use super::elements::target::{self, Draft};
use super::elements::{Element, Shape, listed};
use super::error::ConfigError;
use super::reader::{At, Elsewhere, Fields, Reader};
use super::tree::{Node, Value};

const TARGET: Shape = Shape::Map(target::KEYS);
const LISTED_TARGET: Shape = Shape::Map(listed::KEYS);

pub(super) const KEYS: &[Element] = &[
    Element::new("defaults", Shape::Map(defaults::KEYS), "for targets that do not say otherwise; in one file only"),
    Element::new("targets", Shape::List(&TARGET), "what is watched").also_called(&["servers", "mcpServers"]),
];

/// Of a file that another program writes.
pub(super) const LISTED_KEYS: &[Element] =
    &[Element::new("targets", Shape::List(&LISTED_TARGET), "`targets: []` for none")
        .required()
        .also_called(&["servers", "mcpServers"])];

/// What stands in a file.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) drafts: Vec<Draft>,
    pub(super) defaults: Option<(Defaults, At)>,
}

/// Reads a file that a person writes.
pub(super) fn decode(reader: &mut Reader<'_>, node: &Node) -> Written {
    if !holds_something(reader, node, &Shape::Map(KEYS)) {
        return Written::default();
    }
    let elsewhere = Elsewhere::Belongs(daemon_file::KEYS, "it belongs in driftd.yaml");
    let fields = Fields::beside(reader, node, "an inventory", KEYS, elsewhere);
    let defaults = fields.node("defaults").and_then(|node| {
        let at = reader.at(fields.key_span("defaults"));
        decode_defaults(reader, node).map(|defaults| (defaults, at))
    });
    let drafts = fields.node("targets").map(|node| reader.items(node, &TARGET, "a target", target::decode));
    Written { drafts: drafts.unwrap_or_default(), defaults }
}

/// Reads a file that another program writes. A target with any mistake is left out.
pub(super) fn decode_listed(reader: &mut Reader<'_>, node: &Node) -> Vec<Draft> {
    if !holds_something(reader, node, &Shape::Map(LISTED_KEYS)) {
        return Vec::new();
    }
    let elsewhere = Elsewhere::Refused(not_listed);
    let fields = Fields::beside(reader, node, "a listed inventory", LISTED_KEYS, elsewhere);
    let Some(node) = fields.node("targets") else { return Vec::new() };
    reader.items(node, &LISTED_TARGET, "a target", |reader, node| {
        let before = reader.count();
        target::decode_listed(reader, node).filter(|_| reader.count() == before)
    })
}

fn not_listed(key: &str) -> Option<ConfigError> {
    let why = if key == "defaults" {
        "they stand in a file that a person writes"
    } else if daemon_file::KEYS.iter().any(|element| element.key == key) {
        "it belongs in driftd.yaml"
    } else {
        return None;
    };
    Some(ConfigError::NotListed { key: key.to_owned(), why })
}

fn holds_something(reader: &mut Reader<'_>, node: &Node, shape: &Shape) -> bool {
    if matches!(node.value, Value::Null) {
        // A file that was cut off must not look like one whose targets all left.
        let error = ConfigError::MissingKey { key: "targets", inside: "the file", says: "`targets: []` for none" };
        reader.mistake_at(reader.whole_file(), error, None);
        return false;
    }
    reader.is_of(node, shape, "the file")
}

fn decode_defaults(reader: &mut Reader<'_>, node: &Node) -> Option<Defaults> {
    let before = reader.count();
    let defaults = defaults::decode(reader, node)?;
    // A limit that was refused proves nothing of the other.
    if reader.count() == before && defaults.timeout > defaults.scan_timeout {
        reader.mistake(node.span, target::limits(defaults.timeout, defaults.scan_timeout));
    }
    Some(defaults)
}
