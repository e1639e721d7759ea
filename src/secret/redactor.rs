//! Takes the values of configured secrets out of bytes that a peer sent.
//!
//! One pass over the text whatever the number of secrets, so that neither a long body nor a long inventory makes it
//! quadratic. A body that arrives in pieces is joined first: a value cut in two is not found.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Shorter values would be found in half of all words.
const SHORTEST_VALUE: usize = 6;

/// Shorter stretches of base64 would be found by chance.
const SHORTEST_BASE64: usize = 8;

/// Replaces each configured value by `‹secret NAME›`.
pub struct Redactor {
    search: Option<AhoCorasick>,
    /// The marker of each pattern of `search`.
    markers: Vec<String>,
}

impl Redactor {
    /// Finds the values of these (name, value) pairs, and the spellings in which peers echo them: percent-encoded,
    /// escaped for JSON, in base64, alone or inside of longer base64 (`Basic` credentials).
    ///
    /// Values of fewer than six bytes are left alone.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(secrets: impl IntoIterator<Item = (N, V)>) -> Self {
        let (mut patterns, mut markers) = (Vec::new(), Vec::new());
        for (name, value) in secrets {
            let value = value.as_ref();
            if value.len() < SHORTEST_VALUE {
                continue;
            }
            for spelling in spellings(value) {
                patterns.push(spelling);
                markers.push(marker(name.as_ref()));
            }
        }
        if patterns.is_empty() {
            return Self { search: None, markers };
        }
        // Only patterns of gigabytes do not build; then nothing of what arrived may pass (see `redact_bytes`).
        let search = AhoCorasick::builder().match_kind(MatchKind::Standard).build(patterns).ok();
        Self { search, markers }
    }

    /// The bytes without any configured value.
    pub fn redact_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(search) = &self.search else {
            return if self.markers.is_empty() { Cow::Borrowed(bytes) } else { Cow::Owned(Vec::new()) };
        };
        let stretches = self.stretches(search, bytes);
        if stretches.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let mut clean = Vec::with_capacity(bytes.len());
        let mut from = 0;
        for stretch in stretches {
            clean.extend_from_slice(bytes.get(from..stretch.start).unwrap_or_default());
            clean.extend_from_slice(stretch.marker.as_bytes());
            from = stretch.end;
        }
        clean.extend_from_slice(bytes.get(from..).unwrap_or_default());
        Cow::Owned(clean)
    }

    /// The text without any configured value.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // Patterns are whole texts, so that what is left between them is text too.
            Cow::Owned(clean) => Cow::Owned(String::from_utf8_lossy(&clean).into_owned()),
        }
    }

    /// Where values stand, in order, apart. Two that overlap become one stretch: cutting out only the first would
    /// leave the rest of the second.
    fn stretches<'s>(&'s self, search: &AhoCorasick, bytes: &[u8]) -> Vec<Stretch<'s>> {
        let mut stretches: Vec<Stretch<'s>> = Vec::new();
        // Matches come in the order of their ends.
        for found in search.find_overlapping_iter(bytes) {
            let marker = self.markers.get(found.pattern().as_usize()).map_or("‹secret›", String::as_str);
            let mut next = Stretch { start: found.start(), end: found.end(), marker };
            while let Some(last) = stretches.pop_if(|last| last.end > next.start) {
                if last.start < next.start {
                    next = Stretch { start: last.start, end: next.end.max(last.end), marker: last.marker };
                }
            }
            stretches.push(next);
        }
        stretches
    }
}

/// Names what is looked for; never a value, which the automaton's own `Debug` would print.
impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.markers.iter().collect::<BTreeSet<_>>()).finish()
    }
}

struct Stretch<'s> {
    start: usize,
    end: usize,
    marker: &'s str,
}

/// What stands in a value's place. It may stand inside a JSON text or a header, so that a name from the configuration
/// is kept from ending either.
fn marker(name: &str) -> String {
    let inert = |c: char| if c.is_control() || matches!(c, '"' | '\\' | '‹' | '›') { '_' } else { c };
    format!("‹secret {}›", name.chars().map(inert).collect::<String>())
}

/// The value and its other spellings, each once.
fn spellings(value: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::from([value.to_owned()]);
    all.insert(percent_encoded(value, b"0123456789ABCDEF"));
    all.insert(percent_encoded(value, b"0123456789abcdef"));
    all.insert(url::form_urlencoded::byte_serialize(value.as_bytes()).collect());
    // Inside the quotes of a JSON text, with and without the escape of `/` that some writers make.
    if let Ok(quoted) = serde_json::to_string(value) {
        let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(&quoted).to_owned();
        all.insert(inner.replace('/', "\\/"));
        all.insert(inner);
    }
    for base64 in [base64_stretches(value, &STANDARD_NO_PAD), base64_stretches(value, &URL_SAFE_NO_PAD)] {
        all.extend(base64.into_iter().filter(|stretch| stretch.len() >= SHORTEST_BASE64));
    }
    all
}

/// RFC 3986: everything but the unreserved characters is encoded.
fn percent_encoded(value: &str, digits: &[u8; 16]) -> String {
    let digit = |nibble: u8| char::from(digits.get(usize::from(nibble)).copied().unwrap_or(b'0'));
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    encoded
}

/// The value's base64, and what of it stands in the base64 of any longer text: it depends on how many bytes come
/// before, modulo three; the characters that neighbours share are left out.
fn base64_stretches(value: &str, engine: &impl base64::Engine) -> Vec<String> {
    let mut stretches = vec![engine.encode(value)];
    for (before, shared) in [(0, 0), (1, 2), (2, 3)] {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(value.as_bytes());
        let mut encoded = engine.encode(&bytes);
        if bytes.len() % 3 != 0 {
            encoded.pop();
        }
        stretches.push(encoded.split_off(shared.min(encoded.len())));
    }
    stretches
}
