//! What is written to standard output, and nowhere else: tables for people, documents for programs.
//!
//! Whatever a peer may have written goes through [`text`] first.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use serde::Serialize;

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
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table under a head.
    pub(super) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    /// Adds a row.
    pub(super) fn row<C: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(|cell| text::inert(cell.as_ref(), 200)).collect());
    }

    /// The page.
    pub(super) fn page(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| text::width(cell)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut page = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let pad = width.saturating_sub(text::width(cell)) + 2;
                let _ = write!(line, "{cell}{:pad$}", "");
            }
            page.push_str(line.trim_end());
            page.push('\n');
        }
        page
    }
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
    fn a_document_says_the_same_and_moves_no_terminal() {
        let value = serde_json::json!({ "\u{9b}31m": ["\u{202e}x\u{7f}\n", "\u{e0041}", "é 😀"] });
        let plain = serde_json::to_string_pretty(&value).unwrap();
        let escaped = escaped(&plain);
        assert!(escaped.chars().all(|character| character == '\n' || !text::is_hidden(character)), "{escaped}");
        assert!(escaped.contains("\\u202ex") && escaped.contains("é 😀"), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }
}
