//! One answer read: JSON or event stream, whatever its status, until the message that answers our request.

use std::collections::VecDeque;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode, Version};
use url::Url;

use super::jsonrpc::{self, RpcError, Said, ServerRequest};
use super::sse;
use crate::model::digest::Digest;
use crate::model::json::{Issue, IssueKind, Json};
use crate::model::observation::{AddressClass, Document};
use crate::net::{Answer, Body, Hop, NetError, Visit};

/// A request and what came of it.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) head: Head,
    pub(super) reply: Reply,
}

/// Everything of an answer but its body.
#[derive(Clone, Debug)]
pub(super) struct Head {
    /// 200 where the answer came by another way than its own HTTP response.
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// How it came over HTTP; `None` for a program's.
    pub(super) way: Option<Way>,
}

/// How an answer came over HTTP.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) version: Version,
    pub(super) url: Url,
    pub(super) hops: Vec<Hop>,
    pub(super) class: Option<AddressClass>,
    pub(super) framing: Framing,
}

/// How messages stand in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Json,
    Sse,
}

impl Framing {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Sse => "sse",
        }
    }
}

/// What the body said to our request.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Result(Read),
    Error(RpcError),
    Nothing(Nothing),
}

/// A result, and what was ambiguous in the document that held it.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) value: Json,
    pub(super) ambiguities: Arc<[String]>,
    /// The document, where its bytes were looked at and held one message; unparsed, it stands for the value.
    pub(super) document: Option<Document>,
}

/// How closely a document is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It is parsed.
    Parse,
    /// Its bytes are digested too; those expected are not parsed.
    Digest { expected: Option<Digest> },
}

/// Why there was no reply in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nothing {
    /// The status said enough.
    Unread,
    /// No body.
    Empty,
    /// No JSON.
    NotJson,
    /// JSON, but no message of JSON-RPC 2.0.
    NotJsonrpc,
    /// A result with another id.
    ForeignId,
    /// The stream ended first.
    Cut,
    /// Too many values, too deep, or too many events.
    TooLarge,
}

/// What reading on gave.
pub(super) enum Step {
    Reply(Reply),
    Asked(ServerRequest),
}

impl Head {
    pub(super) fn split(answer: Answer) -> (Self, Body) {
        let Answer { status, version, headers, url, hops, class, body } = answer;
        let framing = framing(&headers);
        (Self { status, headers, way: Some(Way { version, url, hops, class, framing }) }, body)
    }

    /// Of an answer that a program wrote.
    pub(super) fn of_program() -> Self {
        Self { status: StatusCode::OK, headers: HeaderMap::new(), way: None }
    }

    /// How messages stand in the body.
    pub(super) fn framing(&self) -> Framing {
        self.way.as_ref().map_or(Framing::Json, |way| way.framing)
    }
}

/// Content types are matched by prefix: parameters may follow.
fn framing(headers: &HeaderMap) -> Framing {
    const STREAM: &[u8] = b"text/event-stream";
    let kind = headers.get(CONTENT_TYPE).map(http::HeaderValue::as_bytes).unwrap_or_default();
    match kind.get(..STREAM.len()) {
        Some(prefix) if prefix.eq_ignore_ascii_case(STREAM) => Framing::Sse,
        Some(_) | None => Framing::Json,
    }
}

/// Reads one body until it answers the request `id`.
pub(super) struct Reader {
    source: Source,
    matcher: Matcher,
}

enum Source {
    Whole(Body),
    Stream(Body, sse::Parser),
    Done,
}

impl Reader {
    pub(super) fn new(body: Body, framing: Framing, id: i64, look: Look) -> Self {
        let (source, nothing) = match framing {
            Framing::Json => (Source::Whole(body), Nothing::Empty),
            Framing::Sse => (Source::Stream(body, sse::Parser::default()), Nothing::Cut),
        };
        Self { source, matcher: Matcher::new(id, look, nothing, true) }
    }

    pub(super) async fn next(&mut self, visit: &Visit<'_>) -> Result<Step, NetError> {
        loop {
            if let Some(step) = self.matcher.next() {
                return Ok(step);
            }
            if matches!(self.source, Source::Done) {
                return Ok(Step::Reply(Reply::Nothing(self.matcher.nothing)));
            }
            self.fill(visit).await?;
        }
    }

