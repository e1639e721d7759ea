//! `rules` and `explain`: the table of rules.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Output;
use super::exit::Exit;
use super::page::{self, Table};
use crate::judge::rules::{self, Rule};

/// Lists all rules.
///
/// # Errors
/// When standard output cannot be written to.
pub(super) fn all(output: Output) -> anyhow::Result<Exit> {
    match output {
        Output::Json => page::json(&rules::all().map(document).collect::<Vec<_>>())?,
        Output::Human => {
            let mut table = Table::new(&["RULE", "CASE", "SEVERITY", "IMPACT", "WHAT"]);
            for rule in rules::all() {
                for case in rule.cases {
                    table.row([
                        rule.id.to_owned(),
                        case.case.to_owned(),
                        severity(case),
                        impact(case),
                        rule.title.to_owned(),
                    ]);
                }
            }
            page::write(&table.page(super::style::Style::stdout()))?;
        }
    }
    Ok(Exit::Fine)
}

/// Explains one rule.
///
/// # Errors
/// When no rule has this id or alias.
pub(super) fn explain(output: Output, name: &str) -> anyhow::Result<Exit> {
    let Some(rule) = rules::explain(name) else {
        let near = rules::all().map(|rule| rule.id).min_by_key(|id| distance(id, name));
        let hint = near.map(|id| format!("; the nearest is {id}")).unwrap_or_default();
        anyhow::bail!("no rule is called {name:?}{hint}; `driftd rules` lists them");
    };
    match output {
        Output::Json => page::json(&document(rule))?,
        Output::Human => page::write(&in_words(rule))?,
    }
    Ok(Exit::Fine)
}

fn in_words(rule: &Rule) -> String {
    let mut page = format!(
        "{}: {}\n\n{}\n\nWhat to do: {}\n\n",
        rule.id,
        rule.title,
        without_places(rule.why),
        without_places(rule.remedy)
    );
    let mut table = Table::new(&["CASE", "SEVERITY", "IMPACT"]);
    for case in rule.cases {
        table.row([case.case.to_owned(), severity(case), impact(case)]);
    }
    page.push_str(&table.page(super::style::Style::stdout()));
    if !rule.aliases.is_empty() {
        let _ = writeln!(page, "\nalso: {}", rule.aliases.join(", "));
    }
    if !rule.spec.is_empty() {
        let _ = writeln!(page, "\nsee: {}", rule.spec);
    }
    page
}

/// A rule's sentence where it is about nothing in particular: what a message names stands as a word.
fn without_places(words: &str) -> String {
    words.replace(": {items}", "").replace("{items}", "them").replace("{n}", "several")
}

fn severity(case: &rules::Case) -> String {
    case.severity.map_or_else(|| "-".to_owned(), |severity| severity.to_string())
}

fn impact(case: &rules::Case) -> String {
    case.impact.iter().map(|impact| impact.as_str()).collect::<Vec<_>>().join(",")
}

/// The document of a rule (design, section 6).
fn document(rule: &Rule) -> Value {
    let cases: Vec<Value> = rule
        .cases
        .iter()
        .map(|case| {
            json!({
                "case": case.case,
                "severity": case.severity,
                "impact": case.impact,
                "status": case.status,
                "fold": case.fold,
            })
        })
        .collect();
    json!({
        "id": rule.id,
        "aliases": rule.aliases,
        "cases": cases,
        "title": rule.title,
        "why": without_places(rule.why),
        "remedy": without_places(rule.remedy),
        "spec": rule.spec,
    })
}

/// Edits from one word to another (Levenshtein), for "did you mean".
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(100).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        let mut next = vec![before];
        for (b, above) in right.iter().zip(row.iter().skip(1)) {
            let cost = if a == *b { diagonal } else { diagonal + 1 };
            before = cost.min(before + 1).min(above + 1);
            diagonal = *above;
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_rule_is_explained_with_a_placeholder() {
        for rule in rules::all() {
            let (page, document) = (in_words(rule), document(rule).to_string());
            assert!(!page.contains("{items}") && !page.contains("{n}"), "{page}");
            assert!(!document.contains("{items}") && !document.contains("{n}"), "{document}");
        }
    }
}
