//! One scan's use of the door: connections, requests, redirects hop by hop.
//!
//! A [`Visit`] holds what belongs to the scan (deadline, bytes left, requests sent); a [`Line`] holds connections,
//! so that a second line is a second connection. All connections end when their line is dropped.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version};
use ipnet::IpNet;
use jiff::Timestamp;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use url::{Host, Url};

use super::body::{Body, Budget, Limit};
use super::certificate;
use super::class::classify;
use super::error::{NetError, Phase};
use super::guard::{Destination, HostForm};
use super::own::{Identity, OwnPart, OwnTls, Trust};
use super::program::{Launch, Program};
use super::resolve::{Guarded, Rule};
use super::{Door, MAX_ANSWER, MAX_HEADERS, MAX_REDIRECTS, MAX_SCAN, Scrub, tls};
use crate::model::digest::Digest;
use crate::model::observation::AddressClass;

/// What one scan may do at the door.
#[derive(Clone, Copy)]
pub struct VisitPlan<'a> {
    /// The URL written in the inventory: its origin is the only one that gets what is private. `None` for a program:
    /// whatever is asked then was chosen by the peer.
    pub written: Option<&'a Url>,
    /// `egress.allow` of the target.
    pub allow: &'a [IpNet],
    /// Class of the address at the baseline.
    pub baseline: Option<AddressClass>,
    /// Limit of one request, its whole body included.
    pub timeout: Duration,
    /// Limit of all requests together.
    pub scan_timeout: Duration,
    /// Takes secrets out of what arrives.
    pub scrub: &'a dyn Scrub,
    /// Whom TLS trusts, and what we show there.
    pub trust: Trust<'a>,
}

impl fmt::Debug for VisitPlan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VisitPlan").field("written", &self.written.map(Url::as_str)).finish_non_exhaustive()
    }
}

/// One scan's use of the door.
#[derive(Debug)]
pub struct Visit<'a> {
    door: &'a Door,
    plan: VisitPlan<'a>,
    allow: Arc<[IpNet]>,
    started: Instant,
    budget: Arc<Budget>,
    requests: AtomicU32,
    own: OnceLock<AddressClass>,
    certificate: OnceLock<Option<Timestamp>>,
    leaf: OnceLock<Digest>,
    tls_failed: AtomicBool,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where to; who chose it is told by its origin.
    pub url: Url,
    /// Sent wherever the request goes.
    pub headers: HeaderMap,
    /// Sent to the origin written and nowhere else: credentials, headers of the inventory.
    pub private: HeaderMap,
    /// The body, sent again where a redirect keeps it.
    pub body: Option<Bytes>,
    /// Whether 307 and 308 (and for GET all redirects) are followed.
    pub follow: bool,
    /// Whether a redirect to another origin is refused: what asks with a credential has no use for an answer that was
    /// given without it.
    pub keep_origin: bool,
    /// A limit below that of the plan.
    pub timeout: Option<Duration>,
    /// Whether the body may last as long as the scan, and hold what all its answers may: a stream that carries them.
    pub lasting: bool,
}

impl Request {
    /// A GET that follows redirects and carries nothing.
    #[must_use]
    pub fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            private: HeaderMap::new(),
            body: None,
            follow: true,
            keep_origin: false,
            timeout: None,
            lasting: false,
        }
    }
}

/// The head of an answer, secrets taken out, and its body, not yet read.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The version that was spoken.
    pub version: Version,
    /// Header fields.
    pub headers: HeaderMap,
    /// Who answered in the end.
    pub url: Url,
    /// Redirects that led there.
    pub hops: Vec<Hop>,
    /// Class of the address that answered.
    pub class: Option<AddressClass>,
    /// The body.
    pub body: Body,
}

/// One redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The status that sent us on.
    pub status: StatusCode,
    /// Where to.
    pub to: Url,
}

/// Connections of one scan.
#[derive(Debug)]
pub struct Line<'v> {
    visit: &'v Visit<'v>,
    home: OnceLock<reqwest::Client>,
    away: OnceLock<reqwest::Client>,
}

