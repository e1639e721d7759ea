//! The pretended fleet of a simulated month: what each server would have answered at an instant, in the shape in which
//! the probe brings it home.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use driftd::model::digest::Digest;
use driftd::model::facet::{Facet, FacetName, UnseenKind, UnseenReason};
use driftd::model::inventory::Target;
use driftd::model::json::Json;
use driftd::model::observation::{
    Asked, Detection, DetectionState, Echo, Era, Observation, Outcome, RawFacet, RawRead, SightFact, SightPlace,
    Transport,
};
use driftd::scan::{AskManner, Eye};
use futures_util::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::story::Story;

/// How far the daemon's clock is ahead of the time that it really is.
#[derive(Clone, Debug, Default)]
pub(super) struct Skew(Arc<Mutex<SignedDuration>>);

impl Skew {
    /// The daemon's clock goes ahead by so much more.
    pub(super) fn add(&self, by: SignedDuration) {
        *self.0.lock().unwrap() += by;
    }

    /// The instant that it really is when the daemon's clock says `shown`.
    pub(super) fn really(&self, shown: Timestamp) -> Timestamp {
        shown - *self.0.lock().unwrap()
    }

    /// What the daemon's clock says at an instant.
    pub(super) fn shown(&self, really: Timestamp) -> Timestamp {
        really + *self.0.lock().unwrap()
    }
}

/// All servers, and who looked at them when.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    story: Arc<Story>,
    skew: Skew,
    looks: Arc<Mutex<Vec<Look>>>,
}

/// A scan.
#[derive(Clone, Debug)]
pub(super) struct Look {
    pub(super) target: String,
    /// When it really was.
    pub(super) at: Timestamp,
}

impl Servers {
    pub(super) fn new(story: Arc<Story>, skew: Skew) -> Self {
        Self { story, skew, looks: Arc::default() }
    }

    /// All scans so far.
    pub(super) fn looks(&self) -> Vec<Look> {
        self.looks.lock().unwrap().clone()
    }
}

impl Eye for Servers {
    fn look<'a>(&'a self, target: &'a Target, manner: &'a AskManner<'a>, now: Timestamp) -> BoxFuture<'a, Observation> {
        let (target, at) = (target.id.to_string(), self.skew.really(now));
        let mood = match self.story.mood(&target, at) {
            Mood::Waits(until) => Mood::Waits(self.skew.shown(until)),
            mood @ (Mood::Serves(_) | Mood::Down | Mood::Forbids) => mood,
        };
        self.looks.lock().unwrap().push(Look { target, at });
        Box::pin(std::future::ready(observed(&mood, manner.fresh, now)))
    }
}

/// How a server is at an instant.
#[derive(Clone, Debug)]
pub(super) enum Mood {
    /// It answers; these are its tools.
    Serves(Vec<Value>),
    /// Nothing listens.
    Down,
    /// A gateway refuses us.
    Forbids,
    /// We ask too often, says a gateway: not before this instant.
    Waits(Timestamp),
}

/// A tool with one argument.
pub(super) fn tool(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object", "properties": { "id": { "type": "string" } } },
    })
}

/// What a scan at `at` brings home from a server of this mood; `fresh`: its second read was over another connection.
fn observed(mood: &Mood, fresh: bool, at: Timestamp) -> Observation {
    match mood {
        Mood::Serves(tools) => served(tools, fresh, at),
        Mood::Down => {
            let reason = UnseenReason { kind: UnseenKind::Unreachable, detail: "no connection".to_owned() };
            failed(Outcome::Unreachable, "scan.unreachable", "-", &reason, None, at)
        }
        Mood::Forbids => {
            let reason = UnseenReason { kind: UnseenKind::Blocked, detail: "HTTP 403".to_owned() };
            failed(Outcome::Blocked, "scan.blocked", "under_24h", &reason, None, at)
        }
        Mood::Waits(until) => {
            let reason = UnseenReason { kind: UnseenKind::RateLimited, detail: "HTTP 429".to_owned() };
            failed(Outcome::RateLimited, "scan.rate-limited", "-", &reason, Some(*until), at)
        }
    }
}

