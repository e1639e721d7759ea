//! Checks whose verdict worsens since it was recorded: `x.posture-regressed`.
//!
//! Each check is held to the verdict that it had when what it looks at joined the baseline, or when it was first answered
//! after that; what was found then stands in the report of the first round and is never a drift. A drift here is at
//! `checks` `/RULE/CASE`, which is no facet that anything is seen of: it has no baseline entry and no approval. Accepting
//! one changes what the check is held to.
//!
//! - What is skipped is not answered: it neither shows nor ends a drift (law 1). So is everything while sight is lost.
//! - A change that another drift of the same scan tells is that drift's (`claims`), for as long as it stands.
//! - A check that gets better is held to that once it has lasted for a day, so that one which wavers is not news each time.
//! - Where we ask or judge otherwise than last time, everything is recorded anew (law 10).

mod claims;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::judge::rules::{self, draft};
use crate::judge::settle;
use crate::model::digest::Digest;
use crate::model::drift::{Detail, Drift, DriftRow, DriftState};
use crate::model::facet::{Facet, FacetName};
use crate::model::judgment::Judgment;
use crate::model::memory::{Memory, ScanMemory};
use crate::model::pointer::Pointer;
use crate::model::posture::{Held, Posture};
use crate::model::rule::{Class, RuleCase};
use crate::model::snapshot::{Check, CheckVerdict, Snapshot};
use crate::model::target::TargetId;

/// Where these drifts stand.
pub const CHECKS: FacetName = FacetName::stranger(Facet::Checks);

/// For how long a check must pass before it is held to that.
const BETTER_FOR: SignedDuration = SignedDuration::from_hours(24);

/// Adds to `judgment` what has become of the checks, and what they are held to from here.
pub(super) fn judge(target: &TargetId, memory: &Memory, snapshot: &Snapshot, judgment: &mut Judgment) {
    judgment.posture.clone_from(&memory.scans.posture);
    let step = Step::of(memory, snapshot, judgment);
    if step.anew {
        judgment.posture.retain(|key, _| step.standing.contains_key(key));
    }
    let mut shown = Vec::new();
    for check in step.answered() {
        let key = key(&check.rule, &check.case);
        let (held, is_news) = step.next(check, &key, judgment.posture.get(&key));
        judgment.posture.insert(key.clone(), held);
        if is_news {
            let new = drift(target, check);
            // What is told of it stays what was confirmed: evidence may differ from scan to scan.
            let told = step.standing.get(&key).map(|row| row.drift.details.clone());
            shown.push(Drift { details: told.unwrap_or_else(|| new.details.clone()), ..new });
        }
        judgment.answered.insert(place(&check.rule, &check.case));
    }
    if !judgment.answered.is_empty() {
        judgment.seen.insert(CHECKS);
    }
    judgment.drifts.extend(shown);
}

/// What a step looks at.
struct Step<'a> {
    memory: &'a Memory,
    snapshot: &'a Snapshot,
    drifts: Vec<Drift>,
    /// What could not be seen: all of it, or these facets.
    lost: (bool, BTreeSet<Facet>),
    /// Drifts of checks that have not ended, by the check.
    standing: BTreeMap<String, &'a DriftRow>,
    /// We ask or judge otherwise than last time.
    anew: bool,
}

impl<'a> Step<'a> {
    fn of(memory: &'a Memory, snapshot: &'a Snapshot, judgment: &Judgment) -> Self {
        let endpoint = Pointer::of(["endpoint"]);
        let lost = judgment.sights.iter().filter_map(|sight| sight.path.token(0)?.parse::<FacetName>().ok());
        let rows = memory.drifts.iter().filter(|row| row.drift.facet == CHECKS && !row.state.is_ended());
        Self {
            memory,
            snapshot,
            drifts: judgment.drifts.clone(),
            lost: (judgment.sights.iter().any(|sight| sight.path == endpoint), lost.map(|name| name.facet).collect()),
            standing: rows.filter_map(|row| Some((key_of(&row.drift.path)?, row))).collect(),
            anew: memory.scans.ours.as_deref() != Some(&settle::ours(&snapshot.target, &snapshot.asked)),
        }
    }

