//! Loads a target's past: a fixed number of queries, each by an index, however many targets there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::columns::{Columns as _, count, millis, to_json};
use super::error::StoreError;
use super::runs::Buffered;
use super::values::Shelf;
use super::{baselines, drifts, incidents, kin, ledger, outbox};
use crate::model::facet::FacetName;
use crate::model::incident::{Incident, IncidentId};
use crate::model::memory::{FacetMemory, Kin, Memory, ScanMemory};
use crate::model::notice::Told;
use crate::model::observation::Outcome;
use crate::model::settlement::{Recomputed, Settlement};
use crate::model::target::TargetId;

pub(super) const LOAD: &str =
    "SELECT scans, facets, recheck, quiet_scans, quiet_at, quiet_fresh FROM memory WHERE target = ?";

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

    /// More scans that showed what the last one showed.
    pub(super) fn lengthen(&mut self, quiet: &Quiet) {
        let last = self.scans.last_at;
        for facet in self.facets.values_mut().filter(|facet| facet.last_seen == last) {
            facet.last_seen = Some(quiet.at);
            if let Some(run) = facet.runs.last_mut() {
                run.to = quiet.at;
                run.scans = run.scans.saturating_add(quiet.scans);
            }
        }
        quiet.lengthen(&mut self.scans);
        self.recheck = None;
    }
}

/// Complete scans in a row that showed what the one before them showed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quiet {
    /// How many; at least one.
    pub(super) scans: u32,
    /// When the last one ended.
    pub(super) at: Timestamp,
    /// When the last one ended that read lists a second time over a fresh connection.
    pub(super) fresh: Option<Timestamp>,
}

impl Quiet {
    /// Of a row that may have none.
    pub(super) fn of(row: &SqliteRow) -> Result<Option<Self>, StoreError> {
        let Some(at) = row.maybe_time("quiet_at")? else { return Ok(None) };
        Ok(Some(Self { scans: row.u32("quiet_scans")?, at, fresh: row.maybe_time("quiet_fresh")? }))
    }

    /// Counts them.
    pub(super) fn lengthen(&self, scans: &mut ScanMemory) {
        scans.seq += u64::from(self.scans);
        scans.last_at = Some(self.at);
        scans.last_ok = Some(self.at);
        scans.outcome = Some(Outcome::Ok);
        scans.not_before = None;
        scans.last_fresh = self.fresh.or(scans.last_fresh);
    }
}

/// Everything the core needs to know; what is buffered is laid over the row it is ahead of.
pub(super) async fn load(
    conn: &mut SqliteConnection,
    target: &TargetId,
    siblings: &[TargetId],
    buffered: Option<Buffered>,
    incident_ids: Arc<BTreeSet<IncidentId>>,
) -> Result<Memory, StoreError> {
    let remembered = remembered(conn, target, buffered).await?;
    let baseline = baselines::living(conn, target).await?;
    let person = baselines::by_person(conn, target).await?;
    let approvals = baselines::approvals(conn, target).await?;
    let drifts = drifts::living(conn, target).await?;
    let incidents = incidents::open_of(conn, target).await?;
    let kin = kin::load(&mut *conn, target, siblings, &incidents).await?;
    let told = told(&mut *conn, &incidents, &kin).await?;
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
        recomputed: Recomputed::default(),
        kin,
    })
}

/// What receivers were told of the target's incidents and of those it may join.
async fn told(conn: &mut SqliteConnection, incidents: &[Incident], kin: &[Kin]) -> Result<Vec<Told>, StoreError> {
    let of_kin = kin.iter().filter_map(|kin| kin.incident.as_ref());
    let ids: BTreeSet<IncidentId> = incidents.iter().chain(of_kin).map(|incident| incident.id).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    outbox::told(conn, &ids.into_iter().collect::<Vec<_>>()).await
}

/// What is remembered; what is buffered is laid over the row it is ahead of.
pub(super) async fn remembered(
    conn: &mut SqliteConnection,
    target: &TargetId,
    buffered: Option<Buffered>,
) -> Result<Remembered, StoreError> {
    match buffered {
        Some(Buffered::Whole { memory, .. }) => Ok(memory),
        Some(Buffered::Tail(tail)) => {
            let mut memory = read(conn, target).await?;
            // Not if the row was written since.
            if memory.scans.seq < tail.seq {
                memory.lengthen(&tail.quiet);
            }
            Ok(memory)
        }
        None => read(conn, target).await,
    }
}

async fn read(conn: &mut SqliteConnection, target: &TargetId) -> Result<Remembered, StoreError> {
    let row = sqlx::query(LOAD).bind(target.as_str()).fetch_optional(conn).await?;
    let Some(row) = row else { return Ok(Remembered::default()) };
    let mut memory =
        Remembered { scans: row.json("scans")?, facets: row.json("facets")?, recheck: row.maybe_time("recheck")? };
    if let Some(quiet) = Quiet::of(&row)? {
        memory.lengthen(&quiet);
    }
    Ok(memory)
}

/// Writes the row.
pub(super) async fn write(
    conn: &mut SqliteConnection,
    target: &TargetId,
    memory: &Remembered,
) -> Result<(), StoreError> {
    let scans = &memory.scans;
    sqlx::query(
        "INSERT INTO memory (target, seq, outcome, last_scan, last_ok, not_before, recheck, scans, facets, \
         quiet_scans) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (target) DO UPDATE SET seq = excluded.seq, \
         outcome = excluded.outcome, last_scan = excluded.last_scan, last_ok = excluded.last_ok, \
         not_before = excluded.not_before, recheck = excluded.recheck, scans = excluded.scans, \
         facets = excluded.facets, quiet_scans = 0, quiet_at = NULL, quiet_fresh = NULL",
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

/// Writes how many scans followed that showed the same.
pub(super) async fn write_quiet(
    conn: &mut SqliteConnection,
    target: &TargetId,
    seq: u64,
    quiet: &Quiet,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE memory SET seq = ?, last_scan = ?, last_ok = ?, not_before = NULL, recheck = NULL, \
         quiet_scans = quiet_scans + ?, quiet_at = ?, quiet_fresh = coalesce(?, quiet_fresh) WHERE target = ?",
    )
    .bind(count(seq))
    .bind(millis(quiet.at))
    .bind(millis(quiet.at))
    .bind(quiet.scans)
    .bind(millis(quiet.at))
    .bind(quiet.fresh.map(millis))
    .bind(target.as_str())
    .execute(conn)
    .await?;
    Ok(())
}
