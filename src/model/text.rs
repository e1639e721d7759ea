//! Makes a peer's text inert, so that it is data wherever it is shown: terminal, mail, header, log line (design, law 6).
//!
//! What is invisible or acts on its surroundings (controls, terminal escapes, bidirectional overrides, zero-width and
//! tag characters, line separators, piled-up combining marks) is written out, as `<U+202E>`. Everything is linear in
//! the text and bounded; what is cut is counted. Where a text stands on a page is decided by who shows it.

use std::fmt::Write as _;

/// Combining marks in a row that are shown as they are; more would run into neighbouring lines.
const MARKS: u8 = 3;

/// One line: hidden characters and line breaks written out, at most `max` characters of `text`.
#[must_use]
pub fn inert(text: &str, max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max.saturating_mul(2)));
    let mut writer = Inert::default();
    let mut characters = text.chars();
    for character in characters.by_ref().take(max) {
        writer.push(character, &mut out);
    }
    push_cut(characters.count(), &mut out);
    out
}

/// The lines of a text, each inert; a tab becomes four spaces. A final line break makes no further line.
pub fn lines(text: &str) -> impl Iterator<Item = String> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.split('\n').map(|line| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let mut out = String::with_capacity(line.len());
        let mut writer = Inert::default();
        for character in line.chars() {
            if character == '\t' { out.push_str("    ") } else { writer.push(character, &mut out) }
        }
        out
    })
}

/// Printable ASCII, for mail headers: anything else is `?`; at most `max` characters, the last three dots if cut.
#[must_use]
pub fn ascii(text: &str, max: usize) -> String {
    let plain = |character: char| if matches!(character, ' '..='~') { character } else { '?' };
    let out: String = text.chars().take(max).map(plain).collect();
    if text.chars().nth(max).is_none() {
        return out;
    }
    let mut cut: String = out.chars().take(max.saturating_sub(3)).collect();
    cut.push_str("...");
    cut.chars().take(max).collect()
}

/// How an item is named to people: bare where its name is a plain word, else in double quotes, so that no name can
/// pass for a sentence or a command of ours.
///
/// Reads the keys of list facets: the second item of one name is shown as `NAME#2`, one without a name as `(unnamed 2)`.
#[must_use]
pub fn name(key: &str) -> String {
    const MAX: usize = 96;
    if let Some(n) = key.strip_prefix("\0unnamed\0").filter(|n| is_count(n)) {
        return format!("(unnamed {n})");
    }
    let (own, nth) = match split_nth(key) {
        Some((own, n)) => (own.replace("\0\0", "\0"), format!("#{n}")),
        None => (key.replace("\0\0", "\0"), String::new()),
    };
    if is_plain(&own) && own.len() <= MAX { format!("{own}{nth}") } else { format!("{}{nth}", quoted(&own, MAX)) }
}

/// How an item of a unit is shown whose name went through [`name`] when the unit was made: as it is, for a name that
/// is quoted twice is another name. What did not go through it does now.
#[must_use]
pub fn item(shown: &str) -> String {
    let own = match shown.rsplit_once('#') {
        Some((own, n)) if is_count(n) => own,
        Some(_) | None => shown,
    };
    let unnamed = own.strip_prefix("(unnamed ").and_then(|rest| rest.strip_suffix(')')).is_some_and(is_count);
    if unnamed || is_plain(own) || is_quoted(own) { shown.to_owned() } else { name(shown) }
}

/// Whether it is what [`quoted`] makes of something: one pair of quotes around inert text, then nothing or a count.
fn is_quoted(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('"') else { return false };
    let mut escaped = false;
    let closing = inner.char_indices().find(|(_, character)| {
        let closes = *character == '"' && !escaped;
        escaped = *character == '\\' && !escaped;
        closes
    });
    let Some((at, _)) = closing else { return false };
    let rest = inner.get(at + 1..).unwrap_or_default();
    let counted = rest.strip_prefix(" [+").and_then(|rest| rest.strip_suffix(" characters]")).is_some_and(is_count);
    (rest.is_empty() || counted) && !inner.chars().any(is_hidden)
}

/// How a short value is shown: as [`name`], but `(none)` and what stands in quotes already are left as they are.
#[must_use]
pub fn value(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let quotes_itself = inner.is_some_and(|inner| {
        let mut escaped = false;
        let closed = inner.chars().all(|character| {
            let bare = character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            !bare && !is_hidden(character)
        });
        closed && !escaped && inner.len() <= 200
    });
    if text == "(none)" || quotes_itself { text.to_owned() } else { name(text) }
}

