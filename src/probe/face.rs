//! One face seen: the conversation from its opening to the end of its session, and what each facet came to.

use std::collections::BTreeMap;

use http::HeaderMap;
use jiff::Timestamp;

use super::conversation::{Conversation, Partner, private_headers};
use super::finding::{Opening, Search};
use super::lists::{self, ListEnd};
use super::opening::{self, First, Trail};
use super::ready::{Failed, Opened, Ready};
use super::trouble::Trouble;
use super::{Ask, SecondRead, connections, dates, echo, session_ids, stream};
use crate::model::digest::Digest;
use crate::model::facet::{Face, Facet, FacetName, UnseenKind, UnseenReason};
use crate::model::json::Json;
use crate::model::observation::{
    Detection, DetectionState, Era, RawFacet, RawRead, Remark, SightFact, SightPlace, Transport,
};
use crate::model::text;
use crate::net::{Farewell, Scrub, Visit};

/// Why nothing is watched with our credential where the endpoint is elsewhere.
const ELSEWHERE: &str =
    "the endpoint was found at another origin than the one written, which alone gets the credential";

/// Why nothing behind a challenge is watched.
const NO_CREDENTIAL: &str = "no credential: the anonymous request is answered by a challenge";

/// The lists, in the order they are asked for.
const LISTS: [Facet; 4] = [Facet::McpTools, Facet::McpPrompts, Facet::McpResources, Facet::McpResourceTemplates];

/// Bytes that are kept of a program's standard error, secrets taken out.
const MAX_STDERR: usize = 4 * 1024;

/// What one face came to.
#[derive(Debug)]
pub(super) struct FaceReport {
    pub(super) face: Face,
    pub(super) facets: BTreeMap<FacetName, RawFacet>,
    pub(super) unwatched: BTreeMap<FacetName, String>,
    /// Sights of single facets; that of the endpoint follows from `end`.
    pub(super) sights: Vec<SightFact>,
    pub(super) remarks: Vec<Remark>,
    /// What is not looked at in every scan, and was in this one.
    pub(super) seldom: Vec<Remark>,
    pub(super) end: End,
    pub(super) detection: Detection,
    /// The date that was spoken.
    pub(super) date: Option<String>,
    pub(super) offered: Vec<String>,
    /// The end of what a program wrote to its standard error.
    pub(super) stderr: Option<String>,
    /// How another face is opened alike.
    pub(super) alike: Option<First>,
}

/// How a face ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The handshake stood.
    Ready,
    /// Behind a 401.
    Guarded,
    /// Nothing was seen, or nothing more was asked.
    Failed(Trouble),
    /// Not asked: our credential's reference gave nothing.
    Unavailable,
    /// Not asked: switched off.
    Off,
}

/// Sees the faces of a target: the stranger's, and our credential's.
pub(super) async fn faces<'v>(search: &mut Search<'v>, ask: &'v Ask<'v>) -> Vec<FaceReport> {
    let first = First::of_baseline(ask.date, ask.transport);
    let Some(credential) = ask.credential else {
        return vec![Box::pin(stranger(search, ask, first)).await];
    };
    let stranger =
        if ask.target.anonymous { Box::pin(stranger(search, ask, first.clone())).await } else { FaceReport::off() };
    // Who refuses the stranger, or does not answer, is not asked once more.
    let auth = match &stranger.end {
        End::Failed(trouble) if !trouble.is_answer() => FaceReport::failed(Face::Auth, trouble.clone()),
        End::Failed(_) | End::Ready | End::Guarded | End::Unavailable | End::Off => {
            let token = credential.token.as_ref();
            let private = token.and_then(|token| private_headers(ask.headers, Some(token)).ok());
            match private {
                Some(private) if stranger.end == End::Off => {
                    let opening = Box::pin(search.open(Face::Auth, private, first)).await;
                    Box::pin(see(opening, ask)).await
                }
                Some(private) => match search.for_credential() {
                    Some(url) => {
                        let first = stranger.alike.clone().unwrap_or(first);
                        let opening = Box::pin(search.open_there(url, private, first)).await;
                        Box::pin(see(opening, ask)).await
                    }
                    None => FaceReport::elsewhere(),
                },
                None => FaceReport::unavailable(),
            }
        }
    };
    vec![stranger, auth]
}

