//! Pairs items that left with items that came: `tool.renamed`, best pairs first.
//!
//! Two tools match when their name tokens overlap by half (Jaccard), or when their property names are equal and are
//! some, or their descriptions overlap by 0.6. Candidates come from indices with a bound for each item, so that no
//! list makes the pairing quadratic.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::json::Json;

use super::words::{Bag, Overlap};

/// Tokens of one name that count.
const MOST_TOKENS: usize = 32;
/// Candidates looked at for one removed item.
const MOST_CANDIDATES: usize = 64;
/// Characters of a description that are compared.
const MOST_TEXT: usize = 2_000;

/// The words of a name, in lower case: cut at case, digits' ends and everything that is no letter or digit.
pub(super) fn tokens(name: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut characters = name.chars().peekable();
    let mut previous: Option<char> = None;
    while let Some(character) = characters.next() {
        let upper = character.is_uppercase();
        let after_lower = previous.is_some_and(|previous| previous.is_lowercase() || previous.is_numeric());
        let ends_acronym =
            previous.is_some_and(char::is_uppercase) && characters.peek().is_some_and(|next| next.is_lowercase());
        if (!character.is_alphanumeric() || (upper && (after_lower || ends_acronym))) && !word.is_empty() {
            out.push(std::mem::take(&mut word));
        }
        if out.len() >= MOST_TOKENS {
            return out;
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        previous = Some(character);
    }
    if !word.is_empty() {
        out.push(word);
    }
    out
}

/// Names of the properties of a tool's input.
pub(super) fn properties(tool: &Json) -> BTreeSet<&str> {
    let properties = tool.member("inputSchema").and_then(|schema| schema.member("properties")?.as_object());
    properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

/// What of a tool is compared.
struct Features<'a> {
    tokens: BTreeSet<String>,
    properties: BTreeSet<&'a str>,
    description: Bag,
}

impl<'a> Features<'a> {
    fn of(tool: &'a Json) -> Self {
        let name = tool.member("name").and_then(Json::as_str).unwrap_or_default();
        let text = tool.member("description").and_then(Json::as_str).unwrap_or_default();
        let end = text.char_indices().nth(MOST_TEXT).map_or(text.len(), |(index, _)| index);
        Self {
            tokens: tokens(name).into_iter().collect(),
            properties: properties(tool),
            description: Bag::of(text.get(..end).unwrap_or_default()),
        }
    }
}

/// Pairs of (removed, added), by index into each; the best first, each item at most once.
pub(super) fn pairs(removed: &[&Json], added: &[&Json]) -> Vec<(usize, usize)> {
    if removed.is_empty() || added.is_empty() {
        return Vec::new();
    }
    let old: Vec<Features<'_>> = removed.iter().map(|tool| Features::of(tool)).collect();
    let new: Vec<Features<'_>> = added.iter().map(|tool| Features::of(tool)).collect();
    let index = Index::of(&new);
    let mut scored: Vec<(u32, usize, usize)> = Vec::new();
    for (left, features) in old.iter().enumerate() {
        for right in index.candidates(features) {
            let score = new.get(right).and_then(|other| score(features, other));
            scored.extend(score.map(|score| (score, left, right)));
        }
    }
    scored.sort_by(|(a, al, ar), (b, bl, br)| b.cmp(a).then(al.cmp(bl)).then(ar.cmp(br)));
    let (mut lefts, mut rights) = (BTreeSet::new(), BTreeSet::new());
    let free = |(_, left, right): &(u32, usize, usize)| {
        let free = !lefts.contains(left) && !rights.contains(right);
        if free {
            lefts.insert(*left);
            rights.insert(*right);
        }
        free
    };
    scored.into_iter().filter(free).map(|(_, left, right)| (left, right)).collect()
}

/// Where to look for the new name of an item.
struct Index<'a> {
    by_token: BTreeMap<&'a str, Vec<usize>>,
    by_properties: BTreeMap<&'a BTreeSet<&'a str>, Vec<usize>>,
}

