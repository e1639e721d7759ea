//! JSON-RPC 2.0 messages: what we write, and what a message of the peer is to the request it came for.

use bytes::Bytes;

use crate::model::json::{Json, Members};

/// No such method.
pub(super) const METHOD_NOT_FOUND: i64 = -32_601;
/// Invalid parameters; of `initialize` also an unsupported date.
pub(super) const INVALID_PARAMS: i64 = -32_602;
/// A header absent, malformed or unlike the body (2026-07-28).
pub(super) const HEADER_MISMATCH: i64 = -32_020;
/// A client capability is missing (2026-07-28).
pub(super) const MISSING_CAPABILITY: i64 = -32_021;
/// The date is not supported (2026-07-28).
pub(super) const UNSUPPORTED_VERSION: i64 = -32_022;

/// Dates that a list of them may have.
const MAX_DATES: usize = 64;
/// Bytes of one date.
pub(super) const MAX_DATE: usize = 64;

/// What a message is to us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// The result of our request.
    Result(Json),
    /// An error: of our request, or with no id, or with an id that is nobody's.
    Error(RpcError),
    /// A request of the server.
    Request(ServerRequest),
    /// A result of some other request.
    Foreign,
    /// A notification.
    Notification,
    /// No JSON-RPC message.
    Noise,
}

/// An error object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RpcError {
    pub(super) code: i64,
    /// `data.supported`: dates that the server would take.
    pub(super) supported: Vec<String>,
}

/// A request of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerRequest {
    pub(super) id: Json,
    pub(super) is_ping: bool,
}

impl RpcError {
    /// Codes that only a server of 2026-07-28 sends; recognised under any status and with any id.
    pub(super) const fn is_modern(&self) -> bool {
        matches!(self.code, HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION)
    }
}

/// A request of ours.
pub(super) fn request(id: i64, method: &str, params: Option<Members>) -> Bytes {
    let mut message = Members::from([
        ("jsonrpc".to_owned(), Json::from("2.0")),
        ("id".to_owned(), Json::from(id)),
        ("method".to_owned(), Json::from(method)),
    ]);
    if let Some(params) = params {
        message.insert("params".to_owned(), Json::Object(params));
    }
    Json::Object(message).canonical().into()
}

/// A notification of ours, without parameters.
pub(super) fn notification(method: &str) -> Bytes {
    Json::from([("jsonrpc", Json::from("2.0")), ("method", Json::from(method))]).canonical().into()
}

/// Our answer to a request of the server: pong, or "method not found", since we declared nothing.
pub(super) fn answer(request: &ServerRequest) -> Bytes {
    let (name, value) = if request.is_ping {
        ("result", Json::object())
    } else {
        let error = [("code", Json::from(METHOD_NOT_FOUND)), ("message", Json::from("method not found"))];
        ("error", Json::from(error))
    };
    Json::from([("jsonrpc", Json::from("2.0")), ("id", request.id.clone()), (name, value)]).canonical().into()
}

/// A batch (2025-03-26) is its messages; anything else is one.
pub(super) fn messages(document: Json) -> Vec<Json> {
    if let Json::Array(items) = document { items } else { vec![document] }
}

/// The result in a document that was one answer when it came before.
pub(super) fn result_of(document: Json) -> Option<Json> {
    if let Json::Object(mut members) = document { members.remove("result") } else { None }
}

/// What `message` is to the request `id`. Ids are compared by value and type.
///
/// `alone`: it came by the response to that request, so that an error with any id, or with none, is of it. Elsewhere one
/// with the number of another request is that one's: an answer that comes late.
pub(super) fn read(message: Json, id: i64, alone: bool) -> Said {
    let Json::Object(mut members) = message else {
        return Said::Noise;
    };
    if members.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        return Said::Noise;
    }
    let its_id = members.remove("id").filter(|id| *id != Json::Null);
    if let Some(method) = members.get("method").and_then(Json::as_str) {
        return match its_id {
            Some(id @ (Json::String(_) | Json::Number(_))) => {
                Said::Request(ServerRequest { id, is_ping: method == "ping" })
            }
            Some(_) => Said::Noise,
            None => Said::Notification,
        };
    }
    match (members.remove("result"), members.remove("error")) {
        (Some(result), None) if its_id == Some(Json::from(id)) => Said::Result(result),
        (Some(_), None) => Said::Foreign,
        (None, Some(_)) if !alone && its_id.as_ref().is_some_and(|its| is_number_of_another(its, id)) => Said::Foreign,
        (None, Some(error)) => error_object(&error).map_or(Said::Noise, Said::Error),
        (Some(_), Some(_)) | (None, None) => Said::Noise,
    }
}

fn is_number_of_another(its_id: &Json, id: i64) -> bool {
    its_id.as_number().is_some() && *its_id != Json::from(id)
}

/// An OAuth error has a string under `error`; that is no JSON-RPC error.
fn error_object(error: &Json) -> Option<RpcError> {
    let code = error.member("code")?.as_number()?.as_i64()?;
    let supported = error.member("data").and_then(|data| data.member("supported")).map(dates).unwrap_or_default();
    Some(RpcError { code, supported })
}

/// The strings of a list of dates.
pub(super) fn dates(list: &Json) -> Vec<String> {
    let items = list.as_array().map(Vec::as_slice).unwrap_or_default();
    items
        .iter()
        .filter_map(Json::as_str)
        .filter(|date| date.len() <= MAX_DATE)
        .take(MAX_DATES)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests;
