//! GOOD TO KNOW: a numbered thing in a line, with a word in front that says what kind of thing it is.

use crate::model::alert::AlertUnit;
use crate::model::drift::Detail;
use crate::model::text;
use crate::receiver::message::mail::unit;
use crate::receiver::message::names;
use crate::receiver::message::page::{Page, WIDTH};

/// Columns before the words: number and kind.
const START: usize = 10;
/// Widest name that others are lined up with.
const NAME: usize = 28;
/// New tools that have a line of their own; further ones are listed.
const ROWS: usize = 8;
/// Lines of what a new tool says.
const SAYS: usize = 3;
/// Columns of a list of names.
const NAMES: usize = 2 * (WIDTH - START);

/// ` 9. new   export_all  url names a URL`
pub(super) fn line(unit: &AlertUnit, page: &mut Page) {
    let rule = unit.rule.as_str();
    match rule {
        _ if unit.items.is_empty() => unit::line(unit, "", page),
        "tool.added" => new_tools(unit, page),
        "prompt.added" | "res.added" | "res.template-added" => {
            let title = text::inert(&unit.title, 200);
            listed(unit, "new", title.strip_prefix("new: ").unwrap_or(&title), page);
        }
        "mcp.capability-added" => listed(unit, "cap", "+", page),
        "mcp.capability-flag-changed" => listed(unit, "cap", if unit.case == "lost" { "-" } else { "+" }, page),
        _ if rule.ends_with(".description-changed") => worded(unit, "text", page),
        _ if rule.ends_with(".title-changed") => worded(unit, "title", page),
        _ => unit::line(unit, "", page),
    }
}

/// ` 9. new   `
fn start(unit: &AlertUnit, kind: &str) -> String {
    let start = format!("{:>2}. {kind:<6}", unit.n);
    format!("{start:<START$}")
}

/// New tools: a line for each that has something to tell, the names of the others, what holds for all.
fn new_tools(unit: &AlertUnit, page: &mut Page) {
    let told: Vec<(String, &str)> = unit.items.iter().filter_map(|item| telling(unit, item)).take(ROWS).collect();
    let pad = told.iter().map(|(name, _)| text::width(name)).filter(|width| *width <= NAME).max().unwrap_or(0);
    let mut first = start(unit, "new");
    for (name, telling) in &told {
        let lead = std::mem::replace(&mut first, " ".repeat(START));
        if text::width(name) <= pad {
            let blanks = " ".repeat(pad - text::width(name));
            page.words(&format!("{lead}{name}{blanks}  "), START + 2, telling);
        } else {
            page.words(&lead, START + 2, &format!("{name}:"));
            page.words(&" ".repeat(START + 2), START + 2, telling);
        }
    }
    let is_told = |item: &&String| told.iter().any(|(name, _)| *name == text::item(item));
    let others: Vec<String> = unit.items.iter().filter(|item| !is_told(item)).cloned().collect();
    if !others.is_empty() || unit.more_items > 0 {
        let lead = std::mem::replace(&mut first, " ".repeat(START));
        page.words(&lead, START + 2, &names::list(&others, unit.more_items, NAMES).text);
    }
    for detail in &unit.details {
        if let Detail::Quote { text, .. } = detail {
            page.quote(text, SAYS);
        }
    }
    for note in &unit.notes {
        page.words(&" ".repeat(START), START, &text::inert(note, 400));
    }
}

/// The line that a unit has about one of its items, without the name in front.
fn telling<'u>(unit: &'u AlertUnit, item: &str) -> Option<(String, &'u str)> {
    let name = text::item(item);
    let of_item = |detail: &'u Detail| match detail {
        Detail::Text { text } => text.strip_prefix(name.as_str())?.strip_prefix(": "),
        Detail::Moved { .. } | Detail::Words { .. } | Detail::Quote { .. } => None,
    };
    let telling = unit.details.iter().find_map(of_item)?;
    Some((name, telling))
}

/// `cap   + tasks`, `new   7 resources: demo://1 ... 7`
fn listed(unit: &AlertUnit, kind: &str, head: &str, page: &mut Page) {
    let in_head = matches!(unit.items.as_slice(), [only] if head.contains(&text::item(only)));
    let glue = if head.len() > 1 { ": " } else { " " };
    let names = names::list(&unit.items, unit.more_items, NAMES - text::width(head).min(WIDTH / 2)).text;
    let words = if in_head { head.to_owned() } else { format!("{head}{glue}{names}") };
    page.words(&start(unit, kind), START + 2, &words);
}

/// `text  echo  | Gives back the input {+string+}`, `title echo  (none) -> "Echo"`; of many the names alone.
fn worded(unit: &AlertUnit, kind: &str, page: &mut Page) {
    let ([item], [detail]) = (unit.items.as_slice(), unit.details.as_slice()) else {
        return many(unit, kind, page);
    };
    let lead = format!("{}{}  ", start(unit, kind), text::item(item));
    let room = WIDTH.saturating_sub(text::width(&lead));
    match detail {
        Detail::Moved { from, to } => {
            let moved = format!("{} -> {}", text::value(from), text::value(to));
            if text::width(&moved) <= room {
                return page.line(&format!("{lead}{moved}"));
            }
        }
        Detail::Words { diff, .. } => {
            let mut lines = text::lines(diff);
            if let (Some(only), None) = (lines.next(), lines.next())
                && text::width(&only) + 2 <= room
            {
                return page.line(&format!("{lead}| {only}"));
            }
        }
        Detail::Text { .. } | Detail::Quote { .. } => {}
    }
    page.words(&start(unit, kind), START + 2, &text::item(item));
    unit::telling(detail, page);
}

fn many(unit: &AlertUnit, kind: &str, page: &mut Page) {
    let names = names::list(&unit.items, unit.more_items, NAMES).text;
    let count = unit.items.len().saturating_add(usize::try_from(unit.more_items).unwrap_or(usize::MAX));
    let words = if count > 1 { format!("{count}: {names}") } else { names };
    page.words(&start(unit, kind), START + 2, &words);
}
