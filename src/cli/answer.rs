//! Answers for people, and as documents.

use std::fmt::Write as _;

use serde_json::Value;

use super::page::{Table, counted, instant, maybe};
use super::style::Style;
use crate::clock::Clock;
use crate::model::alert::Alert;
use crate::model::notice::Body;
use crate::model::target::TargetId;
use crate::model::text;
use crate::operations::{Answer, document};
use crate::receiver::message;
use crate::reload::Reloaded;

mod targets;
mod why;

/// The answer as a document: what it is about, without the word for which answer it is.
pub(super) fn document(answer: &Answer) -> serde_json::Result<Value> {
    if let Answer::Alert(full) = answer {
        let alert = message::document(&full.alert)?;
        return serde_json::to_value(document::MessageInFull { message: full.message.clone(), alert });
    }
    let tagged = serde_json::to_value(answer)?;
    let inner = tagged.as_object().and_then(|members| members.values().next()).cloned();
    Ok(inner.unwrap_or(tagged))
}

/// The answer as a page.
pub(super) fn human(answer: &Answer) -> String {
    let (style, now) = (Style::stdout(), Clock::system().now());
    match answer {
        Answer::Targets(targets) => targets::list(targets, style, now),
        Answer::Target(target) => targets::one(target, style, now),
        Answer::Why(why) => why::page(why, style),
        Answer::Scanned(scanned) => self::scanned(scanned),
        Answer::Drifts(incidents) => drifts(incidents),
        Answer::Drift(incident) => drift(incident),
        Answer::Decided(decided) => self::decided(decided),
        Answer::Baseline(baseline) => self::baseline(baseline, style),
        Answer::Review(waiting) => super::review::list(waiting),
        Answer::Alerts(messages) => alerts(messages, style),
        Answer::Alert(message) => alert(message),
        Answer::Retried(count) => format!("{count} to be sent again\n"),
        Answer::StoreChecked(checked) => format!("{} problems\n", checked.problems.len()),
        Answer::LedgerVerified(verified) => ledger(verified),
        Answer::Reloaded(reloaded) => self::reloaded(reloaded),
        Answer::Tried(trial) => tried(trial),
        Answer::History(lines) => history(lines, style),
    }
}

fn scanned(scanned: &document::Scanned) -> String {
    let mut page = format!("{}: {}", scanned.target, scanned.outcome);
    if let Some(digest) = scanned.digest {
        let _ = write!(page, ", {digest}");
    }
    let _ = writeln!(page, "\n{} pending, {} open", scanned.pending, scanned.open);
    for unseen in &scanned.unseen {
        let _ = writeln!(page, "unseen: {}", text::inert(unseen, 400));
    }
    if let Some(at) = scanned.recheck {
        let _ = writeln!(page, "looked at again not before {} to confirm", instant(at));
    }
    page
}

/// The target; of a host's incident, how many others too.
fn owners(incident: &document::Incident) -> String {
    match incident.with.len() {
        0 => incident.target.clone(),
        1 | 2 => format!("{}, {}", incident.target, incident.with.join(", ")),
        n => format!("{} and {n} more", incident.target),
    }
}

fn drifts(incidents: &[document::Incident]) -> String {
    if incidents.is_empty() {
        return "nothing stands\n".to_owned();
    }
    let mut page = String::new();
    for incident in incidents {
        let _ = writeln!(
            page,
            "{}  {}  {} {} of {}, since {}",
            incident.reference,
            incident.severity,
            incident.state,
            incident.kind,
            owners(incident),
            instant(incident.since)
        );
        for unit in &incident.units {
            let n = if unit.n == 0 { " -".to_owned() } else { format!("{:>2}", unit.n) };
            let _ = writeln!(
                page,
                "  {n}. {} {} [{}]{}",
                unit.severity,
                text::inert(&unit.title, 200),
                unit.rule,
                match (unit.mark.as_str(), &unit.reason) {
                    ("open", None) => String::new(),
                    (mark, None) => format!(" {mark}"),
                    (mark, Some(reason)) => format!(" {mark}: {}", text::inert(reason, 200)),
                }
            );
        }
    }
    page
}

fn drift(full: &document::IncidentInFull) -> String {
    let mut page = in_full(&full.alert, &full.full_diff);
    let revision = full.alert.incident.as_ref().map_or(full.newest_revision, |incident| incident.revision);
    if revision != full.newest_revision {
        let _ = writeln!(page, "\nThis is revision {revision}; the newest is {}.", full.newest_revision);
    }
    page
}

