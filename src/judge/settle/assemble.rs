//! From the drifts after a step to the write-set: incidents, revisions, notices, history and counts.

use std::collections::{BTreeMap, BTreeSet};

use super::{Parts, Scene, meanwhile, own, recheck, said};
use crate::judge::alert::{DecisionWords, Meanwhile, Story};
use crate::judge::host::{self, Host};
use crate::judge::incident::{self, IncidentStep, Owner};
use crate::judge::life::{self, LifeStep, Transition, Turn};
use crate::judge::notices::{self, Audience};
use crate::model::alert::AlertType;
use crate::model::digest::Digest;
use crate::model::drift::{DriftRow, DriftState};
use crate::model::incident::{Incident, IncidentId, IncidentKind};
use crate::model::memory::{LedgerHead, Memory};
use crate::model::notice::{Event, Notice};
use crate::model::settlement::{HistoryLine, Revision, Settlement};
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetSummary;

/// A settlement that changes nothing.
pub(super) fn blank(scene: &Scene<'_>) -> Settlement {
    let memory = scene.memory;
    Settlement {
        recomputed: memory.recomputed.clone(),
        ..Settlement::unchanged(scene.target.id.clone(), memory.facets.clone(), memory.scans.clone())
    }
}

/// Completes a settlement with what follows from the drifts after a step.
pub(super) fn conclude(
    scene: &Scene<'_>,
    mut settlement: Settlement,
    step: LifeStep,
    snapshot: Option<&Snapshot>,
    decision: Option<&DecisionWords>,
) -> Settlement {
    remember_fleets(&mut settlement, &step);
    settlement.recheck = recheck(scene, &step.rows, &settlement);
    let mut rows: BTreeMap<Digest, DriftRow> = step.rows.into_iter().map(|row| (row.id, row)).collect();
    let stages = incidents(scene, &mut rows, &step.transitions);
    count(&mut settlement, &rows, &step.transitions);
    tell_turns(&mut settlement, scene, &rows, &step.transitions);
    let memory = told_memory(scene, &settlement);
    for IncidentStep { incident, event } in stages {
        let Some(incident) = incident else { continue };
        if let Some(event) = event {
            let kind = event.kind;
            let drifts = of_incident(scene, &rows, &incident);
            let targets = targets_of(scene, &incident);
            let meanwhile = meanwhile::of(kind, scene, &drifts, &rows, snapshot, &incident);
            let story = Story {
                target: scene.target,
                targets: &targets,
                meanwhile: meanwhile.as_ref(),
                incident: &incident,
                kind,
                drifts: &drifts,
                memory: memory.as_ref().unwrap_or(scene.memory),
                snapshot,
                confirm: scene.confirm,
                policy: scene.policy,
                decision,
                now: scene.now,
            };
            let Parts { compose, .. } = scene.parts;
            settlement.revisions.push(Revision {
                incident: incident.id,
                revision: incident.revision,
                at: scene.now,
                body: compose(&story),
            });
            settlement.history.push(incident_line(scene, &event));
            settlement.history.extend(meanwhile.map(|meanwhile| recovered(scene, &incident, &meanwhile)));
            owe(&mut settlement, scene, &incident, &event, &targets);
        }
        settlement.incidents.push(incident);
    }
    let before: BTreeMap<Digest, &DriftRow> = scene.memory.drifts.iter().map(|row| (row.id, row)).collect();
    settlement.drifts = rows.into_values().filter(|row| before.get(&row.id) != Some(&row)).collect();
    settlement
}

/// What an event owes. Of an incident that several targets share, whoever is to be told of one of them is told once.
fn owe(settlement: &mut Settlement, scene: &Scene<'_>, incident: &Incident, event: &Event, targets: &[&TargetSummary]) {
    let mut owed = BTreeSet::new();
    for target in targets {
        let audience = Audience { target, routes: scene.routes, receivers: scene.receivers, told: &scene.memory.told };
        let event = Event { target: target.id.clone(), ..event.clone() };
        let notices = notices::notice_step(std::slice::from_ref(&event), &audience, scene.now);
        let notices = notices.into_iter().filter(|notice| owed.insert(notice.id.clone()));
        settlement.notices.extend(notices.map(|notice| held(scene, incident, &event, notice)));
    }
}

/// What opens in the first round after a gap is held for the one message of that round.
fn held(scene: &Scene<'_>, incident: &Incident, event: &Event, mut notice: Notice) -> Notice {
    let begins = match event.kind {
        AlertType::DriftOpened | AlertType::DriftChanged => true,
        AlertType::DriftReminder
        | AlertType::DriftResolved
        | AlertType::SightLost
        | AlertType::SightBack
        | AlertType::FleetReport
        | AlertType::Digest
        | AlertType::Test => false,
    };
    if let Some(gap) = scene.times.gap.filter(|gap| begins && incident.opened_at >= gap.at) {
        notice.due_at = notice.due_at.max(gap.held_until());
    }
    notice
}

/// The steps of all incidents; one whose ack ran out is among them though nothing else happened to it.
fn incidents(
    scene: &Scene<'_>,
    rows: &mut BTreeMap<Digest, DriftRow>,
    transitions: &[Transition],
) -> Vec<IncidentStep> {
    let standing = scene.incidents();
    let mut taken = Vec::<IncidentId>::new();
    let mut stages = Vec::new();
    for stage in [Stage::Host, Stage::Own(IncidentKind::Drift), Stage::Own(IncidentKind::Sight)] {
        let owner = Owner {
            target: &scene.target.id,
            ids: &scene.memory.incident_ids,
            also_taken: &taken,
            own_rules: own::rules_differ(scene),
            fold: scene.parts.fold,
            now: scene.now,
        };
        let known = standing.iter().find(|incident| stage.is_of(incident));
        let mut step = match stage {
            Stage::Host => {
                let host = Host { url: &scene.target.url, kin: &scene.memory.kin, confirm: scene.confirm };
                host::host_step(&standing, rows, transitions, &host, &owner)
            }
            Stage::Own(kind) => incident::incident_step(known, kind, rows, transitions, &owner),
        };
        if step.incident.is_none() {
            step.incident = known.filter(|known| !scene.memory.incidents.contains(known)).cloned();
        }
        taken.extend(step.incident.as_ref().map(|incident| incident.id));
        stages.push(step);
    }
    stages
}

