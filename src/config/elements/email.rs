//! `email` of a receiver.

use lettre::message::Mailbox;

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Element, Form, Shape, smtp};
use crate::model::receiver::Email;

const MAILBOX: Shape = Shape::Text(Form::Mailbox);

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("from", MAILBOX, "the mailbox messages come from").required().also_called(&["sender"]),
    Element::new("to", Shape::OneOrList(&MAILBOX), "the mailboxes they go to").required().also_called(&["recipients"]),
    Element::new("smtp", Shape::Map(smtp::KEYS), "the relay").required().also_called(&["server", "relay"]),
];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Email> {
    let fields = Fields::of(reader, node, "`email`", KEYS);
    let from = fields.read(reader, "from", mailbox);
    let to = fields.read(reader, "to", |reader, node| {
        reader.is_filled(node);
        Some(reader.items(node, &MAILBOX, "a mailbox of `to`", mailbox))
    });
    let smtp = fields.read(reader, "smtp", smtp::decode);
    Some(Email { from: from?, to: to?, smtp: smtp? })
}

/// Checked by what will write it into a header.
fn mailbox(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let text = reader.text(node);
    if text.len() <= 512 && !text.chars().any(char::is_control) && text.parse::<Mailbox>().is_ok() {
        return Some(text);
    }
    let why = "it is no address and no name with an address".to_owned();
    let remedy = "write it as `ops@example.com` or `Ops <ops@example.com>`".to_owned();
    reader.mistake(node.span, ConfigError::Malformed { what: "mailbox", why, remedy });
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_mail_has_a_sender_recipients_and_a_relay() {
        let text = "{ from: \"Drift <driftd@example.com>\", to: [a@example.com, b@example.com], smtp: { host: h } }";
        let email = taken(text, decode);
        assert_eq!(email.from, "Drift <driftd@example.com>");
        assert_eq!(email.to, ["a@example.com", "b@example.com"]);
        assert_eq!(taken("{ from: a@b.example, to: c@d.example, smtp: { host: h } }", decode).to, ["c@d.example"]);
    }

    #[test]
    fn what_is_no_mailbox_is_refused() {
        let message = "this is no mailbox: it is no address and no name with an address; \
                       write it as `ops@example.com` or `Ops <ops@example.com>`";
        assert_eq!(
            refused("{ from: driftd, to: [\"a@example.com\\nBcc: x@example.com\"], smtp: { host: h } }", decode),
            [message, message]
        );
        assert_eq!(
            refused("{ from: a@b.example, to: [] }", decode),
            ["`email` has no `smtp`; add `smtp`: the relay", "this list is empty; name at least one"]
        );
    }
}
