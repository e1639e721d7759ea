//! Rounds over the fleet: the first of new targets, which is a report and no alarm, and the first after a gap, which
//! is told by one message (design, section 5: first sight is a report; issue: restore and long gaps).

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{Fleet, Kept};
use crate::judge::notices::{self, ToldTogether};
use crate::judge::report::{self, Newcomer};
use crate::model::alert::Alert;
use crate::model::fleet::{Gap, GapWhy};
use crate::model::incident::IncidentId;
use crate::model::notice::Notice;
use crate::model::observation::Outcome;
use crate::model::snapshot::{CheckVerdict, Look};
use crate::model::target::TargetId;
use crate::store::{StoreError, TargetRow, marks};

/// Who is new is told of after this time at the latest.
const PATIENCE: SignedDuration = SignedDuration::from_mins(15);
/// Looks read at once.
const AT_ONCE: usize = 500;

/// At the start: is this the first round after a gap?
pub(super) async fn begin(fleet: &Fleet, last_look: Option<Timestamp>) -> Result<(), StoreError> {
    let now = fleet.clock.now();
    let restored = fleet.store.mark(marks::RESTORED_AT).await?;
    let gap = match (&restored, last_look) {
        (Some(_), since) => Gap { since, at: now, why: GapWhy::Restore },
        (None, Some(since)) if fleet.gap().is_none() => Gap { since: Some(since), at: now, why: GapWhy::Pause },
        (None, _) => return Ok(()),
    };
    open(fleet, gap).await?;
    if restored.is_some() {
        fleet.store.writer().await.set_mark(marks::RESTORED_AT, None).await?;
    }
    Ok(())
}

async fn open(fleet: &Fleet, gap: Gap) -> Result<(), StoreError> {
    tracing::warn!(
        why = gap.why.words(),
        since = gap.since.map(tracing::field::display),
        "the first round after a gap: what changed is told by one message"
    );
    *fleet.gap() = Some(Kept { gap, stored: true });
    fleet.store_mark(marks::GAP, &gap).await?;
    let since = gap.since.map(|since| format!(" since {since}")).unwrap_or_default();
    let text = match gap.why {
        GapWhy::Pause => format!("nobody looked{since}; what changed is told by one message"),
        GapWhy::Restore => "the store was put back from a backup; what changed is told by one message".to_owned(),
    };
    fleet.note("fleet.gap", text, gap.at).await
}

impl Fleet {
    /// Nobody looked since `since`, though we ran: the machine slept, or its clock leapt.
    pub fn overslept(&self, since: Timestamp, now: Timestamp) {
        let mut gap = self.gap();
        if gap.is_none() {
            let slept = Gap { since: Some(since), at: now, why: GapWhy::Pause };
            *gap = Some(Kept { gap: slept, stored: false });
        }
    }
}

/// The minute's work.
pub(super) async fn minute(fleet: &Fleet) -> Result<(), StoreError> {
    let kept = *fleet.gap();
    if let Some(Kept { gap, stored }) = kept {
        if !stored {
            open(fleet, gap).await?;
        }
        close_if_over(fleet, &gap).await?;
    }
    fleet.report_newcomers().await
}

async fn close_if_over(fleet: &Fleet, gap: &Gap) -> Result<(), StoreError> {
    let now = fleet.clock.now();
    if gap.covers(now) && !is_done(fleet, gap).await? {
        return Ok(());
    }
    let held = fleet.store.held_notices(gap.held_until()).await?;
    let mut by_receiver = BTreeMap::<String, Vec<Notice>>::new();
    for notice in held {
        by_receiver.entry(notice.receiver.clone()).or_default().push(notice);
    }
    let plan = fleet.plan.plan();
    for (receiver, notices) in by_receiver {
        let told = told(fleet, &notices).await?;
        let mut writer = fleet.store.writer().await;
        // One is told as itself.
        if told.len() < 2 {
            writer.release(&notices, now).await?;
            continue;
        }
        let key = format!("gap:{}", gap.at.as_millisecond());
        let alerts: Vec<&Alert> = told.iter().map(|told| &told.body.alert).collect();
        let bulletin = report::gap(gap, &alerts, key);
        let reminders = notices::reminders(&receiver, &told, &plan.routes, &plan.receivers, now);
        writer.tell_together(&receiver, &bulletin, &notices, &reminders, now).await?;
    }
    fleet.store.writer().await.set_mark(marks::GAP, None).await?;
    *fleet.gap() = None;
    fleet.wake_delivery.notify_one();
    Ok(())
}

