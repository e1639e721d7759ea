//! Cards and catalogs: where they may be, and what is there. The places are asked as a stranger.
//!
//! A place that clearly has none is absent (404, 410, any other 4xx of its kind, a page for people); 403, 407, 429,
//! 5xx and time limits leave it unseen. A 401 says neither: like a list behind a 401, the place is not watched.

use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderValue, StatusCode};
use url::Url;

use super::leads::{self, Entry};
use crate::model::facet::{Facet, FacetName, UnseenKind, UnseenReason};
use crate::model::json::Json;
use crate::model::observation::{RawFacet, Remark};
use crate::net::{Answer, Line, Request, Visit};
use crate::probe::conversation::private_headers;
use crate::probe::exchange;
use crate::probe::trouble::Trouble;
use crate::probe::{Ask, retry_after, seldom};

const CARD_ACCEPT: HeaderValue = HeaderValue::from_static("application/mcp-server-card+json, application/json");
const CATALOG_ACCEPT: HeaderValue = HeaderValue::from_static("application/ai-catalog+json, application/json");

/// Cards that a catalog says are elsewhere, asked for in one search.
const MOST_NAMED: usize = 3;

/// What one place answered.
#[derive(Debug)]
pub(super) enum Looked {
    /// A document.
    Document(Box<Found>),
    /// There is none; why, in our words.
    None(String),
    /// 401.
    Guarded,
    /// It could not be found out.
    Unseen(Trouble),
}

/// A document and where it was found.
#[derive(Debug)]
pub(super) struct Found {
    /// Who answered in the end; of a card inside a catalog, where that is.
    at: Url,
    document: Json,
    ambiguities: Vec<String>,
    /// How it may be cached.
    cache: Option<Json>,
    /// Whether a redirect led to another origin than the one that was asked.
    crossed: bool,
}

/// Whose card a place has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// The URL's own: `URL/server-card`.
    Url,
    /// The catalog names or holds it.
    Catalog,
    /// The origin's.
    Origin,
}

/// Everything that was looked at.
#[derive(Debug)]
pub(in crate::probe) struct Documents {
    catalog: Looked,
    /// In the order in which they lead to an endpoint.
    cards: Vec<(Of, Looked)>,
    /// What ended the looking, if anything did.
    over: Option<Trouble>,
    /// Whether the origin itself is what is watched, so that its catalog's cards are the target's.
    is_bare: bool,
}

impl Documents {
    /// Looks at all places. Cards that the catalog says are elsewhere are asked for only with `follow`.
    pub(in crate::probe) async fn look(visit: &Visit<'_>, ask: &Ask<'_>, written: &Url, follow: bool) -> Self {
        let mut look = Look { line: visit.line(), ask, over: None };
        let catalog = look.at(written.join("/.well-known/ai-catalog.json").ok(), Kind::Catalog).await;
        let mut cards = Vec::new();
        if let (Looked::Document(found), true) = (&catalog, follow) {
            cards = look.named(found).await;
        }
        for (of, place) in card_places(written) {
            cards.push((of, look.at(Some(place), Kind::Card).await));
        }
        Self { catalog, cards, over: look.over, is_bare: super::is_bare(written) }
    }

    /// Where they say that an endpoint is, in the order of the search, with whether a catalog said so.
    pub(super) fn leads(&self) -> Vec<(Url, bool)> {
        let found = self.cards.iter().filter_map(|(of, looked)| Some((*of, looked.found()?)));
        found
            .flat_map(|(of, found)| leads::endpoints(&found.document).into_iter().map(move |url| (url, of)))
            .map(|(url, of)| (url, of == Of::Catalog))
            .collect()
    }

    /// Whether one of them could not be seen, so that where they would lead is not known.
    pub(super) fn is_unsure(&self) -> bool {
        self.all().any(|looked| matches!(looked, Looked::Unseen(_)))
    }

    /// What says that nothing more may be asked of the origin.
    pub(super) fn refusal(&self) -> Option<&Trouble> {
        // A place that is slow to say that it has nothing says little of the endpoint.
        self.over.as_ref().filter(|trouble| trouble.kind != UnseenKind::Timeout)
    }

    /// Signs of a server in them, in our words.
    pub(super) fn signs(&self) -> Vec<String> {
        let cards = self.cards.iter().filter_map(|(_, looked)| looked.found());
        let whole = cards.filter(|found| leads::is_whole_card(&found.document));
        let cards = whole.map(|found| format!("a server card is at {}", super::shown(&found.at)));
        let catalog = self.catalog.found().filter(|found| leads::lists_server(&found.document));
        let catalog = catalog.map(|found| format!("the catalog at {} lists a server", super::shown(&found.at)));
        catalog.into_iter().chain(cards).collect()
    }

