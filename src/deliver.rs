//! The outbox loop: fold due notices, send due messages, back off, give up loudly.
//!
//! Decides when a message is tried and what becomes of it. How it travels is `receiver`'s, what is owed and in which
//! order is the store's, how notices become messages is `judge::notices`'.
//!
//! Each receiver is sent to by one task at a time, so that a slow one delays nobody else and a recovering one is not
//! flooded. A receiver stays taken until the outcome of its try is recorded: if the store cannot be written just then,
//! a message that was delivered is not delivered over and over. A crash between send and mark does repeat it, under the
//! same id; that is what at least once means.

pub mod condition;
mod outbox;
mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rand::Rng;
use tokio::sync::Notify;
use tokio::task::{Id, JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

pub use self::outbox::{Outbox, Record, Sender, Tally};
use self::record::Done;
use crate::clock::Clock;
use crate::crash::{self, Point, Stall};
use crate::model::notice::Message;
use crate::pulse::{For, Pulse};
use crate::receiver::error::DeliveryError;

/// Tries at the same time, over all receivers: each has one, and there are fewer receivers than this.
const CONCURRENCY: usize = 256;

/// The wait before what could not be done is looked at again: the store failed, or what is due waits for its receiver.
const PAUSE: Duration = Duration::from_secs(1);

/// The loop looks this often at least, whether or not somebody woke it.
const LOOK: Duration = Duration::from_mins(1);

/// Within what time the loop comes round, waiting for the store not counted.
pub const ROUND: Duration = Duration::from_mins(3);

/// How long tries under way may take to end when the loop is told to stop. One that takes longer is given back: its
/// message waits in the store and is sent again, under its id, by the next daemon.
const DRAIN: Duration = Duration::from_secs(10);

/// The loop's parts.
pub struct Delivery<O, S, T> {
    outbox: O,
    sender: Arc<S>,
    tally: T,
    clock: Clock,
    wake: Arc<Notify>,
}

impl<O: Outbox, S: Sender, T: Tally> Delivery<O, S, T> {
    /// Puts the parts together. `wake` is notified after each commit that may owe something.
    pub const fn new(outbox: O, sender: Arc<S>, tally: T, clock: Clock, wake: Arc<Notify>) -> Self {
        Self { outbox, sender, tally, clock, wake }
    }

    /// Delivers until `stop`, then lets the tries under way end, for a moment, and records them. A failing store ends
    /// nothing: it is told and asked again.
    pub async fn run(self, mut rng: impl Rng, stop: CancellationToken, pulse: Pulse) {
        let mut tries = Tries::default();
        while !stop.is_cancelled() {
            pulse.moved();
            crash::stall(Stall::Delivery);
            let wake_at = pulse.wait(For::Disk, self.round(&mut tries, &mut rng)).await;
            tokio::select! {
                () = stop.cancelled() => {}
                () = self.wake.notified() => {}
                () = wait(&self.clock, wake_at) => {}
                () = tokio::time::sleep(LOOK) => {}
                ended = tries.next() => tries.ended(ended),
            }
        }
        pulse.wait(For::Network, tries.drain()).await;
        pulse.wait(For::Disk, self.record(&mut tries, &mut rng)).await;
    }

    /// Records, folds and starts what there is; when to look again.
    async fn round(&self, tries: &mut Tries, rng: &mut impl Rng) -> Option<Timestamp> {
        self.record(tries, rng).await;
        // One instant for the round: what becomes due while it is made is for the next one, and not for a pause later.
        let now = self.clock.now();
        self.fold(now).await;
        self.start(tries, now).await;
        self.wake_at(tries, now).await
    }

    async fn fold(&self, now: Timestamp) {
        if let Err(error) = self.outbox.fold_due(now).await {
            self.store_failed("fold", &error);
        }
    }

    /// Starts a try for each receiver that is free and has a message due.
    async fn start(&self, tries: &mut Tries, now: Timestamp) {
        let messages = match self.outbox.due_messages(now).await {
            Ok(messages) => messages,
            Err(error) => return self.store_failed("due_messages", &error),
        };
        for message in messages {
            if tries.running.len() >= CONCURRENCY {
                break;
            }
            if tries.taken.insert(message.receiver.clone()) {
                tries.start(Arc::clone(&self.sender), message, now);
            }
        }
    }

    /// Records the outcome of each ended try. What cannot be recorded is kept for the next round.
    async fn record(&self, tries: &mut Tries, rng: &mut impl Rng) {
        let now = self.clock.now();
        for mut done in std::mem::take(&mut tries.ended) {
            let recorded = match self.decided(&mut done, now, rng).await {
                Ok(record) => self.outbox.record(&record, now).await,
                Err(error) => Err(error),
            };
            match recorded {
                Ok(()) => {
                    tries.taken.remove(&done.message.receiver);
                }
                Err(error) => {
                    self.store_failed("mark", &error);
                    tries.ended.push(done);
                }
            }
        }
    }

    /// What the try of `done` came to: decided once, and told once, whether or not it can be recorded.
    async fn decided(&self, done: &mut Done, now: Timestamp, rng: &mut impl Rng) -> Result<Record, O::Error> {
        if let Some(record) = &done.record {
            return Ok(record.clone());
        }
        let condition = self.outbox.condition(&done.message.receiver).await?;
        let record = record::judge(done, &condition, now, rng);
        record::tell(&self.tally, done, &record);
        done.record = Some(record.clone());
        Ok(record)
    }

    /// When to look again if nothing happens before, after a round at `now`.
    async fn wake_at(&self, tries: &Tries, now: Timestamp) -> Option<Timestamp> {
        let soon = now.saturating_add(PAUSE).unwrap_or(Timestamp::MAX);
        let due = match self.outbox.next_due(now).await {
            // Due, and not started: its receiver is taken, or the store would not say what it is.
            Ok(due) => due.map(|due| if due <= now { soon } else { due }),
            Err(error) => {
                self.store_failed("next_due", &error);
                Some(soon)
            }
        };
        let unrecorded = (!tries.ended.is_empty()).then_some(soon);
        due.into_iter().chain(unrecorded).min()
    }

    fn store_failed(&self, operation: &'static str, error: &O::Error) {
        tracing::error!(operation, %error, "the outbox could not be read or written");
        self.tally.store_failed(operation);
    }
}

impl<O, S, T> fmt::Debug for Delivery<O, S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery").field("clock", &self.clock).finish_non_exhaustive()
    }
}

