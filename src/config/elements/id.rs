//! `id` of a target.

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::tree::Node;
use crate::model::target::TargetId;

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<TargetId> {
    let text = reader.text(node);
    match text.parse::<TargetId>() {
        Ok(id) => Some(id),
        Err(error) => {
            let near = corrected(&text).map(|id| format!("did you mean `{id}`?")).unwrap_or_default();
            reader.mistake(node.span, ConfigError::Malformed { what: "id", why: error.to_string(), remedy: near });
            None
        }
    }
}

/// The id that a person would make of it.
fn corrected(text: &str) -> Option<TargetId> {
    let kept =
        |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c.to_ascii_lowercase() } else { '-' };
    let id: String = text.trim().chars().take(64).map(kept).collect();
    id.trim_matches(['-', '.', '_']).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn an_id_is_lower_case_letters_and_digits() {
        assert_eq!(taken("tickets.eu-2", decode).as_str(), "tickets.eu-2");
        assert_eq!(taken("42", decode).as_str(), "42");
    }

    #[test]
    fn what_is_no_id_is_corrected() {
        let why = "this is no id: an id has 1 to 64 characters of a-z, 0-9, `.`, `_` and `-`, and starts with a letter or digit";
        assert_eq!(refused("Tickets EU", decode), [format!("{why}; did you mean `tickets-eu`?")]);
        assert_eq!(refused("\"\"", decode), [why]);
        assert_eq!(refused("\"é\"", decode), [why]);
    }
}
