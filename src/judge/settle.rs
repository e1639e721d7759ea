//! Puts the pure steps together: what one scan, decision or tick changes.
//!
//! The store loads a target's [`Memory`], one of these functions computes the [`Settlement`], and the store commits
//! it, all under one writer lock. What a drift does is `life`'s, what an incident does `incident`'s, what is owed
//! `notices`'; here they are run in order and their results become one write-set.

mod assemble;
mod auto;
mod chain;
mod decisions;
mod meanwhile;
mod own;
mod quiet;
mod record;
mod suppress;
mod unused;

use jiff::Timestamp;

use crate::judge::alert::Story;
use crate::judge::fold::Folding;
use crate::judge::join::{self, Candidates, FIRST_SEEN};
use crate::judge::life::{self, LifeStep, Moment};
use crate::judge::posture;
use crate::model::baseline::{BaselineFacet, EndedWhy};
use crate::model::confirm::Confirm;
use crate::model::drift::{DriftRow, DriftState};
use crate::model::facet::FacetName;
use crate::model::fleet::Times;
use crate::model::incident::{Incident, Unit};
use crate::model::judgment::Judgment;
use crate::model::memory::{Memory, ScanMemory};
use crate::model::notice::{Body, Route};
use crate::model::observation::{AddressClass, Observation, Outcome};
use crate::model::pointer::Pointer;
use crate::model::policy::Policy;
use crate::model::settlement::{HistoryLine, Settlement};
use crate::model::snapshot::Snapshot;
use crate::model::target::{BaselineMode, TargetSummary};

use assemble::{blank, conclude};
use chain::{Chain, Draft};

pub use decisions::{Named, settle_accept_incident, settle_ack, settle_baseline_accept, settle_reject};
pub(in crate::judge) use own::ours;
pub use quiet::is_quiet;
pub use unused::ignore_key;

/// What every settlement is computed from.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// Whose.
    pub target: &'a TargetSummary,
    /// How it gets its baseline.
    pub mode: BaselineMode,
    /// How it wants its changes judged.
    pub policy: &'a Policy,
    /// What confirms.
    pub confirm: &'a Confirm,
    /// Which events go where.
    pub routes: &'a [Route],
    /// Names of all receivers.
    pub receivers: &'a [String],
    /// The target's past.
    pub memory: &'a Memory,
    /// What befell the fleet.
    pub times: Times,
    /// The neighbouring steps.
    pub parts: Parts,
    /// Now.
    pub now: Timestamp,
}

/// Steps that are written next door; tests put simpler ones in their place.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    /// [`crate::judge::fold::fold`].
    pub fold: fn(&[Folding<'_>], &[Unit]) -> Vec<Unit>,
    /// [`crate::judge::alert::compose`].
    pub compose: fn(&Story<'_>) -> Body,
}

impl Default for Parts {
    fn default() -> Self {
        Self { fold: crate::judge::fold::fold, compose: crate::judge::alert::compose }
    }
}

/// What a scan brought besides its snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Not before this instant (`Retry-After`).
    pub not_before: Option<Timestamp>,
    /// Class of the address that answered.
    pub address_class: Option<AddressClass>,
    /// When the certificate ends that it showed.
    pub certificate_ends: Option<Timestamp>,
}

impl Arrival {
    /// Of `observation`.
    #[must_use]
    pub const fn of(observation: &Observation) -> Self {
        let Observation { not_before, address_class, certificate_ends, .. } = observation;
        Self { not_before: *not_before, address_class: *address_class, certificate_ends: *certificate_ends }
    }
}

impl<'a> Scene<'a> {
    const fn moment(&self, seq: u64) -> Moment<'a> {
        Moment {
            target: &self.target.id,
            seq,
            confirm: self.confirm,
            policy: self.policy,
            blind_until: self.times.blind_until,
            now: self.now,
        }
    }

    /// The incidents that stand, without acks that are over.
    fn incidents(&self) -> Vec<Incident> {
        let over = |incident: &Incident| {
            incident.acked.as_ref().and_then(|ack| ack.until).is_some_and(|until| until <= self.now)
        };
        let standing = self.memory.incidents.iter().filter(|incident| incident.ended.is_none());
        standing
            .map(|incident| Incident { acked: incident.acked.clone().filter(|_| !over(incident)), ..incident.clone() })
            .collect()
    }
}

