//! The life of a drift: pending, open, and how it ends (design, section 5).
//!
//! [`life_step`] takes the drifts that have not ended and what the rules said of one scan, and gives the drifts as
//! they stand after it; [`life_tick`] does what needs a clock and no scan. Nothing here knows of incidents, notices or
//! the store.
//!
//! - A facet that a scan did not see counts neither way: its drifts stay exactly as they were (law 1).
//! - An open drift that is seen unchanged is not touched, so that an unchanged scan writes nothing: `sightings`,
//!   `since` and `last_at` stay what confirmed it.
//! - "As often in a row as it took to open" is read as the whole threshold of its class, time included.
//! - Sight (`sight`), places with too many values (`unsteady`) and mixed fleets (`mixed`) have rules of their own.

mod blind;
mod mixed;
mod recount;
mod row;
mod sight;
mod unsteady;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::model::confirm::Confirm;
use crate::model::digest::Digest;
use crate::model::drift::{Drift, DriftRow, DriftState, Fingerprint};
use crate::model::facet::{Facet, FacetName};
use crate::model::judgment::Judgment;
use crate::model::memory::FacetMemory;
use crate::model::pointer::Pointer;
use crate::model::policy::Policy;
use crate::model::target::TargetId;

pub use blind::{is_due as is_due_blind, see_blind};
pub use mixed::remember_run;

/// Where and when a step happens, and what it takes to confirm.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Whose drifts.
    pub target: &'a TargetId,
    /// Number of the target's newest scan: it tells drifts apart that begin within one millisecond.
    pub seq: u64,
    /// What confirms.
    pub confirm: &'a Confirm,
    /// What the inventory wishes: for the drifts that life makes itself.
    pub policy: &'a Policy,
    /// We were offline ourselves until then: failures count anew from there.
    pub blind_until: Option<Timestamp>,
    /// Now.
    pub now: Timestamp,
}

/// The drifts of a target after a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LifeStep {
    /// Those that stand, and those that ended in this step.
    pub rows: Vec<DriftRow>,
    /// Ids of the rows that the step made or changed.
    pub changed: BTreeSet<Digest>,
    /// What happened, in the order of the rows.
    pub transitions: Vec<Transition>,
    /// Earliest instant at which a further scan can confirm or revert something.
    pub recheck: Option<Timestamp>,
}

/// A turn in a drift's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The drift.
    pub id: Digest,
    /// Its facet.
    pub facet: FacetName,
    /// Its path.
    pub path: Pointer,
    /// What happened.
    pub turn: Turn,
}

/// What happened to a drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It was seen for the first time.
    Appeared,
    /// It was confirmed.
    Confirmed,
    /// Confirmed already, it has another confirmed value, rule or severity.
    Changed,
    /// It ended.
    Ended {
        /// What it was.
        from: DriftState,
        /// What it is.
        to: DriftState,
    },
}

/// Whether rows of this facet tell what we could not see.
#[must_use]
pub fn is_sight(facet: FacetName) -> bool {
    facet.facet == Facet::Scan
}

/// Whether this row says that its place does not stand still: then it has no value that could be accepted unread.
#[must_use]
pub fn is_restless(row: &DriftRow) -> bool {
    mixed::is_mixed(row) || unsteady::is_told(row)
}

/// Begins the life of a standing drift anew: nothing of it is confirmed, and its next sight is its first.
///
/// A mixed fleet is not judged by sightings, so it stays what it is.
pub fn anew(row: &mut DriftRow, now: Timestamp) {
    if mixed::is_mixed(row) || row.state.is_ended() {
        return;
    }
    row.state = DriftState::Pending;
    row.confirmed_at = None;
    row.sightings = 0;
    row.since = now;
    row.back_count = 0;
    row.back_since = None;
    row.next = None;
}

/// For a row that stands for a mixed fleet: the facet, and since when variants have taken turns.
#[must_use]
pub fn mixed_since(row: &DriftRow) -> Option<(FacetName, Timestamp)> {
    let stands = mixed::is_mixed(row) && !row.state.is_ended();
    stands.then(|| (row.drift.facet, row.confirmed_at.unwrap_or(row.first_at)))
}

/// How a scan looked at the place of a drift.
#[derive(Clone, Copy, Debug)]
enum Look<'a> {
    /// It saw a value that is not accepted.
    Shown(&'a Drift),
    /// It saw the place without one.
    Back,
    /// It could not tell.
    Unseen,
}

