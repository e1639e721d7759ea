//! A panic as a line of the log: where it was, and its words only where the code wrote them.
//!
//! A formatted panic often quotes the value that it stumbled over, which may be a peer's text or a secret. The place in
//! the code is what mends it.

use std::io::Write as _;
use std::panic::PanicHookInfo;
use std::thread;

/// What stands for words that may quote somebody.
const WITHHELD: &str = "withheld: they may quote what was being read";

/// Has panics told as [`crate::logging`] tells everything else. A task that panics is told once more, by who runs it,
/// with its name.
pub fn tell_panics() {
    std::panic::set_hook(Box::new(tell));
}

fn tell(panic: &PanicHookInfo<'_>) {
    let at = panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let words = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or(WITHHELD);
    if tracing::dispatcher::has_been_set() {
        let thread = thread::current().name().unwrap_or("unnamed").to_owned();
        tracing::error!(at, words, thread, "panic: a fault of ours");
    } else {
        // The last resort of a command that logs nothing.
        let _ = writeln!(std::io::stderr(), "driftd: panic: a fault of ours at {at} ({words})");
    }
}
