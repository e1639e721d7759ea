//! Documents that have no rules of their own yet a place in the diff: each member that differs is told as such.

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::model::json::Json;

use super::common;
use super::draft::Draft;

/// Drifts of a document; nothing for one that is absent on both sides.
pub(in crate::judge) fn judge(accepted: &[Json], seen: &[Json]) -> Vec<Draft> {
    let root = Place::root(accepted, seen);
    if accepted.is_empty() != seen.is_empty() {
        return vec![Draft::other(&root, format!("the document {}", common::fate(&root)))];
    }
    let tell = |place: &Place<'_>| Draft::other(place, format!("{} {}", shown(place.name()), common::fate(place)));
    root.changed().iter().map(tell).collect()
}
