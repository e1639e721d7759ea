//! Input and output schemas of tools, as far as presence, names and texts tell.
//!
//! There is no reasoning about what a schema accepts here: a change that is not one of texts, of names with reach, or
//! of the schema as a whole is *undecidable*, told at the member or property where it is. Places never nest, so that
//! accepting one accepts no other.

use crate::judge::canon::shown;
use crate::judge::diff::{Place, leaves};
use crate::judge::rename;
use crate::model::json::Json;
use crate::model::pointer::Pointer;

use super::common;
use super::draft::{Draft, spelled};

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
    changed_places(Draft::plain(place, "tool.header-mapping-changed", message).line(line), place, true)
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
    changed_places(Draft::at(place, "tool.param-description-changed", case, message), place, false)
}

fn undecidable(place: &Place<'_>, side: Side, tool: &Tool<'_>) -> Draft {
    let what = shown(place.name());
    let message = format!("the {} schema of {} changed: {what} {}", side.word(), tool.shown, common::fate(place));
    changed_places(Draft::plain(place, side.undecidable(), message), place, true)
}

/// What differs below `place`, one line a place, with short values.
fn changed_places(draft: Draft, place: &Place<'_>, terse: bool) -> Draft {
    let (places, count) = leaves(place.old(), place.now(), LISTED);
    let more = count - places.len();
    let draft = places.iter().fold(draft, |draft, below| draft.line(changed_place(place, below, terse)));
    if more > 0 { draft.line(format!("{more} more places differ")) } else { draft }
}

/// `location/enum: (none) -> ["a","b"]`; a member that is new as a whole: `+ format: {"type":"string"}`.
fn changed_place(place: &Place<'_>, below: &Pointer, terse: bool) -> String {
    let (old, new) = (at(place.old(), below), at(place.now(), below));
    let texts = [old, new].iter().all(|value| value.is_some_and(|value| value.as_str().is_some()));
    let is_whole = below.depth() == 0;
    let name = if is_whole { shown(place.name()) } else { shown(&format!("{}{below}", place.name())) };
    match (spelled(old), spelled(new)) {
        // Beside a change of what is accepted, another text is worth a word; the texts stand in the whole diff.
        _ if terse && texts && is_text(below) => format!("{name}: reworded"),
        (Some(_), Some(new)) if is_whole && old.is_none() => format!("+ {name}: {new}"),
        (Some(old), Some(new)) => format!("{name}: {old} -> {new}"),
        (_, _) if old.is_none() => format!("{name} is new"),
        (_, _) if new.is_none() => format!("{name} is gone"),
        (_, _) => format!("{name} differs"),
    }
}

/// Whether a text for people and models stands there, and no property of that name.
fn is_text(below: &Pointer) -> bool {
    let mut tokens = below.tokens().rev();
    matches!(tokens.next(), Some("title" | "description" | "$comment")) && tokens.next() != Some("properties")
}

fn at<'j>(value: Option<&'j Json>, pointer: &Pointer) -> Option<&'j Json> {
    value.and_then(|value| value.pointer(pointer))
}

/// Names of the parameters of a tool, required ones with a star.
pub(super) fn parameters(tool: &Json) -> Vec<String> {
    let properties = rename::properties(tool);
    let star = |name: &&str| if names::is_required(tool, name) { "*" } else { "" };
    properties.iter().map(|name| format!("{}{}", shown(name), star(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(old: &str, new: &str, terse: bool) -> Vec<String> {
        let read = |text: &str| [Json::parse_trusted(text.as_bytes()).unwrap()];
        let (old, new) = (read(old), read(new));
        let root = Place::root(&old, &new);
        let places = root.changed();
        places
            .iter()
            .flat_map(|place| {
                let (below, _) = leaves(place.old(), place.now(), LISTED);
                below.iter().map(|below| changed_place(place, below, terse)).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn a_changed_place_is_one_line_and_its_texts_stand_in_quotes() {
        assert_eq!(line(r#"{"required":["a"]}"#, "{}", true), [r#"required: ["a"] -> (none)"#]);
        assert_eq!(line("{}", r#"{"kind":{"type":"string"}}"#, true), [r#"+ kind: {"type":"string"}"#]);
        assert_eq!(line(r#"{"n":{"maximum":9}}"#, r#"{"n":{"maximum":10}}"#, true), ["n/maximum: 9 -> 10"]);
        let (old, new) = (r#"{"n":{"description":"A. Ask: b"}}"#, r#"{"n":{"description":"c"}}"#);
        assert_eq!(line(old, new, true), ["n/description: reworded"]);
        assert_eq!(line(old, new, false), [r#"n/description: "A. Ask: b" -> "c""#]);
    }

    #[test]
    fn a_property_called_description_is_no_text() {
        assert!(is_text(&Pointer::of(["items", "description"])));
        assert!(!is_text(&Pointer::of(["properties", "description"])));
    }
}
