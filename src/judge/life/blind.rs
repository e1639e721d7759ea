//! A part of a target that stays unseen for a day although the target answers (design, law 1: unseen is not silent).
//!
//! It is measured from scan to scan, so that a time in which we did not look proves nothing. What is told already of
//! the part becomes this; what is not confirmed yet is confirmed first, so that a clock that leapt is not enough. Where
//! a whole face fails, the failure of its handshake stands for all its parts.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{LifeStep, Moment, Turn, fingerprint, is_sight, open, row};
use crate::judge::host::is_loss;
use crate::judge::policy;
use crate::judge::rules;
use crate::model::drift::{DriftRow, DriftState};
use crate::model::facet::{Facet, FacetName};
use crate::model::json::Json;
use crate::model::memory::FacetMemory;
use crate::model::pointer::Pointer;
use crate::model::rule::RuleCase;

const RULE: &str = "scan.blind";
const AFTER: SignedDuration = SignedDuration::from_hours(24);

/// Whether a row tells that a part stays unseen.
fn is_blind(row: &DriftRow) -> bool {
    is_sight(row.drift.facet) && is_rule(&row.drift.rule.rule)
}

pub(super) fn is_rule(rule: &str) -> bool {
    rule == RULE
}

/// Whether a part that is still unseen at `now` has been for a day.
#[must_use]
pub fn is_due(memory: &FacetMemory, now: Timestamp) -> bool {
    memory.unseen_since.is_some_and(|since| now.duration_since(since) >= AFTER)
}

/// After a scan's step: what of the baseline (`held`) has been unseen for a day.
pub fn see_blind(
    step: &mut LifeStep,
    facets: &BTreeMap<FacetName, FacetMemory>,
    held: impl Fn(FacetName) -> bool,
    at: &Moment<'_>,
) {
    if step.rows.iter().any(|row| is_loss(row) && !row.state.is_ended()) {
        return;
    }
    for (name, memory) in facets {
        let Some(since) = memory.unseen_since.filter(|_| is_due(memory, at.now)) else { continue };
        if held(*name) && !is_told(step, *name) {
            turn_blind(step, *name, since, at);
        }
    }
}

/// Whether this is told of the part already, or will be, or its face's handshake tells why.
fn is_told(step: &LifeStep, name: FacetName) -> bool {
    let handshake = FacetName::of(Facet::McpHandshake, name.face);
    let standing = || step.rows.iter().filter(|row| is_sight(row.drift.facet) && !row.state.is_ended());
    let at_place = |row: &DriftRow, place: FacetName| row.drift.path == Pointer::of([place.to_string()]);
    standing().any(|row| {
        let own = at_place(row, name) && (is_blind(row) || row.state == DriftState::Pending);
        let of_face = at_place(row, handshake) && row.state != DriftState::Pending;
        own || of_face
    })
}

fn turn_blind(step: &mut LifeStep, name: FacetName, since: Timestamp, at: &Moment<'_>) {
    let path = Pointer::of([name.to_string()]);
    let day = since.strftime("%Y-%m-%d %H:%M UTC");
    let title = rules::explain(RULE).map_or("a part stays unseen", |rule| rule.title);
    let message = format!("{name}: {title}, since {day}");
    let known =
        step.rows.iter_mut().find(|row| is_sight(row.drift.facet) && !row.state.is_ended() && row.drift.path == path);
    let Some(row) = known else {
        let draft = rules::draft::sight(path, RULE, "-", message, format!("since {day}"));
        let mut drift = draft.finish(at.target, FacetName::stranger(Facet::Scan));
        policy::weigh(at.policy, &mut drift);
        let mut row = row::pending(&drift, at);
        (row.since, row.first_at) = (since, since);
        let turn = open(&mut row, at.now);
        step.appear(row, Some(turn));
        return;
    };
    row.drift.rule = RuleCase::new(RULE, "-");
    row.drift.message = message;
    row.drift.after = vec![Json::from(RULE)];
    row.drift.severity = row.drift.severity.max(crate::model::rule::Severity::High);
    row.drift.fingerprint = fingerprint(at.target, &row.drift);
    policy::weigh(at.policy, &mut row.drift);
    row.next = None;
    let row = row.clone();
    step.turned(&row, Turn::Changed);
}
