//! The open units of one owner: when an incident opens, gets a revision, and ends (design, section 5).
//!
//! A target has at most one incident of drift and one of sight of its own; one that targets of a host share is `host`'s. Which drifts are one unit is `fold`'s; here is what
//! joins, what counts as news (a unit added, a value or severity changed), and what the end was. A unit that confirms,
//! reverts or is settled only changes its mark.

mod moved;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::fold::Folding;
use super::life::{Transition, Turn, is_sight};
use super::notices;
use crate::model::alert::AlertType;
use crate::model::digest::Digest;
use crate::model::drift::{DriftRow, DriftState, Fingerprint};
use crate::model::facet::FacetName;
use crate::model::incident::{EndReason, Ended, Incident, IncidentId, IncidentKind, Unit, UnitMark};
use crate::model::notice::Event;
use crate::model::pointer::Pointer;
use crate::model::rule::{Impact, Severity};
use crate::model::target::TargetId;

/// What a step of incidents happens in.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// Whose incident.
    pub target: &'a TargetId,
    /// Ids of all incidents there ever were.
    pub ids: &'a BTreeSet<IncidentId>,
    /// Ids that this very step gave to others.
    pub also_taken: &'a [IncidentId],
    /// Our own rules are others now: severities that change with them are no news.
    pub own_rules: bool,
    /// Folds drifts into units.
    pub fold: fn(&[Folding<'_>], &[Unit]) -> Vec<Unit>,
    /// Now.
    pub now: Timestamp,
}

/// What became of an incident.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IncidentStep {
    /// The incident as it stands now, when it is new or changed; an end included.
    pub incident: Option<Incident>,
    /// What may be owed for it.
    pub event: Option<Event>,
}

/// The step of a target's incident of `kind`.
///
/// `rows` are the target's drifts that stand or ended just now, by id; which incident they belong to is written into
/// them. `transitions` say what they were before.
pub fn incident_step(
    known: Option<&Incident>,
    kind: IncidentKind,
    rows: &mut BTreeMap<Digest, DriftRow>,
    transitions: &[Transition],
    owner: &Owner<'_>,
) -> IncidentStep {
    let Some(mut incident) = known.cloned().or_else(|| opening(kind, rows, owner)) else {
        return IncidentStep::default();
    };
    join(incident.id, kind, rows, owner.now);
    let before = std::mem::take(&mut incident.units);
    let marked = leave(&before, incident.id, rows);
    let foldings = standing(incident.id, rows);
    let places = foldings.iter().map(|folding| (folding.drift.facet, folding.drift.path.clone())).collect();
    incident.units = moved::follow((owner.fold)(&foldings, &marked), &marked, &places);

    let member = |row: &&DriftRow| row.incident == Some(incident.id) && stands(row);
    let confirmed =
        rows.values().filter(member).any(|row| matches!(row.state, DriftState::Open | DriftState::Rejected));
    let (kind_of_event, reason) = if !confirmed {
        let reason = end_reason(incident.id, rows, transitions);
        incident.ended = Some(Ended { at: owner.now, reason });
        part(incident.id, rows);
        (Some(ending(kind)), Some(reason))
    } else if known.is_none() {
        (Some(beginning(kind)), None)
    } else if has_news(&before, &incident.units, owner.own_rules) {
        incident.revision = incident.revision.saturating_add(1);
        (Some(changing(kind)), None)
    } else {
        (None, None)
    };
    let event = kind_of_event.map(|kind| event(kind, &incident, &before, reason, owner));
    // What is not told any more has left; its unit keeps the mark.
    for row in rows.values_mut().filter(|row| row.incident == Some(incident.id) && row.suppressed.is_some()) {
        row.incident = None;
    }
    IncidentStep { incident: Some(incident).filter(|incident| known != Some(incident)), event }
}

/// The incident that the first confirmed drift opens.
fn opening(kind: IncidentKind, rows: &BTreeMap<Digest, DriftRow>, owner: &Owner<'_>) -> Option<Incident> {
    let first = rows.values().filter(|row| confirmed_alone(row, kind)).map(|row| row.drift.fingerprint).min()?;
    Some(Incident {
        id: new_id(owner, first),
        owner: owner.target.clone(),
        with: Vec::new(),
        kind,
        revision: 1,
        units: Vec::new(),
        acked: None,
        opened_at: owner.now,
        ended: None,
    })
}

