//! References to secrets: `{ env: NAME }`, `{ file: PATH }` or `{ credential: NAME }`.
//!
//! A secret that is written out is refused and never shown: not its text, nor the line around it.

use secrecy::SecretString;

use super::super::error::ConfigError;
use super::super::hiding::is_conventional_variable;
use super::super::reader::Reader;
use super::super::tree::{Entry, Node, Value};
use crate::model::secret::SecretRef;
use crate::secret::{SecretError, is_credential_name};

/// The three places.
const PLACES: [&str; 3] = ["env", "file", "credential"];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<SecretRef> {
    let entry = match &node.value {
        Value::Map(entries) => match entries.as_slice() {
            [entry] => Some(entry),
            _ => None,
        },
        Value::Null | Value::Flag(_) | Value::Number | Value::Text(_) | Value::List(_) => {
            reader.hide(node);
            reader.mistake(node.span, ConfigError::PlainSecret);
            return None;
        }
    };
    match entry {
        Some(entry) if PLACES.contains(&entry.key.as_str()) => place(reader, entry),
        Some(entry) => {
            let near = reader.nearest(&entry.key, PLACES);
            let error = near.map_or(ConfigError::SecretShape, |near| ConfigError::UnknownKey {
                key: entry.key.clone(),
                inside: "a reference to a secret",
                remedy: format!("did you mean `{near}`?"),
            });
            reader.hide(&entry.value);
            reader.mistake(entry.span, error);
            None
        }
        None => {
            beside(reader, node);
            None
        }
    }
}

/// A reference with something beside its place: that is named, unless two places are given or none.
fn beside(reader: &mut Reader<'_>, node: &Node) {
    let entries = if let Value::Map(entries) = &node.value { entries.as_slice() } else { &[] };
    let is_place = |entry: &&Entry| PLACES.contains(&entry.key.as_str());
    // A key without a value may be the secret itself.
    let other = entries.iter().find(|entry| !is_place(entry) && !matches!(entry.value.value, Value::Null));
    match other {
        Some(other) if entries.iter().filter(is_place).count() == 1 => {
            reader.hide_all(&other.value);
            let inside = "a reference to a secret";
            let remedy = "it names one place and nothing else".to_owned();
            reader.mistake(other.span, ConfigError::UnknownKey { key: other.key.clone(), inside, remedy });
        }
        Some(_) | None => reader.mistake(node.span, ConfigError::SecretShape),
    }
}

fn place(reader: &mut Reader<'_>, entry: &Entry) -> Option<SecretRef> {
    let node = &entry.value;
    if matches!(node.value, Value::List(_) | Value::Map(_)) {
        reader.hide_all(node);
        let (what, expected) = (format!("`{}`", entry.key), "a text".to_owned());
        reader.mistake(node.span, ConfigError::WrongKind { what, expected, found: node.value.kind() });
        return None;
    }
    let text = reader.text(node);
    let (what, why) = match entry.key.as_str() {
        "env" if is_variable_name(&text) => {
            if !is_conventional_variable(&text) {
                reader.hide(node);
            }
            return Some(SecretRef::Env(text));
        }
        "env" => ("name of an environment variable", "it has letters, digits and `_`, and starts with no digit"),
        "credential" if is_credential_name(&text) => return Some(SecretRef::Credential(text)),
        "credential" => ("name of a credential", "it is one segment of a path"),
        _ if text.is_empty() || text.contains('\0') => ("path", "it is empty"),
        _ => return Some(SecretRef::File(reader.path(&text))),
    };
    // Perhaps the secret itself.
    reader.hide(node);
    let remedy = "the reference names where the secret is, it does not hold it".to_owned();
    reader.mistake(node.span, ConfigError::Malformed { what, why: why.to_owned(), remedy });
    None
}

