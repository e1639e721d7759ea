//! One event, one line, whatever is in it.

use std::fmt;
use std::sync::Arc;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{self, FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

use super::Format;
use super::limit::Limit;

/// Formats an event, inert.
#[derive(Debug)]
pub(super) struct Line {
    inner: Inner,
    /// Whether the journal reads: it takes a priority before the line.
    journal: bool,
    limit: Arc<Limit>,
}

#[derive(Debug)]
enum Inner {
    /// With the time.
    Plain(format::Format),
    /// Without: the journal has a time of its own.
    Journal(format::Format<format::Full, ()>),
    Json(format::Format<format::Json>),
}

impl Line {
    /// Lines of `format` for the journal, or for whoever reads standard error.
    pub(super) fn new(format: Format, journal: bool, limit: Arc<Limit>) -> Self {
        let inner = match format {
            Format::Json => Inner::Json(format::format().json().flatten_event(true)),
            Format::Human if journal => Inner::Journal(format::format().with_ansi(false).without_time()),
            Format::Human => Inner::Plain(format::format().with_ansi(false)),
        };
        Self { inner, journal, limit }
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
            Inner::Journal(inner) => inner.format_event(context, Writer::new(&mut text), event)?,
            Inner::Json(inner) => inner.format_event(context, Writer::new(&mut text), event)?,
        }
        if self.journal {
            write!(out, "<{}>", priority(*event.metadata().level()))?;
        }
        let (text, left_out) = (text.trim_end_matches('\n'), self.limit.left_out(&event.metadata().callsite()));
        match (&self.inner, text.strip_suffix('}')) {
            (Inner::Json(_), Some(open)) => {
                inert(open, &mut out, |out, code| write!(out, "\\u{code:04x}"))?;
                if left_out > 0 {
                    write!(out, ",\"left_out\":{left_out}")?;
                }
                out.write_char('}')?;
            }
            (Inner::Json(_) | Inner::Plain(_) | Inner::Journal(_), _) => {
                inert(text, &mut out, |out, code| write!(out, "<U+{code:04X}>"))?;
                if left_out > 0 {
                    write!(out, " left_out={left_out}")?;
                }
            }
        }
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

/// Writes `text` with all that would end the line, drive a terminal or turn the reading direction as `escape` has it.
fn inert(text: &str, out: &mut Writer<'_>, escape: impl Fn(&mut Writer<'_>, u32) -> fmt::Result) -> fmt::Result {
    text.chars().try_for_each(|character| {
        if acts(character) { escape(out, u32::from(character)) } else { out.write_char(character) }
    })
}

fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}
