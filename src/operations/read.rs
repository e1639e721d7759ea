//! The questions.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::document::{
    Approval, Baseline, BaselineFacet, Facet, HistoryLine, Incident, IncidentInFull, Message, MessageInFull, Stands,
    Target, TargetInFull, UnitLine,
};
use super::reference::Reference;
use super::words::count;
use super::{Answer, Office, Refused, document};
use crate::judge::{self, life, settle};
use crate::model::condition::Condition;
use crate::model::drift::{DriftRow, DriftState};
use crate::model::facet::{FacetName, FacetState};
use crate::model::fleet::Blindness;
use crate::model::incident::{Incident as Row, IncidentKind};
use crate::model::memory::Memory;
use crate::model::notice;
use crate::model::policy::{self, Suppressed};
use crate::model::rule::Severity;
use crate::model::snapshot::Coverage;
use crate::model::target::TargetId;
use crate::plan::Plan;
use crate::store::{
    DriftFilter, Found, LastScan, MessageFilter, Overview, StoredSnapshot, TargetRow, TargetState, marks,
};

/// Targets whose last scans are read in one query.
const RESUMED_AT_ONCE: usize = 1000;

impl Office {
    pub(super) async fn targets(&self) -> Result<Answer, Refused> {
        let incidents = self.store.incidents(true).await?;
        let overviews = self.store.overviews().await?;
        let rows = self.store.targets().await?;
        let standing = self.store.drifts(&DriftFilter { open: true, ..DriftFilter::default() }).await?;
        let losing: BTreeMap<&TargetId, &DriftRow> =
            standing.iter().filter(|drift| is_losing(&drift.row)).map(|drift| (&drift.target, &drift.row)).collect();
        let mut last = BTreeMap::new();
        for part in rows.chunks(RESUMED_AT_ONCE) {
            let ids: Vec<TargetId> = part.iter().map(|row| row.summary.id.clone()).collect();
            let resumed = self.store.resume(&ids).await?;
            last.extend(resumed.into_iter().filter_map(|(id, resumed)| Some((id, resumed.last?))));
        }
        let offline_since = self.offline_since().await?;
        let all = rows.iter().map(|row| {
            let id = &row.summary.id;
            let known = Known {
                overview: overviews.get(id).copied().unwrap_or_default(),
                losing: losing.get(id).copied(),
                last: last.get(id),
                offline_since,
            };
            self.target_document(row, known, &incidents)
        });
        Ok(Answer::Targets(all.collect()))
    }

    pub(super) async fn target(&self, id: &str) -> Result<Answer, Refused> {
        let id = self.known_target(id).await?;
        let Some(row) = self.store.target(&id).await? else { return Err(no_target(id.as_str())) };
        let memory = self.store.memory(&id).await?;
        let snapshot = self.store.latest_snapshot(&id).await?;
        let facets = snapshot.as_ref().map(|snapshot| facets(snapshot, &memory)).unwrap_or_default();
        let target = self.target_now(&row, &memory).await?;
        Ok(Answer::Target(Box::new(TargetInFull {
            target,
            digest: snapshot.as_ref().map(|snapshot| snapshot.digest),
            protocol: snapshot.as_ref().map(|snapshot| super::words::protocol(&snapshot.mcp)),
            facets,
            ignores: self.ignores(&id, &memory),
        })))
    }

    /// What the inventory does not want told of `id`, and whether that is of use.
    fn ignores(&self, id: &TargetId, memory: &Memory) -> Vec<document::Ignore> {
        let plan = self.plan.plan();
        let written = plan.targets.get(id).into_iter().flat_map(|target| &target.policy.ignore);
        let document = |ignore: &policy::Ignore| {
            let used = memory.scans.ignores.get(&settle::ignore_key(ignore));
            let kept = memory
                .drifts
                .iter()
                .filter(|row| row.suppressed.is_some() && judge::policy::matches(&ignore.matches, &row.drift));
            document::Ignore {
                matches: ignore.matches.to_string(),
                reason: ignore.reason.clone(),
                until: ignore.until,
                last_used: used.map(|used| used.last.unwrap_or(used.since)),
                unused: used.is_some_and(|used| used.told),
                drifts: count(kept.count()),
            }
        };
        written.map(document).collect()
    }

