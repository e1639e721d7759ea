//! The table of rules: law 4, rules are data.

use crate::model::rule::{Class, Fold, Impact, Severity};
use crate::model::snapshot::CheckStatus;

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
pub static RULES: &[&[Rule]] = &[];

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
    let _ = (rule, items);
    String::new()
}

/// What to ask or do about `rule`, with the names of `items` filled in; empty for an unknown rule.
#[must_use]
pub fn ask(rule: &str, items: &[String]) -> String {
    let _ = (rule, items);
    String::new()
}

/// The table as `docs/rules.md`.
#[must_use]
pub fn markdown() -> String {
    String::new()
}
