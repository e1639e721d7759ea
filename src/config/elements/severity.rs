//! `severity` in a route's match: `high`, `>=high` or `<=high`.

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::tree::Node;
use crate::model::notice::Comparison;
use crate::model::rule::Severity;

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<(Comparison, Severity)> {
    let text = reader.text(node);
    let (comparison, sign) = match text.as_bytes() {
        [b'>', b'=', ..] => (Comparison::AtLeast, ">="),
        [b'<', b'=', ..] => (Comparison::AtMost, "<="),
        [b'=', ..] => (Comparison::Equal, "="),
        _ => (Comparison::Equal, ""),
    };
    let word = text.strip_prefix(sign).unwrap_or(&text).trim();
    if let Ok(severity) = word.parse() {
        return Some((comparison, severity));
    }
    let words = Severity::ALL.map(Severity::as_str);
    let remedy = if word.starts_with(['>', '<']) {
        "write it as `\">=high\"`, `high` or `\"<=high\"`".to_owned()
    } else {
        match reader.nearest(word, words) {
            Some(near) => format!("did you mean `{sign}{near}`?"),
            None => format!("one of: {}", words.join(", ")),
        }
    };
    reader.mistake(node.span, ConfigError::UnknownWord { what: "severity", remedy });
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_severity_is_met_at_least_exactly_or_at_most() {
        for (text, expected) in [
            ("high", (Comparison::Equal, Severity::High)),
            ("\"=high\"", (Comparison::Equal, Severity::High)),
            ("\">=medium\"", (Comparison::AtLeast, Severity::Medium)),
            ("\"<= low\"", (Comparison::AtMost, Severity::Low)),
        ] {
            assert_eq!(taken(text, decode), expected, "{text}");
        }
    }

    #[test]
    fn another_word_is_none() {
        assert_eq!(refused("\">=hihg\"", decode), ["this is no severity; did you mean `>=high`?"]);
        assert_eq!(
            refused("\">high\"", decode),
            ["this is no severity; write it as `\">=high\"`, `high` or `\"<=high\"`"]
        );
        assert_eq!(refused("urgent", decode), ["this is no severity; one of: info, low, medium, high, critical"]);
    }
}
