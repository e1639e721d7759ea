//! `driftd review`: the targets that no person has looked at yet. On a terminal it asks of each whether what was seen
//! is what is meant to be there; elsewhere it lists them with the command that accepts each.

use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal as _};
use std::path::Path;

use super::exit::Exit;
use super::{Output, ReviewArgs, answer, ask, page};
use crate::model::text;
use crate::operations::document::Reviewed;
use crate::operations::{Answer, Request};

/// Why, where nobody says.
const REASON: &str = "reviewed with driftd review";

/// What a person answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Yes,
    No,
    Skip,
    Quit,
}

/// Lists, or asks.
///
/// # Errors
/// When neither the daemon nor the store can be asked.
pub(super) async fn review(config: Option<&Path>, output: Output, args: ReviewArgs) -> anyhow::Result<Exit> {
    let answer = ask::asked(config, Request::Review {}).await?.map_err(|refused| anyhow::anyhow!("{refused}"))?;
    let Answer::Review(waiting) = &answer else { anyhow::bail!("the daemon answered something else") };
    match output {
        Output::Json => page::json(&answer::document(&answer)?)?,
        Output::Human if !waiting.is_empty() && std::io::stdin().is_terminal() && std::io::stdout().is_terminal() => {
            walk(config, waiting, args.reason.as_deref().unwrap_or(REASON)).await?;
        }
        Output::Human => page::write(&list(waiting))?,
    }
    Ok(Exit::Fine)
}

async fn walk(config: Option<&Path>, waiting: &[Reviewed], reason: &str) -> anyhow::Result<()> {
    let mut accepted = 0;
    for (n, one) in waiting.iter().enumerate() {
        page::write(&format!("[{} of {}] {}", n + 1, waiting.len(), shown(one)))?;
        let Some(digest) = one.digest else { continue };
        match asked(&one.target)? {
            Reply::Yes => {
                let request = Request::BaselineAccept {
                    id: one.target.clone(),
                    digest: digest.hex(),
                    beside: false,
                    reason: reason.to_owned(),
                    ticket: None,
                };
                match ask::asked(config, request).await? {
                    Ok(_) => {
                        accepted += 1;
                        page::write(&format!("{} is held to this.\n\n", one.target))?;
                    }
                    Err(refused) => page::write(&format!("{refused}\n\n"))?,
                }
            }
            Reply::No => page::write(&format!(
                "Nothing was accepted. `driftd targets show {}` has it all; it stays on this list.\n\n",
                one.target
            ))?,
            Reply::Skip => page::write("\n")?,
            Reply::Quit => break,
        }
    }
    Ok(page::write(&format!("{accepted} of {} accepted.\n", waiting.len()))?)
}

fn asked(target: &str) -> anyhow::Result<Reply> {
    loop {
        page::write(&format!("Is this what {target} is meant to be? [y]es, [n]o, [s]kip, [q]uit: "))?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(Reply::Quit);
        }
        if let Some(reply) = reply(&line) {
            return Ok(reply);
        }
    }
}

fn reply(line: &str) -> Option<Reply> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(Reply::Yes),
        "n" | "no" => Some(Reply::No),
        "s" | "skip" => Some(Reply::Skip),
        "q" | "quit" => Some(Reply::Quit),
        _ => None,
    }
}

/// The list, for where nobody can be asked.
pub(super) fn list(waiting: &[Reviewed]) -> String {
    if waiting.is_empty() {
        return "a person has accepted every baseline\n".to_owned();
    }
    let mut page = String::new();
    for one in waiting {
        page.push_str(&shown(one));
        let _ = writeln!(page, "  accept: {}\n", one.accept);
    }
    page
}

