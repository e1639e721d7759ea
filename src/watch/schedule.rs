//! When a target is scanned next. Pure: the due-queue holds what this computes, the loop starts it.
//!
//! `every` keeps a stable phase of the interval for each target, so that targets spread and a restart moves nobody.
//! `schedule` is cron by `croner`, which is asked without a zone; what that leaves open around changes of summer time
//! is decided here: what falls into a gap runs once, when the gap ends; a fixed time that comes twice runs
//! the first time; what repeats within the hour runs in both hours. After a pause one run makes up for all missed.
//!
//! A last scan in the future says that the wall clock was put back. What was computed by the old time is then moved
//! with it, so that nothing waits for longer than it would have: a target for its interval, a hold for what is left
//! of it. `Retry-After` is obeyed for at most a day, whatever the peer says (see `probe`).

use std::time::Duration;

use chrono::{DateTime, FixedOffset, NaiveDateTime, Offset as _, TimeZone as _, Timelike as _};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds};
use jiff::{SignedDuration, Timestamp};

use crate::model::digest::Digest;
use crate::model::inventory::Cadence;
use crate::model::memory::Past;
use crate::model::target::TargetId;

/// Never-scanned targets start within this time.
const FIRST_WITHIN: Duration = Duration::from_secs(10);
/// How often a target is asked whose block is confirmed (design, section 4).
const BLOCKED_EVERY: Duration = Duration::from_hours(1);
/// A lag below this is none.
const LEAST_LAG: SignedDuration = SignedDuration::from_mins(1);
/// Where a plan has no instant left (configuration refuses such plans).
const NEVER: Duration = Duration::from_hours(24);
/// A peer that asks for more is asked again all the same.
const LONGEST_HOLD: Duration = Duration::from_hours(24);

/// When a target is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The instant; in the past when it is overdue.
    pub at: Timestamp,
    /// What decided it.
    pub why: Why,
}

/// What decided when a target is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It was never scanned.
    First,
    /// Its plan.
    Plan,
    /// Something waits to be confirmed or reverted.
    Recheck,
    /// The peer asked us to wait.
    Hold,
    /// It refuses us.
    Blocked,
    /// Its plan has no instant left; it is looked at again a day later.
    Never,
    /// Somebody asked for a scan.
    Asked,
}

impl Why {
    /// The word in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Plan => "plan",
            Self::Recheck => "recheck",
            Self::Hold => "hold",
            Self::Blocked => "blocked",
            Self::Never => "never",
            Self::Asked => "asked",
        }
    }
}

/// A schedule that names no instants.
#[derive(Debug, thiserror::Error)]
pub enum CronError {
    /// The expression.
    #[error("{0}")]
    Expression(String),
    /// The zone.
    #[error("no time zone is called {0:?}")]
    Zone(String),
    /// No instant matches any more.
    #[error("no instant matches")]
    NoInstant,
}

/// Says when target `id` is due under `plan`.
#[must_use]
pub fn step(plan: &Cadence, id: &TargetId, past: &Past, now: Timestamp) -> Due {
    let (past, put_back) = at_this_time(past, now);
    let planned = match past.last {
        Some(last) if past.blocked => Due { at: later(last, BLOCKED_EVERY), why: Why::Blocked },
        Some(_) | None => {
            let planned = by_plan(plan, id, past.last, put_back, now);
            match past.recheck {
                Some(at) if at < planned.at => Due { at, why: Why::Recheck },
                Some(_) | None => planned,
            }
        }
    };
    match past.hold.map(|at| at.min(later(now, LONGEST_HOLD))) {
        Some(at) if at > planned.at => Due { at, why: Why::Hold },
        Some(_) | None => planned,
    }
}

/// Whether no scan was completed for more than twice the interval (`scan.stale`): we lag, the target is not to blame.
/// One that was never scanned has no interval to be measured by.
#[must_use]
pub fn is_stale(plan: &Cadence, id: &TargetId, past: &Past, now: Timestamp) -> bool {
    let Some(last) = past.last else { return false };
    let due = step(plan, id, &Past { recheck: None, ..*past }, now).at;
    now.duration_since(due) > due.duration_since(last).max(LEAST_LAG)
}

