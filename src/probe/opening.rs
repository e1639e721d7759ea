//! How a conversation is opened: `server/discover`, version retry, the fallback to `initialize`.
//!
//! A baseline's date is asked for first, so that a target is asked the same way every time: with a legacy date the
//! opening is `initialize` offering that date, otherwise `server/discover` of 2026-07-28. Answers that decide nothing
//! (429, 5xx, timeouts, TLS) end the opening; they never make us fall back, which would record a false downgrade.

use http::StatusCode;
use jiff::Timestamp;

use super::Ask;
use super::challenge;
use super::clock_skew;
use super::conversation::{Conversation, DISCOVER, Dress, client_info};
use super::dates;
use super::exchange::{Exchange, Head, Nothing, Read, Reply};
use super::jsonrpc::{self, RpcError};
use super::ready::{Capabilities, Failed, Opened, Ready};
use super::transport;
use super::trouble::Trouble;
use crate::model::facet::{Face, Facet, UnseenKind};
use crate::model::json::{Json, Members};
use crate::model::observation::{Era, Remark, Transport};
use crate::net::NetError;

/// Steps that an opening may take: discover, three dates, a stream and one over it.
const MAX_STEPS: usize = 6;

/// What is asked first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// `server/discover` of 2026-07-28.
    Discover,
    /// `initialize`, offering this date.
    Initialize(String),
    /// The stream of HTTP+SSE, and `initialize` over it, offering this date.
    Stream(String),
}

impl First {
    /// The opening that a baseline's date and transport ask for.
    pub(super) fn of_baseline(date: Option<&str>, transport: Option<Transport>) -> Self {
        let legacy = date.filter(|date| dates::is_legacy(date));
        match (transport, legacy) {
            (Some(Transport::Sse), legacy) => Self::Stream(legacy.unwrap_or(dates::NEWEST_LEGACY).to_owned()),
            (_, Some(date)) => Self::Initialize(date.to_owned()),
            (_, None) => Self::Discover,
        }
    }
}

/// What was met on the way.
#[derive(Debug, Default)]
pub(super) struct Trail {
    /// Dates offered, in order.
    pub(super) offered: Vec<String>,
    pub(super) remarks: Vec<Remark>,
    pub(super) evidence: Vec<String>,
}

/// Opens `conversation`.
pub(super) async fn open(conversation: &mut Conversation<'_>, first: First, ask: &Ask<'_>) -> (Opened, Trail) {
    let opener = Opener {
        conversation,
        at: ask.at,
        machine: ask.machine,
        trail: Trail::default(),
        has_discovered: false,
        method_missing: false,
        has_streamed: false,
        refusals: Vec::new(),
        trouble: None,
        succeeded: false,
        dateless: false,
        unknown_dates: false,
        tried: Vec::new(),
    };
    opener.run(first).await
}

/// Opens another session as the first one was: the date it negotiated, or why there is none.
pub(super) async fn reopen(conversation: &mut Conversation<'_>, offer: &str, at: Timestamp) -> Result<String, Trouble> {
    conversation.begin()?;
    conversation.dress(Dress::Bare);
    let exchange = conversation.call("initialize", initialize_params(offer)).await?;
    let Reply::Result(read) = &exchange.reply else {
        return Err(Trouble::of(&exchange, conversation.face(), at));
    };
    if !exchange.head.status.is_success() {
        return Err(Trouble::of(&exchange, conversation.face(), at));
    }
    let date = negotiated(&read.value).unwrap_or(offer).to_owned();
    begin_session(conversation, &exchange.head, &date).await;
    Ok(date)
}

/// Whether the server answers `server/discover` of 2026-07-28 too.
pub(super) async fn speaks_modern(conversation: &mut Conversation<'_>) -> bool {
    if conversation.begin().is_err() {
        return false;
    }
    conversation.dress(Dress::Modern);
    match conversation.call(DISCOVER, Members::new()).await {
        Ok(Exchange { head, reply: Reply::Result(read) }) => {
            head.status.is_success()
                && supported(&read.value).is_some_and(|dates| dates.iter().any(|d| d == dates::MODERN))
        }
        Ok(_) | Err(_) => false,
    }
}

