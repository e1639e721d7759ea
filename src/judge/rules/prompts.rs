//! Prompts and their arguments.

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::model::facet::Facet;
use crate::model::json::Json;

use super::common;
use super::draft::{Draft, Scene};
use super::lists::Items;

/// Drifts of the items of a prompt list.
pub(super) fn judge(scene: &Scene<'_>, items: Items<'_>) -> Vec<Draft> {
    let mut out = Vec::new();
    for place in &items.added {
        let name = shown(place.name());
        let mut draft = Draft::plain(place, "prompt.added", format!("{name} is new"));
        if let Some(text) = place.now().and_then(|prompt| prompt.member("description")?.as_str()) {
            draft = draft.with(common::quote(&format!("{name} says"), text));
        }
        out.push(draft.checked_for_hidden(None));
    }
    for place in &items.removed {
        out.push(Draft::plain(place, "prompt.removed", format!("{} is gone", shown(place.name()))));
    }
    for place in &items.changed {
        out.extend(members(scene, place).into_iter().map(|draft| draft.checked_for_hidden(None)));
    }
    out
}

fn members(scene: &Scene<'_>, place: &Place<'_>) -> Vec<Draft> {
    let name = shown(place.name());
    if !place.is_object() {
        return vec![Draft::other(place, format!("{name} is no object, or was none"))];
    }
    let mut out = Vec::new();
    for member in place.changed() {
        if scene.dates.skip_item_member(Facet::McpPrompts, member.name()) {
            continue;
        }
        let fate = common::fate(&member);
        match member.name() {
            "title" => {
                out.push(common::short_text(&member, "prompt.title-changed", format!("the title of {name} {fate}")))
            }
            "description" => {
                let message = format!("the description of {name} {fate}");
                out.push(common::long_text(scene, &member, "prompt.description-changed", message));
            }
            "arguments" => out.extend(arguments(scene, &member, &name)),
            "icons" => out.push(common::icons(scene, &member, "prompt.icons-changed", &name)),
            "_meta" => out.push(common::meta(&member, "prompt.meta-changed", &name)),
            other => out.push(Draft::other(&member, format!("{} of {name} {fate}", shown(other)))),
        }
    }
    out
}

fn arguments(scene: &Scene<'_>, place: &Place<'_>, prompt: &str) -> Vec<Draft> {
    let is_keyed = |value: Option<&Json>| value.is_none_or(|value| value.member("items").is_some());
    if !is_keyed(place.old()) || !is_keyed(place.now()) {
        return vec![Draft::other(place, format!("the arguments of {prompt} {}", common::fate(place)))];
    }
    let mut out = Vec::new();
    for argument in place.child("items").changed() {
        let name = format!("{} of {prompt}", shown(argument.name()));
        match (argument.old(), argument.now()) {
            (None, Some(new)) => {
                let (rule, word) = if is_required(new) {
                    ("prompt.argument-added-required", "must be given")
                } else {
                    ("prompt.argument-added-optional", "may be left out")
                };
                out.push(Draft::plain(&argument, rule, format!("{name} is new and {word}")));
            }
            (_, None) => out.push(Draft::plain(&argument, "prompt.argument-removed", format!("{name} is gone"))),
            (Some(_), Some(_)) => out.extend(argument_members(scene, &argument, &name)),
        }
    }
    let order = place.child("order");
    if order.differs() && order.is_reordered() {
        let message = format!("the arguments of {prompt} stand in another order");
        out.push(Draft::plain(&order, "prompt.argument-reordered", message));
    }
    out
}

fn is_required(argument: &Json) -> bool {
    argument.member("required").and_then(Json::as_bool) == Some(true)
}

fn argument_members(scene: &Scene<'_>, place: &Place<'_>, name: &str) -> Vec<Draft> {
    let mut out = Vec::new();
    for member in place.changed() {
        let fate = common::fate(&member);
        match member.name() {
            "required" => out.extend(required(&member, name)),
            "title" if scene.dates.skip_item_member(Facet::McpPrompts, "title") => {}
            "title" | "description" => {
                let message = format!("the {} of {name} {fate}", member.name());
                out.push(common::long_text(scene, &member, "prompt.argument-description-changed", message));
            }
            other => out.push(Draft::other(&member, format!("{} of {name} {fate}", shown(other)))),
        }
    }
    out
}

fn required(place: &Place<'_>, name: &str) -> Option<Draft> {
    let on = |value: Option<&Json>| value.and_then(Json::as_bool) == Some(true);
    match (on(place.old()), on(place.now())) {
        (false, true) => {
            Some(Draft::plain(place, "prompt.argument-became-required", format!("{name} must be given now")))
        }
        (true, false) => {
            Some(Draft::plain(place, "prompt.argument-became-optional", format!("{name} may be left out now")))
        }
        // Absent equals `false`: spelled out, it changes nothing.
        (false, false) | (true, true) => None,
    }
}
