//! The webhook's JSON: the alert document, cut until it fits 20,000 bytes; what is cut is counted in it.

use std::borrow::Cow;

use serde::Serialize;

use crate::model::alert::{Alert, AlertUnit};
use crate::model::bulletin::Passage;
use crate::model::drift::Detail;
use crate::model::text;

/// Bytes of a webhook's body.
pub(super) const MAX: usize = 20_000;

/// `{"type","timestamp","data"}` of Standard Webhooks.
#[derive(Serialize)]
struct Payload<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    timestamp: jiff::Timestamp,
    data: &'a Alert,
}

/// The body, at most [`MAX`] bytes.
pub(super) fn render(alert: &Alert) -> Result<String, serde_json::Error> {
    payload(fitting(alert)?.as_ref())
}

/// The document, cut so that a body of it has at most [`MAX`] bytes.
pub(super) fn fitting(alert: &Alert) -> Result<Cow<'_, Alert>, serde_json::Error> {
    if payload(alert)?.len() <= MAX {
        return Ok(Cow::Borrowed(alert));
    }
    for caps in &LEVELS {
        let cut = cut(alert, caps);
        if payload(&cut)?.len() <= MAX {
            return Ok(Cow::Owned(cut));
        }
    }
    Ok(Cow::Owned(cut(alert, &LEAST)))
}

fn payload(alert: &Alert) -> Result<String, serde_json::Error> {
    let payload = Payload { kind: alert.kind.as_str(), timestamp: alert.at, data: alert };
    serde_json::to_string(&payload).map(|json| inert(&json))
}

/// The same JSON with hidden characters escaped: they stand in strings alone, and a terminal may show the document.
pub(super) fn inert(json: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(json.len());
    for character in json.chars() {
        if text::is_hidden(character) && character != '\n' {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(character);
        }
    }
    out
}

/// How much of each thing stays.
struct Caps {
    units: usize,
    items: usize,
    fingerprints: usize,
    notes: usize,
    /// Characters of a peer's name.
    name: usize,
    /// Characters of a unit's diff.
    diff: usize,
    /// Characters of a sentence.
    sentence: usize,
    /// Labels, facets not seen, lines of evidence, consumers.
    others: usize,
}

/// Tried one after another.
const LEVELS: [Caps; 7] = [
    Caps { units: 200, items: 100, fingerprints: 100, notes: 10, name: 256, diff: 2_000, sentence: 600, others: 30 },
    Caps { units: 60, items: 30, fingerprints: 30, notes: 5, name: 200, diff: 800, sentence: 400, others: 30 },
    Caps { units: 30, items: 12, fingerprints: 12, notes: 3, name: 120, diff: 400, sentence: 240, others: 20 },
    Caps { units: 20, items: 6, fingerprints: 4, notes: 2, name: 100, diff: 200, sentence: 200, others: 16 },
    Caps { units: 14, items: 3, fingerprints: 1, notes: 1, name: 80, diff: 120, sentence: 160, others: 12 },
    Caps { units: 7, items: 2, fingerprints: 1, notes: 0, name: 64, diff: 100, sentence: 120, others: 8 },
    Caps { units: 2, items: 1, fingerprints: 1, notes: 0, name: 64, diff: 100, sentence: 100, others: 4 },
];

/// Fits whatever the texts hold: some thirty strings, a character of them at most twelve bytes in JSON.
const LEAST: Caps = Caps { units: 0, items: 0, fingerprints: 0, notes: 0, name: 24, diff: 0, sentence: 24, others: 0 };
/// Characters of a command of ours; they are shorter.
const COMMAND: usize = 96;

/// Counts what has no counter of its own in the document.
#[derive(Default)]
struct Left {
    details: usize,
    notes: usize,
    passages: usize,
    lines: usize,
    others: usize,
}

fn cut(alert: &Alert, caps: &Caps) -> Alert {
    let mut left = Left::default();
    let mut out = alert.clone();
    out.units = alert.units.iter().take(caps.units).map(|unit| cut_unit(unit, caps, &mut left)).collect();
    out.more = alert.more.saturating_add(number(alert.units.len().saturating_sub(caps.units)));
    out.impact.truncate(7);
    for text in [&mut out.schema, &mut out.id, &mut out.headline, &mut out.ledger.head] {
        shorten(text, caps.sentence.max(48));
    }
    if let Some(incident) = &mut out.incident {
        shorten(&mut incident.state, caps.sentence.max(48));
        incident.url.iter_mut().for_each(|url| shorten(url, caps.sentence));
    }
    for text in [&mut out.after.version, &mut out.evidence.version_before].into_iter().flatten() {
        shorten(text, caps.sentence);
    }
    cut_passages(&mut out.passages, caps, &mut left);
    if let Some(accepted) = &mut out.before.accepted {
        shorten(&mut accepted.by, caps.name);
        accepted.reason.iter_mut().for_each(|reason| shorten(reason, caps.sentence));
    }
    let commands = &mut out.commands;
    for text in [&mut commands.accept, &mut commands.accept_except, &mut commands.reject, &mut commands.ack] {
        shorten(text, COMMAND);
    }
    shorten(&mut out.evidence.protocol, caps.sentence);
    out.evidence.seen_at.truncate(2);
    cut_others(&mut out, caps, &mut left);
    out.summary.truncate(5);
    out.summary.iter_mut().for_each(|line| shorten(line, caps.sentence));
    out.summary.extend(left.said());
    out
}