/// The step of one scan. `facets` are the target's facets with this scan's runs remembered.
///
/// Drifts of facets that the scan did not see are ignored.
#[must_use]
pub fn life_step(
    known: &[DriftRow],
    judgment: &Judgment,
    facets: &BTreeMap<FacetName, FacetMemory>,
    at: &Moment<'_>,
) -> LifeStep {
    let mut groups = BTreeMap::<FacetName, Group<'_>>::new();
    for row in known.iter().filter(|row| !row.state.is_ended()) {
        groups.entry(row.drift.facet).or_default().rows.push(row);
    }
    for drift in judgment.drifts.iter().filter(|drift| judgment.seen.contains(&drift.facet)) {
        groups.entry(drift.facet).or_default().shown.entry(&drift.path).or_insert(drift);
    }
    let sights = groups.remove(&FacetName::stranger(Facet::Scan)).unwrap_or_default();
    let mut step = LifeStep::default();
    sight::step(&mut step, &sights.rows, judgment, at);
    for (facet, group) in groups {
        let memory = facets.get(&facet).filter(|_| judgment.seen.contains(&facet));
        match memory.map_or(mixed::Phase::Steady, |memory| mixed::phase(&group, memory, at)) {
            mixed::Phase::Steady => steady(&mut step, &group, judgment, at),
            mixed::Phase::TakeTurns(turns) => mixed::hold(&mut step, facet, &group, &turns, at),
            mixed::Phase::StandsAlone(_) => mixed::release(&mut step, &group, None, at),
        }
    }
    step.recheck = recheck(&step.rows, facets, at);
    step
}

/// The step of a clock: a block that stands for 24 h turns high, a mixed fleet whose last variant stands alone ends.
#[must_use]
pub fn life_tick(known: &[DriftRow], facets: &BTreeMap<FacetName, FacetMemory>, at: &Moment<'_>) -> LifeStep {
    let mut groups = BTreeMap::<FacetName, Group<'_>>::new();
    for row in known.iter().filter(|row| !row.state.is_ended()) {
        groups.entry(row.drift.facet).or_default().rows.push(row);
    }
    let mut step = LifeStep::default();
    for (facet, group) in groups {
        let alone = facets.get(&facet).filter(|memory| memory.unseen_since.is_none());
        match alone.map(|memory| mixed::phase(&group, memory, at)) {
            Some(mixed::Phase::StandsAlone(since)) => mixed::release(&mut step, &group, Some(since), at),
            Some(mixed::Phase::Steady | mixed::Phase::TakeTurns(_)) | None => {
                for before in group.rows {
                    let mut row = before.clone();
                    let turn = sight::age(&mut row, at);
                    step.keep(Some(before), row, turn);
                }
            }
        }
    }
    step.recheck = recheck(&step.rows, facets, at);
    step
}

/// The step of a decision: each drift that `to` names a state for gets it; what was pending counts as confirmed.
#[must_use]
pub fn decided(known: &[DriftRow], to: &dyn Fn(&DriftRow) -> Option<DriftState>, at: &Moment<'_>) -> LifeStep {
    let mut step = LifeStep::default();
    for before in known.iter().filter(|row| !row.state.is_ended()) {
        let mut row = before.clone();
        let turn = match to(before) {
            None => None,
            Some(state) if state.is_ended() => Some(end(&mut row, state, at.now)),
            Some(state) => {
                let unconfirmed = row.confirmed_at.is_none();
                row.confirmed_at.get_or_insert(at.now);
                row.state = state;
                unconfirmed.then_some(Turn::Confirmed)
            }
        };
        step.keep(Some(before), row, turn);
    }
    step
}

/// The step of facets that start afresh: what stands there ends with the credential that was shown it.
#[must_use]
pub fn left(known: &[DriftRow], facets: &BTreeSet<FacetName>, at: &Moment<'_>) -> LifeStep {
    decided(known, &|row| facets.contains(&row.drift.facet).then_some(DriftState::Retired), at)
}

/// When [`life_tick`] does something next, if no scan comes before.
#[must_use]
pub fn next_tick(known: &[DriftRow], facets: &BTreeMap<FacetName, FacetMemory>) -> Option<Timestamp> {
    let blocked = known.iter().filter_map(sight::ages_at);
    let mixed = known.iter().filter(|row| mixed::is_mixed(row) && !row.state.is_ended());
    let mixed = mixed.filter_map(|row| mixed::ends_at(facets.get(&row.drift.facet)?));
    blocked.chain(mixed).min()
}

