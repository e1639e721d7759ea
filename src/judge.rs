//! The pure core: canonicalize, check, diff, classify, fold, life, notices. No clock, randomness or I/O.

pub mod alert;
pub mod canon;
pub mod decide;
pub mod diff;
pub mod document;
pub mod effective;
pub mod fold;
pub mod incident;
pub mod join;
pub mod life;
pub mod notices;
pub mod rename;
pub mod rules;
pub mod settle;
pub mod snapshot;
pub mod words;

use std::collections::BTreeMap;

use crate::model::baseline::Effective;
use crate::model::facet::FacetName;
use crate::model::judgment::Judgment;
use crate::model::memory::Memory;
use crate::model::observation::SightFact;
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetId;


/// Says what the rules make of `snapshot` against the effective baseline.
///
/// A facet without an entry in `effective` makes no drift; an unseen one neither (law 1). `sights` are what kept the
/// scan from seeing; they come back in the shape of drifts.
pub fn judge(
    target: &TargetId,
    effective: &BTreeMap<FacetName, Effective>,
    memory: &Memory,
    snapshot: &Snapshot,
    sights: &[SightFact],
) -> Judgment {
    let _ = (target, effective, memory, snapshot, sights);
    unimplemented!()
}
