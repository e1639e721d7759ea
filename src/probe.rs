//! Asks one target once, and brings home what it said: an [`Observation`] of raw reads.
//!
//! It never fails: what kept it from seeing is a sight of the observation (law 1). It is passive: it declares no
//! capability, calls nothing, and ends the sessions it opened where that does no harm. What the answers mean is left
//! to `judge`, when to ask again to `watch`.

use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use jiff::Timestamp;
use secrecy::SecretString;

use crate::model::inventory::Target;
use crate::model::observation::{AddressClass, Echo, Found, Kept, Observation, Transport};
use crate::net::{Door, Launch, Scrub, Trust, VisitPlan};

pub mod challenge;
mod clock_skew;
mod connections;
mod conversation;
pub mod dates;
mod echo;
mod exchange;
mod face;
mod finding;
mod jsonrpc;
mod lists;
mod negative;
mod opening;
mod pinned;
mod ready;
mod report;
mod retry_after;
mod seldom;
mod session_ids;
pub mod sse;
mod stream;
mod tls;
mod transport;
mod trouble;
mod wire;

use finding::Search;
use seldom::Learned;

/// One target, and everything that is needed to ask it.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// The target.
    pub target: &'a Target,
    /// Its extra headers, their secrets resolved.
    pub headers: &'a [(HeaderName, HeaderValue)],
    /// The program to start, when the target is one; `None` also when a variable of it cannot be had.
    pub launch: Option<&'a Launch>,
    /// Our credential, when the target has one.
    pub credential: Option<&'a Credential>,
    /// The protocol date that its baseline was asked with: it is asked for first.
    pub date: Option<&'a str>,
    /// How its baseline was carried: it is asked so first.
    pub transport: Option<Transport>,
    /// Class of its address at the baseline.
    pub known_class: Option<AddressClass>,
    /// Where the endpoint was found last, when that is not the URL as written.
    pub endpoint: Option<&'a Found>,
    /// How `tools/list` is read the second time.
    pub second_read: SecondRead,
    /// Its block is confirmed: one request, and no other unless that one is let in.
    pub probe_only: bool,
    /// What is not looked at in every scan and need not be in this one.
    pub kept: Option<&'a Arc<Kept>>,
    /// The same of before, however old: of what this scan cannot look at it says the last that is known.
    pub before: Option<&'a Arc<Kept>>,
    /// By what the last scan is known again, if nothing new would be of interest.
    pub known: Option<&'a Echo>,
    /// Takes our secrets out of what arrives.
    pub scrub: &'a dyn Scrub,
    /// Whom TLS trusts, and what we show there.
    pub trust: Trust<'a>,
    /// Now.
    pub at: Timestamp,
    /// What the machine's clock says, by which the clocks of peers are measured; a test does not move it.
    pub machine: Timestamp,
}

impl std::fmt::Debug for Ask<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ask")
            .field("target", &self.target.id)
            .field("date", &self.date)
            .field("second_read", &self.second_read)
            .field("probe_only", &self.probe_only)
            .finish_non_exhaustive()
    }
}

/// Our credential for a target.
#[derive(Debug)]
pub struct Credential {
    /// Its name for people: of its reference, never its value.
    pub name: String,
    /// The bearer token; `None` when its reference gives nothing.
    pub token: Option<SecretString>,
}

/// How `tools/list` is read the second time (design, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondRead {
    /// Over a connection and session of its own: in the first scan, in confirming scans, once an hour.
    Fresh,
    /// Over those of the first read.
    Same,
}

/// Asks the target. What brought nothing but what is known is not parsed; its echo tells.
pub async fn probe(door: &Door, ask: &Ask<'_>) -> Observation {
    let visit = door.visit(VisitPlan {
        written: ask.target.endpoint.url(),
        allow: &ask.target.egress_allow,
        baseline: ask.known_class,
        timeout: ask.target.timeout,
        scan_timeout: ask.target.scan_timeout,
        scrub: ask.scrub,
        trust: ask.trust,
    });
    let mut search = ask.target.endpoint.url().map(|url| Search::new(&visit, ask, url));
    let faces = match &mut search {
        Some(search) => Box::pin(face::faces(search, ask)).await,
        None => Box::pin(face::program(&visit, ask)).await,
    };
    let mut detection = report::detection(&faces);
    if let Some(search) = &search {
        search.tell(&mut detection);
    }
    let learned =
        Learned { endpoint: search.as_ref().map(Search::endpoint), documents: search.and_then(Search::into_documents) };
    let seldom = Box::pin(seldom::look(&visit, ask, &faces, learned)).await;
    let mut observation = report::observation(&visit, ask, detection, faces);
    seldom.stand_in(&mut observation);
    observation.echo = echo::of(&observation);
    let is_new = |echo: &Echo| ask.known.is_none_or(|known| known.digest != echo.digest);
    if observation.echo.as_ref().is_none_or(is_new) {
        echo::open(&visit, observation.facets.iter_mut()).await;
    }
    observation
}

#[cfg(test)]
mod tests;
