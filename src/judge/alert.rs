//! Composes what a message says of an incident at one revision, for every kind of receiver.
//!
//! Decides which words, in which order, and how much of a peer's text goes along; everything about how it looks in a
//! mail, on a console or in a webhook is left to the receivers. A peer's text is carried as data: whole values in
//! `items` and `details`, inert wherever it stands in a sentence of ours.

use jiff::{SignedDuration, Timestamp};

use super::consumers;
use crate::model::alert::{ALERT_SCHEMA, Alert, AlertCommands, AlertIncident, AlertLedger, AlertType};
use crate::model::confirm::Confirm;
use crate::model::drift::{Drift, DriftRow};
use crate::model::incident::{Incident, IncidentKind, UnitMark};
use crate::model::memory::Memory;
use crate::model::notice::Body;
use crate::model::policy::Policy;
use crate::model::rule::{Impact, Severity};
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetSummary;

mod details;
mod evidence;
mod excerpt;
mod full;
mod headline;
mod meanwhile;
mod reminder;
mod summary;
mod tally;
mod units;
pub(in crate::judge) mod words;

pub use meanwhile::{Meanwhile, MeanwhileChange};
pub use reminder::remind;
use units::UnitStory;
pub(in crate::judge) use words::span;

/// Everything that a message is composed from.
#[derive(Debug)]
pub struct Story<'a> {
    /// Whose scan, decision or tick it is.
    pub target: &'a TargetSummary,
    /// Whom the incident is about, the owner first.
    pub targets: &'a [&'a TargetSummary],
    /// For sight that is back: what differs from before.
    pub meanwhile: Option<&'a Meanwhile>,
    /// The incident, after the change, with its units numbered.
    pub incident: &'a Incident,
    /// What happened.
    pub kind: AlertType,
    /// The drifts of its units; those that just ended included.
    pub drifts: &'a [&'a DriftRow],
    /// The target's past, before this scan or decision.
    pub memory: &'a Memory,
    /// The scan that showed it; none for a decision or a tick.
    pub snapshot: Option<&'a Snapshot>,
    /// How it was confirmed.
    pub confirm: &'a Confirm,
    /// What the inventory says of who uses what.
    pub policy: &'a Policy,
    /// For an end by decision: who decided and why.
    pub decision: Option<&'a DecisionWords>,
    /// Now.
    pub now: Timestamp,
}

/// A decision, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionWords {
    /// Who: `person:NAME`.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

/// Composes the body of a message. Its alert's `id` is empty until notices are folded.
pub fn compose(story: &Story<'_>) -> Body {
    let told = units::in_message_order(story);
    let (units, more) = units::describe(&told, story.policy);
    let incident = story.incident;
    let alert = Alert {
        schema: ALERT_SCHEMA.to_owned(),
        id: String::new(),
        kind: story.kind,
        at: story.now,
        incident: Some(AlertIncident {
            id: incident.id,
            revision: incident.revision,
            state: state(incident).to_owned(),
            reason: incident.ended.as_ref().map(|ended| ended.reason),
            url: None,
        }),
        severity: severity(&told),
        impact: impact(&told),
        headline: headline::headline(story, &told),
        summary: summary::summary(story, &told),
        passages: Vec::new(),
        targets: story.targets.iter().map(|target| (*target).clone()).collect(),
        consumers: consumers::hit(story.policy, &standing(&told)).into_iter().map(|hit| hit.consumer).collect(),
        units,
        more,
        before: evidence::before(story),
        after: evidence::after(story),
        unseen: evidence::unseen(story),
        commands: commands(story, &told),
        ledger: AlertLedger { entry: story.memory.ledger.no, head: story.memory.ledger.hash.short() },
        evidence: evidence::evidence(story, &told),
    };
    Body { alert, full_diff: full::diff(story, &told), reply: is_reply(story.kind) }
}