impl<'a> Index<'a> {
    fn of(items: &'a [Features<'a>]) -> Self {
        let mut index = Self { by_token: BTreeMap::new(), by_properties: BTreeMap::new() };
        for (place, item) in items.iter().enumerate() {
            for token in &item.tokens {
                index.by_token.entry(token).or_default().push(place);
            }
            index.by_properties.entry(&item.properties).or_default().push(place);
        }
        index
    }

    /// Items that share a token, the rarest first, then those with equal properties; half of the bound for each.
    fn candidates(&self, item: &Features<'_>) -> BTreeSet<usize> {
        let mut lists: Vec<&Vec<usize>> =
            item.tokens.iter().filter_map(|token| self.by_token.get(token.as_str())).collect();
        lists.sort_by_key(|list| list.len());
        let mut found: BTreeSet<usize> = BTreeSet::new();
        let by_token = lists.into_iter().flatten().take(4 * MOST_CANDIDATES);
        for place in by_token {
            if found.len() >= MOST_CANDIDATES / 2 {
                break;
            }
            found.insert(*place);
        }
        let alike = self.by_properties.get(&item.properties).into_iter().flatten();
        found.extend(alike.take(MOST_CANDIDATES / 2));
        found
    }
}

/// How well two items match, in thousandths; none when they do not.
fn score(old: &Features<'_>, new: &Features<'_>) -> Option<u32> {
    let names = jaccard(&old.tokens, &new.tokens);
    let parameters = jaccard(&old.properties, &new.properties);
    let equal = old.properties == new.properties;
    if names < 500 && !equal {
        return None;
    }
    let overlap = Overlap::between(&old.description, &new.description);
    let texts_match = overlap.shorter > 0 && overlap.at_least(60);
    let matches = names >= 500 || !old.properties.is_empty() || texts_match;
    let words = (overlap.kept * 1000).checked_div(overlap.shorter).unwrap_or(0);
    matches.then(|| 2 * names + parameters + u32::try_from(words).unwrap_or(0))
}

/// Shared members by all members, in thousandths; two empty sets share nothing by name.
fn jaccard<T: Ord>(left: &BTreeSet<T>, right: &BTreeSet<T>) -> u32 {
    let shared = left.intersection(right).count();
    let all = left.len() + right.len() - shared;
    (shared * 1000).checked_div(all).and_then(|share| u32::try_from(share).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, properties: &[&str], description: &str) -> Json {
        let properties: crate::model::json::Members =
            properties.iter().map(|name| ((*name).to_owned(), Json::object())).collect();
        Json::from([
            ("name", Json::from(name)),
            ("description", Json::from(description)),
            ("inputSchema", Json::from([("properties", Json::Object(properties))])),
        ])
    }

    fn paired(removed: &[Json], added: &[Json]) -> Vec<(usize, usize)> {
        pairs(&removed.iter().collect::<Vec<_>>(), &added.iter().collect::<Vec<_>>())
    }

    #[test]
    fn names_are_cut_into_words() {
        assert_eq!(tokens("readHTTPFile_v2-now"), ["read", "http", "file", "v2", "now"]);
        assert_eq!(tokens("--"), Vec::<String>::new());
    }

    #[test]
    fn half_of_the_tokens_or_equal_parameters_make_a_pair() {
        let old = [
            tool("makeInvoice", &["x"], ""),
            tool("sum", &["a", "b"], ""),
            tool("showDate", &[], "Tells the date of today"),
        ];
        let new = [
            tool("get-total", &["a", "b"], ""),
            tool("make-invoice-now", &["y"], ""),
            tool("clock", &[], "Gives the date of today"),
        ];
        let mut found = paired(&old, &new);
        found.sort_unstable();
        assert_eq!(found, [(0, 1), (1, 0), (2, 2)]);
    }

    #[test]
    fn two_tools_without_parameters_and_with_other_texts_are_no_pair() {
        let old = [tool("ping", &[], "Answers when it is alive")];
        assert!(paired(&old, &[tool("reboot", &[], "Starts the machine anew")]).is_empty());
    }

    #[test]
    fn the_better_pair_wins() {
        let old = [tool("getResourceLinks", &["n"], ""), tool("getResourceRef", &["id"], "")];
        let new = [tool("get-resource-ref", &["id", "kind"], "")];
        assert_eq!(paired(&old, &new), [(1, 0)]);
    }
}