async fn stranger<'v>(search: &mut Search<'v>, ask: &'v Ask<'v>, first: First) -> FaceReport {
    let private = private_headers(ask.headers, None).unwrap_or_default();
    let opening = Box::pin(search.open(Face::Stranger, private, first)).await;
    Box::pin(see(opening, ask)).await
}

/// Sees what a program shows. Nobody is a stranger to it: it has one face, and is given what it needs by its variables.
pub(super) async fn program<'v>(visit: &'v Visit<'v>, ask: &'v Ask<'v>) -> Vec<FaceReport> {
    let Some(launch) = ask.launch else {
        let detail = "a variable of the program cannot be had";
        let trouble = Trouble::new(UnseenKind::CredentialUnavailable, detail);
        return vec![FaceReport::failed(Face::Stranger, trouble)];
    };
    let partner = Partner::Program(launch);
    let mut conversation = Conversation::new(visit, partner, Face::Stranger, HeaderMap::new(), ask.probe_only);
    let first = First::of_baseline(ask.date, ask.transport);
    let (opened, trail) = Box::pin(opening::open(&mut conversation, first, ask)).await;
    let mut report = Box::pin(see(Opening { conversation, opened, trail }, ask)).await;
    // It has no door to ask at.
    report.facets.remove(&FacetName::stranger(Facet::AuthChallenge));
    vec![report]
}

async fn see(opening: Opening<'_>, ask: &Ask<'_>) -> FaceReport {
    let Opening { mut conversation, opened, trail } = opening;
    let face = conversation.face();
    let mut report = match opened {
        Opened::Ready(ready) => Box::pin(listen(&mut conversation, ask, *ready)).await,
        Opened::Guarded(challenge) => FaceReport::guarded(face, challenge),
        Opened::Failed(failed) => FaceReport::without_lists(face, failed),
    };
    if let Some(farewell) = conversation.end(ask.target.end_session).await {
        report.bid(&farewell, ask.scrub);
    }
    report.follow(trail);
    report
}

/// Reads what the opened conversation offers.
async fn listen(conversation: &mut Conversation<'_>, ask: &Ask<'_>, ready: Ready) -> FaceReport {
    let mut report = FaceReport::ready(conversation.face(), conversation.transport(), &ready);
    report.remarks.extend(conversation.session().and_then(session_ids::weakness));
    for facet in LISTS {
        if let End::Failed(trouble) = &report.end {
            let reason = trouble.reason();
            report.set(facet, RawFacet::Unseen(reason));
            continue;
        }
        if !ready.capabilities.offers(facet) {
            report.absent(facet, "the capability is not declared");
            continue;
        }
        let expected = expected(conversation, ask, &ready, facet, 0);
        let end = Box::pin(lists::read(conversation, facet, &ready, expected, ask.at)).await;
        report.list(facet, end, ready.capabilities.promises(facet));
    }
    if report.end == End::Ready && matches!(report.get(Facet::McpTools), Some(RawFacet::Seen(_))) {
        let end = Box::pin(second_read(conversation, ask, &ready, &mut report)).await;
        report.second(end);
    }
    if report.end == End::Ready && asks_for_newer(ask, &ready) && conversation.can_have_another() {
        let mut other = conversation.another();
        if Box::pin(opening::speaks_modern(&mut other)).await {
            report.remark("mcp.newer-date-available", format!("the server answers {} too", dates::MODERN));
        }
        other.end(false).await;
    }
    if report.end == End::Ready && ask.kept.is_none() {
        report.seldom.extend(Box::pin(stream::look(conversation, &ready)).await);
    }
    report.finish();
    report
}

