//! Resources and resource templates.

use std::collections::{BTreeMap, BTreeSet};

use url::Url;

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::model::drift::Detail;
use crate::model::facet::Facet;
use crate::model::json::Json;

use super::common;
use super::draft::{Draft, Scene};
use super::lists::Items;

/// Drifts of the items of a list of resources or templates.
pub(super) fn judge(scene: &Scene<'_>, items: Items<'_>) -> Vec<Draft> {
    let is_template = scene.facet.facet == Facet::McpResourceTemplates;
    let moves = by_name(&items);
    let from: BTreeMap<usize, &Place<'_>> =
        moves.iter().filter_map(|(from, to)| Some((*to, items.removed.get(*from)?))).collect();
    let left: BTreeSet<usize> = moves.iter().map(|(from, _)| *from).collect();
    let known: BTreeSet<&str> =
        items.removed.iter().chain(&items.changed).filter_map(|item| sensitive(item.name())).collect();
    let mut out = Vec::new();
    for (index, place) in items.added.iter().enumerate() {
        let draft = match from.get(&index) {
            Some(from) => moved(scene, from, place, is_template).checked_for_hidden(from.old()),
            None => added(place, is_template, &known).checked_for_hidden(None),
        };
        out.push(draft);
    }
    for (_, place) in items.removed.iter().enumerate().filter(|(index, _)| !left.contains(index)) {
        let rule = if is_template { "res.template-removed" } else { "res.removed" };
        out.push(Draft::plain(place, rule, format!("{} is gone", shown(place.name()))));
    }
    for place in &items.changed {
        out.extend(members(scene, place).into_iter().map(|draft| draft.checked_for_hidden(None)));
    }
    out
}

/// Pairs of one name that left one address and came at another, where the name is unique on both sides.
fn by_name(items: &Items<'_>) -> Vec<(usize, usize)> {
    let unique = |places: &[Place<'_>], pick: fn(&Place<'_>) -> Option<String>| {
        let mut names: BTreeMap<String, Option<usize>> = BTreeMap::new();
        for (index, place) in places.iter().enumerate() {
            if let Some(name) = pick(place).filter(|name| !name.is_empty()) {
                names.entry(name).and_modify(|seen| *seen = None).or_insert(Some(index));
            }
        }
        names
    };
    let old = unique(&items.removed, |place| name_of(place.old()));
    let new = unique(&items.added, |place| name_of(place.now()));
    old.into_iter().filter_map(|(name, from)| Some((from?, (*new.get(&name)?)?))).collect()
}

fn name_of(value: Option<&Json>) -> Option<String> {
    value?.member("name")?.as_str().map(str::to_owned)
}

fn added(place: &Place<'_>, is_template: bool, known: &BTreeSet<&str>) -> Draft {
    let uri = shown(place.name());
    let rule = if is_template { "res.template-added" } else { "res.added" };
    let title = place.now().and_then(|item| item.member("name")?.as_str()).unwrap_or_default();
    match sensitive(place.name()).filter(|what| !known.contains(what)) {
        Some(what) => Draft::plain(place, "res.scheme-sensitive", format!("{uri} is new and shows {what}")),
        None => Draft::plain(place, rule, format!("{uri} is new")).line(format!("{uri}  {}", shown(title))),
    }
}

fn moved(scene: &Scene<'_>, from: &Place<'_>, to: &Place<'_>, is_template: bool) -> Draft {
    let (old, new) = (shown(from.name()), shown(to.name()));
    let rule = match is_template {
        false => "res.uri-changed",
        true if variables(from.name()) == variables(to.name()) => "res.template-uri-changed",
        true => "res.template-variables-changed",
    };
    let draft = Draft::plain(to, rule, format!("{old} is now {new}"));
    let draft = draft.claiming(from.path().clone(), None).with(Detail::Moved { from: old, to: new });
    let pair = Place::pair(to.path().clone(), from.old(), to.now());
    draft.holding(members(scene, &pair))
}

/// Names of the variables of an RFC 6570 template.
fn variables(template: &str) -> BTreeSet<&str> {
    let expressions = template.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(inside, _)| inside));
    let bare = expressions.map(|inside| inside.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']));
    bare.flat_map(|inside| inside.split(',')).map(|name| name.trim_end_matches('*')).collect()
}

