//! How a receiver fares after a try, and what the others are told about it. Pure.
//!
//! A receiver that fails is told through the others: once it has failed four times over a quarter of an hour, again
//! when it is suspended, and once more when it takes messages again. Suspended is who says that it is gone for good, and
//! who let a message's whole schedule pass and has taken nothing for five days. It is not disabled: it is tried once a
//! day, its messages wait for it and are not given up, and once it takes one the others follow at once.

use std::time::Duration;

use jiff::Timestamp;

use super::record::Failure;
use crate::model::alert::AlertType;
use crate::model::bulletin::{Bulletin, Passage};
use crate::model::condition::Condition;
use crate::model::rule::{Impact, Severity};
use crate::receiver::error::{DeliveryError, Reason};

/// Failed tries in a row after which the others are told.
const FAILURES: u32 = 4;
/// And over so long: a deployment is nobody's alarm, however many messages meet it.
const FAILING: Duration = Duration::from_mins(15);
/// Nothing taken for so long, and a schedule that ended, suspend.
const LOST: Duration = Duration::from_hours(120);
/// From one try of a suspended receiver to the next.
const PROBE: Duration = Duration::from_hours(24);
/// The others are told of messages given up at most so often.
const GIVEN_UP: Duration = Duration::from_hours(24);
/// How long a receiver that is too slow, or asks for fewer requests, is left alone.
const REST: Duration = Duration::from_mins(1);
/// The longest rest that it can ask for itself; its message waits as its schedule says.
const LONGEST_REST: Duration = Duration::from_mins(10);

/// What the others are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Say {
    /// It fails.
    Failing,
    /// It fails for so long that it is tried once a day.
    Suspended,
    /// A message to it was given up.
    GivenUp,
    /// It takes messages again.
    Recovered {
        /// Since when it had not.
        since: Timestamp,
    },
}

/// Whether the message of a failed try waits for the receiver, whatever its schedule says: what a suspended receiver
/// does not take is not given up, unless it is the message that it refuses.
pub(super) fn waits(condition: &Condition, failure: &Failure) -> bool {
    condition.suspended.is_some() && !refuses_the_message(failure)
}

/// When a suspended receiver is tried again.
pub(super) fn next_probe(now: Timestamp) -> Timestamp {
    later(now, PROBE)
}

/// After a message was taken.
pub(super) fn taken(before: &Condition) -> (Condition, Option<Say>) {
    let recovered = before.told.and(before.since).map(|since| Say::Recovered { since });
    (Condition { told_given_up: before.told_given_up, ..Condition::default() }, recovered)
}

/// After a try failed. `dead`: the message is given up; `about_drift`: it was about an incident.
pub(super) fn failed(
    before: &Condition,
    failure: &Failure,
    dead: bool,
    about_drift: bool,
    now: Timestamp,
) -> (Condition, Option<Say>) {
    let mut after = before.clone();
    let since = before.since.unwrap_or(now);
    if !refuses_the_message(failure) {
        after.failures = before.failures.saturating_add(1);
        after.since = Some(since);
        after.error = Some(failure.to_string());
        after.not_before = rest(failure).map(|rest| later(now, rest));
    }
    let lost_for = now.duration_since(since);
    let lasted = |limit: Duration| jiff::SignedDuration::try_from(limit).is_ok_and(|limit| lost_for >= limit);
    let exhausted = dead && !refuses_the_message(failure) && lasted(LOST);
    if before.suspended.is_some() || is_gone(failure) || exhausted {
        after.not_before = Some(next_probe(now));
    }
    if before.suspended.is_none() && (is_gone(failure) || exhausted) {
        after.suspended = Some(now);
        after.told = Some(now);
        return (after, Some(Say::Suspended));
    }
    if before.told.is_none() && after.failures >= FAILURES && lasted(FAILING) {
        after.told = Some(now);
        return (after, Some(Say::Failing));
    }
    let told_lately = before.told_given_up.is_some_and(|told| later(told, GIVEN_UP) > now);
    // A bulletin that is lost is told by log and metric alone, or two lost receivers would tell of each other for ever.
    if dead && about_drift && !told_lately {
        after.told_given_up = Some(now);
        return (after, Some(Say::GivenUp));
    }
    (after, None)
}

/// How long the receiver is left alone, when it is it that needs a pause.
fn rest(failure: &Failure) -> Option<Duration> {
    match failure {
        Failure::Delivery(DeliveryError::Transient { reason, retry_after, .. }) => {
            let asked = retry_after.map(|asked| asked.clamp(REST, LONGEST_REST));
            asked.filter(|_| reason.slows_down()).or_else(|| reason.slows_down().then_some(REST))
        }
        Failure::Delivery(DeliveryError::Permanent { .. }) | Failure::Panicked => None,
    }
}

