//! One entry of `routes`.

use std::time::Duration;

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Bounds, Element, Form, Shape, duration, flag, id, impact, labels, severity};
use crate::model::notice::{Route, RouteMatch};

const WAIT: Bounds = Bounds { least: 0, most: 86_400 };
const INTERVAL: Bounds = Bounds { least: 0, most: 7 * 86_400 };
const NAME: Shape = Shape::Text(Form::Free);
const IMPACT: Shape = Shape::Word(impact::WORDS);
const TARGET: Shape = Shape::Text(Form::Id);

/// From the first notice of a group to its message, when nothing is said.
const GROUP_WAIT: Duration = Duration::from_mins(1);

/// Between messages of one group, when nothing is said.
const GROUP_INTERVAL: Duration = Duration::from_mins(15);

const REPEATED: Bounds = Bounds { least: 3_600, most: 30 * 86_400 };
const NEVER: &[&str] = &["never"];
const REPEAT_AFTER: Shape = Shape::Duration(REPEATED);
const REPEAT_NEVER: Shape = Shape::Word(NEVER);

const MATCH: &[Element] = &[
    Element::new("severity", Shape::Text(Form::Comparison), "as `\">=high\"`"),
    Element::new("labels", labels::SHAPE, "labels of the target, all equal"),
    Element::new("impact", Shape::OneOrList(&IMPACT), "one of these impacts"),
    Element::new("target", Shape::OneOrList(&TARGET), "one of these targets").also_called(&["targets", "id"]),
];

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("match", Shape::Map(MATCH), "what it asks of an event; all of it must hold")
        .also_called(&["matchers"]),
    Element::new("to", Shape::OneOrList(&NAME), "names of receivers")
        .required()
        .also_called(&["receiver", "receivers"]),
    Element::new("continue", Shape::Flag, "whether later routes are tried too"),
    Element::new("group_wait", Shape::Duration(WAIT), "from the first notice of a group to its message"),
    Element::new("group_interval", Shape::Duration(INTERVAL), "between messages of one group"),
    Element::new(
        "repeat",
        Shape::Or(&REPEAT_AFTER, &REPEAT_NEVER),
        "from one reminder of what nobody has decided to the next, or `never`; when not given, 24h for what is high or worse",
    )
    .also_called(&["repeat_interval", "remind"]),
];

/// Reads a route to some of the receivers of these names.
pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node, receivers: &[String]) -> Option<Route> {
    let fields = Fields::of(reader, node, "a route", KEYS);
    let matches = fields.read(reader, "match", matching).unwrap_or_default();
    let to = fields.read(reader, "to", |reader, node| {
        let to = reader.items(node, &NAME, "a receiver of `to`", |reader, node| name(reader, node, receivers));
        reader.is_filled(node);
        Some(to)
    });
    let goes_on = fields.read(reader, "continue", flag::decode).unwrap_or(false);
    let wait = fields.read(reader, "group_wait", |reader, node| duration::decode(reader, node, WAIT));
    let interval = fields.read(reader, "group_interval", |reader, node| duration::decode(reader, node, INTERVAL));
    let repeat = fields.read(reader, "repeat", |reader, node| match reader.text(node).as_str() {
        "never" => Some(Duration::ZERO),
        _ => duration::decode(reader, node, REPEATED),
    });
    Some(Route {
        matches,
        to: to?,
        goes_on,
        group_wait: wait.unwrap_or(GROUP_WAIT),
        group_interval: interval.unwrap_or(GROUP_INTERVAL),
        repeat,
    })
}

fn matching(reader: &mut Reader<'_>, node: &Node) -> Option<RouteMatch> {
    let fields = Fields::of(reader, node, "`match`", MATCH);
    let impacts = |reader: &mut Reader<'_>, node| Some(reader.items(node, &IMPACT, "an impact", impact::decode));
    let targets = |reader: &mut Reader<'_>, node| Some(reader.items(node, &TARGET, "a target", id::decode));
    Some(RouteMatch {
        severity: fields.read(reader, "severity", severity::decode),
        labels: fields.read(reader, "labels", labels::decode).unwrap_or_default(),
        impact: fields.read(reader, "impact", impacts).unwrap_or_default(),
        targets: fields.read(reader, "target", targets).unwrap_or_default(),
    })
}

fn name(reader: &mut Reader<'_>, node: &Node, receivers: &[String]) -> Option<String> {
    let name = reader.text(node);
    if receivers.contains(&name) {
        return Some(name);
    }
    let known: Vec<&str> = receivers.iter().map(String::as_str).collect();
    let remedy = if known.is_empty() {
        "list it under `receivers`".to_owned()
    } else {
        reader.advice(&name, &known, "receivers are")
    };
    reader.mistake(node.span, ConfigError::UnknownReceiver { name, remedy });
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;
    use crate::model::notice::Comparison;
    use crate::model::rule::{Impact, Severity};

    fn decode_here(reader: &mut Reader<'_>, node: &Node) -> Option<Route> {
        decode(reader, node, &["ops-mail".to_owned(), "hook".to_owned()])
    }

    #[test]
    fn a_route_to_one_receiver_takes_everything() {
        let route = taken("{ to: hook }", decode_here);
        assert_eq!(
            route,
            Route {
                matches: RouteMatch::default(),
                to: vec!["hook".into()],
                goes_on: false,
                group_wait: Duration::from_secs(60),
                group_interval: Duration::from_secs(900),
                repeat: None,
            }
        );
    }

    #[test]
    fn a_match_asks_for_severity_labels_impact_and_target() {
        let text = "{ match: { severity: \">=high\", labels: { team: payments }, impact: [security, breaking], target: a }, \
                    to: [ops-mail, hook], continue: true, group_wait: 0s, group_interval: 1h }";
        let route = taken(text, decode_here);
        assert_eq!(route.matches.severity, Some((Comparison::AtLeast, Severity::High)));
        assert_eq!(route.matches.labels.get("team").map(String::as_str), Some("payments"));
        assert_eq!(route.matches.impact, [Impact::Security, Impact::Breaking]);
        assert_eq!(route.matches.targets, ["a".parse().unwrap()]);
        assert_eq!((route.to.len(), route.goes_on), (2, true));
        assert_eq!((route.group_wait, route.group_interval), (Duration::ZERO, Duration::from_secs(3_600)));
    }

    #[test]
    fn a_route_names_receivers_that_there_are() {
        assert_eq!(
            refused("{ to: [ops_mial, pager, hook] }", decode_here),
            [
                "there is no receiver `ops_mial`; did you mean `ops-mail`?",
                "there is no receiver `pager`; receivers are: ops-mail, hook",
            ]
        );
        assert_eq!(refused("{ to: [] }", decode_here), ["this list is empty; name at least one"]);
    }

    #[test]
    fn reminders_come_daily_as_often_as_is_said_or_never() {
        assert_eq!(taken("{ to: hook, repeat: 2d }", decode_here).repeat, Some(Duration::from_hours(48)));
        assert_eq!(taken("{ to: hook, repeat: never }", decode_here).repeat, Some(Duration::ZERO));
        assert_eq!(
            refused("{ to: hook, repeat: 5m, group_by: [target] }", decode_here),
            [
                "this is out of range; from 1h to 30d",
                "unknown key `group_by` in a route; known here: match, to, continue, group_wait, group_interval, repeat",
            ]
        );
        let messages = refused("{ to: hook, repeat: nevre }", decode_here);
        assert!(messages.len() == 1 && messages[0].starts_with("this is no duration: "), "{messages:?}");
    }
}
