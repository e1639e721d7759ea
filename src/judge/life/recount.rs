//! What a drift's counts are worth at a step: times that lie ahead, and failures from before we were blind ourselves.
//!
//! A wall clock can be put back. What was first seen "later than now" would wait until the clock is there again, so it
//! counts from now; how often it was seen stays. Put forward, a clock makes sightings look far apart, but their number
//! is asked for all the same.

use super::{Moment, is_sight};
use crate::model::drift::{DriftRow, DriftState};

/// The row as this step takes it up.
pub(super) fn of(known: &DriftRow, at: &Moment<'_>) -> DriftRow {
    let mut row = known.clone();
    row.since = row.since.min(at.now);
    row.back_since = row.back_since.map(|since| since.min(at.now));
    if let Some(next) = &mut row.next {
        next.since = next.since.min(at.now);
    }
    if let Some(until) = at.blind_until.filter(|until| is_sight(row.drift.facet) && *until <= at.now) {
        // Of what failed while we were offline, and just before, nobody knows whose fault it was.
        if row.state == DriftState::Pending && row.last_at < until {
            row.sightings = 0;
            row.since = at.now;
        }
        row.next = row.next.filter(|next| next.since >= until);
    }
    row
}