fn decided(decided: &document::Decided) -> String {
    let done = match decided.action.as_str() {
        "accept" => "accepted",
        "reject" => "rejected",
        _ => "acknowledged",
    };
    let mut page = String::new();
    let _ = writeln!(page, "{done} for {} by {}", decided.target, decided.who);
    for place in decided.places.iter().take(NAMED) {
        let _ = writeln!(page, "  {}", text::inert(place, 300));
    }
    if decided.places.len() > NAMED {
        let _ = writeln!(page, "  and {} more", decided.places.len() - NAMED);
    }
    if let (Some(first), Some(last)) = (decided.entries.first(), decided.entries.last()) {
        let entries = if first == last { format!("entry {first}") } else { format!("entries {first} to {last}") };
        let _ = writeln!(page, "ledger {entries}");
    }
    if let Some(incident) = &decided.incident {
        let _ = writeln!(page, "{incident}");
    }
    page
}

fn baseline(baseline: &document::Baseline, style: Style) -> String {
    let mut table = Table::new(&["FACET", "DIGEST", "ACCEPTED", "BY", "ENTRY", "ASKED WITH", "REASON"]);
    for facet in &baseline.facets {
        let digest = facet.digest.map_or_else(|| "absent".to_owned(), |digest| digest.short());
        let digest = if facet.values > 1 { format!("{digest} ({} values)", facet.values) } else { digest };
        table.row([
            facet.facet.clone(),
            digest,
            instant(facet.at),
            facet.by.clone(),
            facet.entry.to_string(),
            facet.date.clone().unwrap_or_default(),
            facet.reason.clone().unwrap_or_default(),
        ]);
    }
    let mut page = if baseline.facets.is_empty() { "no baseline yet\n".to_owned() } else { table.page(style) };
    for approval in &baseline.approvals {
        let until = approval.until.map(|until| format!(" until {}", instant(until))).unwrap_or_default();
        let path = text::inert(&approval.path, 200);
        let _ =
            writeln!(page, "approved: {}{path} by {}{until} (entry {})", approval.facet, approval.by, approval.entry);
    }
    for facet in &baseline.awaiting {
        let _ = writeln!(page, "waits for a person: {facet}");
    }
    if let Some(newest) = baseline.newest {
        let _ = writeln!(
            page,
            "newest snapshot: {newest}\nhold it to that: driftd baseline accept {}@{} --reason \"...\"",
            baseline.target,
            newest.short()
        );
    }
    page
}

fn alerts(messages: &[document::Message], style: Style) -> String {
    if messages.is_empty() {
        return "no messages\n".to_owned();
    }
    let mut table =
        Table::new(&["MESSAGE", "RECEIVER", "STATE", "TRIES", "MADE", "NEXT TRY", "TYPE", "INCIDENT", "WHAT"]);
    for message in messages {
        let state = match &message.error {
            Some(error) if message.sent_at.is_none() => format!("{} ({error})", message.state),
            Some(_) | None => message.state.clone(),
        };
        table.row([
            message.id.chars().take(14).collect(),
            message.receiver.clone(),
            state,
            message.attempts.to_string(),
            instant(message.at),
            next_try(message),
            message.kind.clone(),
            message.incident.clone().unwrap_or_else(|| "-".to_owned()),
            what(message),
        ]);
    }
    table.page(style)
}

/// When it is tried again, and whom that waits for.
fn next_try(message: &document::Message) -> String {
    let at = maybe(message.next_at);
    message.waits_for.as_ref().map_or_else(|| at.clone(), |why| format!("{at} ({why})"))
}

/// Whom it is about, and what it says; what is about several targets, or none, is driftd's own.
fn what(message: &document::Message) -> String {
    match message.target.as_str() {
        "" if message.headline.starts_with("driftd ") => message.headline.clone(),
        "" => format!("driftd: {}", message.headline),
        target => format!("{target}: {}", message.headline),
    }
}

fn tried(trial: &document::Trial) -> String {
    let mut page = format!("test message {} to {}\n", trial.message, text::inert(&trial.receiver, 80));
    for step in &trial.steps {
        let _ = writeln!(page, "  {}", text::inert(step, 400));
    }
    match (&trial.error, &trial.advice) {
        (None, _) => page.push_str("delivered\n"),
        (Some(error), advice) => {
            let _ = writeln!(page, "not delivered: {}", text::inert(error, 300));
            page.extend(advice.iter().map(|advice| format!("  {}\n", text::inert(advice, 300))));
        }
    }
    page
}

/// `1 try`, `2 tries`
fn tries(n: u32) -> String {
    if n == 1 { "1 try".to_owned() } else { format!("{n} tries") }
}

fn alert(full: &document::MessageInFull) -> String {
    let message = &full.message;
    let mut page = format!("{} to {}: {}, {}\n", message.id, message.receiver, message.state, tries(message.attempts));
    if let Some(error) = &message.error {
        let _ = writeln!(page, "last try: {}", text::inert(error, 300));
    }
    if message.next_at.is_some() {
        let _ = writeln!(page, "next try: {}", next_try(message));
    }
    if message.state == "dead" {
        let _ = writeln!(page, "send it again: driftd alerts retry {}", message.id);
    }
    page.push('\n');
    page.push_str(&in_full(&full.alert, ""));
    page
}