impl<'a> Visit<'a> {
    pub(super) fn new(door: &'a Door, plan: VisitPlan<'a>) -> Self {
        Self {
            door,
            plan,
            allow: plan.allow.into(),
            started: Instant::now(),
            budget: Arc::default(),
            requests: AtomicU32::new(0),
            own: OnceLock::new(),
            certificate: OnceLock::new(),
            leaf: OnceLock::new(),
            tls_failed: AtomicBool::new(false),
        }
    }

    /// New connections.
    pub const fn line(&'a self) -> Line<'a> {
        Line { visit: self, home: OnceLock::new(), away: OnceLock::new() }
    }

    /// Requests sent so far, each hop counted.
    pub fn requests(&self) -> u32 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Time since the visit began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Whether the scan's time is over.
    pub fn is_over(&self) -> bool {
        self.elapsed() >= self.plan.scan_timeout
    }

    /// Class of the target's own address, once it has answered.
    pub fn own_class(&self) -> Option<AddressClass> {
        self.own.get().copied()
    }

    /// When the certificate ends that the target's own origin showed; `None` over plain HTTP.
    pub fn certificate_ends(&self) -> Option<Timestamp> {
        self.certificate.get().copied().flatten()
    }

    /// Of the certificate that the target's own origin showed to a request.
    pub fn leaf(&self) -> Option<&Digest> {
        self.leaf.get()
    }

    /// Whether a request to the target's own origin came as far as TLS and no further.
    pub fn failed_in_tls(&self) -> bool {
        self.tls_failed.load(Ordering::Relaxed)
    }

    /// Notes when the certificate ends that the target's own origin showed; the first to say it counts.
    pub(super) fn note_certificate(&self, ends: Option<Timestamp>) {
        self.certificate.get_or_init(|| ends);
    }

    pub(super) fn guarded(&self, rule: Rule) -> Guarded {
        Guarded { inner: Arc::clone(&self.door.resolver), rule }
    }

    /// Who vouches for the origin written.
    pub(super) fn roots(&self) -> Result<Arc<RootCertStore>, NetError> {
        match self.plan.trust {
            Trust::Own(OwnTls { authorities: Some(own), .. }) => {
                tls::with(RootCertStore::empty(), own).map_err(|_| NetError::OwnTls(OwnPart::Authorities))
            }
            Trust::Own(OwnTls { authorities: None, .. }) | Trust::Door => Ok(Arc::clone(&self.door.roots)),
            Trust::Lost(part) => Err(NetError::OwnTls(part)),
        }
    }

    /// What the origin written is shown when it asks who we are.
    pub(super) const fn identity(&self) -> Option<&Identity> {
        match self.plan.trust {
            Trust::Own(own) => own.identity.as_ref(),
            Trust::Door | Trust::Lost(_) => None,
        }
    }

    /// TLS toward `destination`: our certificate is for the origin written alone. Whom the target trusts may vouch for
    /// what it names too, beside those whom everybody trusts.
    fn tls(&self, destination: Destination) -> Result<ClientConfig, NetError> {
        let Trust::Own(own) = self.plan.trust else {
            return match self.plan.trust {
                Trust::Lost(part) => Err(NetError::OwnTls(part)),
                Trust::Door | Trust::Own(_) => Ok(self.door.tls.clone()),
            };
        };
        let config = match (destination, &own.authorities) {
            (Destination::Written, _) => tls::client_config(self.roots()?, self.identity()),
            (Destination::PeerChosen, None) => return Ok(self.door.tls.clone()),
            (Destination::PeerChosen, Some(authorities)) => {
                let roots = tls::with(RootCertStore::clone(&self.door.roots), authorities);
                roots.and_then(|roots| tls::client_config(roots, None))
            }
        };
        config.map_err(|_| NetError::Request)
    }

    /// The URL written.
    pub const fn written(&self) -> Option<&'a Url> {
        self.plan.written
    }

    /// Does `work` within the limit of one request, or of `timeout` if that is less.
    ///
    /// # Errors
    /// Those of `work`, and that the time is over.
    pub async fn within<T>(
        &self,
        timeout: Option<Duration>,
        work: impl Future<Output = Result<T, NetError>>,
    ) -> Result<T, NetError> {
        let limit = self.limit(timeout);
        tokio::time::timeout_at(limit.at, work).await.map_err(|_| limit.error)?
    }

