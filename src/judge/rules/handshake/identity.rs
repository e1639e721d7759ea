//! What the server calls itself: name, version, title and the rest of its info, wherever it stands.

use std::collections::BTreeSet;

use url::Url;

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::judge::rules::common;
use crate::judge::rules::draft::{Draft, Scene, moved};
use crate::model::json::Json;

use super::{SERVER_INFO_KEY, info_path, server_info};

/// Drifts of the server info.
pub(super) fn judge(scene: &Scene<'_>, root: &Place<'_>, seen: &[Json]) -> Vec<Draft> {
    let path = info_path(seen);
    let places = [root.child("serverInfo"), root.child("_meta").child(SERVER_INFO_KEY)];
    if let Some(odd) = places.iter().find(|place| !place.is_object() && place.differs()) {
        return vec![Draft::other(odd, "the server info is no object, or was none".to_owned())];
    }
    let names: BTreeSet<&str> = places.iter().flat_map(Place::names).collect();
    let member = |name: &str| root.picked(path.child(name), |value| server_info(value, name));
    let mut out = Vec::new();
    let name = member("name");
    if name.differs() {
        out.push(renamed(&name, &member("title")));
    }
    for entry in names.into_iter().filter(|entry| *entry != "name") {
        let place = member(entry);
        let told_by_name = entry == "title" && name.differs();
        if place.differs() && !told_by_name && !scene.dates.skip_server_info(entry) {
            out.push(one(scene, &place));
        }
    }
    out
}

/// Another name; the title that changed with it is told beside it.
fn renamed(name: &Place<'_>, title: &Place<'_>) -> Draft {
    let draft =
        Draft::plain(name, "mcp.server-name-changed", "the server calls itself by another name".to_owned()).told(name);
    if !title.differs() {
        return draft;
    }
    let draft = draft.claiming(title.path().clone(), title.now());
    moved(title).into_iter().fold(draft, Draft::with)
}

fn one(scene: &Scene<'_>, place: &Place<'_>) -> Draft {
    let fate = common::fate(place);
    match place.name() {
        "version" => version(place),
        "title" => common::short_text(place, "mcp.server-title-changed", format!("the title of the server {fate}")),
        "description" => {
            let message = format!("the description of the server {fate}");
            common::long_text(scene, place, "mcp.server-description-changed", message)
        }
        "icons" => {
            Draft::plain(place, "mcp.server-icons-changed", "the icons of the server differ".to_owned()).told(place)
        }
        "websiteUrl" => website(place),
        other => Draft::other(place, format!("{} of the server info {fate}", shown(other))),
    }
}

fn website(place: &Place<'_>) -> Draft {
    let host = |value: Option<&Json>| Url::parse(value?.as_str()?).ok()?.host_str().map(str::to_owned);
    let case = if host(place.old()) == host(place.now()) { "path" } else { "host" };
    let message = format!("the website of the server {}", common::fate(place));
    Draft::at(place, "mcp.server-website-changed", case, message).told(place)
}

fn version(place: &Place<'_>) -> Draft {
    let parsed = |value: Option<&Json>| value.and_then(Json::as_str).and_then(semantic);
    let older = parsed(place.now()).zip(parsed(place.old())).is_some_and(|(new, old)| new < old);
    let (rule, message) = if older {
        ("mcp.server-version-decreased", "the version of the server went down")
    } else {
        ("mcp.server-version-changed", "the server has another version")
    };
    Draft::plain(place, rule, message.to_owned()).told(place)
}

/// Major, minor, patch of a semantic version; what stands behind them is put aside.
pub(in crate::judge) fn semantic(text: &str) -> Option<(u64, u64, u64)> {
    let core = text.trim().trim_start_matches('v').split(['-', '+']).next()?;
    let mut parts = core.split('.').map(|part| part.parse::<u64>().ok());
    let version = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(version)
}
