//! Folds drifts into units: one cause, told once.
//!
//! A unit is the same place relative to its item, the same rule and case, and, where the table says `fold: value`, the
//! same values before and after (design, section 2). Faces are folded. What is told of the schemas of one tool by one
//! rule is one cause, wherever in the schema it stands. Whether a unit is told at all is for others.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::model::alert::Section;
use crate::model::digest::Digest;
use crate::model::drift::{Detail, Drift, Inside};
use crate::model::facet::Facet;
use crate::model::incident::{Member, Unit, UnitMark};
use crate::model::pointer::Pointer;
use crate::model::rule::{Fold, Severity};

use super::canon::shown;
use super::{posture, rules};

/// A drift to fold, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Folding<'a> {
    /// The drift.
    pub drift: &'a Drift,
    /// Where it stands in its life.
    pub mark: UnitMark,
}

/// Folds `drifts` into units.
///
/// A unit of `known` with the same fold key keeps its `n` and stays, even with no member left (then with its own
/// mark); new units are numbered on, in the order of a message (see [`Section`]).
pub fn fold(drifts: &[Folding<'_>], known: &[Unit]) -> Vec<Unit> {
    let causes = causes(drifts);
    let mut groups: BTreeMap<String, Vec<&Folding<'_>>> = BTreeMap::new();
    for folding in drifts {
        groups.entry(fold_key(folding.drift, &causes)).or_default().push(folding);
    }
    let mut units: Vec<Unit> = Vec::new();
    for unit in known {
        let members = groups.remove(&unit.fold_key);
        let again = members.and_then(|members| made(unit.n, unit.fold_key.clone(), members));
        units.push(again.unwrap_or_else(|| unit.clone()));
    }
    let mut next = known.iter().map(|unit| unit.n).max().unwrap_or(0);
    let mut new: Vec<(Unit, bool)> = groups
        .into_iter()
        .filter_map(|(key, members)| {
            let reaches = members.iter().any(|folding| reaches(folding.drift));
            Some((made(0, key, members)?, reaches))
        })
        .collect();
    new.sort_by_cached_key(|(unit, reaches)| order(unit, *reaches));
    for (mut unit, _) in new {
        next += 1;
        unit.n = next;
        units.push(unit);
    }
    units.sort_by_key(|unit| unit.n);
    units
}

/// The item a drift is about, and the place relative to it.
struct Spot {
    item: Option<String>,
    place: String,
}

fn spot(drift: &Drift) -> Spot {
    let tokens: Vec<&str> = drift.path.tokens().collect();
    let rest = |tokens: &[&str]| tokens.join("/");
    let (item, place) = match (drift.facet.facet, tokens.as_slice()) {
        (
            Facet::McpTools | Facet::McpPrompts | Facet::McpResources | Facet::McpResourceTemplates,
            ["items", key, below @ ..],
        ) => {
            let place = match below {
                [schema @ ("inputSchema" | "outputSchema"), ..] => (*schema).to_owned(),
                _ => rest(below),
            };
            (Some(shown(key)), place)
        }
        (Facet::McpHandshake, ["capabilities", "extensions", name]) => (Some(shown(name)), "extensions".to_owned()),
        (Facet::McpHandshake, ["capabilities", name]) => (Some(shown(name)), "capabilities".to_owned()),
        (Facet::McpHandshake, ["capabilities", name, flag]) => {
            (Some(format!("{}.{}", shown(name), shown(flag))), "capabilities/flag".to_owned())
        }
        (Facet::Checks, [rule, case]) => (Some(posture::title(rule)), rest(&[*rule, *case])),
        (Facet::McpTransport, ["headers", name]) => (Some(shown(name)), "headers".to_owned()),
        (_, all) => (None, rest(all)),
    };
    Spot { item, place }
}

/// What one rule says of the schemas of one item, as one value: so that the same change of many tools folds.
fn causes(drifts: &[Folding<'_>]) -> BTreeMap<(String, String), Digest> {
    let mut parts: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for folding in drifts.iter().filter(|folding| folding.drift.fold == Fold::Value) {
        if let Some(cause) = cause(folding.drift) {
            let path = folding.drift.path.tokens().skip(2).collect::<Vec<_>>().join("/");
            parts.entry(cause).or_default().push(format!("{path} {}", value_digest(folding.drift)));
        }
    }
    let digest = |mut parts: Vec<String>| {
        parts.sort();
        Digest::of_parts(parts)
    };
    parts.into_iter().map(|(cause, parts)| (cause, digest(parts))).collect()
}

fn cause(drift: &Drift) -> Option<(String, String)> {
    let in_schema = matches!(drift.path.token(2), Some("inputSchema" | "outputSchema"));
    let item = drift.path.token(1).filter(|_| in_schema)?;
    Some((format!("{}\n{}", drift.facet, drift.rule), item.to_owned()))
}

fn value_digest(drift: &Drift) -> Digest {
    let values = |values: &[crate::model::json::Json]| {
        Digest::of_parts(values.iter().map(crate::model::json::Json::canonical)).hex()
    };
    Digest::of_parts([values(&drift.before), values(&drift.after)])
}

fn fold_key(drift: &Drift, causes: &BTreeMap<(String, String), Digest>) -> String {
    let mut key = format!("{} {} {}", drift.rule, drift.facet.facet, spot(drift).place);
    if is_reshaped(drift) {
        key.push_str(" reshaped");
    }
    if drift.fold == Fold::Value {
        let digest = cause(drift).and_then(|cause| causes.get(&cause).copied()).unwrap_or_else(|| value_digest(drift));
        key.push(' ');
        key.push_str(&digest.hex());
    }
    key
}

/// A rename in which what callers must pass changed too.
fn is_reshaped(drift: &Drift) -> bool {
    let of_input = |rule: &str| rule.starts_with("tool.input") || rule.starts_with("tool.exfil");
    let of_arguments = |path: &Pointer| {
        let tokens: Vec<&str> = path.tokens().skip(2).take(2).collect();
        matches!(tokens.as_slice(), ["inputSchema", "properties" | "required"] | ["inputSchema"])
    };
    let reshapes =
        |inner: &Inside| of_input(&inner.rule.rule) && (inner.severity >= Severity::High || of_arguments(&inner.path));
    drift.rule.rule == "tool.renamed" && drift.inside.iter().any(reshapes)
}

fn made(n: u32, fold_key: String, mut members: Vec<&Folding<'_>>) -> Option<Unit> {
    members.sort_by_cached_key(|folding| {
        (!reaches(folding.drift), item_of(folding.drift), folding.drift.facet, folding.drift.path.clone())
    });
    let worst = members.iter().max_by_key(|folding| folding.drift.severity)?.drift;
    let mut impact = worst.impact.clone();
    for further in members.iter().flat_map(|folding| &folding.drift.impact) {
        if !impact.contains(further) {
            impact.push(*further);
        }
    }
    let mut items: Vec<String> = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for item in members.iter().filter_map(|folding| item_of(folding.drift)) {
        if known.insert(item.clone()) {
            items.push(item);
        }
    }
    Some(Unit {
        n,
        fold_key,
        rule: worst.rule.clone(),
        severity: worst.severity,
        impact,
        title: title(worst, &items),
        items,
        members: members.iter().map(|folding| member(folding.drift)).collect(),
        mark: mark(&members),
    })
}

fn member(drift: &Drift) -> Member {
    Member { facet: drift.facet, path: drift.path.clone(), fingerprint: drift.fingerprint }
}

/// What a new item reaches comes before what it is called.
fn reaches(drift: &Drift) -> bool {
    drift.notes.iter().any(|note| note.rule == "tool.input.reach-gained")
}

/// The item's name: of a rename the old one, which is the one in use.
fn item_of(drift: &Drift) -> Option<String> {
    let left =
        drift.claims.iter().find(|claim| claim.after.is_none() && claim.path != drift.path && claim.path.depth() == 2);
    match left.and_then(|claim| claim.path.token(1)) {
        Some(old) if is_move(drift) => Some(shown(old)),
        Some(_) | None => spot(drift).item,
    }
}

fn is_move(drift: &Drift) -> bool {
    let rule = drift.rule.rule.as_str();
    rule == "tool.renamed"
        || drift.details.iter().any(|detail| matches!(detail, Detail::Moved { .. })) && rule.starts_with("res.")
}

fn title(drift: &Drift, items: &[String]) -> String {
    let Some(rule) = rules::explain(&drift.rule.rule) else { return drift.rule.to_string() };
    let rewritten = drift.details.iter().any(Detail::is_rewritten);
    let head = match rule.id {
        "tool.renamed" if is_reshaped(drift) => "renamed and changed",
        "mcp.instructions-changed" if rewritten => "instructions: rewritten",
        _ => rule.head,
    };
    match items {
        [] => head.to_owned(),
        [only] => match rule.noun {
            "resources" | "prompts" | "templates" => format!("{head}: {} {only}", rule.noun.trim_end_matches('s')),
            _ => format!("{head}: {only}"),
        },
        several if rule.noun.is_empty() => format!("{head}: {}", several.len()),
        several => format!("{head}: {} {}", several.len(), rule.noun),
    }
}

fn mark(members: &[&Folding<'_>]) -> UnitMark {
    use UnitMark::{Accepted, Open, Pending, Rejected, Retired, Reverted};
    let order = [Open, Rejected, Pending, Accepted, Retired, Reverted];
    order.into_iter().find(|mark| members.iter().any(|folding| folding.mark == *mark)).unwrap_or(Pending)
}

/// Where a new unit stands among the new ones.
type Rank = (Section, Reverse<Severity>, bool, Option<Facet>, bool, Reverse<usize>, String);

/// By section, the worst first; then what reaches somewhere, list by list, renames before what is gone, many first.
fn order(unit: &Unit, reaches: bool) -> Rank {
    (
        Section::of(unit.severity, &unit.impact),
        Reverse(unit.severity),
        !reaches,
        unit.members.first().map(|member| member.facet.facet),
        unit.rule.rule != "tool.renamed",
        Reverse(unit.items.len()),
        unit.fold_key.clone(),
    )
}

#[cfg(test)]
mod tests;