/// `text` inert and in double quotes, quotes and backslashes in it escaped; at most `max` characters of it.
#[must_use]
pub fn quoted(text: &str, max: usize) -> String {
    let mut out = String::from("\"");
    let mut writer = Inert::default();
    let mut characters = text.chars();
    for character in characters.by_ref().take(max) {
        if matches!(character, '"' | '\\') {
            out.push('\\');
        }
        writer.push(character, &mut out);
    }
    out.push('"');
    push_cut(characters.count(), &mut out);
    out
}

/// Columns that a text takes on a terminal: East Asian wide characters and emoji take two, combining marks none.
#[must_use]
pub fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// Columns that one character takes.
#[must_use]
pub fn columns(character: char) -> usize {
    if character.is_ascii() {
        return 1;
    }
    if is_mark(character) {
        return 0;
    }
    let wide = matches!(u32::from(character),
        0x1100..=0x115F | 0x2329..=0x232A | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1F000..=0x1FAFF | 0x2_0000..=0x3_FFFD);
    if wide { 2 } else { 1 }
}

/// Whether a character is invisible or acts on what surrounds it.
#[must_use]
pub fn is_hidden(character: char) -> bool {
    let code = u32::from(character);
    character.is_control()
        || matches!(code,
            0x00AD | 0x034F | 0x061C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F
            | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x2800 | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF
            | 0xFFA0 | 0xFFF0..=0xFFFB | 0xE000..=0xF8FF | 0xFDD0..=0xFDEF | 0x1_3430..=0x1_345F
            | 0x1_BCA0..=0x1_BCA3 | 0x1_D173..=0x1_D17A | 0xE_0000..=0x10_FFFF)
        || code & 0xFFFE == 0xFFFE
}

/// Writes characters one after another, each judged by those before it.
#[derive(Debug, Default)]
struct Inert {
    marks: u8,
    last: Option<char>,
}

impl Inert {
    fn push(&mut self, character: char, out: &mut String) {
        self.marks = if is_mark(character) { self.marks.saturating_add(1) } else { 0 };
        // One selector after a symbol picks its picture (most emoji have one); anywhere else it can hide data.
        let picks = matches!(character, '\u{FE0E}' | '\u{FE0F}') && self.last.is_some_and(|last| !is_hidden(last));
        if self.marks > MARKS || (is_hidden(character) && !picks) {
            let _ = write!(out, "<U+{:04X}>", u32::from(character));
        } else {
            out.push(character);
        }
        self.last = Some(character);
    }
}

fn is_mark(character: char) -> bool {
    unicode_normalization::char::is_combining_mark(character) || matches!(character, '\u{FE0E}' | '\u{FE0F}')
}

fn push_cut(rest: usize, out: &mut String) {
    if rest > 0 {
        let _ = write!(out, " [+{rest} characters]");
    }
}

/// Splits the number from the key of the n-th item of one name: a single U+0000 before digits at the end.
fn split_nth(key: &str) -> Option<(&str, &str)> {
    let (own, n) = key.rsplit_once('\0').filter(|(_, n)| is_count(n))?;
    let zeros = own.chars().rev().take_while(|&character| character == '\0').count();
    (zeros % 2 == 0).then_some((own, n))
}

