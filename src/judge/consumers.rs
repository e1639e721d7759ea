//! Who uses what changed (design, section 4): narrows what breaks nobody, and names whom a change hits.
//!
//! Where the inventory lists consumers, a breaking or cosmetic drift in an item that none of them uses is low. What has
//! security, exposure or behavior in its impact stays as it is, for a model reads the whole list; so does what is not
//! about an item. Without consumers every item may be used.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::alert::AlertConsumer;
use crate::model::drift::Drift;
use crate::model::facet::Facet;
use crate::model::policy::{Consumer, Policy};
use crate::model::rule::{Impact, Severity};

/// Consumers that a message names.
const CONSUMERS: usize = 50;
/// Items of one consumer that a message names.
const ITEMS: usize = 100;

/// The names, as a caller knows them, of the items that a drift is about: its own, and for what is gone or goes by
/// another name those that were. Empty for what is about no item.
#[must_use]
pub fn items(drift: &Drift) -> BTreeSet<&str> {
    if drift.facet.facet.list().is_none() {
        return BTreeSet::new();
    }
    let claims = drift.claims.iter().map(|claim| &claim.path);
    let paths = std::iter::once(&drift.path).chain(claims).filter(|path| path.token(0) == Some("items"));
    paths.filter_map(|path| path.token(1)).map(base_name).collect()
}

/// A key without the number that we put behind the second of one name.
fn base_name(key: &str) -> &str {
    // A U+0000 of the peer's own is doubled; ours stands alone before digits.
    match key.rsplit_once('\0') {
        Some((name, digits)) if !name.ends_with('\0') && digits.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => key,
    }
}

/// Whether `consumer` uses one of the items of `drift`, or may.
#[must_use]
pub fn uses(consumer: &Consumer, drift: &Drift) -> bool {
    let items = items(drift);
    consumer.uses.is_empty() || items.is_empty() || consumer.uses.iter().any(|used| items.contains(used.as_str()))
}

/// Whether somebody uses what `drift` is about, or may.
#[must_use]
pub fn is_used(policy: &Policy, drift: &Drift) -> bool {
    policy.consumers.is_empty() || policy.consumers.iter().any(|consumer| uses(consumer, drift))
}

/// Makes low what breaks or looks different in an item that nobody uses.
pub(super) fn narrow(policy: &Policy, drift: &mut Drift) {
    let told_to_all = drift.impact.iter().any(|impact| match impact {
        Impact::Security | Impact::Exposure | Impact::Behavior => true,
        Impact::Breaking | Impact::Cosmetic | Impact::Operational | Impact::Conformance => false,
    });
    let narrows = matches!(drift.impact.first(), Some(Impact::Breaking | Impact::Cosmetic)) && !told_to_all;
    if narrows && drift.severity > Severity::Low && !is_used(policy, drift) {
        drift.severity = Severity::Low;
    }
}

/// What a change does to who uses its item; the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    Differs,
    MayFail,
    Fails,
}

impl Effect {
    fn of(drift: &Drift) -> Self {
        let breaks = drift.impact.first() == Some(&Impact::Breaking);
        match drift.rule.rule.as_str() {
            "tool.renamed"
            | "tool.removed"
            | "tool.all-removed"
            | "prompt.removed"
            | "res.removed"
            | "res.all-removed"
            | "res.template-removed" => Self::Fails,
            _ if breaks && drift.severity >= Severity::Medium => Self::MayFail,
            _ => Self::Differs,
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Differs => "differs",
            Self::MayFail => "may_fail",
            Self::Fails => "fails",
        }
    }
}

/// Whom a change hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Who, with every item it uses that changed, and the worst that happens to one of them.
    pub consumer: AlertConsumer,
    /// To how many of them that happens.
    pub worst: usize,
}

/// Whom `drifts` hit: the worst hit first.
///
/// A consumer is named for items; for what is about the whole target only where that breaks calls.
#[must_use]
pub fn hit(policy: &Policy, drifts: &[&Drift]) -> Vec<Hit> {
    let mut all: Vec<(Effect, Hit)> = policy.consumers.iter().filter_map(|consumer| one(consumer, drifts)).collect();
    all.sort_by(|(a, left), (b, right)| b.cmp(a).then_with(|| left.consumer.name.cmp(&right.consumer.name)));
    all.into_iter().take(CONSUMERS).map(|(_, hit)| hit).collect()
}

fn one(consumer: &Consumer, drifts: &[&Drift]) -> Option<(Effect, Hit)> {
    let mut worst: Option<Effect> = None;
    let mut mine = BTreeMap::<&str, Effect>::new();
    for drift in drifts.iter().filter(|drift| drift.facet.facet != Facet::Scan) {
        let effect = Effect::of(drift);
        let items = known_before(drift);
        let is_used = |item: &&str| consumer.uses.is_empty() || consumer.uses.iter().any(|used| used == item);
        for item in items.iter().copied().filter(is_used) {
            let known = mine.entry(item).or_insert(effect);
            *known = effect.max(*known);
            worst = worst.max(Some(effect));
        }
        if items.is_empty() && drift.facet.facet.list().is_none() && effect > Effect::Differs {
            worst = worst.max(Some(effect));
        }
    }
    let effect = worst?;
    let count = mine.values().filter(|own| **own == effect).count();
    let items = mine.into_keys().take(ITEMS).map(str::to_owned).collect();
    let consumer = AlertConsumer { name: consumer.name.clone(), items, effect: effect.as_str().to_owned() };
    Some((effect, Hit { consumer, worst: count }))
}

/// The items of a drift that callers knew before it: what is new is used by nobody yet.
fn known_before(drift: &Drift) -> BTreeSet<&str> {
    let mut known = items(drift);
    let renamed = drift.rule.rule == "tool.renamed";
    let added = drift.before.is_empty() && drift.path.depth() == 2;
    if (renamed || added)
        && let Some(own) = drift.path.token(1)
    {
        known.remove(base_name(own));
    }
    known
}

#[cfg(test)]
mod tests;
