//! Which targets have something that only a clock moves: standing drifts, approvals and acks with an end.

use sqlx::SqliteConnection;

use super::Store;
use super::columns::Columns as _;
use super::error::StoreError;
use crate::model::target::TargetId;

const JUDGED_OTHERWISE: &str = "SELECT memory.target FROM memory JOIN target ON target.id = memory.target \
     WHERE target.state = 'active' AND memory.scans ->> '$.ours.rules' <> ? ORDER BY 1";
const TICKING: &str = "SELECT target FROM drift WHERE ended_at IS NULL \
     UNION SELECT target FROM approval WHERE ended_at IS NULL AND until IS NOT NULL \
     UNION SELECT owner FROM incident WHERE ended_at IS NULL ORDER BY 1";

/// The retired of whom something stands: settled as retired, nothing would.
const UNSETTLED: &str = "SELECT drift.target FROM drift JOIN target ON target.id = drift.target \
     WHERE drift.ended_at IS NULL AND target.state = 'retired' \
     UNION SELECT incident.owner FROM incident JOIN target ON target.id = incident.owner \
     WHERE incident.ended_at IS NULL AND target.state = 'retired' ORDER BY 1";

impl Store {
    /// Targets that left the inventory and of which something still stands: a stop or a failure came in between.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn unsettled(&self) -> Result<Vec<TargetId>, StoreError> {
        let rows = sqlx::query(UNSETTLED).fetch_all(&mut *self.read().await?).await?;
        rows.iter().map(|row| row.parsed("target")).collect()
    }

    /// Targets of the inventory whose last scan was judged by another rule set than `rules`.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn judged_otherwise(&self, rules: &str) -> Result<Vec<TargetId>, StoreError> {
        let rows = sqlx::query(JUDGED_OTHERWISE).bind(rules).fetch_all(&mut *self.read().await?).await?;
        rows.iter().map(|row| row.parsed("target")).collect()
    }

    /// Targets of which something can change without a scan.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn ticking(&self) -> Result<Vec<TargetId>, StoreError> {
        ticking(&mut *self.read().await?).await
    }
}

async fn ticking(conn: &mut SqliteConnection) -> Result<Vec<TargetId>, StoreError> {
    let rows = sqlx::query(TICKING).fetch_all(conn).await?;
    rows.iter().map(|row| row.parsed("target")).collect()
}
