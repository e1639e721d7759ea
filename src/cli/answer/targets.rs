//! `targets`: a line for each that fits a terminal; `targets show` has everything.

use std::fmt::Write as _;

use jiff::Timestamp;

use crate::cli::page::{Table, instant, maybe, wrap};
use crate::cli::style::{Paint, Style};
use crate::model::text;
use crate::operations::document::{Facet, Ignore, Target, TargetInFull};
use crate::operations::words::relative;

/// All of them.
pub(super) fn list(targets: &[Target], style: Style, now: Timestamp) -> String {
    if targets.is_empty() {
        return "no targets: name some in the inventory, or let `driftd init --url URL` write one\n".to_owned();
    }
    let offline = offline(targets.iter().find_map(|target| target.offline_since), style);
    let mut table = Table::new(&["TARGET", "STATE", "LAST", "NEXT", "SEES", "OPEN"]);
    for target in targets {
        let (state, paint) = state(target);
        table.painted([
            (target.id.clone(), Paint::Plain),
            (state, paint),
            (target.last_scan.map_or_else(|| "never".to_owned(), |last| relative(last, now)), Paint::Plain),
            (next(target, now), Paint::Plain),
            (coverage(target), if is_whole(target) { Paint::Plain } else { Paint::Warning }),
            (open(target), target.severity.map_or(Paint::Faint, Paint::Of)),
        ]);
    }
    format!("{offline}{}", table.page(style))
}

/// That what is seen now says nothing of the targets; empty while driftd is online.
pub(super) fn offline(since: Option<Timestamp>, style: Style) -> String {
    let Some(since) = since else { return String::new() };
    let words =
        format!("driftd itself is offline since {}: nothing is held against the targets meanwhile", instant(since));
    let lines = wrap("", 0, &words, style.width);
    lines.lines().map(|line| format!("{}\n", style.paint(Paint::Warning, line))).collect()
}

/// The state in one word, or two.
fn state(target: &Target) -> (String, Paint) {
    match target.state.as_str() {
        "active" => {}
        away => return (away.to_owned(), Paint::Faint),
    }
    let sight = target.sight.replace('_', " ");
    match (target.sight.as_str(), &target.failing) {
        ("up", None) => (sight, Paint::Good),
        ("up", Some(failing)) => (format!("up, in part ({failing})"), Paint::Warning),
        ("new", _) => (sight, Paint::Faint),
        // Not confirmed: one failure is nothing to tell.
        (_, Some(failing)) => (format!("{sight} ({failing})"), Paint::Warning),
        (_, None) => (sight, Paint::Bad),
    }
}

fn next(target: &Target, now: Timestamp) -> String {
    let Some(at) = target.next_scan else { return "-".to_owned() };
    let when = if at <= now { "due now".to_owned() } else { relative(at, now) };
    match target.next_why.as_deref() {
        None | Some("plan") => when,
        Some(why) => format!("{when} ({why})"),
    }
}

fn coverage(target: &Target) -> String {
    target.coverage.as_ref().map_or_else(|| "-".to_owned(), |coverage| coverage.text.clone())
}

fn is_whole(target: &Target) -> bool {
    target.coverage.as_ref().is_none_or(|coverage| coverage.seen == coverage.watched)
}

fn open(target: &Target) -> String {
    let mut said: Vec<String> =
        target.standing.iter().map(|stands| format!("{} {}", stands.reference, stands.severity)).collect();
    if target.awaiting_approval > 0 {
        said.push(format!("{} to approve", target.awaiting_approval));
    }
    if said.is_empty() { "-".to_owned() } else { said.join(", ") }
}

/// All that is known of one.
pub(super) fn one(full: &TargetInFull, style: Style, now: Timestamp) -> String {
    let target = &full.target;
    let mut page = offline(target.offline_since, style);
    let mut line = |name: &str, value: &str| {
        let first = format!("{name:<10}");
        page.push_str(&wrap(&first, 10, &text::inert(value, 400), style.width));
    };
    line("target", &target.id);
    line("url", &target.url);
    if !target.labels.is_empty() {
        let labels: Vec<String> = target.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        line("labels", &labels.join(" "));
    }
    line("state", &state(target).0);
    if let Some(protocol) = &full.protocol {
        line("protocol", protocol);
    }
    line("sees", &coverage(target));
    let outcome = target.outcome.as_deref().unwrap_or("never");
    line("scanned", &format!("{} ({outcome})", ago(target.last_scan, now)));
    line("complete", &ago(target.last_ok, now));
    let why = target.next_why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    line("next", &format!("{}{why}", ago(target.next_scan, now)));
    if let Some(digest) = full.digest {
        line("snapshot", &digest.to_string());
    }
    line("stands", &open(target));
    page.push('\n');
    page.push_str(&facets(&full.facets, style, now));
    full.ignores.iter().for_each(|ignore| page.push_str(&wrap("", 2, &ignored(ignore), style.width)));
    let _ = writeln!(page, "\nwhy it is so: driftd why {}", target.id);
    page
}

/// An `ignore` of the inventory in a line, and whether it is of use.
fn ignored(ignore: &Ignore) -> String {
    let until = ignore.until.map(|until| format!(" until {}", maybe(Some(until)))).unwrap_or_default();
    let used = match (ignore.drifts, ignore.unused, ignore.last_used) {
        (0, true, Some(since)) => format!("of no use since {}", maybe(Some(since))),
        (0, _, _) => "matches nothing now".to_owned(),
        (n, _, _) => format!("keeps {n} from being told"),
    };
    let (matches, reason) = (text::inert(&ignore.matches, 200), text::inert(&ignore.reason, 200));
    format!("ignored{until}: {matches} ({reason}); {used}")
}

/// The facets of a target, in a table.
pub(super) fn facets(facets: &[Facet], style: Style, now: Timestamp) -> String {
    let mut table = Table::new(&["FACET", "STATE", "BASELINE", "LAST SEEN", "DIGEST", "WHY"]);
    for facet in facets {
        let why = facet.reason.clone().or_else(|| facet.coverage.as_ref().and_then(|coverage| coverage.reason.clone()));
        let paint = match facet.state.as_str() {
            "unseen" => Paint::Warning,
            "unwatched" => Paint::Faint,
            _ => Paint::Plain,
        };
        table.painted([
            (facet.facet.clone(), Paint::Plain),
            (facet.state.clone(), paint),
            (facet.baseline.clone(), Paint::Plain),
            (facet.last_seen.map_or_else(|| "-".to_owned(), |at| relative(at, now)), Paint::Plain),
            (facet.digest.map_or_else(|| "-".to_owned(), |digest| digest.short()), Paint::Faint),
            (why.unwrap_or_default(), Paint::Plain),
        ]);
    }
    table.page(style)
}

fn ago(at: Option<Timestamp>, now: Timestamp) -> String {
    at.map_or_else(|| maybe(at), |at| format!("{}, {}", maybe(Some(at)), relative(at, now)))
}