/// The past by the time that it is now, and whether that was put back since the last scan: then all of it is moved by
/// as much, and the last scan was just now.
fn at_this_time(past: &Past, now: Timestamp) -> (Past, bool) {
    let Some(last) = past.last.filter(|last| *last > now) else { return (*past, false) };
    let moved = |at: Timestamp| now.checked_add(at.duration_since(last)).unwrap_or(at.min(now));
    let past = Past { last: Some(now), recheck: past.recheck.map(moved), hold: past.hold.map(moved), ..*past };
    (past, true)
}

fn by_plan(plan: &Cadence, id: &TargetId, last: Option<Timestamp>, put_back: bool, now: Timestamp) -> Due {
    match (plan, last) {
        (Cadence::Every(every), None) => first(id, *every, now),
        // Until its hour comes it would have no baseline.
        (Cadence::Cron { .. }, None) => first(id, FIRST_WITHIN, now),
        // When it really was scanned last is not known: the next slot is the right one.
        (Cadence::Every(every), Some(_)) if put_back => {
            Due { at: slot_after(*every, id, now.as_millisecond()), why: Why::Plan }
        }
        (Cadence::Every(every), Some(last)) => Due { at: next_slot(*every, id, last), why: Why::Plan },
        (Cadence::Cron { expression, timezone }, Some(last)) => next_cron(expression, timezone, last)
            .map_or_else(|_| Due { at: later(now, NEVER), why: Why::Never }, |at| Due { at, why: Why::Plan }),
    }
}

/// What was never scanned is due at once, whatever its plan, but not all of it at the same moment.
fn first(id: &TargetId, every: Duration, now: Timestamp) -> Due {
    Due { at: later(now, part_of(id, every.min(FIRST_WITHIN))), why: Why::First }
}

/// The first slot of `id` that leaves half an interval of rest after `last`: slots are a whole interval apart, and a
/// scan out of turn (the first, a recheck, one asked for) must not have another at its heels.
fn next_slot(every: Duration, id: &TargetId, last: Timestamp) -> Timestamp {
    let rest = i64::try_from(every.as_millis() / 2).unwrap_or(i64::MAX);
    slot_after(every, id, last.as_millisecond().saturating_add(rest))
}

/// The first slot of `id` after a millisecond.
fn slot_after(every: Duration, id: &TargetId, after_ms: i64) -> Timestamp {
    let every_ms = i64::try_from(every.as_millis()).unwrap_or(i64::MAX).max(1);
    let phase = i64::try_from(part_of(id, every).as_millis()).unwrap_or(0);
    let slot = after_ms.saturating_sub(phase).div_euclid(every_ms).saturating_add(1);
    let at = slot.checked_mul(every_ms).and_then(|at| at.checked_add(phase));
    at.and_then(|at| Timestamp::from_millisecond(at).ok()).unwrap_or(Timestamp::MAX)
}

/// A part of `span` that is always the same for `id`, in whole milliseconds.
fn part_of(id: &TargetId, span: Duration) -> Duration {
    let digest = Digest::of_parts(["phase", id.as_str()]);
    let seed = digest.bytes().iter().take(8).fold(0_u64, |seed, byte| (seed << 8) | u64::from(*byte));
    let span = u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1);
    Duration::from_millis(seed % span)
}

fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// The first instant after `after` that a cron expression names in a zone. Five fields are minutes to weekdays, a
/// sixth in front is seconds.
///
/// # Errors
/// When the expression or zone is none, or no instant matches.
pub fn next_cron(expression: &str, timezone: &str, after: Timestamp) -> Result<Timestamp, CronError> {
    let cron = parse(expression)?;
    let zone: Tz = timezone.parse().map_err(|_| CronError::Zone(timezone.to_owned()))?;
    let start = DateTime::from_timestamp(after.as_second(), 0).ok_or(CronError::NoInstant)?.with_timezone(&zone);
    let next = if repeats(expression) { repeating(&cron, &start) } else { fixed_time(&cron, &start) };
    next.and_then(|next| Timestamp::from_second(next).ok()).ok_or(CronError::NoInstant)
}

/// Whether an expression names instants all through the hour or the day, as cron has always told it: by a `*` in front
/// of the days. Others name times of day, one or several.
fn repeats(expression: &str) -> bool {
    let fields = expression.split_whitespace();
    let times = fields.clone().count().saturating_sub(3);
    fields.take(times).any(|field| field.contains('*'))
}

