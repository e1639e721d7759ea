//! What a person's decision changes (design, section 5: an incident, ledger).
//!
//! Whether it is refused is `decide`'s. A decision over several paths is several entries of the ledger that share its
//! id; accepting sends nothing but what it resolves.

use std::collections::{BTreeMap, BTreeSet};

use super::assemble::{blank, conclude};
use super::chain::{Chain, Draft};
use super::{Scene, recheck, said};
use crate::judge::alert::DecisionWords;
use crate::judge::decide::{self, Author, Chosen, Decision, Refusal};
use crate::judge::posture::{self, CHECKS};
use crate::judge::{join, life};
use crate::model::baseline::{Approval, BaselineFacet};
use crate::model::digest::Digest;
use crate::model::drift::{Claim, DriftRow, DriftState};
use crate::model::facet::{Facet, FacetName, FacetState};
use crate::model::incident::{Ack, Incident};
use crate::model::json::Json;
use crate::model::ledger::Action;
use crate::model::memory::Memory;
use crate::model::notice::Body;
use crate::model::observation::Asked;
use crate::model::pointer::Pointer;
use crate::model::settlement::{HistoryLine, Settlement};

/// Settles `drift accept`: approvals at the drifts' paths and at what they claim.
///
/// `shown` are the target's facets as last seen, and `asked` how: the values of claimed places are taken from them (a
/// place whose value is another by now is left out, and told by the next scan). A facet that has no baseline yet is
/// accepted whole. `older` is what the revision named showed, when it is not the newest.
///
/// # Errors
/// When the decision is refused.
pub fn settle_accept_incident(
    scene: &Scene<'_>,
    shown: &BTreeMap<FacetName, FacetState>,
    asked: &Asked,
    decision: &Decision,
    older: Option<&Body>,
) -> Result<Settlement, Refusal> {
    let chosen = decidable(scene.memory, decision, older)?;
    let mut settlement = blank(scene);
    let mut chain = Chain::by(scene, &decision.author);
    let (held, whole): (Vec<&DriftRow>, Vec<&DriftRow>) = chosen
        .rows
        .iter()
        .partition(|row| row.drift.facet == CHECKS || scene.memory.baseline.contains_key(&row.drift.facet));
    for ((facet, path), accepted) in places(scene.memory, &held, shown)? {
        let after = accepted.value.as_ref().map(Digest::of);
        let draft = Draft { before: accepted.before, after, rule: accepted.rule, ..Draft::accept(facet, path.clone()) };
        let entry = chain.push(draft);
        settlement.history.push(line(scene, "base.approved", (facet, &path), &decision.author));
        if facet == CHECKS {
            continue;
        }
        settlement.approvals.push(Approval {
            facet,
            path,
            value: accepted.value,
            at: scene.now,
            by: decision.author.who.clone(),
            until: decision.author.until,
            entry,
        });
    }
    let whole: BTreeSet<FacetName> = whole.iter().map(|row| row.drift.facet).collect();
    for name in &whole {
        let entry = shown.get(name).and_then(|state| join::entry(*name, state, &decision.author.who, asked, scene.now));
        accept_facet(&mut settlement, scene, &mut chain, entry.ok_or(Refusal::NotSeen(*name))?, &decision.author);
    }
    posture::accept(&mut settlement.scans, &chosen.rows, decision.author.until);
    ask_with(&mut settlement, &chosen.rows, asked);
    settlement.ledger.extend(chain.into_entries());
    let ids: BTreeSet<Digest> = chosen.rows.iter().map(|row| row.id).collect();
    let to =
        |row: &DriftRow| (ids.contains(&row.id) || whole.contains(&row.drift.facet)).then_some(DriftState::Accepted);
    let step = life::decided(&scene.memory.drifts, &to, &scene.moment(scene.memory.scans.seq));
    Ok(conclude(scene, settlement, step, None, Some(&words(&decision.author))))
}

/// Settles `drift reject`: it stands and is not trusted.
///
/// # Errors
/// When the decision is refused.
pub fn settle_reject(scene: &Scene<'_>, decision: &Decision, older: Option<&Body>) -> Result<Settlement, Refusal> {
    let chosen = decidable(scene.memory, decision, older)?;
    let mut settlement = blank(scene);
    let mut chain = Chain::by(scene, &decision.author);
    for row in &chosen.rows {
        chain.push(draft(row, Action::Reject));
        settlement.history.push(line(scene, "base.rejected", (row.drift.facet, &row.drift.path), &decision.author));
    }
    settlement.ledger.extend(chain.into_entries());
    let ids: BTreeSet<Digest> = chosen.rows.iter().map(|row| row.id).collect();
    let to = |row: &DriftRow| ids.contains(&row.id).then_some(DriftState::Rejected);
    let step = life::decided(&scene.memory.drifts, &to, &scene.moment(scene.memory.scans.seq));
    Ok(conclude(scene, settlement, step, None, Some(&words(&decision.author))))
}

