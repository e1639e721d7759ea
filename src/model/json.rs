//! JSON as a peer wrote it: every number keeps its digits, every string its characters, and what RFC 8259
//! leaves open (duplicate member names, lone surrogates) is kept escaped and reported.
//!
//! `serde_json::Value` would round numbers beyond 2^53 and drop duplicate members; both hide drift. The parser
//! counts values and depth while it reads, so that a hostile document costs its bytes and no more.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

mod number;
mod parse;
mod write;

pub use number::Number;
pub use parse::{Issue, IssueKind, Limits, ParseError, ParseErrorKind, Parsed};

/// The members of a JSON object, by name in code point order.
pub type Members = BTreeMap<String, Json>;

/// A JSON value with exact numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Json {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, equal by decimal value: `1`, `1.0` and `10e-1` are one number.
    Number(Number),
    /// A string. A lone surrogate is kept as the six characters of its escape.
    String(String),
    /// An array, order kept.
    Array(Vec<Self>),
    /// An object; the second member of one name has the key NAME, U+0000, `2`.
    Object(Members),
}

impl Json {
    /// Parses one document under `limits`.
    ///
    /// # Errors
    /// Says what is wrong and at which byte when `text` is no JSON or is beyond `limits`.
    pub fn parse(text: &[u8], limits: Limits) -> Result<Parsed, ParseError> {
        parse::parse(text, limits)
    }

    /// Parses a document of our own (a stored value, a saved snapshot), without counting limits.
    ///
    /// # Errors
    /// As [`Json::parse`].
    pub fn parse_trusted(text: &[u8]) -> Result<Self, ParseError> {
        parse::parse_unescaped(text).map(|parsed| parsed.value)
    }

    /// The canonical form: RFC 8785 order and escapes, numbers by exact decimal value (design, section 3).
    #[must_use]
    pub fn canonical(&self) -> String {
        write::canonical(self)
    }

    /// An empty object.
    #[must_use]
    pub const fn object() -> Self {
        Self::Object(Members::new())
    }

    /// The member `name` of an object; `None` for every other value.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.get(name),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) | Self::Array(_) => None,
        }
    }

    /// The text of a string.
    #[must_use]
    pub const fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text.as_str()) } else { None }
    }

    /// The members of an object.
    #[must_use]
    pub const fn as_object(&self) -> Option<&Members> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    /// The elements of an array.
    #[must_use]
    pub const fn as_array(&self) -> Option<&Vec<Self>> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// The truth value of a boolean.
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// The number.
    #[must_use]
    pub const fn as_number(&self) -> Option<&Number> {
        if let Self::Number(value) = self { Some(value) } else { None }
    }

    /// The value a pointer leads to.
    #[must_use]
    pub fn pointer(&self, pointer: &super::pointer::Pointer) -> Option<&Self> {
        pointer.tokens().try_fold(self, |value, token| match value {
            Self::Object(members) => members.get(token),
            Self::Array(items) => token.parse::<usize>().ok().and_then(|index| items.get(index)),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => None,
        })
    }

    /// What kind of value this is, in the words of JSON Schema.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }
}

/// Writes the canonical form.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.canonical())
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Self::Number(Number::from(value))
    }
}

impl From<Vec<Self>> for Json {
    fn from(items: Vec<Self>) -> Self {
        Self::Array(items)
    }
}

impl<K: Into<String>, const N: usize> From<[(K, Self); N]> for Json {
    fn from(members: [(K, Self); N]) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }
}

/// Converts what our own code built; numbers of `serde_json` are written in their shortest form.
impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(*value),
            serde_json::Value::Number(number) => Self::Number(Number::from_decimal(&number.to_string())),
            serde_json::Value::String(text) => Self::String(text.clone()),
            serde_json::Value::Array(items) => Self::Array(items.iter().map(Self::from).collect()),
            serde_json::Value::Object(members) => {
                Self::Object(members.iter().map(|(name, value)| (name.clone(), Self::from(value))).collect())
            }
        }
    }
}

/// Written raw through `serde_json`, so that every digit survives; other formats are not supported.
impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::value::RawValue::from_string(self.canonical())
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

/// Read raw through `serde_json`, so that every digit survives; other formats are not supported.
impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        Self::parse_trusted(raw.get().as_bytes()).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
