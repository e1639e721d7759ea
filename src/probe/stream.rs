//! What GET at the endpoint gives: an event stream, or 405 (MCP 2025-11-25, "Listening for Messages from the Server").
//! The stream is left as soon as it has begun.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};

use super::conversation::{COURTESY, Conversation};
use super::exchange::{Framing, Head};
use super::ready::Ready;
use crate::model::observation::{Era, Remark, Transport};
use crate::net::{NetError, Request};

const RULE: &str = "mcp.get-not-sse";
const STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Asks for the stream of this session; `None` where no session date is spoken that knows it.
pub(super) async fn look(conversation: &Conversation<'_>, ready: &Ready) -> Option<Remark> {
    if ready.era != Era::Session
        || ready.date.as_str() < "2025-03-26"
        || conversation.transport() != Transport::StreamableHttp
        || conversation.visit().is_over()
    {
        return None;
    }
    let posting = conversation.posting(conversation.url()?.clone(), "GET", bytes::Bytes::new(), Some(COURTESY));
    let mut headers = posting.headers;
    headers.remove(CONTENT_TYPE);
    headers.insert(ACCEPT, STREAM);
    let request = Request { method: Method::GET, headers, body: None, follow: false, ..posting };
    // What the body would hold is not asked for: it is dropped here, and the connection with it.
    let head = conversation.line.send(request).await.map(|answer| Head::split(answer).0);
    Some(answer(head))
}

fn answer(head: Result<Head, NetError>) -> Remark {
    let head = match head {
        Ok(head) => head,
        Err(error) => return Remark::skipped(RULE, format!("GET: {error}")),
    };
    let status = head.status;
    match status {
        StatusCode::METHOD_NOT_ALLOWED => Remark::passed(RULE),
        _ if status.is_success() && head.framing() == Framing::Sse => Remark::passed(RULE),
        StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::PROXY_AUTHENTICATION_REQUIRED
        | StatusCode::REQUEST_TIMEOUT
        | StatusCode::TOO_MANY_REQUESTS => Remark::skipped(RULE, format!("GET: HTTP {}", status.as_u16())),
        _ if status.is_server_error() => Remark::skipped(RULE, format!("GET: HTTP {}", status.as_u16())),
        _ if status.is_success() => Remark::finding(RULE, format!("HTTP {} without an event stream", status.as_u16())),
        _ => Remark::finding(RULE, format!("HTTP {}", status.as_u16())),
    }
}
