//! What is told of the fleet rather than of one incident: new targets after their first round, what changed while
//! nobody looked, and a time in which we were offline ourselves.
//!
//! Decides the words and how much of a list is named; who gets a bulletin, and when, is the caller's. A peer's text
//! stands in no sentence here: findings and changes are told by the sentences that rules make.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::alert::words;
use crate::model::alert::{Alert, AlertType};
use crate::model::bulletin::{Bulletin, Passage};
use crate::model::facet::{Facet, FacetName};
use crate::model::fleet::{BlindWhy, Blindness, Gap, GapWhy};
use crate::model::observation::Outcome;
use crate::model::rule::{Impact, Severity};
use crate::model::snapshot::{Check, CheckVerdict, Look};
use crate::model::target::TargetSummary;
use crate::model::text;

/// Lines of one list; further ones are counted.
const LINES: usize = 40;
/// Findings that are worth a look at once.
const WORST: usize = 3;
/// Characters of a sentence.
const SENTENCE: usize = 240;

/// How much of a target is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All of it.
    Full,
    /// What is missing, and why.
    Part(Vec<(Facet, String)>),
    /// Nothing was seen yet, and why.
    Nothing(String),
}

/// Says how much of a target is watched: of each facet one face is enough.
#[must_use]
pub fn coverage(look: Option<&Look>) -> Coverage {
    let Some(look) = look else { return Coverage::Nothing("not looked at yet".to_owned()) };
    match look.outcome {
        Outcome::Ok | Outcome::Partial | Outcome::CredentialRejected => {}
        Outcome::Blocked | Outcome::RateLimited | Outcome::Unreachable | Outcome::Skipped | Outcome::Error => {
            return Coverage::Nothing(why_nothing(look));
        }
    }
    let mut missing = BTreeMap::<Facet, Option<String>>::new();
    for (name, coverage) in &look.coverage {
        let entry = missing.entry(name.facet).or_insert_with(|| Some("not watched".to_owned()));
        if entry.is_none() {
            continue;
        }
        match (coverage.watched, look.unseen.get(name)) {
            (true, None) => *entry = None,
            (true, Some(reason)) => *entry = Some(reason.to_string()),
            (false, _) => *entry = coverage.reason.clone().or_else(|| entry.take()),
        }
    }
    let missing: Vec<(Facet, String)> =
        missing.into_iter().filter_map(|(facet, why)| Some((facet, text::inert(&why?, SENTENCE)))).collect();
    if missing.is_empty() { Coverage::Full } else { Coverage::Part(missing) }
}

fn why_nothing(look: &Look) -> String {
    let reason = look.unseen.values().next().map(|reason| format!(" ({})", text::inert(&reason.to_string(), 120)));
    format!("{}{}", look.outcome.as_str().replace('_', " "), reason.unwrap_or_default())
}

impl Coverage {
    /// `not read: tools (HTTP 500), prompts (no credential)`; `None` when nothing is missing.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        match self {
            Self::Full => None,
            Self::Nothing(why) => Some(why.clone()),
            Self::Part(missing) => {
                let part =
                    |(facet, why): &(Facet, String)| format!("{} ({why})", words::facet(FacetName::stranger(*facet)));
                Some(format!("not read: {}", missing.iter().map(part).collect::<Vec<_>>().join(", ")))
            }
        }
    }
}

/// A facet in a sentence: `tools`, `tools (with our credential)`.
#[must_use]
pub fn facet(name: FacetName) -> String {
    words::facet(name)
}

/// The findings of a look that are worth more than a mention, the worst first.
#[must_use]
pub fn findings(look: &Look) -> Vec<&Check> {
    let worth = |check: &&Check| check.verdict == CheckVerdict::Finding && check.severity >= Severity::Low;
    let mut findings: Vec<&Check> = look.checks.iter().filter(worth).collect();
    findings.sort_by_key(|check| std::cmp::Reverse((check.severity, check.status)));
    findings
}

/// A new target, and its newest look.
#[derive(Clone, Copy, Debug)]
pub struct Newcomer<'a> {
    /// Who.
    pub target: &'a TargetSummary,
    /// What was seen; `None` before a first scan has ended.
    pub look: Option<&'a Look>,
}

