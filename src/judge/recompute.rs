//! Writes what a target is held to in the canonical form of today, where it was accepted in an older one.
//!
//! When canonical form, keys or the volatile table change, [`MODEL`] grows; a value of an older model would differ from
//! what the same peer shows today, and that would be our doing (`base.model-outdated`: history, no drift). Values are
//! recomputed whenever they are read, and stored with the next scan that is settled.

use crate::judge::canon;
use crate::model::baseline::BaselineFacet;
use crate::model::drift::Drift;
use crate::model::facet::FacetName;
use crate::model::json::Json;
use crate::model::memory::Memory;
use crate::model::pointer::Pointer;
use crate::model::settlement::Recomputed;
use crate::model::snapshot::MODEL;

/// `memory` with every value of an older model in today's form; what was recomputed is named in it.
#[must_use]
pub fn recompute(mut memory: Memory) -> Memory {
    let entries = memory.baseline.values().chain(memory.person.values());
    if entries.clone().all(|entry| entry.model >= MODEL) {
        return memory;
    }
    let outdated: Vec<FacetName> = entries.filter(|entry| entry.model < MODEL).map(|entry| entry.facet).collect();
    let mut recomputed = Recomputed::default();
    let held = memory.baseline.values_mut().chain(memory.person.values_mut());
    for entry in held.filter(|entry| entry.model < MODEL) {
        *entry = renewed(entry);
        recomputed.baseline.push(entry.clone());
    }
    for approval in memory.approvals.iter_mut().filter(|approval| outdated.contains(&approval.facet)) {
        let value = approval.value.as_ref().and_then(|value| at(approval.facet, &approval.path, value));
        if value != approval.value {
            approval.value = value;
            recomputed.approvals.push(approval.clone());
        }
    }
    for row in memory.drifts.iter_mut().filter(|row| outdated.contains(&row.drift.facet)) {
        renew_drift(&mut row.drift);
        if let Some(next) = &mut row.next {
            renew_drift(&mut next.drift);
        }
    }
    memory.recomputed = recomputed;
    memory
}

fn renewed(entry: &BaselineFacet) -> BaselineFacet {
    let values: Vec<Json> = entry.values.iter().map(|value| canon::again(entry.facet.facet, value)).collect();
    let (values, digest) = canon::held(values);
    BaselineFacet { digest: entry.digest.is_some().then_some(digest), values, model: MODEL, ..entry.clone() }
}

fn renew_drift(drift: &mut Drift) {
    for values in [&mut drift.before, &mut drift.after] {
        *values = values.iter().filter_map(|value| at(drift.facet, &drift.path, value)).collect();
    }
}

/// A value at a place in today's form; `None` when nothing is compared there any more.
fn at(facet: FacetName, path: &Pointer, value: &Json) -> Option<Json> {
    let whole = path.tokens().rev().fold(value.clone(), |inner, token| Json::from([(token.to_owned(), inner)]));
    canon::again(facet.facet, &whole).pointer(path).cloned()
}

#[cfg(test)]
mod tests;