fn members(scene: &Scene<'_>, place: &Place<'_>) -> Vec<Draft> {
    let uri = shown(place.name());
    if !place.is_object() {
        return vec![Draft::other(place, format!("{uri} is no object, or was none"))];
    }
    let mut out = Vec::new();
    for member in place.changed() {
        if scene.dates.skip_item_member(scene.facet.facet, member.name()) {
            continue;
        }
        let fate = common::fate(&member);
        match member.name() {
            // The keys: they differ inside a move only.
            "uri" | "uriTemplate" => {}
            "name" => out.push(common::short_text(&member, "res.name-changed", format!("the name of {uri} {fate}"))),
            "title" => out.push(common::short_text(&member, "res.title-changed", format!("the title of {uri} {fate}"))),
            "description" => {
                let message = format!("the description of {uri} {fate}");
                out.push(common::long_text(scene, &member, "res.description-changed", message));
            }
            "mimeType" => {
                let message = format!("the media type of {uri} {fate}");
                out.push(Draft::plain(&member, "res.mime-type-changed", message).told(&member));
            }
            "annotations" => out.extend(annotations(&member, &uri)),
            "icons" => out.push(common::icons(scene, &member, "res.icons-changed", &uri)),
            "_meta" => out.push(common::meta(&member, "res.meta-changed", &uri)),
            other => out.push(Draft::other(&member, format!("{} of {uri} {fate}", shown(other)))),
        }
    }
    out
}

fn annotations(place: &Place<'_>, uri: &str) -> Option<Draft> {
    let is_block = |value: Option<&Json>| value.is_none_or(|value| value.as_object().is_some());
    if is_block(place.old()) && is_block(place.now()) && place.changed().is_empty() {
        // An empty block equals none.
        return None;
    }
    let for_assistant = |value: Option<&Json>| {
        let audience = value.and_then(|value| value.member("audience")?.as_array());
        audience.into_iter().flatten().any(|who| who.as_str() == Some("assistant"))
    };
    let gained = for_assistant(place.now()) && !for_assistant(place.old());
    let case = if gained { "audience_assistant" } else { "other" };
    let message = format!("audience or priority of {uri} {}", common::fate(place));
    Some(Draft::at(place, "res.annotations-changed", case, message).told(place))
}

/// What a listed address shows that it should not.
pub(in crate::judge) fn sensitive(uri: &str) -> Option<&'static str> {
    let lower = uri.trim_start().to_ascii_lowercase();
    if lower.starts_with("file:") {
        return Some("a file path");
    }
    let drive = matches!(lower.as_bytes(), [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    if lower.starts_with('/') || lower.starts_with("\\\\") || drive {
        return Some("a file path");
    }
    let Ok(url) = Url::parse(uri) else { return None };
    if !url.username().is_empty() || url.password().is_some() {
        return Some("user data");
    }
    // Only schemes whose host is an address: `demo://10` is a name.
    if !matches!(url.scheme(), "http" | "https" | "ws" | "wss" | "ftp") {
        return None;
    }
    match url.host()? {
        url::Host::Ipv4(address) => {
            (address.is_private() || address.is_loopback() || address.is_link_local()).then_some("a private address")
        }
        url::Host::Ipv6(address) => {
            (address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local())
                .then_some("a private address")
        }
        url::Host::Domain(name) => (name == "localhost" || name.ends_with(".localhost")).then_some("a private address"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_show_the_inside_are_sensitive() {
        for uri in
            ["file:///srv/a", "/etc/hosts", "C:\\a", "http://10.0.0.1/a", "http://[::1]/", "https://u:p@example.com/"]
        {
            assert!(sensitive(uri).is_some(), "{uri}");
        }
        for uri in ["test://static/1", "https://example.com/a", "demo://10.0.0.1/x", "urn:a:b"] {
            assert_eq!(sensitive(uri), None, "{uri}");
        }
    }

    #[test]
    fn variables_are_read_through_their_operators() {
        assert_eq!(variables("x://{a}/{?b,c*}"), BTreeSet::from(["a", "b", "c"]));
    }
}
