//! Server Cards and AI Catalogs: what an origin says of its servers before anybody talks to them.
//!
//! A card is advertising: nothing is trusted for it, and its texts are read by people and models that choose servers.
//! What leads clients elsewhere, or has them send more than before, is what matters in it.

use std::collections::{BTreeMap, BTreeSet};

use url::Url;

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::model::json::Json;

use super::common;
use super::draft::{Draft, Scene};

/// Drifts of `mcp.card`.
pub(in crate::judge) fn judge_card(scene: &Scene<'_>, accepted: &[Json], seen: &[Json]) -> Vec<Draft> {
    let root = Place::root(accepted, seen);
    match (accepted.is_empty(), seen.is_empty()) {
        (true, true) => Vec::new(),
        (true, false) => {
            let draft = Draft::plain(&root, "mcp.card-added", "there is a server card now".to_owned());
            vec![draft.line(format!("leads to: {}", urls(root.now().and_then(|value| value.member("document")))))]
        }
        (false, true) => vec![Draft::plain(&root, "mcp.card-removed", "the server card is gone".to_owned())],
        (false, false) => document(&root, |place| card_member(scene, place)),
    }
}

/// Drifts of `mcp.catalog`.
pub(in crate::judge) fn judge_catalog(scene: &Scene<'_>, accepted: &[Json], seen: &[Json]) -> Vec<Draft> {
    let root = Place::root(accepted, seen);
    if accepted.is_empty() != seen.is_empty() {
        let message = format!("the catalog {}", common::fate(&root));
        return vec![Draft::at(&root, "mcp.catalog-changed", "other", message)];
    }
    document(&root, |place| match place.name() {
        "entries" => entries(scene, place),
        _ => other(place),
    })
}

/// The members of the document by `judge`, and how it is served.
fn document<'a>(root: &Place<'a>, judge: impl Fn(&Place<'a>) -> Draft) -> Vec<Draft> {
    let (mut out, mut note) = (Vec::new(), None);
    for part in root.changed() {
        match part.name() {
            "document" if part.is_object() => out.extend(part.changed().iter().map(&judge)),
            "cache" => note = Some(cache(&part)),
            "at" => out.push(Draft::other(&part, "the document is found elsewhere".to_owned())),
            _ => out.push(other(&part)),
        }
    }
    // How a document may be cached is worth a word beside what it says, and nothing alone.
    if let (Some(note), false) = (note, out.is_empty()) {
        let first = out.remove(0);
        out.insert(0, first.noting("net.cache-policy-changed", note));
    }
    out
}

fn cache(place: &Place<'_>) -> String {
    let told = |value: Option<&Json>| {
        let directives = value.and_then(|value| value.member("control")?.as_array()).into_iter().flatten();
        let mut words: Vec<String> = directives.filter_map(Json::as_str).map(shown).collect();
        if value.and_then(|value| value.member("etag")?.as_bool()) == Some(true) {
            words.push("a tag".to_owned());
        }
        if words.is_empty() { "nothing".to_owned() } else { common::listed(&words, 8) }
    };
    format!("it is served for caches otherwise: {} instead of {}", told(place.now()), told(place.old()))
}

fn other(place: &Place<'_>) -> Draft {
    Draft::other(place, format!("{} {}", shown(place.name()), common::fate(place)))
}

fn card_member(scene: &Scene<'_>, place: &Place<'_>) -> Draft {
    let text = |what: &str| format!("the card's {what} {}", common::fate(place));
    match place.name() {
        "title" => common::short_text(place, "mcp.card-text-changed", text("title")).checked_for_hidden(None),
        "description" => {
            common::long_text(scene, place, "mcp.card-text-changed", text("description")).checked_for_hidden(None)
        }
        "version" => Draft::plain(place, "mcp.card-version-changed", text("version")).told(place),
        "remotes" => remotes(scene, place),
        "url" => led(scene, place, &addresses(place.old()), &addresses(place.now())),
        _ => other(place),
    }
}

/// `remotes` is one value, and so one drift: what weighs most in it, with the rest inside.
fn remotes(scene: &Scene<'_>, place: &Place<'_>) -> Draft {
    let (old, new) = (Remotes::of(place.old()), Remotes::of(place.now()));
    let mut drafts = Vec::new();
    if old.ways() != new.ways() {
        drafts.push(led(scene, place, &old.urls(), &new.urls()));
    }
    drafts.extend(headers(place, &old, &new));
    drafts.sort_by_key(|draft| std::cmp::Reverse(draft.rated().0));
    let mut drafts = drafts.into_iter();
    match drafts.next() {
        Some(worst) => worst.holding(drafts.collect()),
        None => other(place),
    }
}

