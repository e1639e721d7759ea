//! `ignore`, `severity` and `auto_accept` of a target or a profile: wishes about what is judged.
//!
//! Each names a rule, a place or both; of nothing at all there is no wish, since it would be about everything.

use jiff::Timestamp;

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Element, Form, Shape, place, rule, text, until, word};
use crate::model::policy::{AutoAccept, Ignore, PolicyMatch, Reweigh};
use crate::model::rule::Severity;

static ABOUT: [&str; 2] = ["rule", "path"];

const RULE: Element = Element::new("rule", Shape::Text(Form::Rule), "the id of a rule, as `tool.removed` or `tool.*`");
const PATH: Element = Element::new(
    "path",
    Shape::Text(Form::Place),
    "facet and path, as `mcp.tools/items/*/description`; `*` is one segment, `**` any number",
)
.also_called(&["place", "pointer"]);

const SEVERITIES: &[&str] = &["info", "low", "medium", "high", "critical"];
const SET: &[&str] = &["critical", "high", "medium", "low", "info", "off"];

pub(in crate::config) const IGNORE_KEYS: &[Element] = &[
    PATH,
    RULE,
    Element::new("reason", Shape::Text(Form::Free), "why, for those who come later").required().also_called(&["why"]),
    Element::new("until", Shape::Text(Form::When), "when it ends by itself, as `2027-06-30`").also_called(&["expires"]),
];

pub(in crate::config) const SEVERITY_KEYS: &[Element] = &[
    RULE,
    PATH,
    Element::new("set", Shape::Word(SET), "the severity instead, or `off`: recorded, never told")
        .required()
        .also_called(&["severity", "to"]),
];

pub(in crate::config) const AUTO_ACCEPT_KEYS: &[Element] = &[
    RULE,
    PATH,
    Element::new("at_most", Shape::Word(SEVERITIES), "the worst severity that is accepted so; `low` when not given")
        .also_called(&["severity", "max"]),
    Element::new("reason", Shape::Text(Form::Free), "why, for the ledger").also_called(&["why"]),
];

const IGNORE_ONE: Shape = Shape::Map(IGNORE_KEYS);
const SEVERITY_ONE: Shape = Shape::Map(SEVERITY_KEYS);
const AUTO_ACCEPT_ONE: Shape = Shape::Map(AUTO_ACCEPT_KEYS);

/// What lists of wishes look like.
pub(in crate::config) const IGNORE: Shape = Shape::List(&IGNORE_ONE);
pub(in crate::config) const SEVERITY: Shape = Shape::List(&SEVERITY_ONE);
pub(in crate::config) const AUTO_ACCEPT: Shape = Shape::List(&AUTO_ACCEPT_ONE);

