//! Puts the pure steps together: what one scan, decision or tick changes.
//!
//! The store loads a target's [`Memory`], one of these functions computes the [`Settlement`], and the store commits
//! it, all under one writer lock. What a drift does is `life`'s, what an incident does `incident`'s, what is owed
//! `notices`'; here they are run in order and their results become one write-set.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::judge::alert::Story;
use crate::judge::decide::{Author, Decision, Refusal};
use crate::judge::fold::Folding;
use crate::model::confirm::Confirm;
use crate::model::digest::Digest;
use crate::model::facet::{FacetName, FacetState};
use crate::model::incident::Unit;
use crate::model::judgment::Judgment;
use crate::model::memory::Memory;
use crate::model::notice::{Body, Route};
use crate::model::observation::{AddressClass, Asked, Observation};
use crate::model::settlement::Settlement;
use crate::model::snapshot::Snapshot;
use crate::model::target::{BaselineMode, TargetSummary};

/// What every settlement is computed from.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// Whose.
    pub target: &'a TargetSummary,
    /// How it gets its baseline.
    pub mode: BaselineMode,
    /// What confirms.
    pub confirm: &'a Confirm,
    /// Which events go where.
    pub routes: &'a [Route],
    /// Names of all receivers.
    pub receivers: &'a [String],
    /// The target's past.
    pub memory: &'a Memory,
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
}

impl Arrival {
    /// Of `observation`.
    #[must_use]
    pub const fn of(observation: &Observation) -> Self {
        Self { not_before: observation.not_before, address_class: observation.address_class }
    }
}

/// Whether a scan changes nothing: then it writes no row, and only last-seen times move.
#[must_use]
pub fn is_quiet(memory: &Memory, snapshot: &Snapshot, judgment: &Judgment) -> bool {
    let _ = (memory, snapshot, judgment);
    false
}

/// Settles a scan.
#[must_use]
pub fn settle_scan(scene: &Scene<'_>, snapshot: &Snapshot, judgment: &Judgment, arrival: Arrival) -> Settlement {
    let _ = (scene, snapshot, judgment, arrival);
    unimplemented!()
}

/// Settles what needs a clock and no scan: an approval's `until`, an ack's, a block that turns high, a mixed fleet's
/// end. `None` when nothing is due.
#[must_use]
pub fn settle_tick(scene: &Scene<'_>) -> Option<Settlement> {
    let _ = scene;
    None
}

/// When [`settle_tick`] has something to do next, as far as memory tells.
#[must_use]
pub fn next_tick(memory: &Memory) -> Option<Timestamp> {
    let _ = memory;
    None
}

/// Settles that the target left the inventory. Its baseline, decisions and history stay.
#[must_use]
pub fn settle_retire(scene: &Scene<'_>) -> Settlement {
    let _ = scene;
    unimplemented!()
}

/// Settles `drift accept`: approvals at the drifts' paths and what they claim.
///
/// `shown` are the target's facets as last seen (the values of claimed places are taken from them), `older` is what
/// the revision named showed, when it is not the newest.
///
/// # Errors
/// When the decision is refused.
pub fn settle_accept_incident(
    scene: &Scene<'_>,
    shown: &BTreeMap<FacetName, FacetState>,
    asked: &Asked,
    decision: &Decision,
    older: Option<&Body>,
) -> Result<Settlement, Refusal> {
    let _ = (scene, shown, asked, decision, older);
    unimplemented!()
}

/// Settles `drift reject`: it stands and is not trusted.
///
/// # Errors
/// When the decision is refused.
pub fn settle_reject(scene: &Scene<'_>, decision: &Decision, older: Option<&Body>) -> Result<Settlement, Refusal> {
    let _ = (scene, decision, older);
    unimplemented!()
}

/// Settles `drift ack`: somebody is on it.
///
/// # Errors
/// When the decision is refused.
pub fn settle_ack(scene: &Scene<'_>, decision: &Decision, older: Option<&Body>) -> Result<Settlement, Refusal> {
    let _ = (scene, decision, older);
    unimplemented!()
}

/// A snapshot to accept whole.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its digest.
    pub digest: Digest,
    /// Its facets.
    pub facets: &'a BTreeMap<FacetName, FacetState>,
    /// How it was asked.
    pub asked: &'a Asked,
    /// Beside what is held already, not instead of it.
    pub beside: bool,
}

/// Settles `baseline accept`: each facet that the named snapshot has seen or absent; others keep their entries.
///
/// # Errors
/// When the decision is refused.
pub fn settle_baseline_accept(scene: &Scene<'_>, named: &Named<'_>, author: &Author) -> Result<Settlement, Refusal> {
    let _ = (scene, named, author);
    unimplemented!()
}
