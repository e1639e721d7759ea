//! What takes our secrets out of every byte that arrives (law 9); `secret::Redactor` is the real one.

use std::borrow::Cow;

/// Replaces the value of each configured secret.
pub trait Scrub: Send + Sync {
    /// `bytes` without any secret's value.
    fn scrub<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]>;
}

/// For scans that know no secret.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSecrets;

impl Scrub for NoSecrets {
    fn scrub<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        Cow::Borrowed(bytes)
    }
}