/// 25 bits of a hash over owner, first fingerprint and opening scan; the next probe on collision.
pub(super) fn new_id(owner: &Owner<'_>, first: Fingerprint) -> IncidentId {
    let at = owner.now.as_millisecond().to_string();
    let seed = Digest::of_parts([owner.target.to_string(), first.to_string(), at]);
    let mut id = IncidentId::from_digest(seed, 0);
    // With all 2^25 ids taken no probe helps; long before that there are other troubles.
    for probe in 1..10_000 {
        if !owner.ids.contains(&id) && !owner.also_taken.contains(&id) {
            break;
        }
        id = IncidentId::from_digest(seed, probe);
    }
    id
}

fn is_kind(row: &DriftRow, kind: IncidentKind) -> bool {
    match kind {
        IncidentKind::Drift => !is_sight(row.drift.facet),
        IncidentKind::Sight => is_sight(row.drift.facet),
    }
}

/// Whether it stands, and may be told.
const fn stands(row: &DriftRow) -> bool {
    !row.state.is_ended() && row.suppressed.is_none()
}

fn confirmed_alone(row: &DriftRow, kind: IncidentKind) -> bool {
    is_kind(row, kind)
        && row.incident.is_none()
        && stands(row)
        && matches!(row.state, DriftState::Open | DriftState::Rejected)
}

/// What was confirmed joins, and with it what has been pending for as long: both sightings show it.
fn join(id: IncidentId, kind: IncidentKind, rows: &mut BTreeMap<Digest, DriftRow>, now: Timestamp) {
    let Some(since) = rows.values().filter(|row| confirmed_alone(row, kind)).map(|row| row.since).max() else { return };
    for row in rows.values_mut().filter(|row| is_kind(row, kind) && row.incident.is_none() && stands(row)) {
        let alike = row.state == DriftState::Pending && !row.held && row.since <= since && row.last_at == now;
        if alike || matches!(row.state, DriftState::Open | DriftState::Rejected) {
            row.incident = Some(id);
        }
    }
}

/// Known units, those marked whose last drift has left.
fn leave(units: &[Unit], id: IncidentId, rows: &BTreeMap<Digest, DriftRow>) -> Vec<Unit> {
    let by_key = |standing: bool| {
        let rows = rows.values().filter(move |row| row.incident == Some(id) && stands(row) == standing);
        rows.map(|row| ((row.drift.facet, &row.drift.path), mark_of(row))).collect::<BTreeMap<_, _>>()
    };
    let (standing, left) = (by_key(true), by_key(false));
    let mark = |unit: &Unit| {
        let stands = unit.members.iter().any(|member| standing.contains_key(&(member.facet, &member.path)));
        if stands || !unit.mark.stands() {
            return unit.clone();
        }
        let ends = unit.members.iter().filter_map(|member| left.get(&(member.facet, &member.path)));
        let mark = ends.copied().max().unwrap_or(UnitMark::Reverted);
        Unit { mark, ..unit.clone() }
    };
    units.iter().map(mark).collect()
}

const fn mark_of(row: &DriftRow) -> UnitMark {
    match row.state {
        DriftState::Pending | DriftState::Open | DriftState::Rejected if row.suppressed.is_some() => UnitMark::Ignored,
        DriftState::Pending => UnitMark::Pending,
        DriftState::Open => UnitMark::Open,
        DriftState::Rejected => UnitMark::Rejected,
        DriftState::Transient | DriftState::Reverted => UnitMark::Reverted,
        DriftState::Accepted => UnitMark::Accepted,
        DriftState::Retired => UnitMark::Retired,
    }
}

fn standing(id: IncidentId, rows: &BTreeMap<Digest, DriftRow>) -> Vec<Folding<'_>> {
    let members = rows.values().filter(|row| row.incident == Some(id) && stands(row));
    let mut foldings: Vec<_> = members.map(|row| Folding { drift: &row.drift, mark: mark_of(row) }).collect();
    foldings.sort_by(|a, b| (a.drift.facet, &a.drift.path).cmp(&(b.drift.facet, &b.drift.path)));
    foldings
}

