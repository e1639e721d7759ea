//! Which URL is asked: the one that was written, or one that was found.
//!
//! A URL with a path is tried first as written, so that no card can move a scan, and its credential, elsewhere. For a
//! bare origin, or when what is there answers and speaks no MCP, it is searched for: where the AI Catalog and the cards
//! lead, at the URL itself, at the origin's `/mcp`. The first that holds a conversation, or is guarded by a 401, is the
//! endpoint. A time limit, a 5xx or a refusal is no answer: it moves nobody.
//!
//! A search is made in the first scan, while something about the target is on its way, every six hours, and when the
//! endpoint that is known answers otherwise than it should; in between that one is asked at once. What a peer named on
//! another origin is a peer's choice for the guard, and gets neither our credential nor the inventory's headers.

use http::HeaderMap;
use url::Url;

use super::Ask;
use super::conversation::{Conversation, Partner};
use super::opening::{self, First, Trail};
use super::ready::{Failed, Opened};
use super::trouble::Trouble;
use crate::model::facet::{Face, UnseenKind};
use crate::model::json::{Json, Members};
use crate::model::observation::{Detection, DetectionState, Found, FoundBy, Remark};
use crate::model::text;
use crate::net::Visit;

mod documents;
mod leads;

pub(super) use documents::Documents;

/// Endpoints that documents may have tried, so that whoever writes them cannot make us ask the world.
const MOST_LED_TO: usize = 5;

/// Where the endpoint of one scan is looked for.
pub(super) struct Search<'v> {
    visit: &'v Visit<'v>,
    ask: &'v Ask<'v>,
    /// The URL as written.
    home: &'v Url,
    /// What was looked at on the way.
    documents: Option<Documents>,
    /// Where it is, unless it is the URL as written.
    found: Option<Found>,
}

/// A conversation and how its opening ended.
pub(super) struct Opening<'v> {
    pub(super) conversation: Conversation<'v>,
    pub(super) opened: Opened,
    pub(super) trail: Trail,
}

/// One URL that may be the endpoint.
#[derive(Clone, Debug)]
struct Candidate {
    url: Url,
    /// `None`: it is the URL as written.
    by: Option<FoundBy>,
}

/// One that is not.
struct Miss<'v> {
    candidate: Candidate,
    trouble: Trouble,
    opening: Opening<'v>,
}

/// Whether a URL is an origin and nothing more.
fn is_bare(url: &Url) -> bool {
    matches!(url.path(), "" | "/") && url.query().is_none()
}

/// A URL in a sentence of ours: its place alone, since a query may hold what is nobody's business.
fn shown(url: &Url) -> String {
    let place = format!("{}{}", url.origin().ascii_serialization(), url.path());
    text::inert(&place, 200)
}

impl<'v> Search<'v> {
    pub(super) const fn new(visit: &'v Visit<'v>, ask: &'v Ask<'v>, home: &'v Url) -> Self {
        Self { visit, ask, home, documents: None, found: None }
    }

