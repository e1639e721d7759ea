//! How much came, went and goes by another name, in a sentence for tools and one for everything else.

use std::collections::BTreeSet;

use crate::judge::alert::tally::{self, Fate, Thing};
use crate::judge::alert::units::UnitStory;
use crate::judge::alert::{Story, evidence, words};
use crate::model::drift::Drift;
use crate::model::facet::Facet;
use crate::model::text;

/// At most two sentences.
pub(super) fn sentences(story: &Story<'_>, told: &[UnitStory<'_>]) -> Vec<String> {
    let tools = tools(story, told).or_else(|| mass_change(told));
    tools.into_iter().chain(others(told)).collect()
}

/// `Every tool but echo has a new name: 8 renamed, 2 gone, 4 new.`, or `Of 11 tools: 1 renamed and 2 gone; 4 new.`
fn tools(story: &Story<'_>, told: &[UnitStory<'_>]) -> Option<String> {
    let total = |fate| tally::total(told, Thing::Tool, fate);
    let counts = [Fate::Renamed, Fate::Gone, Fate::New].map(|fate| (total(fate), fate.word()));
    let said: Vec<String> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    let [(renamed, _), (gone, _), (new, _)] = counts;
    let held = evidence::baseline_items(story, told, Facet::McpTools);
    let before = held.filter(|before| renamed + gone > 0 && *before >= renamed + gone);
    let Some(before) = before else {
        return (!said.is_empty()).then(|| format!("Tools: {}.", said.join(", ")));
    };
    if let Some(kept) = kept(story, told, before, renamed, gone) {
        let but = if kept.is_empty() { String::new() } else { format!(" but {}", words::list(&kept)) };
        return Some(format!("Every tool{but} has a new name: {}.", said.join(", ")));
    }
    let lost: Vec<String> = said.iter().take(said.len() - usize::from(new > 0)).cloned().collect();
    let added = if new > 0 { format!("; {new} new") } else { String::new() };
    Some(format!("Of {}: {}{added}.", words::count(before, "tool"), words::list(&lost)))
}

/// The few names that stayed, where most tools of a list go by another name.
fn kept(story: &Story<'_>, told: &[UnitStory<'_>], before: usize, renamed: usize, gone: usize) -> Option<Vec<String>> {
    const FEW: usize = 2;
    const FEWEST: usize = 4;
    /// Columns that a name may take in a first line.
    const NAME: usize = 24;
    if before < FEWEST || renamed <= gone || before > renamed + gone + FEW {
        return None;
    }
    let standing = || told.iter().filter(|told| told.unit.mark.stands()).flat_map(UnitStory::rows);
    let left: BTreeSet<&str> = standing().filter_map(|row| left(&row.drift)).collect();
    let keys = evidence::baseline_keys(story, told, Facet::McpTools);
    let kept: Vec<String> = keys.into_iter().filter(|key| !left.contains(key)).map(text::name).collect();
    (kept.len() <= FEW && kept.iter().all(|name| name.len() <= NAME)).then_some(kept)
}

/// The name under which a tool is no longer there.
fn left(drift: &Drift) -> Option<&str> {
    match drift.rule.rule.as_str() {
        "tool.removed" => drift.path.token(1),
        "tool.renamed" => {
            let old = drift.claims.iter().find(|claim| claim.after.is_none() && claim.path.depth() == 2)?;
            old.path.token(1)
        }
        _ => None,
    }
}

/// Where tools kept their names and most of them changed.
fn mass_change(told: &[UnitStory<'_>]) -> Option<String> {
    let rows = told.iter().filter(|told| told.unit.mark.stands()).flat_map(UnitStory::rows);
    let mut notes = rows.flat_map(|row| &row.drift.notes);
    notes.find(|note| note.rule == "tool.mass-change").map(|note| format!("{}.", text::inert(&note.text, 200)))
}

/// `100 resources, 3 prompts and 1 template gone; 7, 4 and 2 are new.`
fn others(told: &[UnitStory<'_>]) -> Option<String> {
    let things = Thing::ALL.into_iter().filter(|thing| *thing != Thing::Tool);
    let counts: Vec<(Thing, usize, usize)> = things
        .map(|thing| (thing, tally::total(told, thing, Fate::Gone), tally::total(told, thing, Fate::New)))
        .filter(|(_, gone, new)| gone + new > 0)
        .collect();
    let named = |pick: fn(&(Thing, usize, usize)) -> usize| -> Vec<String> {
        let some = counts.iter().map(|count| (count.0, pick(count))).filter(|(_, n)| *n > 0);
        some.map(|(thing, n)| words::count(n, thing.noun())).collect()
    };
    let (gone, new) = (named(|(_, gone, _)| *gone), named(|(_, _, new)| *new));
    let gone_words = format!("{} gone", words::list(&gone));
    match (gone.is_empty(), new.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("{} new.", words::list(&new))),
        (false, true) => Some(format!("{gone_words}.")),
        // The same things went and came: their numbers alone tell which.
        (false, false) if counts.iter().all(|(_, gone, new)| *gone > 0 && *new > 0) => {
            let numbers: Vec<String> = counts.iter().map(|(_, _, new)| new.to_string()).collect();
            let verb = if numbers.as_slice() == ["1"] { "is" } else { "are" };
            Some(format!("{gone_words}; {} {verb} new.", words::list(&numbers)))
        }
        (false, false) => Some(format!("{gone_words}; {} new.", words::list(&new))),
    }
}
