//! The odd requests of a target's `tier: negative`: what a server should refuse, and changes nothing.
//!
//! They come after the ordinary conversation, over a connection and a session of their own, so that it stays as it
//! is without them; each is asked once. What a refusal of us, a limit or 5xx keeps from being seen is skipped.

use http::header::{HeaderName, ORIGIN};
use http::{HeaderValue, StatusCode};

use super::conversation::{COURTESY, Conversation, Dress, METHOD, VERSION, client_info};
use super::exchange::{Exchange, Head, Look, Nothing, Reader, Reply, Step};
use super::{dates, opening};
use crate::model::json::{Json, Members};
use crate::model::observation::Remark;
use crate::net::NetError;

const ORDERING: &str = "mcp.ordering-not-enforced";
const FOREIGN_ORIGIN: &str = "mcp.origin-not-validated";
const VERSION_HEADER: &str = "mcp.version-header-not-checked";
const HEADER_MISMATCH: &str = "mcp.header-mismatch-accepted";
const LAX: &str = "mcp.jsonrpc-lax";

/// An origin that no server knows (RFC 2606).
const FOREIGN: HeaderValue = HeaderValue::from_static("https://origin.invalid");
/// A date that no version of the protocol has.
const UNSUPPORTED: &str = "1900-01-01";
/// From here on a server answers 400 to a date in the header that it does not speak.
const FIRST_WITH_HEADER: &str = "2025-06-18";
/// The id of an odd request; its conversation counts from 1 and is not that long.
const ID: i64 = 900;

/// What is asked, oddly.
pub(super) struct Odd {
    /// The date that `initialize` offers; `None` at 2026-07-28.
    pub(super) offer: Option<String>,
    /// Whether the server lists tools.
    pub(super) has_tools: bool,
    /// Whether sessions are ended.
    pub(super) end_session: bool,
}

/// Asks what is to be asked oddly, over `conversation`, which is new.
pub(super) async fn look(conversation: Conversation<'_>, odd: &Odd) -> Vec<Remark> {
    match &odd.offer {
        Some(offer) => Box::pin(in_a_session(conversation, odd, offer)).await,
        None => Box::pin(alone(conversation, odd)).await,
    }
}

/// The rules, for who was not asked.
pub(super) fn skipped(why: &str) -> Vec<Remark> {
    [ORDERING, FOREIGN_ORIGIN, VERSION_HEADER, HEADER_MISMATCH, LAX]
        .into_iter()
        .map(|rule| Remark::skipped(rule, why))
        .collect()
}

/// 2026-07-28: every request stands alone.
async fn alone(mut conversation: Conversation<'_>, odd: &Odd) -> Vec<Remark> {
    conversation.dress(Dress::Modern);
    let method = if odd.has_tools { "tools/list" } else { "server/discover" };
    let mut asker = Asker { conversation: &conversation, method, stopped: None, said: Vec::new() };
    asker.said.push(Remark::skipped(ORDERING, "requests of 2026-07-28 stand alone"));
    asker.ask(FOREIGN_ORIGIN, Json::from(ID), dates::MODERN, Some((ORIGIN, FOREIGN))).await;
    let unsupported = Some((VERSION, HeaderValue::from_static(UNSUPPORTED)));
    asker.ask(VERSION_HEADER, Json::from(ID), UNSUPPORTED, unsupported).await;
    let other = if odd.has_tools { "prompts/list" } else { "tools/list" };
    let contradicts = Some((METHOD, HeaderValue::from_static(other)));
    asker.ask(HEADER_MISMATCH, Json::from(ID), dates::MODERN, contradicts).await;
    asker.ask(LAX, Json::Null, dates::MODERN, None).await;
    asker.said
}

