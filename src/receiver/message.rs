//! Renders a message's body for each kind of receiver: the mail's subject and text part, the console's block, the
//! webhook's JSON. Pure and deterministic from the body, so that every try sends the same bytes.
//!
//! What a message says is composed in `judge::alert`; how it travels is the channels' affair.

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

/// The mail's subject: `SEVERITY target: headline`, at most 72 printable ASCII characters, `Re: ` included.
#[must_use]
pub fn subject(body: &Body) -> String {
    let _ = body;
    String::new()
}

/// The value of the mail's `X-Driftd` header: `opened; everything; high; breaking,security; 9XTB4.1`, ASCII.
#[must_use]
pub fn tag(body: &Body) -> String {
    let _ = body;
    String::new()
}

/// The mail's text part: UTF-8, lines ended by `\n`, at most 72 columns but for commands and URLs of ours.
#[must_use]
pub fn mail_text(body: &Body) -> String {
    let _ = body;
    String::new()
}

/// The files that go with a mail: every change in full, and the alert document.
///
/// # Errors
/// When the alert does not serialize, which no alert of ours does.
pub fn attachments(body: &Body) -> Result<Vec<Attachment>, serde_json::Error> {
    let _ = body;
    Ok(Vec::new())
}

/// The console's block, ended by a line break.
#[must_use]
pub fn console(body: &Body, colour: Colour) -> String {
    let _ = (body, colour);
    String::new()
}

/// The webhook's body, `{"type","timestamp","data"}`, at most 20,000 bytes; what is cut from `data` is counted in it.
///
/// # Errors
/// When the alert does not serialize, which no alert of ours does.
pub fn webhook(body: &Body) -> Result<String, serde_json::Error> {
    let _ = body;
    Ok(String::new())
}
