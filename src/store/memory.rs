//! Loads a target's past: a fixed number of queries, each by an index, however many targets there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::columns::{Columns as _, count, millis, to_json};
use super::error::StoreError;
use super::values::Shelf;
use super::{baselines, drifts, incidents, ledger, outbox};
use crate::model::facet::FacetName;
use crate::model::incident::IncidentId;
use crate::model::memory::{FacetMemory, Memory, ScanMemory};
use crate::model::settlement::Settlement;
use crate::model::target::TargetId;

pub(super) const LOAD: &str = "SELECT scans, facets, recheck FROM memory WHERE target = ?";

/// What is remembered of a target's scans and facets: the row that every scan changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Remembered {
    pub(super) scans: ScanMemory,
    pub(super) facets: BTreeMap<FacetName, FacetMemory>,
    pub(super) recheck: Option<Timestamp>,
}

impl Remembered {
    pub(super) fn of(settlement: &Settlement) -> Self {
        Self { scans: settlement.scans.clone(), facets: settlement.facets.clone(), recheck: settlement.recheck }
    }
}

/// Everything the core needs to know; `buffered` stands for the row it is ahead of.
pub(super) async fn load(
    conn: &mut SqliteConnection,
    target: &TargetId,
    buffered: Option<Remembered>,
    incident_ids: Arc<BTreeSet<IncidentId>>,
) -> Result<Memory, StoreError> {
    let remembered = match buffered {
        Some(remembered) => remembered,
        None => read(conn, target).await?,
    };
    let baseline = baselines::living(conn, target).await?;
    let person = baselines::by_person(conn, target).await?;
    let approvals = baselines::approvals(conn, target).await?;
    let drifts = drifts::living(conn, target).await?;
    let incidents = incidents::open_of(conn, target).await?;
    let told = outbox::told_of_owner(conn, target).await?;
    let ledger = ledger::head(conn).await?;

    let mut shelf = Shelf::default();
    baseline.iter().chain(&person).for_each(|entry| entry.want(&mut shelf));
    approvals.iter().for_each(|approval| approval.want(&mut shelf));
    drifts.iter().for_each(|drift| drift.want(&mut shelf));
    shelf.load(conn).await?;

    let baseline = baselines::by_facet(baseline, &shelf)?;
    let mut person = baselines::by_facet(person, &shelf)?;
    person.retain(|facet, entry| baseline.get(facet).is_none_or(|held| held.digest != entry.digest));
    Ok(Memory {
        baseline,
        person,
        approvals: approvals.into_iter().map(|approval| approval.filled(&shelf)).collect::<Result<_, _>>()?,
        drifts: drifts.into_iter().map(|drift| drift.filled(&shelf)).collect::<Result<_, _>>()?,
        incidents,
        facets: remembered.facets,
        scans: remembered.scans,
        ledger,
        incident_ids,
        told,
        left: BTreeSet::new(),
    })
}

async fn read(conn: &mut SqliteConnection, target: &TargetId) -> Result<Remembered, StoreError> {
    let row = sqlx::query(LOAD).bind(target.as_str()).fetch_optional(conn).await?;
    let Some(row) = row else { return Ok(Remembered::default()) };
    Ok(Remembered { scans: row.json("scans")?, facets: row.json("facets")?, recheck: row.maybe_time("recheck")? })
}

/// Writes the row.
pub(super) async fn write(
    conn: &mut SqliteConnection,
    target: &TargetId,
    memory: &Remembered,
) -> Result<(), StoreError> {
    let scans = &memory.scans;
    sqlx::query(
        "INSERT INTO memory (target, seq, outcome, last_scan, last_ok, not_before, recheck, scans, facets) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (target) DO UPDATE SET seq = excluded.seq, \
         outcome = excluded.outcome, last_scan = excluded.last_scan, last_ok = excluded.last_ok, \
         not_before = excluded.not_before, recheck = excluded.recheck, scans = excluded.scans, \
         facets = excluded.facets",
    )
    .bind(target.as_str())
    .bind(count(scans.seq))
    .bind(scans.outcome.map(|outcome| outcome.as_str()))
    .bind(scans.last_at.map(millis))
    .bind(scans.last_ok.map(millis))
    .bind(scans.not_before.map(millis))
    .bind(memory.recheck.map(millis))
    .bind(to_json(scans)?)
    .bind(to_json(&memory.facets)?)
    .execute(conn)
    .await?;
    Ok(())
}