/// Older dates: in a session that is asked for its list before it stands, and oddly after.
async fn in_a_session(mut conversation: Conversation<'_>, odd: &Odd, offer: &str) -> Vec<Remark> {
    let date = match initialize(&mut conversation, offer).await {
        Ok(date) => date,
        Err(why) => return skipped(&why),
    };
    let method = if odd.has_tools { "tools/list" } else { "ping" };
    let early = if odd.has_tools { before_it_stands(&mut conversation).await } else { no_tools() };
    // A server that does not take it shows so in what follows.
    let _ = conversation.notify("notifications/initialized").await;
    let mut said = match stands(&mut conversation, method).await {
        Ok(()) => {
            let mut asker = Asker { conversation: &conversation, method, stopped: None, said: Vec::new() };
            asker.ask(FOREIGN_ORIGIN, Json::from(ID), &date, Some((ORIGIN, FOREIGN))).await;
            if date.as_str() >= FIRST_WITH_HEADER {
                let unsupported = Some((VERSION, HeaderValue::from_static(UNSUPPORTED)));
                asker.ask(VERSION_HEADER, Json::from(ID), &date, unsupported).await;
            } else {
                let why = format!("asked from {FIRST_WITH_HEADER} on; the server speaks {date}");
                asker.said.push(Remark::skipped(VERSION_HEADER, why));
            }
            asker.said.push(Remark::skipped(HEADER_MISMATCH, "older dates name no method in a header"));
            asker.ask(LAX, Json::Null, &date, None).await;
            asker.said
        }
        Err(why) => skipped(&why).into_iter().filter(|remark| remark.rule != ORDERING).collect(),
    };
    conversation.end(odd.end_session).await;
    said.push(early);
    said
}

/// Begins a session and leaves it there: the date, or why there is none.
async fn initialize(conversation: &mut Conversation<'_>, offer: &str) -> Result<String, String> {
    conversation.dress(Dress::Bare);
    let answer = conversation.call("initialize", opening::initialize_params(offer)).await;
    match answer.map_err(|error| format!("no session of its own: {error}"))? {
        Exchange { head, reply: Reply::Result(read) } if head.status.is_success() => {
            let date = opening::negotiated(&read.value).unwrap_or(offer).to_owned();
            conversation.settle(&head, Dress::Legacy { date: date.clone() });
            Ok(date)
        }
        Exchange { head, .. } => Err(format!("no session of its own: HTTP {}", head.status.as_u16())),
    }
}

async fn before_it_stands(conversation: &mut Conversation<'_>) -> Remark {
    let answer = conversation.call("tools/list", Members::new()).await;
    remark(ORDERING, &Answered::of(answer.map(|exchange| (exchange.head, exchange.reply)), ORDERING))
}

fn no_tools() -> Remark {
    Remark::skipped(ORDERING, "the server lists no tools")
}

/// A refusal tells nothing unless what is asked in order is served.
async fn stands(conversation: &mut Conversation<'_>, method: &str) -> Result<(), String> {
    match conversation.call(method, Members::new()).await {
        Ok(Exchange { head, reply: Reply::Result(_) }) if head.status.is_success() => Ok(()),
        Ok(Exchange { head, .. }) => Err(format!("the session does not stand: HTTP {}", head.status.as_u16())),
        Err(error) => Err(format!("the session does not stand: {error}")),
    }
}

/// Asks one odd thing after the other, until the server refuses us.
struct Asker<'c, 'v> {
    conversation: &'c Conversation<'v>,
    method: &'static str,
    /// Why nothing more is asked.
    stopped: Option<String>,
    said: Vec<Remark>,
}

impl Asker<'_, '_> {
    async fn ask(&mut self, rule: &'static str, id: Json, date: &str, header: Option<(HeaderName, HeaderValue)>) {
        if self.conversation.visit().is_over() {
            self.stopped = Some("the scan's time limit ran out".to_owned());
        }
        if let Some(why) = &self.stopped {
            self.said.push(Remark::skipped(rule, why.as_str()));
            return;
        }
        let answered = Answered::of(self.send(id, date, header).await, rule);
        if let Answered::Stop(why) = &answered {
            self.stopped = Some(why.clone());
        }
        self.said.push(remark(rule, &answered));
    }

