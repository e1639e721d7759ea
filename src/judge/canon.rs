//! From what a peer sent to what is compared: order, identities, numbers, volatile members.

use crate::model::facet::{Facet, FacetState};
use crate::model::observation::RawFacet;

/// Makes the canonical state of `facet` from its raw reads.
///
/// With `order_ignored`, or when the reads differ in order, a list's `order` is its sorted keys.
pub fn canonicalize(facet: Facet, raw: &RawFacet, order_ignored: bool) -> FacetState {
    let _ = (facet, raw, order_ignored);
    unimplemented!()
}
