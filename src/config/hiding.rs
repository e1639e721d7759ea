//! Which parts of a file are never shown, because a person wrote a secret where a reference belongs.
//!
//! Looked for in the whole file before it is decoded: a mistake anywhere on a line shows that line.

use std::sync::LazyLock;

use regex::Regex;

use super::source::{Source, Span};
use super::tree::{Node, Value};
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

/// Hides what stands under a key that sounds like a secret and is no reference to one.
pub(super) fn hide_in_tree(source: &mut Source, node: &Node) {
    match &node.value {
        Value::List(items) => items.iter().for_each(|item| hide_in_tree(source, item)),
        Value::Map(entries) => {
            for entry in entries {
                if sounds_secret(&entry.key) || entry.key == "auth" {
                    hide_values(source, &entry.value);
                } else {
                    hide_in_tree(source, &entry.value);
                }
            }
        }
        Value::Null | Value::Flag(_) | Value::Number | Value::Text(_) => {}
    }
}

/// Hides the rest of a line, or all of it, in a file that is no YAML: the nearest key decides.
pub(super) fn hide_in_text(source: &mut Source, span: Span) {
    static KEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"([\w-]+)["']?\s*:(?:\s|$)"#).ok());
    let Some(key) = &*KEY else { return };
    let line = source.whole_line(span);
    let around = source.around(span, FAR, 4_096);
    let text = source.written(around);
    let mut hidden: Option<(u32, usize)> = None;
    for found in key.captures_iter(text) {
        let (Some(whole), Some(name)) = (found.get(0), found.get(1)) else { continue };
        let line_start =
            text.get(..name.start()).and_then(|before| before.rfind('\n')).map_or(0, |at| at.saturating_add(1));
        let indent = name.start().saturating_sub(line_start);
        if sounds_secret(name.as_str()) {
            let end = around.start.saturating_add(u32::try_from(whole.end()).unwrap_or(u32::MAX));
            hidden.get_or_insert((end.max(line.start), indent));
        } else if hidden.is_some_and(|(_, secret)| indent <= secret) {
            // What stands no deeper is beside the secret, not in it.
            hidden = None;
        }
    }
    if let Some((start, _)) = hidden {
        source.hide(Span { start, end: line.end });
    }
}

/// Whether what stands under such a key is a secret.
pub(super) fn sounds_secret(key: &str) -> bool {
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

    fn shown(text: &str, line: u64) -> String {
        let mut source = Source::new("f.yaml".into(), text.to_owned());
        match parse(&source) {
            Ok(node) => hide_in_tree(&mut source, &node),
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
            ("- { headers: { X-Api-Key: hunter2 } }", "- { headers: { X-Api-Key: *** } }"),
            ("smtp: { password: [ hunter2, 22 ] }", "smtp: { password: [ ***, *** ] }"),
            ("auth: { bearer: {hunter2} }", "auth: { bearer: {***} }"),
            ("password: { env: hunter2 }", "password: { env: *** }"),
            (
                "password: { env: SMTP, file: /run/x, credential: smtp }",
                "password: { env: SMTP, file: /run/x, credential: smtp }",
            ),
        ] {
            assert_eq!(shown(text, 1), expected);
        }
    }

    #[test]
    fn a_secret_behind_an_alias_or_in_a_block_is_hidden_where_it_is_written() {
        assert_eq!(shown("x: &x hunter2\npassword: *x\n", 1), "x: &x ***");
        assert_eq!(shown("password: |\n  hunter2\n  hunter3\n", 3), "***");
    }

    #[test]
    fn in_a_file_that_is_no_yaml_the_nearest_key_decides() {
        assert_eq!(shown("a: 1\npassword: \"hunter2\n", 2), "password: ***");
        assert_eq!(shown("secret: |\n  x\nb: [1, 2\n", 3), "b: [1, 2");
        assert_eq!(shown("password:\n  hunter2: : x: y\n", 2), "***");
    }
}
