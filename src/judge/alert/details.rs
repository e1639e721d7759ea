//! How much of a unit's facts a message carries; the whole stands in the attachment.
//!
//! A rename tells the names and what callers must know; what else changed in a renamed tool is counted. A new tool
//! has one line: what it reaches first. A rewritten text is shown as it begins now, any other as a word diff.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::model::drift::{Detail, Drift, Inside};
use crate::model::json::Json;
use crate::model::rule::Severity;
use crate::model::text;

use super::super::rules::{self, tools};
use super::units::UnitStory;
use super::{excerpt, words};

/// Details of one unit.
const DETAILS: usize = 100;
/// Characters of one text.
const TEXT: usize = 6_000;
/// Characters of one name.
pub(super) const NAME: usize = 512;
/// Characters of the line of a new tool.
const TELLING: usize = 160;
/// What is left of a text when the message is full.
const STUB: usize = 160;

/// What is left of a message's length: characters of all its texts and names together.
pub(super) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(400_000)
    }
}

impl Room {
    /// `text` at most `max` characters long, a stub of it when the message is full.
    pub(super) fn take(&mut self, text: &str, max: usize) -> String {
        let cut = excerpt::cut(text, max.min(self.0.max(STUB)));
        self.0 = self.0.saturating_sub(cut.len());
        cut
    }

    fn take_diff(&mut self, diff: &str) -> String {
        let excerpt = excerpt::excerpt(diff, TEXT.min(self.0.max(STUB)));
        self.0 = self.0.saturating_sub(excerpt.len());
        excerpt
    }
}

/// The facts of a unit.
pub(super) fn details(told: &UnitStory<'_>, room: &mut Room) -> Vec<Detail> {
    let drifts = drifts(told);
    match told.unit.rule.rule.as_str() {
        "tool.renamed" => renames(drifts, room),
        "tool.added" => added(&drifts, told.unit.items.len() == 1, room),
        _ => others(drifts, told.unit.items.len() > 1, room),
    }
}

/// What is said once for all items of a unit: lesser changes inside renamed tools, hints that new tools lack.
pub(super) fn summed_up(told: &UnitStory<'_>) -> Option<String> {
    match told.unit.rule.rule.as_str() {
        "tool.renamed" => lesser(&drifts(told)),
        "tool.added" => hintless(&drifts(told)),
        _ => None,
    }
}

/// Its drifts; the same place in another face says the same again.
fn drifts<'a>(told: &'a UnitStory<'_>) -> Vec<&'a Drift> {
    let mut faces = BTreeSet::new();
    let drifts = told.rows().map(|row| &row.drift);
    drifts.filter(|drift| faces.insert((drift.facet.facet, &drift.path, &drift.after))).collect()
}

/// The key of the item that a drift is in.
pub(super) fn item(drift: &Drift) -> &str {
    drift.path.token(1).unwrap_or_default()
}

/// A table of names; under a name what callers must know of it. Plain renames first.
fn renames(mut drifts: Vec<&Drift>, room: &mut Room) -> Vec<Detail> {
    let telling = |drift: &Drift| -> Vec<Detail> {
        let own = drift.details.iter().cloned();
        own.chain(drift.inside.iter().filter(|inner| !is_lesser(inner)).flat_map(inside)).collect()
    };
    drifts.sort_by_cached_key(|drift| telling(drift).len() > 1);
    let mut out = Listing::of(drifts.len());
    for drift in drifts {
        out.add(&telling(drift), item(drift), None, room);
    }
    out.finish()
}

fn is_lesser(inner: &Inside) -> bool {
    inner.severity < Severity::Medium
}

/// The lines of a change inside a rename; where they name the place already, without its sentence.
fn inside(inner: &Inside) -> Vec<Detail> {
    match inner.details.as_slice() {
        [Detail::Moved { from, to }] => {
            let text = format!("{}: {} -> {}", inner.message, text::value(from), text::value(to));
            vec![Detail::Text { text }]
        }
        [_, ..] if inner.rule.rule.ends_with(".schema-undecidable") => inner.details.clone(),
        all => {
            let message = Detail::Text { text: inner.message.clone() };
            std::iter::once(message).chain(all.iter().cloned()).collect()
        }
    }
}

