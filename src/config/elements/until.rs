//! `until`: an instant, or a date, which ends with its day in UTC.
//!
//! One that is past is no mistake: what it ended is inert, `config check` says so, and a daemon that is started a day
//! later must not be refused for it.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::tree::Node;

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Timestamp> {
    let text = reader.text(node);
    let instant = text.parse().ok().or_else(|| text.parse().ok().and_then(end_of));
    if instant.is_none() {
        let why = "it is neither a date nor an instant".to_owned();
        let remedy = "write it as `2027-06-30` or `2027-06-30T12:00:00Z`".to_owned();
        reader.mistake(node.span, ConfigError::Malformed { what: "time", why, remedy });
    }
    instant
}

fn end_of(day: Date) -> Option<Timestamp> {
    let midnight = day.tomorrow().ok()?.to_datetime(Time::midnight());
    TimeZone::UTC.to_timestamp(midnight).ok()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_date_ends_with_its_day_and_an_instant_is_itself() {
        assert_eq!(taken("2027-06-30", decode).to_string(), "2027-07-01T00:00:00Z");
        assert_eq!(taken("2027-06-30T12:00:00+02:00", decode).to_string(), "2027-06-30T10:00:00Z");
        assert_eq!(taken("2020-01-01", decode).to_string(), "2020-01-02T00:00:00Z");
    }

    #[test]
    fn another_spelling_is_none() {
        for text in ["30.06.2027", "2027-02-30", "tomorrow", "14d", "2027"] {
            assert_eq!(
                refused(text, decode),
                ["this is no time: it is neither a date nor an instant; \
                  write it as `2027-06-30` or `2027-06-30T12:00:00Z`"],
                "{text}"
            );
        }
    }
}
