//! Conversations with a scripted peer over real sockets.

mod caps;
mod echo;
mod faces;
mod finding;
mod framing;
mod lists;
mod opening;
mod peer;
mod real;
mod redirects;
mod refusals;
mod seldom;
mod sessions;
mod stdio;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use url::Url;

use super::{Ask, Credential, SecondRead, probe};
use crate::model::endpoint::Command;
use crate::model::facet::{Facet, FacetName, UnseenKind};
use crate::model::inventory::Target;
use crate::model::json::Json;
use crate::model::observation::{Echo, Found, Kept, Observation, RawFacet, RawRead, Remark, Transport};
use crate::model::secret::TextOrSecret;
use crate::model::snapshot::CheckVerdict;
use crate::model::target::Kind;
use crate::net::{Door, DoorSettings, Launch, NoSecrets, Roots, SystemResolver};

/// What a test asks with; [`Scan::run`] asks.
struct Scan<'a> {
    target: Target,
    headers: Vec<(http::HeaderName, http::HeaderValue)>,
    credential: Option<Credential>,
    date: Option<&'a str>,
    transport: Option<Transport>,
    second_read: SecondRead,
    probe_only: bool,
    /// What is looked at only now and then stands as it was.
    kept: Option<Arc<Kept>>,
    before: Option<Arc<Kept>>,
    known: Option<Echo>,
    endpoint: Option<Found>,
    scrub: &'a dyn crate::net::Scrub,
}

fn scan(url: &Url) -> Scan<'static> {
    Scan {
        target: Target {
            timeout: Duration::from_secs(10),
            scan_timeout: Duration::from_secs(30),
            ..Target::at("peer".parse().unwrap(), Kind::Mcp, url.clone())
        },
        headers: Vec::new(),
        credential: None,
        date: None,
        transport: None,
        second_read: SecondRead::Same,
        probe_only: false,
        kept: Some(Arc::new(kept(&[]))),
        before: None,
        known: None,
        endpoint: None,
        scrub: &NoSecrets,
    }
}

/// Its variables as they stand, and those it needs to find other programs.
fn launch(command: &Command) -> Launch {
    let written = command.env.iter().map(|(name, value)| match value {
        TextOrSecret::Text(text) => (name.clone(), text.into()),
        TextOrSecret::Secret(_) => panic!("no secrets here"),
    });
    let path = std::env::var_os("PATH").map(|path| ("PATH".to_owned(), path));
    let env = path.into_iter().chain(written).collect();
    let cwd = command.cwd.clone().unwrap_or_else(|| "/".into());
    Launch { program: command.program.clone(), args: command.args.clone(), env, cwd }
}

/// What was kept of a scan that remarked this.
fn kept(remarks: &[Remark]) -> Kept {
    Kept { at: Timestamp::UNIX_EPOCH, facets: std::collections::BTreeMap::new(), remarks: remarks.to_vec() }
}

fn door() -> Door {
    Door::new(DoorSettings {
        contact: Some("mailto:ops@example.com".to_owned()),
        allow: Vec::new(),
        resolver: Arc::new(SystemResolver),
        roots: Roots::Only(Vec::new()),
    })
    .unwrap()
}

impl Scan<'_> {
    async fn run(&self) -> Observation {
        let launch = self.target.endpoint.command().map(launch);
        let ask = Ask {
            target: &self.target,
            headers: &self.headers,
            launch: launch.as_ref(),
            credential: self.credential.as_ref(),
            transport: self.transport,
            date: self.date,
            known_class: None,
            endpoint: self.endpoint.as_ref(),
            second_read: self.second_read,
            probe_only: self.probe_only,
            kept: self.kept.as_ref(),
            before: self.before.as_ref(),
            known: self.known.as_ref(),
            scrub: self.scrub,
            trust: crate::net::Trust::Door,
            at: "2026-11-30T12:00:00Z".parse().unwrap(),
            machine: crate::clock::Clock::system().now(),
        };
        probe(&door(), &ask).await
    }

    fn with_token(mut self, token: Option<&str>) -> Self {
        let token = token.map(|token| secrecy::SecretString::from(token.to_owned()));
        self.credential = Some(Credential { name: "env PEER_TOKEN".to_owned(), token });
        self
    }

    fn with_timeout(mut self, milliseconds: u64) -> Self {
        self.target.timeout = Duration::from_millis(milliseconds);
        self
    }
}

