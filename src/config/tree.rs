//! The YAML of a file as a tree that knows where each key and value stands.
//!
//! Decides what YAML we take: one document, keys that are texts, aliases and merge keys within limits. serde stops at
//! the first mistake; a tree is read whole, and its decoders (`elements`) report everything that is wrong with it.
//! Numbers are kept as written: `1.0` in a label is `1.0`.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{DuplicateKeyPolicy, Location, MergeKeyPolicy, NonFiniteFloatPolicy, Options, Spanned};

use super::error::ConfigError;
use super::source::{Source, Span};

/// A value and its place.
#[derive(Debug)]
pub(super) struct Node {
    /// Where it is written; for an alias, where the alias is.
    pub(super) span: Span,
    /// Where its text stands; differs from `span` behind an alias.
    pub(super) defined: Span,
    pub(super) value: Value,
}

#[derive(Debug)]
pub(super) enum Value {
    Null,
    Flag(bool),
    /// A plain scalar that YAML takes for a number; its spelling is in the source.
    Number,
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value. A key that stands twice makes two entries.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) span: Span,
    pub(super) value: Node,
}

impl Value {
    /// What it is, in words.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Flag(_) => "true or false",
            Self::Number => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// Reads a file's text.
pub(super) fn parse(source: &Source) -> Result<Node, (Span, ConfigError)> {
    // An empty document has no place of its own.
    let read = serde_saphyr::from_str_with_options::<Node>(source.text(), options());
    read.map_err(|error| {
        let span = error.location().map_or(Span { start: 0, end: 0 }, |at| source.at(at.line(), at.column()));
        (span, mistake(&error, source.text_from(span)))
    })
}

/// Large inventories are written by programs and hold millions of plain values; what multiplies (aliases, merge keys,
/// depth) is held far below that.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_documents: 2,
            max_depth: 32,
            max_events: 20_000_000,
            max_nodes: 10_000_000,
            max_anchors: 1_000,
            max_aliases: 10_000,
            max_recorded_anchor_events: 50_000,
            max_merge_keys: 10_000,
            // Sharing one map among all targets is what aliases are for; what they expand to is limited below.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 500_000, max_replay_stack_depth: 16 },
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        merge_keys: MergeKeyPolicy::Merge,
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    }
}

/// `rest` is what stands at the place of the error.
fn mistake(error: &serde_saphyr::Error, rest: &str) -> ConfigError {
    use serde_saphyr::Error as Yaml;
    let error = error.without_snippet();
    if matches!(error, Yaml::MultipleDocuments { .. }) {
        return ConfigError::TwoDocuments;
    }
    // What an alias stands for was read once, where it is defined: reading it again can only be too much.
    let too_much = matches!(
        error,
        Yaml::Budget { .. }
            | Yaml::AliasError { .. }
            | Yaml::AliasReplayCounterOverflow { .. }
            | Yaml::AliasReplayLimitExceeded { .. }
            | Yaml::AliasExpansionLimitExceeded { .. }
            | Yaml::AliasReplayStackDepthExceeded { .. }
    );
    if too_much {
        return ConfigError::TooComplex;
    }
    // The place is said in our own way.
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or_default();
    let remedy = match rest.chars().next() {
        Some('>' | '|' | '*' | '&' | '!' | '%' | '@' | '`') => "a text that starts so is written in quotes",
        Some('\t') => "indent with spaces",
        _ => "",
    };
    ConfigError::NotYaml(message.to_owned(), remedy)
}

