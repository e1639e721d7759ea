//! One incident for a host: targets of one host that are lost in one window are lost by one cause, and told as one
//! (design, section 5: an incident).
//!
//! Each target keeps the life of its own loss; what they share is the incident. A target is settled by itself, so a
//! step moves its own drift only and reads those of its kin. Here is who joins, what is news and when it ends; a
//! target that fails alone has an incident of its own, by `incident`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::SignedDuration;
use url::Url;

use super::incident::{self, IncidentStep, Owner};
use super::life::{Transition, Turn};
use super::rules;
use crate::model::alert::AlertType;
use crate::model::confirm::Confirm;
use crate::model::digest::Digest;
use crate::model::drift::{DriftRow, DriftState, Fingerprint};
use crate::model::facet::Facet;
use crate::model::incident::{EndReason, Ended, Incident, IncidentId, IncidentKind, Member, Unit, UnitMark};
use crate::model::memory::Kin;
use crate::model::pointer::Pointer;
use crate::model::target::TargetId;

/// Losses further apart than class sight's time have causes of their own; with less than this they are never.
const LEAST_WINDOW: Duration = Duration::from_mins(1);

/// What a step of a host's incident looks at besides the target's own drifts.
#[derive(Clone, Copy, Debug)]
pub struct Host<'a> {
    /// Its URL, for the host's name.
    pub url: &'a str,
    /// Other targets of the host.
    pub kin: &'a [Kin],
    /// What confirms.
    pub confirm: &'a Confirm,
}

/// A target that is lost, as it counts for the incident.
#[derive(Clone, Copy, Debug)]
struct Lost<'a> {
    target: &'a TargetId,
    row: &'a DriftRow,
}

/// Whether `path` of facet `scan` is the whole endpoint.
#[must_use]
pub fn is_endpoint(path: &Pointer) -> bool {
    path.depth() == 1 && path.token(0) == Some("endpoint")
}

/// Whether a row tells that the whole endpoint cannot be seen.
#[must_use]
pub fn is_loss(row: &DriftRow) -> bool {
    row.drift.facet.facet == Facet::Scan && is_endpoint(&row.drift.path)
}

/// Whether it stands, and may be told.
const fn stands(row: &DriftRow) -> bool {
    !row.state.is_ended() && row.suppressed.is_none()
}

/// The host that a URL names, for people; empty where it names none.
#[must_use]
pub fn name(url: &str) -> String {
    Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

/// The step of the incident that the target shares with its kin, if it does.
///
/// `rows` are the target's drifts that stand or ended just now; which incident its loss belongs to is written there.
pub fn host_step(
    standing: &[Incident],
    rows: &mut BTreeMap<Digest, DriftRow>,
    transitions: &[Transition],
    host: &Host<'_>,
    owner: &Owner<'_>,
) -> IncidentStep {
    let own = rows.values().filter(|row| is_loss(row)).max_by_key(|row| stands(row)).cloned();
    let known = standing.iter().find(|incident| incident.is_shared() && incident.is_about(owner.target));
    let known = known.or_else(|| joined(own.as_ref()?, host));
    let Some((mut incident, listed)) =
        known.map(|known| (known.clone(), listed(known))).or_else(|| opened(own.as_ref()?, host, owner))
    else {
        return IncidentStep::default();
    };
    let before = std::mem::take(&mut incident.units);
    let members = members(&incident, &listed, own.as_ref(), host, owner);
    if let Some(own) = members.iter().find(|lost| lost.target == owner.target && is_confirmed(lost.row)) {
        if let Some(row) = rows.get_mut(&own.row.id) {
            row.incident = Some(incident.id);
        }
        if !incident.is_about(owner.target) {
            incident.with.push(owner.target.clone());
        }
    }
    let (kind, reason) = if !members.iter().any(|lost| is_confirmed(lost.row)) {
        let reason = end_reason(own.as_ref(), transitions);
        incident.ended = Some(Ended { at: owner.now, reason });
        incident.units = ended(&before, reason);
        (Some(AlertType::SightBack), Some(reason))
    } else {
        incident.units = told(&before, &members, &name(host.url));
        if known.is_none() {
            (Some(AlertType::SightLost), None)
        } else if has_news(&before, &incident.units) {
            incident.revision = incident.revision.saturating_add(1);
            (Some(AlertType::SightLost), None)
        } else {
            (None, None)
        }
    };
    let event = kind.map(|kind| incident::event(kind, &incident, &before, reason, owner));
    // Who is not told any more has left.
    for row in rows.values_mut().filter(|row| row.incident == Some(incident.id) && row.suppressed.is_some()) {
        row.incident = None;
    }
    IncidentStep { incident: Some(incident).filter(|incident| known != Some(incident)), event }
}

const fn is_confirmed(row: &DriftRow) -> bool {
    match row.state {
        DriftState::Open | DriftState::Rejected => true,
        DriftState::Pending
        | DriftState::Transient
        | DriftState::Reverted
        | DriftState::Accepted
        | DriftState::Retired => false,
    }
}

fn is_alone(row: &DriftRow) -> bool {
    is_confirmed(row) && row.incident.is_none() && stands(row)
}

/// Whether two losses began in one window.
fn are_near(one: &DriftRow, other: &DriftRow, confirm: &Confirm) -> bool {
    let window = SignedDuration::try_from(confirm.sight.after.max(LEAST_WINDOW)).unwrap_or(SignedDuration::MAX);
    one.since.duration_since(other.since).abs() <= window
}

/// An incident of the target's kin that its loss, confirmed just now, belongs to as well: the oldest.
fn joined<'a>(own: &DriftRow, host: &Host<'a>) -> Option<&'a Incident> {
    let is_near = |lost: &DriftRow| stands(lost) && are_near(own, lost, host.confirm);
    let near = host.kin.iter().filter(|kin| kin.lost.as_ref().is_some_and(is_near));
    let incidents = near.filter_map(|kin| kin.incident.as_ref()).filter(|incident| is_of_endpoints(incident));
    incidents.filter(|_| is_alone(own)).min_by_key(|incident| (incident.opened_at, incident.id))
}

