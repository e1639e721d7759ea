//! One conversation with an MCP endpoint over Streamable HTTP: headers by era, ids, sessions, what the server asks.
//!
//! It sends requests and reads the answer to each; what to ask and what an answer means is decided by `opening` and
//! `lists`.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::dates;
use super::exchange::{Exchange, Head, Look, Nothing, Reader, Reply, Step};
use super::jsonrpc::{self, ServerRequest};
use crate::model::facet::Face;
use crate::model::json::{Json, Members};
use crate::net::{Line, NetError, Request, Visit};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const BOTH_FRAMINGS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Requests of the server that are answered in one conversation; a peer cannot make us send more.
const MAX_ANSWERS: u8 = 8;
/// Longest id of a server's request that is echoed.
const MAX_ID: usize = 256;
/// For what needs no answer: ending a session, answering the server.
pub(super) const COURTESY: Duration = Duration::from_secs(5);

/// How requests are dressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Dress {
    /// Before the era is known, and while `initialize` is asked: no version header.
    Bare,
    /// 2026-07-28: version and method in headers, version, client and capabilities in `_meta`.
    Modern,
    /// After `initialize`: the negotiated date, where it can stand in a header.
    Legacy { date: String },
}

/// One conversation; its connections end with it.
pub(super) struct Conversation<'v> {
    pub(super) line: Line<'v>,
    visit: &'v Visit<'v>,
    face: Face,
    private: HeaderMap,
    url: Url,
    dress: Dress,
    session: Option<HeaderValue>,
    /// One request only: nothing is sent a second time.
    single: bool,
    next_id: i64,
    answered: u8,
}

/// What is sent to the origin written and to no other.
pub(super) fn private_headers(
    headers: &[(HeaderName, HeaderValue)],
    token: Option<&SecretString>,
) -> Result<HeaderMap, http::header::InvalidHeaderValue> {
    let mut private: HeaderMap = headers.iter().cloned().collect();
    if let Some(token) = token {
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()))?;
        bearer.set_sensitive(true);
        private.insert(AUTHORIZATION, bearer);
    }
    Ok(private)
}

impl<'v> Conversation<'v> {
    pub(super) fn new(visit: &'v Visit<'v>, face: Face, private: HeaderMap, single: bool) -> Self {
        Self {
            line: visit.line(),
            visit,
            face,
            private,
            url: visit.written().clone(),
            dress: Dress::Bare,
            session: None,
            single,
            next_id: 1,
            answered: 0,
        }
    }

    /// Another conversation of the same face over a connection of its own.
    pub(super) fn another(&self) -> Self {
        Self::new(self.visit, self.face, self.private.clone(), false)
    }

    pub(super) const fn face(&self) -> Face {
        self.face
    }

    pub(super) const fn visit(&self) -> &'v Visit<'v> {
        self.visit
    }

    pub(super) const fn session(&self) -> Option<&HeaderValue> {
        self.session.as_ref()
    }

    /// How the next requests are dressed; without a session until the next one is settled.
    pub(super) fn dress(&mut self, dress: Dress) {
        self.session = None;
        self.dress = dress;
    }

    /// From here on the endpoint that answered is asked, so that a redirect is followed once, and requests are
    /// dressed for its era; the session that `initialize` gave goes with each.
    pub(super) fn settle(&mut self, head: &Head, dress: Dress) {
        self.url = head.url.clone();
        self.session = match &dress {
            Dress::Legacy { .. } => head.headers.get(SESSION).cloned(),
            Dress::Bare | Dress::Modern => None,
        };
        self.dress = dress;
    }

    /// Whether requests are dressed for 2026-07-28.
    pub(super) fn is_modern(&self) -> bool {
        self.dress == Dress::Modern
    }

    /// The first request was let in: it need not stay the only one.
    pub(super) const fn let_in(&mut self) {
        self.single = false;
    }

    /// Whether nothing may be sent after a refusal.
    pub(super) const fn is_single(&self) -> bool {
        self.single
    }

    /// Sends a request and reads its answer. What is lost with a broken stream or connection is asked once more, with
    /// a new id: all that we ask is safe to repeat.
    pub(super) async fn call(&mut self, method: &str, params: Members) -> Result<Exchange, NetError> {
        Box::pin(self.call_looking(method, params, Look::Parse)).await
    }

    /// The same, looking at the bytes of the answer too.
    pub(super) async fn call_looking(
        &mut self,
        method: &str,
        params: Members,
        look: Look,
    ) -> Result<Exchange, NetError> {
        let first = Box::pin(self.attempt(method, params.clone(), look)).await;
        let is_lost = match &first {
            Ok(exchange) => exchange.head.status.is_success() && matches!(exchange.reply, Reply::Nothing(Nothing::Cut)),
            Err(error) => *error == NetError::Broken,
        };
        if is_lost && !self.single && !self.visit.is_over() {
            return Box::pin(self.attempt(method, params, look)).await;
        }
        first
    }

