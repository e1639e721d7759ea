//! Messages to receivers that left the configuration: they wait, and say so, until it is back or retention ends.

use jiff::Timestamp;

use super::columns::{millis, to_json};
use super::{Result, Store};

/// What such a message says of itself.
const GONE: &str = "the receiver left the configuration; the message waits until it is back";

const HOLD: &str = "UPDATE message SET next_at = ?, error = ? WHERE state = 'pending' AND receiver = ? AND next_at < ?";
const LET_GO: &str = "UPDATE message SET next_at = ?, error = NULL WHERE state = 'pending' AND error = ? \
     AND receiver IN (SELECT value FROM json_each(?))";

impl Store {
    /// Has the messages of `receiver` wait until `until`, when they are looked at again.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn hold_receiver(&self, receiver: &str, until: Timestamp) -> Result<()> {
        let mut writer = self.writer().await;
        let hold = sqlx::query(HOLD).bind(millis(until)).bind(GONE).bind(receiver).bind(millis(until));
        hold.execute(&mut writer.side.conn).await?;
        Ok(())
    }

    /// Has what waited for any of `receivers` sent now. Says how much.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn let_receivers_go(&self, receivers: &[String], now: Timestamp) -> Result<u64> {
        let mut writer = self.writer().await;
        let let_go = sqlx::query(LET_GO).bind(millis(now)).bind(GONE).bind(to_json(receivers)?);
        Ok(let_go.execute(&mut writer.side.conn).await?.rows_affected())
    }
}