fn cut_unit(unit: &AlertUnit, caps: &Caps, left: &mut Left) -> AlertUnit {
    let mut out = unit.clone();
    out.items.truncate(caps.items);
    out.items.iter_mut().for_each(|item| shorten(item, caps.name));
    out.more_items = unit.more_items.saturating_add(number(unit.items.len().saturating_sub(caps.items)));
    out.fingerprints.truncate(caps.fingerprints);
    let fingerprints = number(unit.fingerprints.len().saturating_sub(caps.fingerprints));
    out.more_fingerprints = unit.more_fingerprints.saturating_add(fingerprints);
    left.notes += unit.notes.len().saturating_sub(caps.notes);
    out.notes.truncate(caps.notes);
    // `diff` holds the same.
    left.details += unit.details.len();
    out.details = Vec::<Detail>::new();
    out.impact.truncate(7);
    shorten(&mut out.diff, caps.diff);
    for text in
        [&mut out.title, &mut out.why, &mut out.ask, &mut out.rule, &mut out.case].into_iter().chain(&mut out.notes)
    {
        shorten(text, caps.sentence);
    }
    out
}

fn cut_passages(passages: &mut Vec<Passage>, caps: &Caps, left: &mut Left) {
    left.passages += passages.len().saturating_sub(caps.others);
    passages.truncate(caps.others);
    for passage in passages {
        shorten(&mut passage.heading, caps.sentence);
        left.lines += passage.lines.len().saturating_sub(caps.items);
        passage.lines.truncate(caps.items);
        passage.lines.iter_mut().for_each(|line| shorten(line, caps.sentence));
    }
}

fn cut_others(out: &mut Alert, caps: &Caps, left: &mut Left) {
    let targets = if out.incident.is_some() { 1 } else { caps.others };
    left.others += out.targets.len().saturating_sub(targets);
    out.targets.truncate(targets);
    for target in &mut out.targets {
        shorten(&mut target.url, caps.sentence);
        left.others += target.labels.len().saturating_sub(caps.others);
        let labels = std::mem::take(&mut target.labels).into_iter().take(caps.others);
        target.labels = labels.map(|(name, value)| (cut_to(&name, caps.name), cut_to(&value, caps.name))).collect();
    }
    left.others += out.unseen.len().saturating_sub(caps.others);
    out.unseen.truncate(caps.others);
    for unseen in &mut out.unseen {
        shorten(&mut unseen.facet, caps.name);
        shorten(&mut unseen.reason, caps.sentence);
    }
    left.others += out.evidence.read.len().saturating_sub(caps.others);
    out.evidence.read.truncate(caps.others);
    out.evidence.read.iter_mut().for_each(|line| shorten(line, caps.sentence));
    left.others += out.consumers.len().saturating_sub(caps.others);
    out.consumers.truncate(caps.others);
    for consumer in &mut out.consumers {
        shorten(&mut consumer.name, caps.name);
        shorten(&mut consumer.effect, caps.name);
        left.others += consumer.items.len().saturating_sub(caps.items);
        consumer.items.truncate(caps.items);
        consumer.items.iter_mut().for_each(|item| shorten(item, caps.name));
    }
}

impl Left {
    fn said(&self) -> Option<String> {
        let counted = [
            (self.details, "details"),
            (self.notes, "notes"),
            (self.passages, "passages"),
            (self.lines, "lines of passages"),
            (self.others, "other entries"),
        ];
        let parts: Vec<String> =
            counted.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        (!parts.is_empty()).then(|| format!("Cut from this document: {}.", parts.join(", ")))
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn shorten(text: &mut String, max: usize) {
    if text.len() > max {
        *text = cut_to(text, max);
    }
}

/// At most `max` characters and a count of the rest.
fn cut_to(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((at, _)) => {
            let (kept, rest) = text.split_at_checked(at).unwrap_or((text, ""));
            format!("{kept} [+{} characters]", rest.chars().count())
        }
    }
}
