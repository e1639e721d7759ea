//! What the waiting notices of one receiver and incident come to: a message, an entry of a digest, or nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;

use super::digest::{self, Entry, Turn};
use super::{Audience, changing, is_end, is_sight, message_id, opening, reminder};
use crate::judge::alert;
use crate::model::alert::AlertType;
use crate::model::incident::{Incident, IncidentId};
use crate::model::notice::{Body, Fold, Lane, Message, MessageState, Notice, Payment, PutOff, Route, Told};

/// What folding looks up.
pub struct Desk<'a> {
    /// What a message says of an incident at a revision.
    pub revisions: &'a dyn Fn(IncidentId, u32) -> Option<Body>,
    /// An incident as it stands.
    pub incidents: &'a dyn Fn(IncidentId) -> Option<Incident>,
    /// What receivers were told of the incidents.
    pub told: &'a [Told],
    /// Receivers that have not got yet what they were told of an incident.
    pub undelivered: &'a BTreeSet<(String, IncidentId)>,
    /// Which events go where.
    pub routes: &'a [Route],
    /// Names of all receivers.
    pub receivers: &'a [String],
}

impl fmt::Debug for Desk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("told", &self.told).field("routes", &self.routes).finish_non_exhaustive()
    }
}

/// The waiting notices of one receiver and incident.
struct Group<'n> {
    receiver: &'n str,
    incident: IncidentId,
    /// What happened, in the order in which it did.
    news: Vec<&'n Notice>,
    reminders: Vec<&'n Notice>,
}

/// Folds the waiting notices of each receiver and incident, where one of them is due.
///
/// `waiting` must hold *all* waiting notices of such a group, due or not: an end that is not due yet makes a due
/// "opened" history. Groups without a due notice are left alone, and so are those whose revision is not to be had.
pub fn fold_notices(waiting: &[Notice], desk: &Desk<'_>, now: Timestamp) -> Fold {
    let mut groups = BTreeMap::<(&str, IncidentId), Group<'_>>::new();
    for notice in waiting {
        let (receiver, incident) = (notice.receiver.as_str(), notice.incident);
        let empty = || Group { receiver, incident, news: Vec::new(), reminders: Vec::new() };
        let group = groups.entry((receiver, incident)).or_insert_with(empty);
        let place = if notice.event == AlertType::DriftReminder { &mut group.reminders } else { &mut group.news };
        place.push(notice);
    }
    let mut fold = Fold::default();
    let mut digests = BTreeMap::<&str, Vec<Entry>>::new();
    for group in groups.values() {
        if let Some(entry) = group.fold(desk, now, &mut fold) {
            digests.entry(group.receiver).or_default().push(entry);
        }
    }
    for (receiver, entries) in digests {
        digest::fold(receiver, entries, desk, now, &mut fold);
    }
    fold
}

