//! Companions: what is said beside a drift and never alone. Only a version that stood still raises a severity.

use std::collections::BTreeSet;

use crate::model::drift::{Drift, Note};
use crate::model::facet::Facet;
use crate::model::json::Json;
use crate::model::rule::{Impact, Severity};

use super::handshake::{semantic, server_info};

/// What the companions of one face are judged by.
#[derive(Debug, Default)]
pub(in crate::judge) struct Versions<'a> {
    /// The accepted version, when there is one value of it.
    pub(in crate::judge) old: Option<&'a str>,
    /// The version seen.
    pub(in crate::judge) new: Option<&'a str>,
    /// Tools in the baseline.
    pub(in crate::judge) tools: usize,
}

impl<'a> Versions<'a> {
    /// Reads the versions of accepted and seen handshakes; several values are none.
    pub(in crate::judge) fn of(accepted: &'a [Json], seen: &'a [Json]) -> Self {
        let version = |values: &'a [Json]| match values {
            [only] => server_info(only, "version").and_then(Json::as_str),
            _ => None,
        };
        Self { old: version(accepted), new: version(seen), tools: 0 }
    }

    fn stood_still(&self) -> bool {
        self.old.is_some() && self.old == self.new
    }
}

/// Attaches companions to the drifts of one face.
pub(in crate::judge) fn attach(drifts: &mut [&mut Drift], versions: &Versions<'_>) {
    if versions.stood_still() {
        silent_schemas(drifts);
        drifts.iter_mut().filter(|drift| is_contract(drift)).for_each(|drift| stood_still(drift));
    }
    understated(drifts, versions);
    mass_change(drifts, versions.tools);
}

/// A change of what was offered to callers and models, and not merely of what is offered besides.
fn is_contract(drift: &Drift) -> bool {
    let facet = match drift.facet.facet {
        Facet::McpTools | Facet::McpPrompts => true,
        Facet::McpHandshake => drift.path.token(0) == Some("instructions"),
        Facet::McpResources
        | Facet::McpResourceTemplates
        | Facet::McpTransport
        | Facet::McpCard
        | Facet::McpCatalog
        | Facet::AuthChallenge
        | Facet::Tls
        | Facet::Checks
        | Facet::Scan => false,
    };
    let main = drift.impact.first();
    let hurts = main.is_some_and(|impact| matches!(impact, Impact::Breaking | Impact::Security | Impact::Behavior));
    facet && hurts && drift.severity > Severity::Info
}

/// Raises one step, but never to critical: that word is the table's alone.
fn stood_still(drift: &mut Drift) {
    let text = "the server's version did not change with it".to_owned();
    drift.notes.push(Note { rule: "mcp.server-version-static".to_owned(), text });
    if drift.severity < Severity::High {
        drift.severity = drift.severity.raised();
    }
}

fn silent_schemas(drifts: &mut [&mut Drift]) {
    let is_text =
        |drift: &Drift| drift.rule.rule.starts_with("tool.description") || drift.rule.rule == "tool.title-changed";
    let reworded: BTreeSet<String> = drifts
        .iter()
        .filter(|drift| is_text(drift))
        .filter_map(|drift| drift.path.token(1).map(str::to_owned))
        .collect();
    for drift in drifts.iter_mut().filter(|drift| drift.rule.rule.ends_with(".schema-undecidable")) {
        if drift.path.token(1).is_some_and(|tool| !reworded.contains(tool)) {
            let text = "neither a text nor the version says so".to_owned();
            drift.notes.push(Note { rule: "tool.silent-schema-drift".to_owned(), text });
        }
    }
}

fn understated(drifts: &mut [&mut Drift], versions: &Versions<'_>) {
    let parsed = versions.old.and_then(semantic).zip(versions.new.and_then(semantic));
    let Some((old, new)) = parsed.filter(|(old, new)| old < new) else { return };
    // Before 1.0.0 the minor number says what the major one says later (semantic versioning, 4).
    let understated = if old.0 == 0 && new.0 == 0 { old.1 == new.1 } else { old.0 == new.0 };
    let breaks = |drift: &Drift| drift.impact.first() == Some(&Impact::Breaking) && drift.severity >= Severity::High;
    if !understated || !drifts.iter().any(|drift| breaks(drift)) {
        return;
    }
    if let Some(version) = drifts.iter_mut().find(|drift| drift.rule.rule == "mcp.server-version-changed") {
        let text = "a breaking change came with it, and no new major version".to_owned();
        version.notes.push(Note { rule: "mcp.semver-understated".to_owned(), text });
    }
}

fn mass_change(drifts: &mut [&mut Drift], tools: usize) {
    const FEWEST: usize = 4;
    let touched: BTreeSet<&str> = drifts
        .iter()
        .filter(|drift| drift.facet.facet == Facet::McpTools)
        .filter(|drift| drift.path.token(0) == Some("items"))
        .filter_map(|drift| drift.path.token(1))
        .collect();
    let count = touched.len();
    if tools < FEWEST || count * 2 < tools {
        return;
    }
    if let Some(first) = drifts.iter_mut().find(|drift| drift.facet.facet == Facet::McpTools) {
        let text = format!("{count} tools came, went or changed; the list had {tools}");
        first.notes.push(Note { rule: "tool.mass-change".to_owned(), text });
    }
}