    fn all(&self) -> impl Iterator<Item = &Looked> {
        std::iter::once(&self.catalog).chain(self.cards.iter().map(|(_, looked)| looked))
    }

    /// The two facets.
    pub(in crate::probe) fn facets(&self) -> [(FacetName, RawFacet); 2] {
        // A catalog of a whole origin says little of one of its paths: there it is the URL's own card that counts.
        let own = |wanted: Of| self.cards.iter().filter(move |(of, _)| *of == wanted).map(|(_, looked)| looked);
        let named = own(Of::Catalog).filter(|_| self.is_bare);
        let cards = own(Of::Url).chain(named).chain(own(Of::Origin));
        [
            (FacetName::stranger(Facet::McpCard), facet(cards)),
            (FacetName::stranger(Facet::McpCatalog), facet(std::iter::once(&self.catalog))),
        ]
    }

    /// What they decide of checks.
    pub(in crate::probe) fn remarks(&self) -> Vec<Remark> {
        let crossed = self.all().filter_map(Looked::found).filter(|found| found.crossed);
        let evidence = |found: &Found| format!("the document came from {}", super::shown(&found.at));
        crossed.map(|found| Remark::finding("net.redirect-cross-origin", evidence(found))).collect()
    }
}

impl Looked {
    fn found(&self) -> Option<&Found> {
        match self {
            Self::Document(found) => Some(found),
            Self::None(_) | Self::Guarded | Self::Unseen(_) => None,
        }
    }
}

/// The places of cards, in the order of the search; none twice.
fn card_places(written: &Url) -> Vec<(Of, Url)> {
    let own = own_place(written);
    let origin = ["/.well-known/mcp/server-card.json", "/mcp/server-card"];
    let origin = origin.iter().filter_map(|path| written.join(path).ok());
    let origin = origin.filter(|place| *place != own).map(|place| (Of::Origin, place));
    origin.chain([(Of::Url, own.clone())]).collect()
}

/// `URL/server-card`.
fn own_place(written: &Url) -> Url {
    let mut place = written.clone();
    place.set_path(&format!("{}/server-card", written.path().trim_end_matches('/')));
    place.set_query(None);
    place.set_fragment(None);
    place
}

/// The first document among places that are clearly without one. What could not be seen before it might have been
/// first, so that nothing can be said then.
fn facet<'l>(places: impl Iterator<Item = &'l Looked>) -> RawFacet {
    let (mut notes, mut guarded) = (Vec::new(), false);
    for place in places {
        match place {
            Looked::Document(found) => return found.raw(),
            Looked::Unseen(trouble) => return RawFacet::Unseen(trouble.reason()),
            Looked::Guarded => guarded = true,
            Looked::None(note) if notes.contains(note) => {}
            Looked::None(note) => notes.push(note.clone()),
        }
    }
    if guarded {
        // No clear no, and no failure either: as with a list behind a challenge, we have no key to look.
        let detail = "a place where it may be is answered by a 401".to_owned();
        return RawFacet::Unseen(UnseenReason { kind: UnseenKind::Guarded, detail });
    }
    RawFacet::Absent { note: Some(notes.join("; ")) }
}

impl Found {
    fn raw(&self) -> RawFacet {
        let members = [("at", Json::from(self.at.as_str())), ("document", self.document.clone())];
        let cache = self.cache.iter().map(|cache| ("cache", cache.clone()));
        let page = members.into_iter().chain(cache).map(|(name, value)| (name.to_owned(), value)).collect();
        seldom::seen(Json::Object(page), self.ambiguities.clone())
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Card,
    Catalog,
}

impl Kind {
    const fn accept(self) -> HeaderValue {
        match self {
            Self::Card => CARD_ACCEPT,
            Self::Catalog => CATALOG_ACCEPT,
        }
    }

    fn is(self, document: &Json) -> bool {
        match self {
            Self::Card => leads::is_card(document),
            Self::Catalog => leads::is_catalog(document),
        }
    }
}

struct Look<'l, 'v> {
    line: Line<'v>,
    ask: &'l Ask<'l>,
    /// What ended the looking: the origin does not answer, or wants fewer requests.
    over: Option<Trouble>,
}

impl Look<'_, '_> {
    /// One place of the origin.
    async fn at(&mut self, place: Option<Url>, kind: Kind) -> Looked {
        let Some(place) = place else { return Looked::None("the origin has no such place".to_owned()) };
        if let Some(over) = &self.over {
            return Looked::Unseen(over.clone());
        }
        let looked = self.get(place, kind).await;
        if let Looked::Unseen(trouble) = &looked
            && ends_search(trouble)
        {
            self.over = Some(trouble.clone());
        }
        looked
    }

