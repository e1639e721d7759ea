//! One entry of `receivers`: a name and one channel.

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Element, Form, Shape, email, webhook};
use crate::model::receiver::{Channel, Receiver};

/// The channels of this version.
static CHANNELS: [&str; 3] = ["console", "email", "webhook"];

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("name", Shape::Text(Form::Free), "its name in routes and metrics").required().also_called(&["id"]),
    Element::new("console", Shape::Empty, "standard output of the daemon").also_called(&["stdout"]),
    Element::new("email", Shape::Map(email::KEYS), "SMTP").also_called(&["mail", "smtp"]),
    Element::new("webhook", Shape::Map(webhook::KEYS), "HTTP POST").also_called(&["http"]),
];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Receiver> {
    let fields = Fields::of(reader, node, "a receiver", KEYS);
    let name = fields.read(reader, "name", |reader, node| name(reader, node, "name of a receiver"));
    let console = fields.node("console").map(|_| Channel::Console);
    let email = fields.read(reader, "email", email::decode).map(|email| Channel::Email(Box::new(email)));
    let webhook = fields.read(reader, "webhook", webhook::decode).map(Channel::Webhook);
    let written: Vec<&'static str> = CHANNELS.into_iter().filter(|channel| fields.has(channel)).collect();
    match written.as_slice() {
        [] => {
            reader.mistake(fields.span, ConfigError::NoneOf { inside: "a receiver", keys: &CHANNELS });
        }
        [_] => {}
        [first, second, ..] => {
            let (at, other) = (reader.at(fields.key_span(second)), reader.at(fields.key_span(first)));
            reader.mistake_at(at, ConfigError::Excludes(first, second), Some((other, "the other stands here")));
        }
    }
    Some(Receiver { name: name?, channel: console.or(email).or(webhook)? })
}

/// A label of metrics, a word of routes, an author in the ledger; `what` names it.
pub(in crate::config) fn name(reader: &mut Reader<'_>, node: &Node, what: &'static str) -> Option<String> {
    let text = reader.text(node);
    let ordinary = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=64).contains(&text.len()) && text.chars().all(ordinary) {
        return Some(text);
    }
    let why = "it has 1 to 64 letters, digits, `-`, `_` and `.`".to_owned();
    reader.mistake(node.span, ConfigError::Malformed { what, why, remedy: String::new() });
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_receiver_has_a_name_and_a_channel() {
        for text in ["{ name: terminal, console: {} }", "{ name: terminal, console: }"] {
            assert_eq!(taken(text, decode), Receiver { name: "terminal".into(), channel: Channel::Console });
        }
        let hook = taken("{ name: hook, webhook: { url: { env: HOOK_URL } } }", decode);
        assert!(matches!(hook.channel, Channel::Webhook(_)));
        let mail = taken("{ name: m, email: { from: a@b.example, to: c@d.example, smtp: { host: h } } }", decode);
        assert!(matches!(mail.channel, Channel::Email(_)));
    }

    #[test]
    fn a_receiver_has_one_channel() {
        assert_eq!(
            refused("{ name: a b }", decode),
            [
                "a receiver has none of console, email, webhook",
                "this is no name of a receiver: it has 1 to 64 letters, digits, `-`, `_` and `.`",
            ]
        );
        assert_eq!(
            refused("{ name: a, console: {}, webhook: { url: \"https://h.example\" } }", decode),
            ["`console` and `webhook` exclude each other; keep either `console` or `webhook`"]
        );
        assert_eq!(
            refused("{ name: a, slack: {} }", decode),
            [
                "a receiver has none of console, email, webhook",
                "unknown key `slack` in a receiver; known here: name, console, email, webhook",
            ]
        );
    }
}
