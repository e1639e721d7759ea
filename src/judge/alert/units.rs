//! A message's numbered things: which, in which order, and how much of each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::model::alert::{AlertType, AlertUnit, Section};
use crate::model::drift::{Detail, Drift, DriftRow, Fingerprint};
use crate::model::facet::FacetName;
use crate::model::incident::{Member, Unit};
use crate::model::pointer::Pointer;
use crate::model::text;

use super::super::rules;
use super::{Story, excerpt, words};

/// Units that one message tells; further ones are counted, and stand in the attachment.
const UNITS: usize = 200;
/// Items of one unit.
const ITEMS: usize = 300;
/// Details of one unit.
const DETAILS: usize = 100;
/// Notes of one unit.
const NOTES: usize = 20;
/// Fingerprints of one unit.
const FINGERPRINTS: usize = 500;
/// Characters of one text.
const TEXT: usize = 6_000;
/// Characters of one name.
const NAME: usize = 512;
/// Characters of all texts and names of a message together; beyond it each is cut to a stub.
const ALL: usize = 400_000;
/// What is left of a text when the message is full.
const STUB: usize = 160;

/// A unit with the drifts it stands for.
#[derive(Debug)]
pub(super) struct UnitStory<'a> {
    /// The unit.
    pub(super) unit: &'a Unit,
    /// Each member with its drift, where that is at hand.
    pub(super) members: Vec<(&'a Member, Option<&'a DriftRow>)>,
    /// What is different since the revision before; `None` at a first one.
    pub(super) since: Since,
    /// How the revision before is called.
    previous: Option<String>,
}

/// How a unit differs from the revision before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// It was told so before, or nothing was told before.
    Same,
    /// It was not there.
    New,
    /// It has another value or severity.
    Changed,
}

impl UnitStory<'_> {
    /// Whether it stands under DECIDE.
    pub(super) fn is_to_decide(&self) -> bool {
        Section::of(self.unit.severity, &self.unit.impact) == Section::Decide
    }

    /// For sight: the facets that could not be read; empty when it is the endpoint.
    pub(super) fn sight_facets(&self) -> Vec<String> {
        let names = self.unit.members.iter().filter_map(|member| member.path.token(0));
        names.filter_map(|token| token.parse::<FacetName>().ok()).map(words::facet).collect()
    }

    /// First sight of any of its drifts.
    pub(super) fn rows(&self) -> impl Iterator<Item = &DriftRow> {
        self.members.iter().filter_map(|(_, row)| *row)
    }
}

/// Units in the order of a message: what stands first; power, then what breaks, then the rest; worst first, then by
/// number.
pub(super) fn in_message_order<'a>(story: &Story<'a>) -> Vec<UnitStory<'a>> {
    let mut rows: BTreeMap<(FacetName, &Pointer), Vec<&'a DriftRow>> = BTreeMap::new();
    for row in story.drifts {
        rows.entry((row.drift.facet, &row.drift.path)).or_default().push(row);
    }
    // A place may have had several lives: the one with the member's value, else the newest.
    let row_of = |member: &Member| {
        let lives = rows.get(&(member.facet, &member.path))?;
        let same = lives.iter().find(|row| row.drift.fingerprint == member.fingerprint);
        same.or_else(|| lives.iter().max_by_key(|row| row.first_at)).copied()
    };
    let before = match story.kind {
        AlertType::DriftChanged => story.memory.incidents.iter().find(|before| before.id == story.incident.id),
        AlertType::DriftOpened | AlertType::DriftResolved | AlertType::SightLost | AlertType::SightBack => None,
    };
    let before = before.filter(|before| before.revision < story.incident.revision);
    let mut told: Vec<UnitStory<'a>> = story
        .incident
        .units
        .iter()
        .map(|unit| UnitStory {
            unit,
            members: unit.members.iter().map(|member| (member, row_of(member))).collect(),
            since: before.map_or(Since::Same, |before| since(unit, &before.units)),
            previous: before.map(words::reference),
        })
        .collect();
    told.sort_by_key(|told| {
        let unit = told.unit;
        let section = Section::of(unit.severity, &unit.impact);
        (!unit.mark.stands(), section, std::cmp::Reverse(unit.severity), unit.n)
    });
    told
}

fn since(unit: &Unit, before: &[Unit]) -> Since {
    let values = |unit: &Unit| unit.members.iter().map(|member| member.fingerprint).collect::<BTreeSet<Fingerprint>>();
    match before.iter().find(|known| known.n == unit.n) {
        None => Since::New,
        Some(known) if known.severity != unit.severity || values(known) != values(unit) => Since::Changed,
        Some(_) => Since::Same,
    }
}

