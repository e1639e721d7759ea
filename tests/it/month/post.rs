//! Pretended receivers: some are deaf at times, and every try is noted.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use driftd::clock::Clock;
use driftd::deliver::Sender;
use driftd::model::notice::Message;
use driftd::receiver::error::{DeliveryError, Reason};
use jiff::Timestamp;

use super::story::{Deaf, Story};
use super::world::Skew;

/// Takes messages in place of all receivers.
#[derive(Debug)]
pub(super) struct PostOffice {
    story: Arc<Story>,
    clock: Clock,
    skew: Skew,
    tries: Mutex<Vec<Try>>,
}

/// One try to deliver a message.
#[derive(Clone, Debug)]
pub(super) struct Try {
    pub(super) message: Message,
    /// When it really was.
    pub(super) at: Timestamp,
    pub(super) taken: bool,
}

impl PostOffice {
    pub(super) fn new(story: Arc<Story>, clock: Clock, skew: Skew) -> Self {
        Self { story, clock, skew, tries: Mutex::default() }
    }

    /// How many tries there were.
    pub(super) fn tries(&self) -> usize {
        self.tries.lock().unwrap().len()
    }

    /// All of them, in order.
    pub(super) fn all(&self) -> Vec<Try> {
        self.tries.lock().unwrap().clone()
    }
}

impl Sender for PostOffice {
    async fn send(&self, message: &Message, _: Timestamp) -> Result<(), DeliveryError> {
        let at = self.skew.really(self.clock.now());
        let deaf = self.story.deaf(&message.receiver, at);
        self.tries.lock().unwrap().push(Try { message: message.clone(), at, taken: deaf.is_none() });
        match deaf {
            None => Ok(()),
            Some(Deaf::Down) => Err(DeliveryError::transient(Reason::Refused)),
            Some(Deaf::Busy(minutes)) => Err(DeliveryError::Transient {
                reason: Reason::RateLimited,
                code: Some(429),
                retry_after: Some(Duration::from_mins(minutes)),
            }),
            Some(Deaf::Refuses) => Err(DeliveryError::Permanent { reason: Reason::Rejected, code: Some(400) }),
        }
    }
}