impl Group<'_> {
    /// Folds what is due of it; an entry is for the digest of its receiver.
    fn fold(&self, desk: &Desk<'_>, now: Timestamp, fold: &mut Fold) -> Option<Entry> {
        let due = |notice: &&&Notice| notice.due_at <= now;
        let alone = self.news.iter().filter(|notice| notice.lane == Lane::Message).map(|notice| notice.due_at).min();
        if let Some(first) = alone {
            if first <= now {
                self.tell(desk, now, fold);
            } else {
                // What is due goes along with what is not due yet.
                fold.put_off.extend(self.all().filter(due).map(|notice| put_off(notice, notice.lane, first)));
            }
            return None;
        }
        if self.news.iter().any(|notice| notice.due_at <= now) {
            return self.entry(desk, fold);
        }
        if let Some(next) = self.news.iter().map(|notice| notice.due_at).min() {
            fold.put_off.extend(self.reminders.iter().filter(due).map(|notice| put_off(notice, notice.lane, next)));
            return None;
        }
        let reminder = self.reminders.iter().find(due)?;
        self.remind(reminder, desk, now, fold)
    }

    /// What happened, as a message of its own.
    fn tell(&self, desk: &Desk<'_>, now: Timestamp, fold: &mut Fold) {
        let before = self.told(desk);
        let Some((revision, kind)) = self.newest(before) else { return self.drop(before, fold) };
        let Some(body) = (desk.revisions)(self.incident, revision) else { return };
        let body = Body { reply: before.is_some(), ..body };
        self.pay(kind, body, self.all().map(|notice| notice.id.clone()), desk, now, fold);
    }

    /// What happened, as an entry of the digest.
    fn entry(&self, desk: &Desk<'_>, fold: &mut Fold) -> Option<Entry> {
        let before = self.told(desk);
        let end = self.news.iter().find(|notice| is_end(notice.event));
        let (revision, turn) = match (self.newest(before), end) {
            (Some((revision, kind)), _) if is_end(kind) => (revision, Turn::Over(kind)),
            (Some((revision, kind)), _) if before.is_some() => (revision, Turn::Changed(kind)),
            (Some((revision, kind)), _) => (revision, Turn::New(kind)),
            (None, Some(end)) if before.is_none() => (end.revision, Turn::CameAndWent),
            (None, _) => {
                self.drop(before, fold);
                return None;
            }
        };
        let body = (desk.revisions)(self.incident, revision)?;
        let notices = self.all().map(|notice| notice.id.clone()).collect();
        Some(Entry { incident: self.incident, revision, turn, body, notices })
    }

    /// A reminder that is due, if there is still something to be reminded of.
    fn remind(&self, notice: &Notice, desk: &Desk<'_>, now: Timestamp, fold: &mut Fold) -> Option<Entry> {
        let incident = (desk.incidents)(self.incident);
        let body = incident.as_ref().and_then(|incident| (desk.revisions)(incident.id, incident.revision));
        let (Some(incident), Some(body)) = (incident, body) else {
            fold.dropped.extend(self.reminders.iter().map(|notice| notice.id.clone()));
            return None;
        };
        match reminder::decide(self.receiver, &incident, &body, desk, now) {
            reminder::Verdict::Never => {
                fold.dropped.extend(self.reminders.iter().map(|notice| notice.id.clone()));
                None
            }
            reminder::Verdict::Later(at) => {
                fold.put_off.push(put_off(notice, Lane::Message, at));
                None
            }
            reminder::Verdict::Now(Lane::Digest) if notice.lane == Lane::Message => {
                fold.put_off.push(put_off(notice, Lane::Digest, super::next_digest(now)));
                None
            }
            reminder::Verdict::Now(Lane::Digest) => {
                let notices = self.reminders.iter().map(|notice| notice.id.clone()).collect();
                let turn = Turn::Still;
                Some(Entry { incident: incident.id, revision: incident.revision, turn, body, notices })
            }
            reminder::Verdict::Now(Lane::Message) => {
                let body = Body { reply: true, ..alert::remind(body, &incident, now) };
                let ids = self.reminders.iter().map(|notice| notice.id.clone());
                self.pay(AlertType::DriftReminder, body, ids, desk, now, fold);
                None
            }
        }
    }

    fn pay(
        &self,
        kind: AlertType,
        mut body: Body,
        ids: impl Iterator<Item = String>,
        desk: &Desk<'_>,
        now: Timestamp,
        fold: &mut Fold,
    ) {
        body.alert.kind = kind;
        let revision = body.alert.incident.as_ref().map_or(1, |incident| incident.revision);
        fold.owed.extend(next_reminder(self.receiver, self.incident, revision, kind, &body, desk, now));
        let ids: BTreeSet<String> = ids.collect();
        let notices: Vec<String> = ids.into_iter().collect();
        let told = told(self.receiver, self.incident, revision, kind, now);
        fold.payments.push(Payment {
            message: message(self.receiver, Some(self.incident), body, &notices, now),
            notices,
            told: vec![told],
        });
    }

    /// What comes to nothing is history; a reminder outlives it unless there is an end.
    fn drop(&self, before: Option<&Told>, fold: &mut Fold) {
        let over = before.is_none_or(|told| is_end(told.event)) || self.news.iter().any(|notice| is_end(notice.event));
        let reminders = self.reminders.iter().filter(|_| over);
        fold.dropped.extend(self.news.iter().chain(reminders).map(|notice| notice.id.clone()));
    }

    /// What the news come to for somebody who was told `before`; `None` when that is nothing.
    fn newest(&self, before: Option<&Told>) -> Option<(u32, AlertType)> {
        let end = self.news.iter().find(|notice| is_end(notice.event));
        let revision = self.news.iter().map(|notice| notice.revision).max()?;
        let kind = self.news.first()?.event;
        match (before, end) {
            // Who was never told "opened" is never told "resolved".
            (None, Some(_)) => None,
            (None, None) => Some((revision, opening(kind))),
            (Some(told), _) if is_end(told.event) => None,
            (Some(_), Some(end)) => Some((revision, end.event)),
            (Some(told), None) => (revision > told.revision).then(|| (revision, changing(kind))),
        }
    }

    fn told<'d>(&self, desk: &Desk<'d>) -> Option<&'d Told> {
        desk.told.iter().find(|told| told.receiver == self.receiver && told.incident == self.incident)
    }

    fn all(&self) -> impl Iterator<Item = &&Notice> {
        self.news.iter().chain(&self.reminders)
    }
}