/// The bytes that a read is expected to bring. What a document is depends on the date that is spoken: only that of
/// the baseline, with which the last scan was asked too, compares.
fn expected(conversation: &Conversation<'_>, ask: &Ask<'_>, ready: &Ready, facet: Facet, nth: usize) -> Option<Digest> {
    let known = ask.known.filter(|_| ask.date == Some(ready.date.as_str()));
    echo::expected(known, FacetName::of(facet, conversation.face()), nth)
}

/// Once an hour, with the fresh second read, a target whose baseline has a legacy date is asked for 2026-07-28.
/// Newer legacy dates would need sessions of their own and are not looked for.
fn asks_for_newer(ask: &Ask<'_>, ready: &Ready) -> bool {
    ask.second_read == SecondRead::Fresh && ready.era == Era::Session && ask.date.is_some_and(dates::is_legacy)
}

/// `tools/list` once more. Where no second session that compares can be had, the first one reads again.
async fn second_read(
    conversation: &mut Conversation<'_>,
    ask: &Ask<'_>,
    ready: &Ready,
    report: &mut FaceReport,
) -> ListEnd {
    if ask.second_read == SecondRead::Fresh && conversation.can_have_another() {
        let mut other = conversation.another();
        let end = lists::read_fresh(&mut other, Facet::McpTools, ready, ask.at).await;
        report.seldom.extend(session_ids::compared(conversation.session(), other.session()));
        let first = match report.get(Facet::McpTools) {
            Some(RawFacet::Seen(reads)) => reads.first(),
            Some(RawFacet::Absent { .. } | RawFacet::Unseen(_)) | None => None,
        };
        if let (Some(first), Some(ListEnd::Seen(second))) = (first, &end) {
            let compared = Box::pin(connections::compare(&mut other, ready, first, second, ask.at)).await;
            report.seldom.push(compared);
        }
        other.end(ask.target.end_session).await;
        if let Some(end) = end {
            return end;
        }
        report.detection.evidence.push("no second session could be compared; the first one was read twice".to_owned());
    }
    let expected = expected(conversation, ask, ready, Facet::McpTools, 1);
    lists::read(conversation, Facet::McpTools, ready, expected, ask.at).await
}

impl FaceReport {
    fn new(face: Face, end: End) -> Self {
        Self {
            face,
            facets: BTreeMap::new(),
            unwatched: BTreeMap::new(),
            sights: Vec::new(),
            remarks: Vec::new(),
            seldom: Vec::new(),
            end,
            detection: Detection {
                state: DetectionState::Unseen,
                transport: None,
                era: None,
                version: None,
                supported: Vec::new(),
                endpoint: None,
                evidence: Vec::new(),
            },
            date: None,
            offered: Vec::new(),
            stderr: None,
            alike: None,
        }
    }

    fn ready(face: Face, transport: Transport, ready: &Ready) -> Self {
        let mut report = Self::new(face, End::Ready);
        let state = if ready.is_confirmed { DetectionState::Confirmed } else { DetectionState::Indicated };
        report.detection.state = state;
        report.detection.transport = Some(transport);
        report.detection.era = Some(ready.era);
        report.detection.version = Some(ready.date.clone());
        report.detection.supported.clone_from(&ready.supported);
        report.date = Some(ready.date.clone());
        report.alike = Some(match (&ready.offer, transport) {
            (Some(offer), Transport::Sse) => First::Stream(offer.clone()),
            (Some(offer), _) => First::Initialize(offer.clone()),
            (None, _) => First::Discover,
        });
        match &ready.handshake {
            Ok(read) => report.seen_page(Facet::McpHandshake, read.value.clone(), read.ambiguities.to_vec()),
            Err(trouble) => {
                report.sights.push(SightFact {
                    rule: "scan.handshake-failed",
                    case: "-",
                    place: SightPlace::Facet(FacetName::of(Facet::McpHandshake, face)),
                    detail: trouble.detail.clone(),
                });
                report.set(Facet::McpHandshake, RawFacet::Unseen(trouble.reason()));
            }
        }
        report.seen_page(Facet::McpTransport, ready.transport.clone(), Vec::new());
        if face == Face::Stranger {
            report.set(Facet::AuthChallenge, RawFacet::Absent { note: None });
        }
        report
    }

