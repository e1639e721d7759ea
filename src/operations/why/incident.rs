//! Why an incident says what it says, and who was told of it. Pure.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::target::waits;
use super::{routes, wishes};
use crate::judge::{life, notices, rules};
use crate::model::alert::AlertType;
use crate::model::condition::Condition;
use crate::model::confirm::Confirm;
use crate::model::drift::{DriftRow, DriftState};
use crate::model::incident::{Incident, IncidentId, IncidentKind, Unit};
use crate::model::notice::{Event, Message, MessageState, Route, Told};
use crate::model::policy::Policy;
use crate::model::rule::{Impact, Severity};
use crate::model::target::TargetSummary;
use crate::model::text;
use crate::operations::document::{RouteLine, Severed, Sighting, Waiting, WhyIncident, WhyMessage, WhyUnit};
use crate::operations::read;
use crate::operations::words::{self, instant, times};
use crate::store::NoticeRow;

/// What is known of an incident.
pub(super) struct Known<'a> {
    pub(super) incident: &'a Incident,
    pub(super) rows: &'a [DriftRow],
    pub(super) messages: &'a [Message],
    pub(super) conditions: &'a [(String, Condition)],
    pub(super) notices: &'a [NoticeRow],
    pub(super) told: &'a [Told],
    pub(super) summary: &'a TargetSummary,
    pub(super) policy: Option<&'a Policy>,
    pub(super) confirm: &'a Confirm,
    pub(super) routes: &'a [Route],
    pub(super) receivers: &'a [String],
    pub(super) next: Option<Timestamp>,
    pub(super) now: Timestamp,
    /// Since when driftd itself is offline.
    pub(super) offline_since: Option<Timestamp>,
}

/// What is known of a drift that belongs to none.
pub(super) struct Alone<'a> {
    pub(super) row: &'a DriftRow,
    pub(super) summary: &'a TargetSummary,
    pub(super) policy: Option<&'a Policy>,
    pub(super) confirm: &'a Confirm,
    pub(super) routes: &'a [Route],
    pub(super) receivers: &'a [String],
    pub(super) next: Option<Timestamp>,
    pub(super) now: Timestamp,
    /// Since when driftd itself is offline.
    pub(super) offline_since: Option<Timestamp>,
}

/// All of it.
pub(super) fn why(known: &Known<'_>) -> WhyIncident {
    let incident = known.incident;
    let state = match &incident.ended {
        Some(ended) => ended.reason.as_str(),
        None => read::state(incident),
    };
    let routes = routes::of_event(known.routes, known.receivers, &newest_event(incident), known.summary);
    WhyIncident {
        reference: Some(format!("{}.{}", incident.id, incident.revision)),
        target: incident.owner.to_string(),
        kind: read::kind(incident.kind).to_owned(),
        state: state.to_owned(),
        now: known.now,
        offline_since: known.offline_since,
        opened_at: Some(incident.opened_at),
        ended_at: incident.ended.as_ref().map(|ended| ended.at),
        text: stands(incident),
        units: incident.units.iter().map(|one| unit(one, known)).collect(),
        untold: untold(known, &routes),
        routes,
        messages: known.messages.iter().map(|one| message(one, known.conditions)).collect(),
        notices: known.notices.iter().map(|row| notice(row, known.now)).collect(),
    }
}

/// A drift before it is part of anything.
pub(super) fn alone(known: &Alone<'_>) -> WhyIncident {
    let (row, drift) = (known.row, &known.row.drift);
    let sight = life::is_sight(drift.facet);
    let kind = if sight { IncidentKind::Sight } else { IncidentKind::Drift };
    let event = event(kind, drift.severity, &drift.impact, known.summary, row.first_at);
    let text = match row.state {
        DriftState::Pending => "not confirmed: nobody is told before it is".to_owned(),
        DriftState::Transient => "it went before it was confirmed: nobody was told".to_owned(),
        DriftState::Open | DriftState::Rejected | DriftState::Reverted | DriftState::Accepted | DriftState::Retired => {
            format!("{}, and part of no incident", row.state.as_str())
        }
    };
    WhyIncident {
        reference: None,
        target: known.summary.id.to_string(),
        kind: read::kind(kind).to_owned(),
        state: row.state.as_str().to_owned(),
        now: known.now,
        offline_since: known.offline_since,
        opened_at: None,
        ended_at: row.ended_at,
        text,
        units: vec![WhyUnit {
            n: 0,
            title: text::inert(&drift.message, 300),
            items: Vec::new(),
            mark: row.state.as_str().to_owned(),
            rule: drift.rule.rule.clone(),
            case: drift.rule.case.clone(),
            why: rules::why(&drift.rule.rule, &[]),
            severity: wishes::severed(drift, known.policy),
            sightings: vec![sighting(row, known.confirm, known.next)],
        }],
        routes: routes::of_event(known.routes, known.receivers, &event, known.summary),
        messages: Vec::new(),
        notices: Vec::new(),
        untold: Vec::new(),
    }
}

