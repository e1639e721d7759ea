//! `confirm`: how often and how long something must be seen before it counts.
//!
//! `{ sightings, after }` alone sets classes *security* and *surface*; what is not said keeps its default.

use std::time::Duration;

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Bounds, Element, Shape, count, duration};
use crate::model::confirm::{Confirm, Threshold};

const TIMES: Bounds = Bounds { least: 1, most: 100 };
const SPAN: Bounds = Bounds { least: 0, most: 7 * 86_400 };

const SIGHTINGS: Element =
    Element::new("sightings", Shape::Count(TIMES), "sightings in a row").also_called(&["count", "times"]);
const AFTER: Element = Element::new("after", Shape::Duration(SPAN), "from the first sighting to the last");

const THRESHOLD: &[Element] = &[SIGHTINGS, AFTER];
const SIGHT: &[Element] = &[
    Element::new("failures", Shape::Count(TIMES), "failures in a row").also_called(&["sightings"]),
    Element::new("over", Shape::Duration(SPAN), "from the first failure to the last").also_called(&["after"]),
];

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("security", Shape::Map(THRESHOLD), "protections weakened, attacks enabled"),
    Element::new("surface", Shape::Map(THRESHOLD), "everything else that is listed or published"),
    Element::new("sight", Shape::Map(SIGHT), "what keeps us from seeing"),
    SIGHTINGS,
    AFTER,
];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Confirm> {
    let fields = Fields::of(reader, node, "`confirm`", KEYS);
    let default = Confirm::default();
    for short in ["sightings", "after"] {
        for class in ["security", "surface"] {
            if fields.has(short) && fields.has(class) {
                let (at, other) = (reader.at(fields.key_span(short)), reader.at(fields.key_span(class)));
                reader.mistake_at(at, ConfigError::Excludes(short, class), Some((other, "the other stands here")));
            }
        }
    }
    let (sightings, after) = parts(reader, &fields, "sightings", "after");
    let both = |class: Threshold| with(class, sightings, after);
    Some(Confirm {
        security: class(reader, &fields, "security", both(default.security)),
        surface: class(reader, &fields, "surface", both(default.surface)),
        sight: match fields.node("sight") {
            None => default.sight,
            Some(node) => {
                let fields = Fields::of(reader, node, "`sight`", SIGHT);
                let (failures, over) = parts(reader, &fields, "failures", "over");
                with(default.sight, failures, over)
            }
        },
    })
}

fn class(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &'static str, default: Threshold) -> Threshold {
    let Some(node) = fields.node(key) else { return default };
    let fields = Fields::of(reader, node, "a class of `confirm`", THRESHOLD);
    let (sightings, after) = parts(reader, &fields, "sightings", "after");
    with(default, sightings, after)
}

fn parts(reader: &mut Reader<'_>, fields: &Fields<'_>, times: &str, span: &str) -> (Option<u32>, Option<Duration>) {
    (
        fields.read(reader, times, |reader, node| count::decode(reader, node, TIMES)),
        fields.read(reader, span, |reader, node| duration::decode(reader, node, SPAN)),
    )
}

/// With what is said, and the rest as it was.
fn with(default: Threshold, sightings: Option<u32>, after: Option<Duration>) -> Threshold {
    Threshold { sightings: sightings.unwrap_or(default.sightings), after: after.unwrap_or(default.after) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    const fn of(sightings: u32, seconds: u64) -> Threshold {
        Threshold { sightings, after: Duration::from_secs(seconds) }
    }

    #[test]
    fn each_class_has_its_own_threshold_and_keeps_what_is_not_said() {
        let confirm = taken("{ security: { after: 5s }, sight: { failures: 5 } }", decode);
        assert_eq!(confirm, Confirm { security: of(2, 5), surface: of(2, 300), sight: of(5, 600) });
        assert_eq!(taken("{}", decode), Confirm::default());
    }

    #[test]
    fn the_short_form_sets_security_and_surface() {
        let confirm = taken("{ sightings: 1, after: 0s }", decode);
        assert_eq!(confirm, Confirm { security: of(1, 0), surface: of(1, 0), sight: of(3, 600) });
        let confirm = taken("{ after: 7s, sight: { over: 1m } }", decode);
        assert_eq!(confirm, Confirm { security: of(2, 7), surface: of(2, 7), sight: of(3, 60) });
    }

    #[test]
    fn the_short_form_and_a_class_that_it_sets_exclude_each_other() {
        assert_eq!(
            refused("{ after: 1s, surface: { after: 2s } }", decode),
            ["`after` and `surface` exclude each other; keep either `after` or `surface`"]
        );
    }

    #[test]
    fn failures_are_not_sightings() {
        assert_eq!(
            refused("{ sight: { sightings: 0, over: 8d } }", decode),
            ["unknown key `sightings` in `sight`; it is called `failures`", "this is out of range; from 0s to 7d",]
        );
    }
}
