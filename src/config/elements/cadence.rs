//! When a target is scanned: `schedule: { cron, timezone }`; `every` is a duration.
//!
//! A schedule is read as it will be run: five fields, or six with seconds first; a day of the month and a day of the
//! week that are both given each suffice, as cron has always done; in an IANA zone.

use chrono::{DateTime, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Bounds, Element, Form, Shape};
use crate::model::inventory::Cadence;

/// How often a target may be scanned.
pub(in crate::config) const EVERY: Bounds = Bounds { least: 1, most: 30 * 86_400 };

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("cron", Shape::Text(Form::Cron), "five fields, as `0 */6 * * *`").required(),
    Element::new("timezone", Shape::Text(Form::Zone), "an IANA zone, as `Europe/Madrid`; UTC when not given")
        .also_called(&["tz", "zone"]),
];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Cadence> {
    let fields = Fields::of(reader, node, "`schedule`", KEYS);
    let expression = fields.read(reader, "cron", cron);
    let timezone = fields.read(reader, "timezone", zone);
    Some(Cadence::Cron { expression: expression?, timezone: timezone.unwrap_or_else(|| Tz::UTC.name().to_owned()) })
}

fn cron(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let text = reader.text(node);
    match check(&text) {
        Ok(()) => Some(text),
        Err(why) => {
            let remedy = "write it as `minute hour day month weekday`, as in `0 */6 * * *`".to_owned();
            reader.mistake(node.span, ConfigError::Malformed { what: "cron expression", why, remedy });
            None
        }
    }
}

fn check(text: &str) -> Result<(), String> {
    if text.len() > 256 {
        return Err("it is longer than 256 characters".to_owned());
    }
    let fields = text.split_whitespace().count();
    let six = match fields {
        5 => format!("0 {text}"),
        6 => text.to_owned(),
        _ => return Err(format!("it has {fields} fields, not five or six")),
    };
    let parser = CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed).build();
    let cron = parser.parse(&six).map_err(|_| wrong_field(&parser, &six))?;
    if comes(&cron) { Ok(()) } else { Err("no day is like that".to_owned()) }
}

/// The fields in order, and what each may be.
const FIELDS: [(&str, &str); 6] = [
    ("second", "0 to 59"),
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31"),
    ("month", "1 to 12 or JAN to DEC"),
    ("day of the week", "0 to 7 or SUN to SAT"),
];

/// Which field is to blame: the first that is wrong by itself.
fn wrong_field(parser: &CronParser, six: &str) -> String {
    let is_wrong = |index: usize, field: &str| {
        let alone = |(at, _)| if at == index { field } else { "*" };
        let alone: Vec<&str> = FIELDS.iter().enumerate().map(alone).collect();
        parser.parse(&alone.join(" ")).is_err()
    };
    let mut fields = six.split_whitespace().zip(FIELDS).enumerate();
    fields.find(|(index, (field, _))| is_wrong(*index, field)).map_or_else(
        || "its fields do not go together".to_owned(),
        |(_, (_, (name, range)))| {
            format!("its {name} has to be {range}, a list (`1,2`), a range (`1-5`), `*` or a step (`*/5`)")
        },
    )
}

/// Whether it ever fires. The calendar repeats; any start does.
fn comes(cron: &Cron) -> bool {
    let start: Option<DateTime<Tz>> = Tz::UTC.timestamp_opt(0, 0).single();
    start.is_some_and(|start| cron.find_next_occurrence(&start, true).is_ok())
}

fn zone(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let text = reader.text(node);
    if text.parse::<Tz>().is_ok() {
        return Some(text);
    }
    let near = reader.nearest(&text, TZ_VARIANTS.iter().map(|zone| zone.name()));
    let remedy =
        near.map_or_else(|| "write it as `Europe/Madrid`".to_owned(), |zone| format!("did you mean `{zone}`?"));
    reader.mistake(node.span, ConfigError::UnknownWord { what: "time zone", remedy });
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_schedule_has_five_or_six_fields_and_a_zone() {
        for (text, expression, timezone) in [
            ("{ cron: \"0 */6 * * *\", timezone: Europe/Madrid }", "0 */6 * * *", "Europe/Madrid"),
            ("{ cron: \"*/10 * * * * *\" }", "*/10 * * * * *", "UTC"),
            ("{ cron: \"0 9 * * MON-FRI\", timezone: UTC }", "0 9 * * MON-FRI", "UTC"),
            ("{ cron: \"0 0 29 2 *\" }", "0 0 29 2 *", "UTC"),
        ] {
            let expected = Cadence::Cron { expression: expression.into(), timezone: timezone.into() };
            assert_eq!(taken(text, decode), expected);
        }
    }

    #[test]
    fn what_is_no_schedule_says_why() {
        for (text, why) in [
            ("{ cron: \"0 * *\" }", "it has 3 fields, not five or six"),
            ("{ cron: \"0 0 * * * * 2027\" }", "it has 7 fields, not five or six"),
            ("{ cron: \"@hourly\" }", "it has 1 fields, not five or six"),
            ("{ cron: \"0 0 30 2 *\" }", "no day is like that"),
        ] {
            let remedy = "write it as `minute hour day month weekday`, as in `0 */6 * * *`";
            assert_eq!(refused(text, decode), [format!("this is no cron expression: {why}; {remedy}")], "{text}");
        }
        for (text, field) in [
            ("61 * * * *", "minute has to be 0 to 59"),
            ("a b c d e", "minute has to be 0 to 59"),
            ("*/0 * * * *", "minute has to be 0 to 59"),
            ("0 25 * * *", "hour has to be 0 to 23"),
            ("0 0 32 * *", "day of the month has to be 1 to 31"),
            ("0 0 * 13 *", "month has to be 1 to 12 or JAN to DEC"),
            ("0 0 * * 9", "day of the week has to be 0 to 7 or SUN to SAT"),
            ("60 * * * * *", "second has to be 0 to 59"),
        ] {
            let messages = refused(&format!("{{ cron: \"{text}\" }}"), decode);
            let expected = format!("this is no cron expression: its {field}, a list");
            assert!(messages.len() == 1 && messages[0].starts_with(&expected), "{text}: {messages:?}");
        }
    }

    #[test]
    fn a_zone_is_one_that_there_is() {
        assert_eq!(
            refused("{ cron: \"0 0 * * *\", timezone: Europe/Madird }", decode),
            ["this is no time zone; did you mean `Europe/Madrid`?"]
        );
        assert_eq!(
            refused("{ timezone: 7 }", decode),
            [
                "`schedule` has no `cron`; add `cron`: five fields, as `0 */6 * * *`",
                "this is no time zone; write it as `Europe/Madrid`",
            ]
        );
    }
}
