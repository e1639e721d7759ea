//! What is kept in memory of a target between its scans, so that an unchanged one costs no query. It is kept small:
//! there may be a hundred thousand.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::{Report, Standing};
use crate::model::digest::Digest;
use crate::model::drift::DriftState;
use crate::model::facet::{Face, Facet, FacetName, FacetState, UnseenKind, UnseenReason};
use crate::model::inventory::{Auth, Target};
use crate::model::memory::{Memory, Past, ScanMemory};
use crate::model::observation::{
    AddressClass, DetectionState, Echo, Found, Kept, Observation, Outcome, RawFacet, Remark,
};
use crate::model::pointer::Pointer;
use crate::model::settlement::Settlement;
use crate::model::snapshot::{CheckVerdict, Coverage, Snapshot};
use crate::store::{self, Resumed};

/// A second read of a steady list goes over a fresh connection this often (design, section 3).
const FRESH_EVERY: Duration = Duration::from_hours(1);

/// Cards, catalogs, TLS and their like are looked at this often, while nothing changes (likewise).
const LOOK_EVERY: Duration = Duration::from_hours(6);
/// And no more often than this, unless something about the target is on its way.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_hours(1);

/// What is kept of one target.
#[derive(Clone, Debug, Default)]
pub(super) struct Remembered {
    pub(super) scans: ScanMemory,
    recheck: Option<Timestamp>,
    /// The last scan was complete and nothing about the target is on its way.
    pub(super) quiet: Option<Quiet>,
    /// A block is confirmed: one request an hour.
    pub(super) blocked: bool,
    /// What is not looked at in every scan.
    pub(super) kept: Option<Arc<Kept>>,
    pending: u32,
    open: u32,
    sight: Sight,
}

/// By what the next scan is known to change nothing.
#[derive(Clone, Debug)]
pub(super) struct Quiet {
    /// What the last one showed.
    pub(super) snapshot: Digest,
    /// What the last one brought.
    pub(super) echo: Option<Echo>,
    /// How it answered the checks.
    pub(super) verdicts: Digest,
    /// What the prober remarked in the last one.
    pub(super) remarks: Digest,
    /// When that ends by itself: an approval that it was held to or an ignore runs out.
    pub(super) until: Option<Timestamp>,
    /// What the inventory wished then.
    pub(super) wishes: u64,
}

/// A hash of everything in an inventory entry that decides how it is asked and judged.
pub(super) fn wishes(target: &Target) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    target.kind.hash(&mut hasher);
    target.endpoint.hash(&mut hasher);
    target.policy.hash(&mut hasher);
    target.anonymous.hash(&mut hasher);
    target.tier.hash(&mut hasher);
    target.auth.as_ref().map(Auth::name).hash(&mut hasher);
    target.tls.hash(&mut hasher);
    target.headers.iter().for_each(|(name, _)| name.hash(&mut hasher));
    hasher.finish()
}

/// What the prober remarked, without its evidence, which may differ from scan to scan.
pub(super) fn remarks(remarks: &[Remark]) -> Digest {
    let verdict = |verdict| match verdict {
        CheckVerdict::Passed => "passed",
        CheckVerdict::Finding => "finding",
        CheckVerdict::Skipped => "skipped",
    };
    Digest::of_parts(remarks.iter().flat_map(|remark| [remark.rule, remark.case, verdict(remark.verdict)]))
}