    async fn send(
        &self,
        id: Json,
        date: &str,
        header: Option<(HeaderName, HeaderValue)>,
    ) -> Result<(Head, Reply), NetError> {
        let body = message(id, self.method, self.conversation.is_modern().then_some(date));
        let url = self.conversation.url().ok_or(NetError::Request)?.clone();
        let mut request = self.conversation.posting(url, self.method, body.canonical().into(), Some(COURTESY));
        if let Some((name, value)) = header {
            request.headers.insert(name, value);
        }
        let (head, body) = Head::split(self.conversation.line.send(request).await?);
        let mut reader = Reader::new(body, head.framing(), ID, Look::Parse);
        loop {
            match reader.next(self.conversation.visit()).await {
                Ok(Step::Reply(reply)) => return Ok((head, reply)),
                Ok(Step::Asked(_)) => {}
                // The status has said what there is to say.
                Err(_) if !head.status.is_success() => return Ok((head, Reply::Nothing(Nothing::Unread))),
                Err(error) => return Err(error),
            }
        }
    }
}

fn message(id: Json, method: &str, date: Option<&str>) -> Json {
    let mut message = Members::from([
        ("jsonrpc".to_owned(), Json::from("2.0")),
        ("id".to_owned(), id),
        ("method".to_owned(), Json::from(method)),
    ]);
    if let Some(date) = date {
        let meta = Json::from([
            ("io.modelcontextprotocol/protocolVersion", Json::from(date)),
            ("io.modelcontextprotocol/clientInfo", client_info()),
            ("io.modelcontextprotocol/clientCapabilities", Json::object()),
        ]);
        message.insert("params".to_owned(), Json::from([("_meta", meta)]));
    }
    Json::Object(message)
}

/// What became of an odd request.
enum Answered {
    /// As if nothing were wrong with it.
    Served,
    /// As it should be.
    Refused,
    /// Neither can be said.
    Undecided(String),
    /// Nor is anything more asked.
    Stop(String),
}

impl Answered {
    fn of(answer: Result<(Head, Reply), NetError>, rule: &str) -> Self {
        let (head, reply) = match answer {
            Ok(answer) => answer,
            Err(error) => return Self::Stop(error.to_string()),
        };
        let status = head.status;
        let told = format!("HTTP {}", status.as_u16());
        match (status, &reply) {
            // The right answer to a foreign origin.
            (StatusCode::FORBIDDEN, _) if rule == FOREIGN_ORIGIN => Self::Refused,
            (
                StatusCode::UNAUTHORIZED
                | StatusCode::FORBIDDEN
                | StatusCode::PROXY_AUTHENTICATION_REQUIRED
                | StatusCode::REQUEST_TIMEOUT
                | StatusCode::TOO_MANY_REQUESTS
                | StatusCode::UNAVAILABLE_FOR_LEGAL_REASONS,
                _,
            ) => Self::Stop(told),
            (_, Reply::Error(_)) => Self::Refused,
            _ if status.is_server_error() => Self::Stop(told),
            _ if status.is_client_error() => Self::Refused,
            (_, Reply::Result(_) | Reply::Nothing(Nothing::ForeignId)) if status.is_success() => Self::Served,
            // What has no id of its own may be taken for a notification, which has no answer.
            (_, Reply::Nothing(Nothing::Empty | Nothing::Cut)) if rule == LAX => Self::Refused,
            (_, Reply::Result(_) | Reply::Nothing(_)) => Self::Undecided(told),
        }
    }
}

fn remark(rule: &'static str, answered: &Answered) -> Remark {
    match answered {
        Answered::Served => Remark::finding(
            rule,
            match rule {
                ORDERING => "tools/list was served before notifications/initialized",
                FOREIGN_ORIGIN => "a request of Origin https://origin.invalid was served",
                VERSION_HEADER => "a request of the date 1900-01-01 was served",
                HEADER_MISMATCH => "a request was served whose Mcp-Method names another method than its body",
                _ => "a request whose id is null was served",
            },
        ),
        Answered::Refused => Remark::passed(rule),
        Answered::Undecided(why) | Answered::Stop(why) => Remark::skipped(rule, why.as_str()),
    }
}
