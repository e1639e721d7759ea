//! `headers`: what is sent to a target besides the protocol's own.

use std::collections::BTreeSet;

use http::{HeaderName, HeaderValue};

use super::super::error::ConfigError;
use super::super::hiding::sounds_secret;
use super::super::reader::Reader;
use super::super::source::short;
use super::super::tree::{Entry, Node, Value};
use super::{Form, Shape, secret};
use crate::model::secret::TextOrSecret;

const VALUE: Shape = Shape::TextOrSecret(Form::Free);

/// What headers look like.
pub(in crate::config) const SHAPE: Shape = Shape::Names(&VALUE);

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<(String, TextOrSecret)>> {
    let Value::Map(entries) = &node.value else { return None };
    let (mut headers, mut names) = (Vec::new(), BTreeSet::new());
    for entry in entries {
        let Some(name) = name(reader, entry) else { continue };
        if !names.insert(name.clone()) {
            reader.mistake(entry.span, ConfigError::DuplicateHeader(name));
        } else if let Some(value) = value(reader, entry, &name) {
            headers.push((name, value));
        }
    }
    Some(headers)
}

/// The name, in lower case.
fn name(reader: &mut Reader<'_>, entry: &Entry) -> Option<String> {
    let Ok(name) = HeaderName::from_bytes(entry.key.as_bytes()) else {
        let why = "it has letters, digits and `-`".to_owned();
        reader.mistake(entry.span, ConfigError::Malformed { what: "name of a header", why, remedy: String::new() });
        return None;
    };
    let name = name.as_str().to_owned();
    match owner(&name) {
        None => Some(name),
        Some(why) => {
            reader.mistake(entry.span, ConfigError::ForbiddenHeader { name, why });
            None
        }
    }
}

/// Who sets such a header, when it is not the inventory.
fn owner(name: &str) -> Option<&'static str> {
    match name {
        "authorization" => Some("a credential goes under `auth`"),
        "host" => Some("it is the host of `url`"),
        "user-agent" => Some("we say who we are; `scan: { contact }` is sent with it"),
        "connection"
        | "keep-alive"
        | "proxy-authenticate"
        | "proxy-authorization"
        | "proxy-connection"
        | "te"
        | "trailer"
        | "transfer-encoding"
        | "upgrade" => Some("it belongs to the connection"),
        _ if name.starts_with("mcp-") || name.starts_with("content-") || name.starts_with("accept") => {
            Some("it belongs to the protocol")
        }
        "last-event-id" => Some("it belongs to the protocol"),
        _ => None,
    }
}

fn value(reader: &mut Reader<'_>, entry: &Entry, name: &str) -> Option<TextOrSecret> {
    let node = &entry.value;
    if matches!(node.value, Value::Map(_)) || sounds_secret(name) {
        return secret::decode(reader, node).map(TextOrSecret::Secret);
    }
    if !reader.is_of(node, &VALUE, &format!("the header `{}`", short(name))) {
        return None;
    }
    let text = reader.text(node);
    let valid = text.trim() == text && HeaderValue::from_str(&text).is_ok() && text.is_ascii();
    if !valid {
        let why = "it is ASCII on one line, without spaces around it".to_owned();
        reader.mistake(node.span, ConfigError::Malformed { what: "value of a header", why, remedy: String::new() });
    }
    valid.then_some(TextOrSecret::Text(text))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;
    use crate::model::secret::SecretRef;

    #[test]
    fn a_header_is_written_out_or_kept_elsewhere() {
        assert_eq!(
            taken("{ X-Tenant: 42, X-Api-Key: { env: KEY } }", decode),
            [
                ("x-tenant".to_owned(), TextOrSecret::Text("42".into())),
                ("x-api-key".to_owned(), TextOrSecret::Secret(SecretRef::Env("KEY".into()))),
            ]
        );
    }

    #[test]
    fn headers_of_the_protocol_and_the_connection_are_not_the_inventorys() {
        for name in [
            "Host",
            "Authorization",
            "MCP-Session-Id",
            "Content-Type",
            "Accept",
            "Accept-Encoding",
            "TE",
            "Connection",
            "Keep-Alive",
            "Transfer-Encoding",
            "Upgrade",
            "Proxy-Authorization",
            "User-Agent",
            "Last-Event-ID",
        ] {
            let messages = refused(&format!("{{ {name}: x }}"), decode);
            let expected = format!("the header `{}` cannot be set; ", name.to_lowercase());
            assert!(messages.len() == 1 && messages[0].starts_with(&expected), "{name}: {messages:?}");
        }
    }

    #[test]
    fn a_header_that_sounds_like_a_secret_is_a_reference() {
        for name in ["X-Api-Key", "X-Auth-Token", "Cookie"] {
            let messages = refused(&format!("{{ {name}: hunter2 }}"), decode);
            assert!(messages.len() == 1 && messages[0].starts_with("a secret is written out here; "), "{messages:?}");
        }
    }

    #[test]
    fn what_would_break_a_request_is_refused() {
        assert_eq!(
            refused("{ \"X Y\": a, X-A: \"a\\r\\nB: c\", X-B: é, X-C: [], x-d: 1, X-D: 2 }", decode),
            [
                "this is no name of a header: it has letters, digits and `-`",
                "this is no value of a header: it is ASCII on one line, without spaces around it",
                "this is no value of a header: it is ASCII on one line, without spaces around it",
                "the header `x-c` has to be a text or a reference to a secret, this is a list",
                "the header `x-d` stands twice; names of headers do not differ by case",
            ]
        );
    }
}
