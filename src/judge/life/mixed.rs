//! `x.mixed-fleet`: two values of one facet take turns, A B A B within 6 h (design, section 3).
//!
//! While they do, the facet's drifts are held: they neither open nor close, and one drift at the facet's root stands
//! for them, with the worst severity among them. It ends when one variant stands alone for 6 h; what that variant
//! shows is then judged once: its drifts open, the others' are over. A B A is a rollback and reverts in the usual way.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::{Group, LifeStep, Moment, Turn, end, fingerprint, open, row, within};
use crate::judge::policy;
use crate::model::digest::Digest;
use crate::model::drift::{Detail, Drift, DriftRow, DriftState, NextValue};
use crate::model::facet::FacetName;
use crate::model::json::Json;
use crate::model::memory::{FacetMemory, ValueRun};
use crate::model::pointer::Pointer;
use crate::model::rule::{Class, Fold, Impact, RuleCase, Severity};

const RULE: &str = "x.mixed-fleet";
const HOURS: i64 = 6;
/// A facet comes back to values it had left: so often is a mixed fleet.
const COMEBACKS: usize = 2;
/// Runs that are remembered; a peer that changes with every scan must not fill our memory.
const MAX_RUNS: usize = 24;
/// Drifts that a mixed fleet's details name.
const MAX_NAMED: usize = 10;

/// Remembers what a scan showed of a facet (`None`: absent) among its runs of the last 6 h.
pub fn remember_run(memory: &mut FacetMemory, digest: Option<Digest>, now: Timestamp) {
    let last_seen = memory.last_seen;
    match memory.runs.last_mut() {
        Some(run) if run.digest == digest => {
            run.to = now;
            run.scans = run.scans.saturating_add(1);
        }
        Some(_) | None => {
            // Unchanged scans write no row: how long the run lasted is told by the last sight.
            if let (Some(run), Some(seen)) = (memory.runs.last_mut(), last_seen) {
                run.to = run.to.max(seen.min(now));
            }
            memory.runs.push(ValueRun { digest, from: now, to: now, scans: 1 });
        }
    }
    let last = memory.runs.len().saturating_sub(1);
    let first = memory.runs.len().saturating_sub(MAX_RUNS);
    let mut index = 0;
    memory.runs.retain(|run| {
        let keep = index == last || (index >= first && within(run.to, HOURS, now));
        index += 1;
        keep
    });
}

/// Whether variants of a facet take turns.
#[derive(Debug)]
pub(super) enum Phase {
    /// No.
    Steady,
    /// Yes.
    TakeTurns(Turns),
    /// They did, and one has stood alone since then.
    StandsAlone(Timestamp),
}

/// Variants that take turns.
#[derive(Debug)]
pub(super) struct Turns {
    runs: Vec<ValueRun>,
    /// When the variant that is there now came.
    since: Timestamp,
}

/// Where a facet that was seen is.
pub(super) fn phase(group: &Group<'_>, memory: &FacetMemory, at: &Moment<'_>) -> Phase {
    let Some(last) = memory.runs.last() else { return Phase::Steady };
    let told = group.rows.iter().any(|row| is_mixed(row));
    if told && ends_at(memory).is_some_and(|end| end <= at.now) {
        return Phase::StandsAlone(last.from);
    }
    // What nobody is to hear of makes no fleet that anybody is to hear of.
    let anything = differing(group, at).next().is_some();
    let silenced = !anything && (group.rows.iter().any(|row| !is_mixed(row)) || !group.shown.is_empty());
    if told && silenced {
        return Phase::StandsAlone(last.from);
    }
    if told || (anything && comebacks(&memory.runs, at.now) >= COMEBACKS) {
        Phase::TakeTurns(Turns { runs: memory.runs.clone(), since: last.from })
    } else {
        Phase::Steady
    }
}

/// What differs between the variants and is told.
fn differing<'g>(group: &'g Group<'_>, at: &'g Moment<'_>) -> impl Iterator<Item = &'g Drift> {
    let rows = group.rows.iter().filter(|row| !is_mixed(row)).map(|row| &row.drift);
    let all = rows.chain(group.shown.values().copied());
    all.filter(|drift| policy::suppression(at.policy, drift, at.now).is_none())
}

