//! What is not looked at in every scan (design, section 3, cadence and cost): at first, when something about the target
//! is on its way, and every six hours. In between it stands as it was seen.

use std::collections::BTreeMap;
use std::sync::Arc;

use url::Url;

use super::face::{End, FaceReport};
use super::finding::Documents;
use super::trouble::Trouble;
use super::{Ask, tls};
use crate::model::digest::Digest;
use crate::model::facet::{Facet, FacetName, UnseenKind, UnseenReason};
use crate::model::json::Json;
use crate::model::observation::{Document, Kept, Observation, Outcome, RawFacet, RawRead, SightFact, SightPlace};
use crate::net::Visit;

/// Facets that stand in documents of the origin.
const OF_DOCUMENTS: [Facet; 2] = [Facet::McpCard, Facet::McpCatalog];

/// Why no document is looked at.
const OFF: &str = "the stranger's face is switched off (anonymous: false)";

/// Looks, where what was kept does not serve, and puts what there is into the observation. `documents` are those that
/// the search for the endpoint has looked at already.
pub(super) async fn look<'v>(
    visit: &'v Visit<'v>,
    ask: &'v Ask<'v>,
    reports: &[FaceReport],
    documents: Option<Documents>,
) -> Seldom {
    if let (Some(kept), None) = (ask.kept, &documents) {
        if denial(ask, reports).is_some() || !tls::is_overtaken(&kept.facets, visit, ask.at) {
            return Seldom::Kept(Arc::clone(kept));
        }
        let mut kept = Kept::clone(kept);
        kept.facets.insert(tls::NAME, tls::look(visit, ask, reports).await);
        return Seldom::Looked(Arc::new(kept));
    }
    let mut kept = Kept { at: ask.at, facets: BTreeMap::new(), remarks: Vec::new() };
    if let Some(home) = ask.target.endpoint.url().filter(|_| ask.target.anonymous || ask.credential.is_none()) {
        look_at_documents(visit, ask, home, (reports, documents), &mut kept).await;
    }
    if let Some(home) = ask.target.endpoint.url() {
        let tls = match denial(ask, reports) {
            Some(trouble) if home.scheme() == "https" => RawFacet::Unseen(trouble.reason()),
            Some(_) | None => tls::look(visit, ask, reports).await,
        };
        kept.facets.insert(tls::NAME, tls);
    }
    Seldom::Looked(Arc::new(kept))
}

async fn look_at_documents<'v>(
    visit: &'v Visit<'v>,
    ask: &'v Ask<'v>,
    home: &Url,
    (reports, documents): (&[FaceReport], Option<Documents>),
    kept: &mut Kept,
) {
    let documents = match (documents, refusal(ask, reports)) {
        (Some(documents), _) => documents,
        (None, None) => Box::pin(Documents::look(visit, ask, home, false)).await,
        // Who refuses us, or does not answer, is asked no more.
        (None, Some(trouble)) => {
            let unseen = |facet| (FacetName::stranger(facet), RawFacet::Unseen(trouble.reason()));
            kept.facets.extend(OF_DOCUMENTS.map(unseen));
            return;
        }
    };
    kept.facets.extend(documents.facets());
    kept.remarks.extend(documents.remarks());
}

/// What there is of it in this scan.
pub(super) enum Seldom {
    /// What was kept of an earlier one.
    Kept(Arc<Kept>),
    /// What this one looked at.
    Looked(Arc<Kept>),
}

impl Seldom {
    /// Has it stand in `observation`.
    pub(super) fn stand_in(self, observation: &mut Observation) {
        let kept = match self {
            Self::Kept(kept) => kept,
            Self::Looked(kept) => {
                observation.kept = Some(Arc::clone(&kept));
                tell_missed(&kept, observation);
                kept
            }
        };
        observation.facets.extend(kept.facets.iter().map(|(name, raw)| (*name, raw.clone())));
        observation.remarks.extend(kept.remarks.iter().cloned());
        let is_off = |facet: &Facet| !kept.facets.contains_key(&FacetName::stranger(*facet));
        let off = OF_DOCUMENTS.into_iter().filter(is_off).filter(|_| !observation.asked.anonymous);
        observation.unwatched.extend(off.map(|facet| (FacetName::stranger(facet), OFF.to_owned())));
    }
}

/// What could not be seen although the endpoint answers is told, and the scan was not complete.
fn tell_missed(kept: &Kept, observation: &mut Observation) {
    if !matches!(observation.outcome, Outcome::Ok | Outcome::Partial) {
        return;
    }
    for (name, raw) in &kept.facets {
        let RawFacet::Unseen(UnseenReason { kind, detail }) = raw else { continue };
        // What is behind a guard is not watched, hence not missed.
        if *kind == UnseenKind::Guarded {
            continue;
        }
        let (rule, case) = Trouble::new(*kind, detail.as_str()).facet_rule();
        let place = SightPlace::Facet(*name);
        observation.outcome = Outcome::Partial;
        observation.sights.push(SightFact { rule, case, place, detail: detail.clone() });
    }
}

/// A document as seen, digested once for all scans that it stands in.
pub(super) fn seen(page: Json, ambiguities: Vec<String>) -> RawFacet {
    let document = Some(Document { digest: Digest::of(&page), unparsed: None });
    RawFacet::Seen(vec![RawRead { pages: vec![page], ambiguities, fresh: false, document }])
}

fn troubles(reports: &[FaceReport]) -> impl Iterator<Item = &Trouble> {
    reports.iter().filter_map(|report| match &report.end {
        End::Failed(trouble) => Some(trouble),
        End::Ready | End::Guarded | End::Unavailable | End::Off => None,
    })
}

/// Why nothing at all may be asked of the target any more in this scan.
fn denial<'r>(ask: &Ask<'_>, reports: &'r [FaceReport]) -> Option<&'r Trouble> {
    troubles(reports).find(|trouble| trouble.ends_scan() || ask.probe_only)
}

/// Why no request is made of the target any more in this scan: also where nobody has answered.
fn refusal<'r>(ask: &Ask<'_>, reports: &'r [FaceReport]) -> Option<&'r Trouble> {
    let answers = reports.iter().any(|report| matches!(report.end, End::Ready | End::Guarded));
    let is_over = |trouble: &&Trouble| ask.probe_only || trouble.ends_scan() || !(answers || trouble.is_answer());
    troubles(reports).find(is_over)
}
