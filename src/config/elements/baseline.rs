//! `baseline`: how a target gets what it is held to.

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::spelling;
use super::super::tree::Node;
use crate::model::target::BaselineMode;

pub(in crate::config) const WORDS: &[&str] = &["first_seen", "approve"];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<BaselineMode> {
    match reader.text(node).as_str() {
        "first_seen" => Some(BaselineMode::FirstSeen),
        "approve" => Some(BaselineMode::Approve),
        word => {
            let remedy = spelling::advice(word, WORDS, "one of");
            reader.mistake(node.span, ConfigError::UnknownWord { what: "way to a baseline", remedy });
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_baseline_is_first_seen_or_approved() {
        assert_eq!(taken("first_seen", decode), BaselineMode::FirstSeen);
        assert_eq!(taken("approve", decode), BaselineMode::Approve);
        assert_eq!(refused("first-seen", decode), ["this is no way to a baseline; did you mean `first_seen`?"]);
        assert_eq!(refused("never", decode), ["this is no way to a baseline; one of: first_seen, approve"]);
    }
}
