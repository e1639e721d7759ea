//! What we could not see, in the shape of drifts (design, sections 4 and 5).
//!
//! It differs from drift in four ways. Failures in a row count whatever their reason, for what they have in common is
//! that nothing was seen. One scan that sees ends it: `scan` has no baseline whose value could come back, a target
//! that was out is watched again from its first answer on ("asked once an hour until it answers"). A failing endpoint
//! says nothing of its facets, and a block stands for everything else that its scan would say. And a rate limit that
//! outlasts the class is a block.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{LifeStep, Look, Moment, Turn, blind, end, fingerprint, open, recount, row};
use crate::judge::policy;
use crate::model::drift::{Drift, DriftRow, DriftState, NextValue};
use crate::model::facet::FacetName;
use crate::model::json::Json;
use crate::model::judgment::Judgment;
use crate::model::pointer::Pointer;
use crate::model::rule::{RuleCase, Severity};

const BLOCKED: &str = "scan.blocked";
const UNDER: &str = "under_24h";
const OVER: &str = "over_24h";
const RATE_LIMITED: &str = "scan.rate-limited";
const HIGH_AFTER_HOURS: i64 = 24;
/// Failures are not looked at again sooner than this, however short the class's time is.
const LEAST_RECHECK: Duration = Duration::from_secs(5);

/// The step of all rows of sight.
pub(super) fn step(step: &mut LifeStep, rows: &[&DriftRow], judgment: &Judgment, at: &Moment<'_>) {
    let sights = Sights::of(judgment);
    for before in rows {
        let mut row = recount::of(before, at);
        let turn = match sights.look(&row, judgment) {
            Look::Unseen => None,
            Look::Back => Some(back(&mut row, at.now)),
            Look::Shown(drift) => failed(&mut row, drift, at),
        };
        let turn = turn.or_else(|| age(&mut row, at));
        step.keep(Some(before), row, turn);
    }
    let known: BTreeSet<&Pointer> = rows.iter().map(|row| &row.drift.path).collect();
    for (_, drift) in sights.shown.iter().filter(|(path, _)| !known.contains(**path)) {
        let mut row = row::pending(drift, at);
        let turn = confirm(&mut row, at);
        step.appear(row, turn);
    }
}

/// The failures of a scan that count.
struct Sights<'a> {
    shown: BTreeMap<&'a Pointer, &'a Drift>,
    endpoint_fails: bool,
    blocked: bool,
}

impl<'a> Sights<'a> {
    fn of(judgment: &'a Judgment) -> Self {
        let endpoint_fails = judgment.sights.iter().any(|sight| is_endpoint(&sight.path));
        let counts = |sight: &&Drift| !endpoint_fails || is_endpoint(&sight.path);
        let blocked = judgment.sights.iter().filter(counts).any(|sight| sight.rule.rule == BLOCKED);
        let shown = judgment.sights.iter().filter(counts).filter(|sight| !blocked || sight.rule.rule == BLOCKED);
        Self { shown: shown.map(|sight| (&sight.path, sight)).collect(), endpoint_fails, blocked }
    }

    fn look(&self, row: &DriftRow, judgment: &Judgment) -> Look<'a> {
        if let Some(drift) = self.shown.get(&row.drift.path) {
            return Look::Shown(drift);
        }
        if is_endpoint(&row.drift.path) {
            return Look::Back;
        }
        let facet = row.drift.path.token(0).and_then(|name| name.parse::<FacetName>().ok());
        let seen = facet.is_some_and(|facet| judgment.seen.contains(&facet));
        let watched = facet.is_some_and(|facet| judgment.unseen.iter().any(|(unseen, _)| *unseen == facet));
        // What is not watched any more cannot be missed either.
        if seen || !(self.endpoint_fails || self.blocked || watched) { Look::Back } else { Look::Unseen }
    }
}

fn is_endpoint(path: &Pointer) -> bool {
    crate::judge::host::is_endpoint(path)
}

/// One scan that sees ends it, confirmed or not.
fn back(row: &mut DriftRow, now: Timestamp) -> Turn {
    let to = if row.state == DriftState::Pending { DriftState::Transient } else { DriftState::Reverted };
    end(row, to, now)
}

