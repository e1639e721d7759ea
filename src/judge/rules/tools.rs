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
            None => out.push(added(place).checked_for_hidden(None)),
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
fn added(place: &Place<'_>) -> Draft {
    let name = shown(place.name());
    let Some(tool) = place.now() else { return Draft::at(place, "tool.added", "plain", format!("{name} is new")) };
    let mut draft = match names::dispatcher(tool) {
        Some((call, arguments)) => {
            let message = format!("{name} is new and calls other things by name");
            let line = format!("it takes a name ({}) and free arguments ({})", shown(call), shown(arguments));
            Draft::plain(place, "tool.dispatcher-added", message).line(line)
        }
        None => Draft::at(place, "tool.added", "plain", format!("{name} is new")),
    };
    for (parameter, what) in names::reaching(tool).iter().take(10) {
        let parameter = shown(parameter);
        draft = draft.line(format!("{name}: {parameter} names {what}"));
        draft = draft.noting("tool.input.reach-gained", format!("{parameter} of {name} names {what}"));
    }
    let parameters = schemas::parameters(tool);
    if !parameters.is_empty() {
        draft = draft.line(format!("{name} takes: {}", common::listed(&parameters, 20)));
    }
    draft = draft.line(format!("{name} claims: {}", annotations::claims(tool)));
    match tool.member("description").and_then(Json::as_str) {
        Some(text) => draft.with(common::quote("it says", text)),
        None => draft,
    }
}

/// A renamed tool; what else changed in it is told inside, and its severity is at least that of the worst.
fn moved(scene: &Scene<'_>, from: &Place<'_>, to: &Place<'_>) -> Draft {
    let (old, new) = (shown(from.name()), shown(to.name()));
    let draft = Draft::plain(to, "tool.renamed", format!("{old} is now {new}"));
    let draft = draft.claiming(from.path().clone(), None).with(Detail::Moved { from: old, to: new });
    let pair = Place::pair(to.path().clone(), from.old(), to.now());
    let mut inside: Vec<Draft> =
        members(scene, &pair).into_iter().map(|inner| inner.checked_for_hidden(None)).collect();
    inside.sort_by_key(|inner| std::cmp::Reverse(inner.rated().0));
    let inside = inside.into_iter().fold(draft, |draft, inner| {
        let (severity, impact) = inner.rated();
        let mut draft = draft;
        // Companions are what a caller must know: other parameters, and what has a severity of its own.
        if severity >= Severity::High || is_reshaping(&inner) {
            draft = draft.noting(inner.rule, inner.message.clone());
        }
        if severity >= Severity::High {
            draft = draft.at_least(severity, impact);
        }
        draft.details.extend(inner.told_inside());
        draft.notes.extend(inner.notes.iter().cloned());
        draft
    });
    inside.checked_for_hidden(from.old())
}

/// Whether what callers must or may pass is another thing.
fn is_reshaping(inner: &Draft) -> bool {
    let tokens: Vec<&str> = inner.path.tokens().skip(2).take(2).collect();
    matches!(tokens.as_slice(), ["inputSchema", "properties" | "required"] | ["inputSchema"])
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