fn parse(expression: &str) -> Result<Cron, CronError> {
    let fields = expression.split_whitespace().count();
    let with_seconds = if fields == 5 { format!("0 {expression}") } else { expression.to_owned() };
    let parser = CronParser::builder().seconds(Seconds::Required).build();
    parser.parse(&with_seconds).map_err(|error| CronError::Expression(error.to_string()))
}

/// A time of day: once on each date that has it. In a gap it is the gap's end, of two equal local times the first.
fn fixed_time(cron: &Cron, start: &DateTime<Tz>) -> Option<i64> {
    let zone = start.timezone();
    let mut from = start.naive_local();
    // One match may be behind us (the first of two equal times), and several may lie in one gap.
    for _ in 0..MOST_BEHIND {
        let local = next_local(cron, from, false)?;
        let at = zone.from_local_datetime(&local).earliest().or_else(|| gap_end(zone, local))?.timestamp();
        if at > start.timestamp() {
            return Some(at);
        }
        from = local;
    }
    None
}

/// Matches of a time of day that may stand in an hour that is over already: one a second.
const MOST_BEHIND: usize = 2 * 3600;

/// Every instant whose local time matches. The search in local time sees neither the rest of the hour nor the second
/// of two equal hours; both are searched for by themselves.
fn repeating(cron: &Cron, start: &DateTime<Tz>) -> Option<i64> {
    let in_local_time = by_local_time(cron, start);
    let here = in_offset(cron, start, start.offset().fix(), false);
    let back = turn_back(start).and_then(|turn| in_offset(cron, &turn, turn.offset().fix(), true));
    [in_local_time, here, back].into_iter().flatten().filter(|at| *at > start.timestamp()).min()
}

/// The first local time that matches and is in no gap.
fn by_local_time(cron: &Cron, start: &DateTime<Tz>) -> Option<i64> {
    let zone = start.timezone();
    let mut local = next_local(cron, start.naive_local(), false)?;
    // A zone has a few gaps a year; a plan that falls into many of them is looked at a day later.
    for _ in 0..8 {
        if let Some(at) = zone.from_local_datetime(&local).earliest() {
            return Some(at.timestamp());
        }
        local = next_local(cron, gap_end(zone, local)?.naive_local(), true)?;
    }
    None
}

/// The next match on a calendar and a clock that know of no zone: `croner` stumbles over gaps at midnight.
fn next_local(cron: &Cron, from: NaiveDateTime, inclusive: bool) -> Option<NaiveDateTime> {
    cron.find_next_occurrence(&from.and_utc(), inclusive).ok().map(|found| found.naive_utc())
}

/// The instant at which the gap ends that holds `local`. Gaps end on whole minutes, and the longest was a day.
fn gap_end(zone: Tz, local: NaiveDateTime) -> Option<DateTime<Tz>> {
    let minute = local.with_second(0)?.with_nanosecond(0)?;
    (1..=25 * 60).find_map(|ahead| {
        zone.from_local_datetime(&minute.checked_add_signed(chrono::TimeDelta::minutes(ahead))?).earliest()
    })
}

/// The next match from `start` on, when the zone still has `offset` there.
fn in_offset(cron: &Cron, start: &DateTime<Tz>, offset: FixedOffset, inclusive: bool) -> Option<i64> {
    let found = cron.find_next_occurrence(&start.with_timezone(&offset), inclusive).ok()?;
    (found.with_timezone(&start.timezone()).offset().fix() == offset).then(|| found.timestamp())
}

/// The instant within a day after `start` at which clocks are put back.
fn turn_back(start: &DateTime<Tz>) -> Option<DateTime<Tz>> {
    let zone = start.timezone();
    let at = |second: i64| DateTime::from_timestamp(second, 0).map(|utc| utc.with_timezone(&zone));
    let offset = |second: i64| at(second).map(|local| local.offset().fix().local_minus_utc());
    let (mut before, mut after) = (start.timestamp(), start.timestamp() + 26 * 3600);
    let old = offset(before)?;
    if offset(after)? >= old {
        return None;
    }
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if offset(middle)? == old { before = middle } else { after = middle }
    }
    at(after)
}

#[cfg(test)]
mod tests;
