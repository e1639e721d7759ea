//! Ways on which answers do not come by the response to their request: the stream of HTTP+SSE, and the standard streams
//! of a program. Messages go out one by one, and what comes in is matched by its id.

use std::collections::VecDeque;
use std::time::Duration;

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, StatusCode};
use url::Url;

use super::exchange::{Framing, Head};
use super::sse::{self, Event};
use crate::net::{Body, Line, NetError, Program, Request};

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");
/// A stream that begins later is none of HTTP+SSE.
const FIRST_EVENT: Duration = Duration::from_secs(5);
/// Bytes of the URL that messages go to.
const MAX_URL: usize = 8 * 1024;

/// One of them.
#[derive(Debug)]
pub(super) enum Wire {
    Stream(Box<Stream>),
    Program(Box<Program>),
}

/// What a GET that asks for a stream came to.
pub(super) enum Opening {
    /// A stream whose first event names where messages go: HTTP+SSE of 2024-11-05.
    Stream(Box<Stream>),
    /// An answer, and no such stream.
    Other(Box<Head>),
}

/// The stream of HTTP+SSE, and where messages go.
#[derive(Debug)]
pub(super) struct Stream {
    body: Body,
    parser: sse::Parser,
    queue: VecDeque<Event>,
    /// The answer that the stream is.
    head: Head,
    messages: Option<Url>,
}

impl Wire {
    /// The head that answers over it have; of a stream, its own.
    pub(super) fn head(&self) -> Head {
        match self {
            Self::Stream(stream) => stream.head.clone(),
            Self::Program(_) => Head::of_program(),
        }
    }

    /// Where messages go, if that is a URL.
    pub(super) fn messages(&self) -> Option<&Url> {
        match self {
            Self::Stream(stream) => stream.messages(),
            Self::Program(_) => None,
        }
    }

    /// The next document that came in; `None` when none follows.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>, NetError> {
        match self {
            Self::Stream(stream) => Ok(stream.event().await?.map(|event| event.data)),
            Self::Program(program) => program.line().await,
        }
    }
}

impl Stream {
    /// Where messages go.
    pub(super) const fn messages(&self) -> Option<&Url> {
        self.messages.as_ref()
    }

    /// Asks for it, and waits for its first event.
    ///
    /// `request` has what is sent to the origin written; where messages go is resolved against the URL that answered
    /// in the end. With `keep_origin` they may not go elsewhere than to the origin written.
    pub(super) async fn open(line: &Line<'_>, request: Request) -> Result<Opening, NetError> {
        let keep_origin = request.keep_origin;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, EVENT_STREAM);
        let (head, body) = Head::split(line.send(Request { headers, lasting: true, ..request }).await?);
        if head.status != StatusCode::OK || head.framing() != Framing::Sse {
            return Ok(Opening::Other(Box::new(head)));
        }
        let mut stream = Self::of(head, body);
        let first = line.visit().within(Some(FIRST_EVENT), stream.event()).await;
        let named = match first {
            Ok(Some(event)) if event.name == b"endpoint" => event.data,
            // A stream of Streamable HTTP, which has nothing to say, or one that is none of ours.
            Ok(_) | Err(NetError::Timeout) => return Ok(Opening::Other(Box::new(stream.head))),
            Err(error) => return Err(error),
        };
        let Some(messages) = stream.resolve(&named) else { return Ok(Opening::Other(Box::new(stream.head))) };
        if keep_origin && line.is_elsewhere(&messages) {
            return Err(NetError::LeftOrigin);
        }
        stream.messages = Some(messages);
        Ok(Opening::Stream(Box::new(stream)))
    }

    fn of(head: Head, body: Body) -> Self {
        Self { body, parser: sse::Parser::default(), queue: VecDeque::new(), head, messages: None }
    }

    /// Where messages go, as the peer wrote it: mostly a path, with the session in its query.
    fn resolve(&self, named: &[u8]) -> Option<Url> {
        let text = std::str::from_utf8(named.get(..named.len().min(MAX_URL + 1))?).ok()?.trim();
        let base = &self.head.way.as_ref()?.url;
        let mut url = base.join(text).ok().filter(|_| text.len() <= MAX_URL)?;
        let is_http = matches!(url.scheme(), "http" | "https") && url.has_host();
        // What a peer writes there is no credential of ours.
        (is_http && url.set_username("").is_ok() && url.set_password(None).is_ok()).then(|| {
            url.set_fragment(None);
            url
        })
    }

    async fn event(&mut self) -> Result<Option<Event>, NetError> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Ok(Some(event));
            }
            let Some(piece) = self.body.piece().await? else { return Ok(None) };
            self.queue.extend(self.parser.push(&piece).map_err(|sse::TooManyEvents| NetError::TooManyMessages)?);
        }
    }
}
