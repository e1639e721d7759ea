//! From the drifts after a step to the write-set: incidents, revisions, notices, history and counts.

use std::collections::{BTreeMap, BTreeSet};

use super::{Parts, Scene, own, recheck, said};
use crate::judge::alert::{DecisionWords, Story};
use crate::judge::incident::{self, IncidentStep, Owner};
use crate::judge::life::{self, LifeStep, Transition, Turn};
use crate::judge::notices::{self, Audience};
use crate::model::alert::AlertType;
use crate::model::digest::Digest;
use crate::model::drift::{DriftRow, DriftState};
use crate::model::incident::{Incident, IncidentId, IncidentKind};
use crate::model::memory::{LedgerHead, Memory};
use crate::model::notice::Event;
use crate::model::settlement::{HistoryLine, Revision, Settlement};
use crate::model::snapshot::Snapshot;

/// A settlement that changes nothing.
pub(super) fn blank(scene: &Scene<'_>) -> Settlement {
    Settlement {
        target: scene.target.id.clone(),
        drifts: Vec::new(),
        incidents: Vec::new(),
        revisions: Vec::new(),
        baseline: Vec::new(),
        approvals: Vec::new(),
        ended_approvals: Vec::new(),
        ledger: Vec::new(),
        notices: Vec::new(),
        facets: scene.memory.facets.clone(),
        scans: scene.memory.scans.clone(),
        history: Vec::new(),
        recheck: None,
        detected: Vec::new(),
        closed: Vec::new(),
        suppressed: Vec::new(),
        recomputed: scene.memory.recomputed.clone(),
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
    let mut events = Vec::new();
    for IncidentStep { incident, event } in stages {
        let Some(incident) = incident else { continue };
        if let Some(event) = event {
            let kind = event.kind;
            let drifts = of_incident(&rows, &incident);
            let story = Story {
                target: scene.target,
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
            events.push(event);
        }
        settlement.incidents.push(incident);
    }
    let audience =
        Audience { target: scene.target, routes: scene.routes, receivers: scene.receivers, told: &scene.memory.told };
    settlement.notices = notices::notice_step(&events, &audience, scene.now);
    let before: BTreeMap<Digest, &DriftRow> = scene.memory.drifts.iter().map(|row| (row.id, row)).collect();
    settlement.drifts = rows.into_values().filter(|row| before.get(&row.id) != Some(&row)).collect();
    settlement
}

/// The steps of both incidents; one whose ack ran out is among them though nothing else happened to it.
fn incidents(
    scene: &Scene<'_>,
    rows: &mut BTreeMap<Digest, DriftRow>,
    transitions: &[Transition],
) -> Vec<IncidentStep> {
    let standing = scene.incidents();
    let mut taken = None::<IncidentId>;
    let mut stages = Vec::new();
    for kind in [IncidentKind::Drift, IncidentKind::Sight] {
        let known = standing.iter().find(|incident| incident.kind == kind);
        let owner = Owner {
            target: &scene.target.id,
            ids: &scene.memory.incident_ids,
            also_taken: taken,
            own_rules: own::rules_differ(scene),
            fold: scene.parts.fold,
            now: scene.now,
        };
        let mut stage = incident::incident_step(known, kind, rows, transitions, &owner);
        if stage.incident.is_none() {
            stage.incident = known.filter(|known| !scene.memory.incidents.contains(known)).cloned();
        }
        taken = stage.incident.as_ref().map(|incident| incident.id).or(taken);
        stages.push(stage);
    }
    stages
}

/// The drifts of an incident's units, those that just ended included, in the order of their places.
fn of_incident<'a>(rows: &'a BTreeMap<Digest, DriftRow>, incident: &Incident) -> Vec<&'a DriftRow> {
    let members: BTreeSet<_> =
        incident.units.iter().flat_map(|unit| &unit.members).map(|member| (member.facet, &member.path)).collect();
    let belongs =
        |row: &&DriftRow| row.incident == Some(incident.id) || members.contains(&(row.drift.facet, &row.drift.path));
    let mut drifts: Vec<_> = rows.values().filter(belongs).collect();
    drifts.sort_by(|a, b| (a.drift.facet, &a.drift.path, a.first_at).cmp(&(b.drift.facet, &b.drift.path, b.first_at)));
    drifts
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

fn incident_line(scene: &Scene<'_>, event: &Event) -> HistoryLine {
    let what = match event.kind {
        AlertType::DriftOpened => "incident.open",
        AlertType::DriftChanged => "incident.changed",
        AlertType::SightLost if event.revision == 1 => "incident.open",
        AlertType::SightLost => "incident.changed",
        AlertType::DriftResolved | AlertType::SightBack => "incident.ended",
    };
    let reason = event.reason.map(|reason| format!(", {}", reason.as_str())).unwrap_or_default();
    let text = format!("{}.{} ({}{reason})", event.incident, event.revision, event.severity);
    HistoryLine { incident: Some(event.incident), ..said(scene, what, text) }
}
