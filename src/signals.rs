//! Stop and reload as futures: signals, a test's hand, or never.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Where the wish to stop comes from.
#[derive(Debug)]
pub struct Stop(Source);

#[derive(Debug)]
enum Source {
    Signals { term: Signal, int: Signal },
    Hand(mpsc::UnboundedReceiver<()>),
    Silent,
}

/// Asks a daemon in the same process to stop; dropping it asks for nothing.
#[derive(Clone, Debug)]
pub struct StopHand(mpsc::UnboundedSender<()>);

impl Stop {
    /// SIGTERM and SIGINT; from here on neither ends the process by itself.
    ///
    /// # Errors
    /// When the handlers cannot be installed.
    pub fn signals() -> io::Result<Self> {
        Ok(Self(Source::Signals { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? }))
    }

    /// A hand instead of signals.
    pub fn by_hand() -> (Self, StopHand) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(Source::Hand(receiver)), StopHand(sender))
    }

    /// Never.
    pub const fn silent() -> Self {
        Self(Source::Silent)
    }

    /// Waits until a stop is asked for; once for each time it is. Says by what.
    pub async fn asked(&mut self) -> &'static str {
        match &mut self.0 {
            Source::Signals { term, int } => tokio::select! {
                Some(()) = term.recv() => "SIGTERM",
                Some(()) = int.recv() => "SIGINT",
            },
            Source::Hand(receiver) => match receiver.recv().await {
                Some(()) => "hand",
                None => std::future::pending().await,
            },
            Source::Silent => std::future::pending().await,
        }
    }
}

impl StopHand {
    /// Asks for a stop; a second time, for one at once.
    pub fn stop(&self) {
        // Nobody listens any more: it has stopped.
        let _ = self.0.send(());
    }
}

/// The wish to have the configuration read anew: SIGHUP, or never.
#[derive(Debug)]
pub struct Hup(Option<Signal>);

impl Hup {
    /// SIGHUP; from here on it does not end the process.
    ///
    /// # Errors
    /// When the handler cannot be installed.
    pub fn signal() -> io::Result<Self> {
        Ok(Self(Some(signal(SignalKind::hangup())?)))
    }

    /// Never.
    pub const fn silent() -> Self {
        Self(None)
    }

    /// Waits until a reload is asked for; several signals in a row may be told as one.
    pub async fn asked(&mut self) {
        let heard = match &mut self.0 {
            Some(hup) => hup.recv().await,
            None => None,
        };
        if heard.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn kill(signal: &str) {
        let status = Command::new("kill").args([signal, &std::process::id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    #[tokio::test]
    async fn each_signal_asks_once_and_does_not_kill() {
        let mut stop = Stop::signals().unwrap();
        kill("-TERM");
        assert_eq!(stop.asked().await, "SIGTERM");
        kill("-INT");
        assert_eq!(stop.asked().await, "SIGINT");
    }

    #[tokio::test]
    async fn a_hand_asks_and_a_dropped_hand_does_not() {
        let (mut stop, hand) = Stop::by_hand();
        hand.stop();
        assert_eq!(stop.asked().await, "hand");
        drop(hand);
        let mut asked = std::pin::pin!(stop.asked());
        let polled = futures_util::future::poll_fn(|cx| std::task::Poll::Ready(asked.as_mut().poll(cx).is_ready()));
        assert!(!polled.await, "a dropped hand asks for nothing");
    }
}
