//! What targets are held to, and who accepted it. An acceptance never changes; it ends when a newer one stands.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::columns::{Columns as _, count, millis, path_text, to_json, word};
use super::error::StoreError;
use super::values::{self, Shelf};
use crate::model::baseline::{Approval, BaselineFacet, EndedWhy};
use crate::model::digest::Digest;
use crate::model::facet::FacetName;
use crate::model::pointer::Pointer;
use crate::model::settlement::Recomputed;
use crate::model::target::TargetId;

pub(super) const LIVING: &str = "SELECT facet, digest, value_digests, at, accepted_by, reason, asked, model, entry, \
     reviewed FROM baseline WHERE target = ? AND ended_at IS NULL";
pub(super) const BY_PERSON: &str = "SELECT facet, digest, value_digests, at, accepted_by, reason, asked, model, \
     entry, reviewed FROM baseline WHERE id IN \
     (SELECT max(id) FROM baseline WHERE target = ? AND reviewed = 1 GROUP BY facet) AND ended_at IS NOT NULL";
pub(super) const APPROVALS: &str = "SELECT facet, path, value, at, accepted_by, until, entry FROM approval \
     WHERE target = ? AND ended_at IS NULL ORDER BY id";

/// An acceptance whose values are still to be fetched.
#[derive(Debug)]
pub(super) struct Held {
    entry: BaselineFacet,
    values: Vec<Digest>,
}

impl Held {
    pub(super) fn want(&self, shelf: &mut Shelf) {
        shelf.want(&self.values);
    }

    fn read(row: &SqliteRow) -> Result<Self, StoreError> {
        let entry = BaselineFacet {
            facet: row.parsed("facet")?,
            values: Vec::new(),
            digest: row.maybe_digest("digest")?,
            at: row.time("at")?,
            by: row.text("accepted_by")?.to_owned(),
            reason: row.maybe_text("reason")?.map(str::to_owned),
            asked: row.json("asked")?,
            model: row.u32("model")?,
            entry: row.u64("entry")?,
            reviewed: row.flag("reviewed")?,
        };
        Ok(Self { entry, values: row.json("value_digests")? })
    }
}

/// Fetches the values of `held` from the shelf.
pub(super) fn by_facet(held: Vec<Held>, shelf: &Shelf) -> Result<BTreeMap<FacetName, BaselineFacet>, StoreError> {
    let fill = |held: Held| {
        let entry = BaselineFacet { values: shelf.get(&held.values)?, ..held.entry };
        Ok((entry.facet, entry))
    };
    held.into_iter().map(fill).collect()
}

/// An approval whose value is still to be fetched.
#[derive(Debug)]
pub(super) struct Laid {
    approval: Approval,
    value: Option<Digest>,
}

impl Laid {
    pub(super) fn want(&self, shelf: &mut Shelf) {
        shelf.want(self.value.as_slice());
    }

    pub(super) fn filled(self, shelf: &Shelf) -> Result<Approval, StoreError> {
        let value = shelf.get(self.value.as_slice())?.pop();
        Ok(Approval { value, ..self.approval })
    }

    fn read(row: &SqliteRow) -> Result<Self, StoreError> {
        let approval = Approval {
            facet: row.parsed("facet")?,
            path: row.json("path")?,
            value: None,
            at: row.time("at")?,
            by: row.text("accepted_by")?.to_owned(),
            until: row.maybe_time("until")?,
            entry: row.u64("entry")?,
        };
        Ok(Self { approval, value: row.maybe_digest("value")? })
    }
}

/// What `target` is held to.
pub(super) async fn living(conn: &mut SqliteConnection, target: &TargetId) -> Result<Vec<Held>, StoreError> {
    let rows = sqlx::query(LIVING).bind(target.as_str()).fetch_all(conn).await?;
    rows.iter().map(Held::read).collect()
}

/// For each facet what a person accepted last, where that does not stand any more.
pub(super) async fn by_person(conn: &mut SqliteConnection, target: &TargetId) -> Result<Vec<Held>, StoreError> {
    let rows = sqlx::query(BY_PERSON).bind(target.as_str()).fetch_all(conn).await?;
    rows.iter().map(Held::read).collect()
}

/// The living approvals of `target`.
pub(super) async fn approvals(conn: &mut SqliteConnection, target: &TargetId) -> Result<Vec<Laid>, StoreError> {
    let rows = sqlx::query(APPROVALS).bind(target.as_str()).fetch_all(conn).await?;
    rows.iter().map(Laid::read).collect()
}

