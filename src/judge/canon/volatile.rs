//! The volatile table: members that change by nature, each named by facet and place, never by bare name.
//!
//! A place never leads into a schema, so a parameter called `size` stays. A change here makes [`MODEL`] grow.
//!
//! [`MODEL`]: crate::model::snapshot::MODEL

use crate::model::facet::Facet;
use crate::model::json::{Json, Members};
use crate::model::pointer::Pointer;

/// Keys of `_meta` that carry a trace (W3C Trace Context and Baggage; MCP 2026-07-28 reserves them).
const TRACE_KEYS: [&str; 3] = ["baggage", "traceparent", "tracestate"];

/// One segment of a place.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// This member.
    Member(&'static str),
    /// Every member: the items of a list.
    Every,
    /// Every trace key.
    Trace,
}

use Step::{Every, Member, Trace};

const LISTS: [Facet; 4] = [Facet::McpTools, Facet::McpPrompts, Facet::McpResources, Facet::McpResourceTemplates];

/// One line of the table.
struct Entry {
    facets: &'static [Facet],
    place: &'static [Step],
}

static TABLE: &[Entry] = &[
    // How long an answer may be cached says nothing of what it holds.
    Entry { facets: &[Facet::McpHandshake], place: &[Member("ttlMs")] },
    Entry { facets: &[Facet::McpHandshake], place: &[Member("_meta"), Trace] },
    Entry { facets: &LISTS, place: &[Member("rest"), Member("ttlMs")] },
    Entry { facets: &LISTS, place: &[Member("rest"), Member("nextCursor")] },
    Entry { facets: &LISTS, place: &[Member("rest"), Member("_meta"), Trace] },
    Entry { facets: &LISTS, place: &[Member("items"), Every, Member("_meta"), Trace] },
    // What a resource holds now, not what is offered.
    Entry { facets: &[Facet::McpResources], place: &[Member("items"), Every, Member("size")] },
    Entry {
        facets: &[Facet::McpResources, Facet::McpResourceTemplates],
        place: &[Member("items"), Every, Member("annotations"), Member("lastModified")],
    },
    // Serial numbers, fingerprints and instants: a plain renewal brings others.
    Entry { facets: &[Facet::Tls], place: &[Member("certificates")] },
];

/// Takes the volatile members out of `value`; gives them by pointer.
pub(super) fn take(facet: Facet, value: &mut Json) -> Members {
    let mut taken = Members::new();
    for entry in TABLE.iter().filter(|entry| entry.facets.contains(&facet)) {
        walk(value, entry.place, &mut Vec::new(), &mut taken);
    }
    taken
}

fn walk(value: &mut Json, place: &[Step], path: &mut Vec<String>, taken: &mut Members) {
    let (Some((step, below)), Json::Object(members)) = (place.split_first(), value) else { return };
    match step {
        Member(name) => descend(members, name, below, path, taken),
        Trace => TRACE_KEYS.iter().for_each(|name| descend(members, name, below, path, taken)),
        Every => {
            for (name, child) in members {
                path.push(name.clone());
                walk(child, below, path, taken);
                path.pop();
            }
        }
    }
}

fn descend(members: &mut Members, name: &str, below: &[Step], path: &mut Vec<String>, taken: &mut Members) {
    path.push(name.to_owned());
    if below.is_empty() {
        if let Some(value) = members.remove(name) {
            taken.insert(Pointer::of(path.iter().cloned()).to_string(), value);
        }
    } else if let Some(child) = members.get_mut(name) {
        walk(child, below, path, taken);
    }
    path.pop();
}
