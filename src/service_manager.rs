//! What the service manager is told: readiness, a line of status, signs of life, a reload, a stop.
//!
//! Speaks the protocol of `sd_notify(3)`. Where no service manager started us, nothing is said and nothing fails; what
//! a service manager does not take is not worth more than a line in the log, since it has no other way to hear of it.

use std::time::Duration;

use sd_notify::NotifyState;

/// The most of a status line that is sent; `systemctl` shows one line of a terminal.
const MAX_STATUS: usize = 300;

/// The daemon is ready: it has its store and its sockets. Also ends a reload.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// A reload begins; [`ready`] ends it, whatever came of it.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        // systemd asks for the time to tell this reload from one before it.
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// The daemon stops, for the reason in `line`.
pub fn stopping(line: &str) {
    tell(&[NotifyState::Stopping, NotifyState::Status(&one_line(line))]);
}

/// What goes on, in a line for people.
pub fn status(line: &str) {
    tell(&[NotifyState::Status(&one_line(line))]);
}

/// All that has to move has moved.
pub fn alive() {
    tell(&[NotifyState::Watchdog]);
}

/// Within what time [`alive`] has to be said again and again, if the service manager watches this process.
pub fn watchdog() -> Option<Duration> {
    sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero())
}

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "the service manager could not be told");
    }
}

/// The protocol is one variable a line: a line break in a reason would be taken for another variable.
fn one_line(text: &str) -> String {
    let line = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    line.take(MAX_STATUS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_with_line_breaks_says_nothing_else_to_the_service_manager() {
        assert_eq!(one_line("broken\nWATCHDOG=trigger\r\u{85}!"), "broken WATCHDOG=trigger  !");
        assert_eq!(one_line(&"x".repeat(1000)).len(), MAX_STATUS);
    }
}