/// The report of a first round: who is watched now, in full or in part, what is worth a look, and how to trust it.
#[must_use]
pub fn first_round(newcomers: &[Newcomer<'_>], key: String) -> Bulletin {
    let (mut full, mut part, mut nothing) = (Vec::new(), Vec::new(), Vec::new());
    for newcomer in newcomers {
        let coverage = coverage(newcomer.look);
        let id = &newcomer.target.id;
        match (&coverage, coverage.missing()) {
            (Coverage::Full, _) | (_, None) => full.push(format!("{id}: {}", text::inert(&newcomer.target.url, 200))),
            (Coverage::Part(_), Some(missing)) => part.push(format!("{id}: {missing}")),
            (Coverage::Nothing(_), Some(why)) => nothing.push(format!("{id}: {why}")),
        }
    }
    let worst = worst(newcomers);
    let looked = newcomers.iter().filter_map(|newcomer| newcomer.look);
    let severity = looked.flat_map(findings).map(|check| check.severity).max().unwrap_or(Severity::Info);
    let found = if worst.is_empty() {
        "Nothing in them is worth a second look.".to_owned()
    } else {
        "What is worth a look stands below; none of it is an alarm, it is what was there at first sight.".to_owned()
    };
    Bulletin {
        kind: AlertType::FleetReport,
        key,
        severity,
        impact: vec![Impact::Operational],
        headline: headline(newcomers.len(), part.len(), nothing.len()),
        summary: vec![
            format!(
                "{}: {} watched in full, {} in part, {} not seen yet.",
                words::count(newcomers.len(), "new target"),
                full.len(),
                part.len(),
                nothing.len()
            ),
            found,
            "From now on each is held to what was seen; what changes is told.".to_owned(),
        ],
        sections: [
            passage("Worth a look", worst),
            passage("Watched in part", part),
            passage("Not seen yet", nothing),
            passage("Watched in full", full),
            passage(
                "How to trust",
                vec![
                    "driftd review".to_owned(),
                    "It walks these targets and asks of each whether what was seen is what is meant to be there."
                        .to_owned(),
                ],
            ),
        ]
        .into_iter()
        .flatten()
        .collect(),
        targets: newcomers.iter().take(LINES).map(|newcomer| newcomer.target.clone()).collect(),
    }
}

fn headline(all: usize, part: usize, nothing: usize) -> String {
    let of = |n: usize, what: &str| if n == 0 { String::new() } else { format!(", {n} {what}") };
    let watched =
        if all == 1 { "1 new target is watched".to_owned() } else { format!("{all} new targets are watched") };
    format!("{watched}{}{}", of(part, "in part"), of(nothing, "not seen"))
}

/// The worst findings of all, each rule once, with all who have it.
fn worst(newcomers: &[Newcomer<'_>]) -> Vec<String> {
    let mut all: Vec<(&TargetSummary, &Check)> = newcomers
        .iter()
        .filter_map(|newcomer| Some((newcomer.target, newcomer.look?)))
        .flat_map(|(target, look)| findings(look).into_iter().map(move |check| (target, check)))
        .collect();
    all.sort_by(|(a, x), (b, y)| (y.severity, y.status, &a.id).cmp(&(x.severity, x.status, &b.id)));
    let mut lines = Vec::new();
    let mut told = Vec::<&str>::new();
    for (_, check) in &all {
        if lines.len() == WORST {
            break;
        }
        if !told.contains(&check.rule.as_str()) {
            told.push(&check.rule);
            let mut who: Vec<&str> = Vec::new();
            let mut alike = true;
            for (target, same) in all.iter().filter(|(_, other)| other.rule == check.rule) {
                alike &= same.message == check.message;
                if !who.contains(&target.id.as_str()) {
                    who.push(target.id.as_str());
                }
            }
            // Where the sentences differ, the one told is the worst one's.
            let message = text::inert(&check.message, SENTENCE);
            let message = if alike { message } else { format!("{message}, and its like") };
            lines.push(format!("{}: {} {message} [{}]", owners(&who), check.severity, check.rule));
        }
    }
    lines
}

/// `x0`, `x0 and x1`, `x0, x1 and 6 more`
fn owners(ids: &[&str]) -> String {
    match ids {
        [one] => (*one).to_owned(),
        [first, second] => format!("{first} and {second}"),
        [first, second, rest @ ..] => format!("{first}, {second} and {} more", rest.len()),
        [] => String::new(),
    }
}

/// A list under its heading, cut with a count; `None` when it is empty.
fn passage(heading: &str, mut lines: Vec<String>) -> Option<Passage> {
    if lines.is_empty() {
        return None;
    }
    let more = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    Some(Passage { heading: heading.to_owned(), lines })
}

/// The one message of a round after a gap: what changed while nobody looked. `told` are the newest revisions of the
/// incidents that it opened.
#[must_use]
pub fn gap(gap: &Gap, told: &[&Alert], key: String) -> Bulletin {
    let mut told: Vec<&Alert> = told.to_vec();
    told.sort_by(|a, b| (b.severity, place(a)).cmp(&(a.severity, place(b))));
    let mut targets: Vec<TargetSummary> = Vec::new();
    for target in told.iter().flat_map(|alert| &alert.targets) {
        if !targets.contains(target) {
            targets.push(target.clone());
        }
    }
    let mut impact: Vec<Impact> = Vec::new();
    for each in told.iter().flat_map(|alert| &alert.impact) {
        if !impact.contains(each) {
            impact.push(*each);
        }
    }
    let count = words::count(targets.len(), "target");
    let since = gap.since.map(|since| format!(" from {}", words::range(since, gap.at))).unwrap_or_default();
    let (headline, why) = match gap.why {
        GapWhy::Pause => (
            format!("{count} changed while nobody looked"),
            format!("What changed while nobody looked:{since} driftd did not look."),
        ),
        GapWhy::Restore => (
            format!("{count} {} from the restored backup", if targets.len() == 1 { "differs" } else { "differ" }),
            format!(
                "The store was put back from a backup: what was seen and decided after that{since} is forgotten. This is what \
                 differs from it now, also where it was told before."
            ),
        ),
    };
    Bulletin {
        kind: AlertType::FleetReport,
        key,
        severity: told.iter().map(|alert| alert.severity).max().unwrap_or(Severity::Info),
        impact,
        headline,
        summary: vec![
            why,
            format!(
                "{} opened in the first round after it; each is decided by itself.",
                words::count(told.len(), "incident")
            ),
        ],
        sections: passage("Incidents", told.iter().map(|alert| line(alert)).collect()).into_iter().collect(),
        targets: targets.into_iter().take(LINES).collect(),
    }
}

fn place(alert: &Alert) -> Option<&str> {
    alert.targets.first().map(|target| target.id.as_str())
}

fn line(alert: &Alert) -> String {
    let target = place(alert).unwrap_or("-");
    let headline = text::inert(&alert.headline, SENTENCE);
    let reference = alert.incident.as_ref().map(|incident| format!("{}.{}", incident.id, incident.revision));
    let show = reference.map(|reference| format!("; driftd drift show {reference}")).unwrap_or_default();
    format!("{} {target}: {headline}{show}", alert.severity)
}

/// What is told when we are back: since when we were offline, and for how long nothing was judged.
///
/// `None` when it was shorter than what it takes to tell that a target is lost: nobody has anything to decide then.
#[must_use]
pub fn back_online(blindness: &Blindness, set_aside: usize, least: Duration, now: Timestamp) -> Option<Bulletin> {
    let lasted = now.duration_since(blindness.since);
    if lasted < SignedDuration::try_from(least).unwrap_or(SignedDuration::MAX) {
        return None;
    }
    let span = words::span(blindness.since, now);
    let how = match blindness.why {
        BlindWhy::SelfCheck => "none of the URLs of self_check answered",
        BlindWhy::MostFail => "most targets failed within a minute",
    };
    Some(Bulletin {
        kind: AlertType::FleetReport,
        key: format!("self-offline:{}", blindness.since.as_millisecond()),
        severity: Severity::High,
        impact: vec![Impact::Operational],
        headline: format!("driftd was offline for {span}"),
        summary: vec![
            format!("Blind for {span}: {}.", words::range(blindness.since, now)),
            format!("How it was told: {how}. {} counted toward nothing.", words::count(set_aside, "failed scan")),
            "Targets that are still out of reach are counted anew from now on; what changed meanwhile is told as it is \
             found."
                .to_owned(),
            "Does the machine that driftd runs on reach the network?".to_owned(),
        ],
        sections: Vec::new(),
        targets: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