impl Quiet {
    /// Whether nothing that it rests on has ended by itself.
    pub(super) fn lasts(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// Whether `observation` brought what the last one brought.
    pub(super) fn is_echoed(&self, observation: &Observation) -> bool {
        let digest = |echo: &Option<Echo>| echo.as_ref().map(|echo| echo.digest);
        let is_alike = digest(&self.echo) == digest(&observation.echo);
        self.echo.is_some() && is_alike && self.remarks == remarks(&observation.remarks)
    }
}

/// What the last scans say of a target's sight, for gauges.
#[derive(Clone, Debug, Default)]
struct Sight {
    /// It has answered in its protocol at least once.
    answered: bool,
    /// Losing it is confirmed.
    lost: bool,
    confirmed: bool,
    credential_ok: Option<bool>,
    facets: Box<[FacetSight]>,
}

#[derive(Clone, Copy, Debug)]
struct FacetSight {
    name: FacetName,
    watched: bool,
    last_seen: Option<Timestamp>,
}

/// A drift that has not ended, in short.
struct Standings {
    pending: u32,
    open: u32,
    /// A block is confirmed.
    blocked: bool,
    /// Losing sight of the whole endpoint is confirmed.
    lost: bool,
}

impl Remembered {
    /// What the store knows; `before` is what was kept so far.
    pub(super) fn resumed(resumed: Resumed, before: Option<&Self>) -> Self {
        let Resumed { scans, last_seen, recheck, standing, last } = resumed;
        let mut sight = before.map(|before| before.sight.clone()).unwrap_or_default();
        if sight.facets.is_empty()
            && let Some(last) = last
        {
            sight.see(last.outcome, last.mcp, &last.coverage, last.unseen.iter());
        }
        let drifts = standing.iter().map(|drift| {
            let store::Standing { facet, path, rule, state, told } = drift;
            (*facet, path, rule.as_str(), *state, *told)
        });
        Self::of(scans, recheck, None, Standings::of(drifts), sight.at(|name| last_seen.get(&name).copied()))
    }

    /// What stands once `settlement` is committed.
    pub(super) fn settled(
        memory: &Memory,
        settlement: &Settlement,
        snapshot: &Snapshot,
        quiet: Option<Quiet>,
        before: Option<&Self>,
    ) -> Self {
        let mut sight = before.map(|before| before.sight.clone()).unwrap_or_default();
        let unseen = snapshot.facets.iter().filter_map(|(name, state)| match state {
            FacetState::Unseen { reason } => Some((name, reason)),
            FacetState::Seen(_) | FacetState::Absent { .. } => None,
        });
        sight.see(snapshot.outcome, snapshot.mcp.state, &snapshot.coverage, unseen);
        let last_seen = |name| settlement.facets.get(&name).and_then(|facet| facet.last_seen);
        let changed: BTreeSet<Digest> = settlement.drifts.iter().map(|row| row.id).collect();
        let untouched = memory.drifts.iter().filter(|row| !changed.contains(&row.id));
        let standing = untouched.chain(&settlement.drifts).filter(|row| !row.state.is_ended());
        let drifts = standing.map(|row| {
            let told = row.suppressed.is_none();
            (row.drift.facet, &row.drift.path, row.drift.rule.rule.as_str(), row.state, told)
        });
        let standings = Standings::of(drifts);
        Self::of(settlement.scans.clone(), settlement.recheck, quiet, standings, sight.at(last_seen))
    }

    fn of(
        scans: ScanMemory,
        recheck: Option<Timestamp>,
        quiet: Option<Quiet>,
        standings: Standings,
        sight: Sight,
    ) -> Self {
        let Standings { pending, open, blocked, lost } = standings;
        // What the checks are held to is read with the rest of the memory, when a scan is settled.
        let scans = ScanMemory { posture: BTreeMap::new(), ..scans };
        Self { scans, recheck, quiet, blocked, kept: None, pending, open, sight: Sight { lost, ..sight } }
    }

    /// The next scan looks at everything, and is judged whatever it shows.
    pub(super) fn stir(&mut self) {
        self.quiet = None;
        self.kept = None;
    }

    /// With what it looked at this time, else what is kept of before.
    pub(super) fn keeping(self, kept: Option<Arc<Kept>>, before: Option<&Self>) -> Self {
        Self { kept: kept.or_else(|| before.and_then(|before| before.kept.clone())), ..self }
    }