async fn begin_session(conversation: &mut Conversation<'_>, head: &Head, date: &str) {
    conversation.settle(head, Dress::Legacy { date: date.to_owned() });
    // A server that does not take it shows so in what follows.
    let _ = conversation.notify("notifications/initialized").await;
}

pub(super) fn initialize_params(date: &str) -> Members {
    Members::from([
        ("protocolVersion".to_owned(), Json::from(date)),
        ("capabilities".to_owned(), Json::object()),
        ("clientInfo".to_owned(), client_info()),
    ])
}

/// The date that the server named; what is too long for one is none.
pub(super) fn negotiated(result: &Json) -> Option<&str> {
    result.member("protocolVersion").and_then(Json::as_str).filter(|date| date.len() <= jsonrpc::MAX_DATE)
}

/// `supportedVersions` of a discover result; `None` when it has no such array.
fn supported(result: &Json) -> Option<Vec<String>> {
    result.member("supportedVersions").filter(|list| list.as_array().is_some()).map(jsonrpc::dates)
}

/// `complete` may be left out; anything else is no whole result.
pub(super) fn is_complete(result: &Json) -> bool {
    result.member("resultType").is_none_or(|kind| kind.as_str() == Some("complete"))
}

/// What only `server/discover` has among its members, `supportedVersions` aside.
fn is_discover(result: &Json) -> bool {
    supported(result).is_none() && (result.member("cacheScope").is_some() || result.member("ttlMs").is_some())
}

enum Next {
    Discover,
    Initialize(String),
    Stream(String),
    Done(Opened),
}

impl From<First> for Next {
    fn from(first: First) -> Self {
        match first {
            First::Discover => Self::Discover,
            First::Initialize(date) => Self::Initialize(date),
            First::Stream(date) => Self::Stream(date),
        }
    }
}

/// A 401 or 403.
struct Refusal {
    is_guard: bool,
    challenge: Json,
    trouble: Trouble,
}

struct Opener<'c, 'v> {
    conversation: &'c mut Conversation<'v>,
    at: Timestamp,
    machine: Timestamp,
    trail: Trail,
    has_discovered: bool,
    /// `server/discover` was answered by "method not found".
    method_missing: bool,
    /// The stream of HTTP+SSE was asked for.
    has_streamed: bool,
    refusals: Vec<Refusal>,
    /// What became of the last request.
    trouble: Option<Trouble>,
    /// Some answer was 2xx.
    succeeded: bool,
    /// One was a result of `server/discover` but for its dates.
    dateless: bool,
    /// One was an error that names dates, and none of ours.
    unknown_dates: bool,
    /// Dates that `initialize` has offered.
    tried: Vec<String>,
}

impl Opener<'_, '_> {
    async fn run(mut self, first: First) -> (Opened, Trail) {
        if let Err(error) = self.conversation.begin() {
            return (self.failed(error.into()), self.trail);
        }
        let mut next = Next::from(first);
        for _ in 0..MAX_STEPS {
            next = match next {
                Next::Discover => self.discover().await,
                Next::Initialize(date) => self.initialize(date).await,
                Next::Stream(date) => self.stream(date).await,
                Next::Done(opened) => return (opened, self.trail),
            };
        }
        let opened = if let Next::Done(opened) = next { opened } else { self.failed(no_common_date()) };
        (opened, self.trail)
    }

    async fn discover(&mut self) -> Next {
        self.has_discovered = true;
        self.trail.offered.push(dates::MODERN.to_owned());
        self.conversation.dress(Dress::Modern);
        match self.conversation.call(DISCOVER, Members::new()).await {
            Ok(exchange) => self.judge_discover(exchange).await,
            Err(error) => self.undecided(error),
        }
    }

