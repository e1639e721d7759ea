//! One numbered thing of a mail: in full, or in a line.

use crate::model::alert::{AlertConsumer, AlertUnit};
use crate::model::drift::Detail;
use crate::model::incident::UnitMark;
use crate::model::text;
use crate::receiver::message::names;
use crate::receiver::message::page::{Page, WIDTH, wrap};

/// Columns of a list of names before it ends in a count.
const NAMES: usize = 3 * 66;
/// Details of one unit that a mail shows.
const DETAILS: usize = 120;
/// Widest left column of renames.
const LEFT: usize = 34;
/// Lines of a server's text, where there are few texts and where there are many.
const LINES: (usize, usize) = (14, 4);

/// Which words of the rule go along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// Why it matters and what to ask.
    Decide,
    /// Neither, unless nothing else is there to say.
    Break,
}

/// `1. TITLE`, its severity and rule, and everything known of it.
pub(super) fn block(unit: &AlertUnit, consumers: &[AlertConsumer], tone: Tone, first_of_rule: bool, page: &mut Page) {
    let number = format!("{}. ", unit.n);
    page.words(&number, number.len(), &text::inert(&unit.title, 300));
    page.words("", 2, &standing(unit));
    let silent = unit.details.is_empty() && unit.notes.is_empty() && item_list(unit, page.rest()).is_none();
    if let Some(listed) = item_list(unit, page.rest()) {
        page.words("  ", 2, &listed);
    }
    details(unit, consumers, page);
    if let Some(used) = used(unit, consumers) {
        page.words("  ", 4, &used);
    }
    for note in &unit.notes {
        page.words("  ", 2, &text::inert(note, 400));
    }
    if first_of_rule && (tone == Tone::Decide || silent) {
        for (start, words) in [("Why it matters: ", &unit.why), ("Ask: ", &unit.ask)] {
            if !words.is_empty() {
                page.words("  ", 2, &format!("{start}{}", text::inert(words, 600)));
            }
        }
    }
}

/// `high, breaking (tool.renamed, told once)`
fn standing(unit: &AlertUnit) -> String {
    let impact = unit.impact.first().map(|impact| format!(", {impact}")).unwrap_or_default();
    let case = if unit.case == "-" { String::new() } else { format!("/{}", unit.case) };
    let once = if unit.items.len() > 1 || unit.more_items > 0 { ", told once" } else { "" };
    let mark = match unit.mark {
        UnitMark::Open => "",
        UnitMark::Pending => "; not confirmed yet",
        UnitMark::Rejected => "; rejected, and it stands",
        UnitMark::Reverted => "; back as it was",
        UnitMark::Ignored => "; ignored now",
        UnitMark::Accepted => "; accepted",
        UnitMark::Retired => "; no longer watched",
    };
    format!("{}{impact} ({}{case}{once}){mark}", unit.severity, unit.rule)
}

/// `used by refund-agent, batch`; renames say so name by name.
fn used(unit: &AlertUnit, consumers: &[AlertConsumer]) -> Option<String> {
    if !unit.used {
        return Some("used by nobody who is listed".to_owned());
    }
    let users = users(consumers, &|item| unit.items.iter().any(|own| own == item))?;
    (unit.rule != "tool.renamed").then(|| format!("used by {users}"))
}

/// Who uses an item that `is_meant`.
fn users(consumers: &[AlertConsumer], is_meant: &dyn Fn(&String) -> bool) -> Option<String> {
    let using = consumers.iter().filter(|consumer| consumer.items.iter().any(is_meant));
    let names: Vec<String> = using.map(|consumer| consumer.name.clone()).collect();
    (!names.is_empty()).then(|| names::list(&names, 0, NAMES).text)
}

/// The items' names, unless title or details name them already.
fn item_list(unit: &AlertUnit, rest: &str) -> Option<String> {
    let moved = unit.rule == "tool.renamed" && unit.details.iter().any(|detail| matches!(detail, Detail::Moved { .. }));
    let in_title = matches!(unit.items.as_slice(), [only] if unit.title.contains(&text::item(only)));
    if unit.items.is_empty() || moved || in_title {
        return None;
    }
    let listed = names::list(&unit.items, unit.more_items, NAMES);
    Some(if listed.shortened { format!("{} (names: {rest})", listed.text) } else { listed.text })
}