/// `Also: reworded 6, task support 6, titles 6 (in full: attachment).`
fn lesser(drifts: &[&Drift]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for inner in drifts.iter().flat_map(|drift| &drift.inside).filter(|inner| is_lesser(inner)) {
        let rule = inner.rule.rule.as_str();
        *counts.entry(rules::explain(rule).map_or(rule, |rule| rule.head)).or_default() += 1;
    }
    let single = drifts.len() == 1;
    let shown = |(head, n): (&str, usize)| if single { head.to_owned() } else { format!("{head} {n}") };
    let parts: Vec<String> = counts.into_iter().map(shown).collect();
    (!parts.is_empty()).then(|| format!("Also: {} (in full: attachment).", parts.join(", ")))
}

/// `NAME: data names a URL`, a line for each new tool that has one; of a single one also what it says.
fn added(drifts: &[&Drift], single: bool, room: &mut Room) -> Vec<Detail> {
    let mut lines = Listing::of(drifts.len());
    for drift in drifts {
        let name = text::name(item(drift));
        let telling = excerpt::cut(&telling(drift), TELLING);
        if !telling.is_empty() {
            lines.add(&[Detail::Text { text: format!("{name}: {telling}") }], "", None, room);
        }
    }
    let quotes = drifts.iter().filter(|_| single).flat_map(|drift| &drift.details);
    let quotes: Vec<Detail> = quotes.filter(|detail| matches!(detail, Detail::Quote { .. })).take(1).cloned().collect();
    lines.add(&quotes, "", None, room);
    lines.finish()
}

/// The most telling of a new tool: what it reaches, else how it runs and what it claims, else what it takes.
fn telling(drift: &Drift) -> String {
    let Some(tool) = drift.after.first() else { return String::new() };
    let mut parts = tools::reach(tool);
    parts.extend(tools::tidings(tool));
    if parts.is_empty() {
        parts.extend(tools::takes(tool));
    }
    text::inert(&parts.join("; "), TEXT)
}

/// `None of the 4 carries hints: a client must take each for destructive.`
fn hintless(drifts: &[&Drift]) -> Option<String> {
    let is_tool = |value: &&Json| value.as_object().is_some();
    let tools: Vec<&Json> = drifts.iter().filter_map(|drift| drift.after.first()).filter(is_tool).collect();
    let bare = tools.iter().filter(|tool| !tools::has_hints(tool)).count();
    let who = match (bare, tools.len()) {
        (0, _) => return None,
        (1, 1) => return Some("It carries no hints: a client must take it for destructive.".to_owned()),
        (bare, all) if bare == all => format!("None of the {all} carries hints"),
        (1, all) => return Some(format!("1 of the {all} carries no hints: a client must take it for destructive.")),
        (bare, all) => format!("{bare} of the {all} carry no hints"),
    };
    Some(format!("{who}: a client must take each for destructive."))
}

/// Details told by all drifts once, others under their item's name.
fn others(mut drifts: Vec<&Drift>, several: bool, room: &mut Room) -> Vec<Detail> {
    let Some(first) = drifts.first() else { return Vec::new() };
    let alike = drifts.iter().all(|drift| drift.details == first.details && drift.inside == first.inside);
    if alike {
        drifts.truncate(1);
    }
    let mut out = Listing::of(drifts.len());
    for drift in drifts {
        let head = (several && !alike && !names_itself(drift)).then(|| format!("{}:", text::name(item(drift))));
        let own = drift.details.iter().flat_map(|detail| as_it_begins(detail, drift));
        let details: Vec<Detail> = own.chain(drift.inside.iter().flat_map(inside)).collect();
        out.add(&details, item(drift), head, room);
    }
    out.finish()
}

