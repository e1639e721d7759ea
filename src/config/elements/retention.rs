//! `retention`: how long things are kept.

use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Bounds, Element, Shape, duration};
use crate::model::settings::Retention;

/// A day is what a person needs to look; ten years is for ever.
const KEPT: Bounds = Bounds { least: 86_400, most: 3_650 * 86_400 };

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("history", Shape::Duration(KEPT), "runs, snapshots, ended drifts and incidents; 90d when not given"),
    Element::new("outbox", Shape::Duration(KEPT), "messages that were sent or given up; 30d when not given")
        .also_called(&["messages", "alerts"]),
];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Retention> {
    let fields = Fields::of(reader, node, "`retention`", KEYS);
    let default = Retention::default();
    let mut kept = |key| fields.read(reader, key, |reader, node| duration::decode(reader, node, KEPT));
    let (history, outbox) = (kept("history"), kept("outbox"));
    Some(Retention { history: history.unwrap_or(default.history), outbox: outbox.unwrap_or(default.outbox) })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn what_is_not_said_is_kept_as_long_as_ever() {
        let days = |days: u64| Duration::from_hours(24 * days);
        assert_eq!(taken("{ history: 365d }", decode), Retention { history: days(365), outbox: days(30) });
        assert_eq!(taken("{}", decode), Retention::default());
    }

    #[test]
    fn less_than_a_day_is_nothing() {
        assert_eq!(
            refused("{ history: 1h, outbox: 90, ledger: 1d }", decode),
            [
                "this is out of range; from 1d to 3650d",
                "this is no duration: it has no unit; did you mean `90s`?",
                "unknown key `ledger` in `retention`; known here: history, outbox",
            ]
        );
    }
}
