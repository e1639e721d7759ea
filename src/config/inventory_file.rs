//! What an inventory file says, and what all of them say together.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::daemon_file;
use super::elements::defaults::{self, Defaults};
use super::elements::target::{self, Draft};
use super::elements::{Element, Shape};
use super::error::ConfigError;
use super::reader::{At, Fields, Reader};
use super::tree::{Node, Value};
use crate::model::inventory::Target;

/// A hundred thousand targets fit.
const MOST_MIB: u64 = 64;

const TARGET: Shape = Shape::Map(target::KEYS);

pub(super) const KEYS: &[Element] = &[
    Element::new("defaults", Shape::Map(defaults::KEYS), "for targets that do not say otherwise; in one file only"),
    Element::new("targets", Shape::List(&TARGET), "what is watched").also_called(&["servers", "mcpServers"]),
];

/// The targets of all files, defaults applied.
pub(super) fn read(reader: &mut Reader<'_>, files: &[PathBuf]) -> Vec<Target> {
    let mut all = Together::default();
    for file in files {
        if let Some(node) = reader.open(file, MOST_MIB) {
            all.add(reader, &node);
        }
    }
    all.finish(reader)
}

/// The targets of the current file alone.
#[cfg(test)]
pub(super) fn decode(reader: &mut Reader<'_>, node: &Node) -> Vec<Target> {
    let mut all = Together::default();
    all.add(reader, node);
    all.finish(reader)
}

#[derive(Debug, Default)]
struct Together {
    drafts: Vec<Draft>,
    /// Where each id stands first.
    ids: BTreeMap<String, At>,
    defaults: Option<(Defaults, At)>,
}

impl Together {
    fn add(&mut self, reader: &mut Reader<'_>, node: &Node) {
        if matches!(node.value, Value::Null) {
            // A file that was cut off must not look like one whose targets all left.
            let error = ConfigError::MissingKey { key: "targets", inside: "the file", says: "`targets: []` for none" };
            reader.mistake_at(reader.whole_file(), error, None);
            return;
        }
        if !reader.is_of(node, &Shape::Map(KEYS), "the file") {
            return;
        }
        let elsewhere = (daemon_file::KEYS, "it belongs in driftd.yaml");
        let fields = Fields::beside(reader, node, "an inventory", KEYS, elsewhere);
        self.add_defaults(reader, &fields);
        let drafts = fields.node("targets").map(|node| reader.items(node, &TARGET, "a target", target::decode));
        for draft in drafts.unwrap_or_default() {
            self.add_target(reader, draft);
        }
    }

    fn add_defaults(&mut self, reader: &mut Reader<'_>, fields: &Fields<'_>) {
        let Some(node) = fields.node("defaults") else { return };
        let at = reader.at(fields.key_span("defaults"));
        if let Some((_, first)) = &self.defaults {
            reader.mistake_at(at, ConfigError::DefaultsTwice, Some((*first, "they stand here first")));
        }
        let Some(defaults) = decode_defaults(reader, node) else { return };
        self.defaults.get_or_insert((defaults, at));
    }

    fn add_target(&mut self, reader: &mut Reader<'_>, draft: Draft) {
        if let Some(first) = self.ids.get(draft.id()) {
            let error = ConfigError::DuplicateTarget(draft.id().to_owned());
            reader.mistake_at(draft.at, error, Some((*first, "the first stands here")));
        } else {
            self.ids.insert(draft.id().to_owned(), draft.at);
            self.drafts.push(draft);
        }
    }

    /// The targets, once all files are known: defaults may stand in the last.
    fn finish(self, reader: &mut Reader<'_>) -> Vec<Target> {
        let defaults = self.defaults.map(|(defaults, _)| defaults).unwrap_or_default();
        self.drafts.into_iter().map(|draft| draft.finish(reader, defaults)).collect()
    }
}

fn decode_defaults(reader: &mut Reader<'_>, node: &Node) -> Option<Defaults> {
    let defaults = defaults::decode(reader, node)?;
    if defaults.timeout > defaults.scan_timeout {
        reader.mistake(node.span, target::limits(defaults.timeout, defaults.scan_timeout));
    }
    Some(defaults)
}
