//! The mail's text part: what a person needs to decide, in the order DECIDE, CAN BREAK, GOOD TO KNOW, HOW TO DECIDE,
//! HOW DRIFTD KNOWS.

use crate::model::alert::{Alert, AlertType, AlertUnit, Section};
use crate::model::incident::UnitMark;
use crate::model::notice::Body;
use crate::model::text;

use super::names;
use super::page::{Medium, Page};

mod brief;
mod knows;
mod unit;

/// Items of one section; further ones are counted.
const ITEMS: usize = 40;
/// Lines of one passage; further ones are counted.
const LINES: usize = 400;

/// The text part.
pub(super) fn text(body: &Body, medium: Medium) -> String {
    let alert = &body.alert;
    let mut page = Page::of(medium);
    for line in &alert.summary {
        page.words("", 0, &text::inert(line, 600));
    }
    if let Some(url) = alert.incident.as_ref().and_then(|incident| incident.url.as_ref()) {
        page.line(&format!("Decide: {}  (or by command, at the end)", text::inert(url, 500)));
    }
    match alert.kind {
        AlertType::DriftOpened | AlertType::DriftChanged | AlertType::DriftReminder => drift(alert, &mut page),
        AlertType::DriftResolved => past("WHAT IT WAS", alert, &mut page),
        AlertType::SightBack => past("WHAT FAILED", alert, &mut page),
        AlertType::SightLost => sight(alert, &mut page),
        AlertType::FleetReport | AlertType::Digest | AlertType::Test => passages(alert, &mut page),
    }
    if alert.incident.is_some() {
        knows::section(body, &mut page);
    }
    page.finish()
}

/// What is told without an incident.
fn passages(alert: &Alert, page: &mut Page) {
    for passage in &alert.passages {
        page.section(&text::inert(&passage.heading, 60));
        for line in passage.lines.iter().take(LINES) {
            // A line that begins with blanks belongs to the one before it.
            let start = if line.starts_with("  ") { "  " } else { "" };
            page.words(start, start.len() + 2, &text::inert(line.trim_start(), 600));
        }
        let more = passage.lines.len().saturating_sub(LINES);
        if more > 0 {
            page.line(&format!("And {more} more: {}.", page.rest()));
        }
    }
}

fn drift(alert: &Alert, page: &mut Page) {
    let standing = |section: Section| -> Vec<&AlertUnit> {
        alert.units.iter().filter(|unit| unit.mark.stands() && unit.section() == section).collect()
    };
    let (decide, breaks, know) =
        (standing(Section::Decide), standing(Section::CanBreak), standing(Section::GoodToKnow));
    let settled: Vec<&AlertUnit> = alert.units.iter().filter(|unit| !unit.mark.stands()).collect();
    let last_filled = !know.is_empty() || !settled.is_empty() || alert.more > 0;
    let sections = [!decide.is_empty(), !breaks.is_empty(), last_filled];
    let all = sections.iter().filter(|filled| **filled).count();
    let mut number = 0_usize;
    let mut title = |page: &mut Page, name: &str| {
        number += 1;
        page.section(&format!("{number} of {all}: {name}"));
    };
    if !decide.is_empty() {
        title(page, "DECIDE");
        blocks(alert, &decide, unit::Tone::Decide, page);
    }
    if !breaks.is_empty() {
        title(page, "CAN BREAK");
        blocks(alert, &breaks, unit::Tone::Break, page);
    }
    if last_filled {
        title(page, "GOOD TO KNOW");
        know.iter().take(ITEMS).for_each(|unit| brief::line(unit, page));
        left_out(know.len(), page);
        settled.iter().take(ITEMS).for_each(|unit| unit::line(unit, mark(unit.mark), page));
        left_out(settled.len(), page);
        if alert.more > 0 {
            page.words("", 0, &format!("And {} more of lesser weight: {}.", items(alert.more), page.rest()));
        }
    }
    how_to_decide(alert, page);
}

fn blocks(alert: &Alert, units: &[&AlertUnit], tone: unit::Tone, page: &mut Page) {
    let mut told_rules: Vec<&str> = Vec::new();
    for unit in units.iter().take(ITEMS) {
        page.blank();
        // The rule's words once for each rule.
        let first = !told_rules.contains(&unit.rule.as_str());
        told_rules.push(&unit.rule);
        unit::block(unit, &alert.consumers, tone, first, page);
    }
    left_out(units.len(), page);
}

