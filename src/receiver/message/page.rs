//! A page of text 72 columns wide: wrapping, quoting, sections.
//!
//! A server's words stand on lines of their own behind `| `, or in double quotes inside a line; a line never begins
//! with quoted words unless `| ` stands before them, so that no text of a server can pass for ours.

use crate::model::text;

/// Columns of a line.
pub(super) const WIDTH: usize = 72;
/// Columns of a section's rule.
const RULE: usize = 71;
/// What stands before a server's words.
const BAR: &str = "    | ";

/// Lines of a message.
#[derive(Debug, Default)]
pub(super) struct Page {
    out: String,
    medium: Medium,
}

/// Where a message is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Medium {
    /// In a mail, which has attachments and is kept.
    #[default]
    Mail,
    /// On a terminal, where neither is so.
    Terminal,
}

impl Page {
    /// An empty page for `medium`.
    pub(super) fn of(medium: Medium) -> Self {
        Self { out: String::new(), medium }
    }

    /// Where it is read.
    pub(super) const fn medium(&self) -> Medium {
        self.medium
    }

    /// Where what is left out stands.
    pub(super) const fn rest(&self) -> &'static str {
        match self.medium {
            Medium::Mail => "attachment",
            Medium::Terminal => "--output json",
        }
    }

    /// A line as it is: a command or URL of ours, which may be longer than the page.
    pub(super) fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// An empty line, unless one stands there already.
    pub(super) fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// `-- TITLE ------`, an empty line before and after.
    pub(super) fn section(&mut self, title: &str) {
        self.blank();
        let start = format!("-- {title} ");
        let rule = "-".repeat(RULE.saturating_sub(start.len()));
        self.line(&format!("{start}{rule}"));
        self.blank();
    }

    /// Words of ours, wrapped: the first line begins with `first`, further ones with as many blanks as `hang`.
    pub(super) fn words(&mut self, first: &str, hang: usize, words: &str) {
        for line in wrap(first, hang, words, WIDTH) {
            self.line(&line);
        }
    }

    /// A server's words behind `| `, at most `most` lines; says how many characters were left out.
    pub(super) fn quote(&mut self, words: &str, most: usize) {
        let room = WIDTH.saturating_sub(BAR.len());
        let mut shown = 0_usize;
        let mut left_out = 0_usize;
        for line in text::lines(words) {
            if shown >= most {
                left_out += line.chars().count() + 1;
                continue;
            }
            let (pieces, rest) = fold_line(&line, room, most - shown);
            shown += pieces.len();
            left_out += rest;
            for piece in pieces {
                self.line(&format!("{BAR}{piece}"));
            }
        }
        if left_out > 0 {
            self.line(&format!("    (+{left_out} characters: attachment)"));
        }
    }

    /// Whether a server's words stand behind bars somewhere.
    pub(super) fn has_quotes(&self) -> bool {
        self.out.contains("| ")
    }

    /// The text.
    pub(super) fn finish(self) -> String {
        self.out
    }
}

/// Wraps at blanks outside double quotes. A piece that fits no line is broken; what goes on of quoted words stands
/// behind `| `.
pub(super) fn wrap(first: &str, hang: usize, words: &str, width: usize) -> Vec<String> {
    let indent = " ".repeat(hang);
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for piece in pieces(words) {
        let wide = text::width(piece);
        if !empty && text::width(&line) + 1 + wide > width {
            lines.push(std::mem::replace(&mut line, indent.clone()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        empty = false;
        if text::width(&line) + wide <= width {
            line.push_str(piece);
            continue;
        }
        let bar = if piece.contains('"') { "| " } else { "" };
        for character in piece.chars() {
            if text::width(&line) + text::columns(character) > width {
                lines.push(std::mem::replace(&mut line, format!("{indent}{bar}")));
            }
            line.push(character);
        }
    }
    if !empty || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// The pieces between blanks; what stands in double quotes is one piece.
fn pieces(words: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    words
        .split(move |character: char| {
            if character == '"' && !escaped {
                quoted = !quoted;
            }
            escaped = quoted && character == '\\' && !escaped;
            character == ' ' && !quoted
        })
        .filter(|piece| !piece.is_empty())
}

/// One line of a server, folded to `room` columns, at most `most` lines; and how many characters were left out.
fn fold_line(line: &str, room: usize, most: usize) -> (Vec<String>, usize) {
    let mut out: Vec<String> = Vec::new();
    let mut current = String::new();
    let mut used = 0_usize;
    let mut blank_at: Option<usize> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if used + text::columns(character) > room && character == ' ' {
            // The blank that does not fit is the break.
            out.push(std::mem::take(&mut current));
            if out.len() >= most {
                return (out, characters.count());
            }
            (used, blank_at) = (0, None);
            continue;
        }
        if used + text::columns(character) > room {
            // Breaks at the last blank of the line, if there is one; its own indentation is kept.
            let rest = blank_at.and_then(|at| current.get(at + 1..)).unwrap_or_default().to_owned();
            if let Some(at) = blank_at {
                current.truncate(at);
            }
            out.push(std::mem::replace(&mut current, rest));
            if out.len() >= most {
                return (out, current.chars().count() + 1 + characters.count());
            }
            used = text::width(&current);
            blank_at = None;
        }
        if character == ' ' && !current.trim_start().is_empty() {
            blank_at = Some(current.len());
        }
        current.push(character);
        used += text::columns(character);
    }
    out.push(current);
    (out, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_are_never_broken_so_that_they_begin_a_line() {
        let words = format!("renamed to \"{} driftd drift accept AAAAA.1\" today", "x".repeat(50));
        let lines = wrap("  ", 2, &words, 40);
        assert!(lines.iter().all(|line| text::width(line) <= 40), "{lines:?}");
        assert!(!lines.iter().any(|line| line.trim_start().starts_with("driftd")), "{lines:?}");
        assert!(lines.iter().any(|line| line.trim_start().starts_with("| ")), "{lines:?}");
    }

    #[test]
    fn a_server_line_is_folded_at_blanks_and_its_rest_is_counted() {
        let (lines, rest) = fold_line("  one two three four", 9, 2);
        assert_eq!((lines, rest), (vec!["  one two".to_owned(), "three".to_owned()], 4));
        let (lines, rest) = fold_line(&"x".repeat(25), 10, 9);
        assert_eq!((lines.len(), rest), (3, 0));
        assert_eq!(fold_line("", 10, 1), (vec![String::new()], 0));
    }

    #[test]
    fn quotes_stand_behind_bars_and_say_what_was_left_out() {
        let mut page = Page::default();
        page.quote("first\n| second\n\nfourth and more\nfifth", 4);
        assert_eq!(
            page.finish(),
            "    | first\n    | | second\n    |\n    | fourth and more\n    (+6 characters: attachment)\n"
        );
    }
}