/// When the variant that is there now will have stood alone for long enough.
pub(super) fn ends_at(memory: &FacetMemory) -> Option<Timestamp> {
    memory.runs.last()?.from.checked_add(SignedDuration::from_hours(HOURS)).ok()
}

/// Whether this row stands for a mixed fleet.
pub(super) fn is_mixed(row: &DriftRow) -> bool {
    row.drift.rule.rule == RULE
}

/// How often, within the last 6 h, a value that had been left came back.
fn comebacks(runs: &[ValueRun], now: Timestamp) -> usize {
    let mut met = BTreeSet::new();
    runs.iter().filter(|run| within(run.to, HOURS, now)).filter(|run| !met.insert(run.digest)).count()
}

/// Holds the facet's drifts and lets one stand for them.
pub(super) fn hold(step: &mut LifeStep, facet: FacetName, group: &Group<'_>, turns: &Turns, at: &Moment<'_>) {
    let root = Pointer::root();
    let fleet = group.rows.iter().find(|row| row.drift.path == root);
    let worst = differing(group, at).map(|drift| drift.severity).max().unwrap_or(Severity::Info);
    let told = told(facet, group, turns, worst, at);
    match fleet {
        Some(before) => {
            let mut row = (*before).clone();
            let turn = stand_for(&mut row, told, at.now);
            step.keep(Some(before), row, turn);
        }
        None => {
            let mut row = row::pending(&told, at);
            let turn = open(&mut row, at.now);
            step.appear(row, Some(turn));
        }
    }
    for before in group.rows.iter().filter(|row| row.drift.path != root) {
        let mut row = (*before).clone();
        note(&mut row, group.shown.get(&before.drift.path).copied(), turns.since, at.now);
        step.keep(Some(before), row, None);
    }
    let known: BTreeSet<&Pointer> = group.rows.iter().map(|row| &row.drift.path).chain([&root]).collect();
    for (_, drift) in group.shown.iter().filter(|(path, _)| !known.contains(**path)) {
        let row = DriftRow { held: true, ..row::pending(drift, at) };
        step.appear(row, None);
    }
}

/// The row at the facet's root stands for all: it is made so, or told anew when a variant joined or it got worse.
fn stand_for(row: &mut DriftRow, told: Drift, now: Timestamp) -> Option<Turn> {
    if !is_mixed(row) {
        let pending = row.state == DriftState::Pending;
        row.drift = told;
        row.held = false;
        return Some(if pending { open(row, now) } else { row::changed(row, now) });
    }
    let news = told.after.iter().any(|variant| !row.drift.after.contains(variant));
    if !news && told.severity <= row.drift.severity {
        return None;
    }
    row.drift = told;
    Some(Turn::Changed)
}

/// Notes which of the drifts the variant shows that is there now; once a run, so that its further scans write nothing.
fn note(row: &mut DriftRow, shown: Option<&Drift>, run_since: Timestamp, now: Timestamp) {
    let fresh = !row.held || row.last_at < run_since;
    row.held = true;
    row.back_count = 0;
    row.back_since = None;
    let Some(drift) = shown else { return };
    if !fresh {
        return;
    }
    row.last_at = now;
    if row.state == DriftState::Pending {
        row.drift = drift.clone();
    } else if row.drift.fingerprint == drift.fingerprint {
        row.next = None;
    } else {
        row.next = Some(NextValue { drift: drift.clone(), sightings: 1, since: now });
    }
}

/// Ends the mixed fleet. The drifts of the variant that stands alone are confirmed, for it stood for longer than any
/// class asks; the others' are over.
///
/// A scan sees which drifts these are; the clock (`run_since`) goes by when they were last noted.
pub(super) fn release(step: &mut LifeStep, group: &Group<'_>, run_since: Option<Timestamp>, at: &Moment<'_>) {
    let mut fleet_path = None;
    for before in &group.rows {
        let mut row = (*before).clone();
        let turn = if is_mixed(&row) {
            fleet_path = Some(row.drift.path.clone());
            Some(end(&mut row, DriftState::Reverted, at.now))
        } else {
            let shown = group.shown.get(&row.drift.path).copied();
            let stands = shown.is_some() || run_since.is_some_and(|since| row.last_at >= since);
            judge_once(&mut row, stands, shown, at.now)
        };
        step.keep(Some(before), row, turn);
    }
    let known: BTreeSet<&Pointer> = group.rows.iter().map(|row| &row.drift.path).collect();
    for (path, drift) in &group.shown {
        // What the fleet's own row stood in for has stood as long as the variant.
        if fleet_path.as_ref() == Some(*path) {
            let mut row = row::pending(drift, at);
            let turn = open(&mut row, at.now);
            step.appear(row, Some(turn));
        } else if !known.contains(*path) {
            let (row, turn) = row::first_sight(drift, at);
            step.appear(row, turn);
        }
    }
}

