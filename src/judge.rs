//! The pure core: canonicalize, check, diff, classify, fold, life, notices. No clock, randomness or I/O.

mod afresh;
pub mod alert;
pub mod canon;
pub mod carry;
pub mod consumers;
pub mod decide;
mod diff;
pub mod document;
pub mod effective;
pub mod fleet;
pub mod fold;
mod hidden;
pub mod host;
pub mod incident;
pub mod join;
pub mod life;
pub mod notices;
pub mod own;
pub mod policy;
pub mod posture;
mod recompute;
mod rename;
pub mod report;
pub mod rules;
pub mod settle;
pub mod snapshot;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use url::Url;

use crate::model::baseline::Effective;
use crate::model::drift::{Drift, DriftRow};
use crate::model::facet::{Face, Facet, FacetName, FacetState, SeenFacet, UnseenKind};
use crate::model::json::Json;
use crate::model::judgment::Judgment;
use crate::model::memory::Memory;
use crate::model::observation::{DetectionState, SightFact};
use crate::model::pointer::Pointer;
use crate::model::policy::Policy;
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetId;

pub use afresh::afresh;
pub use recompute::recompute;

use rules::draft::{Draft, Scene};
use rules::notes::{self, Versions};

/// Says what the rules make of `snapshot` against the effective baseline.
///
/// A facet without an entry in `effective` makes no drift; an unseen one neither (law 1). `sights` are what kept the
/// scan from seeing; they come back in the shape of drifts. Every severity is what `policy` makes of it.
pub fn judge(
    target: &TargetId,
    policy: &Policy,
    effective: &BTreeMap<FacetName, Effective>,
    memory: &Memory,
    snapshot: &Snapshot,
    sights: &[SightFact],
) -> Judgment {
    let fell = has_fallen(effective, snapshot);
    let mut judgment = Judgment { sights: rules::scan::judge(target, sights, fell), ..Judgment::default() };
    for (name, state) in &snapshot.facets {
        match state {
            FacetState::Seen(_) | FacetState::Absent { .. } => {
                judgment.seen.insert(*name);
            }
            FacetState::Unseen { reason } => {
                // What is not watched (a list behind a door we have no key for) is not unseen.
                if snapshot.coverage.get(name).is_none_or(|coverage| coverage.watched) {
                    judgment.unseen.push((*name, reason.clone()));
                }
            }
        }
    }
    let host = Url::parse(&snapshot.target.url).ok().and_then(|url| url.host_str().map(str::to_ascii_lowercase));
    let host = host.unwrap_or_default();
    let budget = words::Budget::default();
    for face in [Face::Stranger, Face::Auth] {
        let compared = Compared { target, policy, effective, memory, snapshot, host: &host, budget: &budget, face };
        judgment.drifts.extend(compared.drifts());
    }
    posture::judge(target, memory, snapshot, &mut judgment);
    policy::apply(policy, &mut judgment);
    judgment
}

/// Whether MCP was spoken at the baseline, and what answers now speaks something else: no JSON-RPC, and no challenge.
fn has_fallen(effective: &BTreeMap<FacetName, Effective>, snapshot: &Snapshot) -> bool {
    let spoken = |value: &Json| rules::is_stateless(value) || rules::date_of(value).is_some();
    let held = effective.iter().filter(|(name, _)| name.facet == Facet::McpHandshake);
    let was_confirmed = held.flat_map(|(_, held)| &held.values).any(spoken);
    let answers = matches!(snapshot.mcp.state, DetectionState::NotDetected | DetectionState::Indicated);
    let speaks_otherwise = |state: &FacetState| match state {
        FacetState::Unseen { reason } => {
            matches!(reason.kind, UnseenKind::HttpStatus | UnseenKind::InvalidJson | UnseenKind::InvalidJsonrpc)
        }
        FacetState::Seen(_) | FacetState::Absent { .. } => false,
    };
    let mut handshakes = snapshot.facets.iter().filter(|(name, _)| name.facet == Facet::McpHandshake);
    was_confirmed && answers && snapshot.mcp.era.is_none() && handshakes.any(|(_, state)| speaks_otherwise(state))
}

/// One face of a target, against what it is held to.
struct Compared<'a> {
    target: &'a TargetId,
    policy: &'a Policy,
    effective: &'a BTreeMap<FacetName, Effective>,
    memory: &'a Memory,
    snapshot: &'a Snapshot,
    host: &'a str,
    budget: &'a words::Budget,
    face: Face,
}

/// A facet that can be compared: accepted values and views, empty for absent.
struct Sides<'a> {
    accepted: &'a [Json],
    seen: &'a [Json],
    asked: &'a Effective,
    facet: Option<&'a SeenFacet>,
}

