//! One event, one line, whatever is in it.

use std::fmt;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{self, FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Formats an event for people, inert.
#[derive(Debug)]
pub(super) struct Line {
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    /// With the time.
    Plain(format::Format),
    /// With the journal's priority: it has a time of its own.
    Journal(format::Format<format::Full, ()>),
}

impl Line {
    /// Lines for the journal, or for whoever reads standard error.
    pub(super) fn new(journal: bool) -> Self {
        let format = format::format().with_ansi(false);
        Self { inner: if journal { Inner::Journal(format.without_time()) } else { Inner::Plain(format) } }
    }
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'l> LookupSpan<'l>,
    N: for<'w> FormatFields<'w> + 'static,
    FormattedFields<N>: fmt::Debug,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut text = String::new();
        match &self.inner {
            Inner::Plain(inner) => inner.format_event(context, Writer::new(&mut text), event)?,
            Inner::Journal(inner) => {
                write!(out, "<{}>", priority(*event.metadata().level()))?;
                inner.format_event(context, Writer::new(&mut text), event)?;
            }
        }
        inert(text.trim_end_matches('\n'), &mut out)?;
        out.write_char('\n')
    }
}

/// The priorities of syslog that the journal reads.
const fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

/// Writes out what would end the line, drive a terminal or turn the reading direction.
fn inert(text: &str, out: &mut Writer<'_>) -> fmt::Result {
    text.chars().try_for_each(|character| {
        if acts(character) { write!(out, "<U+{:04X}>", u32::from(character)) } else { out.write_char(character) }
    })
}

fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}
