//! Tools: what came, went, was renamed, and which member of a tool changed.

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::judge::rename;
use crate::model::drift::Detail;
use crate::model::facet::Facet;
use crate::model::json::Json;
use crate::model::rule::Severity;

use super::draft::{Draft, Scene};
use super::lists::Items;
use super::schemas::{self, Side};
use super::{annotations, common, schemas::names, texts};

/// Drifts of the items of a tool list.
pub(super) fn judge(scene: &Scene<'_>, items: Items<'_>) -> Vec<Draft> {
    let old: Vec<&Json> = items.removed.iter().filter_map(Place::old).collect();
    let new: Vec<&Json> = items.added.iter().filter_map(Place::now).collect();
    let pairs = rename::pairs(&old, &new);
    let mut out = Vec::new();
    let mut renamed_to = vec![None; items.added.len()];
    let mut renamed = vec![false; items.removed.len()];
    for (from, to) in pairs {
        if let (Some(slot), Some(flag)) = (renamed_to.get_mut(to), renamed.get_mut(from)) {
            (*slot, *flag) = (items.removed.get(from), true);
        }
    }
    for (place, from) in items.added.iter().zip(renamed_to) {
        match from {
            Some(from) => out.push(moved(scene, from, place)),
            None => out.push(added(scene, place).checked_for_hidden(None)),
        }
    }
    for (place, _) in items.removed.iter().zip(renamed).filter(|(_, renamed)| !renamed) {
        out.push(Draft::plain(place, "tool.removed", format!("{} is gone", shown(place.name()))));
    }
    for place in &items.changed {
        out.extend(members(scene, place).into_iter().map(|draft| draft.checked_for_hidden(None)));
    }
    out
}

/// A new tool: what it says, takes, claims and reaches.
fn added(scene: &Scene<'_>, place: &Place<'_>) -> Draft {
    let name = shown(place.name());
    let Some(tool) = place.now() else { return Draft::at(place, "tool.added", "plain", format!("{name} is new")) };
    let mut draft = match names::dispatcher(tool) {
        Some((call, arguments)) => {
            let message = format!("{name} is new and calls other things by name");
            let line = format!("it takes a name ({}) and free arguments ({})", shown(call), shown(arguments));
            Draft::plain(place, "tool.dispatcher-added", message).line(line)
        }
        None => {
            let trusted = scene.trusts_hints && annotations::is_harmless(tool) && names::reaching(tool).is_empty();
            Draft::at(place, "tool.added", if trusted { "trusted" } else { "plain" }, format!("{name} is new"))
        }
    };
    for line in reach(tool) {
        draft = draft.noting("tool.input.reach-gained", format!("{name}: {line}")).line(line);
    }
    draft = tidings(tool).into_iter().fold(draft, Draft::line);
    draft = takes(tool).into_iter().fold(draft, Draft::line);
    if !has_hints(tool) {
        draft = draft.line("carries no hints: a client must take it for destructive");
    }
    match tool.member("description").and_then(Json::as_str) {
        Some(text) => draft.with(common::quote("it says", text)),
        None => draft,
    }
}

/// What a new tool reaches: `data names a URL`.
pub(in crate::judge) fn reach(tool: &Json) -> Vec<String> {
    let reaching = names::reaching(tool);
    reaching.iter().take(10).map(|(parameter, what)| format!("{} names {what}", shown(parameter))).collect()
}

/// What a tool takes: `takes topic*, ambiguous`; nothing of one without parameters.
pub(in crate::judge) fn takes(tool: &Json) -> Option<String> {
    let parameters = schemas::parameters(tool);
    (!parameters.is_empty()).then(|| format!("takes {}", common::listed(&parameters, 20)))
}

