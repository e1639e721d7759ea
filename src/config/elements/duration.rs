//! Durations: a whole number and a unit, as `30s`, `5m`, `1h`, `2d`.

use std::time::Duration;

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::tree::Node;
use super::Bounds;

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node, bounds: Bounds) -> Option<Duration> {
    match parse(&reader.text(node)) {
        Ok(seconds) if (bounds.least..=bounds.most).contains(&seconds) => Some(Duration::from_secs(seconds)),
        Ok(_) => {
            let error = ConfigError::OutOfRange { least: spelled(bounds.least), most: spelled(bounds.most) };
            reader.mistake(node.span, error);
            None
        }
        Err((why, remedy)) => {
            reader.mistake(node.span, ConfigError::Malformed { what: "duration", why: why.to_owned(), remedy });
            None
        }
    }
}

fn parse(text: &str) -> Result<u64, (&'static str, String)> {
    let example = || "write it as `30s`, `5m`, `1h` or `2d`".to_owned();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits).unwrap_or_default();
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "" if !number.is_empty() => return Err(("it has no unit", format!("did you mean `{number}s`?"))),
        _ if number.is_empty() => return Err(("it starts with no number", example())),
        _ => return Err(("its unit is not one of s, m, h, d", example())),
    };
    // Too many digits are far out of any range.
    Ok(number.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(unit))
}

/// In the largest unit that divides it.
pub(in crate::config) fn spelled(seconds: u64) -> String {
    let units = [(86_400, 'd'), (3_600, 'h'), (60, 'm')];
    let unit = units.into_iter().find(|(unit, _)| seconds != 0 && seconds.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{seconds}s"), |(size, letter)| format!("{}{letter}", seconds / size))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    const BOUNDS: Bounds = Bounds { least: 1, most: 3 * 86_400 };

    fn decode_here(reader: &mut Reader<'_>, node: &Node) -> Option<Duration> {
        decode(reader, node, BOUNDS)
    }

    #[test]
    fn a_number_and_a_unit_is_a_duration() {
        for (text, seconds) in [("30s", 30), ("\"5m\"", 300), ("1h", 3_600), ("2d", 172_800), ("007s", 7)] {
            assert_eq!(taken(text, decode_here), Duration::from_secs(seconds), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_says_how_one_is_written() {
        for (text, message) in [
            ("30", "this is no duration: it has no unit; did you mean `30s`?"),
            ("soon", "this is no duration: it starts with no number; write it as `30s`, `5m`, `1h` or `2d`"),
            ("5 m", "this is no duration: its unit is not one of s, m, h, d; write it as `30s`, `5m`, `1h` or `2d`"),
            ("1h30m", "this is no duration: its unit is not one of s, m, h, d; write it as `30s`, `5m`, `1h` or `2d`"),
            ("-5m", "this is no duration: it starts with no number; write it as `30s`, `5m`, `1h` or `2d`"),
            ("٣s", "this is no duration: it starts with no number; write it as `30s`, `5m`, `1h` or `2d`"),
            ("0s", "this is out of range; from 1s to 3d"),
            ("4d", "this is out of range; from 1s to 3d"),
            ("99999999999999999999999d", "this is out of range; from 1s to 3d"),
        ] {
            assert_eq!(refused(text, decode_here), [message], "{text}");
        }
    }
}
