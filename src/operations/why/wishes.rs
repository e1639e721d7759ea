//! What an inventory entry asks for, in words: what is ignored, weighs otherwise, or is accepted without a person.

use jiff::Timestamp;

use crate::judge::{consumers, policy, rules};
use crate::model::confirm::Confirm;
use crate::model::drift::Drift;
use crate::model::inventory::Target;
use crate::model::policy::{PathPattern, PatternSegment, Policy as Wishes, PolicyMatch};
use crate::model::rule::{Class, Severity};
use crate::model::target::BaselineMode;
use crate::model::text;
use crate::operations::document::{Policy, Severed};
use crate::operations::words::{instant, span};

/// Characters of a person's reason that are shown.
const REASON: usize = 200;

/// Every wish of `target` that is in force, and those that are over.
pub(super) fn of_target(target: &Target, confirm: &Confirm, now: Timestamp) -> Vec<Policy> {
    let mut all = vec![line(
        "baseline",
        match target.baseline {
            BaselineMode::FirstSeen => "first_seen: what is seen steadily at first is accepted by itself".to_owned(),
            BaselineMode::Approve => "approve: a person accepts everything".to_owned(),
        },
    )];
    all.push(line("confirm", confirms(confirm, target.confirm.is_some())));
    let wishes = &target.policy;
    for ignore in &wishes.ignore {
        let over = ignore.until.is_some_and(|until| until <= now);
        let until = ignore.until.map_or_else(
            || ", for good".to_owned(),
            |until| {
                if over { format!(", over since {}", instant(until)) } else { format!(", until {}", instant(until)) }
            },
        );
        let what = matched(&ignore.matches);
        all.push(line("ignore", format!("{what}{until}: {}", text::quoted(&ignore.reason, REASON))));
    }
    for reweigh in &wishes.severity {
        let set = reweigh.set.map_or("recorded, never told (off)".to_owned(), |set| set.to_string());
        all.push(line("severity", format!("{}: {set}", matched(&reweigh.matches))));
    }
    for accept in &wishes.auto_accept {
        let reason = accept.reason.as_ref().map(|reason| format!(": {}", text::quoted(reason, REASON)));
        let what = matched(&accept.matches);
        let said = format!("{what}, up to {}, once confirmed{}", accept.at_most, reason.unwrap_or_default());
        all.push(line("auto_accept", said));
    }
    if wishes.trust_hints {
        all.push(line("trust", "hints: what the server says of its own tools may also lower a severity".to_owned()));
    }
    for consumer in &wishes.consumers {
        let name = text::name(&consumer.name);
        let uses: Vec<String> = consumer.uses.iter().take(8).map(|item| text::name(item)).collect();
        let more = consumer.uses.len().saturating_sub(uses.len());
        let uses = if uses.is_empty() { "everything".to_owned() } else { uses.join(", ") };
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        all.push(line("consumers", format!("{name} uses {uses}{more}")));
    }
    all
}

fn line(key: &str, text: String) -> Policy {
    Policy { key: key.to_owned(), text }
}

fn confirms(confirm: &Confirm, own: bool) -> String {
    let of = |class| {
        let threshold = confirm.of(class);
        format!("{} over {}", threshold.sightings, span(threshold.after))
    };
    let (security, surface, sight) = (of(Class::Security), of(Class::Surface), of(Class::Sight));
    let whose = if own { "" } else { " (the daemon's)" };
    format!("sightings{whose}: security {security}, surface {surface}, sight {sight}")
}

/// `tool.* at mcp.tools/items/*/description`, or what is left of it.
fn matched(matches: &PolicyMatch) -> String {
    let rule = matches.rule.as_ref().map(|rule| text::name(rule));
    let path = matches.path.as_ref().map(pattern);
    match (rule, path) {
        (Some(rule), Some(path)) => format!("{rule} at {path}"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => "everything".to_owned(),
    }
}

/// A pattern as it is written.
fn pattern(pattern: &PathPattern) -> String {
    let segment = |segment: &PatternSegment| match segment {
        PatternSegment::Exactly(text) => {
            text::inert(&text.replace('~', "~0").replace('/', "~1").replace('*', "~2"), 100)
        }
        PatternSegment::One => "*".to_owned(),
        PatternSegment::Many => "**".to_owned(),
    };
    pattern.0.iter().map(segment).collect::<Vec<_>>().join("/")
}

/// The severity of `drift`, and who says so.
pub(super) fn severed(drift: &Drift, wishes: Option<&Wishes>) -> Severed {
    let rule = rules::case(&drift.rule.rule, &drift.rule.case).and_then(|(_, case)| case.severity);
    let case = if drift.rule.case == "-" { String::new() } else { format!(", case {}", drift.rule.case) };
    let own = format!("the rule {}{case}", drift.rule.rule);
    Severed { severity: drift.severity, rule, text: origin(drift, rule, &own, wishes) }
}

fn origin(drift: &Drift, rule: Option<Severity>, own: &str, wishes: Option<&Wishes>) -> String {
    let Some(rule) = rule else { return format!("{own} leaves it to what it stands beside") };
    if drift.severity == rule {
        return format!("as {own} says");
    }
    let raises = drift.notes.iter().find(|note| !note.text.is_empty());
    match raises {
        Some(note) if drift.severity == rule.raised() => {
            format!("{own} says {rule}; raised one step: {}", text::inert(&note.text, REASON))
        }
        Some(_) | None if wishes.is_some_and(|wishes| policy::reweighs(wishes, drift)) => {
            format!("{own} says {rule}; `severity` of the inventory says {}", drift.severity)
        }
        Some(_) | None if wishes.is_some_and(|wishes| !consumers::is_used(wishes, drift)) && drift.severity < rule => {
            format!("{own} says {rule}; nobody who is listed uses it")
        }
        Some(_) | None => format!("{own} says {rule}; what else changed with it makes it {}", drift.severity),
    }
}
