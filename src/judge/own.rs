//! Bulletins of what is ours: rules that a new version of driftd brought, ignores that are of no use.
//!
//! Pure builders; when they are posted is for the loops. A bulletin's key makes it one, so posting it again does nothing.

use jiff::Timestamp;

use super::alert::words;
use super::rules;
use crate::model::alert::AlertType;
use crate::model::bulletin::{Bulletin, Passage};
use crate::model::rule::{Impact, Severity};
use crate::model::target::{TargetId, TargetSummary};
use crate::model::text;

/// Lines of one passage; further ones are counted.
const LINES: usize = 50;

/// The one message of a new rule set: `targets` were judged by another before. `None` when there are none.
#[must_use]
pub fn rules_updated(targets: &[TargetSummary]) -> Option<Bulletin> {
    if targets.is_empty() {
        return None;
    }
    let version = rules::version();
    let are = are(targets.len(), "target");
    Some(Bulletin {
        kind: AlertType::FleetReport,
        key: format!("rules:{version}"),
        severity: Severity::Info,
        impact: vec![Impact::Operational],
        headline: "driftd judges by other rules now".to_owned(),
        summary: vec![
            format!("driftd brought another rule set ({version}); {are} judged by it from now on."),
            "Nothing changed at the targets: what is as it was accepted makes no drift, whatever is new in the rules."
                .to_owned(),
            "What stands undecided may have another rule or severity from its next scan on.".to_owned(),
            "`driftd rules` lists the rules. Nothing is to be decided.".to_owned(),
        ],
        sections: Vec::new(),
        targets: targets.to_vec(),
    })
}

/// `1 target is`, `2 targets are`
fn are(n: usize, noun: &str) -> String {
    format!("{} {}", words::count(n, noun), if n == 1 { "is" } else { "are" })
}

/// An ignore that nothing has matched for long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusedIgnore {
    /// Whose.
    pub target: TargetSummary,
    /// What it would match, as the inventory writes it.
    pub matches: String,
    /// Why it is there.
    pub reason: String,
    /// Since when nothing has matched it.
    pub since: Timestamp,
}

/// The message of ignores that are of no use, at most one a week; `None` when all are of use.
#[must_use]
pub fn unused_ignores(unused: &[UnusedIgnore], now: Timestamp) -> Option<Bulletin> {
    if unused.is_empty() {
        return None;
    }
    let line = |unused: &UnusedIgnore| {
        let (matches, reason) = (text::inert(&unused.matches, 300), text::quoted(&unused.reason, 200));
        format!("{}: {matches} ({reason}), since {}", unused.target.id, unused.since.strftime("%Y-%m-%d"))
    };
    let mut lines: Vec<String> = unused.iter().take(LINES).map(line).collect();
    if unused.len() > LINES {
        lines.push(format!("and {} more", unused.len() - LINES));
    }
    let mut targets: Vec<TargetSummary> = Vec::new();
    let mut known = std::collections::BTreeSet::<&TargetId>::new();
    targets.extend(unused.iter().filter(|one| known.insert(&one.target.id)).map(|one| one.target.clone()));
    let are = are(unused.len(), "ignore");
    Some(Bulletin {
        kind: AlertType::FleetReport,
        key: format!("ignores:{}", now.strftime("%G-W%V")),
        severity: Severity::Low,
        impact: vec![Impact::Operational],
        headline: format!("{are} of no use"),
        summary: vec![
            format!("{are} of no use: nothing has matched for 30 days."),
            "What it was for is gone; one day it would hide something nobody has thought of.".to_owned(),
            "Take it out of the inventory, or leave it: it is said at most once a week.".to_owned(),
        ],
        sections: vec![Passage { heading: "OF NO USE".to_owned(), lines }],
        targets,
    })
}

#[cfg(test)]
mod tests;
