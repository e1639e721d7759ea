//! What becomes of a message after a try: delivered, tried again, or given up.

use jiff::Timestamp;
use rand::Rng;

use super::condition::{self, Say};
use super::{Record, Tally};
use crate::backoff::{self, Hint};
use crate::model::condition::{Condition, Fate};
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
    pub(super) record: Option<Record>,
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
    pub(super) const fn reason(self) -> Reason {
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

/// Decides what becomes of the message of `done`, and of its receiver, which fares as `before`.
pub(super) fn judge(done: &Done, before: &Condition, now: Timestamp, rng: &mut impl Rng) -> Record {
    let Message { id, receiver, incident, attempts, .. } = &done.message;
    let (fate, (condition, say)) = match &done.outcome {
        Ok(()) => (Fate::Sent, condition::taken(before)),
        Err(failure) => {
            let fate = fate(failure, *attempts, before, now, rng);
            let dead = matches!(fate, Fate::Dead { .. });
            let after = condition::failed(before, failure, dead, incident.is_some(), now);
            (fate, after)
        }
    };
    Record { message: id.clone(), receiver: receiver.clone(), fate, condition, say }
}

fn fate(failure: &Failure, attempts: u32, before: &Condition, now: Timestamp, rng: &mut impl Rng) -> Fate {
    let error = failure.to_string();
    if condition::waits(before, failure) {
        // A probe uses up none of the message's own tries.
        return Fate::Again { attempts, at: condition::next_probe(now), error };
    }
    let attempts = attempts.saturating_add(1);
    match failure.hint().and_then(|hint| backoff::delay_after(attempts, hint, rng)) {
        Some(wait) => Fate::Again { attempts, at: now.saturating_add(wait).unwrap_or(Timestamp::MAX), error },
        None => Fate::Dead { attempts, error },
    }
}

/// Tells log and metrics.
pub(super) fn tell(tally: &impl Tally, done: &Done, record: &Record) {
    let Message { id, receiver, incident, .. } = &done.message;
    let incident = incident.map(tracing::field::display);
    let reason = done.outcome.as_ref().err().map_or(Reason::Internal, |failure| failure.reason());
    match &record.fate {
        Fate::Sent => {
            tracing::info!(receiver, message_id = id, incident, "message delivered");
            tally.sent(receiver);
        }
        Fate::Again { attempts, at, error } => {
            tracing::warn!(receiver, message_id = id, incident, tries = attempts, next_at = %at, error, "message not delivered");
            tally.failed(receiver, reason);
        }
        Fate::Dead { attempts, error } => {
            tracing::error!(
                receiver,
                message_id = id,
                incident,
                tries = attempts,
                error,
                "message given up; `driftd alerts retry` sends it again"
            );
            tally.dead(receiver, reason);
        }
    }
    match record.say {
        Some(Say::Failing) => tracing::error!(receiver, "the receiver takes no messages; the others are told"),
        Some(Say::Suspended) => {
            tracing::error!(receiver, "the receiver is suspended: it is tried once a day, and its messages wait");
        }
        Some(Say::Recovered { since }) => tracing::info!(receiver, %since, "the receiver takes messages again"),
        Some(Say::GivenUp) | None => {}
    }
}
