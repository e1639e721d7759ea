//! Whether somebody is reminded of an incident that nobody has decided on, and when the next time is.
//!
//! The next reminder is owed by each message about the incident, and waits in the store like all that is owed. When it
//! is due, it is decided anew whether there still is something to be reminded of: a clock that jumped ahead by a month
//! therefore makes one reminder, and the route of that day says how often.

use std::time::Duration;

use jiff::Timestamp;

use super::fold::{Desk, ask_routes};
use super::{WEEK, is_end, later, short};
use crate::model::alert::AlertType;
use crate::model::digest::Digest;
use crate::model::incident::{Incident, IncidentId, UnitMark};
use crate::model::notice::{Body, Lane, Notice};

/// What becomes of a reminder that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is sent.
    Now(Lane),
    /// It is looked at again.
    Later(Timestamp),
    /// There is nothing left to be reminded of.
    Never,
}

/// Whether `receiver` is reminded of `incident`, of which `body` tells.
pub(super) fn decide(receiver: &str, incident: &Incident, body: &Body, desk: &Desk<'_>, now: Timestamp) -> Verdict {
    let told = desk.told.iter().find(|told| told.receiver == receiver && told.incident == incident.id);
    let Some(told) = told.filter(|told| !is_end(told.event) && incident.ended.is_none()) else {
        return Verdict::Never;
    };
    let quiet = incident.acked.as_ref().map(|ack| ack.until.unwrap_or_else(|| later(now, WEEK)));
    if let Some(until) = quiet.filter(|until| *until > now) {
        return Verdict::Later(until);
    }
    let way = ask_routes(receiver, Some(incident), incident.id, body, desk, now);
    let pause = match way {
        Some(_) if is_rejected(incident) => Some(WEEK),
        Some(way) => way.repeat(body.alert.severity),
        None => None,
    };
    // Looked at again now and then: a route may come that asks for reminders, and a person may reject.
    let (Some(way), Some(pause)) = (way, pause) else { return Verdict::Later(later(now, WEEK)) };
    let due = later(told.at, pause);
    if due > now {
        return Verdict::Later(due);
    }
    if desk.undelivered.contains(&(receiver.to_owned(), incident.id)) {
        // It has not even got the last one: a receiver that is back is not met by a heap of reminders.
        return Verdict::Later(later(now, pause));
    }
    Verdict::Now(way.lane)
}

/// The next reminder of `receiver`, which is told of `incident` now.
pub(super) fn notice(
    receiver: &str,
    incident: IncidentId,
    revision: u32,
    body: &Body,
    desk: &Desk<'_>,
    now: Timestamp,
) -> Notice {
    let stands = (desk.incidents)(incident);
    let way = ask_routes(receiver, stands.as_ref(), incident, body, desk, now);
    let repeat = way.and_then(|way| way.repeat(body.alert.severity));
    let due_at = later(now, repeat.unwrap_or(WEEK).max(Duration::from_mins(1)));
    let parts =
        [receiver, &incident.to_string(), AlertType::DriftReminder.as_str(), &due_at.as_millisecond().to_string()];
    Notice {
        id: format!("n-{}", short(Digest::of_parts(parts))),
        receiver: receiver.to_owned(),
        incident,
        revision,
        event: AlertType::DriftReminder,
        lane: Lane::Message,
        due_at,
        at: now,
    }
}

/// Whether all that stands of it was rejected.
fn is_rejected(incident: &Incident) -> bool {
    let mut standing = incident.units.iter().filter(|unit| unit.mark.stands()).peekable();
    standing.peek().is_some() && standing.all(|unit| unit.mark == UnitMark::Rejected)
}
