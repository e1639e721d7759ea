//! Why a target is watched as it is. Pure.

use jiff::Timestamp;

use super::{routes, wishes};
use crate::judge::life;
use crate::model::confirm::{Confirm, Threshold};
use crate::model::drift::{DriftRow, DriftState};
use crate::model::facet::FacetName;
use crate::model::inventory::Target;
use crate::model::memory::{FacetMemory, Memory};
use crate::model::notice::Route;
use crate::model::target::TargetSummary;
use crate::model::text;
use crate::operations::document::{Facet, Next, Pending, Target as Document, WhyTarget};
use crate::operations::read;
use crate::operations::words::{cadence, instant, span, times};
use crate::watch::schedule::{Due, Why};

/// What is known of a target.
pub(super) struct Known<'a> {
    pub(super) document: Document,
    pub(super) summary: &'a TargetSummary,
    pub(super) retired: bool,
    pub(super) configured: Option<&'a Target>,
    pub(super) confirm: &'a Confirm,
    pub(super) routes: &'a [Route],
    pub(super) receivers: &'a [String],
    pub(super) memory: &'a Memory,
    pub(super) due: Option<Due>,
    pub(super) hold: Option<Timestamp>,
    pub(super) daemon: bool,
    pub(super) facets: Vec<Facet>,
    pub(super) now: Timestamp,
}

/// All of it.
pub(super) fn why(known: &Known<'_>) -> WhyTarget {
    let next = next(known);
    let drifts = known.memory.drifts.iter().filter(|row| row.state == DriftState::Pending || row.next.is_some());
    let mut pending: Vec<Pending> = drifts.map(|row| drift(row, known.confirm, next.at)).collect();
    pending.extend(known.memory.facets.iter().filter_map(|(name, facet)| joins(*name, facet, known, next.at)));
    WhyTarget {
        target: known.document.clone(),
        now: known.now,
        held: read::held(known.memory),
        approvals: read::approvals(known.memory),
        facets: known.facets.clone(),
        pending,
        routes: routes::of_target(known.routes, known.receivers, known.summary),
        policy: known.configured.map(|target| wishes::of_target(target, known.confirm, known.now)).unwrap_or_default(),
        next,
    }
}

fn next(known: &Known<'_>) -> Next {
    let none = |text: &str| Next { at: None, text: text.to_owned() };
    if known.retired {
        return none("it left the inventory; baseline, decisions and history stay for its return");
    }
    let Some(target) = known.configured else { return none("it is not in the inventory") };
    if target.paused {
        return none("paused in the inventory: scanned only when somebody asks for it");
    }
    let Some(due) = known.due else {
        let why = if known.daemon { "the loop has not planned it yet" } else { "no daemon runs: start `driftd run`" };
        return none(why);
    };
    Next { at: Some(due.at), text: because(due, target, known.hold) }
}

fn because(due: Due, target: &Target, hold: Option<Timestamp>) -> String {
    let plan = cadence(&target.cadence);
    match due.why {
        Why::First => {
            "it was never scanned: a new target is looked at within ten seconds, whatever its schedule says".to_owned()
        }
        Why::Plan => format!("its plan: {plan}"),
        Why::Recheck => format!("out of turn, to confirm what is pending; its plan is {plan}"),
        Why::Hold => {
            let until = hold.map(|hold| format!(" until {}", instant(hold))).unwrap_or_default();
            format!("it asked us to wait{until} (Retry-After; obeyed for at most a day); its plan is {plan}")
        }
        Why::Blocked => "it refuses us: asked once an hour, with one request, until it answers".to_owned(),
        Why::Never => format!("no instant matches its plan any more ({plan}); looked at again a day later"),
        Why::Asked => "somebody asked for it".to_owned(),
    }
}

/// A drift that is not confirmed, or an open one with another value on its way.
fn drift(row: &DriftRow, confirm: &Confirm, next: Option<Timestamp>) -> Pending {
    let (drift, sightings, since) = match &row.next {
        Some(next) => (&next.drift, next.sightings, next.since),
        None => (&row.drift, row.sightings, row.since),
    };
    let threshold = confirm.of(drift.class);
    let earliest = threshold.next_due(sightings, since);
    let text = if row.held {
        "held: the facet goes back and forth between values (a mixed fleet); told once, as that".to_owned()
    } else {
        waits(sightings, &threshold, life::is_sight(drift.facet), earliest, next)
    };
    Pending {
        what: text::inert(&drift.message, 300),
        place: format!("{}{}", drift.facet, text::inert(&drift.path.to_string(), 200)),
        rule: Some(drift.rule.rule.clone()),
        severity: Some(drift.severity),
        sightings,
        needed: threshold.sightings,
        since: Some(since),
        earliest: Some(earliest),
        text,
    }
}

/// `seen once, needs 2 sightings, the last at least 5m after the first; next look at 12:05`
pub(super) fn waits(
    sightings: u32,
    threshold: &Threshold,
    sight: bool,
    earliest: Timestamp,
    next: Option<Timestamp>,
) -> String {
    let (seen, what) = if sight { ("failed", "failures in a row") } else { ("seen", "sightings in a row") };
    let apart = if threshold.after.is_zero() {
        String::new()
    } else {
        format!(", the last at least {} after the first", span(threshold.after))
    };
    let look = match next {
        Some(next) => format!("next look at {}", instant(next)),
        None => format!("no look is planned; it can count from {} on", instant(earliest)),
    };
    format!("{seen} {}, needs {} {what}{apart}; {look}", times(sightings), threshold.sightings)
}

/// A facet that is not in the baseline yet.
fn joins(name: FacetName, facet: &FacetMemory, known: &Known<'_>, next: Option<Timestamp>) -> Option<Pending> {
    if known.memory.baseline.contains_key(&name) {
        return None;
    }
    let threshold = known.confirm.surface;
    let joining = facet.joining.as_ref();
    if !facet.awaiting_approval && joining.is_none() {
        return None;
    }
    let (sightings, since) = joining.map_or((0, None), |joining| (joining.sightings, Some(joining.since)));
    let earliest = since.map(|since| threshold.next_due(sightings, since));
    let text = match earliest {
        _ if facet.awaiting_approval => format!(
            "waits for a person: `driftd baseline show {}` tells its digest, `driftd baseline accept` takes it",
            known.summary.id
        ),
        Some(earliest) => {
            format!("{}; then it joins the baseline by itself", waits(sightings, &threshold, false, earliest, next))
        }
        None => "to be seen alike in complete scans".to_owned(),
    };
    Some(Pending {
        what: "not in the baseline yet".to_owned(),
        place: name.to_string(),
        rule: None,
        severity: None,
        sightings,
        needed: threshold.sightings,
        since,
        earliest,
        text,
    })
}
