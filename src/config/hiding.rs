//! Which parts of a file are never shown: everything but what is known to be harmless.
//!
//! A mistake anywhere on a line shows that line, and people write secrets where nobody expects them: under a key that is
//! none, as text where a map belongs, in the tail of a URL. So a value is shown where the tables of elements say that
//! nothing secret can stand there, and nowhere else. Looked for in the whole file before it is decoded.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::elements::{Element, Form, Shape, url};
use super::source::{Source, Span};
use super::tree::{Node, Value};
use super::{daemon_file, inventory_file};
use crate::secret::is_credential_name;

/// Keys that sound like these, in any file, stand before secrets.
const SOUNDS: [&str; 12] = [
    "bearer",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "authorization",
    "credentials",
    "cookie",
    "privatekey",
    "signature",
];

/// How far before a mistake a key is looked for: no secret is longer.
const FAR: u32 = 64 * 1024;

/// Hides all values but those that are harmless where `shape` has them.
pub(super) fn hide_in_tree(source: &mut Source, node: &Node, shape: &Shape) {
    let is_scalar = matches!(node.value, Value::Flag(_) | Value::Number | Value::Text(_));
    match (shape, &node.value) {
        (Shape::Text(Form::Url | Form::Contact), Value::Text(_)) => hide_in_url(source, node.defined),
        // What stands behind a `--key` is anybody's guess.
        (Shape::Text(Form::Argument), _) => hide_values(source, node),
        (Shape::Text(_) | Shape::Flag | Shape::Count(_) | Shape::Duration(_) | Shape::Word(_), _) if is_scalar => {}
        (Shape::List(item) | Shape::OneOrList(item), Value::List(items)) => {
            items.iter().for_each(|node| hide_in_tree(source, node, item));
        }
        (Shape::OneOrList(one), _) => hide_in_tree(source, node, one),
        (Shape::Or(one, other), value) => {
            let meant = if one.admits(value) { one } else { other };
            hide_in_tree(source, node, meant);
        }
        (Shape::Names(shape), Value::Map(entries)) => {
            for entry in entries {
                if sounds_secret(&entry.key) {
                    hide_values(source, &entry.value);
                } else {
                    hide_in_tree(source, &entry.value, shape);
                }
            }
        }
        (Shape::Map(elements), Value::Map(entries)) => {
            for entry in entries {
                match meant(elements, &entry.key) {
                    Some(element) => hide_in_tree(source, &entry.value, &element.shape),
                    None => hide_values(source, &entry.value),
                }
            }
        }
        (
            Shape::Text(_)
            | Shape::Flag
            | Shape::Count(_)
            | Shape::Duration(_)
            | Shape::Word(_)
            | Shape::Secret
            | Shape::TextOrSecret(_)
            | Shape::Empty
            | Shape::List(_)
            | Shape::Names(_)
            | Shape::Map(_),
            _,
        ) => hide_values(source, node),
    }
}

/// The element that a key is, or is called elsewhere. One that is only spelled alike is none: a secret may stand there.
fn meant<'e>(elements: &'e [Element], key: &str) -> Option<&'e Element> {
    elements.iter().find(|element| element.key == key || element.also_called.contains(&key))
}

/// Hides what of a URL may be a secret: all of it beside a user, a query and a fragment always, and what follows the
/// host where it is no URL of ours.
fn hide_in_url(source: &mut Source, span: Span) {
    let written = source.written(span);
    let text = written.trim_matches(['"', '\'', ' ']);
    let authority = written.find("://").map_or(0, |at| at.saturating_add(3));
    let tail = |ends: &[char]| written.get(authority..)?.find(ends).map(|at| authority.saturating_add(at));
    let from = if written.contains('@') && !text.starts_with("mailto:") {
        Some(0)
    } else if url::parse(text).is_ok() {
        tail(&['?', '#'])
    } else {
        tail(&['/', '?', '#', ' ', '\\'])
    };
    if let Some(from) = from {
        let start = span.start.saturating_add(u32::try_from(from).unwrap_or(u32::MAX));
        let quote = if from > 0 && written.ends_with(['"', '\'']) { 1 } else { 0 };
        source.hide(Span { start, end: span.end.saturating_sub(quote) });
    }
}

