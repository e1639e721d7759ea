//! Which receivers an event goes to, at which pace, and what is told at once where no route says so.
//!
//! Without routes (design, section 5): at once what is critical, what is high and touches security or exposure, what
//! breaks callers, and sight; everything else waits for the weekly digest. What breaks only items that nobody uses was
//! made low by the policy, so severity tells it apart here.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::Audience;
use crate::model::incident::Unit;
use crate::model::notice::{Comparison, Event, Lane, RouteMatch};
use crate::model::rule::{Impact, Severity};
use crate::model::target::TargetSummary;

/// From one reminder to the next, where the route does not say.
const DAY: Duration = Duration::from_hours(24);

/// How an event reaches a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// In a message of its own, or with others.
    pub(super) lane: Lane,
    wait: Duration,
    interval: Duration,
    repeat: Option<Duration>,
}

impl Way {
    pub(super) const AT_ONCE: Self =
        Self { lane: Lane::Message, wait: Duration::ZERO, interval: Duration::ZERO, repeat: None };
    const DIGEST: Self = Self { lane: Lane::Digest, ..Self::AT_ONCE };

    /// When a notice made at `now` is due, for a receiver that was told of the incident at `told` last.
    pub(super) fn due_at(&self, told: Option<Timestamp>, now: Timestamp) -> Timestamp {
        match (self.lane, told) {
            (Lane::Digest, _) => next_digest(now),
            (Lane::Message, None) => later(now, self.wait),
            // Told later than now: the clock was put back.
            (Lane::Message, Some(at)) => later(at.min(now), self.interval).max(now),
        }
    }

    /// From one reminder of what is `severity` to the next; `None` for never.
    pub(super) fn repeat(&self, severity: Severity) -> Option<Duration> {
        match self.repeat {
            Some(repeat) => (!repeat.is_zero()).then_some(repeat),
            None => (severity >= Severity::High).then_some(DAY),
        }
    }
}

/// Whether a unit is told at once where no route says otherwise.
#[must_use]
pub fn is_urgent(unit: &Unit) -> bool {
    presses(unit.severity, &unit.impact)
}

/// The same, of what has this severity and these impacts.
#[must_use]
pub fn presses(severity: Severity, impact: &[Impact]) -> bool {
    let touches = |one| impact.contains(&one);
    match severity {
        Severity::Critical => true,
        Severity::High => touches(Impact::Security) || touches(Impact::Exposure) || touches(Impact::Breaking),
        Severity::Medium => touches(Impact::Breaking),
        Severity::Low | Severity::Info => false,
    }
}

/// When the next digest after `now` is due: Monday, 08:00 UTC. The same known hour for everybody, whenever its first
/// entry came.
pub fn next_digest(now: Timestamp) -> Timestamp {
    const WEEK: i64 = 7 * 24 * 3600;
    /// The first Monday after 1970 began, 08:00 UTC; no leap second is counted since.
    const MONDAY: i64 = (4 * 24 + 8) * 3600;
    let weeks = now.as_second().saturating_sub(MONDAY).div_euclid(WEEK).saturating_add(1);
    Timestamp::from_second(weeks.saturating_mul(WEEK).saturating_add(MONDAY)).unwrap_or(Timestamp::MAX)
}

/// The receivers of an event, each with the way of the quickest route that names it.
pub(super) fn routed<'a>(event: &Event, audience: &Audience<'a>) -> BTreeMap<&'a str, Way> {
    let everyone = |way| audience.receivers.iter().map(|name| (name.as_str(), way)).collect();
    if audience.routes.is_empty() {
        return everyone(if event.urgent { Way::AT_ONCE } else { Way::DIGEST });
    }
    let mut taken = BTreeMap::<&str, Way>::new();
    let mut matched = false;
    for route in audience.routes.iter().filter(|route| matches(&route.matches, event, audience.target)) {
        matched = true;
        let way =
            Way { lane: Lane::Message, wait: route.group_wait, interval: route.group_interval, repeat: route.repeat };
        for receiver in &route.to {
            let quickest = taken.entry(receiver.as_str()).or_insert(way);
            if way.wait < quickest.wait {
                *quickest = way;
            }
        }
        if !route.goes_on {
            break;
        }
    }
    if matched { taken } else { everyone(Way::AT_ONCE) }
}

/// Whether a route that asks so takes `event` of `target`.
#[must_use]
pub fn matches(asks: &RouteMatch, event: &Event, target: &TargetSummary) -> bool {
    let severity = asks.severity.is_none_or(|(comparison, than)| match comparison {
        Comparison::AtLeast => event.severity >= than,
        Comparison::Equal => event.severity == than,
        Comparison::AtMost => event.severity <= than,
    });
    let labels = asks.labels.iter().all(|(name, value)| target.labels.get(name) == Some(value));
    let impact = asks.impact.is_empty() || asks.impact.iter().any(|impact| event.impact.contains(impact));
    let targets = asks.targets.is_empty() || asks.targets.contains(&event.target);
    severity && labels && impact && targets
}

pub(super) fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_comes_on_monday_at_eight_and_never_now() {
        let next = |now: &str| next_digest(now.parse().unwrap()).to_string();
        assert_eq!(next("2026-11-30T07:59:59Z"), "2026-11-30T08:00:00Z");
        assert_eq!(next("2026-11-30T08:00:00Z"), "2026-12-07T08:00:00Z");
        assert_eq!(next("2026-12-06T23:00:00Z"), "2026-12-07T08:00:00Z");
        assert_eq!(next("1970-01-01T00:00:00Z"), "1970-01-05T08:00:00Z");
        assert_eq!(next_digest(Timestamp::MAX), Timestamp::MAX);
    }
}
