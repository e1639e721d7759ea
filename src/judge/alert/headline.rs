//! The one thing, for a lock screen: from what breaks if anything does, else from the first unit.

use crate::model::alert::AlertType;
use crate::model::incident::{EndReason, UnitMark};
use crate::model::text;

use super::super::host;
use super::units::UnitStory;
use super::{Story, tally, words};

/// So many characters fit a subject of 72 beside severity and target.
const MAX: usize = 48;

/// The headline: printable ASCII, at most 48 characters, without the target's name.
pub(super) fn headline(story: &Story<'_>, told: &[UnitStory<'_>]) -> String {
    let line = match story.kind {
        AlertType::DriftOpened | AlertType::DriftChanged | AlertType::DriftReminder => drift(told),
        AlertType::DriftResolved => resolved(story),
        AlertType::SightLost => sight_lost(story, told),
        AlertType::SightBack => {
            format!("can be seen again after {}", words::span(super::summary::since(story, told), story.now))
        }
        // Of no incident, so no story is theirs.
        AlertType::FleetReport | AlertType::Digest | AlertType::Test => String::new(),
    };
    text::ascii(&line, MAX)
}

fn drift(told: &[UnitStory<'_>]) -> String {
    let mut parts = tally::broken(told);
    let tail = if parts.iter().any(|part| part.contains("renamed")) { "the old names fail" } else { "calls fail" };
    if parts.is_empty() {
        let mut others = tally::otherwise_breaking(told);
        return match others.next() {
            Some(first) => with_more(&first.unit.title, others.count(), "can break"),
            None => quiet(told),
        };
    }
    // As many parts as fit, the tail before further parts.
    let mut line = parts.remove(0);
    let mut rest = parts.into_iter().peekable();
    while let Some(part) = rest.next_if(|part| line.len() + part.len() + tail.len() + 4 <= MAX) {
        line = format!("{line}, {part}");
    }
    if line.len() + tail.len() + 2 <= MAX { format!("{line}; {tail}") } else { line }
}

fn quiet(told: &[UnitStory<'_>]) -> String {
    let standing = |told: &&UnitStory<'_>| told.unit.mark.stands();
    let mut units = told.iter().filter(standing);
    match units.next() {
        Some(first) => with_more(&first.unit.title, units.count(), "changed"),
        None => "changed".to_owned(),
    }
}

/// `TITLE; 3 more can break`, the title cut so that the count stays.
fn with_more(title: &str, more: usize, what: &str) -> String {
    let tail = if more == 0 { String::new() } else { format!("; {more} more {what}") };
    format!("{}{tail}", text::ascii(words::clause(title), MAX.saturating_sub(tail.len())))
}

fn resolved(story: &Story<'_>) -> String {
    let by = story.decision.map(|decision| words::person(&decision.by));
    match (story.incident.ended.as_ref().map(|ended| ended.reason), by) {
        (Some(EndReason::Accepted), Some(by)) => format!("resolved: accepted by {by}"),
        (Some(EndReason::Accepted), None) => "resolved: accepted".to_owned(),
        (Some(EndReason::Rejected), _) => "resolved: rejected, and gone".to_owned(),
        (Some(EndReason::Ignored), _) => "resolved: the inventory ignores it now".to_owned(),
        (Some(EndReason::Retired), _) => "resolved: no longer watched".to_owned(),
        (Some(EndReason::Reverted) | None, _) => "resolved: it is back as it was".to_owned(),
    }
}

fn sight_lost(story: &Story<'_>, told: &[UnitStory<'_>]) -> String {
    let Some(first) = told.iter().find(|told| matches!(told.unit.mark, UnitMark::Open | UnitMark::Rejected)) else {
        return "cannot be seen".to_owned();
    };
    let phrase = match first.unit.rule.rule.as_str() {
        "scan.unreachable" => "does not answer",
        "scan.blocked" => "refuses us",
        "scan.rate-limited" => "limits our requests",
        "scan.credential-rejected" => "refuses our credential",
        "scan.credential-unavailable" => "our credential cannot be read",
        "scan.handshake-failed" => "gives no valid handshake",
        "x.protocol-state-fell" => "answers, but no longer in MCP",
        "scan.http-error" => "answers with an error status",
        "scan.response-too-large" => "answers more than we take",
        "scan.invalid-json" => "answers in broken JSON",
        _ => words::clause(&first.unit.title),
    };
    if story.incident.is_shared() {
        let targets = words::count(first.unit.items.len(), "target");
        let host = host::name(&story.target.url);
        let room = |tail: &str| MAX.saturating_sub(phrase.len() + tail.len() + 1);
        // Which host it is counts for more than what is clear without words.
        let in_full = format!("; {targets} not watched");
        let tail = if host.len() <= room(&in_full) { in_full } else { format!("; {targets}") };
        return format!("{} {phrase}{tail}", text::ascii(&host, room(&tail)));
    }
    if first.loses_credential() {
        return format!("{phrase}; part not watched");
    }
    let facets: Vec<String> = first.sight_facets().into_iter().map(words::facet).collect();
    if facets.is_empty() {
        return format!("{phrase}; not watched now");
    }
    let named = format!("{phrase}: {}", facets.join(", "));
    if named.len() <= MAX { named } else { format!("{phrase}; {} unseen", words::count(facets.len(), "part")) }
}