    /// Opens a conversation with the endpoint, wherever that is.
    pub(super) async fn open(&mut self, face: Face, private: HeaderMap, first: First) -> Opening<'v> {
        let mut misses = Vec::new();
        let mut left = self.sure();
        let mut has_searched = false;
        loop {
            while let Some(candidate) = left.pop() {
                let opening = Box::pin(self.attempt(&candidate, face, &private, first.clone())).await;
                match opening.opened {
                    Opened::Ready(_) | Opened::Guarded(_) => return self.settle(candidate, opening),
                    Opened::Failed(ref failed) => {
                        let trouble = failed.trouble.clone();
                        let ends = self.ends(&candidate, failed);
                        misses.push(Miss { candidate, trouble, opening });
                        if ends {
                            return self.nothing(misses);
                        }
                    }
                }
            }
            if has_searched || self.ask.probe_only {
                return self.nothing(misses);
            }
            has_searched = true;
            left = Box::pin(self.searched(face, &misses)).await;
            if let Some(trouble) = self.documents.as_ref().and_then(Documents::refusal).cloned() {
                // Who does not answer, or wants fewer requests, is not asked for an endpoint either.
                let home = self.home.origin();
                left.retain(|candidate| candidate.url.origin() != home);
                if left.is_empty() && misses.is_empty() {
                    return self.unasked(trouble, face, private);
                }
            }
        }
    }

    /// Where our credential is presented: the endpoint, if it is at the origin that it was written for.
    pub(super) fn for_credential(&self) -> Option<Url> {
        let url = self.endpoint();
        (url.origin() == self.home.origin()).then_some(url)
    }

    /// The same, for a conversation that opens without a search of its own.
    pub(super) async fn open_there(&self, url: Url, private: HeaderMap, first: First) -> Opening<'v> {
        let mut conversation = Conversation::new(self.visit, Partner::Url(url), Face::Auth, private, false);
        let (opened, trail) = Box::pin(opening::open(&mut conversation, first, self.ask)).await;
        let mut opening = Opening { conversation, opened, trail };
        self.mark(&mut opening);
        opening
    }

    /// What was looked at on the way, for who watches it.
    pub(super) fn into_documents(self) -> Option<Documents> {
        self.documents
    }

    /// Says in `detection` where the endpoint was found, or which signs of one there are.
    pub(super) fn tell(&self, detection: &mut Detection) {
        if let Some(found) = &self.found {
            let url = text::inert(&found.url, 200);
            detection.evidence.push(format!("the endpoint is {url}, {}", found.found_by.told()));
            detection.endpoint = Some(found.clone());
        }
        let signs = self.documents.as_ref().map(Documents::signs).unwrap_or_default();
        if detection.state == DetectionState::NotDetected && !signs.is_empty() {
            detection.state = DetectionState::Indicated;
            detection.evidence.extend(signs);
        }
    }

    fn written(&self) -> Candidate {
        Candidate { url: self.home.clone(), by: None }
    }

    /// The endpoint as it is known from before.
    fn known(&self) -> Candidate {
        self.remembered().unwrap_or_else(|| self.written())
    }

    fn remembered(&self) -> Option<Candidate> {
        let found = self.ask.endpoint?;
        Some(Candidate { url: Url::parse(&found.url).ok()?, by: Some(found.found_by) })
    }

    /// Where the endpoint is.
    pub(super) fn endpoint(&self) -> Url {
        let found = self.found.as_ref().and_then(|found| Url::parse(&found.url).ok());
        found.unwrap_or_else(|| self.home.clone())
    }

    /// What is asked before any search.
    fn sure(&self) -> Vec<Candidate> {
        if self.ask.kept.is_some() || self.ask.probe_only {
            vec![self.known()]
        } else if is_bare(self.home) {
            Vec::new()
        } else {
            vec![self.written()]
        }
    }

    /// What a search asks, last first: nothing twice, and none of what was a miss.
    async fn searched(&mut self, face: Face, misses: &[Miss<'_>]) -> Vec<Candidate> {
        let written = self.written();
        let mut all = Vec::new();
        if !is_bare(&written.url) {
            all.push(written.clone());
        }
        // The places are asked as a stranger, and so is what they name: not where only our credential may ask.
        if face == Face::Stranger {
            let documents = Documents::look(self.visit, self.ask, self.home, true).await;
            if documents.is_unsure() || misses.iter().any(|miss| !miss.trouble.is_answer()) {
                // Where they would lead is not known: what was found before is the best that is.
                all.extend(self.remembered());
            }
            let led = documents.leads().into_iter().take(MOST_LED_TO);
            all.extend(led.map(|(url, by_catalog)| {
                let by = if by_catalog { FoundBy::AiCatalog } else { FoundBy::ServerCard };
                Candidate { url, by: Some(by) }
            }));
            self.documents = Some(documents);
        }
        all.push(written);
        let path = self.home.join("/mcp").ok();
        all.extend(path.map(|url| Candidate { url, by: Some(FoundBy::McpPath) }));
        // What was found before may answer though nothing leads there any more.
        all.extend(self.remembered());
        let origin = self.home.origin();
        let mut out: Vec<Candidate> = Vec::new();
        for mut candidate in all {
            let is_known = out.iter().any(|other| other.url == candidate.url)
                || misses.iter().any(|miss| miss.candidate.url == candidate.url);
            if is_known || (face == Face::Auth && candidate.url.origin() != origin) {
                continue;
            }
            if candidate.url == *self.home {
                candidate.by = None;
            }
            out.push(candidate);
        }
        out.reverse();
        out
    }

    fn conversation(&self, candidate: &Candidate, face: Face, private: HeaderMap) -> Conversation<'v> {
        Conversation::new(self.visit, Partner::Url(candidate.url.clone()), face, private, self.ask.probe_only)
    }

    async fn attempt(&self, candidate: &Candidate, face: Face, private: &HeaderMap, first: First) -> Opening<'v> {
        let mut conversation = self.conversation(candidate, face, private.clone());
        let (opened, trail) = opening::open(&mut conversation, first, self.ask).await;
        Opening { conversation, opened, trail }
    }

    /// Whether nothing else is asked after this one failed. An outage of what is known moves nobody, and who speaks
    /// JSON-RPC has answered.
    fn ends(&self, candidate: &Candidate, failed: &Failed) -> bool {
        let trouble = &failed.trouble;
        let is_known = match self.ask.endpoint {
            Some(_) => candidate.url == self.known().url,
            None => candidate.by.is_none() && !is_bare(&candidate.url),
        };
        if is_known && !speaks_otherwise(failed) {
            return true;
        }
        let at_home = candidate.url.origin() == self.home.origin();
        let is_gone = matches!(trouble.kind, UnseenKind::Unreachable | UnseenKind::RateLimited);
        self.visit.is_over()
            || matches!(trouble.kind, UnseenKind::OurFault | UnseenKind::Rebound)
            || (at_home && is_gone)
    }

    /// A conversation that was not even begun.
    fn unasked(&self, trouble: Trouble, face: Face, private: HeaderMap) -> Opening<'v> {
        let conversation = self.conversation(&self.known(), face, private);
        Opening { conversation, opened: Opened::Failed(trouble.into()), trail: Trail::default() }
    }

    fn settle(&mut self, candidate: Candidate, mut opening: Opening<'v>) -> Opening<'v> {
        self.found = candidate.by.map(|found_by| Found { url: candidate.url.to_string(), found_by });
        self.mark(&mut opening);
        opening
    }

    /// Has the value of `mcp.transport` say where the endpoint was found; nothing where it is the URL as written.
    fn mark(&self, opening: &mut Opening<'_>) {
        let (Opened::Ready(ready), Some(found)) = (&mut opening.opened, &self.found) else { return };
        if let Json::Object(members) = &mut ready.transport {
            Members::insert(members, "endpoint".to_owned(), Json::from(found.url.as_str()));
            Members::insert(members, "found_by".to_owned(), Json::from(found.found_by.as_str()));
        }
    }

    /// None of them is an endpoint: the one that says most stands for all, and what the checks say follows from all.
    fn nothing(&mut self, mut misses: Vec<Miss<'v>>) -> Opening<'v> {
        let remarks = remarks(&misses);
        let told = misses.len() > 1;
        let evidence: Vec<String> = misses.iter().map(Miss::told).filter(|_| told).collect();
        let at = self.telling(&misses);
        let Miss { candidate, mut opening, .. } = misses.swap_remove(at);
        opening.trail.remarks.retain(|remark| !of_search(remark.rule));
        opening.trail.remarks.extend(remarks);
        opening.trail.evidence.extend(evidence);
        let known = self.remembered().filter(|known| known.url == candidate.url);
        self.settle(known.unwrap_or_else(|| self.written()), opening)
    }

    /// Which miss stands for the search: what is known, else the URL with a path as written, else what keeps us most
    /// from saying that there is nothing.
    fn telling(&self, misses: &[Miss<'_>]) -> usize {
        let of = |url: &Url| misses.iter().position(|miss| miss.candidate.url == *url);
        let known = self.remembered().and_then(|known| of(&known.url));
        let written = of(self.home).filter(|_| !is_bare(self.home));
        let worst = || {
            let ranks =
                misses.iter().enumerate().max_by_key(|(at, miss)| (rank(&miss.opening), std::cmp::Reverse(*at)));
            ranks.map_or(0, |(at, _)| at)
        };
        known.or(written).unwrap_or_else(worst)
    }
}

impl Miss<'_> {
    fn told(&self) -> String {
        format!("{}: {}", shown(&self.candidate.url), self.trouble.detail)
    }
}

/// Whether it answered, and in neither JSON-RPC nor with a challenge.
fn speaks_otherwise(failed: &Failed) -> bool {
    let kinds = [UnseenKind::HttpStatus, UnseenKind::InvalidJson, UnseenKind::InvalidJsonrpc];
    failed.era.is_none() && failed.handshake.is_none() && kinds.contains(&failed.trouble.kind)
}

fn of_search(rule: &str) -> bool {
    matches!(rule, "mcp.no-endpoint" | "mcp.not-jsonrpc")
}

/// What a search without an endpoint says to the checks. One candidate that could not be seen may be it.
fn remarks(misses: &[Miss<'_>]) -> Vec<Remark> {
    if misses.iter().any(|miss| !miss.trouble.is_answer()) {
        return Vec::new();
    }
    let of = |rule: &str| -> Vec<String> {
        let said = |miss: &&Miss<'_>| miss.opening.trail.remarks.iter().any(|remark| remark.rule == rule);
        misses.iter().filter(said).map(Miss::told).collect()
    };
    let (spoken, refused) = (of("mcp.not-jsonrpc"), of("mcp.no-endpoint"));
    let (rule, told) = match (spoken.is_empty(), refused.len() == misses.len()) {
        (false, _) => ("mcp.not-jsonrpc", spoken),
        (true, true) => ("mcp.no-endpoint", refused),
        (true, false) => return Vec::new(),
    };
    vec![Remark::finding(rule, told.join("; "))]
}

/// How much a failure keeps us from saying that nothing is there.
fn rank(opening: &Opening<'_>) -> u8 {
    let Opened::Failed(failed) = &opening.opened else { return 0 };
    match failed.trouble.kind {
        UnseenKind::OurFault | UnseenKind::Rebound => 9,
        UnseenKind::RateLimited => 8,
        UnseenKind::Blocked => 7,
        UnseenKind::Unreachable | UnseenKind::Timeout | UnseenKind::ServerError | UnseenKind::NotReached => 6,
        UnseenKind::CredentialRejected | UnseenKind::CredentialUnavailable | UnseenKind::Guarded => 5,
        UnseenKind::TooLarge | UnseenKind::CursorLoop => 4,
        UnseenKind::RpcError => 3,
        UnseenKind::InvalidJson | UnseenKind::InvalidJsonrpc => 2,
        UnseenKind::HttpStatus => 1,
        UnseenKind::Refused => 0,
    }
}
