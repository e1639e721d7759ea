//! Snapshots, content-addressed: a manifest names what was seen and absent; what one scan adds to that (how it
//! asked, what it watched, checked and did not see) is kept once a run, for the newest scan.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::columns::{Columns as _, from_json, to_json};
use super::error::StoreError;
use super::prefix::DigestPrefix;
use super::runs::Buffered;
use super::values::{self, Shelf, unpack};
use super::views::{Found, StoredSnapshot};
use crate::model::digest::Digest;
use crate::model::facet::{FacetName, FacetState, SeenFacet, Stability, UnseenReason};
use crate::model::json::Json;
use crate::model::observation::{Asked, Detection};
use crate::model::snapshot::{Check, Coverage, Snapshot};
use crate::model::target::TargetId;

pub(super) const LATEST: &str = "SELECT run.id, run.outcome, run.to_at, run.to_seq, run.scans, run.detail, run.detail_size, \
     snapshot.digest, snapshot.model, snapshot.manifest FROM run JOIN snapshot ON snapshot.digest = run.snapshot \
     WHERE run.target = ? ORDER BY run.id DESC LIMIT 1";
pub(super) const OF_DIGEST: &str = "SELECT run.id, run.outcome, run.to_at, run.to_seq, run.scans, run.detail, run.detail_size, \
     snapshot.digest, snapshot.model, snapshot.manifest FROM run JOIN snapshot ON snapshot.digest = run.snapshot \
     WHERE run.target = ? AND run.snapshot = ? ORDER BY run.id DESC LIMIT 1";
pub(super) const BY_PREFIX: &str =
    "SELECT DISTINCT snapshot FROM run WHERE target = ? AND snapshot BETWEEN ? AND ? LIMIT 2";

/// What a snapshot's digest stands for.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub(super) enum Entry {
    Seen {
        digest: Digest,
        views: Vec<Digest>,
    },
    Absent {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
}

pub(super) type Manifest = BTreeMap<FacetName, Entry>;

/// The values that a manifest names.
pub(super) fn views(manifest: &Manifest) -> Vec<Digest> {
    let views = manifest.values().filter_map(|entry| match entry {
        Entry::Seen { views, .. } => Some(views),
        Entry::Absent { .. } => None,
    });
    views.flatten().copied().collect()
}

/// What one scan adds to its snapshot. Nothing in it may differ between two scans of a peer that stands still.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ScanDetail {
    asked: Asked,
    pub(super) coverage: BTreeMap<FacetName, Coverage>,
    mcp: Detection,
    pub(super) checks: Vec<Check>,
    pub(super) unseen: BTreeMap<FacetName, UnseenReason>,
    seen: BTreeMap<FacetName, SeenDetail>,
}

/// What a facet's digest leaves out.
#[derive(Debug, Serialize, Deserialize)]
struct SeenDetail {
    volatile: Json,
    stability: Stability,
    ambiguities: Vec<String>,
}

impl ScanDetail {
    pub(super) fn of(scan: &Snapshot) -> Self {
        let mut unseen = BTreeMap::new();
        let mut seen = BTreeMap::new();
        for (name, state) in &scan.facets {
            match state {
                FacetState::Seen(facet) => {
                    let detail = SeenDetail {
                        volatile: facet.volatile.clone(),
                        // Which connection a read went over changes from scan to scan and says nothing of the peer.
                        stability: Stability { fresh: false, ..facet.stability },
                        ambiguities: facet.ambiguities.clone(),
                    };
                    seen.insert(*name, detail);
                }
                FacetState::Absent { .. } => {}
                FacetState::Unseen { reason } => {
                    unseen.insert(*name, reason.clone());
                }
            }
        }
        Self {
            asked: scan.asked.clone(),
            coverage: scan.coverage.clone(),
            mcp: scan.mcp.clone(),
            checks: scan.checks.clone(),
            unseen,
            seen,
        }
    }

    pub(super) fn text(&self) -> Result<String, StoreError> {
        to_json(self)
    }
}