    /// Starts a program; it is counted as a request.
    ///
    /// # Errors
    /// As [`Program::start`].
    pub fn start(&self, launch: &Launch) -> Result<Program, NetError> {
        self.count();
        Program::start(launch)
    }

    /// Counts one request.
    pub fn count(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) const fn scrub(&self) -> &dyn Scrub {
        self.plan.scrub
    }

    pub(super) const fn heavy(&self) -> &Semaphore {
        &self.door.heavy
    }

    /// The limit of what may last as long as the scan.
    fn scan_limit(&self) -> Limit {
        Limit { at: self.started + self.plan.scan_timeout, error: NetError::ScanTimeout, bytes: MAX_SCAN }
    }

    pub(super) fn limit(&self, timeout: Option<Duration>) -> Limit {
        let timeout = timeout.map_or(self.plan.timeout, |timeout| timeout.min(self.plan.timeout));
        let request = Instant::now() + timeout;
        let scan = self.started + self.plan.scan_timeout;
        if scan < request {
            Limit { at: scan, error: NetError::ScanTimeout, bytes: MAX_ANSWER }
        } else {
            Limit { at: request, error: NetError::Timeout, bytes: MAX_ANSWER }
        }
    }

    pub(super) fn rule(&self, destination: Destination) -> Rule {
        Rule {
            destination,
            fleet: Arc::clone(&self.door.allow),
            target: Arc::clone(&self.allow),
            baseline: self.plan.baseline,
            own: self.own_class().or_else(|| self.plan.written.and_then(literal).map(classify)),
        }
    }
}

impl Line<'_> {
    /// Sends `request` and follows its redirects.
    ///
    /// # Errors
    /// When no head of an answer arrived: address refused, no connection, time over, a cap met.
    pub async fn send(&self, request: Request) -> Result<Answer, NetError> {
        let limit = self.visit.limit(request.timeout);
        let sent = Box::pin(self.follow(request, limit));
        tokio::time::timeout_at(limit.at, sent).await.map_err(|_| limit.error)?
    }

    async fn follow(&self, request: Request, limit: Limit) -> Result<Answer, NetError> {
        let mut url = request.url.clone();
        let mut hops = Vec::new();
        loop {
            let response = self.hop(&request, &url).await?;
            let headers = self.clean(response.headers());
            match next_hop(&request, &url, response.status(), &headers)? {
                Some(ref to) if request.keep_origin && self.is_elsewhere(to) => {
                    return Err(NetError::LeftOrigin);
                }
                Some(to) if hops.len() < MAX_REDIRECTS => {
                    hops.push(Hop { status: response.status(), to: to.clone() });
                    url = to;
                }
                Some(_) => return Err(NetError::TooManyRedirects),
                None => {
                    let limit = if request.lasting { self.visit.scan_limit() } else { limit };
                    return Ok(self.answer(response, headers, url, hops, limit));
                }
            }
        }
    }

    /// Whether `url` is on another origin than the one written.
    pub fn is_elsewhere(&self, url: &Url) -> bool {
        Destination::toward(url, self.visit.plan.written) == Destination::PeerChosen
    }

    async fn hop(&self, request: &Request, url: &Url) -> Result<reqwest::Response, NetError> {
        let written = self.visit.plan.written;
        let destination = Destination::toward(url, written);
        let rule = self.visit.rule(destination);
        if let Some(address) = literal(url) {
            rule.decide(HostForm::Literal, address).map_err(NetError::Refused)?;
        }
        let client = self.client(destination, rule)?;
        let mut headers = match destination {
            Destination::Written => request.private.clone(),
            Destination::PeerChosen => HeaderMap::new(),
        };
        // Ours stand over those of the inventory.
        for (name, value) in &request.headers {
            headers.insert(name.clone(), value.clone());
        }
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        let mut builder = client.request(request.method.clone(), url.clone()).headers(headers);
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        self.visit.count();
        let response = builder.send().await.map_err(NetError::from).inspect_err(|error| {
            if destination == Destination::Written && error.phase() == Phase::Tls {
                self.visit.tls_failed.store(true, Ordering::Relaxed);
            }
        })?;
        if destination == Destination::Written
            && let Some(address) = response.remote_addr()
        {
            let _ = self.visit.own.set(classify(address.ip()));
        }
        if destination == Destination::Written
            && let Some(tls) = response.extensions().get::<reqwest::tls::TlsInfo>()
        {
            let shown = tls.peer_certificate();
            self.visit.note_certificate(shown.and_then(certificate::not_after));
            if let Some(shown) = shown {
                self.visit.leaf.get_or_init(|| Digest::of_bytes(shown));
            }
        }
        if header_bytes(response.headers()) > MAX_HEADERS {
            return Err(NetError::HeadersTooLarge);
        }
        Ok(response)
    }

    fn answer(
        &self,
        response: reqwest::Response,
        headers: HeaderMap,
        url: Url,
        hops: Vec<Hop>,
        limit: Limit,
    ) -> Answer {
        Answer {
            status: response.status(),
            version: response.version(),
            headers,
            url,
            hops,
            class: response.remote_addr().map(|address| classify(address.ip())),
            body: Body::new(response, limit, Arc::clone(&self.visit.budget)),
        }
    }

    fn client(&self, destination: Destination, rule: Rule) -> Result<&reqwest::Client, NetError> {
        let slot = match destination {
            Destination::Written => &self.home,
            Destination::PeerChosen => &self.away,
        };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let client = self.build(destination, rule)?;
        Ok(slot.get_or_init(|| client))
    }

    /// Cheap, since the TLS configuration is shared: its clone copies pointers. One that is a target's own is made for
    /// each scan, of what its files say then.
    fn build(&self, destination: Destination, rule: Rule) -> Result<reqwest::Client, NetError> {
        let door = self.visit.door;
        let guarded = self.visit.guarded(rule);
        reqwest::Client::builder()
            .tls_backend_preconfigured(self.visit.tls(destination)?)
            .tls_info(true)
            .dns_resolver(Arc::new(guarded))
            .user_agent(door.user_agent.clone())
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            // Divided among the addresses of a name, so that a dead one does not use up the whole limit.
            .connect_timeout(self.visit.plan.timeout)
            .pool_max_idle_per_host(2)
            .http2_max_header_list_size(u32::try_from(MAX_HEADERS).unwrap_or(u32::MAX))
            .build()
            .map_err(NetError::from)
    }

    fn clean(&self, headers: &HeaderMap) -> HeaderMap {
        let scrub = self.visit.plan.scrub;
        headers.iter().filter_map(|(name, value)| clean_header(scrub, name, value)).collect()
    }

    /// The scan this line belongs to.
    pub const fn visit(&self) -> &Visit<'_> {
        self.visit
    }
}

