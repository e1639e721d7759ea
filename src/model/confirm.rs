//! How often and how long something must be seen before it counts (design, section 5).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::rule::Class;

/// Confirmation by class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirm {
    /// Class *security*.
    pub security: Threshold,
    /// Class *surface*; also what a facet needs to join a baseline by itself.
    pub surface: Threshold,
    /// Class *sight*.
    pub sight: Threshold,
}

/// So many sightings in a row, the last at least so long after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// Sightings (for sight: failures) in a row; at least 1.
    pub sightings: u32,
    /// Least time from the first to the last.
    pub after: Duration,
}

impl Default for Confirm {
    fn default() -> Self {
        Self {
            security: Threshold { sightings: 2, after: Duration::from_secs(30) },
            surface: Threshold { sightings: 2, after: Duration::from_mins(5) },
            sight: Threshold { sightings: 3, after: Duration::from_mins(10) },
        }
    }
}

impl Confirm {
    /// What `class` asks.
    #[must_use]
    pub const fn of(&self, class: Class) -> Threshold {
        match class {
            Class::Security => self.security,
            Class::Surface => self.surface,
            Class::Sight => self.sight,
        }
    }
}

impl Threshold {
    /// Whether `count` sightings in a row are enough, the first at `since`, the last at `now`.
    #[must_use]
    pub fn met(&self, count: u32, since: Timestamp, now: Timestamp) -> bool {
        let after = SignedDuration::try_from(self.after).unwrap_or(SignedDuration::MAX);
        count >= self.sightings.max(1) && now.duration_since(since) >= after
    }

    /// When the next sighting counts most, after `count` of them since `since`: they are spread evenly over the time
    /// asked for, so that the last one confirms at the earliest instant allowed.
    #[must_use]
    pub fn next_due(&self, count: u32, since: Timestamp) -> Timestamp {
        let steps = self.sightings.saturating_sub(1).max(1);
        let wait = self.after.checked_mul(count.min(steps)).map_or(self.after, |all| all / steps);
        since.checked_add(wait).unwrap_or(Timestamp::MAX)
    }
}
