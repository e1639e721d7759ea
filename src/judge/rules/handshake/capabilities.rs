//! Capabilities, their flags, extensions and experimental features.

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::judge::rules::common;
use crate::judge::rules::draft::{Draft, Scene};
use crate::model::json::Json;

/// Drifts of `capabilities`.
pub(super) fn judge(scene: &Scene<'_>, place: &Place<'_>) -> Vec<Draft> {
    if !place.is_object() {
        return vec![Draft::other(place, format!("the capabilities {}", common::fate(place).replace("is", "are")))];
    }
    let mut out = Vec::new();
    for capability in place.changed() {
        if scene.dates.skip_capability(capability.name()) {
            continue;
        }
        match capability.name() {
            "extensions" if capability.is_object() => {
                out.extend(capability.changed().iter().map(extension));
            }
            "experimental" => {
                let message = format!("the experimental features {}", common::fate(&capability).replace("is", "are"));
                out.push(
                    Draft::plain(&capability, "mcp.experimental-changed", message.replace("differs", "differ"))
                        .told(&capability),
                );
            }
            _ => out.extend(one(&capability)),
        }
    }
    out
}

fn extension(place: &Place<'_>) -> Draft {
    let (rule, word) = match (place.old(), place.now()) {
        (None, _) => ("mcp.extension-added", "is new"),
        (Some(_), None) => ("mcp.extension-removed", "is gone"),
        (Some(_), Some(_)) => ("mcp.extension-settings-changed", "has other settings"),
    };
    Draft::plain(place, rule, format!("the extension {} {word}", shown(place.name()))).told(place)
}

fn one(place: &Place<'_>) -> Vec<Draft> {
    let name = shown(place.name());
    match (place.old(), place.now()) {
        (None, _) => {
            vec![
                Draft::plain(place, "mcp.capability-added", format!("the capability {name} is new"))
                    .line(format!("+ {name}{}", parts(place.now()))),
            ]
        }
        (Some(_), None) => {
            vec![Draft::plain(place, "mcp.capability-removed", format!("the capability {name} is gone"))]
        }
        (Some(_), Some(_)) if place.name() == "tasks" => {
            vec![
                Draft::plain(place, "mcp.tasks-support-changed", "what can be run as a task differs".to_owned())
                    .told(place),
            ]
        }
        (Some(_), Some(_)) if place.is_object() => {
            place.changed().iter().filter_map(|flag| member(flag, &name)).collect()
        }
        (Some(_), Some(_)) => vec![Draft::other(place, format!("the capability {name} differs"))],
    }
}

/// ` (list, cancel)`: the names of what a capability is made of; empty where it has no parts.
fn parts(capability: Option<&Json>) -> String {
    let members = capability.and_then(Json::as_object).into_iter().flatten();
    let names: Vec<String> = members.map(|(name, _)| shown(name)).collect();
    if names.is_empty() { String::new() } else { format!(" ({})", common::listed(&names, 8)) }
}

/// `listChanged` and `subscribe`: absent equals false.
fn member(place: &Place<'_>, capability: &str) -> Option<Draft> {
    let name = shown(place.name());
    if !matches!(place.name(), "listChanged" | "subscribe") {
        return Some(Draft::other(place, format!("{name} of the capability {capability} {}", common::fate(place))));
    }
    let on = |value: Option<&Json>| value.and_then(Json::as_bool) == Some(true);
    let (case, word) = match (on(place.old()), on(place.now())) {
        (false, true) => ("gained", "now announced"),
        (true, false) => ("lost", "no longer announced"),
        (false, false) | (true, true) => return None,
    };
    let message = format!("{capability}: {name} is {word}");
    Some(Draft::at(place, "mcp.capability-flag-changed", case, message.clone()).line(message))
}
