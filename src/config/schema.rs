//! The JSON Schema of both files, for editors: generated from the tables of elements, so that it cannot know another key
//! than the decoders do.
//!
//! A schema says less than a decoder: what depends on another key, on another file or on a secret's value shows when the
//! configuration is read.

use serde_json::{Map, Value, json};

use super::elements::{Bounds, Element, Form, Shape};
use super::{daemon_file, inventory_file};

/// A file that a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Described {
    /// `driftd.yaml`.
    Daemon,
    /// An inventory file that a person writes.
    Inventory,
    /// An inventory file that another program writes.
    Listed,
}

/// The schema of a file (JSON Schema, 2020-12).
#[must_use]
pub fn schema(described: Described) -> Value {
    let (title, description, elements) = match described {
        Described::Daemon => ("driftd.yaml", "What driftd does, and whom it tells", daemon_file::KEYS),
        Described::Inventory => ("inventory.yaml", "What driftd watches", inventory_file::KEYS),
        Described::Listed => {
            ("a listed inventory", "What driftd watches, written by another program", inventory_file::LISTED_KEYS)
        }
    };
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!(title));
    schema.insert("description".to_owned(), json!(description));
    schema.insert("$defs".to_owned(), json!({ "secret": secret() }));
    schema.extend(map(elements));
    // A file of comments alone says nothing, which `driftd.yaml` may.
    if described == Described::Daemon {
        schema.insert("type".to_owned(), json!(["object", "null"]));
    }
    Value::Object(schema)
}

fn map(elements: &[Element]) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("additionalProperties".to_owned(), json!(false));
    let properties = elements.iter().map(|element| (element.key.to_owned(), property(element))).collect();
    schema.insert("properties".to_owned(), Value::Object(properties));
    let required: Vec<&str> = elements.iter().filter(|element| element.required).map(|element| element.key).collect();
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

fn property(element: &Element) -> Value {
    let mut schema = shape(&element.shape);
    if let Value::Object(schema) = &mut schema {
        schema.insert("description".to_owned(), json!(element.says));
    }
    schema
}

fn shape(of: &Shape) -> Value {
    match of {
        Shape::Text(form) => text(*form),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Count(Bounds { least, most }) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::Duration(_) => json!({ "type": "string", "pattern": "^[0-9]+[smhd]$" }),
        Shape::Word(words) => json!({ "enum": words }),
        Shape::Secret => json!({ "$ref": "#/$defs/secret" }),
        Shape::TextOrSecret(form) => json!({ "anyOf": [text(*form), { "$ref": "#/$defs/secret" }] }),
        Shape::Empty => json!({ "type": ["object", "null"], "maxProperties": 0 }),
        Shape::List(item) => json!({ "type": "array", "items": shape(item) }),
        Shape::OneOrList(one) => json!({ "anyOf": [shape(one), { "type": "array", "items": shape(one) }] }),
        Shape::Names(value) => json!({ "type": "object", "additionalProperties": shape(value) }),
        Shape::Map(elements) => Value::Object(map(elements)),
        Shape::Or(one, other) => json!({ "anyOf": [shape(one), shape(other)] }),
    }
}

fn text(form: Form) -> Value {
    let pattern = match form {
        // YAML takes a text of digits for a number; we take it as it is written.
        Form::Free | Form::Argument => return json!({ "type": ["string", "number", "boolean"] }),
        Form::Id => return json!({ "type": ["string", "integer"], "pattern": "^[a-z0-9][a-z0-9._-]{0,63}$" }),
        Form::Cron | Form::Mailbox | Form::Path | Form::Zone => return json!({ "type": "string", "minLength": 1 }),
        Form::Address => r"^(\[[0-9A-Fa-f:.]+\]|[0-9.]+):[0-9]{1,5}$",
        Form::Contact => "^(mailto:|https?://)",
        Form::Comparison => "^(>=|<=|=)? *(info|low|medium|high|critical)$",
        Form::Host => r"^(\*\.)?[^*/: ]+$|^\[[0-9A-Fa-f:.]+\]$",
        Form::Network => "^[0-9A-Fa-f:.]+/[0-9]{1,3}$",
        Form::Percent => "^(100|[0-9]{1,2})%$",
        Form::Place => r"^[^/]+(/[^/]+)*$",
        Form::Rule => "^[a-z0-9._*-]{1,64}$",
        Form::Url => "^https?://",
        Form::When => "^[0-9]{4}-[0-9]{2}-[0-9]{2}",
    };
    json!({ "type": "string", "pattern": pattern })
}

fn secret() -> Value {
    let place = |key: &str, says: &str| {
        json!({
            "type": "object",
            "required": [key],
            "additionalProperties": false,
            "properties": { (key): { "type": "string", "minLength": 1, "description": says } },
        })
    };
    json!({
        "description": "where a secret is; it is never written here",
        "oneOf": [
            place("env", "an environment variable"),
            place("file", "a file, relative to this one"),
            place("credential", "a credential that systemd passes"),
        ],
    })
}

#[cfg(test)]
mod tests;
