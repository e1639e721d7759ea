//! Renders a message's body for each kind of receiver: mail, console, webhook.
//!
//! Pure and deterministic from the body, so that every try sends the same bytes. What a message says is composed in `judge::alert`; how it travels is the channels' affair.

use crate::model::alert::Alert;
use crate::model::notice::Body;
use crate::model::text;

mod console;
mod mail;
mod names;
mod page;
mod webhook;

/// Whether the console may use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Never,
    /// ANSI colours, our own only.
    Ansi,
}

/// Names of items as a page lists them: numbered runs by their ends, about as many as fill `lines`, the rest counted.
#[must_use]
pub fn name_lines(keys: &[String], hang: usize, width: usize, lines: usize) -> String {
    let shown: Vec<String> = keys.iter().map(|key| text::name(key)).collect();
    let columns = width.saturating_sub(hang).saturating_mul(lines);
    let listed = names::list(&shown, 0, columns).text;
    page::wrap(&" ".repeat(hang), hang, &listed, width).into_iter().map(|line| line + "\n").collect()
}

/// A file that goes with a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// `9XTB4.1.diff.txt`, `digest.json`
    pub name: String,
    /// `text/plain; charset=utf-8`, `application/json`
    pub media_type: &'static str,
    /// The content.
    pub content: String,
}

/// Characters of a subject: what RFC 5322 lines and lock screens bear.
const SUBJECT: usize = 72;
/// Characters of a target's name in a subject.
const SUBJECT_TARGET: usize = 28;

/// The mail's subject: `SEVERITY target: headline`, at most 72 printable ASCII characters, `Re: ` included.
#[must_use]
pub fn subject(body: &Body) -> String {
    let alert = &body.alert;
    let answer = if body.reply { "Re: " } else { "" };
    let severity = alert.severity.as_str().to_ascii_uppercase();
    let target = target(alert);
    let headline = text::ascii(&alert.headline, SUBJECT);
    let fits = |target: &str| answer.len() + severity.len() + target.len() + headline.len() + 3 <= SUBJECT;
    let target = if fits(&target) { target } else { text::ascii(&target, SUBJECT_TARGET) };
    let start = format!("{answer}{severity} {target}: ");
    let room = SUBJECT.saturating_sub(start.len());
    format!("{start}{}", clauses(&headline, room)).trim_end().to_owned()
}

/// As many clauses of a headline as fit, else its first one cut.
fn clauses(headline: &str, room: usize) -> String {
    if headline.len() <= room {
        return headline.to_owned();
    }
    let whole = headline.rmatch_indices("; ").map(|(at, _)| at).find(|at| *at <= room);
    match whole.and_then(|at| headline.get(..at)) {
        Some(first) => first.to_owned(),
        None => text::ascii(headline, room),
    }
}

/// The value of the mail's `X-Driftd` header: `opened; everything; high; breaking,security; 9XTB4.1`, ASCII.
#[must_use]
pub fn tag(body: &Body) -> String {
    let alert = &body.alert;
    let event = alert.kind.as_str().rsplit('.').next().unwrap_or_default();
    let impact: Vec<&str> = alert.impact.iter().take(7).map(|impact| impact.as_str()).collect();
    format!("{event}; {}; {}; {}; {}", target(alert), alert.severity, impact.join(","), reference(alert))
}

/// The mail's text part: UTF-8, lines ended by `\n`, at most 72 columns but for commands and URLs of ours.
#[must_use]
pub fn mail_text(body: &Body) -> String {
    mail::text(body, page::Medium::Mail)
}

/// The same for a terminal: without what only a mail has.
#[must_use]
pub fn terminal_text(body: &Body) -> String {
    mail::text(body, page::Medium::Terminal)
}

/// The files that go with a mail: every change in full, where there are any, and the alert document.
///
/// # Errors
/// When the alert does not serialize, which no alert of ours does.
pub fn attachments(body: &Body) -> Result<Vec<Attachment>, serde_json::Error> {
    let [diff, json] = attachment_names(&body.alert);
    let document = serde_json::to_string_pretty(&body.alert)?;
    let diff = Attachment { name: diff, media_type: "text/plain; charset=utf-8", content: body.full_diff.clone() };
    let document = Attachment { name: json, media_type: "application/json", content: webhook::inert(&document) };
    // Only what is told of an incident has changes.
    Ok(body.alert.incident.iter().map(|_| diff.clone()).chain([document]).collect())
}

/// The console's block, ended by a line break.
#[must_use]
pub fn console(body: &Body, colour: Colour) -> String {
    console::text(body, colour)
}

/// The webhook's body, `{"type","timestamp","data"}`, at most 20,000 bytes; what is cut from `data` is counted in it.
///
/// # Errors
/// When the alert does not serialize, which no alert of ours does.
pub fn webhook(body: &Body) -> Result<String, serde_json::Error> {
    webhook::render(&body.alert)
}

/// The alert document as a webhook's `data` holds it, and `alerts show`: at most 20,000 bytes, what is cut counted.
///
/// # Errors
/// When the alert does not serialize, which no alert of ours does.
pub fn document(alert: &Alert) -> Result<Alert, serde_json::Error> {
    webhook::fitting(alert).map(std::borrow::Cow::into_owned)
}

/// `9XTB4.1`; without an incident, what kind of message it is: `fleet.report`.
fn reference(alert: &Alert) -> String {
    match &alert.incident {
        Some(incident) => format!("{}.{}", incident.id, incident.revision),
        None => alert.kind.as_str().to_owned(),
    }
}

/// The target's id; for several, the first and how many others. What is told without an incident comes from driftd.
fn target(alert: &Alert) -> String {
    if alert.incident.is_none() {
        return "driftd".to_owned();
    }
    match alert.targets.as_slice() {
        [] => "-".to_owned(),
        [one] => one.id.to_string(),
        [first, others @ ..] => format!("{} and {} more", first.id, others.len()),
    }
}

fn attachment_names(alert: &Alert) -> [String; 2] {
    let reference = reference(alert);
    [format!("{reference}.diff.txt"), format!("{reference}.json")]
}

#[cfg(test)]
mod tests;