/// Whether a unit was added, or a value or severity in one changed (not one that our own rules changed).
fn has_news(before: &[Unit], after: &[Unit], own_rules: bool) -> bool {
    let known: BTreeMap<u32, &Unit> = before.iter().map(|unit| (unit.n, unit)).collect();
    after.iter().filter(|unit| unit.mark.stands()).any(|unit| match known.get(&unit.n) {
        None => true,
        Some(known) if !known.mark.stands() => true,
        Some(known) => {
            let then = values(known);
            let now = values(unit);
            let joined = now.iter().any(|(place, value)| then.get(place) != Some(value));
            // That the worst of it has left is no news; that the same drifts are worse or milder now is.
            let weighs = unit.severity > known.severity || (unit.severity != known.severity && then.len() == now.len());
            joined || (weighs && !own_rules)
        }
    })
}

fn values(unit: &Unit) -> BTreeMap<(FacetName, &Pointer), Fingerprint> {
    unit.members.iter().map(|member| ((member.facet, &member.path), member.fingerprint)).collect()
}

/// The most decided way of those that left just now.
fn end_reason(id: IncidentId, rows: &BTreeMap<Digest, DriftRow>, transitions: &[Transition]) -> EndReason {
    let left =
        transitions.iter().filter(|transition| rows.get(&transition.id).is_some_and(|row| row.incident == Some(id)));
    let ended = left.filter_map(|transition| match transition.turn {
        Turn::Ended { from, to } => reason_of(from, to),
        Turn::Appeared | Turn::Confirmed | Turn::Changed => None,
    });
    let ignored = rows.values().filter(|row| row.incident == Some(id) && mark_of(row) == UnitMark::Ignored);
    ended.chain(ignored.map(|_| EndReason::Ignored)).max().unwrap_or(EndReason::Reverted)
}

/// How a drift ended; `None` while it has not.
#[must_use]
pub fn reason_of(from: DriftState, to: DriftState) -> Option<EndReason> {
    match to {
        DriftState::Pending | DriftState::Open | DriftState::Rejected => None,
        DriftState::Transient | DriftState::Reverted => {
            Some(if from == DriftState::Rejected { EndReason::Rejected } else { EndReason::Reverted })
        }
        DriftState::Accepted => Some(EndReason::Accepted),
        DriftState::Retired => Some(EndReason::Retired),
    }
}

/// What is pending in an incident that ends may open another.
fn part(id: IncidentId, rows: &mut BTreeMap<Digest, DriftRow>) {
    for row in rows.values_mut().filter(|row| row.incident == Some(id) && !row.state.is_ended()) {
        row.incident = None;
    }
}

/// What may be owed for a step: `before` are the units before it, of which an end tells.
pub(super) fn event(
    kind: AlertType,
    incident: &Incident,
    before: &[Unit],
    reason: Option<EndReason>,
    owner: &Owner<'_>,
) -> Event {
    let stood = |unit: &&Unit| if reason.is_some() { true } else { unit.mark.stands() };
    let units = || incident.units.iter().chain(before.iter().filter(|_| reason.is_some())).filter(stood);
    let mut impact = Vec::<Impact>::new();
    for each in units().flat_map(|unit| &unit.impact) {
        if !impact.contains(each) {
            impact.push(*each);
        }
    }
    Event {
        kind,
        incident: incident.id,
        revision: incident.revision,
        target: owner.target.clone(),
        severity: units().map(|unit| unit.severity).max().unwrap_or(Severity::Info),
        impact,
        urgent: incident.kind == IncidentKind::Sight || units().any(notices::is_urgent),
        reason,
        at: owner.now,
    }
}

const fn beginning(kind: IncidentKind) -> AlertType {
    match kind {
        IncidentKind::Drift => AlertType::DriftOpened,
        IncidentKind::Sight => AlertType::SightLost,
    }
}

const fn changing(kind: IncidentKind) -> AlertType {
    match kind {
        IncidentKind::Drift => AlertType::DriftChanged,
        IncidentKind::Sight => AlertType::SightLost,
    }
}

const fn ending(kind: IncidentKind) -> AlertType {
    match kind {
        IncidentKind::Drift => AlertType::DriftResolved,
        IncidentKind::Sight => AlertType::SightBack,
    }
}

#[cfg(test)]
mod tests;
