//! What is not looked at in every scan (design, section 3, cadence and cost): at first, when something about the target
//! is on its way, and every six hours. In between it stands as it was seen.
//!
//! What takes a second connection is looked at whenever a scan has one, and stands until the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Ask;
use super::conversation::{Conversation, private_headers};
use super::face::{End, FaceReport};
use super::negative::{self, Odd};
use super::opening::First;
use super::trouble::Trouble;
use crate::model::digest::Digest;
use crate::model::facet::{Face, Facet, FacetName};
use crate::model::inventory::Tier;
use crate::model::observation::{Document, Kept, Observation, Outcome, RawFacet, RawRead, Remark, Transport};
use crate::model::snapshot::CheckVerdict;
use crate::net::Visit;

/// What only two connections decide.
const OF_TWO_CONNECTIONS: [&str; 2] = ["mcp.session-id-weak", "mcp.list-varies-by-connection"];

/// Looks, where what was kept does not serve, and puts what there is into the observation.
pub(super) async fn look(visit: &Visit<'_>, ask: &Ask<'_>, reports: &[FaceReport]) -> Seldom {
    let said = worst_of_each(reports.iter().flat_map(|report| report.seldom.iter().cloned()));
    if let Some(kept) = ask.kept {
        let remarks = with(kept.remarks.clone(), said);
        if remarks == kept.remarks {
            return Seldom::Kept(Arc::clone(kept));
        }
        return Seldom::Looked(Arc::new(Kept { at: kept.at, facets: kept.facets.clone(), remarks }));
    }
    let mut kept = Kept { at: ask.at, facets: BTreeMap::new(), remarks: with(of_before(ask), said) };
    // Who refuses us is asked no more.
    match refusal(ask, reports) {
        Some(trouble) if ask.target.tier == Tier::Negative => {
            kept.remarks.extend(negative::skipped(&trouble.detail));
        }
        Some(_) => {}
        None => kept.remarks.extend(Box::pin(odd(visit, ask, reports)).await),
    }
    kept.remarks.sort_by_key(|remark| remark.rule);
    Seldom::Looked(Arc::new(kept))
}

/// What was known of two connections, for the scan that has but one.
fn of_before(ask: &Ask<'_>) -> Vec<Remark> {
    let known = ask.before.into_iter().flat_map(|kept| &kept.remarks);
    known.filter(|remark| OF_TWO_CONNECTIONS.contains(&remark.rule)).cloned().collect()
}

/// `known`, and in place of what is said anew, `said`. What could not be decided anew stands as it was known.
fn with(known: Vec<Remark>, said: Vec<Remark>) -> Vec<Remark> {
    let is_known = |remark: &Remark| known.iter().any(|known| known.rule == remark.rule);
    let said: Vec<Remark> =
        said.into_iter().filter(|remark| remark.verdict != CheckVerdict::Skipped || !is_known(remark)).collect();
    let stays = |remark: &Remark| !said.iter().any(|new| new.rule == remark.rule);
    let mut all: Vec<Remark> = known.iter().filter(|remark| stays(remark)).cloned().collect();
    all.extend(said);
    all.sort_by_key(|remark| remark.rule);
    all
}

/// Of both faces, the worse.
fn worst_of_each(remarks: impl Iterator<Item = Remark>) -> Vec<Remark> {
    let mut all: BTreeMap<&str, Remark> = BTreeMap::new();
    for remark in remarks {
        let is_worse = |known: &Remark| match (known.verdict, remark.verdict) {
            (CheckVerdict::Finding, _) | (_, CheckVerdict::Passed) => false,
            (CheckVerdict::Passed | CheckVerdict::Skipped, CheckVerdict::Finding | CheckVerdict::Skipped) => true,
        };
        if all.get(remark.rule).is_none_or(is_worse) {
            all.insert(remark.rule, remark);
        }
    }
    all.into_values().collect()
}

/// What a target of the negative tier is asked, of the first face that stands.
async fn odd(visit: &Visit<'_>, ask: &Ask<'_>, reports: &[FaceReport]) -> Vec<Remark> {
    if ask.target.tier != Tier::Negative {
        return Vec::new();
    }
    let Some(report) = reports.iter().find(|report| report.end == End::Ready) else {
        return negative::skipped("no conversation stood");
    };
    if report.detection.transport != Some(Transport::StreamableHttp) {
        return negative::skipped("asked of Streamable HTTP");
    }
    let token = match report.face {
        Face::Stranger => None,
        Face::Auth => ask.credential.and_then(|credential| credential.token.as_ref()),
    };
    let Ok(private) = private_headers(ask.headers, token) else {
        return negative::skipped("the credential gives no usable token");
    };
    let tools = report.facets.get(&FacetName::of(Facet::McpTools, report.face));
    let offer = match &report.alike {
        Some(First::Initialize(offer)) => Some(offer.clone()),
        Some(First::Discover) | None => None,
    };
    let odd = Odd { offer, has_tools: matches!(tools, Some(RawFacet::Seen(_))), end_session: ask.target.end_session };
    negative::look(Conversation::new(visit, report.face, private, false), &odd).await
}

/// What there is of it in this scan.
pub(super) enum Seldom {
    /// What was kept of an earlier one.
    Kept(Arc<Kept>),
    /// What this one looked at.
    Looked(Arc<Kept>),
}

impl Seldom {
    /// Has it stand in `observation`. Where nothing answered as it did, nothing that was remarked then is said again.
    pub(super) fn stand_in(self, observation: &mut Observation) {
        let kept = match self {
            Self::Kept(kept) => kept,
            Self::Looked(kept) => {
                observation.kept = Some(Arc::clone(&kept));
                kept
            }
        };
        observation.facets.extend(kept.facets.iter().map(|(name, raw)| (*name, raw.clone())));
        if matches!(observation.outcome, Outcome::Ok | Outcome::Partial) {
            observation.remarks.extend(kept.remarks.iter().cloned());
        }
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
