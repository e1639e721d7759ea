//! One look at a target as a page: what it is, what it shows, what is wrong with it, and what was not read.
//!
//! Every word of the peer goes through [`text`]: its names are quoted where they are not plain words.

use std::collections::BTreeMap;

use crate::cli::page::wrap;
use crate::cli::style::{Paint, Style};
use crate::judge::document;
use crate::judge::rules;
use crate::model::facet::{Face, Facet, FacetName, FacetState, SeenFacet};
use crate::model::json::Json;
use crate::model::observation::{Observation, Outcome};
use crate::model::rule::Severity;
use crate::model::snapshot::{Check, CheckVerdict, Snapshot};
use crate::model::text;
use crate::operations::words;
use crate::receiver::message;

/// Columns of what stands before a line's words.
const LABEL: usize = 12;
/// Lines that are shown of a program's standard error.
const STDERR_LINES: usize = 10;
/// Lines of a list's names.
const NAME_LINES: usize = 3;

/// The page.
pub(in crate::cli) fn page(snapshot: &Snapshot, observation: &Observation, style: Style) -> String {
    let mut view = View { out: String::new(), style };
    view.head(snapshot);
    // Where nothing was seen, nothing is shown, and only what answered in its place can be found fault with.
    let seen_any = snapshot.facets.values().any(|state| !matches!(state, FacetState::Unseen { .. }));
    if seen_any {
        view.shows(snapshot);
    }
    if seen_any || snapshot.checks.iter().any(|check| check.verdict == CheckVerdict::Finding) {
        view.findings(&snapshot.checks);
    }
    view.not_read(snapshot, observation);
    view.stderr(observation);
    view.out
}

struct View {
    out: String,
    style: Style,
}

impl View {
    fn head(&mut self, snapshot: &Snapshot) {
        let url = self.style.paint(Paint::Strong, &text::inert(&snapshot.target.url, 300));
        self.line(&url);
        let server = server(snapshot).map(|server| format!("{server}, ")).unwrap_or_default();
        self.line(&format!("{server}{}", text::inert(&words::protocol(&snapshot.mcp), 200)));
        self.line("");
        let verdict = document::verdict(snapshot);
        let paint = match verdict.word {
            "ok" => Paint::Good,
            "warning" => Paint::Warning,
            _ => Paint::Bad,
        };
        let covered = match (verdict.coverage.is_empty(), snapshot.outcome) {
            (true, Outcome::Ok) => " (everything it shows was read)".to_owned(),
            (true, _) => String::new(),
            (false, _) => format!(" ({})", text::inert(&verdict.coverage, 200)),
        };
        self.labelled("verdict", paint, &format!("{}{covered}", verdict.word));
        let requests = if snapshot.requests == 1 { "request" } else { "requests" };
        let spent = format!("{}, {} {requests} in {} ms", snapshot.outcome, snapshot.requests, snapshot.duration_ms);
        self.labelled("scan", Paint::Plain, &spent);
        self.labelled("snapshot", Paint::Faint, &snapshot.digest.to_string());
    }

    /// What it shows: the door, then each list with its names.
    fn shows(&mut self, snapshot: &Snapshot) {
        self.line("");
        if let Some(found) = &snapshot.mcp.endpoint {
            let url = text::inert(&found.url, 300);
            self.labelled("endpoint", Paint::Plain, &format!("{url} ({})", found.found_by.told()));
        }
        if let Some(door) = door(snapshot) {
            self.labelled("door", Paint::Plain, &door);
        }
        for name in all(snapshot).keys().filter(|name| name.facet.list().is_some()) {
            let label = label(*name);
            match snapshot.facets.get(name) {
                Some(FacetState::Seen(seen)) => self.list(&label, seen),
                Some(FacetState::Absent { .. }) => self.labelled(&label, Paint::Faint, "none"),
                Some(FacetState::Unseen { .. }) => self.labelled(&label, Paint::Warning, "not read (see below)"),
                None => self.labelled(&label, Paint::Faint, "not watched (see below)"),
            }
        }
        self.documents(snapshot);
    }

