//! Small facts in words, the same wherever they are shown.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use super::document::TargetCoverage;
use crate::model::facet::Facet;
use crate::model::incident::UnitMark;
use crate::model::inventory::Cadence;
use crate::model::observation::{Detection, DetectionState, Outcome};
use crate::store::LastScan;

/// `MCP 2025-11-25, session, streamable_http`, or what is known instead.
pub fn protocol(mcp: &Detection) -> String {
    let state = match mcp.state {
        DetectionState::Confirmed => {
            let version = mcp.version.as_deref().unwrap_or("of unknown date");
            let era = mcp.era.map(|era| format!(", {}", era.as_str())).unwrap_or_default();
            let transport = mcp.transport.map(|transport| format!(", {}", transport.as_str())).unwrap_or_default();
            return format!("MCP {version}{era}{transport}");
        }
        DetectionState::Indicated => "indicated",
        DetectionState::NotDetected => "not detected",
        DetectionState::Unseen => "unseen",
    };
    format!("MCP {state}")
}

/// The word for a unit's mark.
pub const fn mark(mark: UnitMark) -> &'static str {
    match mark {
        UnitMark::Pending => "pending",
        UnitMark::Open => "open",
        UnitMark::Rejected => "rejected",
        UnitMark::Reverted => "reverted",
        UnitMark::Ignored => "ignored",
        UnitMark::Accepted => "accepted",
        UnitMark::Retired => "retired",
    }
}

/// How a target stands whose last scan ended so.
pub const fn sight(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        None | Some(Outcome::Skipped) => "new",
        Some(Outcome::Ok | Outcome::Partial) => "up",
        Some(Outcome::Unreachable) => "unreachable",
        Some(Outcome::Blocked) => "blocked",
        Some(Outcome::RateLimited) => "rate_limited",
        Some(Outcome::CredentialRejected) => "credential_rejected",
        Some(Outcome::Error) => "error",
    }
}

/// How much of a target its last scan saw: `5 of 5`, or what is missing and why.
pub fn coverage(last: &LastScan) -> TargetCoverage {
    let watched: BTreeSet<_> =
        last.coverage.iter().filter(|(_, coverage)| coverage.watched).map(|(name, _)| *name).collect();
    let unseen: Vec<_> = last.unseen.iter().filter(|(name, _)| watched.contains(name)).collect();
    let (all, missing) = (count(watched.len()), count(unseen.len()));
    let seen = all.saturating_sub(missing);
    let reads_lists = watched.iter().any(|name| name.facet == Facet::McpTools);
    let reason = last.coverage.iter().find(|(name, coverage)| name.facet == Facet::McpTools && !coverage.watched);
    let text = if let Some((name, reason)) = unseen.first() {
        let others = if unseen.len() > 1 { format!(" and {} more", unseen.len() - 1) } else { String::new() };
        format!("{seen} of {all}: {name}{others} unseen ({})", reason.kind.as_str())
    } else if watched.is_empty() {
        "nothing yet".to_owned()
    } else if reads_lists {
        format!("{seen} of {all}")
    } else {
        let why = reason.and_then(|(_, coverage)| coverage.reason.as_deref());
        format!("door only: tools not read{}", why.map(|why| format!(", {why}")).unwrap_or_default())
    };
    TargetCoverage { seen, watched: all, text }
}

/// `every 15m`, or ``at `0 9 * * *` in Europe/Madrid``.
pub fn cadence(cadence: &Cadence) -> String {
    match cadence {
        Cadence::Every(every) => format!("every {}", span(*every)),
        Cadence::Cron { expression, timezone } => format!("at `{expression}` in {timezone}"),
    }
}

/// A length of time in its two largest units: `45s`, `5m`, `1h30m`, `2d`.
pub fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    if seconds == 0 && !span.is_zero() {
        return format!("{}ms", span.as_millis());
    }
    let units = [(seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let mut shown = units.into_iter().skip_while(|(n, _)| *n == 0).take(2).filter(|(n, _)| *n > 0);
    let first = shown.next().map_or_else(|| "0s".to_owned(), |(n, unit)| format!("{n}{unit}"));
    shown.next().map_or(first.clone(), |(n, unit)| format!("{first}{n}{unit}"))
}

/// How far `at` is from `now`: `in 5m`, `3h ago`, `now`.
pub fn relative(at: Timestamp, now: Timestamp) -> String {
    let away = at.duration_since(now);
    let text = span(Duration::from_secs(away.unsigned_abs().as_secs()));
    match away.as_secs() {
        0 => "now".to_owned(),
        seconds if seconds > 0 => format!("in {text}"),
        _ => format!("{text} ago"),
    }
}

/// An instant as people read it: to the second, in UTC.
pub fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// `once`, `twice`, `5 times`.
pub fn times(n: u32) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{n} times"),
    }
}

pub(super) fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_two_units_at_most() {
        let cases = [
            (0, "0s"),
            (45, "45s"),
            (60, "1m"),
            (90, "1m30s"),
            (900, "15m"),
            (5_400, "1h30m"),
            (3_601, "1h"),
            (86_400, "1d"),
            (90_061, "1d1h"),
            (86_460, "1d"),
        ];
        for (seconds, shown) in cases {
            assert_eq!(span(Duration::from_secs(seconds)), shown, "{seconds}");
        }
        assert_eq!(span(Duration::from_millis(250)), "250ms");
    }

    #[test]
    fn what_is_past_and_what_is_to_come_are_told_apart() {
        let now: Timestamp = "2026-11-30T12:00:00Z".parse().unwrap();
        for (at, shown) in [
            ("2026-11-30T12:05:00Z", "in 5m"),
            ("2026-11-30T09:00:00Z", "3h ago"),
            ("2026-11-30T12:00:00Z", "now"),
            ("2026-11-30T11:59:59.5Z", "now"),
        ] {
            assert_eq!(relative(at.parse().unwrap(), now), shown, "{at}");
        }
    }
}
