//! Answers for people, and as documents.

use std::fmt::Write as _;

use serde_json::Value;

use super::page::{Table, instant, maybe};
use crate::model::alert::Alert;
use crate::model::notice::Body;
use crate::model::text;
use crate::operations::{Answer, document};
use crate::receiver::message;

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
    match answer {
        Answer::Targets(targets) => self::targets(targets),
        Answer::Target(target) => self::target(target),
        Answer::Scanned(scanned) => self::scanned(scanned),
        Answer::Drifts(incidents) => drifts(incidents),
        Answer::Drift(incident) => drift(incident),
        Answer::Decided(decided) => self::decided(decided),
        Answer::Baseline(baseline) => self::baseline(baseline),
        Answer::Review(waiting) => super::review::list(waiting),
        Answer::Alerts(messages) => alerts(messages),
        Answer::Alert(message) => alert(message),
        Answer::Retried(count) => format!("{count} to be sent again\n"),
        Answer::StoreChecked(checked) => format!("{} problems\n", checked.problems.len()),
        Answer::History(lines) => history(lines),
    }
}

fn targets(targets: &[document::Target]) -> String {
    if targets.is_empty() {
        return "no targets: name some in the inventory\n".to_owned();
    }
    let mut table = Table::new(&["TARGET", "STATE", "LAST SCAN", "OUTCOME", "NEXT", "BASELINE", "STANDS", "URL"]);
    for target in targets {
        let waiting =
            if target.awaiting_approval > 0 { format!(", {} wait", target.awaiting_approval) } else { String::new() };
        let stands = match target.severity {
            Some(severity) => format!("{severity} {}", target.incidents.join(" ")),
            None => "-".to_owned(),
        };
        table.row([
            target.id.clone(),
            target.state.clone(),
            maybe(target.last_scan),
            target.outcome.clone().unwrap_or_else(|| "-".to_owned()),
            maybe(target.next_scan),
            format!("{} facets{waiting}", target.baseline_facets),
            stands,
            target.url.clone(),
        ]);
    }
    table.page()
}

fn target(full: &document::TargetInFull) -> String {
    let target = &full.target;
    let mut page = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(page, "{name:<10}{}", text::inert(value, 400));
    };
    line("target", &target.id);
    line("url", &target.url);
    line("state", &target.state);
    if let Some(protocol) = &full.protocol {
        line("protocol", protocol);
    }
    line("scanned", &format!("{} ({})", maybe(target.last_scan), target.outcome.as_deref().unwrap_or("never")));
    line("complete", &maybe(target.last_ok));
    line("next", &maybe(target.next_scan));
    if let Some(digest) = full.digest {
        line("snapshot", &digest.to_string());
    }
    if !target.incidents.is_empty() {
        line("stands", &target.incidents.join(" "));
    }
    page.push('\n');
    let mut table = Table::new(&["FACET", "STATE", "BASELINE", "LAST SEEN", "DIGEST", "WHY"]);
    for facet in &full.facets {
        let why = facet.reason.clone().or_else(|| facet.coverage.as_ref().and_then(|coverage| coverage.reason.clone()));
        table.row([
            facet.facet.clone(),
            facet.state.clone(),
            facet.baseline.clone(),
            maybe(facet.last_seen),
            facet.digest.map_or_else(|| "-".to_owned(), |digest| digest.short()),
            why.unwrap_or_default(),
        ]);
    }
    page.push_str(&table.page());
    page
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
                if unit.mark == "open" { String::new() } else { format!(" {}", unit.mark) }
            );
        }
    }
    page
}

fn drift(full: &document::IncidentInFull) -> String {
    let mut page = as_mailed(&full.alert, &full.full_diff);
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
    for place in &decided.places {
        let _ = writeln!(page, "  {}", text::inert(place, 300));
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

fn baseline(baseline: &document::Baseline) -> String {
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
    let mut page = if baseline.facets.is_empty() { "no baseline yet\n".to_owned() } else { table.page() };
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

fn alerts(messages: &[document::Message]) -> String {
    if messages.is_empty() {
        return "no messages\n".to_owned();
    }
    let mut table = Table::new(&["MESSAGE", "RECEIVER", "STATE", "TRIES", "MADE", "TYPE", "INCIDENT", "WHAT"]);
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
            message.kind.clone(),
            message.incident.clone().unwrap_or_else(|| "-".to_owned()),
            if message.target.is_empty() {
                message.headline.clone()
            } else {
                format!("{}: {}", message.target, message.headline)
            },
        ]);
    }
    table.page()
}

fn alert(full: &document::MessageInFull) -> String {
    let message = &full.message;
    let mut page = format!("{} to {}: {}, {} tries\n", message.id, message.receiver, message.state, message.attempts);
    if let Some(error) = &message.error {
        let _ = writeln!(page, "last try: {}", text::inert(error, 300));
    }
    page.push('\n');
    page.push_str(&as_mailed(&full.alert, ""));
    page
}

fn history(lines: &[document::HistoryLine]) -> String {
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
    table.page()
}

/// An alert reads the same wherever it is read.
fn as_mailed(alert: &Alert, full_diff: &str) -> String {
    message::mail_text(&Body { alert: alert.clone(), full_diff: full_diff.to_owned(), reply: false })
}
