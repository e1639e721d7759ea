//! What is done once a day: what is ours to tell is told.

use std::time::Duration;

use jiff::Timestamp;

use crate::operations::{Office, Refused};

/// From one time to the next; after a failure it is tried again at once, which is the next minute.
const DAY: Duration = Duration::from_hours(24);

/// When it was done last.
#[derive(Debug)]
pub(super) struct Daily(Timestamp);

impl Daily {
    /// It was done at `start`, before the first scan.
    pub(super) const fn new(start: Timestamp) -> Self {
        Self(start)
    }

    /// Does it where a day has gone.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn minute(&mut self, office: &Office, now: Timestamp) -> Result<(), Refused> {
        // A clock that was set back does not keep it waiting.
        if now.duration_since(self.0).unsigned_abs() < DAY {
            return Ok(());
        }
        office.tell_own_changes().await?;
        self.0 = now;
        Ok(())
    }
}
