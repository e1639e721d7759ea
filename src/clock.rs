//! The one reader of wall time. Tests move theirs by hand; limits on I/O stay on tokio's real timers.

use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

/// Wall time, real or moved by a test.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Manual(watch::Receiver<Timestamp>),
}

/// Moves a [`Clock`] by hand.
#[derive(Debug)]
pub struct Hand(watch::Sender<Timestamp>);

impl Clock {
    /// The machine's clock.
    pub const fn system() -> Self {
        Self(Source::System)
    }

    /// A clock that stands at `start` until its hand moves.
    pub fn manual(start: Timestamp) -> (Self, Hand) {
        let (sender, receiver) = watch::channel(start);
        (Self(Source::Manual(receiver)), Hand(sender))
    }

    /// The instant now.
    #[expect(clippy::disallowed_methods, reason = "this is the one reader")]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => Timestamp::now(),
            Source::Manual(receiver) => *receiver.borrow(),
        }
    }

    /// Returns once [`Clock::now`] is at or past `instant`. The machine's clock is looked at anew at least every
    /// 30 s, so that a wait follows its jumps.
    pub async fn wait_until(&self, instant: Timestamp) {
        match &self.0 {
            Source::System => loop {
                let left = instant.duration_since(self.now());
                if !left.is_positive() {
                    return;
                }
                let step = Duration::try_from(left).unwrap_or(Duration::ZERO).min(Duration::from_secs(30));
                tokio::time::sleep(step).await;
            },
            Source::Manual(receiver) => {
                let mut receiver = receiver.clone();
                if receiver.wait_for(|now| *now >= instant).await.is_err() {
                    // The hand is gone: this clock stands for ever.
                    std::future::pending::<()>().await;
                }
            }
        }
    }
}

impl Hand {
    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.0.send_modify(|now| *now = now.saturating_add(by).unwrap_or(Timestamp::MAX));
    }

    /// Moves the clock back, as a correction or a person does.
    pub fn put_back(&self, by: Duration) {
        self.0.send_modify(|now| *now = now.saturating_sub(by).unwrap_or(Timestamp::MIN));
    }

    /// The instant it stands at.
    pub fn now(&self) -> Timestamp {
        *self.0.borrow()
    }
}
