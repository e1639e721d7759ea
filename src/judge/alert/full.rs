//! Every change in full, as text, for the mail's attachment: at most 1 MiB, what is cut is counted.

use std::fmt::Write as _;

use crate::model::drift::{Detail, Drift, DriftRow};
use crate::model::json::Json;
use crate::model::text;

use super::units::UnitStory;
use super::{Story, units, words};

/// Bytes of the attachment; the trailer that counts what is cut fits in the rest of 1 MiB.
const MAX: usize = 1024 * 1024 - 512;
/// Bytes of one change, so that a long one cannot push out the others.
const CHANGE: usize = 256 * 1024;
/// A line longer than this is shown in part.
const LINE: usize = 16 * 1024;
/// Deeper values are not indented further, so that depth cannot multiply size.
const INDENT: usize = 16;

/// Every change of the incident in full.
pub(super) fn diff(story: &Story<'_>, told: &[UnitStory<'_>]) -> String {
    let mut page = Page::default();
    page.begin(MAX);
    page.line(&format!("{} {}: every change in full", words::reference(story.incident), story.target.id));
    page.line("Lines that begin with -, + or | hold the server's words: before, now, and word by word.");
    for told in told {
        let unit = told.unit;
        page.begin(CHANGE);
        page.line("");
        page.line(&format!("== {}. {}", unit.n, units::title(unit)));
        let impact: Vec<&str> = unit.impact.iter().map(|impact| impact.as_str()).collect();
        page.line(&format!("   {}, {} ({}), {}", unit.severity, impact.join(", "), unit.rule, words::mark(unit.mark)));
        for (member, row) in &told.members {
            page.begin(CHANGE);
            page.line("");
            page.line(&format!("{} {}", member.facet, text::inert(&member.path.to_string(), 2_000)));
            match row {
                Some(row) => change(row, &mut page),
                None => page.line("  (no longer at hand)"),
            }
        }
    }
    page.finish()
}

fn change(row: &DriftRow, page: &mut Page) {
    let drift = &row.drift;
    if !drift.message.is_empty() {
        page.line(&format!("  {}", text::inert(&drift.message, 1_000)));
    }
    for note in &drift.notes {
        page.line(&format!("  note: {}", text::inert(&note.text, 1_000)));
    }
    let claimed: Vec<String> = drift
        .claims
        .iter()
        .map(|claim| &claim.path)
        .filter(|path| **path != drift.path)
        .map(|path| text::inert(&path.to_string(), 500))
        .collect();
    if !claimed.is_empty() {
        page.line(&format!("  accounts for {}", claimed.join(" ")));
    }
    page.line(&format!("  fingerprint {}", drift.fingerprint));
    details(drift, page);
    values("before", "- ", &drift.before, page);
    values("now", "+ ", &drift.after, page);
}

/// What the values below do not say at a glance: our facts, and texts word by word.
fn details(drift: &Drift, page: &mut Page) {
    for detail in drift.all_details() {
        match detail {
            Detail::Text { text } => page.line(&format!("  {}", text::inert(&text, 10_000))),
            Detail::Moved { from, to } => page.line(&format!("  {} -> {}", text::value(&from), text::value(&to))),
            Detail::Words { diff, before_chars, after_chars, kept_words, total_words } => {
                page.line(&format!(
                    "  {before_chars} -> {after_chars} characters, {kept_words} of {total_words} words kept:"
                ));
                text::lines(&diff).for_each(|line| page.line(&format!("| {line}")));
            }
            // It is a part of the values.
            Detail::Quote { .. } => {}
        }
    }
}

fn values(when: &str, sign: &str, values: &[Json], page: &mut Page) {
    match values {
        [] => page.line(&format!("  {when}: absent")),
        [one] => {
            page.line(&format!("  {when}:"));
            value(one, sign, page);
        }
        several => {
            for (index, one) in several.iter().enumerate() {
                page.line(&format!("  {when}, {} of {}:", index + 1, several.len()));
                value(one, sign, page);
            }
        }
    }
}

/// A text line by line, any other value as indented JSON.
fn value(value: &Json, sign: &str, page: &mut Page) {
    match value {
        Json::String(words) => text::lines(words).for_each(|line| page.line(&format!("{sign}{line}"))),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_) => {
            pretty(value, "", "", 0, sign, page);
        }
    }
}

/// Indented JSON; `lead` stands before the value, `tail` behind it.
fn pretty(value: &Json, lead: &str, tail: &str, depth: usize, sign: &str, page: &mut Page) {
    let indent = "  ".repeat(depth.min(INDENT));
    let mut put = |line: &str| page.line(&format!("{sign}{indent}{}", text::inert(line, usize::MAX)));
    match value {
        Json::Array(items) if !is_short(items.iter()) => {
            put(&format!("{lead}["));
            let last = items.len().saturating_sub(1);
            for (index, item) in items.iter().enumerate() {
                pretty(item, "", if index < last { "," } else { "" }, depth + 1, sign, page);
            }
            page.line(&format!("{sign}{indent}]{tail}"));
        }
        Json::Object(members) if !is_short(members.values()) => {
            put(&format!("{lead}{{"));
            let last = members.len().saturating_sub(1);
            for (index, (name, member)) in members.iter().enumerate() {
                let lead = format!("{}: ", Json::from(name.as_str()).canonical());
                pretty(member, &lead, if index < last { "," } else { "" }, depth + 1, sign, page);
            }
            page.line(&format!("{sign}{indent}}}{tail}"));
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
            put(&format!("{lead}{}{tail}", value.canonical()));
        }
    }
}

/// Few scalars stay on one line.
fn is_short<'a>(mut values: impl ExactSizeIterator<Item = &'a Json>) -> bool {
    let scalar = |value: &Json| match value {
        Json::String(text) => text.len() <= 40,
        Json::Null | Json::Bool(_) | Json::Number(_) => true,
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.is_empty(),
    };
    values.len() <= 3 && values.all(scalar)
}

/// Lines up to a number of bytes, in all and for each change; what is left out is counted where it would stand.
#[derive(Default)]
struct Page {
    out: String,
    /// Where the part being written must end.
    until: usize,
    cut_lines: usize,
    cut_characters: usize,
}

impl Page {
    /// Begins a part of at most `bytes`: one long change leaves room for the others.
    fn begin(&mut self, bytes: usize) {
        self.say_cut();
        self.until = self.out.len().saturating_add(bytes).min(MAX);
    }

    fn line(&mut self, line: &str) {
        if self.cut_lines == 0 && self.out.len() + line.len() < self.until {
            self.out.push_str(line);
            self.out.push('\n');
        } else if self.cut_lines == 0 && line.len() > LINE {
            // One endless line: its beginning says more than its length.
            let room = self.until.saturating_sub(self.out.len()).min(LINE) / 4;
            self.out.extend(line.chars().take(room));
            self.out.push('\n');
            self.cut_lines = 1;
            self.cut_characters = line.chars().count().saturating_sub(room);
        } else {
            self.cut_lines += 1;
            self.cut_characters += line.chars().count();
        }
    }

    /// While the whole is full the count goes on; it is said once, at the end.
    fn say_cut(&mut self) {
        if self.cut_lines > 0 && self.until < MAX {
            let _ = writeln!(self.out, "(cut here: {} lines, {} characters)", self.cut_lines, self.cut_characters);
            (self.cut_lines, self.cut_characters) = (0, 0);
        }
    }

    fn finish(mut self) -> String {
        self.until = 0;
        self.say_cut();
        self.out
    }
}
