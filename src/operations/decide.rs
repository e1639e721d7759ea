//! The decisions: each holds for exactly what was read, and is one transaction with what it owes.

use std::collections::BTreeMap;

use super::document::Decided;
use super::read::one;
use super::reference::Reference;
use super::{Answer, Decision, Office, Refused, document};
use crate::judge::decide::{About, Author, Decision as Order, Refusal};
use crate::judge::settle::{self, Named, Parts, Scene};
use crate::model::digest::Digest;
use crate::model::fleet::Times;
use crate::model::incident::IncidentId;
use crate::model::memory::Memory;
use crate::model::notice::Body;
use crate::model::observation::Asked;
use crate::model::policy::NO_POLICY;
use crate::model::settlement::Settlement;
use crate::model::target::{BaselineMode, TargetId, TargetSummary};
use crate::model::text;
use crate::plan::Plan;
use crate::store::{Retry, Writer};
use crate::watch::Handle;

/// Characters of a reason or a ticket: each entry of the ledger repeats them, and a message shows them.
const MAX_SAID: usize = 2000;

/// What is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Accept,
    Reject,
    Ack,
}

impl Act {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Reject => "reject",
            Self::Ack => "ack",
        }
    }
}

impl Act {
    /// Whether it is nothing without a reason.
    const fn takes_reason(self) -> bool {
        match self {
            Self::Accept | Self::Reject => true,
            Self::Ack => false,
        }
    }
}

impl Office {
    pub(super) async fn decide(&self, act: Act, decision: Decision, who: &str) -> Result<Answer, Refused> {
        // What is wrong with the question comes before what stands.
        let author = author(who, decision.reason, decision.ticket, decision.until, self.clock.now())?;
        if author.reason.is_none() && act.takes_reason() {
            return Err(refused(&Refusal::ReasonMissing));
        }
        let (target, about) = self.subject(&decision.reference).await?;
        let order = Order { about, except: decision.except, author };
        let mut writer = self.store.writer().await;
        let memory = writer.memory(&target).await?;
        let older = self.older(&order.about).await?;
        let summary = self.summary(&target).await?;
        let plan = self.plan.plan();
        let scene = self.scene(&plan, &target, &summary, &memory);
        let settlement = match act {
            Act::Accept => {
                let newest = self.store.latest_snapshot(&target).await?;
                let (facets, asked) =
                    newest.map_or_else(|| (BTreeMap::new(), Asked::default()), |newest| (newest.facets, newest.asked));
                settle::settle_accept_incident(&scene, &facets, &asked, &order, older.as_ref())
            }
            Act::Reject => settle::settle_reject(&scene, &order, older.as_ref()),
            Act::Ack => settle::settle_ack(&scene, &order, older.as_ref()),
        };
        let settlement = settlement.map_err(|refusal| refused(&refusal))?;
        self.commit(&mut writer, &settlement).await?;
        Ok(Answer::Decided(decided(act.as_str(), who, &settlement)))
    }

    pub(super) async fn accept_baseline(
        &self,
        id: &str,
        digest: &str,
        beside: bool,
        reason: String,
        ticket: Option<String>,
        who: &str,
    ) -> Result<Answer, Refused> {
        let target = self.known_target(id).await?;
        if digest.strip_prefix("sha256:").unwrap_or(digest).len() < 8 {
            return Err(Refused::Usage(format!(
                "@{digest} is too short to name a snapshot: give eight hexadecimal digits of its digest, or more"
            )));
        }
        let mut writer = self.store.writer().await;
        let memory = writer.memory(&target).await?;
        let snapshot =
            one(self.store.snapshot_by_prefix(&target, digest).await?, "snapshot", &format!("{id}@{digest}"))?;
        let summary = self.summary(&target).await?;
        let plan = self.plan.plan();
        let scene = self.scene(&plan, &target, &summary, &memory);
        let named = Named { digest: snapshot.digest, facets: &snapshot.facets, asked: &snapshot.asked, beside };
        let author = author(who, Some(reason), ticket, None, self.clock.now())?;
        let settlement =
            settle::settle_baseline_accept(&scene, &named, &author).map_err(|refusal| refused(&refusal))?;
        self.commit(&mut writer, &settlement).await?;
        Ok(Answer::Decided(decided(Act::Accept.as_str(), who, &settlement)))
    }

    pub(super) async fn retry(&self, id: Option<String>) -> Result<Answer, Refused> {
        let which = match id {
            Some(id) => Retry::One(one(self.store.message(&id).await?, "message", &id)?.id),
            None => Retry::AllDead,
        };
        let count = self.store.retry(&which, self.clock.now()).await?;
        if let Some(daemon) = &self.daemon {
            daemon.wake_delivery.notify_one();
        }
        Ok(Answer::Retried(count))
    }