/// Settles a scan. One that was skipped changes nothing.
#[must_use]
pub fn settle_scan(scene: &Scene<'_>, snapshot: &Snapshot, judgment: &Judgment, arrival: Arrival) -> Settlement {
    let mut settlement = blank(scene);
    if snapshot.outcome == Outcome::Skipped {
        settlement.recheck = recheck(scene, &scene.memory.drifts, &settlement);
        return settlement;
    }
    record::scan(&mut settlement.scans, scene.memory, snapshot, arrival, scene.now);
    record::facets(&mut settlement.facets, settlement.scans.seq, snapshot, judgment, scene.now);
    if scene.memory.scans.outcome != Some(snapshot.outcome) {
        settlement.history.push(said(scene, &format!("scan.{}", snapshot.outcome), String::new()));
    }
    own::remember(&mut settlement, scene, snapshot);
    settlement.scans.posture.clone_from(&judgment.posture);
    let moment = scene.moment(settlement.scans.seq);
    let mut gone = life::left(&scene.memory.drifts, &scene.memory.left, &moment);
    own::adopt(&mut gone, scene, judgment);
    suppress::lift(&mut settlement, scene, &mut gone, Some(judgment));
    let mut step = life::life_step(&gone.rows, judgment, &settlement.facets, &moment);
    step.after(gone);
    let held = |name: FacetName| scene.memory.baseline.contains_key(&name);
    life::see_blind(&mut step, &settlement.facets, held, &moment);
    let decision = auto::accept(&mut settlement, scene, snapshot, &judgment.seen, &mut step);
    suppress::mark(&mut settlement, scene, &mut step);
    unused::remember(&mut settlement, scene, &step.rows);
    join_baseline(&mut settlement, scene, snapshot, &step);
    let mut settlement = conclude(scene, settlement, step, Some(snapshot), decision.as_ref());
    settlement.recheck = match (settlement.recheck, arrival.not_before) {
        (Some(at), Some(hold)) => Some(at.max(hold)),
        (recheck, _) => recheck,
    };
    settlement
}

/// What a scan adds to the baseline by itself.
fn join_baseline(settlement: &mut Settlement, scene: &Scene<'_>, snapshot: &Snapshot, step: &LifeStep) {
    let candidates = Candidates {
        snapshot,
        baseline: &scene.memory.baseline,
        rows: &step.rows,
        mode: scene.mode,
        confirm: scene.confirm,
        now: scene.now,
    };
    let joined = join::join_step(&mut settlement.facets, &candidates);
    let rule = if scene.memory.baseline.is_empty() { "base.created" } else { "base.facet-created" };
    let mut chain = Chain::new(scene, &settlement.ledger, FIRST_SEEN);
    for name in joined.facets {
        let Some(state) = snapshot.facets.get(&name) else { continue };
        let Some(entry) = join::entry(name, state, FIRST_SEEN, &snapshot.asked, scene.now) else { continue };
        let no = chain.push(Draft {
            after: entry.digest,
            rule: Some(rule.to_owned()),
            ..Draft::accept(name, Pointer::root())
        });
        settlement.baseline.push(BaselineFacet { entry: no, ..entry });
        settlement.history.push(said_of(scene, rule, name, "joined the baseline by itself"));
    }
    for name in joined.waiting {
        settlement.history.push(said_of(scene, "base.awaiting-approval", name, "waits for a person to accept it"));
    }
    settlement.ledger.extend(chain.into_entries());
}

