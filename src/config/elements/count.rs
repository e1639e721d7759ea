//! Whole numbers in a range.

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::tree::Node;
use super::Bounds;

pub(in crate::config) fn decode<N: TryFrom<u64>>(reader: &mut Reader<'_>, node: &Node, bounds: Bounds) -> Option<N> {
    let text = reader.text(node);
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        let (why, remedy) = ("it is more than digits".to_owned(), format!("from {} to {}", bounds.least, bounds.most));
        reader.mistake(node.span, ConfigError::Malformed { what: "whole number", why, remedy });
        return None;
    }
    // Too many digits are far out of any range.
    let number = text.parse::<u64>().unwrap_or(u64::MAX);
    let fits = (bounds.least..=bounds.most).contains(&number).then(|| N::try_from(number).ok()).flatten();
    if fits.is_none() {
        let (least, most) = (bounds.least.to_string(), bounds.most.to_string());
        reader.mistake(node.span, ConfigError::OutOfRange { least, most });
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    fn decode_here(reader: &mut Reader<'_>, node: &Node) -> Option<u16> {
        decode(reader, node, Bounds { least: 1, most: 70_000 })
    }

    #[test]
    fn digits_are_a_number() {
        assert_eq!(taken("25", decode_here), 25);
        assert_eq!(taken("\"25\"", decode_here), 25);
    }

    #[test]
    fn other_spellings_and_sizes_are_refused() {
        for text in ["1_000", "0x10", "1.5", "-1", "1e3", "many"] {
            assert_eq!(
                refused(text, decode_here),
                ["this is no whole number: it is more than digits; from 1 to 70000"],
                "{text}"
            );
        }
        for text in ["0", "70001", "65536", "99999999999999999999999"] {
            assert_eq!(refused(text, decode_here), ["this is out of range; from 1 to 70000"], "{text}");
        }
    }
}
