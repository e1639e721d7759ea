//! What becomes of a message after a try: delivered, tried again, or given up.

use jiff::Timestamp;
use rand::Rng;

use super::Tally;
use crate::backoff::{self, Hint};
use crate::model::notice::Message;
use crate::receiver::error::{DeliveryError, Reason};

/// A try that has ended.
#[derive(Debug)]
pub(super) struct Done {
    /// The message, as it was before the try.
    pub(super) message: Message,
    /// How the try ended.
    pub(super) outcome: Result<(), Failure>,
    /// What was decided, when it could not be recorded at once.
    pub(super) verdict: Option<Verdict>,
}

impl Done {
    /// Tries so far, this one included.
    pub(super) const fn tries(&self) -> u32 {
        self.message.attempts.saturating_add(1)
    }
}

/// How a try failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    /// The receiver says why.
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    /// A fault of ours.
    #[error("driftd failed while it sent the message; its log says where")]
    Panicked,
}

impl Failure {
    const fn reason(self) -> Reason {
        match self {
            Self::Delivery(error) => error.reason(),
            Self::Panicked => Reason::Internal,
        }
    }

    const fn hint(self) -> Option<Hint> {
        match self {
            Self::Delivery(DeliveryError::Transient { reason, retry_after, .. }) => {
                Some(Hint { slow_down: reason.slows_down(), retry_after })
            }
            Self::Delivery(DeliveryError::Permanent { .. }) => None,
            Self::Panicked => Some(Hint { slow_down: false, retry_after: None }),
        }
    }
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is delivered.
    Sent,
    /// It is tried again.
    Again {
        /// When.
        at: Timestamp,
        /// How the try failed.
        error: Failure,
    },
    /// It is given up.
    Dead {
        /// How the last try failed.
        error: Failure,
    },
}

/// Decides what becomes of the message of `done`.
pub(super) fn judge(done: &Done, now: Timestamp, rng: &mut impl Rng) -> Verdict {
    let Err(error) = done.outcome else { return Verdict::Sent };
    match error.hint().and_then(|hint| backoff::delay_after(done.tries(), hint, rng)) {
        Some(wait) => Verdict::Again { at: now.saturating_add(wait).unwrap_or(Timestamp::MAX), error },
        None => Verdict::Dead { error },
    }
}

/// Tells log and metrics.
pub(super) fn tell(tally: &impl Tally, done: &Done, verdict: Verdict) {
    let Message { id, receiver, incident, .. } = &done.message;
    let tries = done.tries();
    match verdict {
        Verdict::Sent => {
            tracing::info!(
                receiver,
                message_id = id,
                incident = incident.map(tracing::field::display),
                tries,
                "message delivered"
            );
            tally.sent(receiver);
        }
        Verdict::Again { at, error } => {
            tracing::warn!(receiver, message_id = id, incident = incident.map(tracing::field::display), tries, next_at = %at, %error, "message not delivered");
            tally.failed(receiver, error.reason());
        }
        Verdict::Dead { error } => {
            tracing::error!(
                receiver, message_id = id, incident = incident.map(tracing::field::display), tries, %error,
                "message given up; `driftd alerts retry` sends it again"
            );
            tally.dead(receiver, error.reason());
        }
    }
}
