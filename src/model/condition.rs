//! How a receiver fares: what is remembered between its tries, so that a restart forgets nothing of it.

use jiff::Timestamp;

/// How a receiver has fared since it last took a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Tries that failed in a row, over all its messages.
    pub failures: u32,
    /// When the first of them was.
    pub since: Option<Timestamp>,
    /// Why the last one failed, in our words.
    pub error: Option<String>,
    /// When the others were told that it fails.
    pub told: Option<Timestamp>,
    /// When the others were told last that messages to it were given up.
    pub told_given_up: Option<Timestamp>,
    /// Since when it has one try a day, and its messages wait.
    pub suspended: Option<Timestamp>,
    /// Nothing is tried before.
    pub not_before: Option<Timestamp>,
}

/// What becomes of a message after a try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is delivered.
    Sent,
    /// It is tried again.
    Again {
        /// Tries that count, this one included.
        attempts: u32,
        /// When.
        at: Timestamp,
        /// Why the try failed, in our words.
        error: String,
    },
    /// It is given up.
    Dead {
        /// Tries, this one included.
        attempts: u32,
        /// Why the last one failed, in our words.
        error: String,
    },
}
