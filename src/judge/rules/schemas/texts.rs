//! Texts in a schema apart from what it accepts, and sets apart from their order.
//!
//! A keyword counts only where a schema stands: a property called `title` and a default that holds `description` are
//! no texts.

use crate::judge::rename::tokens;
use crate::model::json::{Json, Members};

/// What a value inside a schema is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// A schema.
    Schema,
    /// A map of schemas by name.
    Map,
    /// An array of schemas.
    List,
    /// A text keyword.
    Text,
    /// A set keyword: `required`, `enum`, `type`.
    Set,
    /// Data.
    Data,
}

impl Position {
    /// What stands under `keyword` of a schema, or the property `keyword`.
    pub(super) fn of(keyword: &str, is_property: bool) -> Self {
        if is_property { Self::Schema } else { Self::under(keyword) }
    }

    fn under(keyword: &str) -> Self {
        match keyword {
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" => Self::Map,
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => Self::List,
            "items"
            | "additionalProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames"
            | "additionalItems"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Self::Schema,
            "title" | "description" | "examples" | "$comment" => Self::Text,
            "required" | "enum" | "type" => Self::Set,
            _ => Self::Data,
        }
    }
}

/// Whether both are equal once the order of sets is put aside.
pub(super) fn same_sets(old: Option<&Json>, new: Option<&Json>, position: Position) -> bool {
    old.map(|value| rewritten(value, position, &|_| true)) == new.map(|value| rewritten(value, position, &|_| true))
}

/// Whether both are equal once texts are put aside.
pub(super) fn only_texts_differ(old: Option<&Json>, new: Option<&Json>, position: Position) -> bool {
    if position == Position::Text {
        return true;
    }
    let bare = |value: Option<&Json>| value.map(|value| rewritten(value, position, &|_| false));
    old.is_some() && new.is_some() && bare(old) == bare(new)
}

/// Whether only titles differ, and each of them is made from the name it stands at.
pub(super) fn only_generated_titles(
    old: Option<&Json>,
    new: Option<&Json>,
    position: Position,
    names: &[&str; 2],
) -> bool {
    let [name, tool] = names;
    match position {
        Position::Text => *name == "title" && [old, new].into_iter().flatten().all(|title| is_made_from(title, tool)),
        Position::Schema => {
            let without =
                |value: Option<&Json>| value.map(|value| rewritten(value, position, &|keyword| keyword != "title"));
            let made = |value: Option<&Json>| value.is_none_or(|value| titles_are_made(value, name));
            without(old) == without(new) && made(old) && made(new)
        }
        Position::Map | Position::List | Position::Set | Position::Data => false,
    }
}

fn titles_are_made(schema: &Json, name: &str) -> bool {
    let own = schema.member("title").is_none_or(|title| is_made_from(title, name));
    let below = schema.member("properties").and_then(Json::as_object).into_iter().flatten();
    own && below.into_iter().all(|(name, schema)| titles_are_made(schema, name))
}

/// `Max Length` is made from `max_length`, `echoArguments` from `echo`.
fn is_made_from(title: &Json, name: &str) -> bool {
    let words = |text: &str| tokens(text).concat();
    title.as_str().is_some_and(|title| words(title).starts_with(&words(name)))
}

/// The value with sets sorted and without the texts that `keeps` refuses.
fn rewritten(value: &Json, position: Position, keeps: &dyn Fn(&str) -> bool) -> Json {
    match (position, value) {
        (Position::Schema, Json::Object(members)) => {
            let kept =
                members.iter().filter(|(keyword, _)| Position::under(keyword) != Position::Text || keeps(keyword));
            let new = kept.map(|(keyword, value)| (keyword.clone(), rewritten(value, Position::under(keyword), keeps)));
            Json::Object(new.collect::<Members>())
        }
        (Position::Map, Json::Object(members)) => {
            let new = members.iter().map(|(name, value)| (name.clone(), rewritten(value, Position::Schema, keeps)));
            Json::Object(new.collect::<Members>())
        }
        (Position::List, Json::Array(items)) => {
            Json::Array(items.iter().map(|item| rewritten(item, Position::Schema, keeps)).collect())
        }
        (Position::Set, Json::Array(items)) => {
            let mut items = items.clone();
            items.sort();
            Json::Array(items)
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse_trusted(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_property_called_title_is_no_text() {
        let old = json(r#"{"properties":{"title":{"type":"string"}},"title":"A"}"#);
        let new = json(r#"{"properties":{"title":{"type":"number"}},"title":"B"}"#);
        assert!(!only_texts_differ(Some(&old), Some(&new), Position::Schema));
        let other = json(r#"{"properties":{"title":{"type":"string","description":"x"}},"title":"B"}"#);
        assert!(only_texts_differ(Some(&old), Some(&other), Position::Schema));
    }

    #[test]
    fn the_order_of_a_set_is_no_change() {
        let (old, new) = (json(r#"["a","b"]"#), json(r#"["b","a"]"#));
        assert!(same_sets(Some(&old), Some(&new), Position::Set));
        assert!(!same_sets(Some(&old), Some(&new), Position::Data));
    }

    #[test]
    fn a_title_made_from_its_name_is_known() {
        assert!(is_made_from(&json("\"Max Length\""), "max_length"));
        assert!(is_made_from(&json("\"echoArguments\""), "echo"));
        assert!(!is_made_from(&json("\"Send to admin\""), "text"));
    }
}
