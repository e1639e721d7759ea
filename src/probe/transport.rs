//! The value of `mcp.transport`: how the conversation was carried, from the answer that opened it.

use std::collections::BTreeSet;

use http::{HeaderMap, HeaderValue, Version};

use super::exchange::Head;
use crate::model::json::{Json, Members};
use crate::model::observation::{Era, Transport};

/// Header fields that are watched; of the others nothing is kept.
const WATCHED: [&str; 7] = [
    "cache-control",
    "content-type",
    "server",
    "strict-transport-security",
    "via",
    "x-content-type-options",
    "x-powered-by",
];
const WATCHED_PREFIX: &str = "access-control-";

/// What the opening answer showed of the transport.
pub(super) fn page(head: &Head, era: Era, date: &str, session: bool) -> Json {
    let hops = head.hops.iter().map(|hop| {
        Json::from([("status", Json::from(i64::from(hop.status.as_u16()))), ("to", Json::from(hop.to.as_str()))])
    });
    Json::from([
        ("transport", Json::from(Transport::StreamableHttp.as_str())),
        ("era", Json::from(era.as_str())),
        ("date", Json::from(date)),
        ("url", Json::from(head.url.as_str())),
        ("redirects", Json::Array(hops.collect())),
        ("session", Json::from(session)),
        ("framing", Json::from(head.framing.as_str())),
        ("http_version", Json::from(version(head.version))),
        ("address_class", head.class.map_or(Json::Null, |class| Json::from(class.as_str()))),
        ("headers", Json::Object(watched(&head.headers))),
    ])
}

fn watched(headers: &HeaderMap) -> Members {
    let names: BTreeSet<&str> = headers.keys().map(http::HeaderName::as_str).collect();
    let kept = names.into_iter().filter(|name| WATCHED.contains(name) || name.starts_with(WATCHED_PREFIX));
    kept.map(|name| (name.to_owned(), Json::from(values(headers, name)))).collect()
}

/// Several fields of one name are one list (RFC 9110 §5.3).
fn values(headers: &HeaderMap, name: &str) -> String {
    let all = headers.get_all(name).iter().map(HeaderValue::as_bytes).map(String::from_utf8_lossy);
    all.collect::<Vec<_>>().join(", ")
}

const fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "0.9",
        Version::HTTP_10 => "1.0",
        Version::HTTP_11 => "1.1",
        Version::HTTP_2 => "2",
        Version::HTTP_3 => "3",
        _ => "unknown",
    }
}
