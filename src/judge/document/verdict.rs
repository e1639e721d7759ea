//! The worst status of a snapshot's findings, said with what it covers.

use crate::model::facet::{Facet, FacetState};
use crate::model::observation::Outcome;
use crate::model::snapshot::{CheckStatus, CheckVerdict, Snapshot};

/// The worst status of a snapshot's findings, with its coverage in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// `ok`, `warning`, `fail` or `error`.
    pub word: &'static str,
    /// What it does not cover; empty when everything was read.
    pub coverage: String,
}

/// The verdict of `snapshot`.
pub fn verdict(snapshot: &Snapshot) -> Verdict {
    let findings = snapshot.checks.iter().filter(|check| check.verdict == CheckVerdict::Finding);
    let worst = findings.map(|check| check.status).max().unwrap_or(CheckStatus::None);
    let seen_any = snapshot
        .facets
        .iter()
        .any(|(name, state)| is_of_conversation(name.facet) && !matches!(state, FacetState::Unseen { .. }));
    let word = match worst {
        CheckStatus::Error => "error",
        // What was answered is judged, also where it was no MCP.
        CheckStatus::Fail => "fail",
        CheckStatus::Warning | CheckStatus::None if !seen_any || snapshot.outcome == Outcome::Error => "error",
        CheckStatus::Warning => "warning",
        CheckStatus::None => "ok",
    };
    Verdict { word, coverage: coverage(snapshot) }
}

/// Whether a facet says that somebody answered in the protocol, or at its door. What is known of an address, and what lies
/// beside an endpoint, does not.
const fn is_of_conversation(facet: Facet) -> bool {
    !matches!(facet, Facet::Tls | Facet::McpCard | Facet::McpCatalog | Facet::Scan)
}

fn coverage(snapshot: &Snapshot) -> String {
    let unread = |facet: Facet| {
        let states = snapshot.facets.iter().filter(|(name, _)| name.facet == facet);
        let read = states.clone().any(|(_, state)| !matches!(state, FacetState::Unseen { .. }));
        let known = states.count() > 0 || snapshot.coverage.keys().any(|name| name.facet == facet);
        known && !read
    };
    let lists = [
        (Facet::McpTools, "tools"),
        (Facet::McpPrompts, "prompts"),
        (Facet::McpResources, "resources"),
        (Facet::McpResourceTemplates, "templates"),
    ];
    let not_read: Vec<String> =
        lists.into_iter().filter(|(facet, _)| unread(*facet)).map(|(_, word)| format!("{word} not read")).collect();
    if not_read.is_empty() {
        return String::new();
    }
    let door = if not_read.len() == 4 { "door only: tools not read".to_owned() } else { not_read.join(", ") };
    let reasons = snapshot.coverage.iter().filter(|(name, _)| name.facet == Facet::McpTools);
    let reason = reasons.filter_map(|(_, coverage)| coverage.reason.as_deref()).next();
    reason.map_or(door.clone(), |reason| format!("{door}, {reason}"))
}
