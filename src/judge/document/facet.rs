//! One facet in a snapshot document: `value`, and under `unstable` the places at which reads differed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::model::digest::Digest;
use crate::model::facet::{FacetState, SeenFacet, Stability, UnseenReason};
use crate::model::json::Json;
use crate::model::pointer::Pointer;

/// A facet's state as the document has it; what a state does not have is left out.
///
/// One struct for all states: a tagged enum would be read through serde's buffer, which cannot hold exact numbers.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FacetDocument {
    state: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Json>,
    /// Each list has one value for each read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    unstable: BTreeMap<Pointer, Vec<Json>>,
    #[serde(default = "Json::object", skip_serializing_if = "is_empty")]
    volatile: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stability: Option<Stability>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ambiguities: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<UnseenReason>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Seen,
    Absent,
    Unseen,
}

fn is_empty(volatile: &Json) -> bool {
    volatile.as_object().is_none_or(|members| members.is_empty())
}

impl FacetDocument {
    const fn empty(state: State) -> Self {
        Self {
            state,
            digest: None,
            value: None,
            unstable: BTreeMap::new(),
            volatile: Json::object(),
            stability: None,
            ambiguities: Vec::new(),
            note: None,
            reason: None,
        }
    }

    /// The document of a state.
    pub(super) fn of(state: &FacetState) -> Self {
        match state {
            FacetState::Seen(seen) => Self {
                digest: Some(seen.digest),
                value: seen.views.first().cloned(),
                unstable: unstable(&seen.views),
                volatile: seen.volatile.clone(),
                stability: Some(seen.stability),
                ambiguities: seen.ambiguities.clone(),
                ..Self::empty(State::Seen)
            },
            FacetState::Absent { note } => Self { note: note.clone(), ..Self::empty(State::Absent) },
            FacetState::Unseen { reason } => Self { reason: Some(reason.clone()), ..Self::empty(State::Unseen) },
        }
    }

    /// The state that it documents; none when what the state must have is missing.
    pub(super) fn into_state(self) -> Option<FacetState> {
        Some(match self.state {
            State::Seen => FacetState::Seen(SeenFacet {
                views: views(&self.value?, &self.unstable),
                digest: self.digest?,
                volatile: self.volatile,
                stability: self.stability.unwrap_or_default(),
                ambiguities: self.ambiguities,
            }),
            State::Absent => FacetState::Absent { note: self.note },
            State::Unseen => FacetState::Unseen { reason: self.reason? },
        })
    }
}

/// Each read's value: the first, with what differs put in.
fn views(value: &Json, unstable: &BTreeMap<Pointer, Vec<Json>>) -> Vec<Json> {
    // A document that another program wrote may claim any number of reads.
    const MOST: usize = 16;
    let count = unstable.values().map(Vec::len).max().unwrap_or(1).clamp(1, MOST);
    let view = |index: usize| {
        let mut view = value.clone();
        for (path, values) in unstable {
            if let Some(value) = values.get(index) {
                put(&mut view, path, value);
            }
        }
        view
    };
    (0..count).map(view).collect()
}

/// The places at which views differ: the deepest at which each view has a value, so that none is lost.
fn unstable(views: &[Json]) -> BTreeMap<Pointer, Vec<Json>> {
    let mut found = BTreeMap::new();
    if views.len() > 1 {
        collect(&views.iter().collect::<Vec<_>>(), &Pointer::root(), &mut found);
    }
    found
}

fn collect(values: &[&Json], path: &Pointer, found: &mut BTreeMap<Pointer, Vec<Json>>) {
    let Some((first, others)) = values.split_first() else { return };
    if others.iter().all(|other| other == first) {
        return;
    }
    let objects: Option<Vec<_>> = values.iter().map(|value| value.as_object()).collect();
    let names: Vec<BTreeSet<&String>> = objects.iter().flatten().map(|members| members.keys().collect()).collect();
    let alike = objects.is_some() && names.windows(2).all(|pair| matches!(pair, [left, right] if left == right));
    if !alike {
        found.insert(path.clone(), values.iter().map(|value| (*value).clone()).collect());
        return;
    }
    for name in names.into_iter().next().into_iter().flatten() {
        let below: Vec<&Json> = values.iter().filter_map(|value| value.member(name)).collect();
        collect(&below, &path.child(name.clone()), found);
    }
}

fn put(value: &mut Json, path: &Pointer, new: &Json) {
    let mut here = value;
    for token in path.tokens() {
        let Json::Object(members) = here else { return };
        let Some(below) = members.get_mut(token) else { return };
        here = below;
    }
    *here = new.clone();
}
