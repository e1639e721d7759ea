//! What scanning goes on from when a daemon starts: of many targets at once, in three queries, and
//! without any of the values they are held to.

use std::collections::BTreeMap;

use futures_util::TryStreamExt as _;
use jiff::Timestamp;
use serde::Deserialize;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::columns::{Columns as _, from_json, to_json};
use super::error::StoreError;
use super::memory::Quiet;
use super::runs::Buffered;
use super::values::Unpacker;
use super::views::{LastScan, Resumed, Standing};
use crate::model::facet::{FacetName, UnseenReason};
use crate::model::observation::DetectionState;
use crate::model::snapshot::Coverage;
use crate::model::target::TargetId;

pub(super) const MEMORIES: &str = "SELECT memory.target, memory.scans, memory.facets, memory.recheck, \
     memory.quiet_scans, memory.quiet_at, memory.quiet_fresh \
     FROM json_each(?) AS wanted CROSS JOIN memory ON memory.target = wanted.value";
pub(super) const STANDING: &str = "SELECT drift.target, drift.facet, drift.path, drift.rule, drift.state, drift.suppressed IS NULL AS told \
     FROM json_each(?) AS wanted CROSS JOIN drift ON drift.target = wanted.value WHERE drift.ended_at IS NULL";
pub(super) const LAST: &str = "SELECT run.id, run.target, run.outcome, run.to_seq, run.scans, run.detail, \
     run.detail_size \
     FROM json_each(?) AS wanted CROSS JOIN run ON run.id = (SELECT max(id) FROM run WHERE target = wanted.value)";

/// Of what one scan adds to its snapshot, that which says what was watched; the rest is read over.
#[derive(Deserialize)]
struct Detail {
    coverage: BTreeMap<FacetName, Coverage>,
    mcp: Detected,
    unseen: BTreeMap<FacetName, UnseenReason>,
}

/// Of what is remembered of a facet, when it was seen; the rest is read over.
#[derive(Deserialize)]
struct Seen {
    last_seen: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Detected {
    state: DetectionState,
}

/// See [`super::Store::resume`]. What is buffered is laid over the rows it is ahead of.
pub(super) async fn load(
    conn: &mut SqliteConnection,
    targets: &[TargetId],
    ahead: BTreeMap<TargetId, Buffered>,
) -> Result<BTreeMap<TargetId, Resumed>, StoreError> {
    let mut resumed = BTreeMap::new();
    let wanted = to_json(targets)?;
    memories(conn, &wanted, &mut resumed).await?;
    standing(conn, &wanted, &mut resumed).await?;
    last(conn, &wanted, &ahead, &mut resumed).await?;
    for (target, ahead) in ahead {
        resumed.entry(target).or_default().overlay(ahead);
    }
    Ok(resumed)
}

impl Resumed {
    fn overlay(&mut self, ahead: Buffered) {
        match ahead {
            Buffered::Whole { memory, .. } if self.scans.seq <= memory.scans.seq => {
                let seen = memory.facets.into_iter().filter_map(|(name, facet)| Some((name, facet.last_seen?)));
                self.last_seen = seen.collect();
                self.scans = memory.scans;
                self.recheck = memory.recheck;
            }
            Buffered::Tail(tail) if self.scans.seq < tail.seq => self.lengthen(&tail.quiet),
            Buffered::Whole { .. } | Buffered::Tail(_) => {}
        }
    }

    fn lengthen(&mut self, quiet: &Quiet) {
        let last = self.scans.last_at;
        self.last_seen.values_mut().filter(|seen| Some(**seen) == last).for_each(|seen| *seen = quiet.at);
        quiet.lengthen(&mut self.scans);
        self.recheck = None;
    }
}

type All = BTreeMap<TargetId, Resumed>;

async fn memories(conn: &mut SqliteConnection, wanted: &str, all: &mut All) -> Result<(), StoreError> {
    let mut rows = sqlx::query(MEMORIES).bind(wanted).fetch(conn);
    while let Some(row) = rows.try_next().await? {
        let facets: BTreeMap<FacetName, Seen> = row.json("facets")?;
        let entry = entry(all, &row)?;
        entry.last_seen = facets.into_iter().filter_map(|(name, facet)| Some((name, facet.last_seen?))).collect();
        entry.scans = row.json("scans")?;
        entry.recheck = row.maybe_time("recheck")?;
        if let Some(quiet) = Quiet::of(&row)? {
            entry.lengthen(&quiet);
        }
    }
    Ok(())
}

async fn standing(conn: &mut SqliteConnection, wanted: &str, all: &mut All) -> Result<(), StoreError> {
    let mut rows = sqlx::query(STANDING).bind(wanted).fetch(conn);
    while let Some(row) = rows.try_next().await? {
        let standing = Standing {
            facet: row.parsed("facet")?,
            path: row.json("path")?,
            rule: row.text("rule")?.to_owned(),
            state: row.variant("state")?,
            told: row.flag("told")?,
        };
        entry(all, &row)?.standing.push(standing);
    }
    Ok(())
}

async fn last(
    conn: &mut SqliteConnection,
    wanted: &str,
    ahead: &BTreeMap<TargetId, Buffered>,
    all: &mut All,
) -> Result<(), StoreError> {
    let mut unpacker = Unpacker::new()?;
    let mut rows = sqlx::query(LAST).bind(wanted).fetch(conn);
    while let Some(row) = rows.try_next().await? {
        let buffered = ahead.get(&row.parsed("target")?);
        let ahead = buffered.map(|buffered| buffered.of_run(&row)).transpose()?.flatten();
        let detail: Detail = match ahead.and_then(|run| run.detail) {
            Some(detail) => from_json("scan", detail.as_bytes())?,
            None => from_json("scan", &unpacker.unpack("scan", row.bytes("detail")?, row.u64("detail_size")?)?)?,
        };
        entry(all, &row)?.last = Some(LastScan {
            outcome: row.variant("outcome")?,
            mcp: detail.mcp.state,
            coverage: detail.coverage,
            unseen: detail.unseen,
        });
    }
    Ok(())
}

fn entry<'a>(all: &'a mut All, row: &SqliteRow) -> Result<&'a mut Resumed, StoreError> {
    Ok(all.entry(row.parsed("target")?).or_default())
}
