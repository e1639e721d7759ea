//! One of a few words.

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::tree::Node;

/// What `read` makes of the word; `what` it is and which `words` there are is said of another.
pub(in crate::config) fn decode<T>(
    reader: &mut Reader<'_>,
    node: &Node,
    what: &'static str,
    words: &[&str],
    read: impl FnOnce(&str) -> Option<T>,
) -> Option<T> {
    let word = reader.text(node);
    let meant = read(&word);
    if meant.is_none() {
        let remedy = reader.advice(&word, words, "one of");
        reader.mistake(node.span, ConfigError::UnknownWord { what, remedy });
    }
    meant
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    fn side(reader: &mut Reader<'_>, node: &Node) -> Option<char> {
        decode(reader, node, "side", &["left", "right"], |word| ["left", "right"].contains(&word).then_some('s'))
    }

    #[test]
    fn a_word_that_is_none_is_told_with_the_one_that_was_meant_or_all() {
        assert_eq!(taken("left", side), 's');
        assert_eq!(refused("lefd", side), ["this is no side; did you mean `left`?"]);
        assert_eq!(refused("up", side), ["this is no side; one of: left, right"]);
    }
}
