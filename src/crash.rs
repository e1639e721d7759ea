//! Named points at which a test lets the process die or stand still, to show that nothing owed is lost and that somebody
//! notices.
//!
//! With `DRIFTD_CRASH_AT` set to a point's name a debug build aborts there: no destructor runs and nothing is flushed,
//! as with `kill -9`. With `DRIFTD_STALL_AT` set to a loop's name the loop blocks its thread for ever, or panics with
//! `DRIFTD_PANIC_AT`. A release build has no trace of it.

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

/// A loop that can be made to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// What starts scans.
    Watch,
    /// What sends messages.
    Delivery,
}

impl Stall {
    /// The name in `DRIFTD_STALL_AT` and `DRIFTD_PANIC_AT`.
    #[cfg(debug_assertions)]
    const fn name(self) -> &'static str {
        match self {
            Self::Watch => "watch",
            Self::Delivery => "delivery",
        }
    }
}

/// Blocks this thread for ever when it is asked to, or panics.
///
/// # Panics
/// When a test asks for it.
#[cfg(debug_assertions)]
pub fn stall(here: Stall) {
    let asked = |variable| std::env::var_os(variable).is_some_and(|name| name == here.name());
    assert!(!asked("DRIFTD_PANIC_AT"), "asked to by a test");
    while asked("DRIFTD_STALL_AT") {
        std::thread::sleep(std::time::Duration::from_secs(1));
    }
}

/// Does nothing in a release build.
#[cfg(not(debug_assertions))]
pub const fn stall(_here: Stall) {}