/// Accepts a facet whole: what was held before, and what was approved in it, is superseded.
pub(super) async fn accept(
    conn: &mut SqliteConnection,
    target: &TargetId,
    entry: &BaselineFacet,
) -> Result<(), StoreError> {
    let facet = entry.facet.to_string();
    for end in [
        "UPDATE baseline SET ended_at = ?, ended_why = ? WHERE target = ? AND facet = ? AND ended_at IS NULL",
        "UPDATE approval SET ended_at = ?, ended_why = ? WHERE target = ? AND facet = ? AND ended_at IS NULL",
    ] {
        sqlx::query(end)
            .bind(millis(entry.at))
            .bind(word(EndedWhy::Superseded)?)
            .bind(target.as_str())
            .bind(&facet)
            .execute(&mut *conn)
            .await?;
    }
    let values = values::put_all(&mut *conn, &entry.values).await?;
    sqlx::query(
        "INSERT INTO baseline (target, facet, digest, value_digests, at, accepted_by, reason, asked, model, entry, \
         reviewed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(target.as_str())
    .bind(&facet)
    .bind(entry.digest.as_ref().map(|digest| &digest.bytes()[..]))
    .bind(to_json(&values)?)
    .bind(millis(entry.at))
    .bind(&entry.by)
    .bind(&entry.reason)
    .bind(to_json(&entry.asked)?)
    .bind(entry.model)
    .bind(count(entry.entry))
    .bind(entry.reviewed)
    .execute(conn)
    .await?;
    Ok(())
}

/// Writes acceptances in the canonical form of today; nothing else about them changes.
pub(super) async fn rewrite(
    conn: &mut SqliteConnection,
    target: &TargetId,
    new: &Recomputed,
) -> Result<(), StoreError> {
    for entry in &new.baseline {
        let digests = values::put_all(&mut *conn, &entry.values).await?;
        sqlx::query(
            "UPDATE baseline SET digest = ?, value_digests = ?, model = ? WHERE target = ? AND facet = ? AND entry = ?",
        )
        .bind(entry.digest.as_ref().map(|digest| &digest.bytes()[..]))
        .bind(to_json(&digests)?)
        .bind(entry.model)
        .bind(target.as_str())
        .bind(entry.facet.to_string())
        .bind(count(entry.entry))
        .execute(&mut *conn)
        .await?;
    }
    for approval in &new.approvals {
        let value = match &approval.value {
            Some(value) => Some(values::put(&mut *conn, value).await?),
            None => None,
        };
        sqlx::query("UPDATE approval SET value = ? WHERE target = ? AND facet = ? AND path = ? AND ended_at IS NULL")
            .bind(value.as_ref().map(|digest| &digest.bytes()[..]))
            .bind(target.as_str())
            .bind(approval.facet.to_string())
            .bind(path_text(&approval.path)?)
            .execute(&mut *conn)
            .await?;
    }
    Ok(())
}

/// Accepts values at paths, in order: approvals at the same path and below are superseded.
pub(super) async fn approve(
    conn: &mut SqliteConnection,
    target: &TargetId,
    new: &[Approval],
) -> Result<(), StoreError> {
    if new.is_empty() {
        return Ok(());
    }
    // By path, so that what lies below one is a range: a decision may hold as many approvals as a peer has items.
    let living = approvals(&mut *conn, target).await?;
    let mut living: BTreeSet<(FacetName, Pointer)> =
        living.into_iter().map(|laid| (laid.approval.facet, laid.approval.path)).collect();
    for approval in new {
        let key = (approval.facet, approval.path.clone());
        let from_here = living.range(key.clone()..);
        let below = from_here.take_while(|(facet, path)| *facet == approval.facet && approval.path.contains(path));
        for old in below.cloned().collect::<Vec<_>>() {
            end(&mut *conn, target, old.0, &old.1, EndedWhy::Superseded, approval.at).await?;
            living.remove(&old);
        }
        lay(&mut *conn, target, approval).await?;
        living.insert(key);
    }
    Ok(())
}

async fn lay(conn: &mut SqliteConnection, target: &TargetId, approval: &Approval) -> Result<(), StoreError> {
    let value = match &approval.value {
        Some(value) => Some(values::put(&mut *conn, value).await?),
        None => None,
    };
    sqlx::query(
        "INSERT INTO approval (target, facet, path, value, at, accepted_by, until, entry) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(target.as_str())
    .bind(approval.facet.to_string())
    .bind(path_text(&approval.path)?)
    .bind(value.as_ref().map(|digest| &digest.bytes()[..]))
    .bind(millis(approval.at))
    .bind(&approval.by)
    .bind(approval.until.map(millis))
    .bind(count(approval.entry))
    .execute(conn)
    .await?;
    Ok(())
}

/// Ends the approval at a path.
pub(super) async fn end(
    conn: &mut SqliteConnection,
    target: &TargetId,
    facet: FacetName,
    path: &Pointer,
    why: EndedWhy,
    at: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE approval SET ended_at = ?, ended_why = ? \
         WHERE target = ? AND facet = ? AND path = ? AND ended_at IS NULL",
    )
    .bind(millis(at))
    .bind(word(why)?)
    .bind(target.as_str())
    .bind(facet.to_string())
    .bind(path_text(path)?)
    .execute(conn)
    .await?;
    Ok(())
}
