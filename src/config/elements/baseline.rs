//! `baseline`: how a target gets what it is held to.

use super::super::reader::Reader;
use super::super::tree::Node;
use super::word;
use crate::model::target::BaselineMode;

pub(in crate::config) const WORDS: &[&str] = &["first_seen", "approve"];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<BaselineMode> {
    word::decode(reader, node, "way to a baseline", WORDS, |word| match word {
        "first_seen" => Some(BaselineMode::FirstSeen),
        "approve" => Some(BaselineMode::Approve),
        _ => None,
    })
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
