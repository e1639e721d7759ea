//! What is written to standard output, and nowhere else: tables for people, documents for programs.
//!
//! Whatever a peer may have written goes through [`text`] first.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde::Serialize;

use super::style::{Paint, Style};
use crate::model::text;

/// Writes a page at once; a reader that went away is no fault.
///
/// # Errors
/// When standard output cannot be written to.
pub(super) fn write(page: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(page.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a document as JSON, in which a terminal finds nothing to act on.
///
/// # Errors
/// When it cannot be encoded or written.
pub(super) fn json(document: &impl Serialize) -> io::Result<()> {
    let mut page = escaped(&serde_json::to_string_pretty(document)?);
    page.push('\n');
    write(&page)
}

/// The same document with every hidden character as its escape. Such characters stand in strings only, the line
/// breaks of the layout apart.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if character == '\n' || !text::is_hidden(character) {
            out.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// Rows of cells, aligned; cells are made inert.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<(String, Paint)>>,
}

/// Columns that a cell keeps when a table has to be cut.
const LEAST_CELL: usize = 12;

impl Table {
    /// A table under a head.
    pub(super) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|cell| ((*cell).to_owned(), Paint::Strong)).collect()] }
    }

    /// Adds a row.
    pub(super) fn row<C: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.painted(cells.into_iter().map(|cell| (cell, Paint::Plain)));
    }

    /// Adds a row whose cells have a colour each.
    pub(super) fn painted<C: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = (C, Paint)>) {
        let inert = |(cell, paint): (C, Paint)| (text::inert(cell.as_ref(), 200), paint);
        self.rows.push(cells.into_iter().map(inert).collect());
    }

    /// The page; on a terminal its widest columns are cut until it fits.
    pub(super) fn page(&self, style: Style) -> String {
        let widths = self.widths(style);
        let mut page = String::new();
        for row in &self.rows {
            let mut line = String::new();
            let last = row.iter().rposition(|(cell, _)| !cell.is_empty()).unwrap_or(0);
            for (at, ((cell, paint), width)) in row.iter().zip(&widths).enumerate().take(last + 1) {
                let cell = cut(cell, *width);
                let pad = if at == last { 0 } else { width.saturating_sub(text::width(&cell)) + 2 };
                let _ = write!(line, "{}{:pad$}", style.paint(*paint, &cell), "");
            }
            page.push_str(&line);
            page.push('\n');
        }
        page
    }

    fn widths(&self, style: Style) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|(cell, _)| text::width(cell)).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..columns).map(width).collect();
        let room = style.width.saturating_sub(2 * columns.saturating_sub(1));
        while style.fits && widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().filter(|width| **width > LEAST_CELL).max() else { break };
            *widest -= 1;
        }
        widths
    }
}

/// As much of a cell as fits, and a sign that there was more.
fn cut(cell: &str, width: usize) -> String {
    if text::width(cell) <= width {
        return cell.to_owned();
    }
    let mut used = 1;
    let fits = |character: &char| {
        used += text::columns(*character);
        used <= width
    };
    let mut out: String = cell.chars().take_while(fits).collect();
    out.push('…');
    out
}

/// Words of ours (a peer's among them quoted already) in lines: the first begins with `first`, further ones with as
/// many blanks as `hang`. A word that fits no line keeps its own.
pub(super) fn wrap(first: &str, hang: usize, words: &str, width: usize) -> String {
    let mut page = String::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        if !empty && text::width(&line) + 1 + text::width(word) > width {
            page.push_str(line.trim_end());
            page.push('\n');
            line = " ".repeat(hang);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    page.push_str(line.trim_end());
    page.push('\n');
    page
}

/// `1 target`, `2 targets`.
pub(super) fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// An instant for people, to the second, in UTC.
pub(super) fn instant(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// An instant that may not be.
pub(super) fn maybe(at: Option<jiff::Timestamp>) -> String {
    at.map_or_else(|| "-".to_owned(), instant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_cut_to_a_terminal_and_never_to_a_pipe() {
        let mut table = Table::new(&["ID", "WHAT"]);
        table.row(["one", "a line that is rather long for the terminal that it is to be shown on"]);
        table.row(["a\u{1b}[31m", ""]);
        assert!(table.page(Style::plain(40)).lines().all(|line| text::width(line) <= 40));
        let piped = table.page(Style { fits: false, ..Style::plain(40) });
        assert_eq!(
            piped,
            "ID             WHAT\none            a line that is rather long for the terminal that it is to be shown on\na<U+001B>[31m\n"
        );
    }

    #[test]
    fn a_document_says_the_same_and_moves_no_terminal() {
        let value = serde_json::json!({ "\u{9b}31m": ["\u{202e}x\u{7f}\n", "\u{e0041}", "é 😀"] });
        let plain = serde_json::to_string_pretty(&value).unwrap();
        let escaped = escaped(&plain);
        assert!(escaped.chars().all(|character| character == '\n' || !text::is_hidden(character)), "{escaped}");
        assert!(escaped.contains("\\u202ex") && escaped.contains("é 😀"), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
