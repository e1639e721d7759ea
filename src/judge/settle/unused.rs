//! Ignores that are of no use: one that nothing has matched for thirty days is said once (`base.ignore-unused`), since
//! it would hide what nobody has thought of when it matches at last.
//!
//! What is remembered of an ignore is small and moves rarely: an unchanged scan must write nothing. While something
//! matches, its last use is written anew only every half of that time.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{Scene, said};
use crate::judge::policy;
use crate::model::digest::Digest;
use crate::model::drift::DriftRow;
use crate::model::memory::{IgnoreUse, ScanMemory};
use crate::model::policy::{Ignore, Policy};
use crate::model::settlement::Settlement;

/// So long without a match is no use.
const UNUSED_AFTER: SignedDuration = SignedDuration::from_hours(30 * 24);
/// While something matches, its last use is written so often.
const WRITTEN_EVERY: SignedDuration = SignedDuration::from_hours(15 * 24);

/// By what an ignore is remembered: what it matches, not why.
#[must_use]
pub fn ignore_key(ignore: &Ignore) -> String {
    Digest::of_parts([ignore.matches.to_string()]).hex().chars().take(16).collect()
}

/// Whether nothing about the ignores is to be remembered or said.
pub(super) fn is_quiet(scene: &Scene<'_>) -> bool {
    let known = &scene.memory.scans.ignores;
    let living = || scene.policy.ignore.iter().filter(|ignore| policy::lives(ignore, scene.now));
    let keys: std::collections::BTreeSet<String> = living().map(ignore_key).collect();
    keys.iter().eq(known.keys())
        && due(scene.policy, &scene.memory.scans, &scene.memory.drifts).is_none_or(|due| scene.now < due)
}

/// When something about the ignores is to be remembered or said, while nothing else happens.
pub(super) fn due(policy: &Policy, scans: &ScanMemory, standing: &[DriftRow]) -> Option<Timestamp> {
    let due = |ignore: &Ignore| {
        let used = scans.ignores.get(&ignore_key(ignore))?;
        let after = if matches_any(ignore, standing) {
            WRITTEN_EVERY
        } else if used.told {
            return None;
        } else {
            UNUSED_AFTER
        };
        Some(last(used).checked_add(after).unwrap_or(Timestamp::MAX))
    };
    policy.ignore.iter().filter_map(due).min()
}

fn last(used: &IgnoreUse) -> Timestamp {
    used.last.unwrap_or(used.since)
}

fn matches_any(ignore: &Ignore, rows: &[DriftRow]) -> bool {
    rows.iter().any(|row| policy::matches(&ignore.matches, &row.drift))
}

/// Remembers which ignores were of use, and says which are of none. `rows` stand after the step.
pub(super) fn remember(settlement: &mut Settlement, scene: &Scene<'_>, rows: &[DriftRow]) {
    let mut ignores = BTreeMap::new();
    for ignore in scene.policy.ignore.iter().filter(|ignore| policy::lives(ignore, scene.now)) {
        let key = ignore_key(ignore);
        let known = scene.memory.scans.ignores.get(&key).copied();
        let mut used = known.unwrap_or(IgnoreUse { since: scene.now, last: None, told: false });
        if matches_any(ignore, rows) || matches_any(ignore, &scene.memory.drifts) {
            used.last = Some(scene.now);
            used.told = false;
        } else if !used.told && scene.now.duration_since(last(&used)) >= UNUSED_AFTER {
            used.told = true;
            let text = format!("nothing has matched it for 30 days: ignore {} ({})", ignore.matches, ignore.reason);
            settlement.history.push(said(scene, "base.ignore-unused", text));
        }
        ignores.insert(key, used);
    }
    settlement.scans.ignores = ignores;
}
