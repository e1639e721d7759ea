//! Hints of tools, by effective value: an absent hint stands at its default (MCP, `ToolAnnotations`).

use crate::judge::diff::Place;
use crate::model::json::Json;

use super::common;
use super::draft::{Draft, brief};

/// A hint, its default, and what is said when it comes or goes.
struct Hint {
    name: &'static str,
    default: bool,
    /// Rule when the effective value becomes true, and when it becomes false.
    gained: &'static str,
    lost: &'static str,
    words: [&'static str; 2],
}

const HINTS: [Hint; 4] = [
    Hint {
        name: "readOnlyHint",
        default: false,
        gained: "tool.readonly-gained",
        lost: "tool.readonly-lost",
        words: ["may change things", "read-only"],
    },
    Hint {
        name: "destructiveHint",
        default: true,
        gained: "tool.destructive-gained",
        lost: "tool.destructive-lost",
        words: ["not destructive", "destructive"],
    },
    Hint {
        name: "idempotentHint",
        default: false,
        gained: "tool.idempotent-gained",
        lost: "tool.idempotent-lost",
        words: ["not safe to repeat", "safe to repeat"],
    },
    Hint {
        name: "openWorldHint",
        default: true,
        gained: "tool.openworld-gained",
        lost: "tool.openworld-lost",
        words: ["stays inside", "reaches outside"],
    },
];

const READ_ONLY: &str = "readOnlyHint";

fn hint(name: &str) -> Option<&'static Hint> {
    HINTS.iter().find(|hint| hint.name == name)
}

fn stated(block: Option<&Json>, hint: &Hint) -> Option<bool> {
    block?.member(hint.name)?.as_bool()
}

fn effective(block: Option<&Json>, hint: &Hint) -> bool {
    stated(block, hint).unwrap_or(hint.default)
}

/// Whether an annotations block states a hint.
pub(super) fn has_hints(block: Option<&Json>) -> bool {
    HINTS.iter().any(|hint| stated(block, hint).is_some())
}

/// Explicit hints of a tool, in words; empty when it has none.
pub(super) fn claims(tool: &Json) -> String {
    let block = tool.member("annotations");
    let words = HINTS.iter().filter_map(|hint| stated(block, hint).map(|on| word(hint, on)));
    words.collect::<Vec<_>>().join(", ")
}

fn word(hint: &Hint, on: bool) -> &'static str {
    let [off_word, on_word] = hint.words;
    if on { on_word } else { off_word }
}

/// Drifts of a tool's annotations.
pub(super) fn judge(place: &Place<'_>, tool: &str) -> Vec<Draft> {
    let (old, new) = (place.old(), place.now());
    let is_block = |value: Option<&Json>| value.is_none_or(|value| value.as_object().is_some());
    if !is_block(old) || !is_block(new) {
        return vec![Draft::other(place, format!("the annotations of {tool} are no object, or were none"))];
    }
    let changed = place.changed();
    if changed.is_empty() {
        // An empty block equals none.
        return Vec::new();
    }
    if !has_hints(old) && has_hints(new) {
        return vec![introduced(place, tool)];
    }
    if has_hints(old) && !has_hints(new) && !HINTS.iter().any(|hint| effective(old, hint) != effective(new, hint)) {
        let message = format!("the hints of {tool} are gone; nothing changes in effect");
        return vec![Draft::at(place, "tool.annotations-removed", "no_effect", message)];
    }
    let read_only_flips = effective(old, &HINTS[0]) != effective(new, &HINTS[0]);
    let mut out = Vec::new();
    for member in changed {
        out.extend(match member.name() {
            "title" => Some(common::short_text(
                &member,
                "tool.title-changed",
                format!("the title of {tool} {}", common::fate(&member)),
            )),
            // What read-only says stands above what the two hints below it say.
            name if read_only_flips && depends_on_read_only(name) => None,
            name => Some(hint(name).map_or_else(|| unknown(&member, tool), |hint| one(&member, hint, old, new, tool))),
        });
    }
    claim_dependents(place, &mut out, read_only_flips);
    out
}

fn depends_on_read_only(name: &str) -> bool {
    matches!(name, "destructiveHint" | "idempotentHint")
}

/// The drift of the read-only hint accounts for the hints that count only beside it.
fn claim_dependents(place: &Place<'_>, out: &mut [Draft], flips: bool) {
    let leading = out.iter_mut().find(|draft| draft.path.tokens().next_back() == Some(READ_ONLY));
    let (true, Some(leading)) = (flips, leading) else { return };
    for member in place.changed().iter().filter(|member| depends_on_read_only(member.name())) {
        *leading = leading.clone().claiming(member.path().clone(), member.now());
    }
}

fn introduced(place: &Place<'_>, tool: &str) -> Draft {
    let new = place.now();
    let in_effect = HINTS.iter().any(|hint| effective(new, hint) != hint.default);
    let stated = HINTS.iter().filter_map(|hint| stated(new, hint).map(|on| word(hint, on)));
    let stated = stated.collect::<Vec<_>>().join(", ");
    let rule = if in_effect { "tool.annotations-introduced" } else { "tool.annotation-explicit-only" };
    let draft = Draft::plain(place, rule, format!("{tool} has hints now: {stated}")).line(format!("{tool}: {stated}"));
    let title = place.child("title");
    let moved = super::draft::moved(&title).filter(|_| title.differs());
    moved.into_iter().fold(draft, Draft::with)
}

fn unknown(member: &Place<'_>, tool: &str) -> Draft {
    let name = crate::judge::canon::shown(member.name());
    let message = format!("the annotation {name} of {tool} {}", common::fate(member));
    Draft::plain(member, "tool.annotation-unknown-changed", message).told(member)
}

fn one(member: &Place<'_>, hint: &Hint, old: Option<&Json>, new: Option<&Json>, tool: &str) -> Draft {
    let (before, after) = (effective(old, hint), effective(new, hint));
    let idle = depends_on_read_only(hint.name) && effective(new, &HINTS[0]);
    let line = format!(
        "{}: {} -> {}",
        hint.name,
        brief(member.old()).unwrap_or_default(),
        brief(member.now()).unwrap_or_default()
    );
    if before == after || idle {
        let message = format!("{} of {tool} {}; nothing changes in effect", hint.name, common::fate(member));
        return Draft::plain(member, "tool.annotation-explicit-only", message).line(line);
    }
    let rule = if after { hint.gained } else { hint.lost };
    Draft::plain(member, rule, format!("{tool} was {}, and is {}", word(hint, before), word(hint, after))).line(line)
}

/// Whether a tool says of itself that it only reads and stays inside, and nothing contradicts that.
pub(super) fn is_harmless(tool: &Json) -> bool {
    let block = tool.member("annotations");
    let [read_only, _, _, open_world] = &HINTS;
    effective(block, read_only) && !effective(block, open_world) && contradiction(tool).is_none()
}

/// What contradicts in the explicit hints of a tool, or between them and its name.
pub(in crate::judge) fn contradiction(tool: &Json) -> Option<&'static str> {
    let block = tool.member("annotations");
    let [read_only, destructive, _, _] = &HINTS;
    if stated(block, read_only) != Some(true) {
        return None;
    }
    if stated(block, destructive) == Some(true) {
        return Some("it is read-only and destructive at once");
    }
    let name = tool.member("name").and_then(Json::as_str).unwrap_or_default();
    let writes = ["delete", "remove", "write", "drop", "create", "update", "send"];
    let first = crate::judge::rename::tokens(name).into_iter().next().unwrap_or_default();
    writes.contains(&first.as_str()).then_some("its name says that it writes, and its hint that it only reads")
}