    /// What need not be looked at in the next scan: nothing about the target is on its way, it is not old, and all of
    /// it was seen.
    pub(super) fn kept(&self, now: Timestamp) -> Option<&Arc<Kept>> {
        let kept = self.kept.as_ref().filter(|_| self.pending == 0 && self.recheck.is_none())?;
        // Who is never still is looked at more often, and not in every scan.
        let serves = if self.quiet.is_some() { LOOK_EVERY } else { LOOK_AT_MOST_EVERY };
        let is_young = now.duration_since(kept.at).unsigned_abs() < serves;
        // What is behind a guard is not watched, hence not missed.
        let is_missed = |raw: &RawFacet| matches!(raw, RawFacet::Unseen(why) if why.kind != UnseenKind::Guarded);
        let is_whole = !kept.facets.values().any(is_missed);
        (is_young && is_whole).then_some(kept)
    }

    /// One more scan like the last.
    pub(super) fn lengthen(&mut self, now: Timestamp, fresh: bool, certificate_ends: Option<Timestamp>) {
        let last = self.scans.last_at;
        for facet in self.sight.facets.iter_mut().filter(|facet| facet.last_seen == last) {
            facet.last_seen = Some(now);
        }
        self.scans.seq += 1;
        self.scans.last_at = Some(now);
        self.scans.last_ok = Some(now);
        self.scans.outcome = Some(Outcome::Ok);
        self.scans.not_before = None;
        self.scans.certificate_ends = certificate_ends.or(self.scans.certificate_ends);
        if fresh {
            self.scans.last_fresh = Some(now);
        }
        self.recheck = None;
    }

    /// One more scan, of which nothing counts: it only moves when the next one is due.
    pub(super) const fn set_aside(&mut self, now: Timestamp, again: Option<Timestamp>) {
        self.scans.last_at = Some(now);
        self.recheck = again;
    }

    pub(super) const fn past(&self) -> Past {
        Past { last: self.scans.last_at, recheck: self.recheck, hold: self.scans.not_before, blocked: self.blocked }
    }

    /// The class of the address that the baseline was taken at; where we moved the target ourselves, any will do.
    pub(super) fn known_class(&self, target: &Target) -> Option<AddressClass> {
        self.scans.address_class.filter(|_| !self.is_moved(target))
    }

    /// Where its endpoint was found last, if that is not the URL as written and the URL is still written so.
    pub(super) fn endpoint(&self, target: &Target) -> Option<&Found> {
        self.scans.endpoint.as_deref().filter(|_| !self.is_moved(target))
    }

    fn is_moved(&self, target: &Target) -> bool {
        self.scans.ours.as_ref().is_some_and(|ours| ours.url != target.endpoint.to_string())
    }

    pub(super) fn wants_fresh_read(&self, now: Timestamp) -> bool {
        let due = |last: Timestamp| now.duration_since(last).unsigned_abs() >= FRESH_EVERY;
        self.pending > 0 || self.recheck.is_some() || self.scans.last_fresh.is_none_or(due)
    }

    /// What a scan came to that showed what the last one showed.
    pub(super) fn unchanged(&self, digest: Digest) -> Report {
        let (outcome, unseen) = (Outcome::Ok, Vec::new());
        let hasten = Vec::new();
        Report { outcome, digest, past: self.past(), pending: self.pending, open: self.open, unseen, hasten }
    }

    pub(super) fn report(&self, snapshot: &Snapshot) -> Report {
        let unseen = |(name, state): (&FacetName, &FacetState)| match state {
            FacetState::Unseen { reason } => Some(format!("{name}: {reason}")),
            FacetState::Seen(_) | FacetState::Absent { .. } => None,
        };
        Report {
            outcome: snapshot.outcome,
            digest: snapshot.digest,
            past: self.past(),
            pending: self.pending,
            open: self.open,
            unseen: snapshot.facets.iter().filter_map(unseen).collect(),
            hasten: Vec::new(),
        }
    }

