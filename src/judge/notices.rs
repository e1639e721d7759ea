//! Who is owed what, and what becomes one message (design, section 5: notices wait in the store, not in timers).
//!
//! `notice_step` writes down what events owe; `fold_notices` turns the waiting notices of one receiver and incident
//! into one message, or into an entry of the receiver's digest, and decides by what the receiver was told whether that
//! is news, a change or an end. Each message about drift owes the next reminder. What a message says is `alert`'s, how
//! it is written `receiver`'s.

use std::time::Duration;

use jiff::Timestamp;

use crate::model::alert::AlertType;
use crate::model::digest::Digest;
use crate::model::notice::{Event, Notice, Route, Told};
use crate::model::target::TargetSummary;

mod digest;
mod fold;
mod reminder;
mod route;

pub use fold::{Desk, ToldTogether, fold_notices, reminders};
use route::{Way, later, routed};
pub use route::{is_urgent, matches, next_digest, presses};

/// From one look at what nobody is reminded of to the next, and from one reminder of what was rejected to the next.
const WEEK: Duration = Duration::from_hours(7 * 24);

/// What the notices of an event are computed from.
#[derive(Clone, Copy, Debug)]
pub struct Audience<'a> {
    /// Whose events they are.
    pub target: &'a TargetSummary,
    /// Which events go where.
    pub routes: &'a [Route],
    /// Names of all receivers.
    pub receivers: &'a [String],
    /// What receivers were told of the incidents.
    pub told: &'a [Told],
}

/// The notices that `events` owe: one for each receiver.
///
/// Without routes: what is urgent at once to all receivers, the rest with the digest. With routes the first match takes
/// an event unless it goes on; what no route matches goes to all receivers at once. Ends also go to whoever was told of
/// the incident, whatever the routes say by now; to whom they are news is decided when they are folded.
#[must_use]
pub fn notice_step(events: &[Event], audience: &Audience<'_>, now: Timestamp) -> Vec<Notice> {
    events.iter().flat_map(|event| notices_of(event, audience, now)).collect()
}

fn notices_of(event: &Event, audience: &Audience<'_>, now: Timestamp) -> Vec<Notice> {
    let told_at = |receiver: &str| {
        audience
            .told
            .iter()
            .find(|told| told.receiver == receiver && told.incident == event.incident)
            .map(|told| told.at)
    };
    let mut receivers = routed(event, audience);
    if is_end(event.kind) {
        for told in audience.told.iter().filter(|told| told.incident == event.incident) {
            receivers.entry(told.receiver.as_str()).or_insert(Way::AT_ONCE);
        }
    }
    let notice = |(receiver, way): (&str, Way)| Notice {
        id: notice_id(receiver, event),
        receiver: receiver.to_owned(),
        incident: event.incident,
        revision: event.revision,
        event: event.kind,
        lane: way.lane,
        due_at: way.due_at(told_at(receiver), now),
        at: now,
    };
    receivers.into_iter().map(notice).collect()
}

fn notice_id(receiver: &str, event: &Event) -> String {
    let parts = [receiver, &event.incident.to_string(), &event.revision.to_string(), event.kind.as_str()];
    format!("n-{}", short(Digest::of_parts(parts)))
}

/// The id of the message that pays `notices`, in their order.
fn message_id(notices: &[String]) -> String {
    format!("m-{}", short(Digest::of_parts(notices)))
}

fn short(digest: Digest) -> String {
    digest.hex().chars().take(32).collect()
}

const fn is_end(kind: AlertType) -> bool {
    match kind {
        AlertType::DriftResolved | AlertType::SightBack => true,
        AlertType::DriftOpened
        | AlertType::DriftChanged
        | AlertType::DriftReminder
        | AlertType::SightLost
        | AlertType::FleetReport
        | AlertType::Digest
        | AlertType::Test => false,
    }
}

const fn is_sight(kind: AlertType) -> bool {
    match kind {
        AlertType::SightLost | AlertType::SightBack => true,
        AlertType::DriftOpened
        | AlertType::DriftChanged
        | AlertType::DriftReminder
        | AlertType::DriftResolved
        | AlertType::FleetReport
        | AlertType::Digest
        | AlertType::Test => false,
    }
}

const fn opening(kind: AlertType) -> AlertType {
    if is_sight(kind) { AlertType::SightLost } else { AlertType::DriftOpened }
}

const fn changing(kind: AlertType) -> AlertType {
    if is_sight(kind) { AlertType::SightLost } else { AlertType::DriftChanged }
}

#[cfg(test)]
mod tests;
