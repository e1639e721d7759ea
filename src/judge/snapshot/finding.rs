//! Checks from the rule table: code says rule, case and evidence; the table says the rest.

use std::fmt::Write as _;

use crate::judge::rules;
use crate::model::rule::Severity;
use crate::model::snapshot::{Check, CheckStatus, CheckVerdict};

/// Places that one check names as its evidence.
const MOST_EVIDENCE: usize = 10;

/// A finding when there is evidence, else passed.
pub(super) fn check(rule: &str, case: &str, evidence: &[String]) -> Check {
    if evidence.is_empty() {
        return row(rule, case, CheckVerdict::Passed, String::new(), None);
    }
    let mut text = evidence.iter().take(MOST_EVIDENCE).cloned().collect::<Vec<_>>().join("; ");
    if evidence.len() > MOST_EVIDENCE {
        let _ = write!(text, "; and {} more", evidence.len() - MOST_EVIDENCE);
    }
    row(rule, case, CheckVerdict::Finding, text, None)
}

/// Not decided, and why.
pub(super) fn skipped(rule: &str, case: &str, reason: &str) -> Check {
    row(rule, case, CheckVerdict::Skipped, String::new(), Some(reason.to_owned()))
}

fn row(rule: &str, case: &str, verdict: CheckVerdict, evidence: String, reason: Option<String>) -> Check {
    let found = rules::case(rule, case);
    let finding = verdict == CheckVerdict::Finding;
    let severity = found.and_then(|(_, case)| case.severity).unwrap_or(Severity::Info);
    let of_scan = found.is_some_and(|(rule, _)| rule.kind == rules::Kind::Outcome);
    let status = found.and_then(|(_, case)| case.status).unwrap_or_else(|| default_status(severity, of_scan));
    let words = found.map(|(rule, _)| rule);
    let message = words
        .map(|rule| if evidence.is_empty() { rule.title.to_owned() } else { format!("{}: {evidence}", rule.title) });
    Check {
        rule: rule.to_owned(),
        case: case.to_owned(),
        verdict,
        severity,
        status: if finding { status } else { CheckStatus::None },
        message: message.filter(|_| finding).unwrap_or_default(),
        remedy: words.filter(|_| finding).map(|rule| rule.remedy.to_owned()).unwrap_or_default(),
        evidence,
        spec: words.map(|rule| rule.spec.to_owned()).unwrap_or_default(),
        reason,
    }
}

/// What a finding does to the verdict where the table says nothing (rule catalogue, "Status"). What is said of the scan
/// itself is no verdict on the server.
const fn default_status(severity: Severity, of_scan: bool) -> CheckStatus {
    match severity {
        _ if of_scan => CheckStatus::None,
        Severity::Critical | Severity::High => CheckStatus::Fail,
        Severity::Medium | Severity::Low => CheckStatus::Warning,
        Severity::Info => CheckStatus::None,
    }
}
