//! The console's block: the same content as a mail, shorter; a terminal sees no escape but our own colours.

use crate::model::alert::{AlertType, AlertUnit};
use crate::model::drift::Detail;
use crate::model::incident::UnitMark;
use crate::model::notice::Body;
use crate::model::rule::Severity;
use crate::model::text;

use super::{Colour, names, page, reference, target};

/// Columns of a line; commands may be longer.
const WIDTH: usize = 100;
/// Units shown; further ones are counted.
const UNITS: usize = 12;
/// Lines of a passage shown; further ones are counted.
const LINES: usize = 40;

/// The block.
pub(super) fn text(body: &Body, colour: Colour) -> String {
    let alert = &body.alert;
    let mut lines: Vec<String> = Vec::new();
    let severity = alert.severity.as_str().to_ascii_uppercase();
    let at = alert.at.strftime("%Y-%m-%d %H:%M:%SZ");
    let headline = text::inert(&alert.headline, 100);
    lines.push(format!(
        "{at} {} {}: {headline}  [{}]",
        painted(&severity, alert.severity, colour),
        target(alert),
        reference(alert)
    ));
    for line in &alert.summary {
        lines.extend(page::wrap("  ", 4, &text::inert(line, 400), WIDTH));
    }
    let over = match alert.kind {
        AlertType::DriftOpened
        | AlertType::DriftChanged
        | AlertType::DriftReminder
        | AlertType::SightLost
        | AlertType::FleetReport
        | AlertType::Digest
        | AlertType::Test => false,
        AlertType::DriftResolved | AlertType::SightBack => true,
    };
    for passage in &alert.passages {
        lines.extend(page::wrap("  ", 2, &text::inert(&passage.heading, 200), WIDTH));
        for line in passage.lines.iter().take(LINES) {
            // A line that begins with blanks belongs to the one before it.
            let start = if line.starts_with("  ") { "      " } else { "    " };
            lines.extend(page::wrap(start, start.len() + 2, &text::inert(line.trim_start(), 400), WIDTH));
        }
        let more = passage.lines.len().saturating_sub(LINES);
        lines.extend((more > 0).then(|| format!("    and {more} more")));
    }
    let shown: Vec<&AlertUnit> = alert.units.iter().filter(|unit| over || unit.mark.stands()).collect();
    let mut first: Vec<&AlertUnit> = shown.iter().take(UNITS).copied().collect();
    first.sort_by_key(|unit| unit.n);
    first.iter().for_each(|unit| lines.extend(unit_lines(unit, colour)));
    let more = usize::try_from(alert.more).unwrap_or(usize::MAX).saturating_add(shown.len().saturating_sub(UNITS));
    if more > 0 {
        lines.push(format!("      and {more} more"));
    }
    let commands = [("accept", &alert.commands.accept), ("on it", &alert.commands.ack)];
    let commands = commands.iter().filter(|(_, command)| !command.is_empty());
    lines.extend(commands.map(|(label, command)| format!("  {label:<8}{}", text::inert(command, 200))));
    let mut out = lines.join("\n");
    out.push('\n');
    out
}

/// A unit in a line, and its most telling detail in another.
fn unit_lines(unit: &AlertUnit, colour: Colour) -> Vec<String> {
    // How bad it was matters no more once it is over; how it ended does.
    let severity = match ended(unit.mark) {
        Some(how) => format!("{how:<8}"),
        None => painted(&format!("{:<8}", unit.severity.as_str()), unit.severity, colour),
    };
    let start = format!("  {:>3}. ", unit.n);
    let mut title = text::inert(&unit.title, 160);
    let named = matches!(unit.items.as_slice(), [only] if title.contains(&text::item(only)));
    if !unit.items.is_empty() && !named && text::width(&title) + 30 < WIDTH {
        let room = WIDTH - 30 - text::width(&title);
        let names = names::list(&unit.items, unit.more_items, room).text;
        // What follows the first clause is about others than these items.
        title = match title.split_once("; ") {
            Some((what, others)) => format!("{what}: {names}; {others}"),
            None => format!("{title}: {names}"),
        };
    }
    // Wrapped as if the severity were plain: colours take no columns.
    let blank = " ".repeat(8);
    let mut lines = page::wrap(&format!("{start}{blank} "), 16, &title, WIDTH);
    if let Some(first) = lines.first_mut() {
        *first = first.replacen(&format!("{start}{blank}"), &format!("{start}{severity}"), 1);
    }
    lines.extend(unit.details.iter().take(told(unit)).map(telling));
    lines
}

/// How a unit ended, in eight columns.
const fn ended(mark: UnitMark) -> Option<&'static str> {
    match mark {
        UnitMark::Pending | UnitMark::Open | UnitMark::Rejected => None,
        UnitMark::Reverted => Some("back"),
        UnitMark::Ignored => Some("ignored"),
        UnitMark::Accepted => Some("accepted"),
        UnitMark::Retired => Some("retired"),
    }
}

/// How many details a unit is told with: one; of a critical one also what it quotes (hidden words spelled out).
fn told(unit: &AlertUnit) -> usize {
    match unit.details.as_slice() {
        [Detail::Text { .. }, Detail::Quote { .. }, ..] if unit.severity == Severity::Critical => 2,
        _ => 1,
    }
}

fn telling(detail: &Detail) -> String {
    let room = WIDTH - 20;
    match detail {
        Detail::Text { text } => format!("{:16}{}", "", shortened(text, room)),
        Detail::Moved { from, to } => format!("{:16}{} -> {}", "", text::value(from), text::value(to)),
        Detail::Words { diff, .. } => format!("{:16}| {}", "", first_line(diff, room)),
        Detail::Quote { text, .. } => format!("{:16}| {}", "", first_line(text, room)),
    }
}

/// The first line of a text that says anything.
fn first_line(text: &str, room: usize) -> String {
    let line = text::lines(text).find(|line| !line.trim().is_empty()).unwrap_or_default();
    let more = text.trim_end().contains('\n') && text::width(&line) + 6 <= room;
    let shown = shortened(&line, room);
    if more { format!("{shown} [...]") } else { shown }
}

fn shortened(text: &str, room: usize) -> String {
    let text = text::inert(text, room);
    let mut used = 0_usize;
    let fits = |character: &char| {
        used += text::columns(*character);
        used <= room
    };
    text.chars().take_while(fits).collect()
}

fn painted(words: &str, severity: Severity, colour: Colour) -> String {
    let code = match severity {
        Severity::Critical => "1;31",
        Severity::High => "31",
        Severity::Medium => "33",
        Severity::Low => "36",
        Severity::Info => "2",
    };
    match colour {
        Colour::Never => words.to_owned(),
        Colour::Ansi => format!("\u{1b}[{code}m{words}\u{1b}[0m"),
    }
}
