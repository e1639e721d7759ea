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

/// What is said of the thresholds; the rest stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::config) struct Wish {
    security: Part,
    surface: Part,
    sight: Part,
}

/// What is said of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Part {
    times: Option<u32>,
    span: Option<Duration>,
}

impl Wish {
    /// What is said here, and else what is said there.
    pub(in crate::config) fn or(self, other: Self) -> Self {
        Self {
            security: self.security.or(other.security),
            surface: self.surface.or(other.surface),
            sight: self.sight.or(other.sight),
        }
    }

    /// The thresholds of `base`, but for what is said.
    pub(in crate::config) fn over(self, base: Confirm) -> Confirm {
        Confirm {
            security: self.security.over(base.security),
            surface: self.surface.over(base.surface),
            sight: self.sight.over(base.sight),
        }
    }
}

impl Part {
    fn or(self, other: Self) -> Self {
        Self { times: self.times.or(other.times), span: self.span.or(other.span) }
    }

    fn over(self, base: Threshold) -> Threshold {
        Threshold { sightings: self.times.unwrap_or(base.sightings), after: self.span.unwrap_or(base.after) }
    }
}

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Wish> {
    let fields = Fields::of(reader, node, "`confirm`", KEYS);
    for short in ["sightings", "after"] {
        for class in ["security", "surface"] {
            if fields.has(short) && fields.has(class) {
                let (at, other) = (reader.at(fields.key_span(short)), reader.at(fields.key_span(class)));
                reader.mistake_at(at, ConfigError::Excludes(short, class), Some((other, "the other stands here")));
            }
        }
    }
    let both = part(reader, &fields, "sightings", "after");
    let class = |reader: &mut Reader<'_>, key| {
        fields.node(key).map_or(both, |node| {
            let fields = Fields::of(reader, node, "a class of `confirm`", THRESHOLD);
            part(reader, &fields, "sightings", "after")
        })
    };
    let (security, surface) = (class(reader, "security"), class(reader, "surface"));
    let sight = fields.node("sight").map_or_else(Part::default, |node| {
        let fields = Fields::of(reader, node, "`sight`", SIGHT);
        part(reader, &fields, "failures", "over")
    });
    Some(Wish { security, surface, sight })
}

fn part(reader: &mut Reader<'_>, fields: &Fields<'_>, times: &str, span: &str) -> Part {
    Part {
        times: fields.read(reader, times, |reader, node| count::decode(reader, node, TIMES)),
        span: fields.read(reader, span, |reader, node| duration::decode(reader, node, SPAN)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    fn over_default(reader: &mut Reader<'_>, node: &Node) -> Option<Confirm> {
        decode(reader, node).map(|wish| wish.over(Confirm::default()))
    }

    const fn of(sightings: u32, seconds: u64) -> Threshold {
        Threshold { sightings, after: Duration::from_secs(seconds) }
    }

    #[test]
    fn each_class_has_its_own_threshold_and_keeps_what_is_not_said() {
        let confirm = taken("{ security: { after: 5s }, sight: { failures: 5 } }", over_default);
        assert_eq!(confirm, Confirm { security: of(2, 5), surface: of(2, 300), sight: of(5, 600) });
        assert_eq!(taken("{}", over_default), Confirm::default());
    }

    #[test]
    fn the_short_form_sets_security_and_surface() {
        let confirm = taken("{ sightings: 1, after: 0s }", over_default);
        assert_eq!(confirm, Confirm { security: of(1, 0), surface: of(1, 0), sight: of(3, 600) });
        let confirm = taken("{ after: 7s, sight: { over: 1m } }", over_default);
        assert_eq!(confirm, Confirm { security: of(2, 7), surface: of(2, 7), sight: of(3, 60) });
    }

    #[test]
    fn the_short_form_and_a_class_that_it_sets_exclude_each_other() {
        assert_eq!(
            refused("{ after: 1s, surface: { after: 2s } }", over_default),
            ["`after` and `surface` exclude each other; keep either `after` or `surface`"]
        );
    }

    #[test]
    fn failures_are_not_sightings() {
        assert_eq!(
            refused("{ sight: { sightings: 0, over: 8d } }", over_default),
            ["unknown key `sightings` in `sight`; it is called `failures`", "this is out of range; from 0s to 7d",]
        );
    }
}