    async fn fill(&mut self, visit: &Visit<'_>) -> Result<(), NetError> {
        let matcher = &mut self.matcher;
        match std::mem::replace(&mut self.source, Source::Done) {
            Source::Done => {}
            Source::Whole(body) => {
                let document = body.whole().await?;
                matcher.document(visit, &document).await;
                if matcher.nothing == Nothing::Empty && !document.trim_ascii().is_empty() {
                    matcher.nothing = Nothing::NotJsonrpc;
                }
            }
            Source::Stream(mut body, mut parser) => match body.piece().await? {
                Some(piece) => match parser.push(&piece) {
                    Ok(events) => {
                        self.source = Source::Stream(body, parser);
                        for event in events {
                            matcher.document(visit, &event.data).await;
                            if matcher.is_over() {
                                self.source = Source::Done;
                                break;
                            }
                        }
                    }
                    Err(sse::TooManyEvents) => matcher.nothing = Nothing::TooLarge,
                },
                None => {
                    if let Some(event) = parser.finish() {
                        matcher.document(visit, &event.data).await;
                        // What was left over at the end and is no JSON was cut, and is as lost as the rest.
                        if matcher.nothing == Nothing::NotJson {
                            matcher.nothing = Nothing::Cut;
                        }
                    }
                }
            },
        }
        Ok(())
    }
}

/// Finds the message that answers the request `id` among documents.
pub(super) struct Matcher {
    queue: VecDeque<Read>,
    id: i64,
    look: Look,
    nothing: Nothing,
    alone: bool,
}

impl Matcher {
    /// `nothing` is what it comes to when no document comes at all; `alone` whether answers to other requests come
    /// elsewhere.
    pub(super) const fn new(id: i64, look: Look, nothing: Nothing, alone: bool) -> Self {
        Self { queue: VecDeque::new(), id, look, nothing, alone }
    }

    /// What it comes to when nothing follows.
    pub(super) const fn nothing(&self) -> Nothing {
        self.nothing
    }

    /// Whether nothing that follows is of use: a document was beyond all caps.
    pub(super) fn is_over(&self) -> bool {
        self.nothing == Nothing::TooLarge
    }

    /// The next message that is to be acted upon, of the documents so far.
    pub(super) fn next(&mut self) -> Option<Step> {
        while let Some(read) = self.queue.pop_front() {
            // The same bytes answered the same request before.
            if read.document.as_ref().is_some_and(|document| document.unparsed.is_some()) {
                return Some(Step::Reply(Reply::Result(read)));
            }
            let Read { value, ambiguities, document } = read;
            match jsonrpc::read(value, self.id, self.alone) {
                Said::Result(value) => {
                    return Some(Step::Reply(Reply::Result(Read { value, ambiguities, document })));
                }
                Said::Error(error) => return Some(Step::Reply(Reply::Error(error))),
                Said::Request(request) => return Some(Step::Asked(request)),
                Said::Foreign => self.blame(Nothing::ForeignId),
                Said::Noise => self.blame(Nothing::NotJsonrpc),
                Said::Notification => {}
            }
        }
        None
    }

    /// Queues the messages of one document. Blank ones are priming events and empty bodies.
    pub(super) async fn document(&mut self, visit: &Visit<'_>, bytes: &[u8]) {
        if bytes.trim_ascii().is_empty() {
            return;
        }
        let digest = match self.look {
            Look::Parse => None,
            Look::Digest { expected } => {
                let digest = visit.digest(bytes);
                if expected == Some(digest) {
                    let document = Some(Document { digest, unparsed: Some(bytes.to_vec()) });
                    self.queue.push_back(Read { value: Json::Null, ambiguities: Arc::default(), document });
                    return;
                }
                Some(digest)
            }
        };
        match visit.parse(bytes).await {
            Ok(parsed) => {
                let ambiguities = ambiguities(&parsed.issues);
                let digest = digest.filter(|_| parsed.value.as_object().is_some());
                let messages = jsonrpc::messages(parsed.value).into_iter();
                self.queue.extend(messages.map(|value| Read {
                    value,
                    ambiguities: Arc::clone(&ambiguities),
                    document: digest.map(|digest| Document { digest, unparsed: None }),
                }));
            }
            Err(error) if error.kind.is_limit() => self.nothing = Nothing::TooLarge,
            Err(_) => self.blame(Nothing::NotJson),
        }
    }

    /// The first thing that was wrong says most, and a foreign id more than that nothing was ours.
    fn blame(&mut self, nothing: Nothing) {
        let is_closer = self.nothing == Nothing::NotJsonrpc && nothing == Nothing::ForeignId;
        if is_closer || matches!(self.nothing, Nothing::Empty | Nothing::Cut) {
            self.nothing = nothing;
        }
    }
}

/// In our words, by kind and number; offsets move with every answer and say nothing.
pub(super) fn ambiguities(issues: &[Issue]) -> Arc<[String]> {
    let kinds = [
        (IssueKind::DuplicateMember, "duplicate member name"),
        (IssueKind::LoneSurrogate, "lone surrogate"),
        (IssueKind::NumberOutOfRange, "number out of range"),
    ];
    let count = |kind| issues.iter().filter(|issue| issue.kind == kind).count();
    let counted = kinds.into_iter().map(|(kind, words)| (count(kind), words));
    counted.filter(|(count, _)| *count > 0).map(|(count, words)| format!("{words} ({count})")).collect()
}
