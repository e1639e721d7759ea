//! What the inventory wishes for a target's drifts: another severity, silence, acceptance without a person.
//!
//! The order (design, section 4): the case's severity, raised by notes; narrowed where nobody uses the item
//! ([`super::consumers`]); then `severity`, the last match wins. `ignore` and `set: off` do not change a
//! drift: [`suppression`] says whether one is told, and `settle` keeps a suppressed one out of incidents. Which wishes
//! there are is the configuration's.

mod matching;

use jiff::Timestamp;

use super::consumers;
use super::rules;
use crate::model::drift::Drift;
use crate::model::judgment::Judgment;
use crate::model::policy::{AutoAccept, Ignore, Policy, PolicyMatch, Suppressed};
use crate::model::rule::{Class, Impact, Severity};

use matching::glob;
pub use matching::matches_path;

/// Whether a wish is about `drift`: exactly its place, and its rule.
#[must_use]
pub fn matches(wish: &PolicyMatch, drift: &Drift) -> bool {
    let rule = wish.rule.as_deref().is_none_or(|pattern| glob(pattern, &drift.rule.rule));
    rule && wish.path.as_ref().is_none_or(|pattern| matches_path(pattern, drift.facet, &drift.path))
}

/// Gives every drift of a judgment the severity that the inventory wishes.
pub fn apply(policy: &Policy, judgment: &mut Judgment) {
    judgment.drifts.iter_mut().chain(&mut judgment.sights).for_each(|drift| weigh(policy, drift));
}

/// Gives a drift the severity that the inventory wishes; doing it twice is doing it once.
pub fn weigh(policy: &Policy, drift: &mut Drift) {
    consumers::narrow(policy, drift);
    if let Some(severity) = set(policy, drift) {
        drift.severity = severity;
    }
}

/// Whether `severity` of the inventory says how bad a drift is.
#[must_use]
pub fn reweighs(policy: &Policy, drift: &Drift) -> bool {
    set(policy, drift).is_some()
}

fn set(policy: &Policy, drift: &Drift) -> Option<Severity> {
    policy.severity.iter().rev().find(|wish| matches(&wish.matches, drift))?.set
}

/// Why a drift is not told at `now`; `None` when it is.
#[must_use]
pub fn suppression(policy: &Policy, drift: &Drift, now: Timestamp) -> Option<Suppressed> {
    let living = policy.ignore.iter().filter(|ignore| lives(ignore, now) && matches(&ignore.matches, drift));
    // Of several, that which lasts longest: one that ends does not change what another still says.
    if let Some(ignore) = living.max_by_key(|ignore| ignore.until.unwrap_or(Timestamp::MAX)) {
        return Some(Suppressed::Ignored { reason: ignore.reason.clone(), until: ignore.until });
    }
    let wish = policy.severity.iter().rev().find(|wish| matches(&wish.matches, drift))?;
    wish.set.is_none().then_some(Suppressed::Off)
}

/// Whether an ignore still counts.
#[must_use]
pub fn lives(ignore: &Ignore, now: Timestamp) -> bool {
    ignore.until.is_none_or(|until| now < until)
}

/// The wish by which a confirmed drift needs no person.
///
/// Never for one whose main impact is security at high or above, nor for a critical one: by the table as well as after
/// the inventory's own severities, so that no pair of wishes adds up to a way around a person.
#[must_use]
pub fn auto_accepts<'p>(policy: &'p Policy, drift: &Drift) -> Option<&'p AutoAccept> {
    let wish = policy.auto_accept.iter().find(|wish| drift.severity <= wish.at_most && matches(&wish.matches, drift));
    wish.filter(|_| !needs_a_person(drift))
}

fn needs_a_person(drift: &Drift) -> bool {
    let table = rules::case(&drift.rule.rule, &drift.rule.case).and_then(|(_, case)| case.severity);
    let inside = drift.inside.iter().map(|inner| inner.severity);
    let worst = inside.chain(table).max().unwrap_or(Severity::Info).max(drift.severity);
    let security = drift.impact.first() == Some(&Impact::Security);
    worst == Severity::Critical || (security && (worst >= Severity::High || drift.class == Class::Security))
}

#[cfg(test)]
mod tests;