/// Where clients are led.
fn led(scene: &Scene<'_>, place: &Place<'_>, old: &BTreeSet<&str>, new: &BTreeSet<&str>) -> Draft {
    let known: BTreeSet<String> = old.iter().filter_map(|url| host(url)).chain([scene.host.to_owned()]).collect();
    let leads_away = new.iter().filter_map(|url| host(url)).any(|host| !known.contains(&host));
    let (case, message) = if leads_away {
        ("host", "the card leads clients to another host")
    } else {
        ("path", "the card leads clients to other addresses")
    };
    Draft::at(place, "mcp.card-remote-changed", case, message.to_owned())
        .line(format!("from: {}", listed(old)))
        .line(format!("now:  {}", listed(new)))
}

fn listed(urls: &BTreeSet<&str>) -> String {
    let urls: Vec<String> = urls.iter().map(|url| shown(url)).collect();
    if urls.is_empty() { "(none)".to_owned() } else { common::listed(&urls, 5) }
}

/// The addresses that a card names.
fn urls(card: Option<&Json>) -> String {
    let remotes = Remotes::of(card.and_then(|card| card.member("remotes")));
    let own = addresses(card.and_then(|card| card.member("url")));
    listed(&if remotes.0.is_empty() { own } else { remotes.urls() })
}

fn addresses(value: Option<&Json>) -> BTreeSet<&str> {
    value.and_then(Json::as_str).into_iter().collect()
}

fn host(url: &str) -> Option<String> {
    Url::parse(url).ok()?.host_str().map(str::to_ascii_lowercase)
}

/// The remotes of a card by their address; of two with one, the first.
struct Remotes<'a>(BTreeMap<&'a str, &'a Json>);

impl<'a> Remotes<'a> {
    fn of(value: Option<&'a Json>) -> Self {
        let all = value.and_then(Json::as_array).into_iter().flatten().rev();
        Self(all.map(|remote| (remote.member("url").and_then(Json::as_str).unwrap_or_default(), remote)).collect())
    }

    fn urls(&self) -> BTreeSet<&'a str> {
        self.0.keys().copied().collect()
    }

    /// Addresses and how they are spoken to.
    fn ways(&self) -> BTreeSet<(&'a str, Option<&'a Json>)> {
        self.0.iter().map(|(url, remote)| (*url, remote.member("type"))).collect()
    }
}

/// What clients have to send along, or need not hide any more, at an address that stays.
fn headers(place: &Place<'_>, old: &Remotes<'_>, new: &Remotes<'_>) -> Vec<Draft> {
    let (mut required, mut shown_now) = (Vec::new(), Vec::new());
    for (url, remote) in &new.0 {
        let Some(before) = old.0.get(url) else { continue };
        let before = named_headers(before);
        for (name, header) in named_headers(remote) {
            let was = before.get(&name);
            let flag = |header: &Json, flag: &str| header.member(flag).and_then(Json::as_bool) == Some(true);
            if flag(header, "isRequired") && !was.is_some_and(|was| flag(was, "isRequired")) {
                required.push(shown(&name));
            }
            if was.is_some_and(|was| flag(was, "isSecret")) && !flag(header, "isSecret") {
                shown_now.push(shown(&name));
            }
        }
    }
    let told = |names: Vec<String>, case, message: &str| {
        let draft = || Draft::at(place, "mcp.card-header-required", case, message.to_owned());
        (!names.is_empty()).then(|| draft().line(common::listed(&names, 5)))
    };
    let required = told(required, "required", "the card has clients send a further header");
    let exposed = told(shown_now, "not_secret", "the card says that a header's value is no secret any more");
    required.into_iter().chain(exposed).collect()
}

/// Header names are compared without case (RFC 9110 §5.1).
fn named_headers(remote: &Json) -> BTreeMap<String, &Json> {
    let headers = remote.member("headers").and_then(Json::as_array).into_iter().flatten();
    headers.filter_map(|header| Some((header.member("name")?.as_str()?.to_ascii_lowercase(), header))).collect()
}

fn entries(scene: &Scene<'_>, place: &Place<'_>) -> Draft {
    let hosts = |value: Option<&Json>| -> BTreeSet<String> {
        let entries = value.and_then(Json::as_array).into_iter().flatten();
        entries.filter_map(|entry| host(entry.member("url")?.as_str()?)).collect()
    };
    let known = hosts(place.old());
    let new: Vec<String> = hosts(place.now())
        .into_iter()
        .filter(|host| !known.contains(host) && *host != scene.host)
        .map(|host| shown(&host))
        .collect();
    if new.is_empty() {
        return Draft::at(place, "mcp.catalog-changed", "other", "the catalog lists other entries".to_owned());
    }
    Draft::at(place, "mcp.catalog-changed", "host", "the catalog leads to another host".to_owned())
        .line(common::listed(&new, 5))
}
