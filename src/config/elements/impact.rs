//! `impact` in a route's match.

use super::super::reader::Reader;
use super::super::tree::Node;
use super::word;
use crate::model::rule::Impact;

pub(in crate::config) const WORDS: &[&str] =
    &["breaking", "security", "exposure", "behavior", "cosmetic", "operational", "conformance"];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Impact> {
    word::decode(reader, node, "impact", WORDS, |word| Impact::ALL.into_iter().find(|impact| impact.as_str() == word))
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