    fn guarded(face: Face, challenge: Json) -> Self {
        let mut report = Self::new(face, End::Guarded);
        report.seen_page(Facet::AuthChallenge, challenge, Vec::new());
        for facet in mcp_facets() {
            report.unwatch(facet, NO_CREDENTIAL);
        }
        report.detection.state = DetectionState::Indicated;
        report.detection.evidence.push("the anonymous request is answered by a challenge".to_owned());
        report
    }

    fn off() -> Self {
        let mut report = Self::new(Face::Stranger, End::Off);
        for facet in mcp_facets().chain([Facet::AuthChallenge]) {
            report.unwatch(facet, "the stranger's face is switched off (anonymous: false)");
        }
        report
    }

    fn elsewhere() -> Self {
        let mut report = Self::new(Face::Auth, End::Off);
        for facet in mcp_facets() {
            report.unwatch(facet, ELSEWHERE);
        }
        report
    }

    fn unavailable() -> Self {
        let detail = "the credential's reference gives no usable token";
        let mut report = Self::new(Face::Auth, End::Unavailable);
        for facet in mcp_facets() {
            let reason = UnseenReason { kind: UnseenKind::CredentialUnavailable, detail: detail.to_owned() };
            report.set(facet, RawFacet::Unseen(reason));
        }
        report
    }

    fn failed(face: Face, trouble: Trouble) -> Self {
        Self::without_lists(face, trouble.into())
    }

    fn without_lists(face: Face, failed: Failed) -> Self {
        let Failed { trouble, handshake, era, supported } = failed;
        let mut report = Self::new(face, End::Failed(trouble.clone()));
        let challenge = (face == Face::Stranger).then_some(Facet::AuthChallenge);
        for facet in mcp_facets().chain(challenge) {
            report.set(facet, RawFacet::Unseen(trouble.reason()));
        }
        if let Some(read) = handshake {
            report.seen_page(Facet::McpHandshake, read.value, read.ambiguities.to_vec());
        }
        report.detection.state = match (era, trouble.is_answer()) {
            (Some(_), _) => DetectionState::Indicated,
            (None, true) => DetectionState::NotDetected,
            (None, false) => DetectionState::Unseen,
        };
        report.detection.era = era;
        report.detection.supported = supported;
        report.detection.evidence.push(trouble.detail);
        report
    }