    pub(super) async fn scan_now(&self, id: &str) -> Result<Answer, Refused> {
        let Some(daemon) = &self.daemon else {
            return Err(Refused::NeedsDaemon(format!(
                "only a running daemon scans into the store; `driftd scan {id}` looks once without it"
            )));
        };
        let target = self.known_target(id).await?;
        let report = asked(&daemon.watch, target).await?;
        Ok(Answer::Scanned(document::Scanned {
            target: id.to_owned(),
            outcome: report.outcome.to_string(),
            digest: Some(report.digest),
            pending: report.pending,
            open: report.open,
            unseen: report.unseen,
            recheck: report.past.recheck,
        }))
    }

    /// Settles what needs a clock and no scan, for every target that something stands for.
    ///
    /// # Errors
    /// When the store fails; targets settled before stay settled.
    pub async fn tick(&self) -> Result<(), Refused> {
        self.retire().await?;
        for target in self.store.ticking().await? {
            let mut writer = self.store.writer().await;
            let memory = writer.memory(&target).await?;
            let summary = self.summary(&target).await?;
            let plan = self.plan.plan();
            if let Some(settlement) = settle::settle_tick(&self.scene(&plan, &target, &summary, &memory)) {
                self.commit(&mut writer, &settlement).await?;
            }
        }
        Ok(())
    }

    /// Settles that targets left the inventory: those of which something stands. Says how many.
    ///
    /// # Errors
    /// When the store fails; what is settled stays settled, the rest is for the next time.
    pub async fn retire(&self) -> Result<usize, Refused> {
        let unsettled = self.store.unsettled().await?;
        for target in &unsettled {
            let mut writer = self.store.writer().await;
            let plan = self.plan.plan();
            // Back before its turn came: what stands of it stands.
            if plan.targets.contains_key(target) {
                continue;
            }
            let memory = writer.memory(target).await?;
            let summary = self.summary(target).await?;
            let settlement = settle::settle_retire(&self.scene(&plan, target, &summary, &memory));
            self.commit(&mut writer, &settlement).await?;
        }
        Ok(unsettled.len())
    }

    /// Whose and what `reference` names.
    async fn subject(&self, reference: &str) -> Result<(TargetId, About), Refused> {
        match reference.parse()? {
            Reference::Incident(_, None) => Err(Refused::Usage(format!(
                "a decision names the revision that was read: {reference}.N, as `driftd drift` shows it"
            ))),
            Reference::Incident(incident, Some(revision)) => {
                let Some(found) = self.store.incident(incident).await? else {
                    return Err(refused(&Refusal::NoSuchIncident(incident)));
                };
                Ok((found.owner, About::Revision { incident, revision }))
            }
            Reference::Fingerprint(prefix) => {
                let drift = one(self.store.drift(&prefix).await?, "drift", reference)?;
                Ok((drift.target, About::Fingerprint(drift.row.drift.fingerprint)))
            }
        }
    }

    /// What the revision named showed, for telling what is new since.
    async fn older(&self, about: &About) -> Result<Option<Body>, Refused> {
        let named: Option<(IncidentId, u32)> = match about {
            About::Revision { incident, revision } => Some((*incident, *revision)),
            About::Fingerprint(_) => None,
        };
        match named {
            Some((incident, revision)) => Ok(self.store.revision(incident, revision, None).await?),
            None => Ok(None),
        }
    }

    async fn summary(&self, target: &TargetId) -> Result<TargetSummary, Refused> {
        if let Some(target) = self.plan.plan().targets.get(target) {
            return Ok(target.summary());
        }
        let row = self.store.target(target).await?;
        row.map(|row| row.summary).ok_or_else(|| Refused::NotFound(format!("no target is called {target}")))
    }

    fn scene<'a>(&self, plan: &'a Plan, id: &TargetId, target: &'a TargetSummary, memory: &'a Memory) -> Scene<'a> {
        let configured = plan.targets.get(id);
        Scene {
            target,
            mode: configured.map_or_else(BaselineMode::default, |target| target.baseline),
            policy: configured.map_or(&NO_POLICY, |target| &target.policy),
            confirm: plan.confirm_of(id),
            routes: &plan.routes,
            receivers: &plan.receivers,
            memory,
            times: self.daemon.as_ref().map_or_else(Times::default, |daemon| daemon.scanner.times()),
            now: self.clock.now(),
            parts: Parts::default(),
        }
    }

    /// Commits, and has the daemon know: the scanner's memory of the target, the counters, the outbox.
    async fn commit(&self, writer: &mut Writer<'_>, settlement: &Settlement) -> Result<(), Refused> {
        writer.commit(settlement, None, self.clock.now()).await?;
        if let Some(daemon) = &self.daemon {
            daemon.scanner.tell(settlement);
            daemon.scanner.remember(&settlement.target).await?;
            if self.plan.plan().targets.contains_key(&settlement.target) {
                daemon.watch.replan(settlement.target.clone()).await;
            }
        }
        Ok(())
    }
}

