//! What is not looked at in every scan (design, section 3, cadence and cost): at first, when something about the target
//! is on its way, and every six hours. In between it stands as it was seen.

use std::sync::Arc;

use super::{Ask, tls};
use super::face::{End, FaceReport};
use super::trouble::Trouble;
use crate::model::digest::Digest;
use crate::model::observation::{Document, Kept, Observation, Outcome, RawFacet, RawRead};
use crate::net::Visit;

/// Looks, where what was kept does not serve, and puts what there is into the observation.
pub(super) async fn look(visit: &Visit<'_>, ask: &Ask<'_>, reports: &[FaceReport]) -> Seldom {
    if let Some(kept) = ask.kept {
        if refusal(ask, reports).is_some() || !tls::is_overtaken(&kept.facets, visit, ask.at) {
            return Seldom::Kept(Arc::clone(kept));
        }
        let mut kept = Kept::clone(kept);
        kept.facets.insert(tls::NAME, tls::look(visit, ask, reports).await);
        return Seldom::Looked(Arc::new(kept));
    }
    let mut kept = Kept { at: ask.at, facets: std::collections::BTreeMap::new(), remarks: Vec::new() };
    // Who refuses us is asked no more.
    let tls = match refusal(ask, reports) {
        Some(trouble) if visit.written().scheme() == "https" => RawFacet::Unseen(trouble.reason()),
        Some(_) | None => tls::look(visit, ask, reports).await,
    };
    kept.facets.insert(tls::NAME, tls);
    Seldom::Looked(Arc::new(kept))
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
                kept
            }
        };
        let misses = kept.facets.values().any(|raw| matches!(raw, RawFacet::Unseen(_)));
        if misses && observation.outcome == Outcome::Ok {
            observation.outcome = Outcome::Partial;
        }
        observation.facets.extend(kept.facets.iter().map(|(name, raw)| (*name, raw.clone())));
        observation.remarks.extend(kept.remarks.iter().cloned());
    }
}

/// A document as seen, digested once for all scans that it stands in.
pub(super) fn seen(page: crate::model::json::Json, ambiguities: Vec<String>) -> RawFacet {
    let document = Some(Document { digest: Digest::of(&page), unparsed: None });
    RawFacet::Seen(vec![RawRead { pages: vec![page], ambiguities, fresh: false, document }])
}

/// Why nothing more may be asked of the target in this scan.
fn refusal<'r>(ask: &Ask<'_>, reports: &'r [FaceReport]) -> Option<&'r Trouble> {
    let troubles = reports.iter().filter_map(|report| match &report.end {
        End::Failed(trouble) => Some(trouble),
        End::Ready | End::Guarded | End::Unavailable | End::Off => None,
    });
    let mut ending = troubles.filter(|trouble| trouble.ends_scan() || ask.probe_only);
    ending.next()
}