    /// Where the documents are that it shows.
    fn documents(&mut self, snapshot: &Snapshot) {
        for facet in [Facet::McpCard, Facet::McpCatalog] {
            let Some(FacetState::Seen(seen)) = snapshot.facets.get(&FacetName::stranger(facet)) else { continue };
            let at = seen.views.first().and_then(|view| view.member("at")?.as_str());
            if let Some(at) = at {
                let label = facet.as_str().trim_start_matches("mcp.");
                self.labelled(label, Paint::Plain, &format!("at {}", text::inert(at, 300)));
            }
        }
    }

    fn list(&mut self, label: &str, seen: &SeenFacet) {
        let view = seen.views.first();
        let items = view.and_then(|view| view.member("items")).and_then(Json::as_object);
        let items: Vec<String> = items.map(|items| items.keys().cloned().collect()).unwrap_or_default();
        let unsteady = if seen.views.len() > 1 { "; two reads of it differ" } else { "" };
        self.labelled(label, Paint::Plain, &format!("{}{unsteady}", items.len()));
        if !items.is_empty() {
            self.out.push_str(&message::name_lines(&items, LABEL, self.style.width, NAME_LINES));
        }
    }

    fn findings(&mut self, checks: &[Check]) {
        let findings: Vec<&Check> = checks.iter().filter(|check| check.verdict == CheckVerdict::Finding).collect();
        let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
        let (passed, skipped) = (count(CheckVerdict::Passed), count(CheckVerdict::Skipped));
        self.line("");
        if findings.is_empty() {
            let nothing = format!("no findings; {passed} checks passed, {skipped} skipped");
            let nothing = self.style.paint(Paint::Good, &nothing);
            self.line(&nothing);
            return;
        }
        self.heading(&format!("FINDINGS ({}; {passed} checks passed, {skipped} skipped)", findings.len()));
        for severity in Severity::ALL.into_iter().rev() {
            for check in findings.iter().filter(|check| check.severity == severity) {
                self.finding(check);
            }
        }
    }

    fn finding(&mut self, check: &Check) {
        let message = format!("{} [{}]", text::inert(&check.message, 300), check.rule);
        self.labelled(check.severity.as_str(), Paint::Of(check.severity), &message);
        if !check.evidence.is_empty() && !check.message.contains(&check.evidence) {
            self.words(&text::inert(&check.evidence, 300));
        }
        if !check.remedy.is_empty() {
            self.words(&format!("-> {}", text::inert(&check.remedy, 300)));
        }
    }

    /// What was not read, and why: a part of the verdict that is easily overlooked.
    fn not_read(&mut self, snapshot: &Snapshot, observation: &Observation) {
        let reasons = all(snapshot);
        let missing: Vec<_> = reasons.into_iter().filter_map(|(name, why)| Some((name, why?))).collect();
        if missing.is_empty() && observation.sights.is_empty() {
            return;
        }
        self.line("");
        self.heading("NOT READ");
        for sight in &observation.sights {
            let what = rules::explain(sight.rule).map_or(sight.rule, |rule| rule.title);
            self.labelled("", Paint::Warning, &format!("{what} [{}]: {}", sight.rule, text::inert(&sight.detail, 300)));
        }
        // What shares a reason is told together.
        let mut by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, why) in missing {
            by_reason.entry(why).or_default().push(name.to_string());
        }
        for (why, names) in by_reason {
            self.labelled("", Paint::Plain, &format!("{}: {}", names.join(", "), text::inert(&why, 300)));
        }
    }

    /// What a program has to say that did not show itself whole: as a rule, why.
    fn stderr(&mut self, observation: &Observation) {
        let Some(said) = observation.stderr.as_ref().filter(|_| observation.outcome != Outcome::Ok) else { return };
        self.line("");
        self.heading("STANDARD ERROR");
        let lines: Vec<String> = text::lines(said).collect();
        for line in lines.iter().skip(lines.len().saturating_sub(STDERR_LINES)) {
            self.line(&format!("  {}", text::inert(line, 300)));
        }
    }

    fn heading(&mut self, heading: &str) {
        let heading = self.style.paint(Paint::Strong, heading);
        self.line(&heading);
    }

    /// `label      words`, in the colour of the label or, without one, of the words' first line.
    fn labelled(&mut self, label: &str, paint: Paint, words: &str) {
        let pad = " ".repeat(LABEL.saturating_sub(text::width(label) + 2).max(1));
        let first = format!("  {}{pad}", self.style.paint(paint, label));
        // Colours take no columns: wrapped as if there were none.
        let plain = wrap(&format!("  {label}{pad}"), LABEL, words, self.style.width);
        self.out.push_str(&plain.replacen(&format!("  {label}{pad}"), &first, 1));
    }

    fn words(&mut self, words: &str) {
        self.out.push_str(&wrap(&" ".repeat(LABEL), LABEL, words, self.style.width));
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }
}

