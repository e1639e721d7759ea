//! The value of `mcp.transport`: how the conversation was carried, from the answer that opened it.

use std::collections::BTreeSet;

use http::{HeaderMap, HeaderValue, Version};
use url::Url;

use super::conversation::Conversation;
use super::exchange::{Head, Way};
use crate::model::json::{Json, Members};
use crate::model::observation::Era;

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
pub(super) fn page(conversation: &Conversation<'_>, head: &Head, era: Era, date: &str, session: bool) -> Json {
    let mut page = Members::from([
        ("transport".to_owned(), Json::from(conversation.transport().as_str())),
        ("era".to_owned(), Json::from(era.as_str())),
        ("date".to_owned(), Json::from(date)),
    ]);
    if let Some(messages) = conversation.messages() {
        page.insert("messages".to_owned(), Json::from(without_session(messages)));
    }
    if let Some(way) = &head.way {
        page.insert("session".to_owned(), Json::from(session));
        page.extend(over_http(way).map(|(name, value)| (name.to_owned(), value)));
        page.insert("headers".to_owned(), Json::Object(watched(&head.headers)));
    }
    // Where messages go was read before anything was taken out of it.
    conversation.visit().clean(Json::Object(page))
}

fn over_http(way: &Way) -> [(&'static str, Json); 5] {
    let hops = way.hops.iter().map(|hop| {
        Json::from([("status", Json::from(i64::from(hop.status.as_u16()))), ("to", Json::from(hop.to.as_str()))])
    });
    [
        ("url", Json::from(way.url.as_str())),
        ("redirects", Json::Array(hops.collect())),
        ("framing", Json::from(way.framing.as_str())),
        ("http_version", Json::from(version(way.version))),
        ("address_class", way.class.map_or(Json::Null, |class| Json::from(class.as_str()))),
    ]
}

/// The query of the URL that messages go to names the session, which is another one each time.
fn without_session(messages: &Url) -> String {
    let mut url = messages.clone();
    url.set_query(None);
    url.into()
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