    /// The document of one target.
    pub(super) async fn target_now(&self, row: &TargetRow, memory: &Memory) -> Result<Target, Refused> {
        let incidents = self.store.incidents(true).await?;
        let resumed = self.store.resume(std::slice::from_ref(&row.summary.id)).await?;
        let known = Known {
            overview: Overview { held: count(memory.baseline.len()), awaiting: Overview::awaiting(&memory.facets) },
            losing: memory.drifts.iter().find(|row| is_losing(row)),
            last: resumed.get(&row.summary.id).and_then(|resumed| resumed.last.as_ref()),
            offline_since: self.offline_since().await?,
        };
        Ok(self.target_document(row, known, &incidents))
    }

    fn target_document(&self, row: &TargetRow, known: Known<'_>, incidents: &[Row]) -> Target {
        let id = &row.summary.id;
        let mine: Vec<&Row> = incidents.iter().filter(|incident| incident.is_about(id)).collect();
        let state = match row.state {
            TargetState::Retired => "retired",
            TargetState::Active if self.is_paused(id) => "paused",
            TargetState::Active => "active",
        };
        let due = self.next_scan(id);
        Target {
            id: id.to_string(),
            kind: row.summary.kind.to_string(),
            url: row.summary.url.clone(),
            labels: row.summary.labels.clone(),
            state: state.to_owned(),
            outcome: row.outcome.map(|outcome| outcome.to_string()),
            last_scan: row.last_scan,
            last_ok: row.last_ok,
            next_scan: due.map(|due| due.at),
            next_why: due.map(|due| due.why.as_str().to_owned()),
            sight: super::words::sight(row.outcome).to_owned(),
            failing: known.losing.map(|row| failing(row, &self.plan.plan(), id)),
            coverage: known.last.map(super::words::coverage),
            baseline_facets: known.overview.held,
            awaiting_approval: known.overview.awaiting,
            incidents: mine.iter().map(|incident| format!("{}.{}", incident.id, incident.revision)).collect(),
            severity: mine.iter().filter_map(|incident| standing_severity(incident)).max(),
            standing: mine.iter().map(|incident| stands(incident)).collect(),
            offline_since: known.offline_since,
        }
    }

    /// Since when driftd itself is offline, as a daemon that runs has written down; without one nobody knows.
    pub(super) async fn offline_since(&self) -> Result<Option<Timestamp>, Refused> {
        if self.daemon.is_none() {
            return Ok(None);
        }
        let written = self.store.mark(marks::BLIND).await?;
        let blindness = written.and_then(|written| serde_json::from_str::<Blindness>(&written).ok());
        Ok(blindness.map(|blindness| blindness.since))
    }

    pub(super) async fn drifts(&self) -> Result<Answer, Refused> {
        let incidents = self.store.incidents(true).await?;
        let mut all: Vec<Incident> = incidents.iter().map(incident_document).collect();
        let rows = self.store.drifts(&DriftFilter { open: true, ..DriftFilter::default() }).await?;
        let mut pending: BTreeMap<(TargetId, bool, bool), Vec<DriftRow>> = BTreeMap::new();
        for drift in rows.into_iter().filter(|drift| drift.row.incident.is_none()) {
            let sight = drift.row.drift.facet == FacetName::stranger(crate::model::facet::Facet::Scan);
            let told = drift.row.suppressed.is_none();
            pending.entry((drift.target, sight, told)).or_default().push(drift.row);
        }
        let loose = pending.into_iter();
        all.extend(loose.map(|((target, sight, told), rows)| loose_document(&target, sight, told, &rows)));
        // What is not to be told comes last, however bad it would be.
        let told = |incident: &Incident| incident.state != IGNORED;
        all.sort_by(|a, b| (told(b), b.severity).cmp(&(told(a), a.severity)).then_with(|| a.since.cmp(&b.since)));
        Ok(Answer::Drifts(all))
    }

