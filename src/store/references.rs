//! Which values are referred to, by any row that keeps one from being pruned.
//!
//! Values are named in documents, where no foreign key sees them. A table that comes to refer to values is added here,
//! or pruning takes them away from under it.

use futures_util::TryStreamExt as _;
use sqlx::{Row as _, SqliteConnection};

use super::columns::{Columns as _, from_json};
use super::error::StoreError;
use super::snapshots;
use crate::model::digest::Digest;

/// Lists of digests, with whose they are.
const LISTS: &str = "SELECT 'a baseline' AS owner, value_digests AS digests FROM baseline \
     UNION ALL SELECT 'a drift', before_values FROM drift \
     UNION ALL SELECT 'a drift', after_values FROM drift \
     UNION ALL SELECT 'a drift', next_before FROM drift WHERE next_before IS NOT NULL \
     UNION ALL SELECT 'a drift', next_after FROM drift WHERE next_after IS NOT NULL";
const APPROVALS: &str = "SELECT value FROM approval WHERE value IS NOT NULL";
const SNAPSHOTS: &str = "SELECT manifest FROM snapshot";

/// Calls `found` with each digest that is referred to, and what refers to it.
pub(super) async fn each(
    conn: &mut SqliteConnection,
    mut found: impl FnMut(&'static str, Digest) + Send,
) -> Result<(), StoreError> {
    let mut rows = sqlx::query(LISTS).fetch(&mut *conn);
    while let Some(row) = rows.try_next().await? {
        let owner = if row.text("owner")? == "a drift" { "a drift" } else { "a baseline" };
        let digests: Vec<Digest> = row.json("digests")?;
        digests.into_iter().for_each(|digest| found(owner, digest));
    }
    drop(rows);
    let mut rows = sqlx::query(APPROVALS).fetch(&mut *conn);
    while let Some(row) = rows.try_next().await? {
        found("an approval", row.digest("value")?);
    }
    drop(rows);
    let mut rows = sqlx::query(SNAPSHOTS).fetch(conn);
    while let Some(row) = rows.try_next().await? {
        let manifest: String = row.try_get("manifest")?;
        let views = snapshots::views(&from_json("snapshot", manifest.as_bytes())?);
        views.into_iter().for_each(|digest| found("a snapshot", digest));
    }
    Ok(())
}