/// Whether all that it tells is that endpoints cannot be seen.
fn is_of_endpoints(incident: &Incident) -> bool {
    let members = || incident.units.iter().filter(|unit| unit.mark.stands()).flat_map(|unit| &unit.members);
    incident.kind == IncidentKind::Sight
        && incident.ended.is_none()
        && members().all(|member| is_endpoint(&member.path))
}

/// A new incident, when kin are lost in the window of the target's loss, and what it tells besides that.
fn opened(own: &DriftRow, host: &Host<'_>, owner: &Owner<'_>) -> Option<(Incident, BTreeSet<Fingerprint>)> {
    let lost =
        |kin: &&Kin| kin.lost.as_ref().is_some_and(|lost| lost.incident.is_none() && are_near(own, lost, host.confirm));
    let kin: Vec<&Kin> = host.kin.iter().filter(lost).collect();
    if kin.is_empty() || !is_alone(own) {
        return None;
    }
    let listed = kin.iter().filter_map(|kin| kin.lost.as_ref()).map(|lost| lost.drift.fingerprint).collect();
    let incident = Incident {
        id: incident::new_id(owner, own.drift.fingerprint),
        owner: owner.target.clone(),
        with: kin.iter().map(|kin| kin.target.id.clone()).collect(),
        kind: IncidentKind::Sight,
        revision: 1,
        units: Vec::new(),
        acked: None,
        opened_at: owner.now,
        ended: None,
    };
    Some((incident, listed))
}

/// The losses that an incident tells already.
fn listed(incident: &Incident) -> BTreeSet<Fingerprint> {
    let standing = incident.units.iter().filter(|unit| unit.mark.stands());
    standing.flat_map(|unit| &unit.members).map(|member| member.fingerprint).collect()
}

/// Who is lost by the incident's cause, in the order of their names: who was told, and who was confirmed in the
/// window of the others.
fn members<'a>(
    incident: &Incident,
    listed: &BTreeSet<Fingerprint>,
    own: Option<&'a DriftRow>,
    host: &Host<'a>,
    owner: &Owner<'a>,
) -> Vec<Lost<'a>> {
    let told = |row: &DriftRow| row.incident == Some(incident.id) || listed.contains(&row.drift.fingerprint);
    let kin = host.kin.iter().filter_map(|kin| Some(Lost { target: &kin.target.id, row: kin.lost.as_ref()? }));
    let mut members: Vec<Lost<'a>> = kin.filter(|lost| stands(lost.row) && told(lost.row)).collect();
    let is_new = |own: &DriftRow| {
        is_alone(own) && (members.is_empty() || members.iter().any(|lost| are_near(own, lost.row, host.confirm)))
    };
    if let Some(row) = own.filter(|row| stands(row) && (told(row) || is_new(row))) {
        members.push(Lost { target: owner.target, row });
    }
    members.sort_by_key(|lost| lost.target);
    members
}

