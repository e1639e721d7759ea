//! What the loop asks of the store, of receivers and of metrics.

use std::error::Error;
use std::future::Future;

use jiff::Timestamp;

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

    /// When the next notice can be folded or the next message sent; in the past when some are due already.
    fn next_due(&self) -> impl Future<Output = Result<Option<Timestamp>, Self::Error>> + Send;

    /// The message was delivered.
    fn mark_sent(&self, id: &str, at: Timestamp) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// The try failed, and there will be another.
    fn mark_failed(
        &self,
        id: &str,
        attempts: u32,
        next_at: Timestamp,
        error: &str,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// The message is given up.
    fn mark_dead(&self, id: &str, attempts: u32, error: &str) -> impl Future<Output = Result<(), Self::Error>> + Send;
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