fn stands(incident: &Incident) -> String {
    if let Some(ended) = &incident.ended {
        let how = match ended.reason {
            crate::model::incident::EndReason::Reverted if incident.kind == IncidentKind::Sight => "it answers again",
            crate::model::incident::EndReason::Reverted => "what was accepted is back",
            crate::model::incident::EndReason::Ignored => "the inventory ignores it now",
            crate::model::incident::EndReason::Retired => "its target left the inventory",
            crate::model::incident::EndReason::Rejected => "it was rejected, and went away",
            crate::model::incident::EndReason::Accepted => "it was accepted",
        };
        return format!("over since {}: {how}", instant(ended.at));
    }
    match &incident.acked {
        Some(ack) => {
            let until = ack.until.map(|until| format!(" until {}", instant(until))).unwrap_or_default();
            format!("{} is on it since {}{until}", text::inert(&ack.by, 100), instant(ack.at))
        }
        None => format!("stands since {}; revision {}", instant(incident.opened_at), incident.revision),
    }
}

fn unit(unit: &Unit, known: &Known<'_>) -> WhyUnit {
    let keys: BTreeSet<_> = unit.members.iter().map(|member| (member.facet, &member.path)).collect();
    let mine: Vec<&DriftRow> =
        known.rows.iter().filter(|row| keys.contains(&(row.drift.facet, &row.drift.path))).collect();
    let worst = mine.iter().max_by_key(|row| row.drift.severity);
    let severity = worst.map_or_else(
        || Severed { severity: unit.severity, rule: None, text: "as it was when it was told".to_owned() },
        |row| wishes::severed(&row.drift, known.policy),
    );
    WhyUnit {
        n: unit.n,
        title: text::inert(&unit.title, 300),
        items: unit.items.iter().take(ITEMS).map(|item| text::item(item)).collect(),
        mark: words::mark(unit.mark).to_owned(),
        rule: unit.rule.rule.clone(),
        case: unit.rule.case.clone(),
        why: rules::why(&unit.rule.rule, &unit.items.iter().map(|item| text::item(item)).collect::<Vec<_>>()),
        severity,
        sightings: mine.into_iter().take(ITEMS).map(|row| sighting(row, known.confirm, known.next)).collect(),
    }
}

/// Items of a unit that are told one by one.
const ITEMS: usize = 20;

fn sighting(row: &DriftRow, confirm: &Confirm, next: Option<Timestamp>) -> Sighting {
    let threshold = confirm.of(row.drift.class);
    let sight = life::is_sight(row.drift.facet);
    let text = match (row.state, row.confirmed_at) {
        (DriftState::Pending, _) => {
            waits(row.sightings, &threshold, sight, threshold.next_due(row.sightings, row.since), next)
        }
        (_, Some(confirmed)) => format!(
            "seen {} in a row from {} to {}; confirmed at {}{}",
            times(row.sightings),
            instant(row.since),
            instant(row.last_at),
            instant(confirmed),
            if row.held { "; held, for the facet goes back and forth" } else { "" }
        ),
        (_, None) => format!("seen {}, never confirmed", times(row.sightings)),
    };
    Sighting {
        place: format!("{}{}", row.drift.facet, text::inert(&row.drift.path.to_string(), 200)),
        fingerprint: row.drift.fingerprint.to_string(),
        state: row.state.as_str().to_owned(),
        first_at: row.first_at,
        confirmed_at: row.confirmed_at,
        ended_at: row.ended_at,
        text,
    }
}

/// What would be owed for the incident as it stands.
fn newest_event(incident: &Incident) -> Event {
    let standing = || incident.units.iter().filter(|unit| unit.mark.stands());
    let any = standing().next().is_some();
    let counted = || incident.units.iter().filter(|unit| !any || unit.mark.stands());
    let severity = counted().map(|unit| unit.severity).max().unwrap_or(Severity::Info);
    let mut impact: Vec<Impact> = counted().flat_map(|unit| unit.impact.iter().copied()).collect();
    impact.sort_unstable();
    impact.dedup();
    Event {
        kind: opening(incident.kind),
        incident: incident.id,
        revision: incident.revision,
        target: incident.owner.clone(),
        severity,
        impact,
        urgent: incident.kind == IncidentKind::Sight || counted().any(notices::is_urgent),
        reason: None,
        at: incident.opened_at,
    }
}

