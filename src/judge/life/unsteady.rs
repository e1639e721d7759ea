//! `x.value-unstable`: a place that shows too many values to wait for one of them to stand (design, section 5).
//!
//! Else a peer that gives each scan another poisoned text would never be confirmed.

use jiff::Timestamp;

use super::{Moment, within};
use crate::judge::policy;
use crate::model::drift::{Detail, Drift, DriftRow, Fingerprint};
use crate::model::facet::Facet;
use crate::model::rule::{Class, Fold, Impact, RuleCase, Severity};

const RULE: &str = "x.value-unstable";
/// The fourth value within [`HOURS`] is one too many.
const TOO_MANY: usize = 4;
const HOURS: i64 = 24;
/// So many values in one scan are too many at once.
const VARIANTS: usize = 8;

/// Remembers the first sight of a value; those of the last 24 h are kept.
///
/// The value that stands is remembered already, so an unchanged scan changes nothing here.
pub(super) fn remember(row: &mut DriftRow, value: Fingerprint, now: Timestamp) {
    if row.drift.fingerprint == value || row.values.iter().any(|(known, at)| *known == value && within(*at, HOURS, now))
    {
        return;
    }
    row.values.retain(|(known, at)| *known != value && within(*at, HOURS, now));
    row.values.push((value, now));
    // More than enough to be unsteady; a peer decides how many values there are, not how much we keep.
    if row.values.len() > 2 * TOO_MANY {
        row.values.remove(0);
    }
}

/// Whether the place of this drift is unsteady.
pub(super) fn is(row: &DriftRow, now: Timestamp) -> bool {
    row.drift.after.len() > VARIANTS || recent(row, now) >= TOO_MANY
}

/// Whether it has been told so.
pub(super) fn is_told(row: &DriftRow) -> bool {
    row.drift.rule.rule == RULE
}

/// Whether a place that was told so has not settled: no single value has stood for 24 h.
pub(super) fn is_restless(row: &DriftRow, now: Timestamp) -> bool {
    recent(row, now) > 1
}

fn recent(row: &DriftRow, now: Timestamp) -> usize {
    row.values.iter().filter(|(_, at)| within(*at, HOURS, now)).count()
}

/// `drift` as told of an unsteady place: its value, claims and fingerprint stay, rule and severity are replaced.
pub(super) fn told(drift: &Drift, row: &DriftRow, at: &Moment<'_>) -> Drift {
    let (case, severity) =
        if model_reads(drift) { ("model_read", Severity::High) } else { ("other", Severity::Medium) };
    let severity = severity.max(drift.severity);
    let message =
        format!("{} values at this place within 24 h; none of them stays", recent(row, at.now).max(drift.after.len()));
    let mut details = vec![Detail::Text { text: format!("The newest: {}", drift.message) }];
    details.extend(drift.all_details());
    let mut told = Drift {
        rule: RuleCase::new(RULE, case),
        severity,
        impact: vec![Impact::Security, Impact::Operational],
        class: if severity >= Severity::High { Class::Security } else { Class::Surface },
        fold: Fold::Value,
        message,
        details,
        inside: Vec::new(),
        ..drift.clone()
    };
    policy::weigh(at.policy, &mut told);
    told
}

/// Whether what stands there enters a model's context: lists do item by item, of a handshake the instructions.
fn model_reads(drift: &Drift) -> bool {
    match drift.facet.facet {
        Facet::McpTools | Facet::McpPrompts | Facet::McpResources | Facet::McpResourceTemplates => {
            drift.path.token(0) == Some("items")
        }
        Facet::McpHandshake => drift.path.token(0) == Some("instructions"),
        Facet::McpTransport
        | Facet::McpCard
        | Facet::McpCatalog
        | Facet::AuthChallenge
        | Facet::Tls
        | Facet::Checks
        | Facet::Scan => false,
    }
}