fn served(tools: &[Value], fresh: bool, at: Timestamp) -> Observation {
    let handshake = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "pretended", "version": "1.0.0" },
    });
    let transport = json!({
        "transport": "streamable_http", "era": "session", "date": "2025-11-25", "url": "https://mcp.example.com/mcp",
        "redirects": [], "session": true, "framing": "json", "http_version": "1.1", "address_class": "public",
        "headers": {},
    });
    let list = json!({ "tools": tools });
    let digest = Digest::of_parts([list.to_string()]);
    let absent = || RawFacet::Absent { note: Some("the capability is not declared".to_owned()) };
    let facets = [
        (Facet::McpHandshake, seen(&handshake, 1, false)),
        (Facet::McpTransport, seen(&transport, 1, false)),
        (Facet::McpTools, seen(&list, 2, fresh)),
        (Facet::McpPrompts, absent()),
        (Facet::McpResources, absent()),
        (Facet::McpResourceTemplates, absent()),
        (Facet::AuthChallenge, RawFacet::Absent { note: None }),
    ];
    let facets = facets.map(|(facet, raw)| (FacetName::stranger(facet), raw));
    Observation {
        outcome: Outcome::Ok,
        mcp: Detection {
            state: DetectionState::Confirmed,
            transport: Some(Transport::StreamableHttp),
            era: Some(Era::Session),
            version: Some("2025-11-25".to_owned()),
            supported: Vec::new(),
            endpoint: None,
            evidence: vec!["initialize".to_owned()],
        },
        facets: BTreeMap::from(facets),
        echo: Some(Echo { digest, documents: Box::default() }),
        ..nothing(at)
    }
}

/// So many reads of one page, the second perhaps over a connection of its own.
fn seen(page: &Value, reads: usize, fresh: bool) -> RawFacet {
    let page = Json::parse_trusted(page.to_string().as_bytes()).unwrap();
    let read = |n: usize| RawRead { pages: vec![page.clone()], fresh: fresh && n > 0, ..RawRead::default() };
    RawFacet::Seen((0..reads).map(read).collect())
}

fn failed(
    outcome: Outcome,
    rule: &'static str,
    case: &'static str,
    reason: &UnseenReason,
    not_before: Option<Timestamp>,
    at: Timestamp,
) -> Observation {
    let facets = [
        Facet::McpHandshake,
        Facet::McpTransport,
        Facet::McpTools,
        Facet::McpPrompts,
        Facet::McpResources,
        Facet::McpResourceTemplates,
        Facet::AuthChallenge,
    ];
    let unseen = |facet| (FacetName::stranger(facet), RawFacet::Unseen(reason.clone()));
    Observation {
        outcome,
        sights: vec![SightFact { rule, case, place: SightPlace::Endpoint, detail: reason.detail.clone() }],
        facets: facets.into_iter().map(unseen).collect(),
        not_before,
        ..nothing(at)
    }
}

fn nothing(at: Timestamp) -> Observation {
    Observation {
        at,
        duration: Duration::from_millis(40),
        requests: 6,
        outcome: Outcome::Error,
        sights: Vec::new(),
        mcp: Detection {
            state: DetectionState::Unseen,
            transport: None,
            era: None,
            version: None,
            supported: Vec::new(),
            endpoint: None,
            evidence: Vec::new(),
        },
        facets: BTreeMap::new(),
        unwatched: BTreeMap::new(),
        asked: Asked { date: Some("2025-11-25".to_owned()), tier: "passive".to_owned(), ..Asked::default() },
        remarks: Vec::new(),
        not_before: None,
        address_class: None,
        certificate_ends: None,
        stderr: None,
        kept: None,
        echo: None,
    }
}