/// A rewritten text as it begins now; anything else as it is.
fn as_it_begins(detail: &Detail, drift: &Drift) -> Vec<Detail> {
    match (detail, drift.after.as_slice()) {
        (Detail::Words { before_chars, after_chars, kept_words, total_words, .. }, [Json::String(now)])
            if detail.is_rewritten() =>
        {
            let kept = format!("{kept_words} of {total_words} words kept");
            vec![
                Detail::Text { text: format!("{before_chars} -> {after_chars} characters, {kept}.") },
                Detail::Quote { label: "The new text begins".to_owned(), text: now.clone() },
            ]
        }
        _ => vec![detail.clone()],
    }
}

/// Its first detail begins with its name.
fn names_itself(drift: &Drift) -> bool {
    let begins = |words: &str| words.starts_with(item(drift)) || words.starts_with(&text::name(item(drift)));
    matches!(drift.details.first(), Some(Detail::Text { text }) if begins(text))
}

/// Details of several drifts, each with its share; what is left out is counted.
struct Listing {
    out: Vec<Detail>,
    each: usize,
    left: usize,
}

impl Listing {
    fn of(drifts: usize) -> Self {
        Self { out: Vec::new(), each: (DETAILS / drifts.max(1)).max(2), left: 0 }
    }

    fn add(&mut self, details: &[Detail], item: &str, head: Option<String>, room: &mut Room) {
        let shown = if self.out.len() >= DETAILS { 0 } else { details.len().min(self.each) };
        self.left += details.len() - shown;
        if shown > 0 {
            self.out.extend(head.map(|text| Detail::Text { text }));
            self.out.extend(details.iter().take(shown).map(|detail| shorten(detail, item, room)));
        }
    }

    fn finish(mut self) -> Vec<Detail> {
        if self.left > 0 {
            self.out.push(Detail::Text { text: format!("({} more: attachment)", words::count(self.left, "line")) });
        }
        self.out
    }
}

fn shorten(detail: &Detail, item: &str, room: &mut Room) -> Detail {
    match detail {
        Detail::Text { text } => Detail::Text { text: guarded(&room.take(text, TEXT), [item]) },
        Detail::Moved { from, to } => Detail::Moved { from: room.take(from, NAME), to: room.take(to, NAME) },
        Detail::Words { diff, before_chars, after_chars, kept_words, total_words } => Detail::Words {
            diff: room.take_diff(diff),
            before_chars: *before_chars,
            after_chars: *after_chars,
            kept_words: *kept_words,
            total_words: *total_words,
        },
        Detail::Quote { label, text } => Detail::Quote { label: text::inert(label, 200), text: room.take(text, TEXT) },
    }
}

/// A sentence of ours, inert; the items' names in it in quotes unless they are plain words, so that none can pass for
/// a sentence of its own.
pub(super) fn guarded<'a>(sentence: &str, items: impl IntoIterator<Item = &'a str>) -> String {
    let mut sentence = text::inert(sentence, TEXT + 40);
    for item in items {
        let (raw, shown) = (text::inert(item, NAME), text::item(item));
        if raw.contains(' ') && raw != shown && !sentence.contains(&shown) {
            sentence = sentence.replace(&raw, &shown);
        }
    }
    sentence
}

/// Details as one text for machines that show it: inert, a peer's words behind `| `.
pub(super) fn as_one_text(details: &[Detail], room: &mut Room) -> String {
    let mut out = String::new();
    let quote = |out: &mut String, words: &str| {
        for line in text::lines(words) {
            let _ = writeln!(out, "| {line}");
        }
    };
    for detail in details {
        match detail {
            Detail::Text { text } => {
                out.push_str(text);
                out.push('\n');
            }
            Detail::Moved { from, to } => {
                let _ = writeln!(out, "{} -> {}", text::value(from), text::value(to));
            }
            Detail::Words { diff, .. } => quote(&mut out, diff),
            Detail::Quote { label, text } => {
                let _ = writeln!(out, "{label}:");
                quote(&mut out, text);
            }
        }
    }
    room.take(out.trim_end(), TEXT)
}
