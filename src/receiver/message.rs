//! Placeholder with the signatures of the real module, which is built beside this one.

use crate::model::notice::Body;

/// Whether the console may use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Never,
    /// ANSI colours, our own only.
    Ansi,
}

/// A file that goes with a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// `9XTB4.1.diff.txt`
    pub name: String,
    /// `text/plain; charset=utf-8`, `application/json`
    pub media_type: &'static str,
    /// The content.
    pub content: String,
}

/// The mail's subject.
#[must_use]
pub fn subject(body: &Body) -> String {
    body.alert.headline.clone()
}

/// The value of the mail's `X-Driftd` header.
#[must_use]
pub fn tag(body: &Body) -> String {
    format!("opened; everything; high; breaking; {}.{}", body.alert.incident.id, body.alert.incident.revision)
}

/// The mail's text part.
#[must_use]
pub fn mail_text(body: &Body) -> String {
    body.alert.summary.join("\n")
}

/// The files that go with a mail.
///
/// # Errors
/// When the alert does not serialize.
pub fn attachments(body: &Body) -> Result<Vec<Attachment>, serde_json::Error> {
    let stem = format!("{}.{}", body.alert.incident.id, body.alert.incident.revision);
    Ok(vec![
        Attachment {
            name: format!("{stem}.diff.txt"),
            media_type: "text/plain; charset=utf-8",
            content: body.full_diff.clone(),
        },
        Attachment {
            name: format!("{stem}.json"),
            media_type: "application/json",
            content: serde_json::to_string(&body.alert)?,
        },
    ])
}

/// The console's block.
#[must_use]
pub fn console(body: &Body, colour: Colour) -> String {
    let _ = colour;
    mail_text(body)
}

/// The webhook's body.
///
/// # Errors
/// When the alert does not serialize.
pub fn webhook(body: &Body) -> Result<String, serde_json::Error> {
    serde_json::to_string(&body.alert)
}
