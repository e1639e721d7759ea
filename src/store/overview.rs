//! What a list of targets says of each beside its row: two queries for all of them.

use std::collections::BTreeMap;

use sqlx::SqliteConnection;

use super::columns::Columns as _;
use super::error::StoreError;
use super::runs::Buffered;
use super::{Result, Store};
use crate::model::facet::FacetName;
use crate::model::memory::FacetMemory;
use crate::model::target::TargetId;

const HELD: &str = "SELECT target, count(*) AS facets FROM baseline WHERE ended_at IS NULL GROUP BY target";
const AWAITING: &str = "SELECT memory.target, count(*) AS facets FROM memory, json_each(memory.facets) AS facet \
     WHERE facet.value ->> 'awaiting_approval' GROUP BY memory.target";

/// How far a target's facets are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overview {
    /// Facets in its baseline.
    pub held: u32,
    /// Facets that wait for a person.
    pub awaiting: u32,
}

impl Overview {
    /// Of what is remembered of a target's facets.
    pub fn awaiting(facets: &BTreeMap<FacetName, FacetMemory>) -> u32 {
        u32::try_from(facets.values().filter(|facet| facet.awaiting_approval).count()).unwrap_or(u32::MAX)
    }
}

impl Store {
    /// How far each target's facets are held; one of which there is nothing to say is not in it.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn overviews(&self) -> Result<BTreeMap<TargetId, Overview>> {
        let ahead = self.inner.buffer.all();
        let mut all = load(&mut *self.read().await?).await?;
        for (target, buffered) in ahead {
            match buffered {
                Buffered::Whole { memory, .. } => {
                    all.entry(target).or_default().awaiting = Overview::awaiting(&memory.facets);
                }
                Buffered::Tail(_) => {}
            }
        }
        Ok(all)
    }
}

async fn load(conn: &mut SqliteConnection) -> std::result::Result<BTreeMap<TargetId, Overview>, StoreError> {
    let mut all: BTreeMap<TargetId, Overview> = BTreeMap::new();
    for row in sqlx::query(HELD).fetch_all(&mut *conn).await? {
        all.entry(row.parsed("target")?).or_default().held = row.u32("facets")?;
    }
    for row in sqlx::query(AWAITING).fetch_all(conn).await? {
        all.entry(row.parsed("target")?).or_default().awaiting = row.u32("facets")?;
    }
    Ok(all)
}
