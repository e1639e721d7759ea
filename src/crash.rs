//! Named points at which a test lets the process die, to show that nothing owed is lost.
//!
//! With `DRIFTD_CRASH_AT` set to a point's name a debug build aborts there: no destructor runs and nothing is flushed,
//! as with `kill -9`. A release build has no trace of it.

/// A point between two steps of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// A scan's changes are committed with what they owe; nobody knows yet.
    AfterCommit,
    /// A message is due and nothing has left.
    BeforeSend,
    /// The receiver has it and the store does not know.
    AfterSend,
}

impl Point {
    /// The name in `DRIFTD_CRASH_AT`.
    #[cfg(debug_assertions)]
    const fn name(self) -> &'static str {
        match self {
            Self::AfterCommit => "after-commit",
            Self::BeforeSend => "before-send",
            Self::AfterSend => "after-send",
        }
    }
}

/// Aborts the process when it is asked to die here.
#[cfg(debug_assertions)]
pub fn point(here: Point) {
    if std::env::var_os("DRIFTD_CRASH_AT").is_some_and(|name| name == here.name()) {
        std::process::abort();
    }
}

/// Does nothing in a release build.
#[cfg(not(debug_assertions))]
pub const fn point(_here: Point) {}