pub(in crate::config) fn ignore(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<Ignore>> {
    Some(reader.items(node, &IGNORE_ONE, "an entry of `ignore`", |reader, node| {
        let fields = Fields::of(reader, node, "an entry of `ignore`", IGNORE_KEYS);
        let matches = about(reader, &fields, "an entry of `ignore`");
        let reason = fields.read(reader, "reason", |reader, node| text::decode(reader, node, "reason"));
        let until: Option<Timestamp> = fields.read(reader, "until", until::decode);
        Some(Ignore { matches: matches?, reason: reason?, until })
    }))
}

pub(in crate::config) fn severity(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<Reweigh>> {
    Some(reader.items(node, &SEVERITY_ONE, "an entry of `severity`", |reader, node| {
        let fields = Fields::of(reader, node, "an entry of `severity`", SEVERITY_KEYS);
        let matches = about(reader, &fields, "an entry of `severity`");
        let set = fields.read(reader, "set", |reader, node| match reader.text(node).as_str() {
            "off" => Some(None),
            _ => level(reader, node, SET).map(Some),
        });
        Some(Reweigh { matches: matches?, set: set? })
    }))
}

pub(in crate::config) fn auto_accept(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<AutoAccept>> {
    Some(reader.items(node, &AUTO_ACCEPT_ONE, "an entry of `auto_accept`", |reader, node| {
        let fields = Fields::of(reader, node, "an entry of `auto_accept`", AUTO_ACCEPT_KEYS);
        let matches = about(reader, &fields, "an entry of `auto_accept`");
        let at_most = fields.read(reader, "at_most", |reader, node| level(reader, node, SEVERITIES));
        let reason = fields.read(reader, "reason", |reader, node| text::decode(reader, node, "reason"));
        Some(AutoAccept { matches: matches?, at_most: at_most.unwrap_or(Severity::Low), reason })
    }))
}

fn about(reader: &mut Reader<'_>, fields: &Fields<'_>, inside: &'static str) -> Option<PolicyMatch> {
    let rule = fields.read(reader, "rule", rule::decode);
    let path = fields.read(reader, "path", place::decode);
    if !ABOUT.into_iter().any(|key| fields.has(key)) {
        reader.mistake(fields.span, ConfigError::NoneOf { inside, keys: &ABOUT });
        return None;
    }
    Some(PolicyMatch { rule, path })
}

fn level(reader: &mut Reader<'_>, node: &Node, known: &[&str]) -> Option<Severity> {
    word::decode(reader, node, "severity", known, |word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn what_is_ignored_has_a_rule_or_a_place_and_a_reason() {
        let [both, rule] = <[Ignore; 2]>::try_from(taken(
            "[ { rule: tool.*, path: mcp.tools/items/a, reason: they say so daily, until: 2027-06-30 }, \
             { rule: tool.removed, reason: known } ]",
            ignore,
        ))
        .unwrap();
        assert_eq!(both.matches.rule.as_deref(), Some("tool.*"));
        assert_eq!(both.matches.path.unwrap().0.len(), 3);
        assert_eq!((both.reason.as_str(), both.until.is_some()), ("they say so daily", true));
        assert_eq!((rule.matches.path, rule.until), (None, None));
    }

    #[test]
    fn a_wish_about_everything_is_none() {
        assert_eq!(
            refused("[ { reason: x }, { rule: tool.removed }, tool.removed ]", ignore),
            [
                "an entry of `ignore` has none of rule, path",
                "an entry of `ignore` has no `reason`; add `reason`: why, for those who come later",
                "an entry of `ignore` has to be a map with `reason`, this is a text",
            ]
        );
        assert_eq!(refused("[ { set: off } ]", severity), ["an entry of `severity` has none of rule, path"]);
        assert_eq!(refused("[ {} ]", auto_accept), ["an entry of `auto_accept` has none of rule, path"]);
    }

    #[test]
    fn a_severity_is_set_or_taken_away() {
        let set = |text| taken(text, severity).into_iter().map(|one| one.set).collect::<Vec<_>>();
        assert_eq!(
            set("[ { rule: tool.removed, set: critical }, { path: mcp.tools, set: off } ]"),
            [Some(Severity::Critical), None]
        );
        assert_eq!(
            refused("[ { rule: tool.removed, set: none }, { rule: tool.removed, set: hgih } ]", severity),
            [
                "this is no severity; one of: critical, high, medium, low, info, off",
                "this is no severity; did you mean `high`?",
            ]
        );
    }

    #[test]
    fn what_is_accepted_without_a_person_is_low_unless_more_is_said() {
        let most = |text| taken(text, auto_accept).into_iter().map(|one| one.at_most).collect::<Vec<_>>();
        assert_eq!(
            most("[ { rule: tool.removed }, { rule: tool.removed, at_most: medium, reason: ours } ]"),
            [Severity::Low, Severity::Medium]
        );
        assert_eq!(
            refused("[ { rule: tool.removed, at_most: off } ]", auto_accept),
            ["this is no severity; one of: info, low, medium, high, critical"]
        );
    }
}