async fn wait(clock: &Clock, instant: Option<Timestamp>) {
    match instant {
        Some(instant) => clock.wait_until(instant).await,
        None => std::future::pending().await,
    }
}

/// The tries under way, and those that wait for their outcome to be recorded.
#[derive(Debug, Default)]
struct Tries {
    running: JoinSet<Result<(), DeliveryError>>,
    messages: BTreeMap<Id, Message>,
    ended: Vec<Done>,
    taken: BTreeSet<String>,
}

type Ended = Result<(Id, Result<(), DeliveryError>), JoinError>;

impl Tries {
    fn start<S: Sender>(&mut self, sender: Arc<S>, message: Message, now: Timestamp) {
        let sent = message.clone();
        let handle = self.running.spawn(async move {
            crash::point(Point::BeforeSend);
            let outcome = sender.send(&sent, now).await;
            crash::point(Point::AfterSend);
            outcome
        });
        self.messages.insert(handle.id(), message);
    }

    /// Lets the tries under way end; what takes too long is left to the next daemon.
    async fn drain(&mut self) {
        let ends = async {
            while !self.running.is_empty() {
                let ended = self.next().await;
                self.ended(ended);
            }
        };
        if tokio::time::timeout(DRAIN, ends).await.is_err() {
            tracing::info!(
                messages = self.running.len(),
                "messages under way are given back and sent after the next start"
            );
            self.running.shutdown().await;
        }
    }

    /// The next try to end; never, while none is under way.
    fn next(&mut self) -> impl Future<Output = Ended> {
        let running = &mut self.running;
        async {
            match running.join_next_with_id().await {
                Some(ended) => ended,
                None => std::future::pending().await,
            }
        }
    }

    fn ended(&mut self, ended: Ended) {
        let (id, outcome) = match ended {
            Ok((id, outcome)) => (id, outcome.map_err(record::Failure::from)),
            Err(error) => (error.id(), Err(record::Failure::Panicked)),
        };
        if let Some(message) = self.messages.remove(&id) {
            self.ended.push(Done { message, outcome, record: None });
        }
    }
}

#[cfg(test)]
mod tests;