/// The units after a step: what is lost now is one of them, the others stay as they ended.
fn told(before: &[Unit], members: &[Lost<'_>], host: &str) -> Vec<Unit> {
    let standing = before.iter().find(|unit| unit.mark.stands()).map(|unit| unit.n);
    let n = standing.unwrap_or_else(|| before.iter().map(|unit| unit.n).max().unwrap_or(0) + 1);
    let mut units: Vec<Unit> = before.iter().filter(|unit| !unit.mark.stands()).cloned().collect();
    units.extend(unit(n, members, host));
    units.sort_by_key(|unit| unit.n);
    units
}

fn unit(n: u32, members: &[Lost<'_>], host: &str) -> Option<Unit> {
    // The first of the worst.
    let worst = &members.iter().rev().max_by_key(|lost| lost.row.drift.severity)?.row.drift;
    let mut impact = worst.impact.clone();
    for each in members.iter().flat_map(|lost| &lost.row.drift.impact) {
        if !impact.contains(each) {
            impact.push(*each);
        }
    }
    let head = rules::explain(&worst.rule.rule).map_or("not seen", |rule| rule.head);
    Some(Unit {
        n,
        fold_key: "host".to_owned(),
        rule: worst.rule.clone(),
        severity: worst.severity,
        impact,
        title: match members {
            [_] => head.to_owned(),
            several => format!("{head}: {} targets of {host}", several.len()),
        },
        items: members.iter().map(|lost| lost.target.to_string()).collect(),
        members: members.iter().map(member).collect(),
        mark: if members.iter().any(|lost| is_confirmed(lost.row)) { UnitMark::Open } else { UnitMark::Pending },
    })
}

fn member(lost: &Lost<'_>) -> Member {
    let drift = &lost.row.drift;
    Member { facet: drift.facet, path: drift.path.clone(), fingerprint: drift.fingerprint }
}

/// Another target is lost, or it is worse now, or something else keeps us from seeing. Who is back is no news until
/// all are.
fn has_news(before: &[Unit], after: &[Unit]) -> bool {
    let Some(now) = after.iter().find(|unit| unit.mark.stands()) else { return false };
    let Some(then) = before.iter().find(|unit| unit.n == now.n && unit.mark.stands()) else { return true };
    let items: BTreeSet<&String> = then.items.iter().collect();
    let alone = then.items.is_empty();
    let joined = now.items.iter().any(|item| !items.contains(item)) && !(alone && now.items.len() == 1);
    let same_targets = then.items.len() == now.items.len() && !joined;
    joined || now.severity > then.severity || (same_targets && now.rule.rule != then.rule.rule)
}

fn ended(before: &[Unit], reason: EndReason) -> Vec<Unit> {
    let mark = match reason {
        EndReason::Retired => UnitMark::Retired,
        EndReason::Ignored => UnitMark::Ignored,
        EndReason::Reverted | EndReason::Rejected | EndReason::Accepted => UnitMark::Reverted,
    };
    let end = |unit: &Unit| if unit.mark.stands() { Unit { mark, ..unit.clone() } } else { unit.clone() };
    before.iter().map(end).collect()
}

/// How the last of them left.
fn end_reason(own: Option<&DriftRow>, transitions: &[Transition]) -> EndReason {
    if own.is_some_and(|own| own.suppressed.is_some()) {
        return EndReason::Ignored;
    }
    let turn = own.and_then(|own| transitions.iter().find(|transition| transition.id == own.id));
    match turn.map(|transition| transition.turn) {
        Some(Turn::Ended { from, to }) => incident::reason_of(from, to).unwrap_or(EndReason::Reverted),
        Some(Turn::Appeared | Turn::Confirmed | Turn::Changed) | None => EndReason::Reverted,
    }
}

/// Whose losses `incident` tells in `kin`'s rows; for the message.
pub fn losses<'a>(incident: &'a Incident, kin: &'a [Kin]) -> impl Iterator<Item = &'a DriftRow> {
    let told = |row: &&DriftRow| is_told(incident, row);
    kin.iter().filter_map(|kin| kin.lost.as_ref()).filter(told)
}

fn is_told(incident: &Incident, row: &DriftRow) -> bool {
    let belongs = |id: IncidentId| id == incident.id;
    let members = || incident.units.iter().flat_map(|unit| &unit.members);
    row.incident.is_some_and(belongs) || members().any(|member| member.fingerprint == row.drift.fingerprint)
}

#[cfg(test)]
mod tests;
