//! The text of one file, and how a line of it is shown to a person.
//!
//! Decides which parts of a file may be shown at all: what was found to be a secret is hidden in every snippet, also in
//! one that points at something else on the same line.

use std::path::PathBuf;

/// What stands in a snippet for something that is not shown.
const HIDDEN: &str = "***";

/// The most characters of a line that are shown.
const WIDEST: usize = 100;

/// The most characters of a name that are quoted.
const LONGEST_NAME: usize = 60;

/// A stretch of bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// Bytes on either side that are looked at for a snippet: [`WIDEST`] characters of any size.
const REACH: u32 = 400;

/// A file's text.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    text: String,
    /// Where each line starts.
    lines: Vec<u32>,
    hidden: Vec<Span>,
}

/// One line of a file, made harmless, and the part of it that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The line.
    pub line: String,
    /// Characters before what is meant.
    pub before: usize,
    /// Characters of what is meant; at least one.
    pub width: usize,
}

impl Source {
    pub(super) fn new(path: PathBuf, text: String) -> Self {
        let mut lines = vec![0];
        let mut bytes = text.bytes().zip(1_u32..).peekable();
        while let Some((byte, next)) = bytes.next() {
            // A line ends as YAML says: CR LF, LF or CR.
            let ends = match byte {
                b'\n' => true,
                b'\r' => bytes.peek().is_none_or(|(following, _)| *following != b'\n'),
                _ => false,
            };
            if ends {
                lines.push(next);
            }
        }
        Self { path, text, lines, hidden: Vec::new() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What is written there.
    pub(super) fn written(&self, span: Span) -> &str {
        self.slice(span.start, span.end)
    }

    /// Everything from its start on.
    pub(super) fn text_from(&self, span: Span) -> &str {
        self.slice(span.start, count(self.text.len()))
    }

    /// Keeps a stretch out of every snippet.
    pub(super) fn hide(&mut self, span: Span) {
        self.hidden.push(span);
    }

    /// The character at this line and column, both from 1.
    pub(super) fn at(&self, line: u64, column: u64) -> Span {
        let index = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        let (start, end) = self.bounds(index);
        let skipped = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
        let text = self.slice(start, end);
        let before: usize = text.chars().take(skipped).map(char::len_utf8).sum();
        let width = text.chars().nth(skipped).map_or(0, char::len_utf8);
        Span { start: offset(start, before), end: offset(start, before.saturating_add(width)) }
    }

    /// Line and column of its start, both from 1.
    pub(super) fn position(&self, span: Span) -> (u32, u32) {
        let index = self.line_index(span);
        let column = self.slice(self.bounds(index).0, span.start).chars().count();
        (count(index).saturating_add(1), count(column).saturating_add(1))
    }

    /// So many bytes around it, but nothing of later lines.
    pub(super) fn around(&self, span: Span, before: u32, after: u32) -> Span {
        let boundary = |offset: u32| self.text.floor_char_boundary(usize::try_from(offset).unwrap_or(usize::MAX));
        let end = self.whole_line(span).end.min(span.start.saturating_add(after));
        Span { start: count(boundary(span.start.saturating_sub(before))), end: count(boundary(end)) }
    }

    /// From the start of its line to the end of that line.
    pub(super) fn whole_line(&self, span: Span) -> Span {
        let (start, end) = self.bounds(self.line_index(span));
        Span { start, end }
    }

    /// Its line, ready to be shown.
    pub(super) fn snippet(&self, span: Span) -> Snippet {
        // A line may be the whole of a long file: what is too far to be shown is not looked at.
        let line = self.whole_line(span);
        let near = self.around(span, REACH, REACH);
        let (start, end) = (line.start.max(near.start), near.end);
        let hidden: Vec<Span> = self.hidden.iter().copied().filter(|h| h.start < end && h.end > start).collect();
        let (mut shown, mut before, mut width) = (Vec::new(), None, 0_usize);
        let mut was_hidden = false;
        for (index, character) in self.slice(start, end).char_indices() {
            let at = offset(start, index);
            let piece = if hidden.iter().any(|h| h.start <= at && at < h.end) {
                let piece = if was_hidden { String::new() } else { HIDDEN.to_owned() };
                was_hidden = true;
                piece
            } else {
                was_hidden = false;
                visible_character(character)
            };
            if at >= span.start {
                before.get_or_insert(shown.len());
                if at < span.end {
                    width = width.saturating_add(piece.chars().count());
                }
            }
            shown.extend(piece.chars());
        }
        let before = before.unwrap_or(shown.len());
        window(&shown, before, width.max(1), start > line.start, end < line.end)
    }

    fn line_index(&self, span: Span) -> usize {
        self.lines.partition_point(|start| *start <= span.start).saturating_sub(1)
    }

    /// The line's bytes, without its end.
    fn bounds(&self, index: usize) -> (u32, u32) {
        let end_of_text = count(self.text.len());
        let start = self.lines.get(index).copied().unwrap_or(end_of_text);
        let next = self.lines.get(index.saturating_add(1)).copied().unwrap_or(end_of_text);
        let line = self.slice(start, next);
        (start, offset(start, line.trim_end_matches(['\r', '\n']).len()))
    }

    fn slice(&self, start: u32, end: u32) -> &str {
        let range = usize::try_from(start).unwrap_or(usize::MAX)..usize::try_from(end).unwrap_or(usize::MAX);
        self.text.get(range).unwrap_or_default()
    }
}

/// The part of a long line around what is meant.
fn window(line: &[char], before: usize, width: usize, cut_before: bool, cut_after: bool) -> Snippet {
    let indent = if cut_before { 0 } else { line.iter().take_while(|c| **c == ' ').count().min(before) };
    let cut = if line.len() <= WIDEST {
        0
    } else if before.saturating_sub(indent) < WIDEST / 2 {
        indent
    } else {
        before.saturating_sub(WIDEST / 3)
    };
    let mut text = String::new();
    if cut > indent || cut_before {
        text.push('…');
    }
    let mark = text.chars().count();
    text.extend(line.iter().skip(cut).take(WIDEST));
    let rest = line.len().saturating_sub(cut).saturating_sub(WIDEST);
    if rest > 0 || cut_after {
        text.push('…');
    }
    let before = before.saturating_sub(cut);
    Snippet { line: text, before: before.saturating_add(mark), width: width.min(WIDEST.saturating_sub(before)).max(1) }
}

/// A name that may hold anything, made harmless and short enough for a message.
pub(super) fn short(name: &str) -> String {
    let mut shown = visible(&name.chars().take(LONGEST_NAME).collect::<String>());
    if name.chars().nth(LONGEST_NAME).is_some() {
        shown.push('…');
    }
    shown
}

/// A text that may hold anything, made harmless for terminals and logs.
pub(super) fn visible(text: &str) -> String {
    text.chars().map(visible_character).collect()
}

fn visible_character(character: char) -> String {
    let unseen = matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    if character == '\t' {
        " ".to_owned()
    } else if character.is_control() || unseen {
        character.escape_unicode().to_string()
    } else {
        character.to_string()
    }
}

/// Files are shorter than 4 GiB: they are capped far below.
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn offset(start: u32, length: usize) -> u32 {
    start.saturating_add(count(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("f.yaml".into(), text.to_owned())
    }

    fn span_of(source: &Source, needle: &str) -> Span {
        let start = source.text().find(needle).unwrap();
        Span { start: count(start), end: count(start + needle.len()) }
    }

    fn drawn(source: &Source, needle: &str) -> String {
        let snippet = source.snippet(span_of(source, needle));
        format!("{}\n{}{}", snippet.line, " ".repeat(snippet.before), "^".repeat(snippet.width))
    }

    #[test]
    fn a_position_counts_characters_and_every_kind_of_line_end() {
        let source = source("é: 1\r\nb: 2\rc: ü x\n\nd");
        for (needle, position) in [("é", (1, 1)), ("1", (1, 4)), ("b", (2, 1)), ("x", (3, 6)), ("d", (5, 1))] {
            let span = span_of(&source, needle);
            assert_eq!(source.position(span), position, "{needle}");
            assert_eq!(source.at(position.0.into(), position.1.into()), span, "{needle}");
        }
    }

    #[test]
    fn a_place_beyond_the_text_is_its_end() {
        let source = source("a\n");
        assert_eq!(source.position(source.at(9, 9)), (2, 1));
        assert_eq!(source.snippet(source.at(9, 9)), Snippet { line: String::new(), before: 0, width: 1 });
    }

    #[test]
    fn a_hidden_stretch_is_hidden_also_when_something_else_is_meant() {
        let mut source = source("{ bearer: hunter2, evrey: 5m }");
        source.hide(span_of(&source, "hunter2"));
        assert_eq!(drawn(&source, "evrey"), "{ bearer: ***, evrey: 5m }\n               ^^^^^");
        assert_eq!(drawn(&source, "hunter2"), "{ bearer: ***, evrey: 5m }\n          ^^^");
    }

    #[test]
    fn control_and_bidirectional_characters_are_written_out() {
        let source = source("a: \u{1b}[31m\u{202e}x\tfound");
        assert_eq!(drawn(&source, "found"), "a: \\u{1b}[31m\\u{202e}x found\n                       ^^^^^");
    }

    #[test]
    fn a_long_line_is_cut_around_what_is_meant() {
        let source = source(&format!("{} needle {}", "a".repeat(5000), "b".repeat(5000)));
        let snippet = source.snippet(span_of(&source, "needle"));
        assert!(snippet.line.chars().count() <= WIDEST + 2, "{snippet:?}");
        let meant: String = snippet.line.chars().skip(snippet.before).take(snippet.width).collect();
        assert_eq!(meant, "needle");
    }
}