fn judge_once(row: &mut DriftRow, stands: bool, shown: Option<&Drift>, now: Timestamp) -> Option<Turn> {
    row.held = false;
    match (row.state, stands) {
        (DriftState::Pending, true) => {
            row.drift = shown.unwrap_or(&row.drift).clone();
            Some(open(row, now))
        }
        (DriftState::Pending, false) => Some(end(row, DriftState::Transient, now)),
        (DriftState::Open | DriftState::Rejected, true) => {
            let noted = row.next.take().map(|next| next.drift);
            let value = shown.cloned().or(noted).filter(|drift| drift.fingerprint != row.drift.fingerprint)?;
            row::take_next(row, NextValue { drift: value, sightings: 1, since: now });
            Some(row::changed(row, now))
        }
        (DriftState::Open | DriftState::Rejected, false) => Some(end(row, DriftState::Reverted, now)),
        (DriftState::Transient | DriftState::Reverted | DriftState::Accepted | DriftState::Retired, _) => None,
    }
}

/// The drift that stands for all: each variant, its share, and what differs.
fn told(facet: FacetName, group: &Group<'_>, turns: &Turns, severity: Severity, at: &Moment<'_>) -> Drift {
    let before = group.rows.iter().find(|row| is_mixed(row)).map(|row| row.drift.after.clone()).unwrap_or_default();
    let variants: BTreeSet<Json> = turns.runs.iter().map(|run| Json::from(name(run.digest))).chain(before).collect();
    let mut drift = Drift {
        facet,
        path: Pointer::root(),
        rule: RuleCase::new(RULE, severity.as_str()),
        severity,
        impact: vec![Impact::Breaking, Impact::Operational],
        class: Class::Surface,
        fold: Fold::Value,
        before: Vec::new(),
        after: variants.into_iter().collect(),
        claims: Vec::new(),
        notes: Vec::new(),
        message: String::new(),
        details: shares(&turns.runs),
        inside: Vec::new(),
        fingerprint: crate::model::drift::Fingerprint(Digest::ZERO),
    };
    drift.message = format!("{} variants of {facet} take turns; what differs between them is held", drift.after.len());
    drift.details.extend(differences(group));
    drift.fingerprint = fingerprint(at.target, &drift);
    policy::weigh(at.policy, &mut drift);
    drift
}

fn name(digest: Option<Digest>) -> String {
    digest.map_or_else(|| "absent".to_owned(), |digest| digest.to_string())
}

fn shares(runs: &[ValueRun]) -> Vec<Detail> {
    let all: u32 = runs.iter().map(|run| run.scans).sum();
    let digests: BTreeSet<Option<Digest>> = runs.iter().map(|run| run.digest).collect();
    let share = |digest: Option<Digest>| {
        let scans: u32 = runs.iter().filter(|run| run.digest == digest).map(|run| run.scans).sum();
        let short = digest.map_or_else(|| "absent".to_owned(), |digest| format!("sha256:{}", digest.short()));
        Detail::Text { text: format!("Variant {short}: {scans} of the last {all} scans") }
    };
    digests.into_iter().map(share).collect()
}

/// What differs between the variants: the messages of the drifts that are held.
fn differences(group: &Group<'_>) -> Vec<Detail> {
    let held = group.rows.iter().filter(|row| !is_mixed(row)).map(|row| &row.drift.message);
    let messages: BTreeSet<&String> = held.chain(group.shown.values().map(|drift| &drift.message)).collect();
    let more = messages.len().saturating_sub(MAX_NAMED);
    let line = |text: String| Detail::Text { text };
    let named = messages.into_iter().take(MAX_NAMED).map(|message| line(format!("Differs: {message}")));
    named.chain((more > 0).then(|| line(format!("and {more} more")))).collect()
}