/// Settles `drift ack`: somebody is on it. The whole incident is, whatever units are left out.
///
/// # Errors
/// When the decision is refused.
pub fn settle_ack(scene: &Scene<'_>, decision: &Decision, older: Option<&Body>) -> Result<Settlement, Refusal> {
    let chosen = decide::choose(scene.memory, decision, older)?;
    let incident = chosen.incident.ok_or(Refusal::NoIncident)?;
    let author = &decision.author;
    let mut settlement = blank(scene);
    let mut chain = Chain::by(scene, author);
    for row in &chosen.rows {
        chain.push(draft(row, Action::Ack));
    }
    if chosen.rows.is_empty() {
        // Of what a host's targets share, this one is back; the entry says what stands of the others.
        let stands = incident.units.iter().find(|unit| unit.mark.stands());
        let place = Draft::accept(FacetName::stranger(Facet::Scan), Pointer::of(["endpoint"]));
        chain.push(Draft { rule: stands.map(|unit| unit.rule.rule.clone()), action: Action::Ack, ..place });
    }
    settlement.ledger.extend(chain.into_entries());
    settlement.history.push(HistoryLine {
        incident: Some(incident.id),
        ..said(scene, "incident.acked", format!("by {}", author.who))
    });
    let ack = Ack { by: author.who.clone(), at: scene.now, until: author.until };
    settlement.incidents.push(Incident { acked: Some(ack), ..incident.clone() });
    settlement.recheck = recheck(scene, &scene.memory.drifts, &settlement);
    Ok(settlement)
}

/// A snapshot to accept whole.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// Its digest.
    pub digest: Digest,
    /// Its facets.
    pub facets: &'a BTreeMap<FacetName, FacetState>,
    /// How it was asked.
    pub asked: &'a Asked,
    /// Beside what is held already, not instead of it.
    pub beside: bool,
}

/// Settles `baseline accept`: each facet that the named snapshot has seen or absent; others keep their entries.
///
/// # Errors
/// When the decision is refused.
pub fn settle_baseline_accept(scene: &Scene<'_>, named: &Named<'_>, author: &Author) -> Result<Settlement, Refusal> {
    author.required_reason()?;
    let mut settlement = blank(scene);
    let mut chain = Chain::by(scene, author);
    let facets = named.facets.iter().filter(|(name, _)| name.facet != Facet::Scan);
    let entries = facets.filter_map(|(name, state)| join::entry(*name, state, &author.who, named.asked, scene.now));
    let mut accepted = BTreeSet::new();
    for entry in entries {
        let name = entry.facet;
        let held = scene.memory.baseline.get(&name).filter(|_| named.beside);
        let entry = held.map_or_else(|| entry.clone(), |held| beside(entry.clone(), held));
        accept_facet(&mut settlement, scene, &mut chain, entry, author);
        accepted.insert(name);
    }
    if accepted.is_empty() {
        return Err(Refusal::NothingLeft);
    }
    if accepted.iter().any(|name| name.facet == Facet::McpHandshake) && named.asked.date.is_some() {
        settlement.scans.date.clone_from(&named.asked.date);
    }
    let stands =
        |row: &&DriftRow| !row.state.is_ended() && (row.drift.facet == CHECKS || accepted.contains(&row.drift.facet));
    let stands: Vec<&DriftRow> = scene.memory.drifts.iter().filter(stands).collect();
    for row in stands.iter().filter(|row| row.drift.facet == CHECKS) {
        chain.push(draft(row, Action::Accept));
    }
    posture::accept(&mut settlement.scans, &stands, None);
    settlement.ledger.extend(chain.into_entries());
    let text = format!("snapshot {} by {}", named.digest.short(), author.who);
    settlement.history.push(said(scene, "base.approved", text));
    let ids: BTreeSet<Digest> = stands.iter().map(|row| row.id).collect();
    let to = |row: &DriftRow| ids.contains(&row.id).then_some(DriftState::Accepted);
    let step = life::decided(&scene.memory.drifts, &to, &scene.moment(scene.memory.scans.seq));
    Ok(conclude(scene, settlement, step, None, Some(&words(author))))
}

fn decidable<'a>(memory: &'a Memory, decision: &Decision, older: Option<&Body>) -> Result<Chosen<'a>, Refusal> {
    decision.author.required_reason()?;
    let chosen = decide::choose(memory, decision, older)?;
    chosen.decidable()?;
    Ok(chosen)
}

fn words(author: &Author) -> DecisionWords {
    DecisionWords { by: author.who.clone(), reason: author.reason.clone() }
}

fn line(scene: &Scene<'_>, event: &str, place: (FacetName, &Pointer), author: &Author) -> HistoryLine {
    HistoryLine { place: Some((place.0, place.1.clone())), ..said(scene, event, format!("by {}", author.who)) }
}