/// Whether everybody was looked at, and nothing waits to be confirmed.
async fn is_done(fleet: &Fleet, gap: &Gap) -> Result<bool, StoreError> {
    let plan = fleet.plan.plan();
    let waits = |id: &TargetId| plan.targets.get(id).is_some_and(|target| !target.paused);
    let missing = fleet.store.not_looked_at(gap.at).await?;
    Ok(!missing.iter().any(waits) && !fleet.store.is_unconfirmed(gap.at).await?)
}

/// What each incident's newest notice says.
async fn told(fleet: &Fleet, held: &[Notice]) -> Result<Vec<ToldTogether>, StoreError> {
    let mut newest = BTreeMap::<IncidentId, &Notice>::new();
    for notice in held {
        let known = newest.entry(notice.incident).or_insert(notice);
        if notice.revision >= known.revision {
            *known = notice;
        }
    }
    let mut told = Vec::new();
    for (id, notice) in newest {
        let body = fleet.store.revision(id, notice.revision, None).await?;
        let incident = fleet.store.incident(id).await?;
        told.extend(body.zip(incident).map(|(body, incident)| ToldTogether { event: notice.event, incident, body }));
    }
    Ok(told)
}

impl Fleet {
    /// Tells of targets that are new, once their first round is done.
    ///
    /// # Errors
    /// When the store fails; they are told of the next time.
    pub async fn report_newcomers(&self) -> Result<(), StoreError> {
        let (now, plan) = (self.clock.now(), self.plan.plan());
        let watched = |row: &TargetRow| plan.targets.get(&row.summary.id).is_some_and(|target| !target.paused);
        let rows: Vec<TargetRow> = self.store.unreported().await?.into_iter().filter(watched).collect();
        let waited = |row: &TargetRow| now.duration_since(row.first_seen) >= PATIENCE;
        if rows.is_empty() || !(rows.iter().all(is_seen) || rows.iter().any(waited)) {
            return Ok(());
        }
        let told: Vec<&TargetRow> = rows.iter().filter(|row| is_seen(row) || waited(row)).collect();
        let ids: Vec<TargetId> = told.iter().map(|row| row.summary.id.clone()).collect();
        // What is read below must not be ahead of its rows.
        self.store.flush_runs().await?;
        let mut looks = BTreeMap::<TargetId, Look>::new();
        for part in ids.chunks(AT_ONCE) {
            let (mut newest, mut first) = (self.store.looks(part).await?, self.store.first_looks(part).await?);
            for (id, look) in &mut newest {
                // What came after the first sight is drift, and told as such.
                look.checks = first.remove(id).map(|first| first.checks).unwrap_or_default();
                // What passed is not told; there may be very many of them.
                look.checks.retain(|check| check.verdict == CheckVerdict::Finding);
            }
            looks.append(&mut newest);
        }
        let newcomers: Vec<Newcomer<'_>> =
            told.iter().map(|row| Newcomer { target: &row.summary, look: looks.get(&row.summary.id) }).collect();
        let first = ids.first().map(ToString::to_string).unwrap_or_default();
        let bulletin = report::first_round(&newcomers, format!("first-round:{}:{first}", now.as_millisecond()));
        self.store.writer().await.report(&bulletin, &ids, &plan.receivers, now).await?;
        tracing::info!(targets = ids.len(), "the first round of new targets is told");
        self.wake_delivery.notify_one();
        Ok(())
    }
}

/// Whether its first scan saw something.
const fn is_seen(row: &TargetRow) -> bool {
    match row.outcome {
        Some(Outcome::Ok | Outcome::Partial) => true,
        Some(
            Outcome::Blocked
            | Outcome::RateLimited
            | Outcome::Unreachable
            | Outcome::CredentialRejected
            | Outcome::Skipped
            | Outcome::Error,
        )
        | None => false,
    }
}
