//! A target: one inventory entry.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The id of a target: it *is* the target (design, section 2).
///
/// 1 to 64 characters of `a-z 0-9 . _ -`, starting with a letter or digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TargetId(String);

impl TargetId {
    /// The id's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no target id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id has 1 to 64 characters of a-z, 0-9, `.`, `_` and `-`, and starts with a letter or digit")]
pub struct TargetIdError;

impl FromStr for TargetId {
    type Err = TargetIdError;

    fn from_str(text: &str) -> Result<Self, TargetIdError> {
        let letter_or_digit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let valid = (1..=64).contains(&text.len())
            && text.starts_with(letter_or_digit)
            && text.chars().all(|c| letter_or_digit(c) || matches!(c, '.' | '_' | '-'));
        if valid { Ok(Self(text.to_owned())) } else { Err(TargetIdError) }
    }
}

impl TryFrom<String> for TargetId {
    type Error = TargetIdError;

    fn try_from(text: String) -> Result<Self, TargetIdError> {
        text.parse()
    }
}

impl From<TargetId> for String {
    fn from(id: TargetId) -> Self {
        id.0
    }
}

/// The protocol a target is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The Model Context Protocol.
    Mcp,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mcp => f.write_str("mcp"),
        }
    }
}

/// How a target gets its baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineMode {
    /// What is seen steadily at first joins by itself.
    #[default]
    FirstSeen,
    /// A person accepts everything.
    Approve,
}

/// What people see of a target in alerts and documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetSummary {
    /// The id.
    pub id: TargetId,
    /// The protocol.
    pub kind: Kind,
    /// The URL as written, without user information; of a program, `stdio:` and what would be typed.
    pub url: String,
    /// The inventory's labels.
    pub labels: BTreeMap<String, String>,
}
