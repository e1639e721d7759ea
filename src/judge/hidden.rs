//! Characters that a person does not see and a model reads: controls, zero-width, bidi, tags, selectors, private use.
//!
//! Decides what counts as hidden. Joiners and selectors that shape visible text (emoji, Indic and Arabic scripts)
//! do not count, nor do a flag's tag characters.

use std::collections::BTreeSet;

use crate::model::json::Json;

/// The kinds of hidden characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HiddenKind {
    /// Cc, but for tab and line ends.
    Control,
    /// Zero-width spaces, joiners, invisible operators.
    ZeroWidth,
    /// Embeddings, overrides, isolates, marks.
    Bidi,
    /// U+E0000 to U+E007F: ASCII nobody sees.
    Tag,
    /// A run of variation selectors: bytes nobody sees.
    Selectors,
    /// Co.
    Private,
    /// Other Cf.
    Format,
}

impl HiddenKind {
    /// In our words.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Control => "control characters",
            Self::ZeroWidth => "zero-width characters",
            Self::Bidi => "bidi controls",
            Self::Tag => "tag characters",
            Self::Selectors => "variation selectors",
            Self::Private => "private-use characters",
            Self::Format => "format characters",
        }
    }
}

/// What a value hides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hidden {
    /// The characters.
    pub(super) characters: BTreeSet<char>,
    /// Their kinds.
    pub(super) kinds: BTreeSet<HiddenKind>,
    /// Text that tag characters or selectors spell; at most 200 characters.
    pub(super) decoded: String,
}

impl Hidden {
    /// Nothing is hidden.
    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The case of `tool.hidden-unicode`.
    pub(super) fn case(&self) -> &'static str {
        if self.kinds.len() >= 3 || self.decoded.chars().count() >= 2 { "payload" } else { "chars" }
    }

    /// The kinds in words.
    pub(super) fn words(&self) -> String {
        self.kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Looks through every string and member name of `value`.
pub(super) fn in_value(value: &Json) -> Hidden {
    let mut hidden = Hidden::default();
    add(value, &mut hidden);
    hidden
}

/// Adds what `value` hides.
pub(super) fn add(value: &Json, hidden: &mut Hidden) {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
        Json::String(text) => in_text(text, hidden),
        Json::Array(items) => items.iter().for_each(|item| add(item, hidden)),
        Json::Object(members) => {
            for (name, child) in members {
                // U+0000 in a name is our own mark.
                if name.contains('\u{0}') {
                    in_text(&name.replace('\u{0}', ""), hidden);
                } else {
                    in_text(name, hidden);
                }
                add(child, hidden);
            }
        }
    }
}

/// Adds what `text` hides.
pub(super) fn in_text(text: &str, hidden: &mut Hidden) {
    // Most text is printable ASCII, which hides nothing.
    if text.bytes().all(|byte| matches!(byte, 0x20..=0x7e | b'\n' | b'\r' | b'\t')) {
        return;
    }
    let mut previous: Option<char> = None;
    let mut in_flag = false;
    let mut selectors = 0_usize;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        in_flag = character == '\u{1F3F4}' || (in_flag && matches!(character, '\u{E0020}'..='\u{E007F}'));
        selectors = if is_selector(character) { selectors + 1 } else { 0 };
        let shapes = shapes_text(previous, character, characters.peek().copied());
        let kind = kind_of(character).filter(|_| !in_flag && !shapes);
        let kind = kind.or_else(|| (selectors >= 2).then_some(HiddenKind::Selectors));
        if let Some(kind) = kind {
            hidden.characters.insert(character);
            hidden.kinds.insert(kind);
            if let Some(spelt) = spelt(character).filter(|_| hidden.decoded.len() < 200) {
                hidden.decoded.push(spelt);
            }
        }
        previous = Some(character);
    }
}

fn kind_of(character: char) -> Option<HiddenKind> {
    match character {
        '\t' | '\n' | '\r' => None,
        '\u{0}'..='\u{1F}' | '\u{7F}'..='\u{9F}' => Some(HiddenKind::Control),
        '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{180E}' => Some(HiddenKind::ZeroWidth),
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
            Some(HiddenKind::Bidi)
        }
        '\u{E0000}'..='\u{E007F}' => Some(HiddenKind::Tag),
        '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..='\u{FFFFD}' | '\u{100000}'..='\u{10FFFD}' => Some(HiddenKind::Private),
        '\u{AD}'
        | '\u{70F}'
        | '\u{206A}'..='\u{206F}'
        | '\u{FFF9}'..='\u{FFFB}'
        | '\u{13430}'..='\u{1343F}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}' => Some(HiddenKind::Format),
        _ => None,
    }
}

const fn is_selector(character: char) -> bool {
    matches!(character, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

/// A joiner between letters beyond ASCII or within an emoji is how such text is written.
fn shapes_text(previous: Option<char>, character: char, next: Option<char>) -> bool {
    let visible = |other: Option<char>| other.is_some_and(|other| !other.is_ascii() && kind_of(other).is_none());
    matches!(character, '\u{200C}' | '\u{200D}') && visible(previous) && visible(next)
}

fn spelt(character: char) -> Option<char> {
    let code = u32::from(character);
    let byte = match character {
        '\u{E0020}'..='\u{E007E}' => code - 0xE0000,
        '\u{FE00}'..='\u{FE0F}' => code - 0xFE00,
        '\u{E0100}'..='\u{E01EF}' => code - 0xE0100 + 16,
        _ => return None,
    };
    char::from_u32(byte).filter(|spelt| spelt.is_ascii_graphic() || *spelt == ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Hidden {
        in_value(&Json::from(text))
    }

    #[test]
    fn tag_characters_are_decoded_and_are_a_payload() {
        let hidden = of("add\u{E0068}\u{E0069}");
        assert_eq!((hidden.case(), hidden.decoded.as_str()), ("payload", "hi"));
    }

    #[test]
    fn text_that_people_write_hides_nothing() {
        for text in [
            "plain\nlines\t",
            "👩‍💻 ❤️ done",
            "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
            "می‌خواهم",
            "日本語",
        ] {
            assert!(of(text).is_empty(), "{text:?}: {:?}", of(text));
        }
    }

    #[test]
    fn a_zero_width_space_a_control_and_an_override_count() {
        assert_eq!(of("a\u{200B}b").case(), "chars");
        assert_eq!(of("a\u{200B}\u{202E}\u{1}b").case(), "payload");
        assert!(!of("a\u{200D}b").is_empty());
    }
}