fn details(unit: &AlertUnit, consumers: &[AlertConsumer], page: &mut Page) {
    let texts =
        unit.details.iter().filter(|detail| matches!(detail, Detail::Words { .. } | Detail::Quote { .. })).count();
    let most = if texts <= 2 { LINES.0 } else { LINES.1 };
    let left = left_column(unit);
    let renames = unit.rule == "tool.renamed";
    let mut below_name = false;
    for detail in unit.details.iter().take(DETAILS) {
        match detail {
            Detail::Text { text } => {
                let indent = if below_name && renames { 6 } else { 2 };
                page.words(&" ".repeat(indent), indent + 2, &text::inert(text, 600));
            }
            Detail::Moved { from, to } => {
                moved(&text::value(from), &text::value(to), left, page);
                if renames && let Some(users) = users(consumers, &|item| text::value(item) == text::value(from)) {
                    page.words("      ", 8, &format!("used by {users}"));
                }
                below_name = true;
            }
            Detail::Words { diff, before_chars, after_chars, kept_words, total_words } => {
                let kept = format!("{kept_words} of {total_words} words kept");
                page.words("  ", 2, &format!("{before_chars} -> {after_chars} characters, {kept}:"));
                page.quote(diff, most);
            }
            Detail::Quote { label, text } => {
                page.words("  ", 2, &format!("{}:", text::inert(label, 200).trim_end_matches(':')));
                page.quote(text, most);
            }
        }
    }
    if unit.details.len() > DETAILS {
        page.line(&format!("  ({} more: {})", unit.details.len() - DETAILS, page.rest()));
    }
}

/// Width of the left column of a unit's renames.
fn left_column(unit: &AlertUnit) -> usize {
    let widths = unit.details.iter().filter_map(|detail| match detail {
        Detail::Moved { from, .. } => Some(text::width(&text::value(from))),
        Detail::Text { .. } | Detail::Words { .. } | Detail::Quote { .. } => None,
    });
    widths.filter(|width| *width <= LEFT).max().unwrap_or(0)
}

/// `OLD  -> NEW` in two columns; on two lines what is too wide.
fn moved(from: &str, to: &str, left: usize, page: &mut Page) {
    let pad = " ".repeat(left.saturating_sub(text::width(from)));
    let line = format!("  {from}{pad}  -> {to}");
    if text::width(from) <= left && text::width(&line) <= WIDTH {
        page.line(&line);
    } else {
        page.words("  ", 4, from);
        page.words("      -> ", 9, to);
    }
}

/// `7. TITLE: items`, one line, and one more for a server's words.
pub(super) fn line(unit: &AlertUnit, mark: &str, page: &mut Page) {
    let number = format!("{:>2}. ", unit.n);
    let title = format!("{mark}{}", text::inert(&unit.title, 200));
    let mut lines = wrap(&number, number.len(), &title, WIDTH);
    let named = item_list(unit, page.rest()).is_some();
    if let Some(last) = lines.last_mut().filter(|_| named) {
        let room = WIDTH.saturating_sub(text::width(last) + 2);
        let listed = names::list(&unit.items, unit.more_items, room.saturating_sub(14)).text;
        if text::width(&listed) <= room {
            last.push_str(": ");
            last.push_str(&listed);
        }
    }
    let beside = match (lines.as_slice(), unit.details.as_slice()) {
        ([only], [Detail::Moved { from, to }]) => Some(format!("{only}: {} -> {}", text::value(from), text::value(to))),
        _ => None,
    };
    if let Some(beside) = beside.filter(|line| text::width(line) <= WIDTH) {
        return page.line(&beside);
    }
    lines.iter().for_each(|line| page.line(line));
    if let [one] = unit.details.as_slice() {
        telling(one, page);
    }
}

/// The one detail of a line, where it is short.
pub(super) fn telling(detail: &Detail, page: &mut Page) {
    match detail {
        Detail::Text { text } => page.words("    ", 4, &text::inert(text, 130)),
        Detail::Moved { from, to } => {
            let (from, to) = (text::value(from), text::value(to));
            moved(&format!("  {from}"), &to, text::width(&from) + 2, page);
        }
        Detail::Words { diff, .. } => page.quote(diff, 1),
        Detail::Quote { text, .. } => page.quote(text, 1),
    }
}
