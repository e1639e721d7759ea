//! `defaults` of an inventory: what holds for the targets that do not say otherwise.

use std::time::Duration;

use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::cadence::EVERY;
use super::{Bounds, Element, Shape, duration};
use crate::model::inventory::Target;

/// How long a request, or a scan, may take.
pub(in crate::config) const LIMIT: Bounds = Bounds { least: 1, most: 3_600 };

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("every", Shape::Duration(EVERY), "from one scan to the next").also_called(&["interval", "period"]),
    Element::new("timeout", Shape::Duration(LIMIT), "limit of one request"),
    Element::new("scan_timeout", Shape::Duration(LIMIT), "limit of one scan"),
];

/// What holds when nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) struct Defaults {
    pub(in crate::config) every: Duration,
    pub(in crate::config) timeout: Duration,
    pub(in crate::config) scan_timeout: Duration,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { every: Target::EVERY, timeout: Target::TIMEOUT, scan_timeout: Target::SCAN_TIMEOUT }
    }
}

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Defaults> {
    let fields = Fields::of(reader, node, "`defaults`", KEYS);
    let default = Defaults::default();
    let every = fields.read(reader, "every", |reader, node| duration::decode(reader, node, EVERY));
    let timeout = fields.read(reader, "timeout", |reader, node| duration::decode(reader, node, LIMIT));
    let scan_timeout = fields.read(reader, "scan_timeout", |reader, node| duration::decode(reader, node, LIMIT));
    Some(Defaults {
        every: every.unwrap_or(default.every),
        timeout: timeout.unwrap_or(default.timeout),
        scan_timeout: scan_timeout.unwrap_or(default.scan_timeout),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn what_is_not_said_stays() {
        assert_eq!(taken("{ every: 5m }", decode), Defaults { every: Duration::from_mins(5), ..Defaults::default() });
    }

    #[test]
    fn a_schedule_is_no_default() {
        assert_eq!(
            refused("{ schedule: { cron: x }, every: 31d, interval: 5m }", decode),
            [
                "unknown key `schedule` in `defaults`; known here: every, timeout, scan_timeout",
                "this is out of range; from 1s to 30d",
                "unknown key `interval` in `defaults`; it is called `every`",
            ]
        );
    }
}
