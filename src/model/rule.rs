//! What a rule is: severity, impact, class, fold. The table of rules is `judge::rules`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How bad it is, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Recorded and shown, never urgent.
    Info,
    /// Worth a look some day.
    Low,
    /// Worth a decision.
    Medium,
    /// Worth a decision today.
    High,
    /// Worth waking somebody.
    Critical,
}

impl Severity {
    /// All severities, mildest first.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// The lower-case word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// One step worse; `critical` stays.
    #[must_use]
    pub const fn raised(self) -> Self {
        match self {
            Self::Info => Self::Low,
            Self::Low => Self::Medium,
            Self::Medium => Self::High,
            Self::High | Self::Critical => Self::Critical,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that is no severity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a severity is info, low, medium, high or critical, not {0:?}")]
pub struct SeverityError(String);

impl FromStr for Severity {
    type Err = SeverityError;

    fn from_str(word: &str) -> Result<Self, SeverityError> {
        Self::ALL.into_iter().find(|severity| severity.as_str() == word).ok_or_else(|| SeverityError(word.to_owned()))
    }
}

/// What a change does, and to whom (design, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Impact {
    /// Calls that worked fail.
    Breaking,
    /// A protection weakened, an attack enabled, new reach.
    Security,
    /// More is reachable or asked for.
    Exposure,
    /// Models or clients act differently.
    Behavior,
    /// Seen by people only.
    Cosmetic,
    /// Running the service, ours or theirs.
    Operational,
    /// A specification is not kept.
    Conformance,
}

impl Impact {
    /// All impacts.
    pub const ALL: [Self; 7] = [
        Self::Breaking,
        Self::Security,
        Self::Exposure,
        Self::Behavior,
        Self::Cosmetic,
        Self::Operational,
        Self::Conformance,
    ];

    /// The lower-case word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Breaking => "breaking",
            Self::Security => "security",
            Self::Exposure => "exposure",
            Self::Behavior => "behavior",
            Self::Cosmetic => "cosmetic",
            Self::Operational => "operational",
            Self::Conformance => "conformance",
        }
    }
}

impl fmt::Display for Impact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which confirmation a drift needs (design, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// High or critical, with security in its impact.
    Security,
    /// Everything else that is listed or published.
    Surface,
    /// What we could not see.
    Sight,
}

/// How drifts of one rule and case fold into units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fold {
    /// Same place relative to its item, same rule and case.
    Case,
    /// The same, and the same value before and after.
    Value,
}

/// A rule and one of its cases; a rule without cases has the case `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RuleCase {
    /// The rule's id, as `tool.removed`.
    pub rule: String,
    /// The case, or `-`.
    pub case: String,
}

impl RuleCase {
    /// The case `case` of the rule `rule`.
    #[must_use]
    pub fn new(rule: &str, case: &str) -> Self {
        Self { rule: rule.to_owned(), case: case.to_owned() }
    }
}

impl fmt::Display for RuleCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.case == "-" { f.write_str(&self.rule) } else { write!(f, "{}/{}", self.rule, self.case) }
    }
}