/// Earliest instant at which a further scan tells something.
fn recheck(scene: &Scene<'_>, rows: &[DriftRow], settlement: &Settlement) -> Option<Timestamp> {
    let drifts = life::recheck(rows, &settlement.facets, &scene.moment(settlement.scans.seq));
    drifts.into_iter().chain(join::recheck(&settlement.facets, scene.confirm, scene.now)).min()
}

fn said(scene: &Scene<'_>, event: &str, text: String) -> HistoryLine {
    HistoryLine { at: scene.now, event: event.to_owned(), place: None, drift: None, incident: None, text }
}

fn said_of(scene: &Scene<'_>, event: &str, facet: FacetName, text: &str) -> HistoryLine {
    HistoryLine { place: Some((facet, Pointer::root())), ..said(scene, event, text.to_owned()) }
}

/// Settles what needs a clock and no scan: an approval's `until`, an ack's, a block that turns high, a mixed fleet's
/// end. `None` when nothing is due.
#[must_use]
pub fn settle_tick(scene: &Scene<'_>) -> Option<Settlement> {
    let mut settlement = blank(scene);
    let over = |until: Option<Timestamp>| until.is_some_and(|until| until <= scene.now);
    for approval in scene.memory.approvals.iter().filter(|approval| over(approval.until)) {
        settlement.ended_approvals.push((approval.facet, approval.path.clone(), EndedWhy::Expired));
        settlement.history.push(HistoryLine {
            place: Some((approval.facet, approval.path.clone())),
            ..said(scene, "base.expired", format!("what {} approved is not approved any more", approval.by))
        });
    }
    let moment = scene.moment(settlement.scans.seq);
    let mut lifted = LifeStep::of(&scene.memory.drifts);
    suppress::lift(&mut settlement, scene, &mut lifted, None);
    let mut step = life::life_tick(&lifted.rows, &settlement.facets, &moment);
    step.after(lifted);
    let looks_again = !settlement.ended_approvals.is_empty() || !settlement.history.is_empty();
    if step.changed.is_empty()
        && !looks_again
        && scene.incidents() == scene.memory.incidents
        && suppress::is_quiet(scene)
    {
        return None;
    }
    suppress::mark(&mut settlement, scene, &mut step);
    let mut settlement = conclude(scene, settlement, step, None, None);
    if looks_again {
        settlement.recheck = Some(scene.now);
    }
    Some(settlement)
}

/// Until when a quiet target stays so if nothing else happens to it: the end of an approval or an ignore, or an ignore
/// that is of no use by then.
#[must_use]
pub fn rests_until(policy: &Policy, memory: &Memory, scans: &ScanMemory) -> Option<Timestamp> {
    let approvals = memory.approvals.iter().filter_map(|approval| approval.until);
    let ignored = memory.drifts.iter().filter_map(|row| row.suppressed.as_ref()?.until());
    let checks = posture::ends(&scans.posture);
    approvals.chain(checks).chain(ignored).chain(unused::due(policy, scans, &memory.drifts)).min()
}

/// When [`settle_tick`] has something to do next, if no scan or decision comes before.
#[must_use]
pub fn next_tick(memory: &Memory) -> Option<Timestamp> {
    let approvals = memory.approvals.iter().filter_map(|approval| approval.until);
    let acks = memory.incidents.iter().filter_map(|incident| incident.acked.as_ref()?.until);
    let ignored = memory.drifts.iter().filter_map(|row| row.suppressed.as_ref()?.until());
    approvals.chain(acks).chain(ignored).chain(life::next_tick(&memory.drifts, &memory.facets)).min()
}

/// Settles that the target left the inventory. Its baseline, decisions and history stay.
#[must_use]
pub fn settle_retire(scene: &Scene<'_>) -> Settlement {
    let step =
        life::decided(&scene.memory.drifts, &|_| Some(DriftState::Retired), &scene.moment(scene.memory.scans.seq));
    let mut settlement = conclude(scene, blank(scene), step, None, None);
    settlement.recheck = None;
    settlement
}

#[cfg(test)]
mod tests;
