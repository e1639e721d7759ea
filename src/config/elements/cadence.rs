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
use super::super::spelling;
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
    let cron = parser.parse(&six).map_err(|error| error.to_string().trim_end_matches('.').to_owned())?;
    if comes(&cron) { Ok(()) } else { Err("no day is like that".to_owned()) }
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
    let near = spelling::nearest(&text, TZ_VARIANTS.iter().map(|zone| zone.name()));
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
        for text in ["{ cron: \"61 * * * *\" }", "{ cron: \"a b c d e\" }", "{ cron: \"*/0 * * * *\" }"] {
            let messages = refused(text, decode);
            assert!(messages.len() == 1 && messages[0].starts_with("this is no cron expression: "), "{messages:?}");
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
