//! How driftd knows: which scans, what was read and how, what it was compared with.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::model::alert::{AlertAccepted, AlertAfter, AlertBefore, AlertEvidence, AlertUnseen};
use crate::model::baseline::BaselineFacet;
use crate::model::digest::Digest;
use crate::model::facet::{Face, Facet, FacetName, FacetState, SeenFacet};
use crate::model::incident::IncidentKind;
use crate::model::json::Json;
use crate::model::pointer::Pointer;
use crate::model::text;

use super::units::UnitStory;
use super::{Story, words};

/// What the target was held to: the facets that the incident is about.
pub(super) fn before(story: &Story<'_>) -> AlertBefore {
    let held: Vec<&BaselineFacet> = facets(story).iter().filter_map(|facet| story.memory.baseline.get(facet)).collect();
    let digest = match held.as_slice() {
        [] => None,
        [one] => one.digest,
        several => Some(Digest::of_parts(several.iter().flat_map(|held| {
            [held.facet.to_string(), held.digest.map_or_else(|| "absent".to_owned(), |digest| digest.to_string())]
        }))),
    };
    let newest = held.iter().max_by_key(|held| held.at);
    let accepted = newest.map(|held| AlertAccepted {
        at: held.at,
        by: text::inert(&held.by, 80),
        reason: held.reason.as_deref().map(|reason| text::inert(reason, 300)),
    });
    AlertBefore { digest, accepted }
}

/// What is there now.
pub(super) fn after(story: &Story<'_>) -> AlertAfter {
    AlertAfter { digest: story.snapshot.map(|snapshot| snapshot.digest), version: version_after(story) }
}

/// Facets that this scan did not see; without a scan, those that the last ones did not.
pub(super) fn unseen(story: &Story<'_>) -> Vec<AlertUnseen> {
    let Some(snapshot) = story.snapshot else {
        let unseen = story.memory.facets.iter().filter_map(|(name, memory)| Some((name, memory.unseen_since?)));
        return unseen
            .map(|(name, since)| AlertUnseen {
                facet: name.to_string(),
                reason: format!("since {}", words::minute(since)),
            })
            .collect();
    };
    let states = snapshot.facets.iter().filter_map(|(name, state)| match state {
        FacetState::Unseen { reason } => Some((name, reason.to_string())),
        FacetState::Seen(_) | FacetState::Absent { .. } => None,
    });
    states.map(|(name, reason)| AlertUnseen { facet: name.to_string(), reason: text::inert(&reason, 200) }).collect()
}

/// Scans, protocol and reads.
pub(super) fn evidence(story: &Story<'_>, told: &[UnitStory<'_>]) -> AlertEvidence {
    AlertEvidence {
        seen_at: seen_at(told),
        protocol: protocol(story),
        read: read(story),
        version_before: version_before(story),
    }
}

