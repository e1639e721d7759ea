//! What several families share: texts without a rule for their wording, icons, cache scopes, `_meta`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use url::Url;

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::judge::words;
use crate::model::drift::Detail;
use crate::model::json::Json;

use super::draft::{Draft, Scene};

/// Longest peer's text that is quoted in a drift.
const LONGEST_QUOTE: usize = 4_000;

/// Names, at most `limit`, then how many more.
pub(super) fn listed(names: &[String], limit: usize) -> String {
    let mut out = names.iter().take(limit).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > limit {
        let _ = write!(out, ", and {} more", names.len() - limit);
    }
    out
}

/// What became of a value: `new`, `gone` or `differs`.
pub(super) fn fate(place: &Place<'_>) -> &'static str {
    match (place.old(), place.now()) {
        (None, _) => "is new",
        (Some(_), None) => "is gone",
        (Some(_), Some(_)) => "differs",
    }
}

/// Old and new text as a message shows them: a word diff, or the one that there is.
pub(super) fn text_details(scene: &Scene<'_>, place: &Place<'_>) -> Vec<Detail> {
    match place.texts() {
        (Some(old), Some(new)) => vec![words::diff(old, new, scene.budget)],
        (None, Some(new)) => vec![quote("it says now", new)],
        (Some(old), None) => vec![quote("it said", old)],
        (None, None) => Vec::new(),
    }
}

/// A peer's text, quoted.
pub(super) fn quote(label: &str, text: &str) -> Detail {
    let mut cut: String = text.chars().take(LONGEST_QUOTE).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    Detail::Quote { label: label.to_owned(), text: cut }
}

/// A text of one line, as a title: what it was and what it is.
pub(super) fn short_text(place: &Place<'_>, rule: &'static str, message: String) -> Draft {
    if differs_in_spacing_only(place) {
        spacing(place, &message)
    } else {
        Draft::plain(place, rule, message).told(place)
    }
}

/// A text of any length.
pub(super) fn long_text(scene: &Scene<'_>, place: &Place<'_>, rule: &'static str, message: String) -> Draft {
    if differs_in_spacing_only(place) {
        return spacing(place, &message);
    }
    let mut draft = Draft::plain(place, rule, message);
    draft.details.extend(text_details(scene, place));
    draft
}

/// Whether both are texts that differ in white space or Unicode normal form only; a blank text equals none.
pub(super) fn differs_in_spacing_only(place: &Place<'_>) -> bool {
    let text = |value: Option<&Json>| match value {
        None => Some(String::new()),
        Some(value) => value.as_str().map(words::collapsed),
    };
    let (old, new) = (text(place.old()), text(place.now()));
    old.is_some() && old == new
}

fn spacing(place: &Place<'_>, message: &str) -> Draft {
    Draft::plain(place, "x.other-changed", format!("{message}, in white space or normal form only"))
}

/// `cacheScope` of an answer.
pub(super) fn cache_scope(place: &Place<'_>) -> Draft {
    let case = match place.texts() {
        (Some("private"), Some("public")) => "to_public",
        _ => "other",
    };
    Draft::at(place, "mcp.cache-hint-changed", case, "the cache scope differs".to_owned()).told(place)
}

/// Icons of a tool, resource or prompt.
pub(super) fn icons(scene: &Scene<'_>, place: &Place<'_>, rule: &'static str, of: &str) -> Draft {
    let known: BTreeSet<String> = sources(place.old()).iter().filter_map(|source| host(source)).collect();
    let is_unsafe = |source: &&str| {
        source.to_ascii_lowercase().starts_with("http:")
            || (source.starts_with("data:") && source.len() > 8 * 1024)
            || host(source).is_some_and(|host| host != scene.host && !known.contains(&host))
    };
    let old: BTreeSet<&str> = sources(place.old()).into_iter().collect();
    let case = if sources(place.now()).iter().filter(|source| !old.contains(*source)).any(is_unsafe) {
        "unsafe"
    } else {
        "plain"
    };
    Draft::at(
        place,
        rule,
        case,
        format!("the icons of {of} {}", fate(place).replace("is", "are").replace("differs", "differ")),
    )
    .line(format!("from: {}", origins(place.old())))
    .line(format!("now:  {}", origins(place.now())))
}

fn sources(value: Option<&Json>) -> Vec<&str> {
    let icons = value.and_then(Json::as_array).into_iter().flatten();
    icons.filter_map(|icon| icon.member("src")?.as_str()).collect()
}

fn host(source: &str) -> Option<String> {
    Url::parse(source).ok()?.host_str().map(str::to_ascii_lowercase)
}

fn origins(value: Option<&Json>) -> String {
    let origin = |source: &str| match Url::parse(source) {
        Ok(url) => {
            url.host_str().map_or_else(|| format!("{}:", url.scheme()), |host| format!("{}://{host}", url.scheme()))
        }
        Err(_) => "no address".to_owned(),
    };
    let all: BTreeSet<String> = sources(value).into_iter().map(origin).collect();
    let all: Vec<String> = all.iter().map(|origin| shown(origin)).collect();
    if all.is_empty() { "(none)".to_owned() } else { listed(&all, 5) }
}

/// `_meta` of an item.
pub(super) fn meta(place: &Place<'_>, rule: &'static str, of: &str) -> Draft {
    let names: Vec<String> = place.changed().iter().map(|member| shown(member.name())).collect();
    let draft = Draft::plain(place, rule, format!("the _meta of {of} {}", fate(place)));
    if names.is_empty() { draft } else { draft.line(format!("members that differ: {}", listed(&names, 10))) }
}