fn name(text: &str) -> FacetName {
    text.parse().unwrap()
}

/// `seen`, `absent`, `unseen KIND`, `unwatched` or `-`, for each facet of a face; of those that are not looked at in
/// every scan, for those that were.
fn states(observation: &Observation, suffix: &str) -> String {
    let facets = Facet::ALL.into_iter().filter(|facet| !matches!(facet, Facet::Checks | Facet::Scan));
    let seldom = [Facet::McpCard, Facet::McpCatalog, Facet::Tls];
    let facets = facets
        .filter(|facet| !seldom.contains(facet) || observation.facets.contains_key(&name(&format!("{facet}{suffix}"))));
    let words = facets.map(|facet| {
        let name = name(&format!("{facet}{suffix}"));
        let state = match observation.facets.get(&name) {
            Some(RawFacet::Seen(reads)) => format!("seen {}", reads.len()),
            Some(RawFacet::Absent { .. }) => "absent".to_owned(),
            Some(RawFacet::Unseen(reason)) => format!("unseen {}", reason.kind.as_str()),
            None if observation.unwatched.contains_key(&name) => "unwatched".to_owned(),
            None => "-".to_owned(),
        };
        format!("{facet}: {state}")
    });
    words.collect::<Vec<_>>().join("; ")
}

fn reads<'o>(observation: &'o Observation, facet: &str) -> &'o [RawRead] {
    match observation.facets.get(&name(facet)) {
        Some(RawFacet::Seen(reads)) => reads,
        other => panic!("{facet}: {other:?}"),
    }
}

fn page<'o>(observation: &'o Observation, facet: &str) -> &'o Json {
    &reads(observation, facet)[0].pages[0]
}

/// The names of the items in each read of the tools.
fn tools(observation: &Observation) -> Vec<Vec<String>> {
    let names = |read: &RawRead| {
        let items = read.pages.iter().flat_map(|page| page.member("tools").and_then(Json::as_array).unwrap());
        items.map(|tool| tool.member("name").and_then(Json::as_str).unwrap().to_owned()).collect()
    };
    reads(observation, "mcp.tools").iter().map(names).collect()
}

fn unseen(observation: &Observation, facet: &str) -> (UnseenKind, String) {
    match observation.facets.get(&name(facet)) {
        Some(RawFacet::Unseen(reason)) => (reason.kind, reason.detail.clone()),
        other => panic!("{facet}: {other:?}"),
    }
}

/// Each sight as `RULE/CASE PLACE`.
fn sights(observation: &Observation) -> Vec<String> {
    let place = |place: &crate::model::observation::SightPlace| match place {
        crate::model::observation::SightPlace::Endpoint => "/endpoint".to_owned(),
        crate::model::observation::SightPlace::Facet(name) => format!("/{name}"),
    };
    observation.sights.iter().map(|sight| format!("{}/{} {}", sight.rule, sight.case, place(&sight.place))).collect()
}

/// The rules of what was found.
fn remarks(observation: &Observation) -> Vec<&'static str> {
    let found = observation.remarks.iter().filter(|remark| remark.verdict == CheckVerdict::Finding);
    found.map(|remark| remark.rule).collect()
}

/// What was said to `rule`, in a word.
fn said(observation: &Observation, rule: &str) -> Option<(CheckVerdict, String)> {
    let remark = observation.remarks.iter().find(|remark| remark.rule == rule)?;
    Some((remark.verdict, remark.evidence.clone()))
}