    /// The cards of a catalog.
    async fn named(&self, catalog: &Found) -> Vec<(Of, Looked)> {
        let mut cards = Vec::new();
        let mut asked = 0;
        for entry in leads::entries(&catalog.document) {
            let looked = match entry {
                Entry::Held(card) if leads::is_card(card) => Looked::Document(Box::new(Found {
                    at: catalog.at.clone(),
                    document: card.clone(),
                    ambiguities: Vec::new(),
                    cache: None,
                    crossed: false,
                })),
                Entry::At(place) if asked < MOST_NAMED => {
                    asked += 1;
                    self.get(place, Kind::Card).await
                }
                Entry::Held(_) | Entry::At(_) => continue,
            };
            cards.push((Of::Catalog, looked));
        }
        cards
    }

    async fn get(&self, place: Url, kind: Kind) -> Looked {
        let asked = place.clone();
        let request = Request {
            headers: HeaderMap::from_iter([(ACCEPT, kind.accept())]),
            private: private_headers(self.ask.headers, None).unwrap_or_default(),
            ..Request::get(place)
        };
        match self.line.send(request).await {
            Ok(answer) => {
                let crossed = is_elsewhere(&asked, &answer.url);
                self.read(answer, kind, crossed).await
            }
            Err(error) => Looked::Unseen(error.into()),
        }
    }

    async fn read(&self, answer: Answer, kind: Kind, crossed: bool) -> Looked {
        let Answer { status, headers, url: at, body, .. } = answer;
        if !status.is_success() {
            return self.refused(status, &headers);
        }
        let bytes = match body.whole().await {
            Ok(bytes) => bytes,
            Err(error) => return Looked::Unseen(error.into()),
        };
        let number = status.as_u16();
        match self.line.visit().parse(&bytes).await {
            Ok(parsed) if kind.is(&parsed.value) => Looked::Document(Box::new(Found {
                at,
                document: parsed.value,
                ambiguities: exchange::ambiguities(&parsed.issues).to_vec(),
                cache: cache(&headers),
                crossed,
            })),
            Ok(_) => Looked::None(format!("HTTP {number}, another document")),
            Err(error) if error.kind.is_limit() => {
                Looked::Unseen(Trouble::new(UnseenKind::TooLarge, "too many values or levels"))
            }
            // What says that it is JSON and is none was broken on the way, or by whoever wrote it.
            Err(_) if says_json(&headers) => Looked::Unseen(Trouble::new(UnseenKind::InvalidJson, "it is no JSON")),
            Err(_) => Looked::None(format!("HTTP {number}, a page")),
        }
    }

    fn refused(&self, status: StatusCode, headers: &HeaderMap) -> Looked {
        let number = status.as_u16();
        let unseen = |kind| {
            let mut trouble = Trouble::new(kind, format!("HTTP {number}"));
            trouble.not_before = retry_after::not_before(headers, self.ask.at);
            Looked::Unseen(trouble)
        };
        match number {
            401 => Looked::Guarded,
            403 | 407 | 451 => unseen(UnseenKind::Blocked),
            408 => unseen(UnseenKind::Timeout),
            429 => unseen(UnseenKind::RateLimited),
            500.. => unseen(UnseenKind::ServerError),
            _ => Looked::None(format!("HTTP {number}")),
        }
    }
}

/// Whether a redirect left the origin; from plain HTTP to TLS on the same host is where it was meant to lead.
fn is_elsewhere(asked: &Url, answered: &Url) -> bool {
    let upgraded = asked.scheme() == "http" && answered.scheme() == "https" && asked.host() == answered.host();
    asked.origin() != answered.origin() && !upgraded
}

/// Whoever does not answer at all, or wants fewer requests, is not asked for the next document.
fn ends_search(trouble: &Trouble) -> bool {
    matches!(
        trouble.kind,
        UnseenKind::Unreachable
            | UnseenKind::Timeout
            | UnseenKind::RateLimited
            | UnseenKind::NotReached
            | UnseenKind::OurFault
    )
}

fn says_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json")
}

/// How the document may be cached: the directives by name, since their seconds run down, and whether it can be asked
/// for anew by its tag. `None` where nothing is said.
fn cache(headers: &HeaderMap) -> Option<Json> {
    let mut directives: Vec<String> = headers
        .get_all(CACHE_CONTROL)
        .iter()
        .flat_map(|value| String::from_utf8_lossy(value.as_bytes()).split(',').map(directive).collect::<Vec<_>>())
        .filter(|name| !name.is_empty())
        .collect();
    directives.sort();
    directives.dedup();
    let tagged = headers.contains_key(ETAG);
    let control = Json::Array(directives.iter().map(|name| Json::from(name.as_str())).collect());
    (tagged || !directives.is_empty()).then(|| Json::from([("control", control), ("etag", Json::from(tagged))]))
}

fn directive(text: &str) -> String {
    text.split('=').next().unwrap_or_default().trim().to_ascii_lowercase()
}