/// The drifts of what stands; of an incident that ended, of all that stood.
fn standing<'t>(told: &'t [UnitStory<'_>]) -> Vec<&'t Drift> {
    let any_stands = told.iter().any(|told| told.unit.mark.stands());
    let counted = told.iter().filter(move |told| !any_stands || told.unit.mark.stands());
    counted.flat_map(UnitStory::rows).map(|row| &row.drift).collect()
}

/// Whether something was said of the incident before.
const fn is_reply(kind: AlertType) -> bool {
    match kind {
        AlertType::DriftOpened
        | AlertType::SightLost
        | AlertType::FleetReport
        | AlertType::Digest
        | AlertType::Test => false,
        AlertType::DriftChanged | AlertType::DriftReminder | AlertType::DriftResolved | AlertType::SightBack => true,
    }
}

/// The incident's state for people.
pub(super) fn state(incident: &Incident) -> &'static str {
    let mut standing = incident.units.iter().filter(|unit| unit.mark.stands()).peekable();
    if incident.ended.is_some() {
        "ended"
    } else if standing.peek().is_some() && standing.all(|unit| unit.mark == UnitMark::Rejected) {
        "rejected"
    } else if incident.acked.is_some() {
        "acked"
    } else {
        "open"
    }
}

/// The worst that stands and is confirmed, else the worst that stands, else the worst that stood.
fn severity(told: &[UnitStory<'_>]) -> Severity {
    let worst = |wanted: fn(UnitMark) -> bool| {
        told.iter().filter(|told| wanted(told.unit.mark)).map(|told| told.unit.severity).max()
    };
    worst(|mark| mark.stands() && mark != UnitMark::Pending)
        .or_else(|| worst(UnitMark::stands))
        .or_else(|| worst(|_| true))
        .unwrap_or(Severity::Info)
}

/// All impacts, the headline's first: what breaks, then in the order of the units.
fn impact(told: &[UnitStory<'_>]) -> Vec<Impact> {
    let any_stands = told.iter().any(|told| told.unit.mark.stands());
    let counted = told.iter().filter(|told| !any_stands || told.unit.mark.stands());
    let mut all: Vec<Impact> = Vec::new();
    if counted.clone().any(|told| told.unit.impact.first() == Some(&Impact::Breaking)) {
        all.push(Impact::Breaking);
    }
    for impact in counted.flat_map(|told| &told.unit.impact) {
        if !all.contains(impact) {
            all.push(*impact);
        }
    }
    all
}

/// How to decide on exactly what this message shows; sight is acked, never accepted.
fn commands(story: &Story<'_>, told: &[UnitStory<'_>]) -> AlertCommands {
    let standing: Vec<u32> = told.iter().filter(|told| told.unit.mark.stands()).map(|told| told.unit.n).collect();
    if story.incident.ended.is_some() || standing.is_empty() {
        return AlertCommands::default();
    }
    let reference = words::reference(story.incident);
    let ack = ack(&reference, story.now);
    if story.incident.kind == IncidentKind::Sight {
        return AlertCommands { ack, ..AlertCommands::default() };
    }
    let except = match standing.as_slice() {
        [] | [_] => String::new(),
        [first, ..] => {
            // The item most likely to be held back is the last of those to decide.
            let last = told.iter().rfind(|told| told.unit.mark.stands() && told.is_to_decide());
            let n = last.map_or(*first, |told| told.unit.n);
            format!("driftd drift accept {reference} --except {n} --reason \"...\"")
        }
    };
    AlertCommands {
        accept: format!("driftd drift accept {reference} --reason \"...\""),
        accept_except: except,
        reject: format!("driftd drift reject {reference} --reason \"...\""),
        ack,
    }
}

/// A week of quiet.
fn ack(reference: &str, now: Timestamp) -> String {
    const WEEK: SignedDuration = SignedDuration::from_hours(7 * 24);
    let until = now.checked_add(WEEK).unwrap_or(now).strftime("%Y-%m-%d");
    format!("driftd drift ack {reference} --until {until}")
}

#[cfg(test)]
mod tests;