fn failed(row: &mut DriftRow, drift: &Drift, at: &Moment<'_>) -> Option<Turn> {
    if row.state == DriftState::Pending {
        if row.sightings == 0 {
            row.since = at.now;
        }
        row.sightings = row.sightings.saturating_add(1);
        row.last_at = at.now;
        row.drift = drift.clone();
        return confirm(row, at);
    }
    if same_failure(&row.drift, drift) {
        row.next = None;
        return None;
    }
    let next = match row.next.take() {
        Some(next) if next.drift.rule.rule == drift.rule.rule => {
            NextValue { sightings: next.sightings.saturating_add(1), ..next }
        }
        Some(_) | None => NextValue { drift: drift.clone(), sightings: 1, since: at.now },
    };
    if at.confirm.sight.met(next.sightings, next.since, at.now) {
        row::take_next(row, next);
        block_if_limited(row, at);
        return Some(row::changed(row, at.now));
    }
    row.next = Some(next);
    None
}

fn same_failure(known: &Drift, drift: &Drift) -> bool {
    let limited_block = known.rule.rule == BLOCKED && drift.rule.rule == RATE_LIMITED;
    // Why a part stays unseen may change; that it does is what is told.
    known.rule.rule == drift.rule.rule || limited_block || blind::is_rule(&known.rule.rule)
}

fn confirm(row: &mut DriftRow, at: &Moment<'_>) -> Option<Turn> {
    at.confirm.sight.met(row.sightings, row.since, at.now).then(|| {
        block_if_limited(row, at);
        open(row, at.now)
    })
}

/// A rate limit that outlasts class sight is a block.
fn block_if_limited(row: &mut DriftRow, at: &Moment<'_>) {
    if row.drift.rule.rule == RATE_LIMITED {
        row.drift.rule = RuleCase::new(BLOCKED, UNDER);
        row.drift.severity = Severity::Medium;
        row.drift.after = vec![Json::from(BLOCKED)];
        row.drift.fingerprint = fingerprint(at.target, &row.drift);
        policy::weigh(at.policy, &mut row.drift);
    }
}

/// A block that stands for 24 h turns high.
pub(super) fn age(row: &mut DriftRow, at: &Moment<'_>) -> Option<Turn> {
    if ages_at(row)? > at.now {
        return None;
    }
    row.drift.rule.case = OVER.to_owned();
    row.drift.severity = row.drift.severity.max(Severity::High);
    policy::weigh(at.policy, &mut row.drift);
    Some(Turn::Changed)
}

/// When a confirmed block turns high.
pub(super) fn ages_at(row: &DriftRow) -> Option<Timestamp> {
    let waits = row.state == DriftState::Open && row.drift.rule.rule == BLOCKED && row.drift.rule.case != OVER;
    waits.then(|| row.since.checked_add(SignedDuration::from_hours(HIGH_AFTER_HOURS)).unwrap_or(Timestamp::MAX))
}

/// Failures are looked at again after 1/10, 4/10 and 10/10 of the time that class sight asks for, and, where that is
/// over and they were too few (a clock that jumped, a pause of ours), each further tenth.
pub(super) fn recheck(row: &DriftRow, at: &Moment<'_>) -> Option<Timestamp> {
    let (count, since) = match (&row.next, row.state) {
        (Some(next), _) => (next.sightings, next.since),
        (None, DriftState::Pending) => (row.sightings, row.since),
        (
            None,
            DriftState::Open
            | DriftState::Rejected
            | DriftState::Transient
            | DriftState::Reverted
            | DriftState::Accepted
            | DriftState::Retired,
        ) => return None,
    };
    let over = at.confirm.sight.after;
    let instants = [1, 4, 10].map(|tenths| later(since, over.saturating_mul(tenths) / 10));
    let further = || (count < at.confirm.sight.sightings).then(|| later(at.now, (over / 10).max(LEAST_RECHECK)));
    instants.into_iter().find(|instant| *instant > at.now).or_else(further)
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}
