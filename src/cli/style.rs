//! How a page may look: whether it is coloured, and how wide it may be.
//!
//! Colour and width are a terminal's; a pipe or file gets plain text of a fixed width, so that what a script reads
//! does not depend on who started it. `NO_COLOR` (any value) and `TERM=dumb` are honoured, `COLUMNS` overrides.

use std::io::IsTerminal as _;

use crate::model::rule::Severity;

/// Columns where nobody says how many there are.
const PLAIN: usize = 100;
/// Narrower than this is as good as unreadable; wider lines are hard to follow.
const NARROW: usize = 40;
const WIDE: usize = 140;

/// How a page may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    /// Whether it may be coloured.
    pub(super) colour: bool,
    /// Columns of a line.
    pub(super) width: usize,
    /// Somebody looks at it: tables are cut to the width.
    pub(super) fits: bool,
}

/// What a piece of a page is, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    /// As everything else.
    Plain,
    /// A heading, a name.
    Strong,
    /// Beside the point.
    Faint,
    /// As it should be.
    Good,
    /// Worth a look.
    Warning,
    /// Not as it should be.
    Bad,
    /// As bad as it says.
    Of(Severity),
}

impl Style {
    /// That of standard output.
    pub(super) fn stdout() -> Self {
        let terminal = std::io::stdout().is_terminal();
        let unwanted = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = columns.or_else(|| terminal.then(seen).flatten()).unwrap_or(PLAIN);
        Self { colour: terminal && !unwanted("NO_COLOR") && !dumb, width: width.clamp(NARROW, WIDE), fits: terminal }
    }

    /// Plain text of a width.
    #[cfg(test)]
    pub(super) const fn plain(width: usize) -> Self {
        Self { colour: false, width, fits: true }
    }

    /// `words` in the colour of what they are. They must be inert already.
    pub(super) fn paint(self, paint: Paint, words: &str) -> String {
        match code(paint).filter(|_| self.colour && !words.is_empty()) {
            Some(code) => format!("\u{1b}[{code}m{words}\u{1b}[0m"),
            None => words.to_owned(),
        }
    }
}

const fn code(paint: Paint) -> Option<&'static str> {
    Some(match paint {
        Paint::Plain => return None,
        Paint::Strong => "1",
        Paint::Faint => "2",
        Paint::Good => "32",
        Paint::Warning => "33",
        Paint::Bad => "31",
        Paint::Of(Severity::Critical) => "1;31",
        Paint::Of(Severity::High) => "31",
        Paint::Of(Severity::Medium) => "33",
        Paint::Of(Severity::Low) => "36",
        Paint::Of(Severity::Info) => "2",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_stand_around_words_and_only_where_they_are_wanted() {
        let plain = Style::plain(80);
        assert_eq!(plain.paint(Paint::Bad, "down"), "down");
        let coloured = Style { colour: true, ..plain };
        assert_eq!(coloured.paint(Paint::Of(Severity::Critical), "x"), "\u{1b}[1;31mx\u{1b}[0m");
        assert_eq!(
            (coloured.paint(Paint::Plain, "x"), coloured.paint(Paint::Bad, "")),
            ("x".to_owned(), String::new())
        );
    }
}
