//! The table of rules (law 4: rules are data) and the families of code that say which rule a difference meets.
//!
//! Code returns (rule, case); severity, impact, class, fold and words come from the table. A family owns the facets
//! or members it is named for and accounts for each of their differences: what no rule of its own sees is
//! `x.other-changed`.

use std::fmt::Write as _;
use std::sync::LazyLock;

use crate::model::digest::Digest;
use crate::model::rule::{Class, Fold, Impact, Severity};
use crate::model::snapshot::CheckStatus;

mod annotations;
mod auth;
mod cards;
mod common;
mod dates;
pub(super) mod draft;
mod handshake;
pub(super) mod lists;
mod network;
pub(super) mod notes;
mod prompts;
mod resources;
pub(super) mod scan;
pub(super) mod schemas;
mod table;
mod texts;
pub(super) mod tls;
pub(super) mod tools;
mod transport;

pub(super) use annotations::contradiction;
pub(super) use auth::judge as judge_challenge;
pub(super) use cards::{judge_card, judge_catalog};
pub(super) use dates::{DATES, Dates, knows_capability};
pub(super) use handshake::judge as judge_handshake;
pub(super) use handshake::{SERVER_INFO_KEY, date_of, is_stateless, server_info};
pub(super) use resources::sensitive;
pub(super) use texts::stands_out;
pub(super) use transport::judge as judge_transport;

/// What kind of thing a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One snapshot is enough.
    Check,
    /// Needs a baseline.
    Drift,
    /// Both.
    CheckAndDrift,
    /// A scan's outcome.
    Outcome,
    /// A companion of a drift.
    Note,
    /// A line of the history.
    Audit,
}

impl Kind {
    /// The word in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Drift => "drift",
            Self::CheckAndDrift => "check+drift",
            Self::Outcome => "outcome",
            Self::Note => "note",
            Self::Audit => "audit",
        }
    }
}

/// One case of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The case, or `-`.
    pub case: &'static str,
    /// How bad; none for a note that raises nothing.
    pub severity: Option<Severity>,
    /// The first is the main one.
    pub impact: &'static [Impact],
    /// What a finding does to the verdict; none where it cannot be a finding.
    pub status: Option<CheckStatus>,
    /// How its drifts fold.
    pub fold: Fold,
    /// Which confirmation it needs; none where it is never confirmed.
    pub class: Option<Class>,
}

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The id: it never changes its meaning.
    pub id: &'static str,
    /// Other names it is found by.
    pub aliases: &'static [&'static str],
    /// What kind of thing it says.
    pub kind: Kind,
    /// Its cases, at least one.
    pub cases: &'static [Case],
    /// What it sees, in a few words.
    pub title: &'static str,
    /// What stands at the top of a unit.
    pub head: &'static str,
    /// What its items are called when they are counted; empty for tools.
    pub noun: &'static str,
    /// Why it matters; `{items}` and `{n}` are filled in.
    pub why: &'static str,
    /// What to ask or do; `{items}` and `{n}` are filled in.
    pub remedy: &'static str,
    /// The specification's section.
    pub spec: &'static str,
}

/// Every rule, by family.
pub static RULES: &[&[Rule]] = table::FAMILIES;

/// Which rule set this is: another one when any of its rules judges otherwise, whatever its words say.
#[must_use]
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        let cases = all().flat_map(|rule| rule.cases.iter().map(move |case| format!("{} {case:?}", rule.id)));
        Digest::of_parts(cases).hex().chars().take(12).collect()
    });
    &VERSION
}

/// All rules, in the order of the table.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    RULES.iter().copied().flatten()
}

/// The rule of this id or alias.
#[must_use]
pub fn explain(id_or_alias: &str) -> Option<&'static Rule> {
    all().find(|rule| rule.id == id_or_alias || rule.aliases.contains(&id_or_alias))
}

/// The case `case` of the rule `rule`.
#[must_use]
pub fn case(rule: &str, case: &str) -> Option<(&'static Rule, &'static Case)> {
    let rule = all().find(|row| row.id == rule)?;
    rule.cases.iter().find(|row| row.case == case).map(|case| (rule, case))
}

/// Why `rule` matters, with the names of `items` filled in; empty for an unknown rule.
#[must_use]
pub fn why(rule: &str, items: &[String]) -> String {
    explain(rule).map(|rule| filled(rule.why, items)).unwrap_or_default()
}

/// What to ask or do about `rule`, with the names of `items` filled in; empty for an unknown rule.
#[must_use]
pub fn ask(rule: &str, items: &[String]) -> String {
    explain(rule).map(|rule| filled(rule.remedy, items)).unwrap_or_default()
}

/// Fills `{items}` (at most three names, then a count) and `{n}` in, in one pass: a name is never read as a mark.
fn filled(text: &str, items: &[String]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        if let Some(tail) = after.strip_prefix("items}") {
            out.push_str(&named(items));
            rest = tail;
        } else if let Some(tail) = after.strip_prefix("n}") {
            out.push_str(&items.len().to_string());
            rest = tail;
        } else {
            out.push('{');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// At most three names, then how many more.
pub(super) fn named(items: &[String]) -> String {
    const FEW: usize = 3;
    if items.is_empty() {
        return "it".to_owned();
    }
    let mut out = items.iter().take(FEW).cloned().collect::<Vec<_>>().join(", ");
    if items.len() > FEW {
        let _ = write!(out, " and {} more", items.len() - FEW);
    }
    out
}

/// The table as `docs/rules.md`.
#[must_use]
pub fn markdown() -> String {
    let mut out = String::from(
        "# Rules\n\nWhat `driftd` can say, generated from the table in `src/judge/rules/table`. A rule's id never changes its meaning.\n`driftd explain RULE` shows one of them; older names of a rule work there too.\n",
    );
    let mut family = "";
    for rule in all() {
        let stem = rule.id.split('.').next().unwrap_or_default();
        if stem != family {
            family = stem;
            let _ = write!(out, "\n## {family}\n");
        }
        let _ = write!(out, "\n### {}\n\n{}.\n\n", rule.id, capital(rule.title));
        let _ = writeln!(out, "Why it matters: {}\n", rule.why.replace("{items}", "…").replace("{n}", "…"));
        let _ = writeln!(out, "Ask or do: {}\n", rule.remedy.replace("{items}", "…").replace("{n}", "…"));
        for case in rule.cases {
            let _ = writeln!(out, "- {}", case_line(rule, case));
        }
        if !rule.aliases.is_empty() {
            let _ = writeln!(out, "\nAlso known as {}.", rule.aliases.join(", "));
        }
        let _ = writeln!(out, "\nReference: {}", rule.spec);
    }
    out
}

fn case_line(rule: &Rule, case: &Case) -> String {
    let severity = case.severity.map_or("raises nothing", Severity::as_str);
    let impact = case.impact.iter().map(|impact| impact.as_str()).collect::<Vec<_>>().join(", ");
    let name = if case.case == "-" {
        rule.kind.as_str().to_owned()
    } else {
        format!("{} `{}`", rule.kind.as_str(), case.case)
    };
    let status = match case.status {
        Some(CheckStatus::Error) => "; as a finding: error",
        Some(CheckStatus::Fail) => "; as a finding: fail",
        Some(CheckStatus::Warning) => "; as a finding: warning",
        Some(CheckStatus::None) | None => "",
    };
    format!("{name}: {severity}{}{impact}{status}", if impact.is_empty() { "" } else { ", " })
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