    async fn attempt(&mut self, method: &str, params: Members, look: Look) -> Result<Exchange, NetError> {
        let id = self.next_id;
        self.next_id += 1;
        let params = self.params(params);
        let answer = self.post(method, jsonrpc::request(id, method, params), None).await?;
        let (head, body) = Head::split(answer);
        if says_enough(head.status) {
            return Ok(Exchange { head, reply: Reply::Nothing(Nothing::Unread) });
        }
        let look = if head.status.is_success() { look } else { Look::Parse };
        let mut reader = Reader::new(body, head.framing, id, look);
        loop {
            match reader.next(self.visit).await {
                Ok(Step::Reply(reply)) => return Ok(Exchange { head, reply }),
                Ok(Step::Asked(request)) => self.answer(&request).await,
                // The status has said what there is to say.
                Err(_) if !head.status.is_success() => {
                    return Ok(Exchange { head, reply: Reply::Nothing(Nothing::Unread) });
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// 2026-07-28 wants its envelope in every request; older dates take none.
    fn params(&self, mut params: Members) -> Option<Members> {
        match self.dress {
            Dress::Modern => {
                params.insert("_meta".to_owned(), meta());
                Some(params)
            }
            Dress::Bare | Dress::Legacy { .. } => (!params.is_empty()).then_some(params),
        }
    }

    /// Sends a notification; whether it was welcome shows in what follows.
    ///
    /// # Errors
    /// When nothing answered.
    pub(super) async fn notify(&self, method: &str) -> Result<(), NetError> {
        self.post(method, jsonrpc::notification(method), None).await.map(|_| ())
    }

    /// A server that asks must be answered, or it may end the session; it is not waited for.
    async fn answer(&mut self, request: &ServerRequest) {
        let is_short = request.id.as_str().is_none_or(|id| id.len() <= MAX_ID);
        if self.answered >= MAX_ANSWERS || !is_short || self.dress == Dress::Modern {
            return;
        }
        self.answered += 1;
        // Whether it arrived shows in what follows.
        let _ = self.post("response", jsonrpc::answer(request), Some(COURTESY)).await;
    }

    /// Ends the session by DELETE, where that does no harm.
    pub(super) async fn end(self, allowed: bool) {
        let Dress::Legacy { date } = &self.dress else {
            return;
        };
        if self.session.is_none() || !allowed || !dates::ends_session(date) || self.visit.is_over() {
            return;
        }
        let mut headers = HeaderMap::new();
        self.session_headers(&mut headers);
        let request = Request {
            method: Method::DELETE,
            url: self.url.clone(),
            headers,
            private: self.private.clone(),
            body: None,
            follow: false,
            keep_origin: true,
            timeout: Some(COURTESY),
        };
        // 2xx and 404 are done, 405 is "not supported", and nothing else would be acted upon either.
        let _ = self.line.send(request).await;
    }

    async fn post(&self, method: &str, body: Bytes, timeout: Option<Duration>) -> Result<crate::net::Answer, NetError> {
        self.line.send(self.posting(method, body, timeout)).await
    }

    /// The request that carries `body`, a message of `method`, dressed as all are by now.
    pub(super) fn posting(&self, method: &str, body: Bytes, timeout: Option<Duration>) -> Request {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, BOTH_FRAMINGS);
        self.session_headers(&mut headers);
        if self.dress == Dress::Modern
            && let Ok(method) = HeaderValue::from_str(method)
        {
            headers.insert(METHOD, method);
        }
        Request {
            method: Method::POST,
            url: self.url.clone(),
            headers,
            private: self.private.clone(),
            body: Some(body),
            follow: true,
            keep_origin: self.face == Face::Auth,
            timeout,
        }
    }

    fn session_headers(&self, headers: &mut HeaderMap) {
        if let Some(session) = &self.session {
            headers.insert(SESSION, session.clone());
        }
        let date = match &self.dress {
            Dress::Bare => None,
            Dress::Modern => Some(dates::MODERN),
            Dress::Legacy { date } => Some(date.as_str()),
        };
        // A date that cannot stand in a header is the server's own fault; it gets none.
        if let Some(date) = date.and_then(|date| HeaderValue::from_str(date).ok()) {
            headers.insert(VERSION, date);
        }
    }
}

/// The bodies of refusals are pages for people, or OAuth's own JSON: they are not read.
const fn says_enough(status: StatusCode) -> bool {
    matches!(status.as_u16(), 300..=399 | 401 | 403 | 407 | 429 | 451)
}

/// Who we are, in `initialize` and in `_meta`.
pub(super) fn client_info() -> Json {
    Json::from([("name", Json::from("driftd")), ("version", Json::from(env!("CARGO_PKG_VERSION")))])
}

fn meta() -> Json {
    Json::from([
        ("io.modelcontextprotocol/protocolVersion", Json::from(dates::MODERN)),
        ("io.modelcontextprotocol/clientInfo", client_info()),
        ("io.modelcontextprotocol/clientCapabilities", Json::object()),
    ])
}
