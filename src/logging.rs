//! Tracing set-up: standard error, for people or as JSON, with the journal's priorities where the journal reads it.
//!
//! Decides three things for every line. A peer's text that got into a field stays on its line and drives no terminal
//! (law 6). Events of libraries below `info` stay out, whatever the filter says: they would show what went over the
//! wire, headers and credentials included (law 9). And no place of the code fills the log (`limit`). Levels and field
//! names are in `docs/LOGGING.md`.

mod limit;
mod line;
mod panics;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, FilterExt as _, FilterFn, LevelFilter, filter_fn};
use tracing_subscriber::fmt::format::{DefaultFields, JsonFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Layer, Registry};

use self::limit::{Limit, Limited};
use self::line::Line;
pub use self::panics::tell_panics;

/// What log lines look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people; for the journal when it reads standard error.
    #[default]
    Human,
    /// One JSON object a line.
    Json,
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter does not parse.
    #[error(
        "{0:?} is no log filter: write a level (error, warn, info, debug, trace), or as driftd::deliver=debug,warn"
    )]
    Filter(String),
    /// Something else logs for this process already.
    #[error("logging is set up already")]
    Twice,
}

/// Sets up logging for the process. `filter` is a level, or directives as in `driftd::deliver=debug,warn`.
///
/// # Errors
/// When `filter` does not parse, or logging is set up already.
pub fn init(format: Format, filter: &str) -> Result<(), LoggingError> {
    let filter = parse(filter)?;
    let subscriber = Registry::default().with(layer(format, journal_reads(), filter, io::stderr));
    let subscriber = subscriber.with(ours_or_grave());
    tracing::subscriber::set_global_default(subscriber).map_err(|_| LoggingError::Twice)
}

fn parse(filter: &str) -> Result<EnvFilter, LoggingError> {
    let wrong = || LoggingError::Filter(filter.to_owned());
    // A bare word that is no level would be taken for a module's name, and silence everything else.
    if filter.parse::<LevelFilter>().is_err() && !filter.contains(['=', ',', ':', '[']) {
        return Err(wrong());
    }
    EnvFilter::builder().parse(filter).map_err(|_| wrong())
}

/// A layer that writes lines of `format` to `writer`, of what passes `filter`.
fn layer<W>(format: Format, journal: bool, filter: EnvFilter, writer: W) -> Box<dyn Layer<Registry> + Send + Sync>
where
    W: for<'w> tracing_subscriber::fmt::MakeWriter<'w> + Send + Sync + 'static,
{
    let limit = Arc::new(Limit::default());
    let line = Line::new(format, journal, Arc::clone(&limit));
    let filter = filter.and(Limited(limit));
    let layer = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(false).log_internal_errors(false);
    match format {
        Format::Json => layer.fmt_fields(JsonFields::new()).event_format(line).with_filter(filter).boxed(),
        Format::Human => layer.fmt_fields(DefaultFields::new()).event_format(line).with_filter(filter).boxed(),
    }
}

/// Our own events, and those of libraries from `info` up.
fn ours_or_grave() -> FilterFn<fn(&Metadata<'_>) -> bool> {
    filter_fn(|metadata| is_ours(metadata.target()) || *metadata.level() <= Level::INFO)
}

fn is_ours(target: &str) -> bool {
    target.strip_prefix(env!("CARGO_PKG_NAME")).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Whether standard error is the journal's socket: `JOURNAL_STREAM` names it by device and inode, and is inherited by
/// children whose standard error may be something else.
fn journal_reads() -> bool {
    let Some((device, inode)) = std::env::var("JOURNAL_STREAM").ok().and_then(|stream| {
        let (device, inode) = stream.split_once(':')?;
        Some((device.parse::<u64>().ok()?, inode.parse::<u64>().ok()?))
    }) else {
        return false;
    };
    !io::stderr().is_terminal()
        && fs::metadata("/proc/self/fd/2").is_ok_and(|stderr| stderr.dev() == device && stderr.ino() == inode)
}

#[cfg(test)]
mod tests;