/// Whose incident is stepped: what a host's targets share comes first and takes its part of the target's sight.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Host,
    Own(IncidentKind),
}

impl Stage {
    fn is_of(self, incident: &Incident) -> bool {
        match self {
            Self::Host => incident.is_shared(),
            Self::Own(kind) => incident.kind == kind && !incident.is_shared(),
        }
    }
}

/// The drifts of an incident's units, those that just ended included, in the order of their places.
fn of_incident<'a>(
    scene: &Scene<'a>,
    rows: &'a BTreeMap<Digest, DriftRow>,
    incident: &'a Incident,
) -> Vec<&'a DriftRow> {
    let members: BTreeSet<_> =
        incident.units.iter().flat_map(|unit| &unit.members).map(|member| (member.facet, &member.path)).collect();
    let belongs =
        |row: &&DriftRow| row.incident == Some(incident.id) || members.contains(&(row.drift.facet, &row.drift.path));
    let mut drifts: Vec<_> = rows.values().filter(belongs).collect();
    if incident.is_shared() {
        drifts.extend(host::losses(incident, &scene.memory.kin));
    }
    drifts.sort_by(|a, b| (a.drift.facet, &a.drift.path, a.first_at).cmp(&(b.drift.facet, &b.drift.path, b.first_at)));
    drifts
}

/// Whom an incident is about, the owner first.
fn targets_of<'a>(scene: &Scene<'a>, incident: &Incident) -> Vec<&'a TargetSummary> {
    let known = || std::iter::once(scene.target).chain(scene.memory.kin.iter().map(|kin| &kin.target));
    incident.targets().filter_map(|id| known().find(|target| target.id == *id)).collect()
}

/// Memory with the ledger as it will be: a message carries the entry that it is about.
fn told_memory(scene: &Scene<'_>, settlement: &Settlement) -> Option<Memory> {
    let last = settlement.ledger.last()?;
    let ledger = LedgerHead { no: last.no, hash: last.hash() };
    Some(Memory { ledger, ..scene.memory.clone() })
}

fn remember_fleets(settlement: &mut Settlement, step: &LifeStep) {
    let fleets: BTreeMap<_, _> = step.rows.iter().filter_map(life::mixed_since).collect();
    for (name, facet) in &mut settlement.facets {
        facet.mixed_since = fleets.get(name).copied();
    }
}

fn count(settlement: &mut Settlement, rows: &BTreeMap<Digest, DriftRow>, transitions: &[Transition]) {
    for transition in transitions {
        let Some(row) = rows.get(&transition.id) else { continue };
        let rule = row.drift.rule.rule.clone();
        match transition.turn {
            Turn::Confirmed => settlement.detected.push(rule),
            Turn::Ended { from, to } if row.confirmed_at.is_some() && row.suppressed.is_none() => {
                settlement.closed.extend(incident::reason_of(from, to).map(|reason| (rule, reason)));
            }
            Turn::Ended { .. } | Turn::Appeared | Turn::Changed => {}
        }
    }
}

fn tell_turns(
    settlement: &mut Settlement,
    scene: &Scene<'_>,
    rows: &BTreeMap<Digest, DriftRow>,
    transitions: &[Transition],
) {
    for transition in transitions {
        let Some(row) = rows.get(&transition.id) else { continue };
        let event = match transition.turn {
            Turn::Appeared => "drift.pending".to_owned(),
            Turn::Confirmed if row.state == DriftState::Rejected => "drift.rejected".to_owned(),
            Turn::Confirmed => "drift.open".to_owned(),
            Turn::Changed => "drift.changed".to_owned(),
            Turn::Ended { to, .. } => format!("drift.{}", to.as_str()),
        };
        settlement.history.push(HistoryLine {
            place: Some((transition.facet, transition.path.clone())),
            drift: Some(row.id),
            incident: row.incident,
            ..said(scene, &event, row.drift.message.clone())
        });
    }
}

/// What changed while the target could not be seen, for the history.
fn recovered(scene: &Scene<'_>, incident: &Incident, meanwhile: &Meanwhile) -> HistoryLine {
    HistoryLine { incident: Some(incident.id), ..said(scene, "scan.recovered", meanwhile.in_short()) }
}

fn incident_line(scene: &Scene<'_>, event: &Event) -> HistoryLine {
    let what = match event.kind {
        AlertType::DriftOpened => "incident.open",
        AlertType::DriftChanged => "incident.changed",
        AlertType::SightLost if event.revision == 1 => "incident.open",
        AlertType::SightLost => "incident.changed",
        AlertType::DriftResolved | AlertType::SightBack => "incident.ended",
        AlertType::DriftReminder => "incident.reminder",
        // Of no incident, so no event is theirs.
        AlertType::FleetReport | AlertType::Digest | AlertType::Test => "incident",
    };
    let reason = event.reason.map(|reason| format!(", {}", reason.as_str())).unwrap_or_default();
    let text = format!("{}.{} ({}{reason})", event.incident, event.revision, event.severity);
    HistoryLine { incident: Some(event.incident), ..said(scene, what, text) }
}