impl<'a> Compared<'a> {
    fn sides(&self, facet: Facet) -> Option<Sides<'a>> {
        let name = FacetName::of(facet, self.face);
        let asked = self.effective.get(&name)?;
        let (seen, facet) = match self.snapshot.facets.get(&name)? {
            FacetState::Seen(facet) => (facet.views.as_slice(), Some(facet)),
            FacetState::Absent { .. } => (&[][..], None),
            FacetState::Unseen { .. } => return None,
        };
        Some(Sides { accepted: &asked.values, seen, asked, facet })
    }

    fn drifts(&self) -> Vec<Drift> {
        let mut drifts: Vec<Drift> = Vec::new();
        for facet in Facet::ALL {
            let name = FacetName::of(facet, self.face);
            if let Some(sides) = self.sides(facet) {
                let scene = self.scene(name, &sides);
                drifts.extend(one_each(self.drafts(&scene, &sides)).map(|draft| draft.finish(self.target, name)));
            }
        }
        let handshake = self.sides(Facet::McpHandshake);
        let mut versions = handshake.map(|sides| Versions::of(sides.accepted, sides.seen)).unwrap_or_default();
        versions.tools = self.sides(Facet::McpTools).map_or(0, |sides| tool_names(sides.accepted).count());
        notes::attach(&mut drifts.iter_mut().collect::<Vec<_>>(), &versions);
        drifts
    }

    fn scene(&self, name: FacetName, sides: &Sides<'a>) -> Scene<'a> {
        let date = |date: &Option<String>| date.clone();
        let now = date(&self.snapshot.asked.date).or_else(|| date(&self.snapshot.mcp.version));
        let differed = sides.facet.is_some_and(|facet| facet.stability.order_differs);
        let tools = if name.facet == Facet::McpTools {
            tool_names(sides.accepted).chain(tool_names(sides.seen)).filter(|name| rules::stands_out(name)).collect()
        } else {
            BTreeSet::new()
        };
        Scene {
            facet: name,
            dates: rules::Dates::new(date(&sides.asked.asked.date), now),
            order_ignored: differed || snapshot::order_ignored(self.memory, name),
            host: self.host,
            trusts_hints: self.policy.trust_hints,
            tools,
            budget: self.budget,
        }
    }

    fn drafts(&self, scene: &Scene<'_>, sides: &Sides<'_>) -> Vec<Draft> {
        match scene.facet.facet {
            Facet::McpHandshake => rules::judge_handshake(scene, sides.accepted, sides.seen, self.era_changed()),
            Facet::McpTransport => rules::judge_transport(sides.accepted, sides.seen, self.handshake_tells_date()),
            Facet::AuthChallenge => rules::judge_challenge(sides.accepted, sides.seen),
            Facet::McpTools | Facet::McpPrompts | Facet::McpResources | Facet::McpResourceTemplates => {
                rules::lists::judge(scene, sides.accepted, sides.seen)
            }
            Facet::McpCard => rules::judge_card(scene, sides.accepted, sides.seen),
            Facet::McpCatalog => rules::judge_catalog(scene, sides.accepted, sides.seen),
            Facet::Tls => rules::tls::judge(sides.accepted, sides.seen, self.beside_tls(sides)),
            Facet::Checks | Facet::Scan => Vec::new(),
        }
    }

    /// Whether the transport, which tells a change of era, is compared and shows one.
    fn era_changed(&self) -> bool {
        self.sides(Facet::McpTransport).is_some_and(|sides| {
            let eras = |values: &[Json]| {
                values.iter().filter_map(|value| value.member("era").cloned()).collect::<BTreeSet<_>>()
            };
            let (accepted, seen) = (eras(sides.accepted), eras(sides.seen));
            !accepted.is_empty() && !seen.is_subset(&accepted)
        })
    }

    /// What the rules of TLS need besides its values.
    fn beside_tls<'s>(&self, sides: &'s Sides<'_>) -> rules::tls::Beside<'s> {
        let http = |values: &[Json]| values.first().and_then(|value| value.member("http_version").cloned());
        let tells_http = |sides: Sides<'_>| http(sides.accepted) != http(sides.seen);
        let end = Pointer::of(["ending"]);
        let is_end = |row: &DriftRow| row.drift.facet.facet == Facet::Tls && row.drift.path == end;
        rules::tls::Beside {
            tells_http: self.sides(Facet::McpTransport).is_some_and(tells_http),
            tells_end: self.memory.drifts.iter().any(|row| is_end(row) && !row.state.is_ended()),
            ends: sides.facet.and_then(|facet| snapshot::tls::leaf_ends(&facet.volatile)),
        }
    }

    /// Whether both handshakes name their date themselves.
    fn handshake_tells_date(&self) -> bool {
        self.sides(Facet::McpHandshake).is_some_and(|sides| {
            let dated =
                |values: &[Json]| !values.is_empty() && values.iter().all(|value| rules::date_of(value).is_some());
            dated(sides.accepted) && dated(sides.seen)
        })
    }
}

/// One drift for each path: the first stands.
fn one_each(drafts: Vec<Draft>) -> impl Iterator<Item = Draft> {
    let mut paths = BTreeSet::new();
    drafts.into_iter().filter(move |draft| paths.insert(draft.path.clone()))
}

fn tool_names(values: &[Json]) -> impl Iterator<Item = &str> {
    let items = values.iter().filter_map(|value| value.member("items")?.as_object());
    items.flatten().map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