    pub(super) async fn drift(&self, reference: &str) -> Result<Answer, Refused> {
        let (id, revision) = match reference.parse()? {
            Reference::Incident(id, revision) => (id, revision),
            Reference::Fingerprint(prefix) => {
                let drift = one(self.store.drift(&prefix).await?, "drift", reference)?;
                if let Some(why) = drift.row.suppressed.as_ref().filter(|_| !drift.row.state.is_ended()) {
                    let (what, why) = (&drift.row.drift.message, why_not_told(why));
                    return Err(Refused::NotFound(format!("{reference} is recorded and not told ({why}): {what}")));
                }
                let Some(id) = drift.row.incident else {
                    return Err(Refused::NotFound(format!(
                        "{reference} is {} and belongs to no incident yet; `driftd drift` lists it",
                        drift.row.state.as_str()
                    )));
                };
                (id, None)
            }
        };
        let Some(incident) = self.store.incident(id).await? else {
            return Err(Refused::NotFound(format!(
                "no incident is called {id}; `driftd drift` lists those that stand"
            )));
        };
        let revision = revision.unwrap_or(incident.revision);
        let Some(body) = self.store.revision(id, revision, None).await? else {
            let newest = incident.revision;
            return Err(Refused::NotFound(format!("{id} has no revision {revision}; its newest is {newest}")));
        };
        Ok(Answer::Drift(Box::new(IncidentInFull {
            alert: body.alert,
            full_diff: body.full_diff,
            newest_revision: incident.revision,
        })))
    }

    pub(super) async fn baseline(&self, id: &str) -> Result<Answer, Refused> {
        let id = self.known_target(id).await?;
        let memory = self.store.memory(&id).await?;
        let newest = self.store.latest_snapshot(&id).await?.map(|snapshot| snapshot.digest);
        let awaiting =
            memory.facets.iter().filter(|(_, facet)| facet.awaiting_approval).map(|(name, _)| name.to_string());
        Ok(Answer::Baseline(Baseline {
            target: id.to_string(),
            facets: held(&memory),
            approvals: approvals(&memory),
            awaiting: awaiting.collect(),
            newest,
        }))
    }

    pub(super) async fn alerts(&self) -> Result<Answer, Refused> {
        let messages = self.store.messages(&MessageFilter { limit: 200, ..MessageFilter::default() }).await?;
        let conditions: BTreeMap<String, Condition> = self.store.conditions().await?.into_iter().collect();
        let document = |message: &notice::Message| message_document(message, conditions.get(&message.receiver));
        Ok(Answer::Alerts(messages.iter().map(document).collect()))
    }

    pub(super) async fn alert(&self, id: &str) -> Result<Answer, Refused> {
        let message = one(self.store.message(id).await?, "message", id)?;
        let condition = self.store.condition(&message.receiver).await?;
        let document = message_document(&message, Some(&condition));
        Ok(Answer::Alert(Box::new(MessageInFull { message: document, alert: message.body.alert })))
    }

    pub(super) async fn history(&self, target: Option<&str>, limit: u32) -> Result<Answer, Refused> {
        let target = match target {
            Some(id) => Some(self.known_target(id).await?),
            None => None,
        };
        let rows = self.store.history(target.as_ref(), limit).await?;
        let lines = rows.into_iter().map(|row| HistoryLine {
            at: row.line.at,
            target: row.target.map(|target| target.to_string()),
            event: row.line.event,
            place: row.line.place.map(|(facet, path)| format!("{facet}{path}")),
            incident: row.line.incident.map(|incident| incident.to_string()),
            text: row.line.text,
        });
        Ok(Answer::History(lines.collect()))
    }

    /// The target called `id`, when the store knows it.
    pub(super) async fn known_target(&self, id: &str) -> Result<TargetId, Refused> {
        let parsed: TargetId = id.parse().map_err(|error| Refused::Usage(format!("{id:?}: {error}")))?;
        if self.store.target(&parsed).await?.is_none() {
            return Err(no_target(id));
        }
        Ok(parsed)
    }
}

/// What a target is held to, by facet.
pub(super) fn held(memory: &Memory) -> Vec<BaselineFacet> {
    let document = |facet: &crate::model::baseline::BaselineFacet| BaselineFacet {
        facet: facet.facet.to_string(),
        digest: facet.digest,
        values: count(facet.values.len()),
        at: facet.at,
        by: facet.by.clone(),
        reason: facet.reason.clone(),
        reviewed: facet.reviewed,
        entry: facet.entry,
        date: facet.asked.date.clone(),
    };
    memory.baseline.values().map(document).collect()
}

/// What was accepted at single places.
pub(super) fn approvals(memory: &Memory) -> Vec<Approval> {
    let document = |approval: &crate::model::baseline::Approval| Approval {
        facet: approval.facet.to_string(),
        path: approval.path.to_string(),
        at: approval.at,
        by: approval.by.clone(),
        until: approval.until,
        entry: approval.entry,
    };
    memory.approvals.iter().map(document).collect()
}

