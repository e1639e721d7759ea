//! One conversation with an MCP endpoint, whatever carries it: headers by era, ids, sessions, what the server asks.
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
use super::exchange::{Exchange, Head, Look, Matcher, Nothing, Reader, Reply, Step};
use super::jsonrpc::{self, ServerRequest};
use super::wire::{Opening, Stream, Wire};
use crate::model::facet::Face;
use crate::model::json::{Json, Members};
use crate::model::observation::Transport;
use crate::net::{Answer, Farewell, Launch, Line, NetError, Request, Visit};

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

/// The first question of 2026-07-28.
pub(super) const DISCOVER: &str = "server/discover";
/// How long a program may take for it: older ones need not answer at all.
const DISCOVERY: Duration = Duration::from_secs(10);

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

/// Whom a conversation is held with.
#[derive(Clone, Debug)]
pub(super) enum Partner<'v> {
    /// What answers there.
    Url(Url),
    /// A program, once it is started.
    Program(&'v Launch),
}

/// One conversation; its connections end with it.
pub(super) struct Conversation<'v> {
    pub(super) line: Line<'v>,
    visit: &'v Visit<'v>,
    face: Face,
    private: HeaderMap,
    partner: Partner<'v>,
    /// Where it was led, where its partner is a URL.
    url: Option<Url>,
    /// What carries messages, where each is not answered by the response to it.
    wire: Option<Wire>,
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
    pub(super) fn new(
        visit: &'v Visit<'v>,
        partner: Partner<'v>,
        face: Face,
        private: HeaderMap,
        single: bool,
    ) -> Self {
        Self {
            line: visit.line(),
            visit,
            face,
            private,
            url: match &partner {
                Partner::Url(url) => Some(url.clone()),
                Partner::Program(_) => None,
            },
            partner,
            wire: None,
            dress: Dress::Bare,
            session: None,
            single,
            next_id: 1,
            answered: 0,
        }
    }

    /// Another conversation of the same face over a connection of its own.
    pub(super) fn another(&self) -> Self {
        Self::new(self.visit, self.partner.clone(), self.face, self.private.clone(), false)
    }

    /// Whether another one can be had beside it. Some servers of HTTP+SSE die of a second stream, or of the end of one.
    pub(super) const fn can_have_another(&self) -> bool {
        !matches!(self.wire, Some(Wire::Stream(_)))
    }

    /// How it is carried.
    pub(super) const fn transport(&self) -> Transport {
        match (&self.partner, &self.wire) {
            (Partner::Program(_), _) => Transport::Stdio,
            (Partner::Url(_), Some(Wire::Stream(_))) => Transport::Sse,
            (Partner::Url(_), _) => Transport::StreamableHttp,
        }
    }

    /// Where messages go, when a stream named it.
    pub(super) fn messages(&self) -> Option<&Url> {
        self.wire.as_ref().and_then(Wire::messages)
    }

    /// Starts the program, unless it runs.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn begin(&mut self) -> Result<(), NetError> {
        if let (Partner::Program(launch), None) = (&self.partner, &self.wire) {
            self.wire = Some(Wire::Program(Box::new(self.visit.start(launch)?)));
        }
        Ok(())
    }

    /// Starts the program once more, in the place of one that has ended.
    ///
    /// # Errors
    /// As [`Conversation::begin`].
    pub(super) fn begin_anew(&mut self) -> Result<(), NetError> {
        self.wire = None;
        self.begin()
    }

    /// Asks by GET for the stream of HTTP+SSE, which then carries the conversation; the answer, when it is none.
    ///
    /// # Errors
    /// When nothing answered.
    pub(super) async fn open_stream(&mut self) -> Result<Option<Head>, NetError> {
        let Some(url) = &self.url else { return Err(NetError::Request) };
        let request = Request {
            private: self.private.clone(),
            keep_origin: self.face == Face::Auth,
            ..Request::get(url.clone())
        };
        match Box::pin(Stream::open(&self.line, request)).await? {
            Opening::Stream(stream) => {
                self.wire = Some(Wire::Stream(stream));
                Ok(None)
            }
            Opening::Other(head) => Ok(Some(*head)),
        }
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
        if let (None, Some(way)) = (&self.wire, &head.way) {
            self.url = Some(way.url.clone());
        }
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
        if is_lost && self.wire.is_none() && !self.single && !self.visit.is_over() {
            return Box::pin(self.attempt(method, params, look)).await;
        }
        first
    }

    async fn attempt(&mut self, method: &str, params: Members, look: Look) -> Result<Exchange, NetError> {
        let id = self.next_id;
        self.next_id += 1;
        let params = self.params(params);
        let request = jsonrpc::request(id, method, params);
        if let Some(mut wire) = self.wire.take() {
            let timeout = (method == DISCOVER).then_some(DISCOVERY);
            let visit = self.visit;
            let asked = self.ask_over(&mut wire, (id, method, request), look);
            let exchange = Box::pin(visit.within(timeout, asked)).await;
            self.wire = Some(wire);
            return exchange;
        }
        let answer = self.post(method, request, None).await?;
        let (head, body) = Head::split(answer);
        if says_enough(head.status) {
            return Ok(Exchange { head, reply: Reply::Nothing(Nothing::Unread) });
        }
        let look = if head.status.is_success() { look } else { Look::Parse };
        let mut reader = Reader::new(body, head.framing(), id, look);
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

    /// The same over a wire: the message goes out, and what comes in is read until it answers.
    async fn ask_over(
        &mut self,
        wire: &mut Wire,
        (id, method, request): (i64, &str, Bytes),
        look: Look,
    ) -> Result<Exchange, NetError> {
        if let Some(head) = self.send_over(wire, method, request, None).await? {
            return Ok(Exchange { head, reply: Reply::Nothing(Nothing::Unread) });
        }
        let mut matcher = Matcher::new(id, look, Nothing::Cut, false);
        loop {
            while let Some(step) = matcher.next() {
                match step {
                    Step::Reply(reply) => return Ok(Exchange { head: wire.head(), reply }),
                    Step::Asked(asked) => self.answer_over(wire, &asked).await,
                }
            }
            if matcher.is_over() {
                break;
            }
            match wire.next().await? {
                Some(document) => matcher.document(self.visit, &document).await,
                None if matches!(wire, Wire::Program(_)) => return Err(NetError::Ended),
                None => break,
            }
        }
        Ok(Exchange { head: wire.head(), reply: Reply::Nothing(matcher.nothing()) })
    }

    /// Sends one message over a wire; the refusal, when it was refused.
    async fn send_over(
        &self,
        wire: &mut Wire,
        method: &str,
        message: Bytes,
        timeout: Option<Duration>,
    ) -> Result<Option<Head>, NetError> {
        match wire {
            Wire::Program(program) => {
                self.visit.count();
                program.send(&message).await.map(|()| None)
            }
            Wire::Stream(stream) => {
                let Some(url) = stream.messages() else { return Err(NetError::Request) };
                let (head, _body) =
                    Head::split(self.line.send(self.posting(url.clone(), method, message, timeout)).await?);
                Ok((!head.status.is_success()).then_some(head))
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
    pub(super) async fn notify(&mut self, method: &str) -> Result<(), NetError> {
        let message = jsonrpc::notification(method);
        let Some(mut wire) = self.wire.take() else {
            return self.post(method, message, None).await.map(|_| ());
        };
        let sent = self.visit.within(None, self.send_over(&mut wire, method, message, None)).await;
        self.wire = Some(wire);
        sent.map(|_| ())
    }

    /// A server that asks must be answered, or it may end the session; it is not waited for.
    async fn answer(&mut self, request: &ServerRequest) {
        if self.is_answered(request) {
            // Whether it arrived shows in what follows.
            let _ = self.post("response", jsonrpc::answer(request), Some(COURTESY)).await;
        }
    }

    async fn answer_over(&mut self, wire: &mut Wire, request: &ServerRequest) {
        if self.is_answered(request) {
            let _ = self.send_over(wire, "response", jsonrpc::answer(request), Some(COURTESY)).await;
        }
    }

    /// Whether an answer is sent, which is counted.
    fn is_answered(&mut self, request: &ServerRequest) -> bool {
        let is_short = request.id.as_str().is_none_or(|id| id.len() <= MAX_ID);
        let answers = self.answered < MAX_ANSWERS && is_short && self.dress != Dress::Modern;
        self.answered += u8::from(answers);
        answers
    }

    /// Ends it: a program with all that it started, a session by DELETE, where that does no harm. What a program left.
    pub(super) async fn end(mut self, allowed: bool) -> Option<Farewell> {
        match self.wire.take() {
            Some(Wire::Program(program)) => return Some(program.end().await),
            Some(Wire::Stream(_)) => return None,
            None => {}
        }
        self.end_session(allowed).await;
        None
    }

    async fn end_session(&self, allowed: bool) {
        let (Dress::Legacy { date }, Some(url)) = (&self.dress, &self.url) else {
            return;
        };
        if self.session.is_none() || !allowed || !dates::ends_session(date) || self.visit.is_over() {
            return;
        }
        let mut headers = HeaderMap::new();
        self.session_headers(&mut headers);
        let request = Request {
            method: Method::DELETE,
            headers,
            private: self.private.clone(),
            follow: false,
            keep_origin: true,
            timeout: Some(COURTESY),
            ..Request::get(url.clone())
        };
        // 2xx and 404 are done, 405 is "not supported", and nothing else would be acted upon either.
        let _ = self.line.send(request).await;
    }

    async fn post(&self, method: &str, body: Bytes, timeout: Option<Duration>) -> Result<Answer, NetError> {
        let Some(url) = &self.url else { return Err(NetError::Ended) };
        self.line.send(self.posting(url.clone(), method, body, timeout)).await
    }

    /// The URL that is asked, where its partner is none of our programs.
    pub(super) const fn url(&self) -> Option<&Url> {
        self.url.as_ref()
    }

    /// The request that carries `body`, a message of `method`, to `url`, dressed as all are by now.
    pub(super) fn posting(&self, url: Url, method: &str, body: Bytes, timeout: Option<Duration>) -> Request {
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
            headers,
            private: self.private.clone(),
            body: Some(body),
            keep_origin: self.face == Face::Auth,
            timeout,
            ..Request::get(url)
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
