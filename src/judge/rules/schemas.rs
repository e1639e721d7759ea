//! Input and output schemas of tools, as far as presence, names and texts tell.
//!
//! There is no reasoning about what a schema accepts here: a change that is not one of texts, of names with reach, or
//! of the schema as a whole is *undecidable*, told at the member or property where it is. Places never nest, so that
//! accepting one accepts no other.

use crate::judge::canon::shown;
use crate::judge::diff::{Place, leaves};
use crate::judge::rename;
use crate::model::json::Json;

use super::common;
use super::draft::{Draft, brief};

pub(in crate::judge) mod names;
mod texts;

/// Which schema of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// `inputSchema`.
    Input,
    /// `outputSchema`.
    Output,
}

impl Side {
    const fn word(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }

    const fn undecidable(self) -> &'static str {
        match self {
            Self::Input => "tool.input.schema-undecidable",
            Self::Output => "tool.output.schema-undecidable",
        }
    }
}

/// Changed places of a schema that a message lists.
const LISTED: usize = 20;

/// Drifts of one schema of `tool`; `place` is the schema.
pub(super) fn judge(place: &Place<'_>, side: Side, tool: &Tool<'_>) -> Vec<Draft> {
    match (place.old(), place.now()) {
        (Some(_), None) => vec![gone(place, side, tool)],
        (None, Some(_)) => vec![came(place, side, tool)],
        (Some(old), Some(new)) => match (side, whole(old, new)) {
            (Side::Input, Some((rule, words))) => {
                vec![Draft::plain(place, rule, format!("the input schema of {} {words}", tool.shown))]
            }
            (Side::Input | Side::Output, _) => parts(place, side, tool),
        },
        (None, None) => Vec::new(),
    }
}

/// The tool a schema belongs to.
#[derive(Debug)]
pub(super) struct Tool<'a> {
    /// Its name as people see it.
    pub(super) shown: &'a str,
    /// Its key.
    pub(super) name: &'a str,
    /// Its new definition.
    pub(super) now: &'a Json,
}

fn gone(place: &Place<'_>, side: Side, tool: &Tool<'_>) -> Draft {
    let message = format!("{} has no {} schema any more", tool.shown, side.word());
    match side {
        Side::Input => Draft::plain(place, "tool.input-schema-missing", message),
        Side::Output => Draft::at(place, "tool.output-schema-removed", "untyped", message),
    }
}

fn came(place: &Place<'_>, side: Side, tool: &Tool<'_>) -> Draft {
    let message = format!("{} has an {} schema now", tool.shown, side.word());
    match side {
        Side::Input => Draft::plain(place, "x.other-changed", message),
        Side::Output => Draft::plain(place, "tool.output-schema-added", message),
    }
}

/// What is wrong with the new input schema as a whole, that was not with the old.
fn whole(old: &Json, new: &Json) -> Option<(&'static str, &'static str)> {
    let has_type = |schema: &Json| schema.member("type").is_some();
    let properties = |schema: &Json| schema.member("properties").and_then(Json::as_object).map_or(0, |all| all.len());
    let composed = ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|keyword| new.member(keyword).is_some());
    if has_type(old) && !has_type(new) && !composed {
        return Some(("tool.input.schema-lost", "has lost its type"));
    }
    if properties(old) > 0 && properties(new) == 0 && !composed {
        return Some(("tool.input.schema-lost", "has lost all its properties"));
    }
    (!is_object_schema(new) && is_object_schema(old)).then_some(("tool.input-schema-invalid", "is no object schema"))
}

/// Whether a schema is one of type object.
pub(in crate::judge) fn is_object_schema(schema: &Json) -> bool {
    schema.member("type").and_then(Json::as_str) == Some("object")
}

fn parts(place: &Place<'_>, side: Side, tool: &Tool<'_>) -> Vec<Draft> {
    if !place.is_object() {
        return vec![undecidable(place, side, tool)];
    }
    let mut out = Vec::new();
    for member in place.changed() {
        if member.name() == "properties" && member.is_object() && member.old().is_some() && member.now().is_some() {
            out.extend(member.changed().iter().filter_map(|property| part(property, side, tool, true)));
        } else {
            out.extend(part(&member, side, tool, false));
        }
    }
    out
}

