//! What befalls the whole fleet at once: that we are offline ourselves, rounds after a gap, the first round of new
//! targets.
//!
//! It remembers where each of that stands, across restarts by marks in the store, and tells of it. How one target is
//! judged is `scan`'s and `judge`'s; what is said is `judge::report`'s.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::model::bulletin::Bulletin;
use crate::model::fleet::{Blindness, Gap, Times};
use crate::model::settlement::HistoryLine;
use crate::plan::InForce;
use crate::store::{Store, StoreError, marks};

mod offline;
mod rounds;
mod self_check;

pub use offline::Weighed;

use offline::Sky;
use self_check::SelfChecker;

/// What is known of the fleet as a whole.
#[derive(Debug)]
pub struct Fleet {
    store: Store,
    clock: Clock,
    metrics: Arc<Metrics>,
    wake_delivery: Arc<Notify>,
    plan: InForce,
    sky: Mutex<Sky>,
    gap: Mutex<Option<Kept>>,
    checker: SelfChecker,
}

/// A gap, and whether the store knows of it.
#[derive(Clone, Copy, Debug)]
struct Kept {
    gap: Gap,
    stored: bool,
}

impl Fleet {
    /// A fleet of which nothing is known yet; see [`Fleet::resume`].
    pub fn new(store: Store, clock: Clock, metrics: Arc<Metrics>, wake_delivery: Arc<Notify>, plan: InForce) -> Self {
        Self {
            store,
            clock,
            metrics,
            wake_delivery,
            plan,
            sky: Mutex::default(),
            gap: Mutex::default(),
            checker: SelfChecker::default(),
        }
    }

    /// Takes up what the store knows: an offline time or a round that is not over, and whether it was put back from a
    /// backup. `last_look` is when somebody looked last, where that is too long ago.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume(&self, last_look: Option<Timestamp>) -> Result<(), StoreError> {
        let blind: Option<Blindness> = self.stored(marks::BLIND).await?;
        let until = self.store.mark(marks::BLIND_UNTIL).await?.and_then(|at| at.parse().ok());
        self.metrics.self_offline.set(i64::from(blind.is_some()));
        self.sky().resume(blind, until);
        if let Some(gap) = self.stored(marks::GAP).await? {
            *self.gap() = Some(Kept { gap, stored: true });
        }
        rounds::begin(self, last_look).await
    }

    /// How what is settled at `now` stands to what befell the fleet.
    pub fn times(&self, now: Timestamp) -> Times {
        let gap = self.gap().map(|kept| kept.gap).filter(|gap| gap.covers(now));
        Times { blind_until: self.sky().until(), gap }
    }

    /// The minute's work: whether we are back, whether a round is over, who is new.
    ///
    /// # Errors
    /// When the store fails; what was not told is told the next time.
    pub async fn minute(&self, door: &crate::net::Door) -> Result<(), StoreError> {
        self.look_up(door).await?;
        rounds::minute(self).await
    }

    fn sky(&self) -> MutexGuard<'_, Sky> {
        self.sky.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gap(&self) -> MutexGuard<'_, Option<Kept>> {
        self.gap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A mark that holds a document; one that cannot be read is none.
    async fn stored<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<Option<T>, StoreError> {
        let text = self.store.mark(name).await?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }

    async fn store_mark(&self, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
        let text = serde_json::to_string(value).map_err(|error| StoreError::Other(error.to_string()))?;
        self.store.writer().await.set_mark(name, Some(&text)).await
    }

    /// Posts to every receiver: it is about nobody's target alone.
    async fn post(&self, bulletin: Bulletin, now: Timestamp) -> Result<(), StoreError> {
        let plan = self.plan.plan();
        self.store.writer().await.post(&[bulletin], &plan.receivers, now).await?;
        self.wake_delivery.notify_one();
        Ok(())
    }

    async fn note(&self, event: &str, text: String, at: Timestamp) -> Result<(), StoreError> {
        let line = HistoryLine { at, event: event.to_owned(), place: None, drift: None, incident: None, text };
        self.store.writer().await.note(&line).await
    }
}