async fn asked(watch: &Handle, target: TargetId) -> Result<crate::scan::Report, Refused> {
    let id = target.to_string();
    match watch.scan_now(target).await {
        Some(Ok(report)) => Ok(report),
        Some(Err(crate::scan::ScanFault::NoTarget)) => {
            Err(Refused::NotFound(format!("{id} is not in the inventory any more")))
        }
        Some(Err(fault)) => Err(Refused::Store(fault.to_string())),
        None => Err(Refused::NeedsDaemon("the daemon is stopping".to_owned())),
    }
}

/// The person and what they say. A reason that shows nothing is none.
fn author(
    who: &str,
    reason: Option<String>,
    ticket: Option<String>,
    until: Option<jiff::Timestamp>,
    now: jiff::Timestamp,
) -> Result<Author, Refused> {
    for (what, said) in [("reason", &reason), ("ticket", &ticket)] {
        let length = said.as_ref().map_or(0, |said| said.chars().count());
        if length > MAX_SAID {
            return Err(Refused::Usage(format!("a {what} has at most {MAX_SAID} characters, this one has {length}")));
        }
    }
    if let Some(until) = until.filter(|until| *until <= now) {
        return Err(Refused::Usage(format!("{until} is over: give a date to come")));
    }
    let shows = |reason: &String| reason.chars().any(|c| !c.is_whitespace() && !text::is_hidden(c));
    Ok(Author { who: who.to_owned(), reason: reason.filter(shows), ticket, until })
}

/// A refusal in the words of its reader: what to name instead, what stands now.
fn refused(refusal: &Refusal) -> Refused {
    match refusal {
        Refusal::NoSuchIncident(_) | Refusal::NoSuchFingerprint(_) | Refusal::NoSuchRevision { .. } => {
            Refused::NotFound(format!("{refusal}; `driftd drift` lists what stands"))
        }
        Refusal::ReasonMissing => Refused::Usage(format!("{refusal}: add --reason \"...\"")),
        Refusal::NoSuchUnit { .. } | Refusal::NothingLeft => Refused::Usage(refusal.to_string()),
        Refusal::Older { incident, current, .. } => {
            Refused::Conflict(format!("{refusal}\nread it first: driftd drift show {incident}.{current}"))
        }
        Refusal::Sight | Refusal::NoIncident | Refusal::Unsteady { .. } | Refusal::NotSeen(_) => {
            Refused::Conflict(refusal.to_string())
        }
    }
}

fn decided(action: &str, who: &str, settlement: &Settlement) -> Decided {
    let place = |entry: &crate::model::ledger::LedgerEntry| {
        let what = entry.after.as_ref().map_or_else(|| "absent".to_owned(), Digest::short);
        format!("{}{} ({what})", entry.facet, entry.path)
    };
    let incident = settlement.incidents.first().map(|incident| match &incident.ended {
        Some(ended) => format!("incident {} is {}", incident.id, ended.reason.as_str()),
        None => format!("incident {} stands at {}.{}", incident.id, incident.id, incident.revision),
    });
    Decided {
        action: action.to_owned(),
        target: settlement.target.to_string(),
        places: settlement.ledger.iter().map(place).collect(),
        entries: settlement.ledger.iter().map(|entry| entry.no).collect(),
        who: who.to_owned(),
        incident,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_says_is_bounded_and_visible_and_still_to_come() {
        let now: jiff::Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        let said = |reason: &str, until| author("person:oncall", Some(reason.to_owned()), None, until, now);
        assert_eq!(said(" read ", None).unwrap().reason.as_deref(), Some(" read "));
        for nothing in ["", "  ", "\u{1b}\u{202e}", "\u{200b}\n"] {
            assert_eq!(said(nothing, None).unwrap().reason, None, "{nothing:?}");
        }
        assert!(matches!(said(&"é".repeat(MAX_SAID + 1), None), Err(Refused::Usage(_))));
        assert!(said(&"é".repeat(MAX_SAID), None).is_ok());
        for (until, fine) in
            [("2026-11-30T12:00:00Z", false), ("2020-01-01T00:00:00Z", false), ("2026-12-07T00:00:00Z", true)]
        {
            assert_eq!(said("on it", Some(until.parse().unwrap())).is_ok(), fine, "{until}");
        }
    }
}
