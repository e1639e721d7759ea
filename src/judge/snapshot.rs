//! Makes the snapshot of a scan: canonical facets, coverage, checks.

use crate::model::memory::Memory;
use crate::model::observation::Observation;
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetSummary;

/// Makes the snapshot of what one scan brought home.
pub fn snapshot(observation: &Observation, target: &TargetSummary, memory: &Memory) -> Snapshot {
    let _ = (observation, target, memory);
    unimplemented!()
}