/// What a prefix led to, or why it led nowhere.
pub(super) fn one<T>(found: Found<T>, what: &str, reference: &str) -> Result<T, Refused> {
    match found {
        Found::One(thing) => Ok(thing),
        Found::None => Err(Refused::NotFound(format!("no {what} is called {reference}"))),
        Found::Several => Err(Refused::Usage(format!("{reference} names more than one {what}; give more of it"))),
    }
}

pub(super) fn no_target(id: &str) -> Refused {
    Refused::NotFound(format!("no target is called {id}; `driftd targets` lists them"))
}

/// What the document of a target is made from beside its row.
#[derive(Clone, Copy)]
struct Known<'a> {
    overview: Overview,
    /// The loss of its sight that is not confirmed yet.
    losing: Option<&'a DriftRow>,
    last: Option<&'a LastScan>,
    offline_since: Option<Timestamp>,
}

fn is_losing(row: &DriftRow) -> bool {
    life::is_sight(row.drift.facet) && row.state == DriftState::Pending
}

/// How many failures of how many.
fn failing(losing: &DriftRow, plan: &Plan, id: &TargetId) -> String {
    format!("{} of {}", losing.sightings, plan.confirm_of(id).of(losing.drift.class).sightings)
}

fn stands(incident: &Row) -> Stands {
    Stands {
        reference: format!("{}.{}", incident.id, incident.revision),
        kind: kind(incident.kind).to_owned(),
        severity: standing_severity(incident).unwrap_or(Severity::Info),
    }
}

pub(super) const fn kind(kind: IncidentKind) -> &'static str {
    match kind {
        IncidentKind::Drift => "drift",
        IncidentKind::Sight => "sight",
    }
}

/// Where an incident that has not ended stands for people.
pub(super) fn state(incident: &Row) -> &'static str {
    let mut standing = incident.units.iter().filter(|unit| unit.mark.stands());
    let rejected = standing.all(|unit| unit.mark == crate::model::incident::UnitMark::Rejected);
    match (&incident.acked, rejected) {
        (_, true) => "rejected",
        (Some(_), false) => "acked",
        (None, false) => "open",
    }
}

fn standing_severity(incident: &Row) -> Option<Severity> {
    incident.units.iter().filter(|unit| unit.mark.stands()).map(|unit| unit.severity).max()
}

pub(super) fn facets(snapshot: &StoredSnapshot, memory: &Memory) -> Vec<Facet> {
    let document = |(name, state): (&FacetName, &FacetState)| {
        let (word, reason, digest) = match state {
            FacetState::Seen(seen) => ("seen", None, Some(seen.digest)),
            FacetState::Absent { note } => ("absent", note.clone(), None),
            FacetState::Unseen { reason } => ("unseen", Some(reason.to_string()), None),
        };
        let remembered = memory.facets.get(name);
        let baseline = match (memory.baseline.contains_key(name), remembered) {
            (true, _) => "accepted",
            (false, Some(facet)) if facet.awaiting_approval => "waiting",
            (false, Some(facet)) if facet.joining.is_some() => "joining",
            (false, _) => "none",
        };
        Facet {
            facet: name.to_string(),
            state: word.to_owned(),
            reason,
            digest,
            coverage: snapshot.coverage.get(name).cloned(),
            last_seen: remembered.and_then(|facet| facet.last_seen),
            baseline: baseline.to_owned(),
        }
    };
    let mut facets: BTreeMap<FacetName, Facet> =
        snapshot.facets.iter().map(|(name, state)| (*name, document((name, state)))).collect();
    for (name, coverage) in snapshot.coverage.iter().filter(|(name, _)| !snapshot.facets.contains_key(name)) {
        facets.insert(*name, unwatched(*name, coverage, memory));
    }
    facets.into_values().collect()
}

/// A facet that was not asked for: behind a 401 without a credential, or switched off.
fn unwatched(name: FacetName, coverage: &Coverage, memory: &Memory) -> Facet {
    Facet {
        facet: name.to_string(),
        state: "unwatched".to_owned(),
        reason: None,
        digest: None,
        coverage: Some(coverage.clone()),
        last_seen: memory.facets.get(&name).and_then(|facet| facet.last_seen),
        baseline: if memory.baseline.contains_key(&name) { "accepted" } else { "none" }.to_owned(),
    }
}

