//! How fast what is overdue is made up for, and whether the wall clock was put back. Pure; the loop tells it of beats.
//!
//! After a pause, a long downtime or a clock that leapt forward, every target is overdue at once. Each is scanned once
//! (see [`super::schedule`]), and they start over ten beats, not in one: the machine, the network and whoever runs many
//! of the targets see a slope and no step. After that each is back at its own phase of its interval.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

/// Later than this is not the fault of a busy moment: something stood still.
const LATE: Duration = Duration::from_mins(1);
/// What is late is made up for in so many beats.
const BEATS: usize = 10;
/// So many late ones start in any beat, however few targets there are.
const LEAST: usize = 16;
/// A clock that is corrected by less moves nobody.
const SLACK: SignedDuration = SignedDuration::from_secs(2);

/// What is remembered from beat to beat.
#[derive(Debug, Default)]
pub struct Pace {
    last: Option<Timestamp>,
    /// Late scans that may still start before the next beat.
    left: usize,
}

impl Pace {
    /// A beat at `now`, with so many targets; says whether the clock was put back since the last one.
    pub fn beat(&mut self, now: Timestamp, targets: usize) -> bool {
        self.left = targets.div_ceil(BEATS).max(LEAST);
        let put_back = self.last.is_some_and(|last| last.duration_since(now) > SLACK);
        self.last = Some(now);
        put_back
    }

    /// Whether a scan that was due at `at` may start now; counts it when it was late.
    pub fn lets_start(&mut self, at: Timestamp, now: Timestamp) -> bool {
        let late = SignedDuration::try_from(LATE).unwrap_or(SignedDuration::MAX);
        if now.duration_since(at) < late {
            return true;
        }
        let lets = self.left > 0;
        self.left = self.left.saturating_sub(1);
        lets
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_clock_that_goes_on_or_leaps_forward_or_is_corrected_a_little_was_not_put_back() {
        let mut pace = Pace::default();
        for (second, put_back) in [
            (100, false),
            (101, false),
            (500_000, false),
            (499_999, false),
            (499_998, false),
            (1_000, true),
            (1_001, false),
        ] {
            assert_eq!(pace.beat(at(second), 3), put_back, "{second}");
        }
    }

    #[test]
    fn what_is_on_time_is_never_held_up() {
        let mut pace = Pace::default();
        assert!((0..10_000).all(|_| pace.lets_start(at(1_000), at(1_030))));
    }

    proptest! {
        #[test]
        fn what_is_overdue_starts_over_ten_beats_and_all_of_it(targets in 1_usize..5_000) {
            let mut pace = Pace::default();
            let now = at(1_000_000);
            let (mut left, mut beats, mut most) = (targets, 0, 0);
            while left > 0 {
                pace.beat(now, targets);
                let started = (0..left).take_while(|_| pace.lets_start(at(0), now)).count();
                (left, beats, most) = (left - started, beats + 1, most.max(started));
                prop_assert!(started > 0);
            }
            prop_assert!(most <= targets.div_ceil(BEATS).max(LEAST), "{most} of {targets} at once");
            prop_assert!(beats <= BEATS && (targets <= LEAST || beats >= 2), "{targets} in {beats}");
        }
    }
}