fn event(kind: IncidentKind, severity: Severity, impact: &[Impact], target: &TargetSummary, at: Timestamp) -> Event {
    let none = IncidentId::from_digest(crate::model::digest::Digest::ZERO, 0);
    Event {
        kind: opening(kind),
        incident: none,
        revision: 0,
        target: target.id.clone(),
        severity,
        impact: impact.to_vec(),
        urgent: kind == IncidentKind::Sight || notices::presses(severity, impact),
        reason: None,
        at,
    }
}

const fn opening(kind: IncidentKind) -> AlertType {
    match kind {
        IncidentKind::Drift => AlertType::DriftOpened,
        IncidentKind::Sight => AlertType::SightLost,
    }
}

fn message(message: &Message, conditions: &[(String, Condition)]) -> WhyMessage {
    let condition =
        conditions.iter().find(|(receiver, _)| *receiver == message.receiver).map(|(_, condition)| condition);
    let held = condition.and_then(|condition| read::held_back(message.next_at, condition));
    let tries = if message.attempts == 1 { "1 try".to_owned() } else { format!("{} tries", message.attempts) };
    let failed = message.error.as_ref().map(|error| format!("; the last: {}", text::inert(error, 200)));
    let failed = failed.unwrap_or_default();
    let text = match (message.state, message.sent_at) {
        (MessageState::Sent, Some(at)) => format!("arrived at {} ({tries})", instant(at)),
        (MessageState::Sent, None) => format!("arrived ({tries})"),
        (MessageState::Pending, _) if message.attempts == 0 => match held {
            Some((until, why)) => format!("waits until {} ({why})", instant(until)),
            None => "on its way".to_owned(),
        },
        (MessageState::Pending, _) => {
            let (next, why) =
                held.map_or((message.next_at, String::new()), |(until, why)| (until, format!(" ({why})")));
            format!("not arrived after {tries}; the next at {}{why}{failed}", instant(next))
        }
        (MessageState::Dead, _) => format!(
            "given up after {tries}{failed}; `driftd alerts retry {}` sends it again",
            message.id.chars().take(14).collect::<String>()
        ),
    };
    WhyMessage {
        id: message.id.clone(),
        receiver: message.receiver.clone(),
        kind: message.body.alert.kind.as_str().to_owned(),
        state: message.state.to_string(),
        at: message.at,
        sent_at: message.sent_at,
        text,
    }
}

fn notice(row: &NoticeRow, now: Timestamp) -> Waiting {
    let notice = &row.notice;
    let text = match (&row.message, row.dropped) {
        (Some(message), _) => format!("told in {}", message.chars().take(14).collect::<String>()),
        (None, true) => "history: it was over, or told already, before its message was due".to_owned(),
        (None, false) if notice.due_at > now => {
            format!("waits for others of its group until {}", instant(notice.due_at))
        }
        (None, false) => "due: the next message to this receiver says it".to_owned(),
    };
    Waiting {
        receiver: notice.receiver.clone(),
        event: notice.event.as_str().to_owned(),
        revision: notice.revision,
        due_at: notice.due_at,
        text,
    }
}

/// Receivers that no notice names, and why.
fn untold(known: &Known<'_>, routes: &[RouteLine]) -> Vec<String> {
    let owed: BTreeSet<&str> = known.notices.iter().map(|row| row.notice.receiver.as_str()).collect();
    let told: BTreeSet<&str> = known.told.iter().map(|told| told.receiver.as_str()).collect();
    let routed: BTreeSet<&str> = routes.iter().flat_map(|route| route.to.iter().map(String::as_str)).collect();
    let why = |name: &&str| {
        if !routed.contains(*name) {
            format!("{name}: no route that takes this leads to it")
        } else if known.routes.is_empty() {
            format!("{name}: nothing in it is medium or worse, and no route asks for less")
        } else {
            format!("{name}: its route was made after this was told; editing routes repeats nothing")
        }
    };
    let names = known.receivers.iter().map(String::as_str);
    names.filter(|name| !owed.contains(name) && !told.contains(name)).map(|name| why(&name)).collect()
}