/// Hides what may be a secret in the line of a mistake in a file that is no YAML: the nearest key decides, of those that
/// are known at all.
pub(super) fn hide_in_text(source: &mut Source, span: Span) {
    static KEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"([\w-]+)["']?\s*:(?:\s|$)"#).ok());
    let line = source.whole_line(span);
    let Some(key) = &*KEY else { return source.hide(line) };
    let around = source.around(span, FAR, 4_096);
    let text = source.written(around);
    // Where what must not be shown begins, until another key ends it.
    let mut from = Some(around.start);
    let mut hidden = Vec::new();
    let place = |at: usize| around.start.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
    for found in key.captures_iter(text) {
        let (Some(whole), Some(name)) = (found.get(0), found.get(1)) else { continue };
        let begins = place(name.start());
        // Where a secret is written below its key, what looks like another key may be a part of it.
        let Some(&is_harmless) = known_keys().get(name.as_str()) else {
            from.get_or_insert(begins);
            continue;
        };
        hidden.extend(from.take().map(|start| Span { start, end: begins }));
        if !is_harmless {
            from = Some(place(whole.end()));
        }
    }
    hidden.extend(from.map(|start| Span { start, end: line.end }));
    for Span { start, end } in hidden {
        // What stands between the line's start and its first key is its indent, or a list's mark.
        let start = start.max(line.start);
        let blank = source.written(Span { start, end }).chars().all(|c| c.is_whitespace() || "-{[,\"'".contains(c));
        if start < end.min(line.end) && !blank {
            source.hide(Span { start, end: end.min(line.end) });
        }
    }
}

/// Every key of both files, and whether what stands under it, wherever it does, is harmless.
fn known_keys() -> &'static BTreeMap<&'static str, bool> {
    static KEYS: LazyLock<BTreeMap<&'static str, bool>> = LazyLock::new(|| {
        let mut keys = BTreeMap::new();
        for elements in [daemon_file::KEYS, inventory_file::KEYS, inventory_file::LISTED_KEYS] {
            gather(elements, &mut keys);
        }
        keys
    });
    &KEYS
}

fn gather(elements: &'static [Element], keys: &mut BTreeMap<&'static str, bool>) {
    for element in elements {
        let harmless = inner(&element.shape, keys);
        *keys.entry(element.key).or_insert(true) &= harmless;
    }
}

/// Gathers the keys inside, and tells whether scalars right under the shape are harmless.
fn inner(shape: &'static Shape, keys: &mut BTreeMap<&'static str, bool>) -> bool {
    match shape {
        Shape::Text(Form::Url | Form::Contact | Form::Argument) | Shape::Secret | Shape::TextOrSecret(_) => false,
        Shape::Text(_) | Shape::Flag | Shape::Count(_) | Shape::Duration(_) | Shape::Word(_) | Shape::Empty => true,
        Shape::List(one) | Shape::OneOrList(one) => inner(one, keys),
        // Names are a person's: no key that is known ends what stands there.
        Shape::Names(one) => {
            inner(one, keys);
            false
        }
        Shape::Or(one, other) => {
            let one = inner(one, keys);
            inner(other, keys) && one
        }
        Shape::Map(elements) => {
            gather(elements, keys);
            true
        }
    }
}

/// Whether what stands under such a key is a secret.
#[must_use]
pub fn sounds_secret(key: &str) -> bool {
    let key: String = key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(200).collect();
    SOUNDS.iter().any(|sound| key.contains(sound))
}

