//! Who is owed what, and what becomes one message (design, section 5: notices wait in the store, not in timers).
//!
//! `notice_step` writes down what events owe; `fold_notices` turns the waiting notices of one receiver and incident
//! into one message, and decides by what the receiver was told whether that is news, a change or an end. What a
//! message says is `alert`'s, how it is written `receiver`'s.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use crate::model::alert::AlertType;
use crate::model::digest::Digest;
use crate::model::incident::IncidentId;
use crate::model::notice::{Body, Comparison, Event, Message, MessageState, Notice, Route, RouteMatch, Told};
use crate::model::rule::Severity;
use crate::model::target::TargetSummary;

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

/// How long a receiver's notice waits to be folded.
#[derive(Clone, Copy, Debug)]
struct Pace {
    wait: Duration,
    interval: Duration,
}

const AT_ONCE: Pace = Pace { wait: Duration::ZERO, interval: Duration::ZERO };

/// The notices that `events` owe: one for each receiver.
///
/// Without routes: medium and above, and sight, at once to all receivers. With routes the first match takes an event
/// unless it goes on; what no route matches goes to all receivers at once. Ends also go to whoever was told of the
/// incident, whatever the routes say by now; to whom they are news is decided when they are folded.
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
            receivers.entry(told.receiver.as_str()).or_insert(AT_ONCE);
        }
    }
    let notice = |(receiver, pace): (&str, Pace)| Notice {
        id: notice_id(receiver, event),
        receiver: receiver.to_owned(),
        incident: event.incident,
        revision: event.revision,
        event: event.kind,
        due_at: told_at(receiver).map_or_else(|| later(now, pace.wait), |at| later(at, pace.interval).max(now)),
        at: now,
    };
    receivers.into_iter().map(notice).collect()
}

/// The receivers of an event, each with the pace of the quickest route that names it.
fn routed<'a>(event: &Event, audience: &Audience<'a>) -> BTreeMap<&'a str, Pace> {
    let everyone = || audience.receivers.iter().map(|name| (name.as_str(), AT_ONCE)).collect();
    if audience.routes.is_empty() {
        return if is_sight(event.kind) || event.severity >= Severity::Medium { everyone() } else { BTreeMap::new() };
    }
    let mut taken = BTreeMap::<&str, Pace>::new();
    let mut matched = false;
    for route in audience.routes.iter().filter(|route| matches(&route.matches, event, audience.target)) {
        matched = true;
        for receiver in &route.to {
            let pace = Pace { wait: route.group_wait, interval: route.group_interval };
            let quickest = taken.entry(receiver.as_str()).or_insert(pace);
            if pace.wait < quickest.wait {
                *quickest = pace;
            }
        }
        if !route.goes_on {
            break;
        }
    }
    if matched { taken } else { everyone() }
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

fn notice_id(receiver: &str, event: &Event) -> String {
    let parts = [receiver, &event.incident.to_string(), &event.revision.to_string(), event.kind.as_str()];
    format!("n-{}", short(Digest::of_parts(parts)))
}

/// What became of waiting notices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// Messages, each with the ids of the notices it pays. Who gets one is told its type at its revision.
    pub messages: Vec<(Message, Vec<String>)>,
    /// Notices that pay nothing any more: history.
    pub dropped: Vec<String>,
}

/// Folds the waiting notices of each receiver and incident, where one of them is due, into one message.
///
/// `waiting` must hold *all* waiting notices of such a group, due or not: an end that is not due yet makes a due
/// "opened" history. Groups without a due notice are left alone, and so are those whose revision is not to be had.
pub fn fold_notices(
    waiting: &[Notice],
    revisions: &dyn Fn(IncidentId, u32) -> Option<Body>,
    told: &[Told],
    now: Timestamp,
) -> Folded {
    let mut groups = BTreeMap::<(&str, IncidentId), Vec<&Notice>>::new();
    for notice in waiting {
        groups.entry((notice.receiver.as_str(), notice.incident)).or_default().push(notice);
    }
    let mut folded = Folded::default();
    for ((receiver, incident), group) in groups {
        if group.iter().all(|notice| notice.due_at > now) {
            continue;
        }
        let ids: BTreeSet<&str> = group.iter().map(|notice| notice.id.as_str()).collect();
        let ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
        let before = told.iter().find(|told| told.receiver == receiver && told.incident == incident);
        match newest(&group, before) {
            None => folded.dropped.extend(ids),
            Some((revision, kind)) => {
                let Some(body) = revisions(incident, revision) else { continue };
                folded.messages.push((message(receiver, incident, kind, before.is_some(), body, &ids, now), ids));
            }
        }
    }
    folded
}

/// What a group comes to for somebody who was told `before`; `None` when that is nothing.
fn newest(group: &[&Notice], before: Option<&Told>) -> Option<(u32, AlertType)> {
    let end = group.iter().find(|notice| is_end(notice.event));
    let revision = group.iter().map(|notice| notice.revision).max()?;
    let kind = group.first()?.event;
    match (before, end) {
        // Who was never told "opened" is never told "resolved".
        (None, Some(_)) => None,
        (None, None) => Some((revision, opening(kind))),
        (Some(told), _) if is_end(told.event) => None,
        (Some(_), Some(end)) => Some((revision, end.event)),
        (Some(told), None) => (revision > told.revision).then(|| (revision, changing(kind))),
    }
}

fn message(
    receiver: &str,
    incident: IncidentId,
    kind: AlertType,
    reply: bool,
    mut body: Body,
    notices: &[String],
    now: Timestamp,
) -> Message {
    let id = format!("m-{}", short(Digest::of_parts(notices)));
    body.alert.id.clone_from(&id);
    body.alert.kind = kind;
    body.reply = reply;
    Message {
        id,
        receiver: receiver.to_owned(),
        incident: Some(incident),
        body,
        state: MessageState::Pending,
        attempts: 0,
        next_at: now,
        error: None,
        at: now,
        sent_at: None,
    }
}

fn short(digest: Digest) -> String {
    digest.hex().chars().take(32).collect()
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
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