/// The drift of one member or property; none where only the order of a set differs.
fn part(place: &Place<'_>, side: Side, tool: &Tool<'_>, is_property: bool) -> Option<Draft> {
    let (old, new) = (place.old(), place.now());
    let position = texts::Position::of(place.name(), is_property);
    if old.is_some() && new.is_some() && texts::same_sets(old, new, position) {
        return None;
    }
    if let (Side::Input, true) = (side, is_property) {
        if names::header_maps(old) != names::header_maps(new) {
            return Some(header(place, tool));
        }
        if let (None, Some(new)) = (old, new)
            && let Some(draft) = new_parameter(place, new, tool)
        {
            return Some(draft);
        }
    }
    if texts::only_texts_differ(old, new, position) {
        return Some(told_texts(place, side, tool, position));
    }
    Some(undecidable(place, side, tool))
}

fn header(place: &Place<'_>, tool: &Tool<'_>) -> Draft {
    let message = format!("the x-mcp-header of {}.{} {}", tool.shown, shown(place.name()), "differs");
    let list = |value: Option<&Json>| {
        let all: Vec<String> = names::header_maps(value).into_values().map(|name| shown(&name)).collect();
        if all.is_empty() { "(none)".to_owned() } else { all.join(", ") }
    };
    let line = format!("x-mcp-header: {} -> {}", list(place.old()), list(place.now()));
    changed_places(Draft::plain(place, "tool.header-mapping-changed", message).line(line), place)
}

fn new_parameter(place: &Place<'_>, schema: &Json, tool: &Tool<'_>) -> Option<Draft> {
    let parameter = shown(place.name());
    if names::dispatcher(tool.now).is_some_and(|(_, arguments)| arguments == place.name()) {
        let message = format!("{} takes a name and free arguments now: it can call what no list shows", tool.shown);
        return Some(Draft::plain(place, "tool.dispatcher-added", message));
    }
    if let Some(reach) = names::reach(place.name(), schema) {
        let message = format!("{} takes {reach} now: {parameter}", tool.shown);
        let draft = Draft::at(place, "tool.input.reach-gained", "old_tool", message);
        return Some(described(draft, schema));
    }
    if names::is_free_text(place.name(), schema) && !names::is_required(tool.now, place.name()) {
        let case = if names::reaches_out(tool.now) { "reach" } else { "plain" };
        let message = format!("{} takes a free text now: {parameter}", tool.shown);
        return Some(described(Draft::at(place, "tool.exfil-parameter-added", case, message), schema));
    }
    None
}

fn described(draft: Draft, schema: &Json) -> Draft {
    match schema.member("description").and_then(Json::as_str) {
        Some(text) => draft.with(common::quote("it says", text)),
        None => draft,
    }
}

fn told_texts(place: &Place<'_>, side: Side, tool: &Tool<'_>, position: texts::Position) -> Draft {
    let names = [place.name(), tool.name];
    let case = if texts::only_generated_titles(place.old(), place.now(), position, &names) {
        "generated_title"
    } else {
        "text"
    };
    let message = format!("texts in the {} schema of {} differ: {}", side.word(), tool.shown, shown(place.name()));
    changed_places(Draft::at(place, "tool.param-description-changed", case, message), place)
}

fn undecidable(place: &Place<'_>, side: Side, tool: &Tool<'_>) -> Draft {
    let what = shown(place.name());
    let message = format!("the {} schema of {} changed: {what} {}", side.word(), tool.shown, common::fate(place));
    changed_places(Draft::plain(place, side.undecidable(), message), place)
}

/// Lists the places below `place` that differ, with short values.
fn changed_places(draft: Draft, place: &Place<'_>) -> Draft {
    let (places, count) = leaves(place.old(), place.now(), LISTED);
    let more = count - places.len();
    let name = shown(place.name());
    let draft = places.iter().fold(draft, |draft, below| {
        let (old, new) = (at(place.old(), below), at(place.now(), below));
        let line = match (brief(old), brief(new)) {
            (Some(old), Some(new)) => format!("{name}{}: {old} -> {new}", shown(&below.to_string())),
            _ => format!("{name}{} {}", shown(&below.to_string()), if old.is_none() { "is new" } else { "differs" }),
        };
        draft.line(line)
    });
    if more > 0 { draft.line(format!("{more} more places differ")) } else { draft }
}

fn at<'j>(value: Option<&'j Json>, pointer: &crate::model::pointer::Pointer) -> Option<&'j Json> {
    value.and_then(|value| value.pointer(pointer))
}

/// Names of the parameters of a tool, required ones with a star.
pub(super) fn parameters(tool: &Json) -> Vec<String> {
    let properties = rename::properties(tool);
    let star = |name: &&str| if names::is_required(tool, name) { "*" } else { "" };
    properties.iter().map(|name| format!("{}{}", shown(name), star(name))).collect()
}