/// Every facet that was asked for or could have been, with why it was not read.
fn all(snapshot: &Snapshot) -> BTreeMap<FacetName, Option<String>> {
    let unwatched = snapshot.coverage.iter().filter(|(name, _)| !snapshot.facets.contains_key(name));
    let unwatched = unwatched
        .map(|(name, coverage)| (*name, Some(coverage.reason.clone().unwrap_or_else(|| "not watched".to_owned()))));
    let asked = snapshot.facets.iter().map(|(name, state)| match state {
        FacetState::Seen(_) | FacetState::Absent { .. } => (*name, None),
        FacetState::Unseen { reason } => (*name, Some(reason.to_string())),
    });
    unwatched.chain(asked).collect()
}

fn label(name: FacetName) -> String {
    let word = match name.facet {
        Facet::McpTools => "tools",
        Facet::McpPrompts => "prompts",
        Facet::McpResources => "resources",
        Facet::McpResourceTemplates => "templates",
        Facet::McpHandshake
        | Facet::McpTransport
        | Facet::McpCard
        | Facet::McpCatalog
        | Facet::AuthChallenge
        | Facet::Tls
        | Facet::Checks
        | Facet::Scan => name.facet.as_str(),
    };
    match name.face {
        Face::Stranger => word.to_owned(),
        Face::Auth => format!("{word}@auth"),
    }
}

/// What a stranger meets.
fn door(snapshot: &Snapshot) -> Option<String> {
    Some(match snapshot.facets.get(&FacetName::stranger(Facet::AuthChallenge))? {
        FacetState::Absent { .. } => "open: strangers are served".to_owned(),
        FacetState::Unseen { .. } => return None,
        FacetState::Seen(seen) => {
            let status = seen.views.first().and_then(|view| view.member("status")?.as_number());
            let status = status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
            format!("guarded: strangers are refused{status}")
        }
    })
}

/// Name and version as the server gives them, of whichever face shows them.
fn server(snapshot: &Snapshot) -> Option<String> {
    let faces = [Face::Stranger, Face::Auth].map(|face| FacetName::of(Facet::McpHandshake, face));
    let seen = faces.into_iter().find_map(|name| match snapshot.facets.get(&name)? {
        FacetState::Seen(seen) => seen.views.first(),
        FacetState::Absent { .. } | FacetState::Unseen { .. } => None,
    })?;
    let meta = || seen.member("_meta")?.member("io.modelcontextprotocol/serverInfo");
    let info = seen.member("serverInfo").or_else(meta)?;
    let name = text::name(info.member("name")?.as_str()?);
    let version = info.member("version").and_then(Json::as_str).map(text::name);
    Some(version.map_or_else(|| name.clone(), |version| format!("{name} {version}")))
}
