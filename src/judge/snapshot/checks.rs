//! Conformance questions that one scan decides.
//!
//! Each question has an answer in every snapshot. What a facet that was not seen would have to answer, what another
//! protocol date asks and what was not asked for is skipped with the reason, never passed (law 1).

use crate::judge::rules::is_stateless;
use crate::model::facet::{Face, Facet, FacetName, FacetState, SeenFacet};
use crate::model::json::Json;
use crate::model::observation::{Observation, Remark};
use crate::model::snapshot::{Check, CheckVerdict, Snapshot};

use super::finding::{check, skipped};
use super::{cards, items, tls};

mod conversation;
mod handshake;
mod lists;

/// Parts of an endpoint's answer that a list of theirs would be read from.
const LISTS: [(Facet, &str); 4] = [
    (Facet::McpTools, "tools"),
    (Facet::McpPrompts, "prompts"),
    (Facet::McpResources, "resources"),
    (Facet::McpResourceTemplates, ""),
];

/// All checks of a snapshot; what the conversation itself decided comes first.
pub(super) fn all(snapshot: &Snapshot, observation: &Observation) -> Vec<Check> {
    let mut out: Vec<Check> = observation.remarks.iter().map(remark).collect();
    out.extend(conversation::door(snapshot, observation));
    out.push(unpinned(snapshot));
    out.push(ambiguous(snapshot));
    out.extend(items::hidden(snapshot));
    out.extend(cards::checks(snapshot));
    out.extend(tls::expiring(snapshot));
    let varies =
        |remark: &Remark| remark.rule == "mcp.list-varies-by-connection" && remark.verdict == CheckVerdict::Finding;
    let by_connection = observation.remarks.iter().any(varies);
    for face in faces(snapshot) {
        out.extend(handshake::all(snapshot, face));
        out.extend(lists::all(snapshot, face));
        out.extend(items::tools(snapshot, face, by_connection));
        out.extend(items::others(snapshot, face));
    }
    let mut out = worst_of_each(out);
    let rest = handshake::unanswered(snapshot).chain(lists::unanswered(snapshot)).chain(conversation::rest(snapshot));
    for check in rest {
        if !out.iter().any(|known| known.rule == check.rule && known.case == check.case) {
            out.push(check);
        }
    }
    out
}

/// Passed where a program is started and nothing was remarked of its command.
fn unpinned(snapshot: &Snapshot) -> Check {
    let rule = "scan.command-unpinned";
    let is_program = snapshot.target.url.starts_with("stdio: ");
    if is_program { check(rule, "-", &[]) } else { skipped(rule, "-", "asked of programs") }
}

fn remark(remark: &Remark) -> Check {
    let Remark { rule, case, verdict, evidence } = remark;
    match verdict {
        CheckVerdict::Finding => check(rule, case, std::slice::from_ref(evidence)),
        CheckVerdict::Passed => check(rule, case, &[]),
        CheckVerdict::Skipped => skipped(rule, case, evidence),
    }
}

/// Faces with a facet in the snapshot.
fn faces(snapshot: &Snapshot) -> impl Iterator<Item = Face> {
    [Face::Stranger, Face::Auth].into_iter().filter(|face| snapshot.facets.keys().any(|name| name.face == *face))
}

/// One answer for each (rule, case): a finding stands over a skipped one, that over a passed one.
fn worst_of_each(checks: Vec<Check>) -> Vec<Check> {
    use CheckVerdict::{Finding, Passed, Skipped};
    let rank = |check: &Check| match check.verdict {
        Passed => 0,
        Skipped => 1,
        Finding => 2,
    };
    checks.into_iter().fold(Vec::new(), |mut all: Vec<Check>, next| {
        match all.iter_mut().find(|known| known.rule == next.rule && known.case == next.case) {
            Some(known) if rank(&next) > rank(known) => *known = next,
            Some(_) => {}
            None => all.push(next),
        }
        all
    })
}

fn ambiguous(snapshot: &Snapshot) -> Check {
    let seen: Vec<(&FacetName, &SeenFacet)> = snapshot
        .facets
        .iter()
        .filter_map(|(name, state)| match state {
            FacetState::Seen(seen) => Some((name, seen)),
            FacetState::Absent { .. } | FacetState::Unseen { .. } => None,
        })
        .collect();
    if seen.is_empty() {
        return skipped("scan.json-ambiguous", "-", "no document was read");
    }
    let told = seen.iter().flat_map(|(name, seen)| seen.ambiguities.iter().map(move |text| format!("{name}: {text}")));
    check("scan.json-ambiguous", "-", &told.collect::<Vec<_>>())
}

fn evidence(found: bool, text: &str) -> Vec<String> {
    if found { vec![text.to_owned()] } else { Vec::new() }
}

/// The value of a facet of `face`, when it was seen.
fn seen(snapshot: &Snapshot, facet: Facet, face: Face) -> Option<(&Json, &SeenFacet)> {
    match snapshot.facets.get(&FacetName::of(facet, face))? {
        FacetState::Seen(seen) => seen.views.first().map(|value| (value, seen)),
        FacetState::Absent { .. } | FacetState::Unseen { .. } => None,
    }
}

/// The same of whichever face shows it.
fn seen_of_any(snapshot: &Snapshot, facet: Facet) -> Option<&Json> {
    [Face::Stranger, Face::Auth].into_iter().find_map(|face| seen(snapshot, facet, face)).map(|(value, _)| value)
}

/// Why `facet` was seen of no face.
fn why_unseen(snapshot: &Snapshot, facet: Facet) -> String {
    let faces = || [Face::Auth, Face::Stranger].map(|face| FacetName::of(facet, face)).into_iter();
    let unseen = faces().find_map(|name| match snapshot.facets.get(&name)? {
        FacetState::Unseen { reason } => Some(reason.to_string()),
        FacetState::Absent { note } => Some(note.clone().unwrap_or_else(|| "there is none".to_owned())),
        FacetState::Seen(_) => None,
    });
    let uncovered = || faces().find_map(|name| snapshot.coverage.get(&name)?.reason.clone());
    unseen.or_else(uncovered).unwrap_or_else(|| format!("{facet} was not asked for"))
}
