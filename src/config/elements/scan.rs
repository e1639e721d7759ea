//! `scan`: how many scans run at a time, and whom a target's operator may ask about them.

use url::Url;

use super::super::ScanSettings;
use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Bounds, Element, Form, Shape, count, url as endpoint};
use crate::model::settings::SelfCheck;

const CONCURRENCY: Bounds = Bounds { least: 1, most: 10_000 };
const PER_HOST: Bounds = Bounds { least: 1, most: 1_000 };

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("concurrency", Shape::Count(CONCURRENCY), "scans at a time"),
    Element::new("per_host", Shape::Count(PER_HOST), "scans at a time of one host"),
    Element::new("contact", Shape::Text(Form::Contact), "whom an operator may ask, as `mailto:ops@example.com`"),
    Element::new(
        "self_check",
        Shape::OneOrList(&URL),
        "URLs that answer as long as we are online ourselves; when none does, nothing is said of targets",
    ),
];

const URL: Shape = Shape::Text(Form::Url);

/// Each is asked whenever targets fail.
const MOST_CHECKS: usize = 10;

impl Default for ScanSettings {
    fn default() -> Self {
        Self { concurrency: 256, per_host: 2, contact: None }
    }
}

/// The settings, and how driftd tells that it is offline itself.
pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<(ScanSettings, SelfCheck)> {
    let fields = Fields::of(reader, node, "`scan`", KEYS);
    let default = ScanSettings::default();
    let concurrency = fields.read(reader, "concurrency", |reader, node| count::decode(reader, node, CONCURRENCY));
    let per_host = fields.read(reader, "per_host", |reader, node| count::decode(reader, node, PER_HOST));
    let settings = ScanSettings {
        concurrency: concurrency.unwrap_or(default.concurrency),
        per_host: per_host.unwrap_or(default.per_host),
        contact: fields.read(reader, "contact", contact),
    };
    let urls = fields.read(reader, "self_check", checks).unwrap_or_default();
    Some((settings, SelfCheck { urls }))
}

fn checks(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<Url>> {
    let urls = reader.items(node, &URL, "a URL of `self_check`", endpoint::decode);
    if urls.len() > MOST_CHECKS {
        let (why, remedy) = ("it names more than ten".to_owned(), "one or two are enough".to_owned());
        reader.mistake(node.span, ConfigError::Malformed { what: "list of checks", why, remedy });
    }
    Some(urls)
}

/// It is sent in the User-Agent's comment, so that it is plain and closes no parenthesis.
fn contact(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let text = reader.text(node);
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'(' | b')' | b'\\' | b';'));
    let known = Url::parse(&text).is_ok_and(|url| matches!(url.scheme(), "mailto" | "https" | "http"));
    if plain && known && text.len() <= 256 {
        return Some(text);
    }
    let (why, remedy) =
        ("it is no plain URL of a person".to_owned(), "write it as `mailto:ops@example.com`".to_owned());
    reader.mistake(node.span, ConfigError::Malformed { what: "contact", why, remedy });
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn what_is_not_said_has_a_default() {
        assert_eq!(taken("{}", decode).0, ScanSettings { concurrency: 256, per_host: 2, contact: None });
        assert_eq!(taken("{}", decode).1, SelfCheck::default());
        let contact = Some("mailto:ops@example.com".to_owned());
        assert_eq!(
            taken("{ concurrency: 8, per_host: 1, contact: \"mailto:ops@example.com\" }", decode).0,
            ScanSettings { concurrency: 8, per_host: 1, contact }
        );
    }

    #[test]
    fn what_tells_that_we_are_online_is_a_few_urls() {
        let (_, check) = taken("{ self_check: [ \"https://a.example/\", \"http://10.0.0.1/\" ] }", decode);
        assert_eq!(check.urls.iter().map(Url::as_str).collect::<Vec<_>>(), ["https://a.example/", "http://10.0.0.1/"]);
        assert_eq!(
            refused("{ self_check: [ a.example, {} ] }", decode),
            [
                "this is no URL: it has no scheme; write it as `https://host/path`",
                "a URL of `self_check` has to be a URL, this is a map",
            ]
        );
        let many = format!("{{ self_check: [ {} ] }}", "\"https://a.example/\", ".repeat(11));
        assert_eq!(
            refused(&many, decode),
            ["this is no list of checks: it names more than ten; one or two are enough"]
        );
    }

    #[test]
    fn a_contact_is_a_url_that_a_header_can_carry() {
        for text in ["ops@example.com", "\"mailto:a b@example.com\"", "\"mailto:a@b) Mozilla/5.0\"", "ftp://x", "\"\""]
        {
            let message = "this is no contact: it is no plain URL of a person; write it as `mailto:ops@example.com`";
            assert_eq!(refused(&format!("{{ contact: {text} }}"), decode), [message], "{text}");
        }
    }
}
