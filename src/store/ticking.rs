//! Which targets have something that only a clock moves: standing drifts, approvals and acks with an end.

use sqlx::SqliteConnection;

use super::Store;
use super::columns::Columns as _;
use super::error::StoreError;
use crate::model::target::TargetId;

const TICKING: &str = "SELECT target FROM drift WHERE ended_at IS NULL \
     UNION SELECT target FROM approval WHERE ended_at IS NULL AND until IS NOT NULL \
     UNION SELECT owner FROM incident WHERE ended_at IS NULL ORDER BY 1";

impl Store {
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
