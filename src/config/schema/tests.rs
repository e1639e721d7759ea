use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::config::source::Source;
use crate::config::tree::{self, Node, Value as Yaml};

fn checkout(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn json_of(source: &Source, node: &Node) -> Value {
    match &node.value {
        Yaml::Null => Value::Null,
        Yaml::Flag(flag) => json!(flag),
        Yaml::Number => serde_json::from_str(source.written(node.defined)).unwrap(),
        Yaml::Text(text) => json!(text),
        Yaml::List(items) => items.iter().map(|item| json_of(source, item)).collect(),
        Yaml::Map(entries) => {
            Value::Object(entries.iter().map(|entry| (entry.key.clone(), json_of(source, &entry.value))).collect())
        }
    }
}

fn read(text: &str) -> Value {
    let source = Source::new("f.yaml".into(), text.to_owned());
    let node = tree::parse(&source).unwrap();
    json_of(&source, &node)
}

/// What of the schema a value does not keep, by place: the words that our schemas use, and no others.
fn broken(schema: &Value, root: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (word, argument) in schema.as_object().unwrap() {
        let fine = match word.as_str() {
            "$schema" | "title" | "description" | "$defs" => true,
            "$ref" => broken(&root["$defs"]["secret"], root, value, place).is_empty(),
            "type" => {
                let is = |name: &Value| match name.as_str().unwrap() {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "null" => value.is_null(),
                    "integer" => value.is_u64(),
                    "number" => value.is_number(),
                    other => panic!("{other}"),
                };
                argument.as_array().map_or_else(|| is(argument), |names| names.iter().any(is))
            }
            "enum" => argument.as_array().unwrap().contains(value),
            "minimum" => value.as_u64().is_none_or(|value| value >= argument.as_u64().unwrap()),
            "maximum" => value.as_u64().is_none_or(|value| value <= argument.as_u64().unwrap()),
            "minLength" => value.as_str().is_none_or(|value| !value.is_empty()),
            "maxProperties" => value.as_object().is_none_or(serde_json::Map::is_empty),
            "pattern" => {
                let pattern = regex::Regex::new(argument.as_str().unwrap()).unwrap();
                value.as_str().is_none_or(|value| pattern.is_match(value))
            }
            "required" => argument
                .as_array()
                .unwrap()
                .iter()
                .all(|key| value.as_object().is_none_or(|value| value.contains_key(key.as_str().unwrap()))),
            "anyOf" | "oneOf" => {
                let kept = |one: &&Value| broken(one, root, value, place).is_empty();
                let count = argument.as_array().unwrap().iter().filter(kept).count();
                if word == "oneOf" { count == 1 } else { count > 0 }
            }
            "items" => {
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                let each = |(index, item)| broken(argument, root, item, &format!("{place}/{index}"));
                all.extend(items.iter().enumerate().flat_map(each));
                true
            }
            "properties" | "additionalProperties" => {
                for (key, item) in value.as_object().into_iter().flatten() {
                    let place = format!("{place}/{key}");
                    let known = schema.get("properties").and_then(|known| known.get(key));
                    match (word.as_str(), known, argument) {
                        ("properties", Some(known), _) => all.extend(broken(known, root, item, &place)),
                        ("additionalProperties", None, Value::Bool(false)) => all.push(format!("{place}: unknown")),
                        ("additionalProperties", None, other) => all.extend(broken(other, root, item, &place)),
                        _ => {}
                    }
                }
                true
            }
            other => panic!("a word that is not looked at: {other}"),
        };
        if !fine {
            all.push(format!("{place}: {word}"));
        }
    }
    all
}

fn check(described: Described, text: &str) -> Vec<String> {
    let schema = schema(described);
    broken(&schema, &schema, &read(text), "")
}

#[test]
fn the_schemas_that_are_shipped_are_current() {
    for (described, file) in
        [(Described::Daemon, "config/driftd.schema.json"), (Described::Inventory, "config/inventory.schema.json")]
    {
        let text = format!("{:#}\n", schema(described));
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(checkout(file), &text).unwrap();
        }
        let shipped = fs::read_to_string(checkout(file)).unwrap_or_default();
        assert_eq!(shipped, text, "{file} is old: run this test with UPDATE_DOCS=1");
    }
}

#[test]
fn the_files_that_are_shipped_name_their_schema_and_keep_it() {
    for (described, file, name) in [
        (Described::Daemon, "config/driftd.yaml", "driftd.schema.json"),
        (Described::Inventory, "config/inventory.yaml", "inventory.schema.json"),
    ] {
        let text = fs::read_to_string(checkout(file)).unwrap();
        let first = text.lines().next().unwrap();
        assert_eq!(first, format!("# yaml-language-server: $schema={name}"), "{file}");
        assert_eq!(check(described, &text), Vec::<String>::new(), "{file}");
        let examples = crate::config::tests::uncommented(&text);
        assert_eq!(check(described, &examples), Vec::<String>::new(), "the examples of {file}");
    }
}

#[test]
fn files_that_are_right_keep_the_schema() {
    let of = |path: &str| fs::read_to_string(checkout("tests/configs").join(path)).unwrap();
    for entry in fs::read_dir(checkout("tests/configs")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("good-") {
            assert_eq!(check(Described::Daemon, &of(name)), Vec::<String>::new(), "{name}");
        }
    }
    for name in ["parts/everything.yml", "parts/team-a.yml", "parts/aliases.yml"] {
        assert_eq!(check(Described::Inventory, &of(name)), Vec::<String>::new(), "{name}");
    }
    assert_eq!(check(Described::Listed, &of("parts/generated.yml")), Vec::<String>::new());
}

#[test]
fn what_an_editor_can_see_is_marked() {
    assert_eq!(
        check(
            Described::Daemon,
            "recievers: []\nscan: { concurrency: 0 }\nstore: { sqlite: }\nroutes: [ { repeat: soon } ]\n\
             people: [ { name: a, token: hunter2, may: [ all ] } ]\nmetrics_listen: localhost:7439\n",
        ),
        [
            "/recievers: unknown",
            "/metrics_listen: pattern",
            "/people/0/may: anyOf",
            "/people/0/token: $ref",
            "/routes/0/repeat: anyOf",
            "/routes/0: required",
            "/scan/concurrency: minimum",
            "/store/sqlite: type",
        ]
    );
    assert_eq!(
        check(
            Described::Inventory,
            "targets:\n- { id: A, kind: a2a, url: a.example, every: 5, ignore: [ { path: /a } ], was: [ B ] }\n",
        ),
        [
            "/targets/0/every: type",
            "/targets/0/id: pattern",
            "/targets/0/ignore/0/path: pattern",
            "/targets/0/ignore/0: required",
            "/targets/0/kind: enum",
            "/targets/0/url: pattern",
            "/targets/0/was: anyOf",
        ]
    );
    assert_eq!(
        check(Described::Listed, "targets: [ { id: a, kind: mcp, url: \"https://a.example\", auth: {} } ]\n"),
        ["/targets/0/auth: unknown"]
    );
}

#[test]
fn every_key_says_what_it_is_for() {
    fn look(schema: &Value, place: &str) {
        for (key, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            assert!(property["description"].as_str().is_some_and(|says| !says.is_empty()), "{place}/{key}");
            look(property, &format!("{place}/{key}"));
        }
    }
    for described in [Described::Daemon, Described::Inventory, Described::Listed] {
        look(&schema(described), "");
    }
}