fn is_count(text: &str) -> bool {
    !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A name that needs no quotes: one word of harmless characters, no link that a mail program would make live.
fn is_plain(name: &str) -> bool {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "_-./:@{}?=&%+~*$".contains(c);
    let linked =
        || ["http:", "https:", "mailto:", "www."].iter().any(|start| name.to_ascii_lowercase().contains(start));
    name.starts_with(|c: char| c.is_ascii_alphanumeric() || "_/{@$".contains(c))
        && name.chars().all(harmless)
        && !linked()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_written_out() {
        let cases = [
            ("a\u{1b}[31mred", "a<U+001B>[31mred"),
            ("x\r\nBcc: y", "x<U+000D><U+000A>Bcc: y"),
            ("\u{202e}txt.exe", "<U+202E>txt.exe"),
            ("zero\u{200b}width", "zero<U+200B>width"),
            ("line\u{2028}sep\u{85}", "line<U+2028>sep<U+0085>"),
            ("tag\u{e0041}", "tag<U+E0041>"),
            ("\u{9b}31m", "<U+009B>31m"),
            ("soft\u{ad}", "soft<U+00AD>"),
            ("ok \u{2764}\u{fe0f}!", "ok \u{2764}\u{fe0f}!"),
            ("a\u{fe0f}\u{fe0f}", "a\u{fe0f}<U+FE0F>"),
            ("Grüße, 你好", "Grüße, 你好"),
        ];
        for (text, shown) in cases {
            assert_eq!(inert(text, 100), shown, "{text:?}");
        }
        assert_eq!(inert(&format!("z{}", "\u{301}".repeat(5)), 100), "z\u{301}\u{301}\u{301}<U+0301><U+0301>");
    }

    #[test]
    fn what_is_cut_is_counted() {
        assert_eq!(inert("abcdef", 4), "abcd [+2 characters]");
        assert_eq!(quoted("abcdef", 4), "\"abcd\" [+2 characters]");
        assert_eq!(inert(&"é".repeat(1_000_000), 3), "ééé [+999997 characters]");
        assert_eq!(ascii("abcdefgh", 6), "abc...");
        assert_eq!(ascii("abcdef", 6), "abcdef");
    }

    #[test]
    fn a_header_text_is_printable_ascii() {
        assert_eq!(ascii("a\r\nSubject: ü\u{202e}", 80), "a??Subject: ??");
    }

    #[test]
    fn names_are_bare_only_where_they_are_one_plain_word() {
        let cases = [
            ("get-sum", "get-sum"),
            ("test://static/resource/{id}", "test://static/resource/{id}"),
            ("two words", "\"two words\""),
            ("a\"b\\", "\"a\\\"b\\\\\""),
            ("https://evil.example/", "\"https://evil.example/\""),
            ("--reason", "\"--reason\""),
            ("...", "\"...\""),
            ("", "\"\""),
            ("add\u{0}2", "add#2"),
            ("add#2", "\"add#2\""),
            ("nul\0\0inside", "\"nul<U+0000>inside\""),
            ("nul\0\u{0}2", "\"nul<U+0000>2\""),
            ("nul\0\0\u{0}2", "\"nul<U+0000>\"#2"),
            ("\0unnamed\u{0}3", "(unnamed 3)"),
            ("(unnamed 3)", "\"(unnamed 3)\""),
        ];
        for (key, shown) in cases {
            assert_eq!(name(key), shown, "{key:?}");
        }
        assert!(name(&"x".repeat(10_000)).len() < 130);
    }

    #[test]
    fn an_items_name_is_quoted_once_however_often_it_is_shown() {
        let long = "x y ".repeat(60);
        for key in [
            "get-sum",
            "two words",
            "a\u{200b}b",
            "a \"b\" \\",
            "add\u{0}2",
            "two words\u{0}2",
            "\0unnamed\u{0}3",
            "",
            &long,
        ] {
            let shown = name(key);
            assert_eq!(item(&shown), shown, "{key:?}");
        }
        assert_eq!(item("two words"), "\"two words\"");
        assert_eq!(item("\"a\" then \"b\""), name("\"a\" then \"b\""), "two pairs of quotes are a name of their own");
        assert_eq!(item("\"hidden\u{202e}\""), name("\"hidden\u{202e}\""));
    }

    #[test]
    fn values_are_quoted_once() {
        let cases = [
            ("(none)", "(none)"),
            ("true", "true"),
            ("two words", "\"two words\""),
            ("\"two words\"", "\"two words\""),
            ("\"out\" driftd \"in\"", "\"\\\"out\\\" driftd \\\"in\\\"\""),
            ("\"open\\\"", "\"\\\"open\\\\\\\"\""),
            ("\"", "\"\\\"\""),
        ];
        for (text, shown) in cases {
            assert_eq!(value(text), shown, "{text:?}");
        }
    }

    #[test]
    fn lines_end_at_line_feeds_alone() {
        let shown: Vec<String> = lines("one\r\n\ttwo\rstill\u{2029}two\n\nfour\n").collect();
        assert_eq!(shown, ["one", "    two<U+000D>still<U+2029>two", "", "four"]);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(width("ab你好\u{301}🎉"), 8);
    }

    proptest::proptest! {
        #[test]
        fn inert_text_has_no_hidden_character_and_stays_so(text in "\\PC*|.{0,40}|[\\x00-\\x1f\\x7f-\\u{9f}\\u{200b}-\\u{206f}]{0,20}") {
            let once = inert(&text, 200);
            let selector = |c: char| matches!(c, '\u{FE0E}' | '\u{FE0F}');
            proptest::prop_assert!(!once.chars().any(|c| is_hidden(c) && !selector(c)), "{:?}", once);
            proptest::prop_assert_eq!(inert(&once, usize::MAX), once);
        }
    }
}
