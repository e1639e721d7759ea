//! HOW DRIFTD KNOWS: the evidence, the baseline, the record.

use jiff::Timestamp;

use crate::model::alert::{Alert, AlertType};
use crate::model::digest::Digest;
use crate::model::notice::Body;
use crate::model::text;
use crate::receiver::message::attachment_names;
use crate::receiver::message::page::{Medium, Page};

/// Columns of a label.
const LABEL: usize = 8;

pub(super) fn section(body: &Body, page: &mut Page) {
    let alert = &body.alert;
    page.section("HOW DRIFTD KNOWS");
    row(page, "Seen", &seen(&alert.evidence.seen_at));
    target(alert, page);
    row(page, "Before", &before(alert));
    row(page, "After", &alert.after.digest.as_ref().map(short).unwrap_or_default());
    let read: Vec<String> = alert.evidence.read.iter().map(|line| text::inert(line, 300)).collect();
    row(page, "Read", &if read.is_empty() { String::new() } else { format!("{}.", read.join(". ")) });
    let unseen = alert
        .unseen
        .iter()
        .map(|unseen| format!("{} ({})", text::inert(&unseen.facet, 60), text::inert(&unseen.reason, 200)));
    row(page, "Unseen", &unseen.collect::<Vec<_>>().join(", "));
    if page.has_quotes() {
        page.words("", 0, "Lines that begin with | are the server's words, not driftd's.");
    }
    row(page, "Record", &record(alert, page.medium()));
    if page.medium() == Medium::Terminal {
        return;
    }
    let [diff, json] = attachment_names(alert);
    let about_drift = match alert.kind {
        AlertType::DriftOpened
        | AlertType::DriftChanged
        | AlertType::DriftReminder
        | AlertType::DriftResolved
        | AlertType::FleetReport
        | AlertType::Digest
        | AlertType::Test => "every change in full",
        AlertType::SightLost | AlertType::SightBack => "what failed, in full",
    };
    page.words("", 10, &format!("Attached: {diff} ({about_drift}), {json}"));
}

fn row(page: &mut Page, label: &str, words: &str) {
    if !words.is_empty() {
        page.words(&format!("{label:<LABEL$}"), LABEL, words);
    }
}

fn target(alert: &Alert, page: &mut Page) {
    for target in alert.targets.iter().take(10) {
        let url = text::inert(&target.url, 500);
        let start = format!("{:<LABEL$}{}; {url}", "Target", target.id);
        let labels: Vec<String> = target
            .labels
            .iter()
            .take(20)
            .map(|(name, value)| format!("{}={}", text::inert(name, 60), text::inert(value, 100)))
            .collect();
        let mut rest = text::inert(&alert.evidence.protocol, 100);
        if !labels.is_empty() {
            rest = format!("{rest}; labels {}", labels.join(", "));
        }
        // The URL stays in one piece, whatever its length.
        page.line(&format!("{start};"));
        page.words(&" ".repeat(LABEL), LABEL, &rest);
    }
}

/// `2026-11-30 13:02:13 to 13:02:43 UTC, the same answer each time`
fn seen(at: &[Timestamp]) -> String {
    let full = |at: &Timestamp| at.strftime("%Y-%m-%d %H:%M:%S").to_string();
    match at {
        [] => String::new(),
        [one] => format!("{} UTC", full(one)),
        [first, .., last] => {
            let same_day = first.strftime("%F").to_string() == last.strftime("%F").to_string();
            let last = if same_day { last.strftime("%H:%M:%S").to_string() } else { full(last) };
            format!("{} to {last} UTC, the same answer each time", full(first))
        }
    }
}

fn before(alert: &Alert) -> String {
    let digest = alert.before.digest.as_ref().map(short);
    let accepted = alert.before.accepted.as_ref().map(|accepted| {
        let at = accepted.at.strftime("%Y-%m-%d %H:%M");
        let reason = accepted.reason.as_deref().map(|why| format!(": {}", text::quoted(why, 200))).unwrap_or_default();
        match accepted.by.as_str() {
            "first_seen" => format!("first seen {at}, reviewed by nobody"),
            by => {
                let by = text::inert(by.strip_prefix("person:").unwrap_or(by), 80);
                format!("accepted {at} by {by}{reason}")
            }
        }
    });
    digest.into_iter().chain(accepted).collect::<Vec<_>>().join(", ")
}

fn record(alert: &Alert, medium: Medium) -> String {
    let ledger = &alert.ledger;
    if ledger.entry == 0 {
        return "no entry yet".to_owned();
    }
    let keep = match medium {
        Medium::Mail => ". Keep this mail: it dates the record.",
        Medium::Terminal => "",
    };
    format!("entry {}, head {}{keep}", ledger.entry, text::inert(&ledger.head, 16))
}

fn short(digest: &Digest) -> String {
    format!("sha256:{}", digest.short())
}