    /// No answer to discover. Of a program that decides the era (stdio transport, 2026-07-28): older ones may be silent,
    /// or even end.
    fn undecided(&mut self, error: NetError) -> Next {
        let is_program = self.conversation.transport() == Transport::Stdio;
        let is_silent = is_program && error == NetError::Timeout;
        let has_ended = is_program && error == NetError::Ended;
        let goes_on = is_silent || (has_ended && self.conversation.begin_anew().is_ok());
        if !goes_on || !self.tried.is_empty() {
            return self.fail(error.into());
        }
        self.trail.evidence.push("server/discover was not answered".to_owned());
        Next::Initialize(dates::NEWEST_LEGACY.to_owned())
    }

    async fn judge_discover(&mut self, exchange: Exchange) -> Next {
        if let Some(next) = self.refused(&exchange) {
            return next;
        }
        self.conversation.let_in();
        let success = exchange.head.status.is_success();
        self.succeeded |= success;
        self.dateless |= success && matches!(&exchange.reply, Reply::Result(read) if is_discover(&read.value));
        match exchange.reply {
            Reply::Error(error) if error.is_modern() => self.modern_error(&error, exchange.head.status),
            Reply::Result(read) if success && supported(&read.value).is_some() => self.modern(&exchange.head, read),
            reply @ (Reply::Result(_) | Reply::Error(_) | Reply::Nothing(_)) => {
                self.method_missing = is_missing_method(&reply);
                self.not_this_era(&Exchange { head: exchange.head, reply }, Era::Stateless).await
            }
        }
    }

    /// A valid answer to discover.
    fn modern(&mut self, head: &Head, read: Read) -> Next {
        let dates = supported(&read.value).unwrap_or_default();
        self.trail.evidence.push("server/discover was answered with supported versions".to_owned());
        self.look_at_the_date(head);
        if !is_complete(&read.value) {
            let trouble = Trouble::new(UnseenKind::InvalidJsonrpc, "the discover result is not complete");
            return Next::Done(self.failed_modern(trouble, None, dates));
        }
        // It has answered a request of that date, whatever an empty list says.
        if dates.is_empty() || dates.iter().any(|date| date == dates::MODERN) {
            self.conversation.settle(head, Dress::Modern);
            let transport = transport::page(self.conversation, head, Era::Stateless, dates::MODERN, false);
            return Next::Done(Opened::Ready(Box::new(Ready {
                era: Era::Stateless,
                date: dates::MODERN.to_owned(),
                offer: None,
                capabilities: Capabilities::of(&read.value),
                handshake: Ok(read),
                transport,
                is_confirmed: !dates.is_empty(),
                supported: dates,
            })));
        }
        match self.untried_legacy(&dates) {
            Some(date) => Next::Initialize(date),
            None => Next::Done(self.failed_modern(no_common_date(), Some(read), dates)),
        }
    }

    /// -32020, -32021, -32022: it is a server of 2026-07-28 or later, under whatever status it says so.
    fn modern_error(&mut self, error: &RpcError, status: StatusCode) -> Next {
        let status = status.as_u16();
        self.trail.evidence.push(format!("server/discover was answered by error {} (HTTP {status})", error.code));
        if error.code == jsonrpc::UNSUPPORTED_VERSION
            && let Some(date) = self.untried_legacy(&error.supported)
        {
            return Next::Initialize(date);
        }
        let trouble = Trouble::new(UnseenKind::RpcError, format!("error {} (HTTP {status})", error.code));
        self.note_dates(error);
        self.trail.remarks.extend(self.remark(&trouble));
        Next::Done(self.failed_modern(trouble, None, error.supported.clone()))
    }

    async fn initialize(&mut self, date: String) -> Next {
        self.trail.offered.push(date.clone());
        self.tried.push(date.clone());
        self.conversation.dress(Dress::Bare);
        match self.conversation.call("initialize", initialize_params(&date)).await {
            Ok(exchange) => self.judge_initialize(exchange, date).await,
            Err(error) => self.fail(error.into()),
        }
    }