fn span(location: Location) -> Span {
    // Values of the source always have byte offsets; only errors may lack them.
    let narrow = |offset: Option<u64>| offset.and_then(|offset| u32::try_from(offset).ok()).unwrap_or(0);
    let start = narrow(location.span().byte_offset());
    Span { start, end: start.saturating_add(narrow(location.span().byte_len())) }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, referenced, defined } = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { span: span(referenced), defined: span(defined), value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Flag(flag))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Vec::new();
        while let Some((key, value)) = entries.next_entry::<Spanned<String>, Node>()? {
            map.push(Entry { key: key.value, span: span(key.referenced), value });
        }
        Ok(Value::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outline(source: &Source, node: &Node) -> String {
        match &node.value {
            Value::Null => "null".to_owned(),
            Value::Flag(flag) => flag.to_string(),
            Value::Number => format!("number {}", source.written(node.defined)),
            Value::Text(text) => format!("{text:?}"),
            Value::List(items) => {
                let items: Vec<_> = items.iter().map(|item| outline(source, item)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Map(entries) => {
                let one = |entry: &Entry| {
                    let (line, column) = source.position(entry.span);
                    format!("{}@{line}:{column} {}", entry.key, outline(source, &entry.value))
                };
                format!("{{{}}}", entries.iter().map(one).collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn read(text: &str) -> Result<String, String> {
        let source = Source::new("f.yaml".into(), text.to_owned());
        match parse(&source) {
            Ok(node) => Ok(outline(&source, &node)),
            Err((span, error)) => {
                let (line, column) = source.position(span);
                Err(format!("{line}:{column} {error}"))
            }
        }
    }

    #[test]
    fn scalars_keep_their_kind_and_numbers_their_spelling() {
        let text = "a: 1_000\nb: 1.0\nc: yes\nd: \"5\"\ne: ~\nf: true\ng: 1e999\nh: 012\ni: 30s\nj: .inf\n";
        insta::assert_snapshot!(read(text).unwrap(), @r#"{a@1:1 number 1_000, b@2:1 number 1.0, c@3:1 "yes", d@4:1 "5", e@5:1 null, f@6:1 true, g@7:1 number 1e999, h@8:1 number 012, i@9:1 "30s", j@10:1 number .inf}"#);
    }

    #[test]
    fn a_key_that_stands_twice_makes_two_entries() {
        assert_eq!(read("a: 1\na: 2\n").unwrap(), "{a@1:1 number 1, a@2:1 number 2}");
    }

    #[test]
    fn an_alias_stands_where_it_is_used_and_reads_where_it_is_defined() {
        let text = "x: &x { team: 7 }\ny: *x\nz: { <<: *x, own: 1 }\n";
        insta::assert_snapshot!(read(text).unwrap(), @"{x@1:1 {team@1:9 number 7}, y@2:1 {team@2:4 number 7}, z@3:1 {own@3:14 number 1, team@3:10 number 7}}");
    }

    #[test]
    fn an_empty_file_is_nothing() {
        assert_eq!(read("").unwrap(), "null");
        assert_eq!(read("# only words\n").unwrap(), "null");
    }

    #[test]
    fn what_is_no_yaml_has_a_place() {
        for (text, expected) in [
            ("a: [1", "1:4"),
            ("a: \"abc", "1:4"),
            ("a:\n\t- b", "2:2"),
            ("a: b: c", "1:5"),
            ("a: *b", "1:4"),
            ("a: &a [*a]", "1:8"),
            ("? [a]\n: b", "1:3"),
            ("a: !custom b", "1:"),
            ("a: 1\n---\nb: 2", "3:1"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.starts_with(expected), "{text:?} gave {message}");
        }
    }

    #[test]
    fn what_multiplies_or_nests_without_end_is_refused() {
        let mut aliases = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        let mut merges = "a0: &a0 { b: c }\n".to_owned();
        for n in 1..12 {
            let previous = format!("*a{},", n - 1).repeat(9);
            aliases.extend([format!("a{n}: &a{n} [{previous}]\n")]);
            merges.extend([format!("a{n}: &a{n} {{ x{n}: y, <<: [{previous}] }}\n")]);
        }
        let nested: String = (0..2_000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        for text in [aliases, merges, nested] {
            let message = read(&text).unwrap_err();
            assert!(message.contains("nests too deeply"), "{message}");
        }
        assert!(read(&"[".repeat(100_000)).is_err());
    }
}