/// The first sight and the last of what is told.
fn seen_at(told: &[UnitStory<'_>]) -> Vec<Timestamp> {
    let rows = || told.iter().flat_map(UnitStory::rows);
    let ends = [rows().map(|row| row.since).min(), rows().map(|row| row.last_at).max()];
    ends.into_iter().flatten().collect::<BTreeSet<_>>().into_iter().collect()
}

fn protocol(story: &Story<'_>) -> String {
    let held = handshake(story).and_then(|held| held.asked.date.clone()).or_else(|| story.memory.scans.date.clone());
    let now = story.snapshot.and_then(|snapshot| snapshot.mcp.version.clone());
    let shown = |date: String| text::inert(&date, 32);
    match (held.map(shown), now.map(shown)) {
        (Some(before), Some(now)) if before == now => format!("MCP {now} before and after"),
        (Some(before), Some(now)) => format!("MCP {before} -> {now}"),
        (Some(one), None) | (None, Some(one)) => format!("MCP {one}"),
        (None, None) => "MCP".to_owned(),
    }
}

/// What was read and how, a line for each facet the incident is about, one for the others.
fn read(story: &Story<'_>) -> Vec<String> {
    let Some(snapshot) = story.snapshot.filter(|_| story.incident.kind == IncidentKind::Drift) else {
        return Vec::new();
    };
    let about = facets(story);
    let mut lines: Vec<String> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for (name, state) in &snapshot.facets {
        let word = words::facet(*name);
        match state {
            FacetState::Seen(seen) if about.contains(name) => {
                lines.push(format!("{word}: {}", how(story, *name, seen)))
            }
            FacetState::Seen(_) => others.push(word),
            FacetState::Absent { .. } if about.contains(name) => {
                lines.push(format!("{word}: the server says it has none"))
            }
            FacetState::Absent { .. } | FacetState::Unseen { .. } => {}
        }
    }
    if !others.is_empty() {
        lines.push(format!("{}: whole", others.join(", ")));
    }
    lines.push(
        "Asked as a client that declares no capabilities; one that does may see more. No tool was called".to_owned(),
    );
    lines
}

/// `the whole list, twice, 11 -> 13`
fn how(story: &Story<'_>, name: FacetName, seen: &SeenFacet) -> String {
    if name.facet.list().is_none() {
        return "the whole answer".to_owned();
    }
    let twice = match (name.facet == Facet::McpTools, seen.stability.fresh) {
        (true, true) => ", twice, over two connections",
        (true, false) => ", twice",
        (false, _) => "",
    };
    let now = seen.views.iter().map(items).max().unwrap_or(0);
    let held = story.memory.baseline.get(&name).map(|held| held.values.iter().map(items).max().unwrap_or(0));
    let count = held.map_or_else(|| now.to_string(), |before| format!("{before} -> {now}"));
    let differs = [
        (seen.stability.order_differs, "order"),
        (seen.stability.set_differs, "items"),
        (seen.stability.value_differs, "values"),
    ];
    let differs: Vec<String> =
        differs.iter().filter(|(differs, _)| *differs).map(|(_, word)| (*word).to_owned()).collect();
    let differs =
        if differs.is_empty() { String::new() } else { format!("; the reads differ in {}", words::list(&differs)) };
    format!("the whole list{twice}, {count}{differs}")
}

fn items(value: &Json) -> usize {
    value.member("items").and_then(Json::as_object).map_or(0, std::collections::BTreeMap::len)
}

/// How many items the baseline's list has, of the face that the incident is about.
pub(super) fn baseline_items(story: &Story<'_>, told: &[UnitStory<'_>], facet: Facet) -> Option<usize> {
    held(story, told, facet)?.values.iter().map(items).max()
}

/// The keys of those items.
pub(super) fn baseline_keys<'a>(story: &Story<'a>, told: &[UnitStory<'_>], facet: Facet) -> BTreeSet<&'a str> {
    let values = held(story, told, facet).into_iter().flat_map(|held| &held.values);
    let lists = values.filter_map(|value| value.member("items").and_then(Json::as_object));
    lists.flat_map(|items| items.keys().map(String::as_str)).collect()
}

fn held<'a>(story: &Story<'a>, told: &[UnitStory<'_>], facet: Facet) -> Option<&'a BaselineFacet> {
    let faces = told.iter().flat_map(|told| &told.unit.members).map(|member| member.facet);
    story.memory.baseline.get(&faces.filter(|name| name.facet == facet).min()?)
}

/// The version the server claimed at the baseline.
pub(super) fn version_before(story: &Story<'_>) -> Option<String> {
    handshake(story).and_then(|held| held.values.first()).and_then(version)
}

/// The version it claims now.
pub(super) fn version_after(story: &Story<'_>) -> Option<String> {
    let facets = &story.snapshot?.facets;
    let states = faces().into_iter().filter_map(|name| facets.get(&name));
    states
        .filter_map(|state| match state {
            FacetState::Seen(seen) => seen.views.first().and_then(version),
            FacetState::Absent { .. } | FacetState::Unseen { .. } => None,
        })
        .next()
}

fn handshake<'a>(story: &Story<'a>) -> Option<&'a BaselineFacet> {
    faces().into_iter().find_map(|name| story.memory.baseline.get(&name))
}

/// Our credential's view of the handshake is the fuller one; the stranger's may be all there is.
const fn faces() -> [FacetName; 2] {
    [FacetName::of(Facet::McpHandshake, Face::Stranger), FacetName::of(Facet::McpHandshake, Face::Auth)]
}

/// The server info's version, where either era puts it; a short plain word or in quotes.
fn version(handshake: &Json) -> Option<String> {
    let places = [
        Pointer::of(["serverInfo", "version"]),
        Pointer::of(["_meta", "io.modelcontextprotocol/serverInfo", "version"]),
    ];
    let said = places.iter().find_map(|place| handshake.pointer(place)).and_then(Json::as_str)?;
    let shown = text::name(said);
    Some(if shown.chars().count() <= 40 { shown } else { text::quoted(said, 24) })
}

/// The facets that the incident is about.
fn facets(story: &Story<'_>) -> BTreeSet<FacetName> {
    story.incident.units.iter().flat_map(|unit| &unit.members).map(|member| member.facet).collect()
}
