//! One drift, one scan: sightings toward opening, scans without it toward reverting, further values toward "changed".

use jiff::Timestamp;

use super::{Look, Moment, Turn, end, open, unsteady};
use crate::model::digest::Digest;
use crate::model::drift::{Drift, DriftRow, DriftState, NextValue};

/// A drift that no row stands for yet; confirmed at once when its class asks for one sighting only.
pub(super) fn first_sight(drift: &Drift, at: &Moment<'_>) -> (DriftRow, Option<Turn>) {
    let mut row = pending(drift, at);
    let turn = confirm(&mut row, at);
    (row, turn)
}

/// The row of a first sight.
pub(super) fn pending(drift: &Drift, at: &Moment<'_>) -> DriftRow {
    let begins = format!("{} {}", at.now.as_millisecond(), at.seq);
    let id = [at.target.to_string(), drift.facet.to_string(), drift.path.to_string(), begins];
    DriftRow {
        id: Digest::of_parts(id),
        drift: drift.clone(),
        state: DriftState::Pending,
        sightings: 1,
        since: at.now,
        last_at: at.now,
        back_count: 0,
        back_since: None,
        next: None,
        values: vec![(drift.fingerprint, at.now)],
        held: false,
        suppressed: None,
        first_at: at.now,
        confirmed_at: None,
        ended_at: None,
        incident: None,
    }
}

/// The step of a row; says what happened.
pub(super) fn step(row: &mut DriftRow, look: Look<'_>, at: &Moment<'_>) -> Option<Turn> {
    match look {
        Look::Unseen => None,
        Look::Back => {
            row.held = false;
            back(row, at)
        }
        Look::Shown(drift) => {
            row.held = false;
            row.back_count = 0;
            row.back_since = None;
            unsteady::remember(row, drift.fingerprint, at.now);
            match row.state {
                DriftState::Pending => seen_again(row, drift, at),
                DriftState::Open | DriftState::Rejected => seen_open(row, drift, at),
                DriftState::Transient | DriftState::Reverted | DriftState::Accepted | DriftState::Retired => None,
            }
        }
    }
}

/// A pending drift counts its sightings in a row; another value starts the count again.
fn seen_again(row: &mut DriftRow, drift: &Drift, at: &Moment<'_>) -> Option<Turn> {
    if row.drift.fingerprint == drift.fingerprint && row.sightings > 0 {
        row.sightings = row.sightings.saturating_add(1);
    } else {
        row.sightings = 1;
        row.since = at.now;
        // What was told of it is not what is there; it joins again when it is confirmed.
        row.incident = None;
    }
    row.drift = drift.clone();
    row.last_at = at.now;
    if unsteady::is(row, at.now) {
        row.drift = unsteady::told(drift, row, at);
        return Some(open(row, at.now));
    }
    confirm(row, at)
}

fn confirm(row: &mut DriftRow, at: &Moment<'_>) -> Option<Turn> {
    let threshold = at.confirm.of(row.drift.class);
    threshold.met(row.sightings, row.since, at.now).then(|| open(row, at.now))
}

/// A confirmed drift stays as it is while its value does; another value must be confirmed like the first.
fn seen_open(row: &mut DriftRow, drift: &Drift, at: &Moment<'_>) -> Option<Turn> {
    if unsteady::is_told(row) {
        if unsteady::is_restless(row, at.now) {
            row.next = None;
            return None;
        }
    } else if unsteady::is(row, at.now) {
        row.drift = unsteady::told(drift, row, at);
        return Some(changed(row, at.now));
    }
    if row.drift.fingerprint == drift.fingerprint {
        row.next = None;
        return refresh(row, drift);
    }
    let next = match row.next.take() {
        Some(next) if next.drift.fingerprint == drift.fingerprint => {
            NextValue { drift: drift.clone(), sightings: next.sightings.saturating_add(1), since: next.since }
        }
        Some(_) | None => NextValue { drift: drift.clone(), sightings: 1, since: at.now },
    };
    if at.confirm.of(drift.class).met(next.sightings, next.since, at.now) {
        take_next(row, next);
        return Some(changed(row, at.now));
    }
    row.next = Some(next);
    None
}

/// The same value judged anew: told as changed only when rule or severity are others.
fn refresh(row: &mut DriftRow, drift: &Drift) -> Option<Turn> {
    let worth_telling = row.drift.severity != drift.severity || row.drift.rule != drift.rule;
    if row.drift != *drift {
        row.drift = drift.clone();
    }
    worth_telling.then_some(Turn::Changed)
}

/// A further value is confirmed and becomes the drift's.
pub(super) fn take_next(row: &mut DriftRow, next: NextValue) {
    row.drift = next.drift;
    row.sightings = next.sightings;
    row.since = next.since;
}

/// Another value is there: nobody has decided about it, so a rejected drift is open again.
pub(super) fn changed(row: &mut DriftRow, now: Timestamp) -> Turn {
    row.state = DriftState::Open;
    row.next = None;
    row.last_at = now;
    Turn::Changed
}

/// A scan that saw the place without any value that is not accepted.
fn back(row: &mut DriftRow, at: &Moment<'_>) -> Option<Turn> {
    row.next = None;
    match row.state {
        DriftState::Pending => Some(end(row, DriftState::Transient, at.now)),
        DriftState::Open | DriftState::Rejected => {
            row.back_count = row.back_count.saturating_add(1);
            let since = *row.back_since.get_or_insert(at.now);
            let enough = at.confirm.of(row.drift.class).met(row.back_count, since, at.now);
            enough.then(|| end(row, DriftState::Reverted, at.now))
        }
        DriftState::Transient | DriftState::Reverted | DriftState::Accepted | DriftState::Retired => None,
    }
}

/// When the next scan of this row's place tells something.
///
/// An instant that has passed counts only for what was counted just now: else a facet that stays unseen would be
/// asked without a pause.
pub(super) fn recheck(row: &DriftRow, at: &Moment<'_>) -> Option<Timestamp> {
    if row.held {
        return None;
    }
    let (class, count, since, last) = match (&row.next, row.back_since) {
        (Some(next), _) => (next.drift.class, next.sightings, next.since, None),
        (None, Some(since)) => (row.drift.class, row.back_count, since, None),
        (None, None) if row.state == DriftState::Pending => {
            (row.drift.class, row.sightings, row.since, Some(row.last_at))
        }
        (None, None) => return None,
    };
    let due = at.confirm.of(class).next_due(count, since);
    if due > at.now { Some(due) } else { (last == Some(at.now)).then_some(at.now) }
}