fn incident_document(incident: &Row) -> Incident {
    let standing = || incident.units.iter().filter(|unit| unit.mark.stands());
    Incident {
        reference: format!("{}.{}", incident.id, incident.revision),
        target: incident.owner.to_string(),
        with: incident.with.iter().map(ToString::to_string).collect(),
        kind: kind(incident.kind).to_owned(),
        state: state(incident).to_owned(),
        severity: standing_severity(incident).unwrap_or(Severity::Info),
        since: incident.opened_at,
        units: standing()
            .map(|unit| UnitLine {
                n: unit.n,
                rule: unit.rule.to_string(),
                severity: unit.severity,
                title: unit.title.clone(),
                mark: super::words::mark(unit.mark).to_owned(),
                reason: None,
                items: count(unit.items.len()),
            })
            .collect(),
    }
}

/// The state of what belongs to no incident because it is not told.
const IGNORED: &str = "ignored";

/// Drifts that belong to no incident: not yet, or because they are not told.
fn loose_document(target: &TargetId, sight: bool, told: bool, rows: &[DriftRow]) -> Incident {
    let state = if told { DriftState::Pending.as_str() } else { IGNORED };
    let units = rows.iter().map(|row| UnitLine {
        n: 0,
        rule: row.drift.rule.to_string(),
        severity: row.drift.severity,
        title: row.drift.message.clone(),
        mark: row.suppressed.as_ref().map_or_else(|| row.state.as_str(), Suppressed::as_str).to_owned(),
        reason: row.suppressed.as_ref().map(why_not_told),
        items: 1,
    });
    Incident {
        reference: state.to_owned(),
        target: target.to_string(),
        with: Vec::new(),
        kind: if sight { "sight" } else { "drift" }.to_owned(),
        state: state.to_owned(),
        severity: rows.iter().map(|row| row.drift.severity).max().unwrap_or(Severity::Info),
        since: rows.iter().map(|row| row.first_at).min().unwrap_or(Timestamp::UNIX_EPOCH),
        units: units.collect(),
    }
}

/// Why a drift is not told, in words.
fn why_not_told(why: &Suppressed) -> String {
    match why {
        Suppressed::Ignored { reason, until: Some(until) } => format!("{reason}, until {until}"),
        Suppressed::Ignored { reason, until: None } => reason.clone(),
        Suppressed::Off => "its severity is off in the inventory".to_owned(),
    }
}

/// Until when a receiver takes nothing, where that is later than the message's own next try, and why.
pub(super) fn held_back(next_at: Timestamp, condition: &Condition) -> Option<(Timestamp, &'static str)> {
    let until = condition.not_before.filter(|until| *until > next_at)?;
    Some((until, if condition.suspended.is_some() { "receiver suspended" } else { "receiver rests" }))
}

fn message_document(message: &notice::Message, condition: Option<&Condition>) -> Message {
    let alert = &message.body.alert;
    let waits = message.state == notice::MessageState::Pending;
    let held = condition.filter(|_| waits).and_then(|condition| held_back(message.next_at, condition));
    let target = match (&alert.incident, alert.targets.as_slice()) {
        (Some(_), [first, ..]) | (None, [first]) => first.id.to_string(),
        (_, []) | (None, _) => String::new(),
    };
    Message {
        id: message.id.clone(),
        receiver: message.receiver.clone(),
        kind: alert.kind.as_str().to_owned(),
        incident: alert.incident.as_ref().map(|incident| format!("{}.{}", incident.id, incident.revision)),
        target,
        headline: alert.headline.clone(),
        state: message.state.to_string(),
        attempts: message.attempts,
        at: message.at,
        next_at: waits.then(|| held.map_or(message.next_at, |(until, _)| until)),
        waits_for: held.map(|(_, why)| why.to_owned()),
        sent_at: message.sent_at,
        error: message.error.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_waits_for_its_receiver_where_that_takes_longer_than_its_own_turn() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let resting = Condition { not_before: Some(at(60)), ..Condition::default() };
        let suspended = Condition { suspended: Some(at(0)), ..resting.clone() };
        assert_eq!(held_back(at(10), &resting), Some((at(60), "receiver rests")));
        assert_eq!(held_back(at(10), &suspended), Some((at(60), "receiver suspended")));
        assert_eq!(held_back(at(70), &resting), None);
        assert_eq!(held_back(at(10), &Condition::default()), None);
    }
}
