//! The digest: what can wait, of one receiver, in one message.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::fold::{Desk, message, next_reminder, told};
use crate::judge::alert;
use crate::model::alert::AlertType;
use crate::model::bulletin::{Bulletin, Passage};
use crate::model::incident::{EndReason, Incident, IncidentId};
use crate::model::notice::{Body, Fold, Payment};
use crate::model::rule::{Impact, Severity};
use crate::model::target::TargetSummary;
use crate::model::text;

/// An incident in a digest.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) incident: IncidentId,
    pub(super) revision: u32,
    pub(super) turn: Turn,
    /// What is said of the revision.
    pub(super) body: Body,
    /// Ids of the notices that the entry pays.
    pub(super) notices: Vec<String>,
}

/// Where it stands for the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It is told for the first time.
    New(AlertType),
    /// It was told before, and has changed.
    Changed(AlertType),
    /// It was told before, and is over.
    Over(AlertType),
    /// It was told before, and still waits.
    Still,
    /// It began and ended before anybody was told.
    CameAndWent,
}

impl Turn {
    /// What the receiver is told by it.
    const fn tells(self) -> Option<AlertType> {
        match self {
            Self::New(kind) | Self::Changed(kind) | Self::Over(kind) => Some(kind),
            Self::Still => Some(AlertType::DriftReminder),
            Self::CameAndWent => None,
        }
    }
}

/// Makes one message of `entries`. What came and went makes none by itself: nobody can act on it.
pub(super) fn fold(receiver: &str, entries: Vec<Entry>, desk: &Desk<'_>, now: Timestamp, fold: &mut Fold) {
    if entries.iter().all(|entry| entry.turn == Turn::CameAndWent) {
        fold.dropped.extend(entries.into_iter().flat_map(|entry| entry.notices));
        return;
    }
    let told_now = |entry: &Entry| {
        let kind = entry.turn.tells()?;
        Some(told(receiver, entry.incident, entry.revision, kind, now))
    };
    for entry in &entries {
        if let Some(kind) = entry.turn.tells() {
            let Entry { incident, revision, body, .. } = entry;
            fold.owed.extend(next_reminder(receiver, *incident, *revision, kind, body, desk, now));
        }
    }
    let ids: BTreeSet<String> = entries.iter().flat_map(|entry| entry.notices.iter().cloned()).collect();
    let notices: Vec<String> = ids.into_iter().collect();
    let body = bulletin(&entries, desk, now).body(now);
    fold.payments.push(Payment {
        message: message(receiver, None, body, &notices, now),
        told: entries.iter().filter_map(told_now).collect(),
        notices,
    });
}

fn bulletin(entries: &[Entry], desk: &Desk<'_>, now: Timestamp) -> Bulletin {
    let of = |wanted: fn(Turn) -> bool| entries.iter().filter(move |entry| wanted(entry.turn));
    let fresh = of(|turn| matches!(turn, Turn::New(_)));
    let changed = of(|turn| matches!(turn, Turn::Changed(_)));
    let still = of(|turn| turn == Turn::Still);
    let over = of(|turn| matches!(turn, Turn::Over(_)));
    let gone: Vec<&Entry> = of(|turn| turn == Turn::CameAndWent).collect();
    let waits = |entry: &Entry| line(entry, (desk.incidents)(entry.incident).as_ref(), now);
    let sections = [
        passage("NEW", fresh.clone().flat_map(waits)),
        passage("CHANGED", changed.clone().flat_map(waits)),
        passage("STILL THERE", still.clone().flat_map(waits)),
        passage("OVER", over.clone().map(ended)),
        passage("CAME AND WENT", came_and_went(&gone)),
    ];
    let undecided = fresh.count() + changed.count() + still.count();
    let standing = || entries.iter().filter(|entry| !matches!(entry.turn, Turn::CameAndWent));
    Bulletin {
        kind: AlertType::Digest,
        // Digests pay notices, which are paid once; nothing is posted under a key.
        key: String::new(),
        severity: standing().map(|entry| entry.body.alert.severity).max().unwrap_or(Severity::Info),
        impact: impact(standing()),
        headline: headline(undecided, over.count()),
        summary: vec![
            "What could wait since the last digest. None of it is urgent by severity and impact; routes in driftd.yaml \
             say otherwise where you want them to."
                .to_owned(),
        ],
        sections: sections.into_iter().flatten().collect(),
        targets: targets(standing()),
    }
}

