//! What happens in the month, and when: each entry is also a line of the page.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::world::{Mood, tool};

mod october;

pub(super) use october::{END, INVENTORY, START, october};

/// What happens, in the order of time once it is told whole.
#[derive(Debug, Default)]
pub(super) struct Story {
    /// What each server lists, from when on.
    versions: BTreeMap<&'static str, BTreeMap<Timestamp, Vec<Value>>>,
    troubles: Vec<Spell<&'static str, Trouble>>,
    deafness: Vec<Spell<&'static str, Deaf>>,
    deeds: BTreeMap<Timestamp, Deed>,
    lines: Vec<(Timestamp, String)>,
}

/// Who is how, from when until when.
#[derive(Clone, Copy, Debug)]
struct Spell<N, M> {
    who: N,
    from: Timestamp,
    until: Timestamp,
    mood: M,
}

/// What keeps a server from being seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    Down,
    Forbids,
    /// It asks us to come back when the trouble is over.
    Waits,
}

/// Why a receiver takes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deaf {
    Down,
    /// It asks for so many minutes.
    Busy(u64),
    /// It takes no message like this.
    Refuses,
}

/// What a person does, or what befalls the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// Accepts what stands of a target.
    Accept(&'static str),
    Reject(&'static str),
    /// Is on it for so many days.
    Ack(&'static str, u64),
    /// The clock leaps ahead of the time that it is.
    Leap(Duration),
    /// It is corrected.
    PutBack(Duration),
    /// The machine sleeps.
    Sleep(Duration),
    /// The daemon is stopped, and started so much later.
    Restart(Duration),
}

/// `10-06 10:00` or `10-06 10:00:30`, of 2026 and in UTC.
pub(super) fn at(text: &str) -> Timestamp {
    let (day, time) = text.split_once(' ').unwrap();
    let seconds = if time.len() == 5 { ":00" } else { "" };
    format!("2026-{day}T{time}{seconds}Z").parse().unwrap()
}

impl Story {
    fn line(&mut self, when: Timestamp, text: impl Into<String>) {
        self.lines.push((when, text.into()));
    }

    /// What `target` lists from `when` on.
    fn version(&mut self, target: &'static str, when: Timestamp, tools: &[(&str, &str)]) {
        let tools = tools.iter().map(|(name, description)| tool(name, description)).collect();
        self.versions.entry(target).or_default().insert(when, tools);
    }

    /// The same, as something that happens.
    fn upgrade(&mut self, target: &'static str, when: &str, tools: &[(&str, &str)], what: &str) {
        self.version(target, at(when), tools);
        self.line(at(when), format!("{target}: {what}"));
    }

    fn trouble(&mut self, targets: &[&'static str], from: &str, until: &str, mood: Trouble, what: &str) {
        let (from, until) = (at(from), at(until));
        self.troubles.extend(targets.iter().map(|who| Spell { who: *who, from, until, mood }));
        self.line(from, format!("{} until {}: {what}", targets.join(", "), until.strftime("%m-%d %H:%M:%S")));
    }

    fn deaf_spell(&mut self, receiver: &'static str, from: &str, until: &str, mood: Deaf, what: &str) {
        let (from, until) = (at(from), at(until));
        self.deafness.push(Spell { who: receiver, from, until, mood });
        self.line(from, format!("receiver {receiver} until {}: {what}", until.strftime("%m-%d %H:%M")));
    }

    fn deed(&mut self, when: &str, deed: Deed, what: &str) {
        assert_eq!(self.deeds.insert(at(when), deed), None, "one deed at a time");
        self.line(at(when), what);
    }

    /// How `target` is at an instant.
    pub(super) fn mood(&self, target: &str, now: Timestamp) -> Mood {
        let trouble = self.troubles.iter().find(|spell| spell.who == target && spell.from <= now && now < spell.until);
        match trouble {
            Some(Spell { mood: Trouble::Down, .. }) => Mood::Down,
            Some(Spell { mood: Trouble::Forbids, .. }) => Mood::Forbids,
            Some(Spell { mood: Trouble::Waits, until, .. }) => Mood::Waits(*until),
            None => {
                let versions = self.versions.get(target).unwrap_or_else(|| panic!("{target} serves nothing"));
                Mood::Serves(versions.range(..=now).next_back().map(|(_, tools)| tools.clone()).unwrap())
            }
        }
    }

    /// Why `receiver` takes nothing now.
    pub(super) fn deaf(&self, receiver: &str, now: Timestamp) -> Option<Deaf> {
        let spell = self.deafness.iter().find(|spell| spell.who == receiver && spell.from <= now && now < spell.until);
        spell.map(|spell| spell.mood)
    }

    /// What is done next, after `after`.
    pub(super) fn next_deed(&self, after: Timestamp) -> Option<(Timestamp, Deed)> {
        use std::ops::Bound::{Excluded, Unbounded};
        self.deeds.range((Excluded(after), Unbounded)).next().map(|(when, deed)| (*when, *deed))
    }

    /// All targets.
    pub(super) fn targets(&self) -> impl Iterator<Item = &'static str> {
        self.versions.keys().copied()
    }

    /// What the page says of it.
    pub(super) fn lines(&self) -> &[(Timestamp, String)] {
        &self.lines
    }
}
