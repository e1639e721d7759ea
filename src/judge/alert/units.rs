//! A message's numbered things: which, in which order, and how much of each.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::alert::{AlertType, AlertUnit, Section};
use crate::model::drift::{Detail, DriftRow, Fingerprint};
use crate::model::facet::{Face, Facet, FacetName};
use crate::model::incident::{Member, Unit};
use crate::model::pointer::Pointer;
use crate::model::policy::Policy;
use crate::model::text;

use super::super::{consumers, rules};
use super::details::{self, NAME, Room, guarded, item};
use super::tally::{self, Fate};
use super::{Story, excerpt, words};

/// Units that one message tells; further ones are counted, and stand in the attachment.
const UNITS: usize = 200;
/// Items of one unit.
const ITEMS: usize = 300;
/// Notes of one unit.
const NOTES: usize = 20;
/// Fingerprints of one unit.
const FINGERPRINTS: usize = 500;

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

    /// Whether calls that worked can fail.
    pub(super) fn can_break(&self) -> bool {
        Section::of(self.unit.severity, &self.unit.impact) == Section::CanBreak
    }

    /// Whether a text of it has so little in common with what stood there that it is another one.
    pub(super) fn is_rewritten(&self) -> bool {
        self.rows().any(|row| row.drift.details.iter().any(Detail::is_rewritten))
    }

    /// For sight: the facets that could not be read; empty when it is the endpoint.
    pub(super) fn sight_facets(&self) -> Vec<FacetName> {
        let names = self.unit.members.iter().filter_map(|member| member.path.token(0));
        names.filter_map(|token| token.parse::<FacetName>().ok()).collect()
    }

    /// For sight: whether nothing is seen of what our credential shows, since no conversation with it begins.
    pub(super) fn loses_credential(&self) -> bool {
        self.sight_facets().contains(&FacetName::of(Facet::McpHandshake, Face::Auth))
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
        AlertType::DriftOpened
        | AlertType::DriftReminder
        | AlertType::DriftResolved
        | AlertType::SightLost
        | AlertType::SightBack
        | AlertType::FleetReport
        | AlertType::Digest
        | AlertType::Test => None,
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
pub(super) fn describe(told: &[UnitStory<'_>], policy: &Policy) -> (Vec<AlertUnit>, u32) {
    let mut room = Room::default();
    let describe = |unit: &UnitStory<'_>| describe_one(unit, told, policy, &mut room);
    let units = told.iter().take(UNITS).map(describe).collect();
    (units, number(told.len().saturating_sub(UNITS)))
}

fn describe_one(told: &UnitStory<'_>, all: &[UnitStory<'_>], policy: &Policy, room: &mut Room) -> AlertUnit {
    let unit = told.unit;
    let rule = &unit.rule.rule;
    // The rule's words name a few items; the list itself stands beside them.
    let named: Vec<String> = unit.items.iter().take(ITEMS).map(|item| text::item(item)).collect();
    let details = details::details(told, room);
    AlertUnit {
        n: unit.n,
        rule: unit.rule.rule.clone(),
        case: unit.rule.case.clone(),
        severity: unit.severity,
        impact: unit.impact.clone(),
        title: format!("{}{}", title(unit), instead(unit, all)),
        items: unit.items.iter().take(ITEMS).map(|item| room.take(item, NAME)).collect(),
        more_items: number(unit.items.len().saturating_sub(ITEMS)),
        used: told.rows().any(|row| consumers::is_used(policy, &row.drift)) || told.rows().next().is_none(),
        diff: details::as_one_text(&details, room),
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

/// Beside what is gone of a list: how many are new there. For tools the renames tell more.
fn instead(unit: &Unit, all: &[UnitStory<'_>]) -> String {
    match tally::counted(&unit.rule.rule) {
        Some((thing, Fate::Gone)) if thing != tally::Thing::Tool && unit.mark.stands() => {
            match tally::total(all, thing, Fate::New) {
                0 => String::new(),
                1 => "; 1 is new".to_owned(),
                n => format!("; {n} are new"),
            }
        }
        Some(_) | None => String::new(),
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
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
    // How much of the list changed is said at the top, and what a new tool reaches beside its name.
    let elsewhere = ["tool.mass-change", "tool.input.reach-gained"];
    let texts = told.rows().flat_map(|row| {
        let own = row.drift.notes.iter().filter(|note| !elsewhere.contains(&note.rule.as_str()));
        own.map(|note| (item(&row.drift), note.text.as_str()))
    });
    let fresh: Vec<(&str, &str)> = texts.filter(|(_, text)| seen.insert(*text)).collect();
    notes.extend(details::summed_up(told));
    notes.extend(fresh.iter().take(NOTES).map(|(item, note)| excerpt::cut(&guarded(note, [*item]), 300)));
    if fresh.len() > NOTES {
        notes.push(format!("And {}.", words::count(fresh.len() - NOTES, "more note")));
    }
    notes
}
