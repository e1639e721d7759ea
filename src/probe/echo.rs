//! By what a scan is known to bring what the last one brought, before it is parsed (design, section 3: raw bytes
//! equal to last time's reuse last time's facet).
//!
//! A list that came in one document is not parsed when its bytes are those of the same read of the scan before. If
//! everything else is as it was too, nobody needs it parsed; if not, [`open`] parses it, and the observation is like
//! any other.

use super::jsonrpc;
use super::lists;
use crate::model::digest::Digest;
use crate::model::facet::{FacetName, UnseenKind, UnseenReason};
use crate::model::json::Json;
use crate::model::observation::{Echo, Observation, Outcome, RawFacet, RawRead};
use crate::net::Visit;

/// The bytes that read `nth` of a list is expected to bring.
pub(super) fn expected(known: Option<&Echo>, facet: FacetName, nth: usize) -> Option<Digest> {
    let of_facet = known?.documents.iter().filter(|(name, _)| *name == facet);
    of_facet.map(|(_, digest)| *digest).nth(nth)
}

/// By what `observation` is known again; `None` when it was not complete.
pub(super) fn of(observation: &Observation) -> Option<Echo> {
    let Observation { outcome, sights, mcp, facets, unwatched, asked, remarks, not_before, address_class, .. } =
        observation;
    if *outcome != Outcome::Ok || !sights.is_empty() || not_before.is_some() {
        return None;
    }
    let mut parts = vec![
        serde_json::to_string(&(mcp, asked, unwatched, address_class)).ok()?,
        remarks.iter().map(|remark| format!("{remark:?}\n")).collect(),
    ];
    let mut documents = Vec::new();
    for (name, raw) in facets {
        parts.push(name.to_string());
        match raw {
            RawFacet::Seen(reads) => parts.extend(reads.iter().flat_map(told)),
            RawFacet::Absent { note } => parts.push(format!("absent {note:?}")),
            RawFacet::Unseen(reason) => parts.push(reason.to_string()),
        }
        if let RawFacet::Seen(reads) = raw {
            documents.extend(reads.iter().map_while(|read| Some((*name, read.document.as_ref()?.digest))));
        }
    }
    Some(Echo { digest: Digest::of_parts(parts), documents: documents.into() })
}

/// A read by the bytes of its document, else by its pages.
fn told(read: &RawRead) -> Vec<String> {
    match &read.document {
        Some(document) => vec![document.digest.hex()],
        None => read.pages.iter().map(Json::canonical).chain(read.ambiguities.iter().cloned()).collect(),
    }
}

/// Parses what was not.
pub(super) async fn open(visit: &Visit<'_>, facets: impl Iterator<Item = (&FacetName, &mut RawFacet)>) {
    for (name, raw) in facets {
        let RawFacet::Seen(reads) = raw else { continue };
        let mut is_whole = true;
        for read in reads {
            is_whole &= parse(visit, read).await.is_some();
        }
        // The same bytes were a list before: this does not happen.
        if !is_whole {
            let reason = UnseenReason { kind: UnseenKind::InvalidJson, detail: format!("no document of {name}") };
            *raw = RawFacet::Unseen(reason);
        }
    }
}

async fn parse(visit: &Visit<'_>, read: &mut RawRead) -> Option<()> {
    let Some(bytes) = read.document.as_mut().and_then(|document| document.unparsed.take()) else { return Some(()) };
    let parsed = visit.parse(&bytes).await.ok()?;
    let ambiguities = super::exchange::ambiguities(&parsed.issues);
    read.ambiguities = lists::on_page(1, &ambiguities).collect();
    read.pages = vec![jsonrpc::result_of(parsed.value)?];
    Some(())
}