/// What else a caller is told of a new tool: that it runs as a task only, and what it claims of itself.
pub(in crate::judge) fn tidings(tool: &Json) -> Vec<String> {
    let mut lines = Vec::new();
    if tool.member("execution").and_then(|execution| execution.member("taskSupport")?.as_str()) == Some("required") {
        lines.push("runs only as a task".to_owned());
    }
    if has_hints(tool) {
        lines.push(format!("claims: {}", annotations::claims(tool)));
    }
    lines
}

/// Whether a tool carries a hint.
pub(in crate::judge) fn has_hints(tool: &Json) -> bool {
    annotations::has_hints(tool.member("annotations"))
}

/// A renamed tool; what else changed in it is told inside, and its severity is at least that of the worst.
fn moved(scene: &Scene<'_>, from: &Place<'_>, to: &Place<'_>) -> Draft {
    let (old, new) = (shown(from.name()), shown(to.name()));
    let draft = Draft::plain(to, "tool.renamed", format!("{old} is now {new}"));
    let draft = draft.claiming(from.path().clone(), None).with(Detail::Moved { from: old, to: new });
    let pair = Place::pair(to.path().clone(), from.old(), to.now());
    let inside: Vec<Draft> = members(scene, &pair).into_iter().map(|inner| inner.checked_for_hidden(None)).collect();
    let grave = inside.iter().map(Draft::rated).filter(|(severity, _)| *severity >= Severity::High);
    let draft = grave.fold(draft, |draft, (severity, impact)| draft.at_least(severity, impact));
    draft.holding(inside).checked_for_hidden(from.old())
}

/// Drifts of the members of one tool.
fn members(scene: &Scene<'_>, place: &Place<'_>) -> Vec<Draft> {
    let name = shown(place.name());
    if !place.is_object() {
        return vec![Draft::other(place, format!("{name} is no object, or was none"))];
    }
    let mut out = Vec::new();
    for member in place.changed() {
        if scene.dates.skip_item_member(Facet::McpTools, member.name()) {
            continue;
        }
        match member.name() {
            // The key: it differs inside a rename only.
            "name" => {}
            "title" => {
                let message = format!("the title of {name} {}", common::fate(&member));
                out.push(common::short_text(&member, "tool.title-changed", message));
            }
            "description" => out.push(texts::description(scene, &member, &name, place)),
            "inputSchema" => out.extend(schema(place, &member, Side::Input, &name)),
            "outputSchema" => out.extend(schema(place, &member, Side::Output, &name)),
            "annotations" => out.extend(annotations::judge(&member, &name)),
            "icons" => out.push(common::icons(scene, &member, "tool.icons-changed", &name)),
            "execution" => out.push(execution(&member, &name)),
            "_meta" => out.push(common::meta(&member, "tool.meta-changed", &name)),
            other => out.push(Draft::other(&member, format!("{} of {name} {}", shown(other), common::fate(&member)))),
        }
    }
    out
}

fn schema(tool: &Place<'_>, place: &Place<'_>, side: Side, name: &str) -> Vec<Draft> {
    let now = tool.now().unwrap_or(&Json::Null);
    schemas::judge(place, side, &schemas::Tool { shown: name, name: tool.name(), now })
}

/// `execution.taskSupport`; absent is `forbidden` (MCP 2025-11-25).
fn execution(place: &Place<'_>, name: &str) -> Draft {
    let support = |value: Option<&Json>| {
        value.and_then(|value| value.member("taskSupport")?.as_str()).unwrap_or("forbidden").to_owned()
    };
    let (old, new) = (support(place.old()), support(place.now()));
    let case = match (old.as_str(), new.as_str()) {
        ("required", "forbidden") | ("forbidden", "required") => "required_forbidden",
        ("optional", "required") => "became_required",
        _ => "other",
    };
    let word = if old == new { "is told now, and is" } else { "is" };
    let message = format!("{name}: task support {word} {}", shown(&new));
    let draft = Draft::at(place, "tool.execution-changed", case, message);
    if old == new { draft } else { draft.with(Detail::Moved { from: shown(&old), to: shown(&new) }) }
}
