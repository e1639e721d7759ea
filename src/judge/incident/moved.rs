//! Units whose drifts are in other units now: the same place, told by another rule, case or value.
//!
//! A drift that changes is the same drift (design, section 5), so what it moves into is the unit it was in: it keeps
//! the number, and nothing is left behind that would stand twice.

use std::collections::BTreeSet;

use crate::model::facet::FacetName;
use crate::model::incident::Unit;
use crate::model::pointer::Pointer;

type Place = (FacetName, Pointer);

/// `units` without those of `known` that everything standing has left for another; `standing` are the places where a
/// drift of the incident stands.
pub(super) fn follow(units: Vec<Unit>, known: &[Unit], standing: &BTreeSet<Place>) -> Vec<Unit> {
    let places = |unit: &Unit| -> BTreeSet<Place> {
        unit.members.iter().map(|member| (member.facet, member.path.clone())).collect()
    };
    let was = |n: u32| known.iter().find(|unit| unit.n == n);
    // Where each unit has come into possession of a place that it did not have.
    let gains: Vec<(u32, BTreeSet<Place>)> = units
        .iter()
        .map(|unit| (unit.n, places(unit).difference(&was(unit.n).map(places).unwrap_or_default()).cloned().collect()))
        .collect();
    let mut kept = units;
    for old in known.iter().filter(|old| old.mark.stands()) {
        let here: BTreeSet<Place> = places(old).intersection(standing).cloned().collect();
        let unchanged = kept.iter().any(|unit| unit == old);
        let heir = |(n, gained): &&(u32, BTreeSet<Place>)| *n != old.n && !gained.is_disjoint(&here);
        let heirs: Vec<u32> = gains.iter().filter(heir).map(|(n, _)| *n).collect();
        let taken: BTreeSet<&Place> = gains.iter().filter(heir).flat_map(|(_, gained)| gained).collect();
        if here.is_empty() || !unchanged || !here.iter().all(|place| taken.contains(place)) {
            continue;
        }
        kept.retain(|unit| unit.n != old.n);
        let new = heirs.into_iter().find(|n| was(*n).is_none());
        if let Some(unit) = kept.iter_mut().find(|unit| Some(unit.n) == new) {
            unit.n = old.n;
        }
    }
    kept.sort_by_key(|unit| unit.n);
    kept
}
