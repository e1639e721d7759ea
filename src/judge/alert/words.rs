//! Small words that several parts of a message share: references, people, times, places, lists.

use jiff::Timestamp;

use crate::model::facet::{Face, Facet, FacetName};
use crate::model::incident::{Incident, UnitMark};
use crate::model::text;

/// `9XTB4.1`
pub(in crate::judge) fn reference(incident: &Incident) -> String {
    format!("{}.{}", incident.id, incident.revision)
}

/// Who, for people: a person by name, everything else as it is written.
pub(in crate::judge) fn person(by: &str) -> String {
    text::inert(by.strip_prefix("person:").unwrap_or(by), 64)
}

/// `2026-11-30 13:02 UTC`
pub(in crate::judge) fn minute(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// `2026-11-30 13:02 to 15:07 UTC`
pub(in crate::judge) fn range(from: Timestamp, to: Timestamp) -> String {
    let day = |at: Timestamp| at.strftime("%Y-%m-%d").to_string();
    let start = from.strftime("%Y-%m-%d %H:%M");
    if minute(from) == minute(to) {
        minute(from)
    } else if day(from) == day(to) {
        format!("{start} to {}", to.strftime("%H:%M UTC"))
    } else {
        format!("{start} to {}", minute(to))
    }
}

/// How long from one instant to a later one: `2 d 3 h`, `2 h 13 min`, `45 s`.
pub(in crate::judge) fn span(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.duration_since(from).as_secs().max(0);
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, 0) => format!("{hours} h"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, 0, _) => format!("{days} d"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

/// A facet in a sentence.
pub(in crate::judge) fn facet(name: FacetName) -> String {
    let word = match name.facet {
        Facet::McpHandshake => "handshake",
        Facet::McpTools => "tools",
        Facet::McpPrompts => "prompts",
        Facet::McpResources => "resources",
        Facet::McpResourceTemplates => "templates",
        Facet::McpTransport => "transport",
        Facet::McpCard => "server card",
        Facet::McpCatalog => "catalog",
        Facet::AuthChallenge => "challenge",
        Facet::Tls => "TLS",
        Facet::Checks => "checks",
        Facet::Scan => "scan",
    };
    match name.face {
        Face::Stranger => word.to_owned(),
        Face::Auth => format!("{word} (with our credential)"),
    }
}

/// Where a unit stands, in a word or few.
pub(in crate::judge) const fn mark(mark: UnitMark) -> &'static str {
    match mark {
        UnitMark::Pending => "not confirmed yet",
        UnitMark::Open => "open",
        UnitMark::Rejected => "rejected",
        UnitMark::Reverted => "back as it was",
        UnitMark::Ignored => "ignored now",
        UnitMark::Accepted => "accepted",
        UnitMark::Retired => "no longer watched",
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(in crate::judge) fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// `1 tool`, `2 tools`.
pub(in crate::judge) fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// The first clause of a title: what stands before `;`.
pub(in crate::judge) fn clause(title: &str) -> &str {
    title.split_once(';').map_or(title, |(first, _)| first).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_minute_is_shown_once() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(range(at(0), at(1)), "1970-01-01 00:00 UTC");
        assert_eq!(range(at(0), at(60)), "1970-01-01 00:00 to 00:01 UTC");
    }

    #[test]
    fn spans_name_their_two_largest_parts() {
        let from = Timestamp::UNIX_EPOCH;
        let cases =
            [(0, "0 s"), (59, "59 s"), (61, "1 min"), (7_980, "2 h 13 min"), (7_200, "2 h"), (183_600, "2 d 3 h")];
        for (seconds, shown) in cases {
            let to = Timestamp::from_second(seconds).unwrap();
            assert_eq!(span(from, to), shown);
        }
        assert_eq!(span(Timestamp::from_second(9).unwrap(), from), "0 s");
    }
}