/// Stores what `scan` saw, if it is new.
pub(super) async fn put(conn: &mut SqliteConnection, scan: &Snapshot) -> Result<(), StoreError> {
    let known = sqlx::query("SELECT 1 FROM snapshot WHERE digest = ?")
        .bind(&scan.digest.bytes()[..])
        .fetch_optional(&mut *conn)
        .await?;
    if known.is_some() {
        return Ok(());
    }
    let mut manifest = Manifest::new();
    for (name, state) in &scan.facets {
        let entry = match state {
            FacetState::Seen(facet) => {
                Entry::Seen { digest: facet.digest, views: values::put_all(&mut *conn, &facet.views).await? }
            }
            FacetState::Absent { note } => Entry::Absent { note: note.clone() },
            FacetState::Unseen { .. } => continue,
        };
        manifest.insert(*name, entry);
    }
    sqlx::query("INSERT INTO snapshot (digest, model, manifest) VALUES (?, ?, ?)")
        .bind(&scan.digest.bytes()[..])
        .bind(scan.model)
        .bind(to_json(&manifest)?)
        .execute(conn)
        .await?;
    Ok(())
}

/// The snapshot of the newest scan; what is buffered is laid over.
pub(super) async fn latest(
    conn: &mut SqliteConnection,
    target: &TargetId,
    buffered: Option<&Buffered>,
) -> Result<Option<StoredSnapshot>, StoreError> {
    let row = sqlx::query(LATEST).bind(target.as_str()).fetch_optional(&mut *conn).await?;
    match row {
        Some(row) => assemble(conn, &row, buffered).await.map(Some),
        None => Ok(None),
    }
}

/// The one snapshot of `target` whose digest begins with `prefix`.
pub(super) async fn by_prefix(
    conn: &mut SqliteConnection,
    target: &TargetId,
    prefix: &DigestPrefix,
    buffered: Option<&Buffered>,
) -> Result<Found<StoredSnapshot>, StoreError> {
    let digests = sqlx::query(BY_PREFIX)
        .bind(target.as_str())
        .bind(prefix.first())
        .bind(prefix.last())
        .fetch_all(&mut *conn)
        .await?;
    let digest = match digests.as_slice() {
        [] => return Ok(Found::None),
        [one] => one.digest("snapshot")?,
        [_, _, ..] => return Ok(Found::Several),
    };
    let row = sqlx::query(OF_DIGEST).bind(target.as_str()).bind(&digest.bytes()[..]).fetch_one(&mut *conn).await?;
    assemble(conn, &row, buffered).await.map(Found::One)
}

async fn assemble(
    conn: &mut SqliteConnection,
    row: &SqliteRow,
    buffered: Option<&Buffered>,
) -> Result<StoredSnapshot, StoreError> {
    let ahead = buffered.map(|buffered| buffered.of_run(row)).transpose()?.flatten();
    let mut detail: ScanDetail = match ahead.as_ref().and_then(|run| run.detail.as_ref()) {
        Some(detail) => from_json("scan", detail.as_bytes())?,
        None => from_json("scan", &unpack("scan", row.bytes("detail")?, row.u64("detail_size")?)?)?,
    };
    let manifest: Manifest = row.json("manifest")?;
    let mut shelf = Shelf::default();
    for entry in manifest.values() {
        if let Entry::Seen { views, .. } = entry {
            shelf.want(views);
        }
    }
    shelf.load(conn).await?;
    let mut facets = BTreeMap::new();
    for (name, entry) in manifest {
        let state = match entry {
            Entry::Seen { digest, views } => seen(digest, shelf.get(&views)?, detail.seen.remove(&name)),
            Entry::Absent { note } => FacetState::Absent { note },
        };
        facets.insert(name, state);
    }
    let unseen = detail.unseen.into_iter();
    facets.extend(unseen.map(|(name, reason)| (name, FacetState::Unseen { reason })));
    let at: Timestamp = ahead.map_or_else(|| row.time("to_at"), |run| Ok(run.to_at))?;
    Ok(StoredSnapshot {
        digest: row.digest("digest")?,
        model: row.u32("model")?,
        at,
        outcome: row.variant("outcome")?,
        facets,
        asked: detail.asked,
        coverage: detail.coverage,
        mcp: detail.mcp,
        checks: detail.checks,
    })
}

fn seen(digest: Digest, views: Vec<Json>, detail: Option<SeenDetail>) -> FacetState {
    let detail = detail.unwrap_or_else(|| SeenDetail {
        volatile: Json::object(),
        stability: Stability::default(),
        ambiguities: Vec::new(),
    });
    FacetState::Seen(SeenFacet {
        views,
        digest,
        volatile: detail.volatile,
        stability: detail.stability,
        ambiguities: detail.ambiguities,
    })
}
