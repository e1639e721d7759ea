use std::io::Write;
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

use super::*;

#[derive(Clone, Debug, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Sink {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// What is written while `events` happen.
fn written(format: Format, journal: bool, filter: &str, events: impl FnOnce()) -> String {
    let sink = Sink::default();
    let layer = layer(format, journal, parse(filter).unwrap(), sink.clone());
    let subscriber = Registry::default().with(layer).with(ours_or_grave());
    tracing::subscriber::with_default(subscriber, events);
    let bytes = sink.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_peers_text_stays_on_its_line_and_drives_no_terminal() {
    let hostile = "a\n<3>forged\u{1b}[2J\u{202e}b\r\u{85}c\u{2028}";
    let text = written(Format::Human, false, "info", || tracing::info!(name = %hostile, "seen"));
    assert_eq!(text.lines().count(), 1, "{text:?}");
    assert!(text.ends_with('\n') && text.contains("<U+000A><3>forged"), "{text:?}");
    assert!(!text.trim_end().chars().any(|c| c.is_control() || c == '\u{202e}' || c == '\u{2028}'), "{text:?}");
}

#[test]
fn a_json_line_holds_the_same_text_escaped() {
    let text = written(Format::Json, false, "info", || tracing::info!(name = %"a\n\u{1b}b", "seen"));
    assert_eq!(text.lines().count(), 1, "{text:?}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((value["name"].as_str(), value["message"].as_str()), (Some("a\n\u{1b}b"), Some("seen")));
}

#[test]
fn the_journal_gets_a_priority_and_no_time() {
    let text = written(Format::Human, true, "info", || {
        tracing::error!("lost");
        tracing::warn!("late");
        tracing::info!("fine");
    });
    let expected = [
        "<3>ERROR driftd::logging::tests: lost",
        "<4> WARN driftd::logging::tests: late",
        "<6> INFO driftd::logging::tests: fine",
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn the_wire_stays_out_of_the_log_whatever_the_filter_says() {
    let text = written(Format::Human, false, "trace", || {
        tracing::trace!(target: "h2::codec", "authorization: Bearer s3cret");
        tracing::debug!(target: "driftdx", "not ours either");
        tracing::warn!(target: "h2::codec", "grave");
        tracing::trace!("our own");
    });
    assert!(!text.contains("s3cret") && !text.contains("not ours"), "{text}");
    assert!(text.contains("grave") && text.contains("our own"), "{text}");
}

#[test]
fn a_filter_that_is_none_is_refused_in_our_words() {
    for filter in ["loud", "driftd=loud", "a=b=c"] {
        assert!(matches!(parse(filter), Err(LoggingError::Filter(text)) if text == filter), "{filter}");
    }
    for filter in ["info", "DEBUG", "driftd::deliver=debug,warn"] {
        assert!(parse(filter).is_ok(), "{filter}");
    }
}

#[test]
fn a_json_line_drives_no_terminal_either_and_says_the_same() {
    let hostile = "a\u{9b}2J\u{202e}b\u{2028}";
    let text = written(Format::Json, true, "info", || tracing::warn!(name = %hostile, "seen"));
    let line = text.strip_prefix("<4>").unwrap().trim_end();
    assert!(!line.chars().any(|c| c.is_control() || c == '\u{202e}' || c == '\u{2028}'), "{line:?}");
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(value["name"], hostile);
}

#[test]
fn one_place_says_some_lines_at_once_and_others_still_speak() {
    let text = written(Format::Human, false, "info", || {
        for n in 0..1000 {
            tracing::error!(n, "no space is left");
            tracing::info!(n, "as asked for");
        }
        tracing::warn!("another place");
    });
    assert_eq!(text.matches("no space is left").count(), 20);
    assert_eq!(text.matches("as asked for").count(), 1000, "what people configured is not limited");
    assert!(text.contains("another place"));
}

#[test]
fn after_its_time_a_place_speaks_again_and_says_what_was_left_out() {
    let (limit, start) = (Limit::default(), tokio::time::Instant::now());
    let place = || {
        struct Place;
        impl tracing::Callsite for Place {
            fn set_interest(&self, _: tracing::subscriber::Interest) {}
            fn metadata(&self) -> &Metadata<'_> {
                unreachable!("nobody asks")
            }
        }
        static PLACE: Place = Place;
        tracing::callsite::Identifier(&PLACE)
    };
    let said = (0..=limit::WINDOW.as_secs())
        .filter(|second| limit.admits(place(), start + std::time::Duration::from_secs(*second)));
    assert_eq!(said.count(), 21, "twenty at once, and one when the time is over");
    assert_eq!(limit.left_out(&place()), limit::WINDOW.as_secs() - 20);
    assert_eq!(limit.left_out(&place()), 0, "told once");
}