/// The units of the alert document, and how many were cut.
pub(super) fn describe(told: &[UnitStory<'_>]) -> (Vec<AlertUnit>, u32) {
    let mut room = Room(ALL);
    let units = told.iter().take(UNITS).map(|told| describe_one(told, &mut room)).collect();
    (units, number(told.len().saturating_sub(UNITS)))
}

fn describe_one(told: &UnitStory<'_>, room: &mut Room) -> AlertUnit {
    let unit = told.unit;
    let rule = &unit.rule.rule;
    // The rule's words name a few items; the list itself stands beside them.
    let named: Vec<String> = unit.items.iter().take(ITEMS).map(|item| text::name(item)).collect();
    let details = details(told, room);
    AlertUnit {
        n: unit.n,
        rule: unit.rule.rule.clone(),
        case: unit.rule.case.clone(),
        severity: unit.severity,
        impact: unit.impact.clone(),
        title: title(unit),
        items: unit.items.iter().take(ITEMS).map(|item| room.take(item, NAME)).collect(),
        more_items: number(unit.items.len().saturating_sub(ITEMS)),
        used: true,
        diff: as_one_text(&details, room),
        details,
        why: text::inert(&rules::why(rule, &named), 600),
        ask: text::inert(&rules::ask(rule, &named), 600),
        mark: unit.mark,
        fingerprints: unit.members.iter().take(FINGERPRINTS).map(|member| member.fingerprint).collect(),
        more_fingerprints: number(unit.members.len().saturating_sub(FINGERPRINTS)),
        notes: notes(told),
    }
}

/// The title, inert.
pub(super) fn title(unit: &Unit) -> String {
    excerpt::cut(&guarded(&unit.title, unit.items.iter().take(3).map(String::as_str)), 300)
}

/// A sentence of ours, inert; the items' names in it in quotes unless they are plain words, so that none can pass for
/// a sentence of its own.
fn guarded<'a>(sentence: &str, items: impl IntoIterator<Item = &'a str>) -> String {
    let mut sentence = text::inert(sentence, TEXT + 40);
    for item in items {
        let (raw, shown) = (text::inert(item, NAME), text::name(item));
        if raw.contains(' ') && raw != shown && !sentence.contains(&shown) {
            sentence = sentence.replace(&raw, &shown);
        }
    }
    sentence
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// What is left of a message's length.
struct Room(usize);

impl Room {
    /// `text` at most `max` characters long, a stub of it when the message is full.
    fn take(&mut self, text: &str, max: usize) -> String {
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

/// Its drifts' details: one told by all members once, others under their item's name.
fn details(told: &UnitStory<'_>, room: &mut Room) -> Vec<Detail> {
    // The same place in another face says the same again.
    let mut faces = BTreeSet::new();
    let mut drifts: Vec<&Drift> = told
        .rows()
        .map(|row| &row.drift)
        .filter(|drift| faces.insert((drift.facet.facet, &drift.path, &drift.after)))
        .collect();
    let Some(first) = drifts.first() else { return Vec::new() };
    let alike = drifts.iter().all(|drift| drift.details == first.details);
    if alike {
        drifts.truncate(1);
    }
    // Plain renames first: a table of names, then what else changed in some.
    drifts.sort_by_key(|drift| is_rename(drift) && drift.details.len() > 1);
    let several = told.unit.items.len() > 1 && !alike;
    let each = (DETAILS / drifts.len().max(1)).max(2);
    let mut out: Vec<Detail> = Vec::new();
    let mut left = 0_usize;
    for drift in drifts {
        let shown = if out.len() >= DETAILS { 0 } else { drift.details.len().min(each) };
        left += drift.details.len() - shown;
        if shown == 0 {
            continue;
        }
        if several && !names_itself(drift) {
            out.push(Detail::Text { text: format!("{}:", text::name(item(drift))) });
        }
        out.extend(drift.details.iter().take(shown).map(|detail| shorten(detail, item(drift), room)));
    }
    if left > 0 {
        out.push(Detail::Text { text: format!("({} more: attachment)", words::count(left, "line")) });
    }
    out
}

/// The key of the item that a drift is in.
fn item(drift: &Drift) -> &str {
    drift.path.token(1).unwrap_or_default()
}

fn is_rename(drift: &Drift) -> bool {
    matches!(drift.details.first(), Some(Detail::Moved { .. })) && drift.rule.rule == "tool.renamed"
}

/// Its first detail begins with its name.
fn names_itself(drift: &Drift) -> bool {
    let begins = |words: &str| words.starts_with(item(drift)) || words.starts_with(&text::name(item(drift)));
    is_rename(drift) || matches!(drift.details.first(), Some(Detail::Text { text }) if begins(text))
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

/// Details as one text for machines that show it: inert, a peer's words behind `| `.
fn as_one_text(details: &[Detail], room: &mut Room) -> String {
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

/// Companions of its drifts, each once, and what is new about it.
fn notes(told: &UnitStory<'_>) -> Vec<String> {
    let previous = told.previous.as_deref().unwrap_or_default();
    let mut notes: Vec<String> = match told.since {
        Since::Same => Vec::new(),
        Since::New => vec![format!("New since {previous}.")],
        Since::Changed => vec![format!("Not as in {previous}: it has changed again.")],
    };
    let mut seen = BTreeSet::new();
    let texts = told.rows().flat_map(|row| row.drift.notes.iter().map(|note| (item(&row.drift), note.text.as_str())));
    let fresh: Vec<(&str, &str)> = texts.filter(|(_, text)| seen.insert(*text)).collect();
    notes.extend(fresh.iter().take(NOTES).map(|(item, note)| excerpt::cut(&guarded(note, [*item]), 300)));
    if fresh.len() > NOTES {
        notes.push(format!("And {}.", words::count(fresh.len() - NOTES, "more note")));
    }
    notes
}
