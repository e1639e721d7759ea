//! The wall clock was put back: what was written under the later time would wait for that time to come again.

use std::time::Duration;

use jiff::Timestamp;

use super::columns::millis;
use super::{Result, Store};

/// A message waits for its next try at most so long: the longest wait of the schedule, doubled where its receiver asks.
const LONGEST_WAIT: Duration = Duration::from_hours(48);
/// A receiver rests at most so long, unless it is suspended.
const LONGEST_REST: Duration = Duration::from_mins(10);
/// From one try of a suspended receiver to the next.
const PROBE: Duration = Duration::from_hours(24);

/// Made just now, and due as long after that as it would have been.
const NOTICES: &str = "UPDATE notice SET due_at = CASE lane WHEN 'digest' THEN ?2 ELSE due_at - (at - ?1) END, at = ?1 \
     WHERE message IS NULL AND dropped = 0 AND at > ?1";
const MESSAGES: &str = "UPDATE message SET next_at = ?1 WHERE state = 'pending' AND next_at > ?1 \
     AND (at > ?1 OR next_at > ?2)";
const TOLD: &str = "UPDATE told SET at = ?1 WHERE at > ?1";
const RESTS: &str = "UPDATE condition SET not_before = ?1 \
     WHERE not_before > CASE WHEN suspended IS NULL THEN ?2 ELSE ?3 END";

impl Store {
    /// Has nothing that is owed wait for a time that was put back to `now`; a digest comes at `digest`.
    ///
    /// # Errors
    /// As SQLite says; nothing is changed then.
    pub async fn put_back(&self, now: Timestamp, digest: Timestamp) -> Result<()> {
        let after = |wait: Duration| millis(now.saturating_add(wait).unwrap_or(Timestamp::MAX));
        let mut writer = self.writer().await;
        let mut tx = writer.begin().await?;
        sqlx::query(NOTICES).bind(millis(now)).bind(millis(digest)).execute(&mut *tx).await?;
        sqlx::query(MESSAGES).bind(millis(now)).bind(after(LONGEST_WAIT)).execute(&mut *tx).await?;
        sqlx::query(TOLD).bind(millis(now)).execute(&mut *tx).await?;
        let rests = sqlx::query(RESTS).bind(millis(now)).bind(after(LONGEST_REST)).bind(after(PROBE));
        rests.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(())
    }
}