    async fn judge_initialize(&mut self, exchange: Exchange, offer: String) -> Next {
        if let Some(next) = self.refused(&exchange) {
            return next;
        }
        self.conversation.let_in();
        let success = exchange.head.status.is_success();
        self.succeeded |= success;
        match exchange.reply {
            Reply::Result(read) if success && read.value.as_object().is_some() => {
                self.legacy(&exchange.head, read, offer).await
            }
            Reply::Error(error) if self.retry(&error).is_some() => self.retry(&error).unwrap_or(Next::Discover),
            reply @ (Reply::Result(_) | Reply::Error(_) | Reply::Nothing(_)) => {
                if let Reply::Error(error) = &reply {
                    self.note_dates(error);
                }
                self.not_this_era(&Exchange { head: exchange.head, reply }, Era::Session).await
            }
        }
    }

    fn look_at_the_date(&mut self, head: &Head) {
        let elapsed = self.conversation.visit().elapsed();
        self.trail.remarks.push(clock_skew::remark(&head.headers, self.machine, elapsed));
    }

    fn note_dates(&mut self, error: &RpcError) {
        self.unknown_dates |= !error.supported.is_empty() && !error.supported.iter().any(|date| dates::is_known(date));
    }

    /// Another date for an error that names some: -32602 at the legacy dates, -32022 of a modern-only server.
    fn retry(&self, error: &RpcError) -> Option<Next> {
        if !matches!(error.code, jsonrpc::INVALID_PARAMS | jsonrpc::UNSUPPORTED_VERSION) {
            return None;
        }
        let names_modern = error.supported.iter().any(|date| date == dates::MODERN);
        match self.untried_legacy(&error.supported) {
            Some(date) => Some(Next::Initialize(date)),
            None if names_modern && !self.has_discovered => Some(Next::Discover),
            None => None,
        }
    }

    async fn legacy(&mut self, head: &Head, read: Read, offer: String) -> Next {
        let named = negotiated(&read.value).map(str::to_owned);
        let is_confirmed = named.as_deref().is_some_and(dates::is_legacy);
        let date = named.unwrap_or_else(|| offer.clone());
        self.trail.evidence.push("initialize was answered with a result".to_owned());
        self.look_at_the_date(head);
        begin_session(self.conversation, head, &date).await;
        let has_session = self.conversation.session().is_some();
        Next::Done(Opened::Ready(Box::new(Ready {
            era: Era::Session,
            transport: transport::page(self.conversation, head, Era::Session, &date, has_session),
            supported: vec![date.clone()],
            date,
            offer: Some(offer),
            capabilities: Capabilities::of(&read.value),
            handshake: Ok(read),
            is_confirmed,
        })))
    }

