//! How often and how long something must be seen before it counts (design, section 5).

use std::time::Duration;

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