/// A secret of a receiver or a person: its value is there at load, or it is a mistake. Without a value where
/// it may be missing.
pub(in crate::config) fn resolved(reader: &mut Reader<'_>, node: &Node) -> Option<(SecretRef, Option<SecretString>)> {
    let secret = decode(reader, node)?;
    match reader.environment.read(&secret) {
        Ok(value) => Some((secret, Some(value))),
        Err(error) if reader.passes_over(node.span, &error) => Some((secret, None)),
        Err(error) => {
            reader.mistake(node.span, ConfigError::SecretUnavailable(error));
            None
        }
    }
}

/// Whether a shell could export it.
pub(in crate::config) fn is_variable_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(letter) && name.len() <= 128 && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

/// What is said of a secret without a value. The name of a variable is left to the snippet, where it is hidden when it
/// looks like a value.
pub(in crate::config) fn reason(error: &SecretError) -> String {
    match error {
        SecretError::Unset(_) => "that environment variable is not set".to_owned(),
        SecretError::Empty(SecretRef::Env(_)) => "that environment variable is empty".to_owned(),
        SecretError::NotText(SecretRef::Env(_)) => "that environment variable is not UTF-8 text".to_owned(),
        SecretError::Empty(_)
        | SecretError::NotText(_)
        | SecretError::NoCredentials(_)
        | SecretError::CredentialName(_)
        | SecretError::Read { .. }
        | SecretError::NotAFile(_)
        | SecretError::TooLong(_) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_reference_names_a_variable_a_file_or_a_credential() {
        assert_eq!(taken("{ env: TOKEN_2 }", decode), SecretRef::Env("TOKEN_2".into()));
        assert_eq!(taken("{ credential: smtp }", decode), SecretRef::Credential("smtp".into()));
        assert_eq!(taken("{ file: /run/token }", decode), SecretRef::File(PathBuf::from("/run/token")));
    }

    #[test]
    fn a_file_is_looked_for_beside_the_file_that_names_it() {
        assert_eq!(taken("{ file: token }", decode), SecretRef::File(PathBuf::from("config/token")));
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        let remedy = "refer to it: `{ env: NAME }`, `{ file: PATH }` or `{ credential: NAME }`";
        let says = "the reference names where the secret is, it does not hold it";
        for (text, message) in [
            ("hunter2", format!("a secret is written out here; {remedy}")),
            ("123456", format!("a secret is written out here; {remedy}")),
            ("{}", format!("this is no reference to a secret; {remedy}")),
            ("{ env: A, file: b }", format!("this is no reference to a secret; {remedy}")),
            ("{ env: A, hunter2 }", format!("this is no reference to a secret; {remedy}")),
            (
                "{ env: A, default: b }",
                "unknown key `default` in a reference to a secret; it names one place and nothing else".to_owned(),
            ),
            ("{ file: [a] }", "`file` has to be a text, this is a list".to_owned()),
            ("{ vault: a }", format!("this is no reference to a secret; {remedy}")),
            ("{ evn: A }", "unknown key `evn` in a reference to a secret; did you mean `env`?".to_owned()),
            (
                "{ env: hunter-2 }",
                format!(
                    "this is no name of an environment variable: it has letters, digits and `_`, and starts with no digit; {says}"
                ),
            ),
            ("{ credential: a/b }", format!("this is no name of a credential: it is one segment of a path; {says}")),
            ("{ file: }", format!("this is no path: it is empty; {says}")),
        ] {
            assert_eq!(refused(text, decode), [message], "{text}");
        }
    }

    #[test]
    fn a_secret_that_must_be_there_says_why_it_is_not() {
        let (secret, _) = taken("{ env: PASSWORD }", resolved);
        assert_eq!(secret, SecretRef::Env("PASSWORD".into()));
        assert_eq!(
            refused("{ env: ABSENT }", resolved),
            [
                "a secret has no value: that environment variable is not set; secrets of receivers and people must be there \
                 at start: the unit's environment may have it where this one has not"
            ]
        );
    }
}