fn clean_header(scrub: &dyn Scrub, name: &HeaderName, value: &HeaderValue) -> Option<(HeaderName, HeaderValue)> {
    let value = match scrub.scrub(value.as_bytes()) {
        Cow::Borrowed(_) => value.clone(),
        Cow::Owned(clean) => HeaderValue::from_bytes(&clean).ok()?,
    };
    Some((name.clone(), value))
}

fn header_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}

/// Where a redirect leads, when it is one that this request follows. A POST keeps its body only under 307 and 308;
/// other redirects of it are left to the caller, as any answer is.
fn next_hop(request: &Request, from: &Url, status: StatusCode, headers: &HeaderMap) -> Result<Option<Url>, NetError> {
    let keeps_method = matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let changes_method = matches!(status, StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER);
    let follows = request.follow && (keeps_method || (changes_method && request.method == Method::GET));
    if !follows {
        return Ok(None);
    }
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok()).ok_or(NetError::BadRedirect)?;
    let mut to = from.join(location).map_err(|_| NetError::BadRedirect)?;
    if !matches!(to.scheme(), "http" | "https") || !to.has_host() {
        return Err(NetError::BadRedirect);
    }
    // What a peer writes there is neither a credential of ours nor sent to anybody.
    let plain = to.set_username("").and_then(|()| to.set_password(None));
    plain.map_err(|()| NetError::BadRedirect)?;
    to.set_fragment(None);
    Ok(Some(to))
}

fn literal(url: &Url) -> Option<IpAddr> {
    match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        Some(Host::Domain(_)) | None => None,
    }
}