/// The rows of one facet, and what the scan showed of it.
#[derive(Debug, Default)]
struct Group<'a> {
    rows: Vec<&'a DriftRow>,
    shown: BTreeMap<&'a Pointer, &'a Drift>,
}

/// The ordinary step of one facet's drifts.
fn steady(step: &mut LifeStep, group: &Group<'_>, judgment: &Judgment, at: &Moment<'_>) {
    for before in &group.rows {
        let look = match group.shown.get(&before.drift.path) {
            Some(drift) => Look::Shown(drift),
            None if judgment.looked_at(before.drift.facet, &before.drift.path) => Look::Back,
            None => Look::Unseen,
        };
        let mut row = recount::of(before, at);
        let turn = row::step(&mut row, look, at);
        step.keep(Some(before), row, turn);
    }
    let known: BTreeSet<&Pointer> = group.rows.iter().map(|row| &row.drift.path).collect();
    for (_, drift) in group.shown.iter().filter(|(path, _)| !known.contains(**path)) {
        let (row, turn) = row::first_sight(drift, at);
        step.appear(row, turn);
    }
}

impl LifeStep {
    /// Takes a row as it stands after the step.
    fn keep(&mut self, before: Option<&DriftRow>, row: DriftRow, turn: Option<Turn>) {
        if let Some(turn) = turn {
            self.transitions.push(Transition {
                id: row.id,
                facet: row.drift.facet,
                path: row.drift.path.clone(),
                turn,
            });
        }
        if before != Some(&row) {
            self.changed.insert(row.id);
        }
        self.rows.push(row);
    }

    /// Notes that a row of the step has turned.
    fn turned(&mut self, row: &DriftRow, turn: Turn) {
        self.transitions.push(Transition { id: row.id, facet: row.drift.facet, path: row.drift.path.clone(), turn });
        self.changed.insert(row.id);
    }

    /// A step that changes nothing yet.
    #[must_use]
    pub fn of(known: &[DriftRow]) -> Self {
        Self { rows: known.iter().filter(|row| !row.state.is_ended()).cloned().collect(), ..Self::default() }
    }

    /// Takes in a step that came before this one: what ended in it, and what it said.
    pub fn after(&mut self, before: Self) {
        self.rows.extend(before.rows.into_iter().filter(|row| row.state.is_ended()));
        self.changed.extend(before.changed);
        self.transitions.splice(0..0, before.transitions);
    }

    /// Takes a row that the step made; it may be confirmed at once.
    fn appear(&mut self, row: DriftRow, then: Option<Turn>) {
        let turn = |turn| Transition { id: row.id, facet: row.drift.facet, path: row.drift.path.clone(), turn };
        self.transitions.push(turn(Turn::Appeared));
        self.keep(None, row, then);
    }
}

/// Ends a row; says so.
pub(super) fn end(row: &mut DriftRow, to: DriftState, now: Timestamp) -> Turn {
    let from = row.state;
    row.state = to;
    row.ended_at = Some(now);
    row.held = false;
    row.next = None;
    Turn::Ended { from, to }
}

/// Confirms a row; says so.
fn open(row: &mut DriftRow, now: Timestamp) -> Turn {
    row.state = DriftState::Open;
    row.confirmed_at = Some(now);
    row.next = None;
    Turn::Confirmed
}

/// The earliest instant at which a further scan can confirm or revert something.
#[must_use]
pub fn recheck(rows: &[DriftRow], facets: &BTreeMap<FacetName, FacetMemory>, at: &Moment<'_>) -> Option<Timestamp> {
    let standing = rows.iter().filter(|row| !row.state.is_ended());
    let instants = standing.filter_map(|row| {
        if mixed::is_mixed(row) {
            mixed::ends_at(facets.get(&row.drift.facet)?).filter(|end| *end > at.now)
        } else if is_sight(row.drift.facet) {
            sight::recheck(row, at)
        } else {
            row::recheck(row, at)
        }
    });
    instants.min()
}

/// The fingerprint of a drift that life itself makes.
pub(super) fn fingerprint(target: &TargetId, drift: &Drift) -> Fingerprint {
    let key = [target.to_string(), drift.facet.to_string(), drift.path.to_string()];
    let values = drift.after.iter().map(crate::model::json::Json::canonical);
    Fingerprint(Digest::of_parts(key.into_iter().chain(values)))
}

fn within(at: Timestamp, hours: i64, now: Timestamp) -> bool {
    now.duration_since(at) < SignedDuration::from_hours(hours)
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