fn is_gone(failure: &Failure) -> bool {
    failure.reason() == Reason::Gone
}

/// Whether it is this message, or our own configuration, and not the receiver that fails.
fn refuses_the_message(failure: &Failure) -> bool {
    matches!(failure, Failure::Delivery(error) if error.is_permanent()) && !is_gone(failure)
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// What is to be told, with all that the words need.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// What.
    pub say: Say,
    /// The receiver that it is about.
    pub receiver: &'a str,
    /// How it fares, after the try.
    pub condition: &'a Condition,
    /// Messages that wait for it.
    pub waiting: u64,
    /// Messages to it that were given up.
    pub given_up: u64,
    /// The message that was tried.
    pub message: &'a str,
    /// Why the try failed; empty when it did not.
    pub error: &'a str,
    /// Now.
    pub now: Timestamp,
}

/// The bulletin that tells it.
pub fn bulletin(report: &Report<'_>) -> Bulletin {
    let Report { receiver, .. } = report;
    let (key, severity, headline, summary) = words(report);
    let mut lines = Vec::new();
    if !matches!(report.say, Say::Recovered { .. }) {
        lines.push(format!("try it now: driftd receiver test {receiver}"));
    }
    if report.given_up > 0 {
        lines.push("read what was given up: driftd alerts --dead".to_owned());
        lines.push("send it again: driftd alerts retry".to_owned());
    }
    let sections = vec![Passage { heading: "WHAT YOU CAN DO".to_owned(), lines }];
    Bulletin {
        kind: AlertType::FleetReport,
        key: format!("receiver {receiver} {key}"),
        severity,
        impact: vec![Impact::Operational],
        headline,
        summary,
        sections: sections.into_iter().filter(|passage| !passage.lines.is_empty()).collect(),
        targets: Vec::new(),
    }
}

/// The key that the report of a failure begun at `since` was posted under, so that its end is told to the same people.
pub fn failing_keys(receiver: &str, since: Timestamp) -> [String; 2] {
    ["fails", "suspended"].map(|what| format!("receiver {receiver} {what} {}", since.as_millisecond()))
}

fn words(report: &Report<'_>) -> (String, Severity, String, Vec<String>) {
    let Report { say, receiver, condition, now, .. } = report;
    let since = condition.since.unwrap_or(*now);
    let minute = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M UTC").to_string();
    let key = |what: &str, at: Timestamp| format!("{what} {}", at.as_millisecond());
    let waits = counted(report.waiting, "message waits for it", "messages wait for it");
    let given_up = counted(report.given_up, "was given up", "were given up");
    let fails = format!(
        "{} since {}. The last: {}.",
        if condition.failures == 1 {
            "1 try has failed".to_owned()
        } else {
            format!("{} tries in a row have failed", condition.failures)
        },
        minute(since),
        report.error
    );
    match say {
        Say::Failing => (
            key("fails", since),
            Severity::High,
            format!("receiver {receiver} takes no messages"),
            vec![fails, format!("{waits}, and {given_up}. Nothing is lost: driftd goes on trying for three days.")],
        ),
        Say::Suspended => (
            key("suspended", since),
            Severity::High,
            format!("receiver {receiver} is tried once a day only"),
            vec![fails, format!("{waits}, and {given_up}. What waits goes out once the receiver takes one message.")],
        ),
        Say::GivenUp => (
            key("gave up", *now),
            Severity::High,
            format!("a message to {receiver} was given up"),
            vec![
                format!("Message {} is not tried again by itself. The last try: {}.", report.message, report.error),
                format!("Of all messages to {receiver}, {given_up}. Further ones are told once a day at most."),
            ],
        ),
        Say::Recovered { since } => (
            key("recovered", *since),
            Severity::Info,
            format!("receiver {receiver} takes messages again"),
            vec![
                format!("It had taken none since {}.", minute(*since)),
                format!("{waits}: they go out now. Of the earlier ones {given_up}."),
            ],
        ),
    }
}

/// `no message waits for it`, `1 message waits for it`, `3 messages wait for it`
fn counted(n: u64, one: &str, many: &str) -> String {
    match n {
        0 if one.starts_with("message ") => format!("no {one}"),
        0 => format!("none {one}"),
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    }
}

#[cfg(test)]
mod tests;
