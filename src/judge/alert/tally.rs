//! Counts what was renamed, is gone and is new, by the kind of thing.

use crate::model::incident::Unit;
use crate::model::rule::{Impact, Severity};
use crate::model::text;

use super::units::UnitStory;
use super::words;

/// The kinds of things that lists hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    Tool,
    Resource,
    Prompt,
    Template,
}

impl Thing {
    pub(super) const ALL: [Self; 4] = [Self::Tool, Self::Resource, Self::Prompt, Self::Template];

    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
            Self::Template => "template",
        }
    }
}

/// What became of things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Renamed,
    Gone,
    New,
}

impl Fate {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Renamed => "renamed",
            Self::Gone => "gone",
            Self::New => "new",
        }
    }
}

/// What a rule counts, if it is about things that come and go.
pub(super) fn counted(rule: &str) -> Option<(Thing, Fate)> {
    Some(match rule {
        "tool.renamed" => (Thing::Tool, Fate::Renamed),
        "tool.removed" => (Thing::Tool, Fate::Gone),
        "tool.added" | "tool.added-shadowing" => (Thing::Tool, Fate::New),
        "res.removed" => (Thing::Resource, Fate::Gone),
        "res.added" => (Thing::Resource, Fate::New),
        "res.template-removed" => (Thing::Template, Fate::Gone),
        "res.template-added" => (Thing::Template, Fate::New),
        "prompt.removed" => (Thing::Prompt, Fate::Gone),
        "prompt.added" => (Thing::Prompt, Fate::New),
        _ => return None,
    })
}

/// Items of standing units with this fate.
pub(super) fn total(told: &[UnitStory<'_>], thing: Thing, fate: Fate) -> usize {
    let units = told.iter().map(|told| told.unit).filter(|unit| unit.mark.stands());
    units.filter(|unit| counted(&unit.rule.rule) == Some((thing, fate))).map(size).sum()
}

/// How many items a unit is about.
pub(super) fn size(unit: &Unit) -> usize {
    if unit.items.is_empty() { unit.members.len() } else { unit.items.len() }
}

/// What fails, the first the most telling: `8 tools renamed`, `2 gone`, `100 resources gone`.
pub(super) fn broken(told: &[UnitStory<'_>]) -> Vec<String> {
    let mut phrases = Vec::new();
    for thing in Thing::ALL {
        let mut named = false;
        for fate in [Fate::Renamed, Fate::Gone] {
            match total(told, thing, fate) {
                0 => {}
                n if named => phrases.push(format!("{n} {}", fate.word())),
                1 => {
                    phrases.push(single(told, thing, fate));
                    named = true;
                }
                n => {
                    phrases.push(format!("{} {}", words::count(n, thing.noun()), fate.word()));
                    named = true;
                }
            }
        }
    }
    phrases
}

/// `tool zip gone` where the name is a short plain word, else `1 tool gone`.
fn single(told: &[UnitStory<'_>], thing: Thing, fate: Fate) -> String {
    let unit = told.iter().find(|told| told.unit.mark.stands() && counted(&told.unit.rule.rule) == Some((thing, fate)));
    let name = unit.and_then(|told| told.unit.items.first()).map(|item| text::item(item));
    match name {
        Some(name) if name.len() <= 24 && !name.starts_with('"') => format!("{} {name} {}", thing.noun(), fate.word()),
        Some(_) | None => format!("1 {} {}", thing.noun(), fate.word()),
    }
}

/// Standing units that break calls otherwise than by going away.
pub(super) fn otherwise_breaking<'a>(told: &'a [UnitStory<'a>]) -> impl Iterator<Item = &'a UnitStory<'a>> {
    told.iter().filter(|told| {
        let unit = told.unit;
        let breaks = unit.impact.first() == Some(&Impact::Breaking) && unit.severity >= Severity::Medium;
        unit.mark.stands() && breaks && counted(&unit.rule.rule).is_none()
    })
}
