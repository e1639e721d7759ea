//! TBD
use crate::model::facet::{Facet, FacetName};
/// Whether rows of this facet tell what we could not see.
pub(crate) const fn is_sight(facet: &FacetName) -> bool {
    matches!(facet.facet, Facet::Scan)
}
