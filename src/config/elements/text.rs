//! Texts of a person's choice, on one line.

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::tree::Node;

/// A text of 1 to 256 characters without control characters; `what` names it.
pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node, what: &'static str) -> Option<String> {
    let text = reader.text(node);
    let why = if text.trim().is_empty() {
        "it is empty"
    } else if text.chars().count() > 256 {
        "it is longer than 256 characters"
    } else if text.chars().any(char::is_control) {
        "it holds a control character"
    } else {
        return Some(text);
    };
    reader.mistake(node.span, ConfigError::Malformed { what, why: why.to_owned(), remedy: String::new() });
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    fn decode_here(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
        decode(reader, node, "name")
    }

    #[test]
    fn a_number_is_a_text_as_it_is_written() {
        assert_eq!(taken("1.0", decode_here), "1.0");
        assert_eq!(taken("true", decode_here), "true");
        assert_eq!(taken("\"a b\"", decode_here), "a b");
    }

    #[test]
    fn a_text_that_fits_on_no_line_is_refused() {
        assert_eq!(refused("\" \"", decode_here), ["this is no name: it is empty"]);
        assert_eq!(refused("\"a\\nb\"", decode_here), ["this is no name: it holds a control character"]);
        assert_eq!(refused(&"x".repeat(257), decode_here), ["this is no name: it is longer than 256 characters"]);
    }
}