    /// The checks that this scan decided and that are held to anything.
    fn answered(&self) -> impl Iterator<Item = &'a Check> {
        let all_lost = self.lost.0;
        let lost = &self.lost.1;
        let decided = |check: &&Check| match check.verdict {
            CheckVerdict::Passed | CheckVerdict::Finding => true,
            CheckVerdict::Skipped => false,
        };
        let is_seen = move |check: &&Check| !claims::looks_at(&check.rule).iter().any(|facet| lost.contains(facet));
        let checks = self.snapshot.checks.iter().filter(move |_| !all_lost);
        checks.filter(decided).filter(|check| is_held_to_anything(check)).filter(is_seen)
    }

    /// What a check is held to after this scan, and whether it is news.
    fn next(&self, check: &Check, key: &str, held: Option<&Held>) -> (Held, bool) {
        let is_finding = check.verdict == CheckVerdict::Finding;
        let recorded = if is_finding { Held::Finding } else { Held::Passed };
        if self.standing.contains_key(key) {
            return (Held::Passed, is_finding);
        }
        let now = self.snapshot.at;
        match held.filter(|_| self.has_joined(check)) {
            None => (recorded, false),
            Some(Held::Passed) => self.of_one_that_passed(check, is_finding),
            Some(Held::Finding) if is_finding => (Held::Finding, false),
            Some(Held::Finding) => (Held::Better { since: now }, false),
            Some(Held::Better { since }) if now.duration_since(*since) >= BETTER_FOR => {
                self.of_one_that_passed(check, is_finding)
            }
            Some(Held::Better { .. }) if is_finding => (Held::Finding, false),
            Some(Held::Better { since }) => (Held::Better { since: (*since).min(now) }, false),
            Some(Held::Accepted { until }) if now < *until => (Held::Accepted { until: *until }, false),
            Some(Held::Claimed { facet, path }) if self.stands(*facet, path) => {
                (Held::Claimed { facet: *facet, path: path.clone() }, false)
            }
            Some(Held::Accepted { .. } | Held::Claimed { .. }) => self.of_one_that_passed(check, is_finding),
        }
    }

    fn of_one_that_passed(&self, check: &Check, is_finding: bool) -> (Held, bool) {
        if !is_finding {
            return (Held::Passed, false);
        }
        match self.drifts.iter().find(|drift| self.is_on_its_way(drift) && claims::explains(drift, check)) {
            Some(drift) => (Held::Claimed { facet: drift.facet, path: drift.path.clone() }, false),
            None => (Held::Passed, true),
        }
    }

    /// Whether what the check looks at is in the baseline; until then it may still settle.
    fn has_joined(&self, check: &Check) -> bool {
        let facets = claims::looks_at(&check.rule);
        self.memory.baseline.keys().any(|name| facets.contains(&name.facet))
    }

    /// Whether a drift that explained a check still does, or what took its place.
    fn stands(&self, facet: FacetName, path: &Pointer) -> bool {
        let is = |drift: &Drift| drift.facet == facet && drift.path.contains(path);
        let known = self.memory.drifts.iter().filter(|row| !row.state.is_ended());
        known.map(|row| &row.drift).chain(&self.drifts).any(is)
    }

    /// Whether a drift is of a change that is being confirmed: one that has stood for long explains nothing new.
    fn is_on_its_way(&self, drift: &Drift) -> bool {
        let same = |row: &&DriftRow| row.drift.facet == drift.facet && row.drift.path == drift.path;
        let known = self.memory.drifts.iter().filter(|row| !row.state.is_ended()).find(same);
        known.is_none_or(|row| row.state == DriftState::Pending || row.drift.fingerprint != drift.fingerprint)
    }
}

/// Whether a worse verdict is a drift of this kind. What is said of the scan is not the server's, sight has its own
/// rules, and so has the end of a certificate.
fn is_held_to_anything(check: &Check) -> bool {
    let class = rules::case(&check.rule, &check.case).and_then(|(_, case)| case.class);
    class != Some(Class::Sight) && !check.rule.starts_with("scan.") && check.rule != "net.tls-expiring"
}

/// All that the checks of a scan say here, as one value: how each that is held to anything was answered.
#[must_use]
pub fn verdicts(checks: &[Check]) -> Digest {
    let word = |verdict| match verdict {
        CheckVerdict::Passed => "passed",
        CheckVerdict::Finding => "finding",
        CheckVerdict::Skipped => "skipped",
    };
    let held = checks.iter().filter(|check| is_held_to_anything(check));
    Digest::of_parts(held.flat_map(|check| [check.rule.as_str(), check.case.as_str(), word(check.verdict)]))
}

/// The place of a check.
fn place(rule: &str, case: &str) -> Pointer {
    Pointer::of([rule, case])
}

fn key(rule: &str, case: &str) -> String {
    RuleCase::new(rule, case).to_string()
}

fn key_of(path: &Pointer) -> Option<String> {
    Some(key(path.token(0)?, path.token(1)?))
}

/// What a check asks about, in a few words; the rule itself where this version does not know it.
pub(super) fn title(rule: &str) -> String {
    rules::explain(rule).map_or(rule, |rule| rule.title).to_owned()
}

fn drift(target: &TargetId, check: &Check) -> Drift {
    let name = key(&check.rule, &check.case);
    let message = format!("the check {name} passed before and is a finding now");
    let mut lines = vec![check.evidence.clone()];
    if let Some(rule) = rules::explain(&check.rule) {
        lines.push(format!("why: {}", rules::why(rule.id, &[])));
        lines.push(format!("remedy: {}", rules::ask(rule.id, &[])));
    }
    let details = lines.into_iter().filter(|line| !line.is_empty()).map(|text| Detail::Text { text });
    let place = place(&check.rule, &check.case);
    draft::worse(place, check.severity, message, details.collect()).finish(target, CHECKS)
}

/// Holds the checks of `rows`, which somebody accepted, to what they are now; so are those that `rows` claim.
pub(super) fn accept(scans: &mut ScanMemory, rows: &[&DriftRow], until: Option<Timestamp>) {
    let accepted = until.map_or(Held::Finding, |until| Held::Accepted { until });
    for row in rows.iter().filter(|row| row.drift.facet == CHECKS) {
        scans.posture.extend(key_of(&row.drift.path).map(|key| (key, accepted.clone())));
    }
    for held in scans.posture.values_mut() {
        if let Held::Claimed { facet, path } = held
            && rows.iter().any(|row| row.drift.facet == *facet && row.drift.path.contains(path))
        {
            *held = accepted.clone();
        }
    }
}

/// When something that was accepted for a while is over.
pub(super) fn ends(posture: &Posture) -> impl Iterator<Item = Timestamp> {
    posture.values().filter_map(|held| match held {
        Held::Accepted { until } => Some(*until),
        Held::Passed | Held::Finding | Held::Better { .. } | Held::Claimed { .. } => None,
    })
}

#[cfg(test)]
mod tests;
