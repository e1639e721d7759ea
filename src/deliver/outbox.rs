//! What the loop asks of the store, of receivers and of metrics.

use std::error::Error;
use std::future::Future;

use jiff::Timestamp;

use super::condition::Say;
use crate::model::condition::{Condition, Fate};
use crate::model::notice::Message;
use crate::receiver::Receivers;
use crate::receiver::error::{DeliveryError, Reason};

/// The part of the store that holds what is owed.
pub trait Outbox: Send + Sync {
    /// What goes wrong with it.
    type Error: Error + Send + Sync + 'static;

    /// Folds the notices that are due into messages, in one transaction.
    fn fold_due(&self, now: Timestamp) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// The messages that are due: of each receiver the one that is due longest, so that a backlog of one neither
    /// crowds out another nor fills memory. A message waits while an older one of its receiver and incident is pending,
    /// so that nobody reads of an end before the beginning.
    fn due_messages(&self, now: Timestamp) -> impl Future<Output = Result<Vec<Message>, Self::Error>> + Send;

    /// When, after `now`, the next notice can be folded or the next message sent; in the past when some are due already.
    fn next_due(&self, now: Timestamp) -> impl Future<Output = Result<Option<Timestamp>, Self::Error>> + Send;

    /// How a receiver fares.
    fn condition(&self, receiver: &str) -> impl Future<Output = Result<Condition, Self::Error>> + Send;

    /// Records what a try came to, and tells the other receivers what there is to tell, in one transaction.
    fn record(&self, record: &Record, now: Timestamp) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// What a try came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The message's id.
    pub message: String,
    /// Its receiver.
    pub receiver: String,
    /// What becomes of the message.
    pub fate: Fate,
    /// How the receiver fares now.
    pub condition: Condition,
    /// What the other receivers are told about it.
    pub say: Option<Say>,
}

/// What delivers one message once.
pub trait Sender: Send + Sync + 'static {
    /// Tries to deliver `message` to the receiver it names, within a time limit of its own.
    fn send(&self, message: &Message, now: Timestamp) -> impl Future<Output = Result<(), DeliveryError>> + Send;
}

impl Sender for Receivers {
    async fn send(&self, message: &Message, now: Timestamp) -> Result<(), DeliveryError> {
        Self::send(self, message, now).await
    }
}

/// What is counted.
pub trait Tally: Send + Sync {
    /// A message was delivered.
    fn sent(&self, receiver: &str);
    /// A try failed, and there will be another.
    fn failed(&self, receiver: &str, reason: Reason);
    /// A message was given up.
    fn dead(&self, receiver: &str, reason: Reason);
    /// The store did not answer.
    fn store_failed(&self, operation: &'static str);
}
