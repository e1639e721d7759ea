//! What befalls the whole fleet at once, as far as it changes how each target is settled.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// How one settlement stands to what befell the fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// We were offline ourselves until then: failures count anew from there.
    pub blind_until: Option<Timestamp>,
    /// The first round after a time in which nobody looked.
    pub gap: Option<Gap>,
}

/// The first round after a time in which nobody looked: what opens in it is told together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// When somebody looked last; `None` where nobody knows.
    pub since: Option<Timestamp>,
    /// When the round began.
    pub at: Timestamp,
    /// Why nobody looked.
    pub why: GapWhy,
}

/// Why nobody looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapWhy {
    /// driftd did not run, or its machine slept.
    Pause,
    /// The store was put back from a backup: what came after the backup is forgotten.
    Restore,
}

impl GapWhy {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Pause => "nobody looked for more than a day",
            Self::Restore => "the store was put back from a backup",
        }
    }
}

impl Gap {
    /// A time without a look that is longer than this is a gap.
    pub const LEAST: SignedDuration = SignedDuration::from_hours(24);
    /// A round takes at most so long: two sightings of everything, and some patience.
    const ROUND: SignedDuration = SignedDuration::from_mins(30);
    /// What is held goes out by itself this long after the round should have been told, whatever becomes of us.
    const GRACE: SignedDuration = SignedDuration::from_mins(5);

    /// When the round is over at the latest.
    #[must_use]
    pub fn until(&self) -> Timestamp {
        self.at.checked_add(Self::ROUND).unwrap_or(Timestamp::MAX)
    }

    /// When what is held for the round's message goes out without it.
    #[must_use]
    pub fn held_until(&self) -> Timestamp {
        self.until().checked_add(Self::GRACE).unwrap_or(Timestamp::MAX)
    }

    /// Whether what begins at `now` is part of the round.
    #[must_use]
    pub fn covers(&self, now: Timestamp) -> bool {
        self.at <= now && now < self.until()
    }
}

/// A time in which driftd itself was offline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blindness {
    /// Since when.
    pub since: Timestamp,
    /// What told.
    pub why: BlindWhy,
}

/// What told that we are offline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlindWhy {
    /// None of the URLs of `self_check` answers.
    SelfCheck,
    /// Most targets failed within a minute.
    MostFail,
}

impl BlindWhy {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::SelfCheck => "no URL of `self_check` answers",
            Self::MostFail => "most targets fail at once",
        }
    }
}
