//! What cards and catalogs say of where a server is. Nothing is asked here, and nothing of it is believed: a lead is
//! a place to look at, through the guard.

use url::Url;

use crate::model::json::Json;

/// The type of an entry that is a card, in catalogs and in answers.
const CARD: &str = "application/mcp-server-card+json";

/// Remotes and entries that are looked at in one document; the others are compared like all else, and not followed.
const MOST_LOOKED_AT: usize = 64;

/// The endpoints that a card names: those of `remotes`, else its own `url`.
pub(super) fn endpoints(card: &Json) -> Vec<Url> {
    let remotes = card.member("remotes").and_then(Json::as_array).into_iter().flatten();
    let named: Vec<Url> = remotes.take(MOST_LOOKED_AT).filter_map(remote).collect();
    if named.is_empty() { card.member("url").and_then(address).into_iter().collect() } else { named }
}

fn remote(remote: &Json) -> Option<Url> {
    let is_spoken = match remote.member("type") {
        Some(kind) => matches!(kind.as_str(), Some("streamable-http" | "sse")),
        None => true,
    };
    remote.member("url").filter(|_| is_spoken).and_then(address)
}

/// A whole address. One with `{variables}` is a template that only its user can fill in; what stands before an `@` is
/// no credential of ours, and nobody is asked with it.
fn address(text: &Json) -> Option<Url> {
    let text = text.as_str().filter(|text| !text.contains(['{', '}']))?;
    let mut url = Url::parse(text).ok()?;
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none();
    url.set_fragment(None);
    is_plain.then_some(url)
}

/// A card as a catalog has it.
#[derive(Debug)]
pub(super) enum Entry<'c> {
    /// It is to be had there.
    At(Url),
    /// This is it.
    Held(&'c Json),
}

/// The cards of a catalog.
pub(super) fn entries(catalog: &Json) -> Vec<Entry<'_>> {
    let entries = catalog.member("entries").and_then(Json::as_array).into_iter().flatten().take(MOST_LOOKED_AT);
    let cards = entries.filter(|entry| entry.member("type").and_then(Json::as_str).is_some_and(is_card_type));
    let card = |entry| match Json::member(entry, "data").filter(|data| data.as_object().is_some()) {
        Some(data) => Some(Entry::Held(data)),
        None => entry.member("url").and_then(address).map(Entry::At),
    };
    cards.filter_map(card).collect()
}

/// Parameters may follow.
fn is_card_type(kind: &str) -> bool {
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(CARD))
}

/// Whether a document at a card's place is taken for one: it has something that only a card, of whichever draft, has.
pub(super) fn is_card(document: &Json) -> bool {
    let text = |name| document.member(name).and_then(Json::as_str);
    let named = text("name").is_some() && (text("version").is_some() || text("description").is_some());
    document.as_object().is_some()
        && (named
            || has_schema(document)
            || document.member("remotes").and_then(Json::as_array).is_some()
            || document.member("serverInfo").and_then(Json::as_object).is_some()
            || document.member("url").and_then(address).is_some())
}

/// Whether a card is whole enough to be a sign of a server: its required members, and an endpoint or its schema.
pub(super) fn is_whole_card(card: &Json) -> bool {
    let has = |name| card.member(name).and_then(Json::as_str).is_some_and(|text| !text.trim().is_empty());
    let remotes = card.member("remotes").and_then(Json::as_array).into_iter().flatten();
    let leads = has_schema(card) || remotes.take(MOST_LOOKED_AT).any(|one| remote(one).is_some());
    has("name") && has("version") && has("description") && leads
}

fn has_schema(card: &Json) -> bool {
    card.member("$schema").and_then(Json::as_str).is_some_and(|schema| schema.ends_with("/server-card.schema.json"))
}

/// Whether a document at the catalog's place is taken for one.
pub(super) fn is_catalog(document: &Json) -> bool {
    document.member("entries").and_then(Json::as_array).is_some()
}

/// Whether a catalog is a sign of a server: a whole one that lists a card.
pub(super) fn lists_server(catalog: &Json) -> bool {
    catalog.member("specVersion").and_then(Json::as_str).is_some() && !entries(catalog).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse_trusted(text.as_bytes()).unwrap()
    }

    fn named(card: &str) -> Vec<String> {
        endpoints(&json(card)).iter().map(Url::to_string).collect()
    }

    #[test]
    fn remotes_lead_and_else_the_cards_own_url() {
        let both = r#"{"url":"https://a.example/","remotes":[{"type":"sse","url":"https://b.example/sse"},
            {"type":"streamable-http","url":"https://b.example/mcp"}]}"#;
        assert_eq!(named(both), ["https://b.example/sse", "https://b.example/mcp"]);
        assert_eq!(named(r#"{"url":"https://a.example/mcp","remotes":[]}"#), ["https://a.example/mcp"]);
        assert_eq!(named(r#"{"name":"a"}"#), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_whole_address_or_no_transport_of_ours_leads_nowhere() {
        for url in ["https://{tenant}.example/mcp", "/mcp", "ftp://a.example/", "https://u:p@a.example/", "mcp", ""] {
            assert_eq!(named(&format!(r#"{{"remotes":[{{"type":"sse","url":"{url}"}}]}}"#)), Vec::<String>::new());
        }
        assert_eq!(named(r#"{"remotes":[{"type":"grpc","url":"https://a.example/"}]}"#), Vec::<String>::new());
        assert_eq!(named(r#"{"remotes":{"url":"https://a.example/"}}"#), Vec::<String>::new());
    }

    #[test]
    fn a_catalog_holds_cards_or_says_where_they_are() {
        let catalog = json(
            r#"{"entries":[{"type":"application/mcp-server-card+json","url":"https://a.example/card"},
            {"type":"application/mcp-server-card+json; v=1","data":{"name":"x"}},
            {"type":"application/a2a-agent-card+json","url":"https://a.example/agent"},{"url":"https://a.example/"}]}"#,
        );
        let entries = entries(&catalog);
        assert!(matches!(entries.as_slice(), [Entry::At(_), Entry::Held(_)]), "{entries:?}");
    }

    #[test]
    fn a_document_is_a_sign_of_a_server_only_when_it_is_a_whole_card() {
        assert!(!is_card(&json(r#"{"openapi":"3.1.0","info":{"title":"MCP server-card tools/list"},"paths":{}}"#)));
        assert!(!is_card(&json(r#"["remotes"]"#)));
        assert!(is_card(&json(r#"{"url":"https://a.example/mcp"}"#)));
        assert!(!is_whole_card(&json(r#"{"url":"https://a.example/mcp","name":"a","version":"1","description":"b"}"#)));
        assert!(is_whole_card(&json(
            r#"{"name":"a/b","version":"1","description":"c","remotes":[{"type":"sse","url":"https://a.example/sse"}]}"#
        )));
    }
}
