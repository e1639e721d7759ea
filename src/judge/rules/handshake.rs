//! The handshake: identity, instructions, capabilities, dates.
//!
//! The results of `server/discover` and `initialize` are compared by what they say, not by where it stands: when the
//! era changes, the shape is claimed by `mcp.era-changed` (design, section 4).

use std::collections::BTreeSet;

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::model::json::Json;
use crate::model::pointer::Pointer;

use super::common;
use super::draft::{Draft, Scene};
use super::transport;

pub(in crate::judge) use identity::semantic;

mod capabilities;
mod identity;

/// Where 2026-07-28 keeps the server info.
pub(in crate::judge) const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// Whether the result is that of `server/discover`.
pub(in crate::judge) fn is_stateless(handshake: &Json) -> bool {
    handshake.member("supportedVersions").is_some()
}

/// The date that the result names.
pub(in crate::judge) fn date_of(handshake: &Json) -> Option<&str> {
    handshake.member("protocolVersion")?.as_str()
}

/// The member `name` of the server info, wherever it stands.
pub(in crate::judge) fn server_info<'j>(handshake: &'j Json, name: &str) -> Option<&'j Json> {
    let under_meta = handshake.member("_meta").and_then(|meta| meta.member(SERVER_INFO_KEY)?.member(name));
    under_meta.or_else(|| handshake.member("serverInfo")?.member(name))
}

/// Drifts of `mcp.handshake`. With `era_told`, the transport is compared too and tells a change of era.
pub(in crate::judge) fn judge(scene: &Scene<'_>, accepted: &[Json], seen: &[Json], era_told: bool) -> Vec<Draft> {
    let root = Place::root(accepted, seen);
    if !root.is_object() || root.old().is_none() || seen.is_empty() {
        return if root.differs() { vec![Draft::other(&root, "the handshake differs".to_owned())] } else { Vec::new() };
    }
    if !root.differs() {
        return Vec::new();
    }
    let eras: BTreeSet<bool> = accepted.iter().chain(seen).map(is_stateless).collect();
    let shape = if eras.len() > 1 { Shape::Other { told: era_told } } else { Shape::Same };
    let mut out = Vec::new();
    for member in root.changed() {
        out.extend(one(scene, &member, shape));
    }
    out.extend(identity::judge(scene, &root, seen));
    out.into_iter().map(|draft| draft.checked_for_hidden(None)).collect()
}

/// Whether both results are of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Both of `initialize`, or both of `server/discover`.
    Same,
    /// One of each.
    Other {
        /// `mcp.era-changed` says so.
        told: bool,
    },
}

fn one(scene: &Scene<'_>, member: &Place<'_>, shape: Shape) -> Vec<Draft> {
    match (member.name(), shape) {
        ("serverInfo", _) => Vec::new(),
        ("capabilities", _) => capabilities::judge(scene, member),
        ("instructions", _) => vec![instructions(scene, member)],
        ("protocolVersion" | "supportedVersions" | "resultType" | "cacheScope", Shape::Other { told: true }) => {
            Vec::new()
        }
        ("protocolVersion", Shape::Other { told: false }) => vec![transport::date(member)],
        ("supportedVersions" | "resultType" | "cacheScope", Shape::Other { told: false }) => Vec::new(),
        ("protocolVersion", Shape::Same) => vec![transport::date(member)],
        ("supportedVersions", Shape::Same) => versions(member).into_iter().collect(),
        ("cacheScope", Shape::Same) => vec![common::cache_scope(member)],
        ("_meta", _) if member.is_object() => meta(member),
        (name, _) => vec![Draft::other(member, format!("{} of the handshake {}", shown(name), common::fate(member)))],
    }
}

fn meta(member: &Place<'_>) -> Vec<Draft> {
    let others = member.changed().into_iter().filter(|entry| entry.name() != SERVER_INFO_KEY);
    let draft = |entry: Place<'_>| {
        Draft::other(&entry, format!("_meta {} of the handshake {}", shown(entry.name()), common::fate(&entry)))
    };
    others.map(draft).collect()
}

fn instructions(scene: &Scene<'_>, place: &Place<'_>) -> Draft {
    let blank =
        |value: Option<&Json>| value.is_none_or(|value| value.as_str().is_some_and(|text| text.trim().is_empty()));
    let (rule, message) = match (blank(place.old()), blank(place.now())) {
        (true, false) => ("mcp.instructions-added", "the server gives instructions to the model now"),
        (false, true) => ("mcp.instructions-removed", "the server gives no instructions any more"),
        (true, true) | (false, false) => ("mcp.instructions-changed", "the instructions to the model differ"),
    };
    common::long_text(scene, place, rule, message.to_owned())
}

/// The dates on offer: a set.
fn versions(place: &Place<'_>) -> Option<Draft> {
    let dates = |value: Option<&Json>| -> BTreeSet<String> {
        let all = value.and_then(Json::as_array).into_iter().flatten();
        all.map(|date| date.as_str().map_or_else(|| date.canonical(), str::to_owned)).collect()
    };
    let (old, new) = (dates(place.old()), dates(place.now()));
    let list = |dates: Vec<&String>| dates.into_iter().map(|date| shown(date)).collect::<Vec<_>>();
    let gone = list(old.difference(&new).collect());
    let came = list(new.difference(&old).collect());
    let draft = match (gone.is_empty(), came.is_empty()) {
        (true, true) => return None,
        (false, _) => {
            let message = format!("the server no longer offers {}", common::listed(&gone, 10));
            Draft::plain(place, "mcp.supported-version-removed", message)
        }
        (true, false) => {
            let message = format!("the server offers {} too", common::listed(&came, 10));
            Draft::plain(place, "mcp.supported-version-added", message)
        }
    };
    let lines = [("gone", &gone), ("new", &came)].into_iter().filter(|(_, list)| !list.is_empty());
    Some(lines.fold(draft, |draft, (word, list)| draft.line(format!("{word}: {}", common::listed(list, 10)))))
}

/// The path of the server info in what was seen.
fn info_path(seen: &[Json]) -> Pointer {
    let under_meta =
        seen.iter().any(|value| value.member("_meta").is_some_and(|meta| meta.member(SERVER_INFO_KEY).is_some()));
    if under_meta { Pointer::of(["_meta", SERVER_INFO_KEY]) } else { Pointer::of(["serverInfo"]) }
}