fn left_out(all: usize, page: &mut Page) {
    if all > ITEMS {
        page.blank();
        page.line(&format!("And {} more here: {}.", all - ITEMS, page.rest()));
    }
}

/// What is over, one line each.
fn past(title: &str, alert: &Alert, page: &mut Page) {
    if alert.units.is_empty() && alert.more == 0 {
        return;
    }
    page.section(title);
    // The first lines say how all of it ended; only where the ways differ each unit says its own.
    let first = alert.units.first().map(|unit| unit.mark);
    let differ = alert.units.iter().any(|unit| Some(unit.mark) != first);
    let mark = |unit: &AlertUnit| if differ { mark(unit.mark) } else { "" };
    alert.units.iter().take(ITEMS).for_each(|unit| unit::line(unit, mark(unit), page));
    left_out(alert.units.len(), page);
    if alert.more > 0 {
        page.line(&format!("And {} more: {}.", items(alert.more), page.rest()));
    }
}

fn sight(alert: &Alert, page: &mut Page) {
    page.section("WHAT FAILS");
    let standing: Vec<&AlertUnit> = alert.units.iter().filter(|unit| unit.mark.stands()).collect();
    blocks(alert, &standing, unit::Tone::Decide, page);
    if alert.commands.ack.is_empty() {
        return;
    }
    page.section("WHAT YOU CAN DO");
    command(page, "I am on it", &alert.commands.ack);
    page.words("", 0, "There is nothing to accept: driftd waits until it can see again, and says so.");
}

fn how_to_decide(alert: &Alert, page: &mut Page) {
    let commands = &alert.commands;
    if commands.accept.is_empty() {
        return;
    }
    page.section("HOW TO DECIDE");
    let whole = if commands.accept_except.is_empty() { "accept" } else { "accept all" };
    command(page, whole, &commands.accept);
    if let Some(n) = excepted(&commands.accept_except) {
        command(page, &format!("all but item {n}"), &commands.accept_except);
    }
    command(page, "reject", &commands.reject);
    command(page, "I am on it", &commands.ack);
    let holds = match page.medium() {
        Medium::Mail => {
            "Each holds for exactly what this mail shows. If the server has changed since, the command is refused and \
             tells you so. Nothing in this mail decides by being opened or followed."
        }
        Medium::Terminal => {
            "Each holds for exactly what is shown here. If the server has changed since, the command is refused and \
             tells you so."
        }
    };
    page.words("", 0, holds);
    page.words("", 0, "Reject means: not trusted, stays open, agents are still not blocked.");
    let failing = alert.consumers.iter().filter(|consumer| consumer.effect == "fails");
    let names: Vec<String> = failing.map(|consumer| consumer.name.clone()).collect();
    let fails = match names.len() {
        0 => String::new(),
        1 => format!(", and {} goes on failing", names::list(&names, 0, 60).text),
        _ => format!(", and {} go on failing", names::list(&names, 0, 60).text),
    };
    let stays = "it stays open";
    let told = "driftd tells what changes further";
    let all = if fails.is_empty() { format!("{stays}, and {told}") } else { format!("{stays}, {told}{fails}") };
    page.words("", 0, &format!("If nobody decides: {all}."));
}

/// The item that a command leaves out.
fn excepted(command: &str) -> Option<u32> {
    command.split_once("--except ")?.1.split(' ').next()?.parse().ok()
}

fn command(page: &mut Page, label: &str, command: &str) {
    page.line(&format!("{label:<21}{}", text::inert(command, 200)));
}

/// Where a unit stands, before its title.
const fn mark(mark: UnitMark) -> &'static str {
    match mark {
        UnitMark::Pending => "not confirmed: ",
        UnitMark::Open => "",
        UnitMark::Rejected => "rejected: ",
        UnitMark::Reverted => "back as it was: ",
        UnitMark::Ignored => "ignored now: ",
        UnitMark::Accepted => "accepted: ",
        UnitMark::Retired => "no longer watched: ",
    }
}

fn items(n: u32) -> String {
    if n == 1 { "1 item".to_owned() } else { format!("{n} items") }
}
