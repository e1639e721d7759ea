//! What is not looked at in every scan (design, section 3, cadence and cost): at first, when something about the target
//! is on its way, and every six hours. In between it stands as it was seen.
//!
//! What takes a second connection is looked at whenever a scan has one, and stands until the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use url::Url;

use super::conversation::{Conversation, Partner, private_headers};
use super::face::{End, FaceReport};
use super::finding::Documents;
use super::negative::{self, Odd};
use super::opening::First;
use super::trouble::Trouble;
use super::{Ask, tls};
use crate::model::digest::Digest;
use crate::model::facet::{Face, Facet, FacetName, UnseenKind, UnseenReason};
use crate::model::inventory::Tier;
use crate::model::json::Json;
use crate::model::observation::{
    Document, Kept, Observation, Outcome, RawFacet, RawRead, Remark, SightFact, SightPlace, Transport,
};
use crate::model::snapshot::CheckVerdict;
use crate::net::Visit;

/// What only two connections decide.
const OF_TWO_CONNECTIONS: [&str; 2] = ["mcp.session-id-weak", "mcp.list-varies-by-connection"];

/// Facets that stand in documents of the origin.
const OF_DOCUMENTS: [Facet; 2] = [Facet::McpCard, Facet::McpCatalog];

/// Why no document is looked at.
const OFF: &str = "the stranger's face is switched off (anonymous: false)";

/// What the scan has learned of the target before.
pub(super) struct Learned {
    /// Those that the search for the endpoint has looked at already.
    pub(super) documents: Option<Documents>,
    /// Where the endpoint is; none of a program.
    pub(super) endpoint: Option<Url>,
}

/// Looks, where what was kept does not serve, and puts what there is into the observation.
pub(super) async fn look<'v>(
    visit: &'v Visit<'v>,
    ask: &'v Ask<'v>,
    reports: &[FaceReport],
    learned: Learned,
) -> Seldom {
    let said = worst_of_each(reports.iter().flat_map(|report| report.seldom.iter().cloned()));
    let Learned { documents, endpoint } = learned;
    let denied = denial(ask, reports);
    if let (Some(kept), None) = (ask.kept, &documents) {
        let remarks = with(kept.remarks.clone(), said);
        let is_overtaken = denied.is_none() && tls::is_overtaken(&kept.facets, visit, ask.at);
        if remarks == kept.remarks && !is_overtaken {
            return Seldom::Kept(Arc::clone(kept));
        }
        let mut kept = Kept { at: kept.at, facets: kept.facets.clone(), remarks };
        if is_overtaken {
            kept.facets.insert(tls::NAME, tls::look(visit, ask, reports).await);
        }
        return Seldom::Looked(Arc::new(kept));
    }
    let mut kept = Kept { at: ask.at, facets: BTreeMap::new(), remarks: with(of_before(ask), said) };
    if let Some(home) = ask.target.endpoint.url() {
        if ask.target.anonymous || ask.credential.is_none() {
            look_at_documents(visit, ask, home, (reports, documents), &mut kept).await;
        }
        let tls = match denied {
            Some(trouble) if home.scheme() == "https" => RawFacet::Unseen(trouble.reason()),
            Some(_) | None => tls::look(visit, ask, reports).await,
        };
        kept.facets.insert(tls::NAME, tls);
    }
    match denied {
        Some(trouble) if ask.target.tier == Tier::Negative => {
            kept.remarks.extend(negative::skipped(&trouble.detail));
        }
        Some(_) => {}
        None => kept.remarks.extend(Box::pin(odd(visit, ask, reports, endpoint)).await),
    }
    kept.remarks.sort_by_key(|remark| remark.rule);
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
async fn odd<'v>(visit: &'v Visit<'v>, ask: &Ask<'v>, reports: &[FaceReport], endpoint: Option<Url>) -> Vec<Remark> {
    if ask.target.tier != Tier::Negative {
        return Vec::new();
    }
    let Some(report) = reports.iter().find(|report| report.end == End::Ready) else {
        return negative::skipped("no conversation stood");
    };
    let Some(url) = endpoint.filter(|_| report.detection.transport == Some(Transport::StreamableHttp)) else {
        return negative::skipped("asked of Streamable HTTP");
    };
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
        Some(First::Discover | First::Stream(_)) | None => None,
    };
    let odd = Odd { offer, has_tools: matches!(tools, Some(RawFacet::Seen(_))), end_session: ask.target.end_session };
    negative::look(Conversation::new(visit, Partner::Url(url), report.face, private, false), &odd).await
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
                tell_missed(&kept, observation);
                kept
            }
        };
        observation.facets.extend(kept.facets.iter().map(|(name, raw)| (*name, raw.clone())));
        if matches!(observation.outcome, Outcome::Ok | Outcome::Partial) {
            observation.remarks.extend(kept.remarks.iter().cloned());
        }
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
