//! How long to wait before the next try of a delivery: pure, the randomness comes in.
//!
//! The schedule is that of Standard Webhooks. It serves every kind of receiver: it is short while a restart or a
//! deployment may be the cause, long once people must repair something, and it ends after about three days.

use std::time::Duration;

use rand::{Rng, RngExt as _};

/// The wait before each try, the first one included.
const SCHEDULE: [Duration; 10] = [
    Duration::ZERO,
    Duration::from_secs(5),
    Duration::from_mins(5),
    Duration::from_mins(30),
    Duration::from_hours(2),
    Duration::from_hours(5),
    Duration::from_hours(10),
    Duration::from_hours(14),
    Duration::from_hours(20),
    Duration::from_hours(24),
];

/// The least wait after a peer was too slow or asked for fewer requests.
const SLOW: Duration = Duration::from_mins(1);

/// How far a wait is spread, as a part of it, so that messages held up by one outage do not return in step.
const JITTER: f64 = 0.2;

/// What the failed try says of the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    /// The peer is overloaded: at least a minute.
    pub slow_down: bool,
    /// The peer named a time. It is obeyed within the schedule: never less than the schedule's own wait, and never more
    /// than twice that, since a peer must not be able to put a message off for ever.
    pub retry_after: Option<Duration>,
}

/// The wait before the next try, after `attempt` tries; `None` when the schedule has ended.
pub fn delay(attempt: u32, rng: &mut impl Rng) -> Option<Duration> {
    delay_after(attempt, Hint::default(), rng)
}

/// The wait before the next try, after `attempt` tries of which the last one left `hint`; `None` when the schedule has
/// ended.
pub fn delay_after(attempt: u32, hint: Hint, rng: &mut impl Rng) -> Option<Duration> {
    let scheduled = *SCHEDULE.get(usize::try_from(attempt).ok()?)?;
    let least = if hint.slow_down { SLOW } else { Duration::ZERO };
    let base = scheduled.max(least);
    Some(match hint.retry_after {
        // Exactly as asked: a jitter downward would disobey, one upward buys nothing for a single sender.
        Some(asked) => asked.clamp(base, base.saturating_mul(2)),
        None => base.mul_f64(1.0 + rng.random_range(-JITTER..=JITTER)).max(least),
    })
}

/// How many tries a message has before it is given up.
pub const fn tries() -> usize {
    SCHEDULE.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    use super::*;

    #[test]
    fn the_first_try_is_at_once_and_the_eleventh_never_comes() {
        let mut rng = StdRng::seed_from_u64(1);
        assert_eq!(delay(0, &mut rng), Some(Duration::ZERO));
        assert!(delay(9, &mut rng).is_some());
        assert_eq!(delay(10, &mut rng), None);
        assert_eq!(delay(u32::MAX, &mut rng), None);
    }

    #[test]
    fn a_peer_that_names_a_time_is_obeyed_within_the_schedule() {
        let mut rng = StdRng::seed_from_u64(1);
        let mut asked = |attempt, seconds| {
            let hint = Hint { slow_down: false, retry_after: Some(Duration::from_secs(seconds)) };
            delay_after(attempt, hint, &mut rng)
        };
        assert_eq!(asked(2, 400), Some(Duration::from_secs(400)));
        assert_eq!(asked(2, 1), Some(Duration::from_mins(5)), "never sooner than the schedule");
        assert_eq!(asked(2, u64::MAX), Some(Duration::from_mins(10)), "never more than twice the schedule");
    }

    #[test]
    fn an_overloaded_peer_gets_a_minute_at_least() {
        let mut rng = StdRng::seed_from_u64(1);
        let named = Hint { slow_down: true, retry_after: Some(Duration::from_secs(90)) };
        assert_eq!(delay_after(1, named, &mut rng), Some(Duration::from_secs(90)));
        let unnamed = Hint { slow_down: true, retry_after: None };
        let wait = delay_after(1, unnamed, &mut rng).unwrap();
        assert!(wait >= Duration::from_secs(60) && wait <= Duration::from_secs(72), "{wait:?}");
    }

    proptest! {
        #[test]
        fn a_wait_stays_within_a_fifth_of_the_schedule(attempt in 0_u32..12, seed: u64) {
            let mut rng = StdRng::seed_from_u64(seed);
            match (delay(attempt, &mut rng), SCHEDULE.get(attempt as usize)) {
                (Some(wait), Some(base)) => {
                    prop_assert!(wait >= base.mul_f64(0.8) && wait <= base.mul_f64(1.2), "{wait:?} for {base:?}");
                }
                (None, None) => {}
                other => prop_assert!(false, "{other:?}"),
            }
        }

        #[test]
        fn no_hint_leads_out_of_bounds(
            attempt in 0_u32..12,
            slow_down: bool,
            asked in proptest::option::of(any::<u64>()),
            seed: u64,
        ) {
            let mut rng = StdRng::seed_from_u64(seed);
            let hint = Hint { slow_down, retry_after: asked.map(Duration::from_secs) };
            if let Some(wait) = delay_after(attempt, hint, &mut rng) {
                let base = SCHEDULE[attempt as usize].max(if slow_down { SLOW } else { Duration::ZERO });
                prop_assert!(wait >= base.mul_f64(0.8) && wait <= base.saturating_mul(2), "{wait:?} for {base:?}");
            }
        }
    }
}