/// Whether a person meant the name of a variable, not its value.
pub(super) fn is_conventional_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Hides what a value holds, but for the names of references.
pub(super) fn hide_values(source: &mut Source, node: &Node) {
    match &node.value {
        Value::Null => {}
        Value::Flag(_) | Value::Number | Value::Text(_) => source.hide(node.defined),
        Value::List(items) => items.iter().for_each(|item| hide_values(source, item)),
        Value::Map(entries) => {
            for entry in entries {
                let is_name = match (&*entry.key, &entry.value.value) {
                    ("env", Value::Text(name)) => is_conventional_variable(name),
                    ("credential", Value::Text(name)) => is_credential_name(name),
                    ("file", Value::Text(_)) => true,
                    _ => false,
                };
                // `{ hunter2 }` is a key without a value.
                if matches!(entry.value.value, Value::Null) {
                    source.hide(entry.span);
                } else if !is_name {
                    hide_values(source, &entry.value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tree::parse;

    fn shown(text: &str, line: u64, keys: &'static [Element]) -> String {
        let mut source = Source::new("f.yaml".into(), text.to_owned());
        match parse(&source) {
            Ok(node) => hide_in_tree(&mut source, &node, &Shape::Map(keys)),
            Err((span, _)) => hide_in_text(&mut source, span),
        }
        source.snippet(source.at(line, 1)).line
    }

    #[test]
    fn a_secret_that_is_written_out_is_hidden_whatever_holds_it() {
        for (text, expected) in [
            ("auth: { bearer: hunter2 }", "auth: { bearer: *** }"),
            ("auth: hunter2", "auth: ***"),
            ("auth: { token: hunter2, x: 5 }", "auth: { token: ***, x: *** }"),
            ("auth: { bearer: {hunter2} }", "auth: { bearer: {***} }"),
            ("headers: { X-Api-Key: hunter2, X-Tenant: hunter2 }", "headers: { X-Api-Key: ***, X-Tenant: *** }"),
            ("headers: \"X-Api-Key: hunter2\"", "headers: ***"),
            ("command: [ run, --key, hunter2 ]", "command: [ ***, ***, *** ]"),
            ("pwd: hunter2", "pwd: ***"),
            ("env: { KEY: hunter2 }", "env: { KEY: *** }"),
            ("id: [ hunter2 ]", "id: [ *** ]"),
            ("labels: { token: hunter2, team: a }", "labels: { token: ***, team: a }"),
        ] {
            let text = format!("targets:\n- {text}");
            assert_eq!(shown(&text, 2, inventory_file::KEYS), format!("- {expected}"));
        }
        for (text, expected) in [
            ("people: [ x, hunter2 ]", "people: [ ***, *** ]"),
            ("receivers: [ { slack: { url: hunter2 } } ]", "receivers: [ { slack: { url: *** } } ]"),
            ("receivers: [ { webhook: hunter2 } ]", "receivers: [ { webhook: *** } ]"),
            ("receivers: [ { webhook: { uri: hunter2 } } ]", "receivers: [ { webhook: { uri: *** } } ]"),
            (
                "receivers: [ { email: { smtp: { password: { env: SMTP, file: /run/x, credential: smtp } } } } ]",
                "receivers: [ { email: { smtp: { password: { env: SMTP, file: /run/x, credential: smtp } } } } ]",
            ),
            ("scan: { contact: \"https://u:hunter2@x\" }", "scan: { contact: *** }"),
            ("API_TOKEN=hunter2", "***"),
        ] {
            assert_eq!(shown(text, 1, daemon_file::KEYS), expected);
        }
    }

    #[test]
    fn what_is_harmless_is_shown() {
        for text in [
            "scan: { concurrency: many, contact: \"mailto:ops@example.com\" }",
            "routes: [ { to: [ nobody ], group_wait: soon, match: { severity: bad } } ]",
            "inventory: [ { path: a.yaml, trust: litsed } ]",
        ] {
            assert_eq!(shown(text, 1, daemon_file::KEYS), text);
        }
    }

    #[test]
    fn of_a_url_nothing_is_shown_that_may_be_a_secret() {
        for (url, expected) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("https://a.example/mcp?key=hunter2", "https://a.example/mcp***"),
            ("https://a.example:99999/hunter2", "https://a.example:99999***"),
            ("htp://a.example/hunter2", "htp://a.example***"),
            ("a.example/hunter2", "a.example***"),
            ("https://u:hunter2@a.example/", "***"),
            ("https://a.example/#hunter2", "https://a.example***"),
        ] {
            assert_eq!(
                shown(&format!("targets:\n- url: {url}"), 2, inventory_file::KEYS),
                format!("- url: {expected}")
            );
        }
    }

    #[test]
    fn a_secret_behind_an_alias_or_in_a_block_is_hidden_where_it_is_written() {
        let text = "targets:\n- labels: { team: &x hunter2 }\n  auth: { bearer: *x }\n";
        assert_eq!(shown(text, 2, inventory_file::KEYS), "- labels: { team: &x *** }");
        assert_eq!(shown("password: |\n  hunter2\n  hunter3\n", 3, inventory_file::KEYS), "***");
    }

    #[test]
    fn in_a_file_that_is_no_yaml_the_nearest_key_decides() {
        let shown = |text: &str, line: u64| shown(text, line, daemon_file::KEYS);
        assert_eq!(shown("id: 1\npassword: \"hunter2\n", 2), "password: ***");
        assert_eq!(shown("secret: |\n  x\nid: [1, 2\n", 3), "id: [1, 2");
        assert_eq!(shown("password:\n  hunter2: : x: y\n", 2), "***");
        assert_eq!(shown("API_TOKEN=hunter2: [\n", 1), "***");
        assert_eq!(
            shown("- { id: a, kind: mcp, url: \"https://a.example/hunter2\n", 1),
            "- { id: a, kind: mcp, url: ***"
        );
    }
}