fn draft(row: &DriftRow, action: Action) -> Draft {
    Draft {
        before: set_digest(&row.drift.before),
        after: set_digest(&row.drift.after),
        rule: Some(row.drift.rule.rule.clone()),
        action,
        ..Draft::accept(row.drift.facet, row.drift.path.clone())
    }
}

/// The digest of a value, or of several; `None` for none.
fn set_digest(values: &[Json]) -> Option<Digest> {
    match values {
        [] => None,
        [value] => Some(Digest::of(value)),
        several => Some(Digest::of_parts(several.iter().map(|value| *Digest::of(value).bytes()))),
    }
}

/// Whoever accepts something of the handshake has it asked for with the date of the conversation that showed it.
pub(super) fn ask_with(settlement: &mut Settlement, rows: &[&DriftRow], asked: &Asked) {
    if rows.iter().any(|row| row.drift.facet.facet == Facet::McpHandshake) && asked.date.is_some() {
        settlement.scans.date.clone_from(&asked.date);
    }
}

/// What is accepted at one place.
pub(super) struct Accepted {
    pub(super) value: Option<Json>,
    pub(super) before: Option<Digest>,
    pub(super) rule: Option<String>,
}

/// Every place that accepting `rows` approves: their own, and what they claim elsewhere. Places above come before
/// those below, since an approval supersedes what lies below it.
pub(super) fn places(
    memory: &Memory,
    rows: &[&DriftRow],
    shown: &BTreeMap<FacetName, FacetState>,
) -> Result<BTreeMap<(FacetName, Pointer), Accepted>, Refusal> {
    let mut places = BTreeMap::new();
    for row in rows {
        for claim in row.drift.claims.iter().filter(|claim| is_elsewhere(claim, &row.drift.path)) {
            let Some(value) = claimed(claim, shown.get(&row.drift.facet)) else { continue };
            let before =
                memory.baseline.get(&row.drift.facet).and_then(|held| held.values.first()?.pointer(&claim.path));
            let (before, rule) = (before.map(Digest::of), Some(row.drift.rule.rule.clone()));
            places.insert((row.drift.facet, claim.path.clone()), Accepted { value, before, rule });
        }
    }
    for row in rows {
        let value = match row.drift.after.as_slice() {
            [] => None,
            [value] => Some(value.clone()),
            _ => return Err(Refusal::Unsteady { facet: row.drift.facet, path: row.drift.path.clone() }),
        };
        let (before, rule) = (set_digest(&row.drift.before), Some(row.drift.rule.rule.clone()));
        places.insert((row.drift.facet, row.drift.path.clone()), Accepted { value, before, rule });
    }
    Ok(places)
}

/// Neither above the drift's own place (that would approve its neighbours) nor below it (its own value says it).
fn is_elsewhere(claim: &Claim, own: &Pointer) -> bool {
    !claim.path.contains(own) && !own.contains(&claim.path)
}

/// The value at a claimed place, `None` in it for absent; `None` when it is another by now.
fn claimed(claim: &Claim, facet: Option<&FacetState>) -> Option<Option<Json>> {
    let Some(digest) = claim.after else { return Some(None) };
    match facet? {
        FacetState::Seen(seen) => {
            let there = seen.views.iter().filter_map(|view| view.pointer(&claim.path));
            there.into_iter().find(|value| Digest::of(value) == digest).map(|value| Some(value.clone()))
        }
        FacetState::Absent { .. } | FacetState::Unseen { .. } => None,
    }
}

fn accept_facet(
    settlement: &mut Settlement,
    scene: &Scene<'_>,
    chain: &mut Chain,
    entry: BaselineFacet,
    author: &Author,
) {
    let name = entry.facet;
    let before = scene.memory.baseline.get(&name).and_then(|held| held.digest);
    let no = chain.push(Draft { before, after: entry.digest, ..Draft::accept(name, Pointer::root()) });
    if let Some(facet) = settlement.facets.get_mut(&name) {
        facet.joining = None;
        facet.awaiting_approval = false;
    }
    settlement.history.push(line(scene, "base.approved", (name, &Pointer::root()), author));
    settlement.baseline.push(BaselineFacet { reason: author.reason.clone(), reviewed: true, entry: no, ..entry });
}

/// Holds a facet to its new values and those it was held to.
fn beside(mut entry: BaselineFacet, held: &BaselineFacet) -> BaselineFacet {
    let values: BTreeMap<Digest, Json> =
        held.values.iter().chain(&entry.values).map(|value| (Digest::of(value), value.clone())).collect();
    if values.len() > entry.values.len() {
        entry.digest = Some(Digest::of_parts(values.keys().map(|digest| *digest.bytes())));
        entry.values = values.into_values().collect();
    }
    entry
}