fn shown(one: &Reviewed) -> String {
    let mut page = format!("{}  {}\n", one.target, text::inert(&one.url, 200));
    let watched = match &one.missing {
        None => "watched in full".to_owned(),
        Some(missing) => text::inert(missing, 400),
    };
    let _ = writeln!(page, "  {watched}; {}", unreviewed(one));
    for list in &one.shows {
        let names = named(&list.names, list.more);
        let names = if names.is_empty() { String::new() } else { format!(": {names}") };
        let _ = writeln!(page, "  {} {}{names}", list.count, list.what);
    }
    if !one.awaiting.is_empty() {
        let _ = writeln!(page, "  waits for a person: {}", one.awaiting.join(", "));
    }
    for finding in &one.findings {
        let (message, evidence) = (text::inert(&finding.message, 200), text::inert(&finding.evidence, 200));
        // Many a finding's sentence is what was seen.
        let evidence = if message.contains(&evidence) { String::new() } else { format!(" {evidence}") };
        let _ = writeln!(page, "  {}: {message} [{}]{evidence}", finding.severity, finding.rule);
    }
    if one.more_findings > 0 {
        let _ = writeln!(page, "  and {} more findings", one.more_findings);
    }
    if !one.stands.is_empty() {
        let _ = writeln!(page, "  accepting takes what stands with it: {}", one.stands.join(", "));
    }
    page
}

/// `add, echo and 4 more`; nothing for no names.
fn named(names: &[String], more: u32) -> String {
    let shown = names.iter().map(|name| text::name(name)).collect::<Vec<_>>().join(", ");
    if more == 0 || names.is_empty() { shown } else { format!("{shown} and {more} more") }
}

/// Accepting an incident accepts places; a facet counts once a person accepted it whole.
fn unreviewed(one: &Reviewed) -> String {
    match (one.unreviewed, one.facets) {
        (_, 0) => "nothing is accepted yet".to_owned(),
        (n, all) if n == all => format!("no person has accepted a facet of it whole ({all} held as first seen)"),
        (n, all) => format!("{n} of {all} facets held as first seen, accepted whole by no person"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::rule::Severity;
    use crate::operations::document::{ReviewFinding, Shown};

    fn reviewed() -> Reviewed {
        Reviewed {
            target: "everything".to_owned(),
            url: "https://mcp.example.com/mcp".to_owned(),
            coverage: "full".to_owned(),
            missing: None,
            digest: None,
            facets: 7,
            unreviewed: 7,
            awaiting: Vec::new(),
            shows: vec![
                Shown { what: "tools".to_owned(), count: 3, names: vec!["add".to_owned(), "echo".to_owned()], more: 1 },
                Shown { what: "prompts".to_owned(), count: 2, names: Vec::new(), more: 2 },
            ],
            findings: vec![ReviewFinding {
                severity: Severity::Low,
                rule: "tool.schema-loose".to_owned(),
                message: "add takes anything".to_owned(),
                evidence: "add takes anything".to_owned(),
                remedy: String::new(),
            }],
            more_findings: 0,
            stands: Vec::new(),
            accept: String::new(),
        }
    }

    #[test]
    fn what_is_asked_about_is_named() {
        let page = shown(&reviewed());
        assert!(page.contains("  3 tools: add, echo and 1 more\n"), "{page}");
        assert!(page.contains("  2 prompts\n"), "{page}");
    }

    #[test]
    fn a_findings_words_stand_once() {
        let page = shown(&reviewed());
        assert_eq!(page.matches("add takes anything").count(), 1, "{page}");
    }

    #[test]
    fn an_accepted_incident_is_no_accepted_facet_and_the_words_say_so() {
        let mut one = reviewed();
        assert_eq!(unreviewed(&one), "no person has accepted a facet of it whole (7 held as first seen)");
        one.unreviewed = 2;
        assert_eq!(unreviewed(&one), "2 of 7 facets held as first seen, accepted whole by no person");
        one.facets = 0;
        assert_eq!(unreviewed(&one), "nothing is accepted yet");
    }

    #[test]
    fn an_answer_that_is_none_is_asked_for_again() {
        let cases = [
            ("y\n", Some(Reply::Yes)),
            (" NO ", Some(Reply::No)),
            ("s", Some(Reply::Skip)),
            ("quit", Some(Reply::Quit)),
        ];
        for (line, wanted) in cases.into_iter().chain([("", None), ("yo", None), ("1", None)]) {
            assert_eq!(reply(line), wanted, "{line:?}");
        }
    }
}
