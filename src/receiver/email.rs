//! A mail: how a message becomes one, and how it keeps its thread.
//!
//! `Message-ID` is made of the message's own id, the same on every try, so that a mailbox that receives it twice can
//! tell. `References` names the incident: all mails of an incident are answers to one that was never sent, hence one
//! thread, whichever of them arrives first. Every header value is made of ours or reduced to harmless characters here,
//! and encoded by `lettre`, which folds and encodes whatever is not printable ASCII: no text can end a header.

mod smtp;

use std::time::SystemTime;

use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};

use super::error::{DeliveryError, Reason};
use super::trail::Trail;
use super::{BuildError, Limits, Secrets, message};
use crate::model::notice::Message;
use crate::model::receiver::{Email, Smtp};

/// The name beside a sender's bare address.
const NAME: &str = "driftd";

/// An email receiver with its mailboxes read.
#[derive(Debug)]
pub(super) struct Mailer {
    from: Mailbox,
    to: Vec<Mailbox>,
    smtp: Smtp,
}

impl Mailer {
    /// Reads the mailboxes of `email`, the receiver called `receiver`.
    pub(super) fn new(receiver: &str, email: &Email) -> Result<Self, BuildError> {
        let mailbox = |text: &String| {
            text.parse::<Mailbox>()
                .map_err(|_| BuildError::Mailbox { receiver: receiver.to_owned(), mailbox: text.clone() })
        };
        let mut from = mailbox(&email.from)?;
        from.name.get_or_insert_with(|| NAME.to_owned());
        let to = email.to.iter().map(mailbox).collect::<Result<Vec<_>, _>>()?;
        if to.is_empty() {
            return Err(BuildError::NoRecipient { receiver: receiver.to_owned() });
        }
        Ok(Self { from, to, smtp: email.smtp.clone() })
    }

    /// Hands `message` to the relay.
    pub(super) async fn send(
        &self,
        message: &Message,
        secrets: &dyn Secrets,
        limits: &Limits,
        trail: &mut Trail,
    ) -> Result<(), DeliveryError> {
        let mail = self.mail(message).ok_or(DeliveryError::permanent(Reason::Misconfigured))?;
        let refused = smtp::deliver(&self.smtp, secrets, &mail, message.attempts, limits, trail).await?;
        if refused > 0 {
            trail.note(|| format!("but not for {refused} of {} recipients", self.to.len()));
            tracing::warn!(
                receiver = message.receiver,
                message_id = message.id,
                recipients_refused = refused,
                recipients = self.to.len(),
                "mail delivered, but not to all recipients"
            );
        }
        Ok(())
    }

    /// The mail for `message`, the same on every try but for the boundary of its parts.
    fn mail(&self, message: &Message) -> Option<lettre::Message> {
        let body = &message.body;
        let host = self.from.email.domain();
        let thread = body.alert.incident.as_ref().map(|incident| format!("<{}@{host}>", incident.id));
        let mut mail = lettre::Message::builder()
            .from(self.from.clone())
            .subject(one_line(&message::subject(body)))
            .date(SystemTime::try_from(message.at).ok()?)
            .message_id(Some(format!("<{}@{host}>", token(&message.id))));
        if let Some(thread) = &thread {
            mail = mail.references(thread.clone());
        }
        mail = mail
            .raw_header(raw("Auto-Submitted", "auto-generated".to_owned()))
            .raw_header(raw("X-Driftd", one_line(&message::tag(body))));
        if let Some(thread) = thread.filter(|_| body.reply) {
            mail = mail.in_reply_to(thread);
        }
        for to in &self.to {
            mail = mail.to(to.clone());
        }
        mail.multipart(parts(message)?).ok()
    }
}

/// The text, then the attachments.
fn parts(message: &Message) -> Option<MultiPart> {
    let text = SinglePart::builder().header(ContentType::TEXT_PLAIN).body(message::mail_text(&message.body));
    let mut parts = MultiPart::mixed().singlepart(text);
    for file in message::attachments(&message.body).ok()? {
        let kind = ContentType::parse(file.media_type).ok()?;
        parts = parts.singlepart(Attachment::new(token(&file.name)).body(file.content, kind));
    }
    Some(parts)
}

fn raw(name: &'static str, value: String) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value)
}

/// `text` without characters that could end a line or drive a terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// `text` with letters, digits, `.`, `_` and `-` alone: an id or a file name that needs no quoting anywhere.
fn token(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests;
