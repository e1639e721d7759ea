//! Whether lists are served as the handshake promises, and with the cache hints that their date wants.

use crate::model::facet::{Face, Facet, FacetName, FacetState, UnseenKind};
use crate::model::json::Json;
use crate::model::snapshot::{Check, Snapshot};

use super::super::finding::{check, skipped};
use super::super::items;
use super::{LISTS, is_stateless, seen, why_unseen};

const MISMATCH: &str = "mcp.capability-mismatch";
const FAILING: &str = "res.list-error";
const HINT_INVALID: &str = "mcp.cache-hint-invalid";
const HINT_MISSING: &str = "mcp.cache-hint-missing";

/// The checks of the lists of `face`.
pub(super) fn all(snapshot: &Snapshot, face: Face) -> Vec<Check> {
    let handshake = seen(snapshot, Facet::McpHandshake, face).map(|(value, _)| value);
    let mut out = cache_hints(snapshot, face, handshake.is_some_and(is_stateless));
    out.extend(handshake.map(|value| promises(snapshot, face, value)).unwrap_or_default());
    out
}

/// The answers where no list was read, or nothing was promised.
pub(super) fn unanswered(snapshot: &Snapshot) -> impl Iterator<Item = Check> {
    let promised = why_unseen(snapshot, Facet::McpHandshake);
    let read = why_unseen(snapshot, Facet::McpTools);
    [MISMATCH, FAILING]
        .map(|rule| skipped(rule, "-", &promised))
        .into_iter()
        .chain([HINT_INVALID, HINT_MISSING].map(|rule| skipped(rule, "-", &format!("no list was read: {read}"))))
}

fn promises(snapshot: &Snapshot, face: Face, value: &Json) -> Vec<Check> {
    let declared = value.member("capabilities").and_then(Json::as_object);
    let (mut mismatch, mut failing, mut unread) = (Vec::new(), Vec::new(), None);
    for (facet, capability) in LISTS {
        if declared.is_none_or(|all| !all.contains_key(capability)) {
            continue;
        }
        match snapshot.facets.get(&FacetName::of(facet, face)) {
            Some(FacetState::Absent { .. }) => {
                mismatch.push(format!("{capability} is declared, and its list is not found"))
            }
            Some(FacetState::Unseen { reason }) if reason.kind == UnseenKind::RpcError && facet != Facet::McpTools => {
                failing.push(format!("{facet}: {reason}"));
            }
            Some(FacetState::Unseen { reason }) => unread = Some(format!("{facet}: {reason}")),
            Some(FacetState::Seen(_)) | None => {}
        }
    }
    let answer = |rule: &str, found: &[String]| match &unread {
        Some(reason) if found.is_empty() => skipped(rule, "-", reason),
        Some(_) | None => check(rule, "-", found),
    };
    vec![answer(MISMATCH, &mismatch), answer(FAILING, &failing)]
}

fn cache_hints(snapshot: &Snapshot, face: Face, stateless: bool) -> Vec<Check> {
    let (mut invalid, mut absent, mut seen_any) = (Vec::new(), Vec::new(), false);
    for (facet, _) in LISTS {
        let Some((value, seen)) = seen(snapshot, facet, face) else { continue };
        seen_any = true;
        let scope = value.member("rest").and_then(|rest| rest.member("cacheScope"));
        let ttl = seen.volatile.member("/rest/ttlMs");
        if scope.is_some_and(|scope| !matches!(scope.as_str(), Some("public" | "private"))) {
            invalid.push(format!("{facet}: cacheScope"));
        }
        if ttl.is_some_and(|ttl| !items::is_ttl(ttl)) {
            invalid.push(format!("{facet}: ttlMs"));
        }
        if scope.is_none() || ttl.is_none() {
            absent.push(facet.to_string());
        }
    }
    if !seen_any {
        return Vec::new();
    }
    let missing = if stateless {
        check(HINT_MISSING, "-", &absent)
    } else {
        skipped(HINT_MISSING, "-", "older dates define no cache hints")
    };
    vec![check(HINT_INVALID, "-", &invalid), missing]
}