fn headline(undecided: usize, over: usize) -> String {
    let waits = match undecided {
        0 => None,
        1 => Some("1 change waits for a decision".to_owned()),
        n => Some(format!("{n} changes wait for a decision")),
    };
    let over = match over {
        0 => None,
        1 => Some("1 is over".to_owned()),
        n => Some(format!("{n} are over")),
    };
    format!("digest: {}", waits.into_iter().chain(over).collect::<Vec<_>>().join(", "))
}

fn passage(heading: &str, lines: impl Iterator<Item = String>) -> Option<Passage> {
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| Passage { heading: heading.to_owned(), lines })
}

/// `tickets: 2 descriptions changed` and below it `medium, behavior; open for 5 d; driftd drift show 4F7K2.1`.
fn line(entry: &Entry, incident: Option<&Incident>, now: Timestamp) -> Vec<String> {
    let alert = &entry.body.alert;
    let state = incident.map_or("open", alert::state);
    let age = incident.map(|incident| format!(" for {}", alert::span(incident.opened_at, now))).unwrap_or_default();
    let impact = alert.impact.first().map(|impact| format!(", {impact}")).unwrap_or_default();
    vec![
        format!("{}: {}", owner(entry), text::inert(&alert.headline, 100)),
        format!("  {}{impact}; {state}{age}; driftd drift show {}.{}", alert.severity, entry.incident, entry.revision),
    ]
}

/// `tickets: 4F7K2 is over: back as it was`
fn ended(entry: &Entry) -> String {
    let reason = entry.body.alert.incident.as_ref().and_then(|incident| incident.reason);
    let how = match reason {
        Some(EndReason::Reverted) => "back as it was",
        Some(EndReason::Accepted) => "accepted",
        Some(EndReason::Rejected) => "rejected, and gone",
        Some(EndReason::Retired) => "no longer watched",
        Some(EndReason::Ignored) => "ignored by the inventory now",
        None => "over",
    };
    format!("{}: {} ({how})", owner(entry), entry.incident)
}

/// One line for all of them.
fn came_and_went(gone: &[&Entry]) -> impl Iterator<Item = String> + use<> {
    let names: Vec<String> = gone.iter().map(|entry| format!("{} ({})", owner(entry), entry.incident)).collect();
    let line = match names.as_slice() {
        [] => None,
        [one] => Some(format!("Began and ended before anybody was told: {one}.")),
        many => Some(format!("{} began and ended before anybody was told: {}.", many.len(), many.join(", "))),
    };
    line.into_iter()
}

fn owner(entry: &Entry) -> String {
    entry.body.alert.targets.first().map_or_else(|| "-".to_owned(), |target| target.id.to_string())
}

fn impact<'e>(entries: impl Iterator<Item = &'e Entry>) -> Vec<Impact> {
    let mut all = Vec::new();
    for impact in entries.flat_map(|entry| &entry.body.alert.impact) {
        if !all.contains(impact) {
            all.push(*impact);
        }
    }
    all
}

fn targets<'e>(entries: impl Iterator<Item = &'e Entry>) -> Vec<TargetSummary> {
    let mut all = Vec::<TargetSummary>::new();
    for target in entries.flat_map(|entry| &entry.body.alert.targets) {
        if !all.iter().any(|known| known.id == target.id) {
            all.push(target.clone());
        }
    }
    all
}
