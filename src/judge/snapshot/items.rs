//! Checks of the items of lists: names, hints, schemas, addresses, hidden characters.

use crate::judge::canon::{is_unnamed, shown};
use crate::judge::hidden;
use crate::judge::rules;
use crate::model::facet::{Face, Facet, FacetName, FacetState, SeenFacet};
use crate::model::json::Json;
use crate::model::snapshot::{Check, Snapshot};

use super::finding::{check, skipped};

/// Places with hidden characters that are looked for; more say no more.
const MOST_PLACES: usize = 50;

const TOOL_RULES: [&str; 12] = [
    "tool.duplicate-name",
    "tool.name-invalid",
    "tool.annotation-contradiction",
    "tool.header-mapping-invalid",
    "tool.input-schema-missing",
    "tool.input-schema-invalid",
    "tool.dispatcher-added",
    "tool.order-nondeterministic",
    "tool.set-nondeterministic",
    "tool.list-unreliable",
    "mcp.item-unnamed",
    "tool.hidden-unicode",
];

/// Whether a value is a time to live: whole milliseconds from 0 up.
pub(super) fn is_ttl(value: &Json) -> bool {
    value.as_number().and_then(crate::model::json::Number::as_i64).is_some_and(|ttl| ttl >= 0)
}

fn items_of(seen: &SeenFacet) -> impl Iterator<Item = (&String, &Json)> {
    let items = seen.views.first().and_then(|view| view.member("items")?.as_object());
    items.into_iter().flatten()
}

/// A key that carries our mark for the second of a name.
fn is_copy(key: &str) -> bool {
    !is_unnamed(key) && key.replace("\u{0}\u{0}", "").contains('\u{0}')
}

/// Checks of the tool list; with `by_connection`, which connection was asked is known to decide what it holds.
pub(super) fn tools(snapshot: &Snapshot, face: Face, by_connection: bool) -> Vec<Check> {
    let seen = match snapshot.facets.get(&FacetName::of(Facet::McpTools, face)) {
        Some(FacetState::Seen(seen)) => seen,
        Some(FacetState::Unseen { reason }) => {
            let reason = reason.to_string();
            let asked = TOOL_RULES.iter().filter(|rule| rule.starts_with("tool.") && **rule != "tool.hidden-unicode");
            return asked.map(|rule| skipped(rule, "-", &reason)).collect();
        }
        Some(FacetState::Absent { .. }) | None => return Vec::new(),
    };
    let mut found: [Vec<String>; 7] = Default::default();
    let [copies, names, hints, headers, missing, invalid, dispatchers] = &mut found;
    for (key, tool) in items_of(seen) {
        let name = shown(key);
        if is_copy(key) {
            copies.push(name.clone());
        } else if !is_name(key) {
            names.push(name.clone());
        }
        hints.extend(rules::contradiction(tool).map(|what| format!("{name}: {what}")));
        headers.extend(rules::schemas::names::invalid_headers(tool).into_iter().map(|what| format!("{name}.{what}")));
        match tool.member("inputSchema") {
            None => missing.push(name.clone()),
            Some(schema) if !rules::schemas::is_object_schema(schema) => invalid.push(name.clone()),
            Some(_) => {}
        }
        if rules::schemas::names::dispatcher(tool).is_some() {
            dispatchers.push(name);
        }
    }
    let rules = TOOL_RULES.iter().zip(&found).map(|(rule, evidence)| check(rule, "-", evidence));
    rules.chain(stability(seen, by_connection)).collect()
}

fn stability(seen: &SeenFacet, by_connection: bool) -> Vec<Check> {
    let stable = seen.stability;
    let how =
        if stable.fresh { "two reads, the second over a fresh connection" } else { "two reads over one connection" };
    let evidence = |found: bool, what: &str| if found { vec![format!("{how}: {what}")] } else { Vec::new() };
    let what = match (stable.set_differs, stable.value_differs) {
        (true, true) => "other tools, and other values",
        (true, false) => "other tools",
        (false, _) => "other values",
    };
    let differs = (stable.set_differs || stable.value_differs) && !stable.empty_beside_full;
    let set = if differs && by_connection {
        skipped("tool.set-nondeterministic", "-", "each connection is steady in itself: mcp.list-varies-by-connection")
    } else {
        check("tool.set-nondeterministic", "-", &evidence(differs, what))
    };
    vec![
        check("tool.order-nondeterministic", "-", &evidence(stable.order_differs, "another order")),
        set,
        check("tool.list-unreliable", "-", &evidence(stable.empty_beside_full, "one empty, one not")),
    ]
}

/// MCP 2025-11-25, "Tool Names".
fn is_name(key: &str) -> bool {
    (1..=128).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

/// Checks of the other lists.
pub(super) fn others(snapshot: &Snapshot, face: Face) -> Vec<Check> {
    let (mut sensitive, mut copies, mut prompt_copies, mut unnamed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut seen_any = false;
    for facet in [Facet::McpTools, Facet::McpPrompts, Facet::McpResources, Facet::McpResourceTemplates] {
        let Some(FacetState::Seen(seen)) = snapshot.facets.get(&FacetName::of(facet, face)) else { continue };
        seen_any = true;
        let addresses = matches!(facet, Facet::McpResources | Facet::McpResourceTemplates);
        for (key, _) in items_of(seen) {
            if is_unnamed(key) {
                unnamed.push(format!("{facet}: {}", shown(key)));
            }
            if addresses && is_copy(key) {
                copies.push(shown(key));
            } else if facet == Facet::McpPrompts && is_copy(key) {
                prompt_copies.push(shown(key));
            }
            let what = addresses.then(|| rules::sensitive(key)).flatten();
            sensitive.extend(what.map(|what| format!("{}: {what}", shown(key))));
        }
    }
    if !seen_any {
        return Vec::new();
    }
    vec![
        check("res.scheme-sensitive", "-", &sensitive),
        check("res.duplicate-uri", "-", &copies),
        check("prompt.duplicate-name", "-", &prompt_copies),
        check("mcp.item-unnamed", "-", &unnamed),
    ]
}

/// Hidden characters in any string of an MCP facet.
pub(super) fn hidden(snapshot: &Snapshot) -> Vec<Check> {
    let (mut chars, mut payloads, mut seen_any) = (Vec::new(), Vec::new(), false);
    for (name, state) in &snapshot.facets {
        let FacetState::Seen(seen) = state else { continue };
        if matches!(name.facet, Facet::McpTransport | Facet::AuthChallenge | Facet::Tls | Facet::Scan) {
            continue;
        }
        seen_any = true;
        let whole = seen.views.iter().map(hidden::in_value).find(|found| !found.is_empty());
        if whole.is_none() {
            continue;
        }
        for (place, value) in seen.views.iter().flat_map(parts) {
            let found = hidden::in_value(value);
            if found.is_empty() || chars.len() + payloads.len() >= MOST_PLACES {
                continue;
            }
            let list = if found.case() == "payload" { &mut payloads } else { &mut chars };
            let text = format!("{name} {place}: {}", found.words());
            if !list.contains(&text) {
                list.push(text);
            }
        }
    }
    if !seen_any {
        return ["chars", "payload"].map(|case| skipped("tool.hidden-unicode", case, "no text was read")).into();
    }
    vec![check("tool.hidden-unicode", "chars", &chars), check("tool.hidden-unicode", "payload", &payloads)]
}

/// A list's items, or a document's members.
fn parts(view: &Json) -> Vec<(String, &Json)> {
    let items = view.member("items").and_then(Json::as_object).or_else(|| view.as_object());
    items.into_iter().flatten().map(|(key, value)| (shown(key), value)).collect()
}
