//! The beginning of a digest, as people type it.

use std::str::FromStr;

use crate::model::digest::Digest;

/// How many digits a prefix needs at least: fewer are guessed, not read.
const LEAST: usize = 8;

/// At least eight hexadecimal digits of a digest: the range of digests that begin so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DigestPrefix {
    first: Digest,
    last: Digest,
}

impl DigestPrefix {
    /// With or without `sha256:`; none when it is too short, too long or not hexadecimal.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("sha256:").unwrap_or(text);
        if !(LEAST..=64).contains(&hex.len()) || !hex.chars().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        Some(Self {
            first: Digest::from_str(&format!("{hex:0<64}")).ok()?,
            last: Digest::from_str(&format!("{hex:f<64}")).ok()?,
        })
    }

    pub(super) fn first(&self) -> &[u8] {
        self.first.bytes()
    }

    pub(super) fn last(&self) -> &[u8] {
        self.last.bytes()
    }
}