fn ledger(verified: &document::LedgerVerified) -> String {
    if let Some(broken) = &verified.broken {
        return format!(
            "The ledger is broken: entry {} {}. Somebody changed the store behind driftd; keep the file as evidence.\n",
            broken.entry, broken.words
        );
    }
    let head = verified.head.map(|head| format!(", head {head}")).unwrap_or_default();
    let entries = match verified.entries.unwrap_or_default() {
        1 => "1 entry".to_owned(),
        entries => format!("{entries} entries"),
    };
    format!("The ledger is whole: {entries}{head}\n")
}

fn history(lines: &[document::HistoryLine], style: Style) -> String {
    let mut table = Table::new(&["WHEN", "TARGET", "WHAT", "WHERE", "INCIDENT", ""]);
    for line in lines {
        table.row([
            instant(line.at),
            line.target.clone().unwrap_or_else(|| "-".to_owned()),
            line.event.clone(),
            line.place.clone().unwrap_or_default(),
            line.incident.clone().unwrap_or_default(),
            line.text.clone(),
        ]);
    }
    table.page(style)
}

/// Names shown of a list; the others are counted.
const NAMED: usize = 20;

fn reloaded(reloaded: &Reloaded) -> String {
    let changes = &reloaded.changes;
    let mut page = format!("the configuration is in force: {}\n", counted(reloaded.targets, "target"));
    let ids = |ids: &[TargetId]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    for (what, names) in [
        ("added", ids(&changes.added)),
        ("removed", ids(&changes.removed)),
        ("changed", ids(&changes.changed)),
        ("receivers", changes.receivers.clone()),
        ("settings", changes.settings.clone()),
    ] {
        if !names.is_empty() {
            let shown: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
            let more = names.len().saturating_sub(NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let _ = writeln!(page, "  {what}: {}{more}", shown.join(", "));
        }
    }
    if changes.is_empty() {
        page.push_str("  nothing changed\n");
    }
    for carried in &reloaded.carried {
        let _ = writeln!(page, "  {} carries on the past of {}", carried.is, carried.was);
    }
    for why in &reloaded.not_carried {
        let _ = writeln!(page, "  not carried over: {why}");
    }
    for key in &changes.restart {
        let _ = writeln!(page, "  `{key}` takes a restart; until then it is what it was at the start");
    }
    for held in &reloaded.held {
        let (file, why) = (held.file.display().to_string(), &held.why);
        let _ = writeln!(page, "  held at its last good version: {}\n{why}", text::inert(&file, 300));
        let _ = if held.releasable {
            writeln!(page, "  mend it, or let it in: driftd inventory release {}", text::inert(&file, 300))
        } else {
            writeln!(page, "  mend it: the file is read anew when it changes")
        };
    }
    page
}

/// An alert reads the same wherever it is read, but for what only a mail has.
fn in_full(alert: &Alert, full_diff: &str) -> String {
    message::terminal_text(&Body { alert: alert.clone(), full_diff: full_diff.to_owned(), reply: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(target: &str, headline: &str) -> document::Message {
        document::Message {
            id: "m-1".to_owned(),
            receiver: "hook".to_owned(),
            kind: "fleet.report".to_owned(),
            incident: None,
            target: target.to_owned(),
            headline: headline.to_owned(),
            state: "pending".to_owned(),
            attempts: 1,
            at: jiff::Timestamp::UNIX_EPOCH,
            next_at: Some(jiff::Timestamp::UNIX_EPOCH),
            waits_for: Some("receiver rests".to_owned()),
            sent_at: None,
            error: None,
        }
    }

    #[test]
    fn a_message_of_the_fleet_is_told_as_driftds_own() {
        assert_eq!(what(&message("", "8 new targets are watched")), "driftd: 8 new targets are watched");
        assert_eq!(what(&message("", "driftd was offline for 1 h")), "driftd was offline for 1 h");
        assert_eq!(what(&message("x0", "gone: 2")), "x0: gone: 2");
    }

    #[test]
    fn a_message_says_whom_its_next_try_waits_for() {
        let shown = next_try(&message("x0", "gone: 2"));
        assert!(shown.ends_with(" (receiver rests)"), "{shown}");
    }

    #[test]
    fn a_decision_on_very_many_places_names_some() {
        let decided = document::Decided {
            action: "accept".to_owned(),
            target: "everything".to_owned(),
            places: (0..150).map(|n| format!("place-{n}")).collect(),
            entries: vec![1],
            who: "person:ops".to_owned(),
            incident: None,
        };
        let page = self::decided(&decided);
        assert!(page.lines().count() < 25 && page.contains("  and 130 more\n"), "{page}");
    }
}
