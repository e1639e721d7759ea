//! What a target is held to: accepted values with living approvals laid over.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::model::baseline::{Approval, BaselineFacet, Effective};
use crate::model::facet::FacetName;
use crate::model::snapshot::Snapshot;

/// Lays the approvals of `baseline`'s facet that live at `now` over each of its values; void ones are skipped.
pub fn effective(baseline: &BaselineFacet, approvals: &[Approval], now: Timestamp) -> Effective {
    let _ = (baseline, approvals, now);
    unimplemented!()
}

/// Takes `snapshot` itself as what is held to: for `diff OLD NEW`.
pub fn held_to(snapshot: &Snapshot) -> BTreeMap<FacetName, Effective> {
    let _ = snapshot;
    unimplemented!()
}