    /// For gauges.
    pub(super) fn standing(&self) -> Standing {
        let sight = &self.sight;
        Standing {
            up: (sight.answered || sight.lost).then_some(!sight.lost),
            blocked: self.blocked,
            confirmed: sight.confirmed,
            credential_ok: sight.credential_ok,
            last_success: self.scans.last_ok,
            certificate_ends: self.scans.certificate_ends,
            facets: sight.facets.iter().map(|facet| (facet.name, (facet.watched, facet.last_seen))).collect(),
        }
    }
}

/// Whether a list was read a second time over a connection of its own.
pub(super) fn read_fresh(observation: &Observation) -> bool {
    let fresh = |raw: &RawFacet| match raw {
        RawFacet::Seen(reads) => reads.iter().any(|read| read.fresh),
        RawFacet::Absent { .. } | RawFacet::Unseen(_) => false,
    };
    observation.facets.values().any(fresh)
}

impl Standings {
    fn of<'a>(drifts: impl Iterator<Item = (FacetName, &'a Pointer, &'a str, DriftState, bool)>) -> Self {
        let endpoint = Pointer::of(["endpoint"]);
        let mut all = Self { pending: 0, open: 0, blocked: false, lost: false };
        for (facet, path, rule, state, told) in drifts {
            let of_sight = facet.facet == Facet::Scan && state == DriftState::Open;
            all.pending += u32::from(state == DriftState::Pending);
            all.open += u32::from(told && state == DriftState::Open);
            all.blocked |= of_sight && rule == "scan.blocked";
            all.lost |= of_sight && *path == endpoint;
        }
        all
    }
}

impl Sight {
    /// Takes in what a scan says.
    fn see<'a>(
        &mut self,
        outcome: Outcome,
        mcp: DetectionState,
        coverage: &BTreeMap<FacetName, Coverage>,
        unseen: impl Iterator<Item = (&'a FacetName, &'a UnseenReason)>,
    ) {
        let facet = |(name, coverage): (&FacetName, &Coverage)| FacetSight {
            name: *name,
            watched: coverage.watched,
            last_seen: None,
        };
        self.facets = coverage.iter().map(facet).collect();
        if mcp != DetectionState::Unseen {
            self.confirmed = mcp == DetectionState::Confirmed;
        }
        match outcome {
            Outcome::Ok | Outcome::Partial | Outcome::CredentialRejected => self.answered = true,
            Outcome::Blocked | Outcome::RateLimited | Outcome::Unreachable | Outcome::Skipped | Outcome::Error => {}
        }
        // What is watched and has no reason was seen or absent.
        let ours = |(name, coverage): (&FacetName, &Coverage)| {
            name.face == Face::Auth && coverage.watched && coverage.reason.is_none()
        };
        if coverage.iter().any(ours) {
            self.credential_ok = Some(true);
        }
        let refused = |kind| match kind {
            UnseenKind::CredentialRejected | UnseenKind::CredentialUnavailable => true,
            UnseenKind::Unreachable
            | UnseenKind::Timeout
            | UnseenKind::ServerError
            | UnseenKind::HttpStatus
            | UnseenKind::Blocked
            | UnseenKind::RateLimited
            | UnseenKind::Guarded
            | UnseenKind::InvalidJson
            | UnseenKind::InvalidJsonrpc
            | UnseenKind::RpcError
            | UnseenKind::CursorLoop
            | UnseenKind::TooLarge
            | UnseenKind::Refused
            | UnseenKind::Rebound
            | UnseenKind::NotReached
            | UnseenKind::OurFault => false,
        };
        if unseen.into_iter().any(|(name, reason)| name.face == Face::Auth && refused(reason.kind)) {
            self.credential_ok = Some(false);
        }
    }

    /// With when each facet was last seen.
    fn at(mut self, last_seen: impl Fn(FacetName) -> Option<Timestamp>) -> Self {
        for facet in &mut self.facets {
            facet.last_seen = last_seen(facet.name);
        }
        self
    }
}
