//! Lists: which items came, went and changed, their order, and what stands beside them.
//!
//! Decides for every list facet what is an item's coming or going; what changed inside an item is for the family of
//! its kind.

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::judge::effective::empty_list;
use crate::model::facet::Facet;
use crate::model::json::Json;

use super::common;
use super::draft::{Draft, Scene};
use super::{prompts, resources, tools};

/// Items that differ, by how.
#[derive(Debug, Default)]
pub(super) struct Items<'a> {
    /// In the baseline, not in the list.
    pub(super) removed: Vec<Place<'a>>,
    /// In the list, not in the baseline.
    pub(super) added: Vec<Place<'a>>,
    /// In both, with another value.
    pub(super) changed: Vec<Place<'a>>,
}

/// Drifts of a list facet. An absent list counts as an empty one: that its capability went is told there.
pub(in crate::judge) fn judge(scene: &Scene<'_>, accepted: &[Json], seen: &[Json]) -> Vec<Draft> {
    let empty = [empty_list()];
    let both = !accepted.is_empty() && !seen.is_empty();
    let accepted = if accepted.is_empty() { &empty } else { accepted };
    let seen = if seen.is_empty() { &empty } else { seen };
    let root = Place::root(accepted, seen);
    let items = root.child("items");
    let mut out = Vec::new();
    if items.differs() {
        out.extend(judge_items(scene, &items, seen));
    }
    let order = root.child("order");
    if !scene.order_ignored && order.differs() && order.is_reordered() {
        out.push(reordered(scene, &order));
    }
    if both {
        out.extend(rest(scene, &root.child("rest")));
    }
    out
}

fn judge_items(scene: &Scene<'_>, place: &Place<'_>, seen: &[Json]) -> Vec<Draft> {
    let mut items = Items::default();
    for item in place.changed() {
        match (item.old(), item.now()) {
            (None, Some(_)) => items.added.push(item),
            (_, None) => items.removed.push(item),
            (Some(_), Some(_)) => items.changed.push(item),
        }
    }
    let is_empty = |view: &Json| view.member("items").and_then(Json::as_object).is_none_or(|items| items.is_empty());
    let facet = scene.facet.facet;
    if seen.iter().all(is_empty)
        && let Some(rule) = all_removed(facet)
    {
        return vec![gone_altogether(place, &items.removed, rule)];
    }
    match facet {
        Facet::McpTools => tools::judge(scene, items),
        Facet::McpPrompts => prompts::judge(scene, items),
        Facet::McpResources | Facet::McpResourceTemplates => resources::judge(scene, items),
        Facet::McpHandshake
        | Facet::McpTransport
        | Facet::McpCard
        | Facet::McpCatalog
        | Facet::AuthChallenge
        | Facet::Tls
        | Facet::Checks
        | Facet::Scan => Vec::new(),
    }
}

const fn all_removed(facet: Facet) -> Option<&'static str> {
    match facet {
        Facet::McpTools => Some("tool.all-removed"),
        Facet::McpResources => Some("res.all-removed"),
        Facet::McpPrompts
        | Facet::McpResourceTemplates
        | Facet::McpHandshake
        | Facet::McpTransport
        | Facet::McpCard
        | Facet::McpCatalog
        | Facet::AuthChallenge
        | Facet::Tls
        | Facet::Checks
        | Facet::Scan => None,
    }
}

fn gone_altogether(place: &Place<'_>, removed: &[Place<'_>], rule: &'static str) -> Draft {
    let names: Vec<String> = removed.iter().map(|item| shown(item.name())).collect();
    let message = format!("the list is complete and empty; it had {}", removed.len());
    let draft = Draft::plain(place, rule, message).line(format!("gone: {}", common::listed(&names, 40)));
    removed.iter().fold(draft, |draft, item| draft.claiming(item.path().clone(), None))
}

fn reordered(scene: &Scene<'_>, place: &Place<'_>) -> Draft {
    let rule = match scene.facet.facet {
        Facet::McpTools => "tool.reordered",
        Facet::McpPrompts => "prompt.reordered",
        Facet::McpResources
        | Facet::McpResourceTemplates
        | Facet::McpHandshake
        | Facet::McpTransport
        | Facet::McpCard
        | Facet::McpCatalog
        | Facet::AuthChallenge
        | Facet::Tls
        | Facet::Checks
        | Facet::Scan => "res.reordered",
    };
    Draft::plain(place, rule, "the same items come in another order".to_owned())
}

fn rest(scene: &Scene<'_>, place: &Place<'_>) -> Vec<Draft> {
    let mut out = Vec::new();
    for member in place.changed() {
        match member.name() {
            name if scene.dates.skip_rest_member(name) => {}
            "cacheScope" => out.push(common::cache_scope(&member)),
            name => out.push(Draft::other(&member, format!("the list's `{}` differs", shown(name)))),
        }
    }
    out
}
