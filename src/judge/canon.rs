//! From what a peer sent to what is compared: order, identities, numbers, volatile members.
//!
//! Decides the canonical value of each facet (design, section 3: identity keys, `rest`, volatile table) and how the
//! reads of one scan agreed. It derives nothing: every value stays the peer's own JSON. What differs from a baseline
//! is for `judge`; what is wrong with a value is for `snapshot`.

use crate::model::digest::Digest;
use crate::model::facet::{Facet, FacetState, SeenFacet, Stability};
use crate::model::json::{Json, Members};
use crate::model::observation::{RawFacet, RawRead};

mod keyed;
mod views;
mod volatile;

pub(super) use keyed::{is_unnamed, shown};

/// Makes the canonical state of `facet` from its raw reads.
///
/// With `order_ignored`, or when the reads differ in order, a list's `order` is its sorted keys.
pub fn canonicalize(facet: Facet, raw: &RawFacet, order_ignored: bool) -> FacetState {
    match raw {
        RawFacet::Seen(reads) => FacetState::Seen(seen(facet, reads, order_ignored)),
        RawFacet::Absent { note } => FacetState::Absent { note: note.clone() },
        RawFacet::Unseen(reason) => FacetState::Unseen { reason: reason.clone() },
    }
}

fn seen(facet: Facet, reads: &[RawRead], order_ignored: bool) -> SeenFacet {
    let mut stability = Stability { fresh: reads.iter().skip(1).any(|read| read.fresh), ..Stability::default() };
    let mut values: Vec<Json> = Vec::new();
    let mut kept = Members::new();
    let mut last: Option<&RawRead> = None;
    for read in reads {
        // A second read that is equal page by page needs no second canonical value: the usual case.
        if last.is_some_and(|last| last.pages == read.pages) {
            continue;
        }
        last = Some(read);
        let mut value = whole(facet, read);
        kept = volatile::take(facet, &mut value);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    if facet.list().is_some() {
        values = views::reconcile(values, order_ignored, &mut stability);
    } else {
        stability.value_differs = values.len() > 1;
    }
    finish(values, kept, stability, ambiguities(reads))
}

/// Writes a value that was canonical once as it is written today; `value` may be the branch of one place alone.
///
/// The items of a list are keyed anew by what they say; which of them were equal in name is told by their order.
pub(super) fn again(facet: Facet, value: &Json) -> Json {
    let mut value = match facet.list() {
        Some(shape) => keyed::again(shape, facet, value),
        None => value.clone(),
    };
    volatile::take(facet, &mut value);
    value
}

/// The values of one facet in their order, and their digest, as of a scan that showed them.
pub(super) fn held(values: Vec<Json>) -> (Vec<Json>, Digest) {
    let mut distinct: Vec<Json> = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    let SeenFacet { views, digest, .. } = finish(distinct, Members::new(), Stability::default(), Vec::new());
    (views, digest)
}

fn whole(facet: Facet, read: &RawRead) -> Json {
    match facet.list() {
        Some(shape) => keyed::list(shape, facet, &read.pages),
        None => read.pages.first().cloned().unwrap_or_default(),
    }
}

fn finish(mut views: Vec<Json>, kept: Members, stability: Stability, ambiguities: Vec<String>) -> SeenFacet {
    let digest = match views.as_slice() {
        [only] => Digest::of(only),
        _ => {
            let mut by_digest: Vec<(Digest, Json)> = views.drain(..).map(|view| (Digest::of(&view), view)).collect();
            by_digest.sort_by_key(|(digest, _)| *digest);
            let digest = Digest::of_parts(by_digest.iter().map(|(digest, _)| digest.bytes()));
            views = by_digest.into_iter().map(|(_, view)| view).collect();
            digest
        }
    };
    SeenFacet { views, digest, volatile: Json::Object(kept), stability, ambiguities }
}

fn ambiguities(reads: &[RawRead]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in reads.iter().flat_map(|read| &read.ambiguities) {
        if !all.contains(text) && all.len() < 100 {
            all.push(text.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests;