fn put_off(notice: &Notice, lane: Lane, due_at: Timestamp) -> PutOff {
    PutOff { id: notice.id.clone(), lane, due_at }
}

/// The reminder that a message about drift owes; none for an end, and none for sight, which waits for no decision.
pub(super) fn next_reminder(
    receiver: &str,
    incident: IncidentId,
    revision: u32,
    kind: AlertType,
    body: &Body,
    desk: &Desk<'_>,
    now: Timestamp,
) -> Option<Notice> {
    let stands = !is_end(kind) && !is_sight(kind);
    stands.then(|| reminder::notice(receiver, incident, revision, body, desk, now))
}

/// An incident that a receiver is told of by a message that tells of several.
#[derive(Clone, Debug)]
pub struct ToldTogether {
    /// What is told of it.
    pub event: AlertType,
    /// As it stands.
    pub incident: Incident,
    /// What a message of its own would say.
    pub body: Body,
}

/// The reminders that are owed once `receiver` was told of these by one message: the same that messages of their own
/// would owe.
#[must_use]
pub fn reminders(
    receiver: &str,
    told: &[ToldTogether],
    routes: &[Route],
    receivers: &[String],
    now: Timestamp,
) -> Vec<Notice> {
    let find = |id: IncidentId| told.iter().find(|told| told.incident.id == id);
    let desk = Desk {
        revisions: &|id, _| find(id).map(|told| told.body.clone()),
        incidents: &|id| find(id).map(|told| told.incident.clone()),
        told: &[],
        undelivered: &BTreeSet::new(),
        routes,
        receivers,
    };
    let reminder = |told: &ToldTogether| {
        let ToldTogether { event, incident, body } = told;
        next_reminder(receiver, incident.id, incident.revision, *event, body, &desk, now)
    };
    told.iter().filter(|told| told.incident.ended.is_none()).filter_map(reminder).collect()
}

/// What `receiver` knows once it was told `kind` of a revision.
pub(super) fn told(receiver: &str, incident: IncidentId, revision: u32, event: AlertType, at: Timestamp) -> Told {
    Told { receiver: receiver.to_owned(), incident, revision, event, at }
}

/// The message to `receiver` that pays `notices`.
pub(super) fn message(
    receiver: &str,
    incident: Option<IncidentId>,
    mut body: Body,
    notices: &[String],
    now: Timestamp,
) -> Message {
    let id = message_id(notices);
    body.alert.id.clone_from(&id);
    Message {
        id,
        receiver: receiver.to_owned(),
        incident,
        body,
        state: MessageState::Pending,
        attempts: 0,
        next_at: now,
        error: None,
        at: now,
        sent_at: None,
    }
}

/// The event that routes are asked about, for what is not news any more.
pub(super) fn ask_routes<'d>(
    receiver: &str,
    incident: Option<&Incident>,
    id: IncidentId,
    body: &Body,
    desk: &Desk<'d>,
    now: Timestamp,
) -> Option<super::Way> {
    let target = body.alert.targets.first()?;
    let event = crate::model::notice::Event {
        kind: AlertType::DriftReminder,
        incident: id,
        revision: body.alert.incident.as_ref().map_or(1, |incident| incident.revision),
        target: target.id.clone(),
        severity: body.alert.severity,
        impact: body.alert.impact.clone(),
        urgent: incident
            .is_some_and(|incident| incident.units.iter().filter(|unit| unit.mark.stands()).any(super::is_urgent)),
        reason: None,
        at: now,
    };
    let audience = Audience { target, routes: desk.routes, receivers: desk.receivers, told: desk.told };
    super::routed(&event, &audience).get(receiver).copied()
}