    /// 401 and 403 decide nothing about the era: one `initialize` is tried; only if that is refused too the endpoint
    /// is guarded, or blocked. A proxy's 407 and its like end it at once.
    fn refused(&mut self, exchange: &Exchange) -> Option<Next> {
        let status = exchange.head.status;
        let trouble = Trouble::of(exchange, self.conversation.face(), self.at);
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                self.refusals.push(Refusal {
                    is_guard: is_guard(&exchange.head),
                    challenge: challenge::value(status, &exchange.head.headers),
                    trouble,
                });
            }
            _ if trouble.kind == UnseenKind::Blocked => return Some(Next::Done(self.blocked(status, trouble))),
            _ => return None,
        }
        if self.tried.is_empty() && !self.conversation.is_single() {
            return Some(Next::Initialize(dates::NEWEST_LEGACY.to_owned()));
        }
        Some(Next::Done(self.refusal()))
    }

    /// What the refusals come to; the answer to `initialize` came last and counts first.
    fn refusal(&mut self) -> Opened {
        let mut refusals = std::mem::take(&mut self.refusals);
        let guard = refusals.iter().rposition(|refusal| refusal.is_guard);
        match (self.conversation.face(), guard) {
            (Face::Stranger, Some(at)) => Opened::Guarded(refusals.swap_remove(at).challenge),
            (Face::Stranger | Face::Auth, _) => {
                let last = refusals.pop().map(|refusal| refusal.trouble).unwrap_or_else(no_common_date);
                self.blocked(StatusCode::FORBIDDEN, last)
            }
        }
    }

    /// The answer fits no valid handshake of `era`.
    async fn not_this_era(&mut self, exchange: &Exchange, era: Era) -> Next {
        let trouble = Trouble::of(exchange, self.conversation.face(), self.at);
        if decides_nothing(exchange, &trouble) {
            return self.fail(trouble);
        }
        match era {
            Era::Stateless if self.tried.is_empty() => {
                self.trouble = Some(trouble);
                Next::Initialize(dates::NEWEST_LEGACY.to_owned())
            }
            Era::Session if !self.has_discovered => {
                self.trouble = Some(trouble);
                Next::Discover
            }
            // `initialize` came first and said more about what it wants.
            Era::Stateless => {
                let first = self.trouble.take().unwrap_or(trouble);
                self.fail(first)
            }
            Era::Session if self.method_missing => self.undiscovered(trouble).await,
            Era::Session if self.may_stream(exchange) => {
                self.trouble = Some(trouble);
                Next::Stream(dates::NEWEST_LEGACY.to_owned())
            }
            Era::Session => self.fail(trouble),
        }
    }

    /// Whether HTTP+SSE may be spoken where `initialize` was answered so: by a status of its kind, and not by a server
    /// that knows the method.
    fn may_stream(&self, exchange: &Exchange) -> bool {
        let statuses = [StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED];
        let is_known = matches!(&exchange.reply, Reply::Error(error) if error.is_modern());
        !self.has_streamed
            && statuses.contains(&exchange.head.status)
            && !is_known
            && self.conversation.transport() == Transport::StreamableHttp
    }

    /// Asks for the stream of HTTP+SSE. What is none leaves things as they were; where nothing else was asked yet, the
    /// endpoint is asked as any other.
    async fn stream(&mut self, date: String) -> Next {
        self.has_streamed = true;
        self.conversation.dress(Dress::Bare);
        let head = match self.conversation.open_stream().await {
            Ok(None) => {
                self.trail.evidence.push("a GET was answered by a stream that names where messages go".to_owned());
                self.tried.clear();
                self.conversation.let_in();
                return Next::Initialize(date);
            }
            Ok(Some(head)) => head,
            Err(error) => {
                let first = self.trouble.take().unwrap_or_else(|| error.into());
                return self.fail(first);
            }
        };
        if let Some(trouble) = self.trouble.take() {
            // A 401 to a bare GET asks for no authorization, unless it says how to be let in.
            let asks = head.status == StatusCode::UNAUTHORIZED && challenge::is_present(&head.headers);
            return if asks { self.refused_stream(&head) } else { self.fail(trouble) };
        }
        match head.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if self.conversation.is_single() => {
                self.refused_stream(&head)
            }
            _ => Next::Discover,
        }
    }

    fn refused_stream(&mut self, head: &Head) -> Next {
        let exchange = Exchange { head: head.clone(), reply: Reply::Nothing(Nothing::Unread) };
        self.tried.push(String::new());
        self.refused(&exchange).unwrap_or(Next::Discover)
    }

    /// No discover and no `initialize`: perhaps a modern server without its mandatory method. One list tells.
    async fn undiscovered(&mut self, trouble: Trouble) -> Next {
        self.conversation.dress(Dress::Modern);
        let array = Facet::McpTools.list().map_or("tools", |shape| shape.array);
        match self.conversation.call("tools/list", Members::new()).await {
            Ok(Exchange { head: answered, reply: Reply::Result(read) })
                if answered.status.is_success() && read.value.member(array).and_then(Json::as_array).is_some() =>
            {
                self.trail.evidence.push("tools/list of 2026-07-28 was answered, server/discover was not".to_owned());
                self.conversation.settle(&answered, Dress::Modern);
                Next::Done(Opened::Ready(Box::new(Ready {
                    era: Era::Stateless,
                    date: dates::MODERN.to_owned(),
                    offer: None,
                    handshake: Err(Trouble::new(UnseenKind::RpcError, "server/discover is not found")),
                    capabilities: Capabilities::Unknown,
                    transport: transport::page(self.conversation, &answered, Era::Stateless, dates::MODERN, false),
                    supported: Vec::new(),
                    is_confirmed: false,
                })))
            }
            Ok(_) | Err(_) => self.fail(trouble),
        }
    }

    /// A legacy date of `supported` that was not offered yet.
    fn untried_legacy(&self, supported: &[String]) -> Option<String> {
        let left: Vec<String> = supported.iter().filter(|date| !self.tried.contains(date)).cloned().collect();
        dates::newest_legacy(&left).map(str::to_owned)
    }

    fn fail(&mut self, trouble: Trouble) -> Next {
        Next::Done(self.failed(trouble))
    }

    fn failed(&mut self, trouble: Trouble) -> Opened {
        self.trail.remarks.extend(self.remark(&trouble));
        Opened::Failed(trouble.into())
    }

    /// The check that a failed opening decides; what no answer, a limit or 5xx kept us from seeing decides none.
    fn remark(&self, trouble: &Trouble) -> Option<Remark> {
        if !trouble.is_answer() {
            return None;
        }
        if self.unknown_dates {
            return Some(Remark::finding("mcp.protocol-version-unknown", "the dates that its error names"));
        }
        Some(match (self.dateless, self.succeeded) {
            (true, _) => Remark::finding("mcp.discover-fields-missing", "no supportedVersions"),
            (false, true) => Remark::finding("mcp.not-jsonrpc", trouble.detail.as_str()),
            (false, false) => Remark::finding("mcp.no-endpoint", trouble.detail.as_str()),
        })
    }

    /// A refusal without a challenge, where a stranger should get one.
    fn blocked(&mut self, status: StatusCode, trouble: Trouble) -> Opened {
        let belongs = matches!(status, StatusCode::FORBIDDEN | StatusCode::PROXY_AUTHENTICATION_REQUIRED);
        if belongs && trouble.kind == UnseenKind::Blocked && self.conversation.face() == Face::Stranger {
            self.trail.remarks.push(Remark::finding("auth.blocked-by-gateway", trouble.detail.as_str()));
        }
        Opened::Failed(trouble.into())
    }

    fn failed_modern(&self, trouble: Trouble, handshake: Option<Read>, supported: Vec<String>) -> Opened {
        Opened::Failed(Failed { trouble, handshake, era: Some(Era::Stateless), supported })
    }
}

/// A 401, or a 403 that says how to be let in.
pub(super) fn is_guard(head: &Head) -> bool {
    head.status == StatusCode::UNAUTHORIZED
        || (head.status == StatusCode::FORBIDDEN && challenge::is_present(&head.headers))
}

fn no_common_date() -> Trouble {
    Trouble::new(UnseenKind::InvalidJsonrpc, "the server names no protocol date that we speak")
}

/// 429, 5xx, 408, redirects that are not followed, answers above a cap. "Method not found" is an answer even under 5xx.
fn decides_nothing(exchange: &Exchange, trouble: &Trouble) -> bool {
    let status = exchange.head.status;
    let by_status = status.is_redirection() || (status.is_server_error() && !is_missing_method(&exchange.reply));
    let by_kind = matches!(trouble.kind, UnseenKind::RateLimited | UnseenKind::Timeout | UnseenKind::TooLarge);
    by_status || by_kind || matches!(exchange.reply, Reply::Nothing(Nothing::TooLarge))
}

/// "Method not found", under whatever status.
pub(super) fn is_missing_method(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(error) if error.code == jsonrpc::METHOD_NOT_FOUND)
}