    /// What a program left: how it ended and what it wrote says why nothing was seen.
    fn bid(&mut self, farewell: &Farewell, scrub: &dyn Scrub) {
        let said = scrub.scrub(&farewell.stderr);
        let said = tail(&String::from_utf8_lossy(&said)).to_owned();
        if let End::Failed(trouble) = &mut self.end {
            if let Some(ended) = &farewell.ended {
                trouble.detail = format!("{} ({ended})", trouble.detail);
            }
            for raw in self.facets.values_mut() {
                if let RawFacet::Unseen(unseen) = raw {
                    *unseen = trouble.reason();
                }
            }
            // Who is told wants to know why; the line is the program's, and is shown as such.
            if let Some(last) = said.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
                trouble.detail = format!("{}; it wrote {}", trouble.detail, text::quoted(last, 200));
            }
        }
        self.stderr = Some(said).filter(|said| !said.trim().is_empty());
    }

    fn follow(&mut self, trail: Trail) {
        self.offered = trail.offered;
        self.remarks.extend(trail.remarks);
        let met = std::mem::take(&mut self.detection.evidence);
        self.detection.evidence = trail.evidence.into_iter().chain(met).collect();
    }

    fn get(&self, facet: Facet) -> Option<&RawFacet> {
        self.facets.get(&FacetName::of(facet, self.face))
    }

    fn set(&mut self, facet: Facet, raw: RawFacet) {
        self.facets.insert(FacetName::of(facet, self.face), raw);
    }

    fn seen_page(&mut self, facet: Facet, page: Json, ambiguities: Vec<String>) {
        self.set(facet, RawFacet::Seen(vec![RawRead { pages: vec![page], ambiguities, ..RawRead::default() }]));
    }

    fn absent(&mut self, facet: Facet, note: &str) {
        self.set(facet, RawFacet::Absent { note: Some(note.to_owned()) });
    }

    fn unwatch(&mut self, facet: Facet, reason: &str) {
        let name = FacetName::of(facet, self.face);
        self.facets.remove(&name);
        self.unwatched.insert(name, reason.to_owned());
    }

    fn remark(&mut self, rule: &'static str, evidence: String) {
        self.remarks.push(Remark::finding(rule, evidence));
    }

    /// What reading a list gave.
    fn list(&mut self, facet: Facet, end: ListEnd, promised: bool) {
        match end {
            ListEnd::Seen(read) => self.set(facet, RawFacet::Seen(vec![read])),
            ListEnd::Missing => {
                self.absent(facet, "the method is not found");
                if promised {
                    self.remark("mcp.capability-mismatch", format!("{facet} is declared, its method is not found"));
                }
            }
            ListEnd::Guarded(challenge) => {
                self.seen_page(Facet::AuthChallenge, challenge, Vec::new());
                self.unwatch(facet, NO_CREDENTIAL);
            }
            ListEnd::Unseen(trouble) => self.unseen(facet, trouble),
        }
    }

    fn unseen(&mut self, facet: Facet, trouble: Trouble) {
        self.set(facet, RawFacet::Unseen(trouble.reason()));
        if trouble.ends_scan() {
            self.end = End::Failed(trouble);
            return;
        }
        let (rule, case) = trouble.facet_rule();
        let place = SightPlace::Facet(FacetName::of(facet, self.face));
        self.sights.push(SightFact { rule, case, place, detail: trouble.detail });
    }

    /// What the second read of the tools gave: less than a whole list leaves them unseen.
    fn second(&mut self, end: ListEnd) {
        let facet = Facet::McpTools;
        match end {
            ListEnd::Seen(read) => {
                if let Some(RawFacet::Seen(reads)) = self.facets.get_mut(&FacetName::of(facet, self.face)) {
                    reads.push(read);
                }
            }
            ListEnd::Missing | ListEnd::Guarded(_) => {
                let detail = "the second read was answered by an error, the first was not";
                self.unseen(facet, Trouble::new(UnseenKind::RpcError, detail));
            }
            ListEnd::Unseen(mut trouble) => {
                trouble.detail = format!("second read: {}", trouble.detail);
                self.unseen(facet, trouble);
            }
        }
    }

    /// A refusal on the way ends the scan, whatever else was met.
    fn finish(&mut self) {
        if matches!(self.end, End::Failed(_)) {
            self.sights.clear();
        }
    }

    /// Whether a watched facet was not seen.
    pub(super) fn is_partial(&self) -> bool {
        self.facets.values().any(|raw| matches!(raw, RawFacet::Unseen(_)))
    }
}

/// The end of a text, at most [`MAX_STDERR`] bytes of it.
fn tail(text: &str) -> &str {
    let mut from = text.len().saturating_sub(MAX_STDERR);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..).unwrap_or_default()
}

fn mcp_facets() -> impl Iterator<Item = Facet> {
    [Facet::McpHandshake, Facet::McpTransport].into_iter().chain(LISTS)
}

/// `Retry-After` of what ended a face.
pub(super) fn not_before(reports: &[FaceReport]) -> Option<Timestamp> {
    let ends = reports.iter().filter_map(|report| match &report.end {
        End::Failed(trouble) => trouble.not_before,
        End::Ready | End::Guarded | End::Unavailable | End::Off => None,
    });
    ends.max()
}
