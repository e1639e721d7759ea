//! When what is old is pruned: some steps a minute until a sweep is done, then nothing for an hour.

use std::time::Duration;

use jiff::Timestamp;

use crate::model::settings::Retention;
use crate::store::{Horizon, Step, Store, StoreError, Sweep};

/// Steps in one minute: each holds the writer for some milliseconds, and scans are settled in between.
const STEPS: u32 = 40;

/// From the end of one sweep to the beginning of the next.
const REST: Duration = Duration::from_hours(1);

/// How far it has come.
#[derive(Debug, Default)]
pub(super) struct Pruning {
    sweep: Sweep,
    /// When the last sweep was done.
    done_at: Option<Timestamp>,
}

impl Pruning {
    /// Takes the minute's steps.
    ///
    /// # Errors
    /// When the store cannot be read or written; the sweep goes on from there.
    pub(super) async fn minute(
        &mut self,
        store: &Store,
        retention: Retention,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        // A clock that was set back does not keep it resting.
        let rests = |done: Timestamp| now.duration_since(done).unsigned_abs() < REST;
        if self.done_at.is_some_and(rests) {
            return Ok(());
        }
        let horizon = horizon(retention, now);
        for _ in 0..STEPS {
            match store.prune(&mut self.sweep, &horizon).await? {
                Step::More => {}
                Step::Done => {
                    self.done_at = Some(now);
                    break;
                }
            }
        }
        Ok(())
    }
}

fn horizon(retention: Retention, now: Timestamp) -> Horizon {
    let before = |age: Duration| now.checked_sub(age).unwrap_or(Timestamp::MIN);
    Horizon { history: before(retention.history), outbox: before(retention.outbox) }
}
