//! Descriptions of tools: how much of the words changed, and whether what changed speaks to the model.

use std::collections::BTreeSet;

use crate::judge::diff::Place;
use crate::judge::words::{Overlap, words};
use crate::model::json::Json;

use super::common;
use super::draft::{Draft, Scene};

/// Share of the shorter text's words, in percent, below which a text is rewritten.
const REWRITTEN_BELOW: usize = 45;
/// Words a text must have to be called rewritten.
const REWRITTEN_FROM: usize = 12;

/// Words that speak to a model rather than of a tool.
const DIRECTIVE: [&str; 14] = [
    "must",
    "always",
    "never",
    "should",
    "shall",
    "ignore",
    "instead",
    "mandatory",
    "important",
    "you",
    "your",
    "don",
    "dont",
    "required",
];
/// Words beside which a number is a limit.
const LIMIT: [&str; 8] = ["most", "maximum", "max", "limit", "limited", "least", "minimum", "up"];
/// Words that move a model to act.
const POWER: [&str; 15] = [
    "execute",
    "delete",
    "send",
    "admin",
    "sudo",
    "password",
    "secret",
    "secrets",
    "token",
    "tokens",
    "ignore",
    "always",
    "must",
    "never",
    "credentials",
];
const WRITING: [&str; 18] = [
    "write",
    "writes",
    "delete",
    "deletes",
    "create",
    "creates",
    "update",
    "updates",
    "modify",
    "modifies",
    "send",
    "sends",
    "remove",
    "removes",
    "execute",
    "executes",
    "overwrite",
    "overwrites",
];
const READING: [&str; 9] = ["get", "list", "read", "search", "find", "fetch", "show", "describe", "query"];
const NEGATION: [&str; 6] = ["not", "never", "no", "without", "cannot", "nor"];

/// The drift of a tool's description.
pub(super) fn description(scene: &Scene<'_>, place: &Place<'_>, tool: &str, item: &Place<'_>) -> Draft {
    let of = format!("the description of {tool}");
    let (Some(old), Some(new)) = (text(place.old()), text(place.now())) else {
        return Draft::other(place, format!("{of} is no text, or was none"));
    };
    if common::differs_in_spacing_only(place) {
        let message = format!("{of} differs in white space or normal form only");
        return Draft::plain(place, "tool.description-whitespace", message);
    }
    let (rule, case, message) = judged(scene, old, new, item);
    let mut draft = Draft::at(place, rule, case, format!("{of} {message}"));
    draft.details.extend(common::text_details(scene, place));
    companions(draft, old, new)
}

fn text(value: Option<&Json>) -> Option<&str> {
    value.map_or(Some(""), Json::as_str)
}

fn judged(scene: &Scene<'_>, old: &str, new: &str, item: &Place<'_>) -> (&'static str, &'static str, &'static str) {
    let overlap = Overlap::of(old, new);
    if stood_as_reading(item) && writes(new) && !writes(old) {
        return ("tool.write-scope-gained", "-", "says that it writes now");
    }
    if overlap.shorter >= REWRITTEN_FROM && !overlap.at_least(REWRITTEN_BELOW) {
        return ("tool.description-rewritten", "-", "is rewritten");
    }
    if directives(old) != directives(new) || mentioned(scene, old) != mentioned(scene, new) {
        return ("tool.description-changed", "directive", "changed in what it tells the model to do or limits");
    }
    if says_deprecated(new) && !says_deprecated(old) {
        return ("tool.deprecated-marked", "-", "calls it deprecated now");
    }
    ("tool.description-changed", "wording", "is reworded")
}

fn companions(mut draft: Draft, old: &str, new: &str) -> Draft {
    let power = |text: &str| words(text).filter(|word| POWER.contains(&word.as_str())).collect::<BTreeSet<_>>();
    let (before, after) = (power(old), power(new));
    let mut came: Vec<String> = after.difference(&before).map(|word| format!("+{word}")).collect();
    came.extend(before.difference(&after).map(|word| format!("-{word}")));
    if !came.is_empty() {
        draft = draft.noting("tool.description-trigger", format!("words of power: {}", came.join(" ")));
    }
    if !old.is_empty() && (new.len() > 2 * old.len().max(200) || new.len() > old.len() + 2_000) {
        let text = format!("much longer: {} characters, {} before", new.chars().count(), old.chars().count());
        draft = draft.noting("tool.description-length-jumped", text);
    }
    draft
}

/// Sentences that speak to the model or set a limit, by their words.
fn directives(text: &str) -> BTreeSet<Vec<String>> {
    let sentences = text.split(['.', '!', '?', ';', '\n']).map(|sentence| words(sentence).collect::<Vec<_>>());
    sentences.filter(|sentence| is_directive(sentence)).collect()
}

fn is_directive(sentence: &[String]) -> bool {
    let any = |list: &[&str]| sentence.iter().any(|word| list.contains(&word.as_str()));
    let number = sentence.iter().any(|word| word.starts_with(|character: char| character.is_ascii_digit()));
    let do_not = sentence.windows(2).any(|pair| matches!(pair, [first, second] if first == "do" && second == "not"));
    any(&DIRECTIVE) || do_not || (number && any(&LIMIT))
}

/// Names of tools in a text, where they stand out from ordinary words.
fn mentioned<'t>(scene: &Scene<'_>, text: &'t str) -> BTreeSet<&'t str> {
    let is_name = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
    text.split(|character| !is_name(character)).filter(|word| scene.tools.contains(word)).collect()
}

/// Whether a name cannot be taken for an ordinary word.
pub(in crate::judge) fn stands_out(name: &str) -> bool {
    name.contains(['_', '-']) || name.chars().skip(1).any(char::is_uppercase)
}

fn says_deprecated(text: &str) -> bool {
    words(text).any(|word| word == "deprecated")
}

/// Whether the accepted tool was one that reads: by its explicit hint, or by the first word of its name.
fn stood_as_reading(item: &Place<'_>) -> bool {
    let old = item.old();
    let hint = old.and_then(|old| old.member("annotations")?.member("readOnlyHint")?.as_bool());
    let name = old.and_then(|old| old.member("name")?.as_str()).unwrap_or_default();
    hint.unwrap_or_else(|| {
        crate::judge::rename::tokens(name).first().is_some_and(|first| READING.contains(&first.as_str()))
    })
}

/// Whether a text says that its subject writes, and not that it does not.
fn writes(text: &str) -> bool {
    let all: Vec<String> = words(text).collect();
    all.iter().enumerate().any(|(place, word)| {
        let before = all.get(place.saturating_sub(3)..place).unwrap_or_default();
        WRITING.contains(&word.as_str()) && !before.iter().any(|word| NEGATION.contains(&word.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_to_the_model_and_limits_are_directives() {
        for text in ["You must call it first", "Do not tell anybody", "Takes at most 30 seconds", "Always prefer this"]
        {
            assert!(!directives(text).is_empty(), "{text}");
        }
        for text in ["Gives back the text", "Adds two numbers", "Reads 3 files"] {
            assert!(directives(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn a_text_that_denies_writing_does_not_write() {
        assert!(writes("Creates a record"));
        assert!(!writes("Reads records; it does not ever delete them"));
    }
}
