//! Writes all that one scan, decision or tick changed in one transaction, or nothing.
//!
//! What changes nothing but counts and last-seen times is not written at once: it joins the buffer of
//! [`super::runs`].

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::error::StoreError;
use super::memory::{self, Remembered};
use super::runs::{self, Buffered, OpenRun, Tail};
use super::{Unchanged, Writer, baselines, drifts, history, incidents, ledger, outbox};
use crate::model::observation::Outcome;
use crate::model::settlement::Settlement;
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetId;

/// What a scan does to its target's runs.
enum Step<'s> {
    /// There was no scan; the newest run may still be ahead of its row.
    Nothing(Option<OpenRun>),
    /// The newest run goes on.
    Extend(OpenRun),
    /// A new one begins; the one before may still be ahead of its row.
    Begin(Option<OpenRun>, &'s Snapshot),
}

impl Step<'_> {
    /// The newest run, when no row has to be made for it.
    const fn quiet(&self) -> Option<Option<&OpenRun>> {
        match self {
            Self::Nothing(run) => Some(run.as_ref()),
            Self::Extend(run) => Some(Some(run)),
            Self::Begin(..) => None,
        }
    }
}

/// See [`Writer::commit`].
pub(super) async fn commit(
    writer: &mut Writer<'_>,
    settlement: &Settlement,
    scan: Option<&Snapshot>,
    now: Timestamp,
) -> Result<(), StoreError> {
    writer.side.clean().await;
    let buffer = &writer.store.inner.buffer;
    let target = &settlement.target;
    let step = step(&mut writer.side.conn, settlement, scan, buffer.get(target)).await;
    let step = writer.store.read_so(step)?;
    let memory = Remembered::of(settlement);
    if is_quiet(settlement)
        && let Some(run) = step.quiet()
    {
        buffer.put(target.clone(), Buffered::Whole { run: run.cloned(), memory });
        return Ok(());
    }
    // Out of the buffer first: were this future dropped after COMMIT went out, an entry left behind would later be
    // written over what was committed. Dropped before it, a minute of counts is lost, as in a crash.
    let buffered = buffer.remove(target);
    let ids = settlement.incidents.iter().map(|incident| incident.id);
    writer.store.inner.note_incidents(ids);
    let store = writer.store;
    let written = store.wrote(write(writer, settlement, &step, &memory, now).await);
    if let (Err(_), Some(buffered)) = (&written, buffered) {
        buffer.put(target.clone(), buffered);
    }
    written
}

/// See [`Writer::extend`].
pub(super) async fn extend(writer: &mut Writer<'_>, target: &TargetId, scan: &Unchanged<'_>) -> Result<(), StoreError> {
    let buffer = &writer.store.inner.buffer;
    let tail = Tail::of(scan);
    if scan.scan.is_none() && buffer.extend(target, tail) {
        return Ok(());
    }
    let buffered = buffer.get(target);
    let conn = &mut writer.side.conn;
    let run = runs::open(conn, target, buffered.as_ref()).await?;
    let run = run.filter(|run| run.snapshot == scan.snapshot && run.outcome == Outcome::Ok);
    let run = run.ok_or_else(|| StoreError::Other("an unchanged scan has no run".to_owned()))?;
    let run = run.lengthened(scan)?;
    let mut memory = memory::remembered(conn, target, buffered).await?;
    memory.lengthen(&tail.quiet);
    buffer.put(target.clone(), Buffered::Whole { run: Some(run), memory });
    Ok(())
}

async fn step<'s>(
    conn: &mut SqliteConnection,
    settlement: &Settlement,
    scan: Option<&'s Snapshot>,
    buffered: Option<Buffered>,
) -> Result<Step<'s>, StoreError> {
    let target = &settlement.target;
    let ahead = match &buffered {
        Some(Buffered::Whole { run, .. }) => run.clone(),
        Some(Buffered::Tail(_)) => runs::open(conn, target, buffered.as_ref()).await?,
        None => None,
    };
    let Some(scan) = scan else { return Ok(Step::Nothing(ahead)) };
    let newest = match &ahead {
        Some(run) => Some(run.clone()),
        None => runs::open(conn, target, None).await?,
    };
    match newest {
        Some(run) if run.takes(scan) => Ok(Step::Extend(run.extended(scan, settlement.scans.seq)?)),
        Some(_) | None => Ok(Step::Begin(ahead, scan)),
    }
}

/// Whether nothing changes that anybody is owed or could decide on.
fn is_quiet(settlement: &Settlement) -> bool {
    let Settlement {
        target: _,
        drifts,
        incidents,
        revisions,
        baseline,
        approvals,
        ended_approvals,
        ledger,
        notices,
        facets: _,
        scans: _,
        history,
        recheck: _,
        detected: _,
        closed: _,
        suppressed: _,
        recomputed,
    } = settlement;
    drifts.is_empty()
        && incidents.is_empty()
        && revisions.is_empty()
        && baseline.is_empty()
        && approvals.is_empty()
        && ended_approvals.is_empty()
        && ledger.is_empty()
        && notices.is_empty()
        && history.is_empty()
        && recomputed.is_empty()
}

async fn write(
    writer: &mut Writer<'_>,
    settlement: &Settlement,
    step: &Step<'_>,
    memory: &Remembered,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut tx = writer.begin().await?;
    let target = &settlement.target;
    match step {
        Step::Nothing(None) | Step::Begin(None, _) => {}
        Step::Nothing(Some(run)) | Step::Begin(Some(run), _) | Step::Extend(run) => {
            runs::write(&mut tx, run).await?;
        }
    }
    if let Step::Begin(_, scan) = step {
        runs::begin(&mut tx, target, scan, settlement.scans.seq).await?;
    }
    write_decisions(&mut tx, settlement, now).await?;
    write_lives(&mut tx, settlement).await?;
    for notice in &settlement.notices {
        outbox::owe(&mut tx, notice).await?;
    }
    for line in &settlement.history {
        history::append(&mut tx, Some(target), line).await?;
    }
    memory::write(&mut tx, target, memory).await?;
    tx.commit().await?;
    Ok(())
}

async fn write_decisions(
    conn: &mut SqliteConnection,
    settlement: &Settlement,
    now: Timestamp,
) -> Result<(), StoreError> {
    let target = &settlement.target;
    ledger::append(&mut *conn, &settlement.ledger).await?;
    // In place and first: what a decision supersedes is then of today's form too.
    baselines::rewrite(&mut *conn, target, &settlement.recomputed).await?;
    for (facet, path, why) in &settlement.ended_approvals {
        baselines::end(&mut *conn, target, *facet, path, *why, now).await?;
    }
    for entry in &settlement.baseline {
        baselines::accept(&mut *conn, target, entry).await?;
    }
    baselines::approve(conn, target, &settlement.approvals).await
}

/// Incidents before the drifts that name them; ends before beginnings, since one drift of a key lives at a time.
async fn write_lives(conn: &mut SqliteConnection, settlement: &Settlement) -> Result<(), StoreError> {
    for incident in &settlement.incidents {
        incidents::put(&mut *conn, incident).await?;
    }
    for revision in &settlement.revisions {
        incidents::put_revision(&mut *conn, revision).await?;
    }
    let (ended, living): (Vec<_>, Vec<_>) = settlement.drifts.iter().partition(|row| row.ended_at.is_some());
    for row in ended.into_iter().chain(living) {
        drifts::put(&mut *conn, &settlement.target, row).await?;
    }
    Ok(())
}
