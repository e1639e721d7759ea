//! `impact` in a route's match.

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::spelling;
use super::super::tree::Node;
use crate::model::rule::Impact;

pub(in crate::config) const WORDS: &[&str] =
    &["breaking", "security", "exposure", "behavior", "cosmetic", "operational", "conformance"];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Impact> {
    let word = reader.text(node);
    let impact = Impact::ALL.into_iter().find(|impact| impact.as_str() == word);
    if impact.is_none() {
        let remedy = spelling::advice(&word, WORDS, "one of");
        reader.mistake(node.span, ConfigError::UnknownWord { what: "impact", remedy });
    }
    impact
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn each_impact_is_a_word() {
        assert_eq!(WORDS, Impact::ALL.map(Impact::as_str));
        for impact in Impact::ALL {
            assert_eq!(taken(impact.as_str(), decode), impact);
        }
    }

    #[test]
    fn another_word_is_none() {
        assert_eq!(refused("behaviour", decode), ["this is no impact; did you mean `behavior`?"]);
    }
}
