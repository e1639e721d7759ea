//! How an inventory entry wants its changes judged.
//!
//! What it does not want to hear of, what weighs more or less for it, what needs no person, and who uses what. Applied
//! by the judge, in this order after the rules' own severity.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::rule::Severity;

/// The wishes of one target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Policy {
    /// Changes that are recorded and never open anything.
    pub ignore: Vec<Ignore>,
    /// Other severities; the last match wins.
    pub severity: Vec<Reweigh>,
    /// Confirmed changes that are accepted without a person.
    pub auto_accept: Vec<AutoAccept>,
    /// The server's hints (`readOnlyHint` and the like) may also lower a severity (`trust: hints`).
    pub trust_hints: bool,
    /// Who uses which items; empty: any item may be used.
    pub consumers: Vec<Consumer>,
}

/// Of a target without wishes.
pub static NO_POLICY: Policy = Policy {
    ignore: Vec::new(),
    severity: Vec::new(),
    auto_accept: Vec::new(),
    trust_hints: false,
    consumers: Vec::new(),
};

/// Something that is not to be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ignore {
    /// Where, and what.
    pub matches: PolicyMatch,
    /// Why; a person's words.
    pub reason: String,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
}

/// Another severity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reweigh {
    /// Where, and what.
    pub matches: PolicyMatch,
    /// The severity; `None` for `off`: recorded, never told.
    pub set: Option<Severity>,
}

/// A change that needs no person.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AutoAccept {
    /// Where, and what.
    pub matches: PolicyMatch,
    /// The worst severity that is taken so.
    pub at_most: Severity,
    /// Why; a person's words.
    pub reason: Option<String>,
}

/// What a wish is about; a part that is `None` matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PolicyMatch {
    /// The rule's id; `*` stands for any characters (`tool.*`).
    pub rule: Option<String>,
    /// Facet and path.
    pub path: Option<PathPattern>,
}

/// `FACET/SEGMENT/…`: `*` is one segment, `**` any number, a literal `*` is `~2` (design, section 3). The facet stands
/// before the path; without `@` it is the facet of every face.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathPattern(pub Vec<PatternSegment>);

/// A segment of a [`PathPattern`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PatternSegment {
    /// This one, unescaped.
    Exactly(String),
    /// Any one.
    One,
    /// Any number, none included.
    Many,
}

/// Who uses what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Consumer {
    /// Its name.
    pub name: String,
    /// Names of the items it uses; empty: all of them.
    pub uses: Vec<String>,
}

/// Why a drift is recorded and never told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum Suppressed {
    /// An `ignore` of the inventory matches it.
    Ignored {
        /// The inventory's words.
        reason: String,
        /// When it ends by itself.
        until: Option<Timestamp>,
    },
    /// The inventory's `severity` says `off`.
    Off,
}

impl Suppressed {
    /// Labels of `driftd_alerts_suppressed_total`.
    pub const REASONS: [&'static str; 2] = ["ignored", "off"];

    /// When it ends by itself.
    #[must_use]
    pub const fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Ignored { until, .. } => *until,
            Self::Off => None,
        }
    }

    /// The word in documents and metrics.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Ignored { .. } => "ignored",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("/")?;
            }
            match segment {
                PatternSegment::Exactly(name) => {
                    f.write_str(&name.replace('~', "~0").replace('/', "~1").replace('*', "~2"))?;
                }
                PatternSegment::One => f.write_str("*")?,
                PatternSegment::Many => f.write_str("**")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for PolicyMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.rule, &self.path) {
            (Some(rule), Some(path)) => write!(f, "rule {rule} at {path}"),
            (Some(rule), None) => write!(f, "rule {rule}"),
            (None, Some(path)) => write!(f, "{path}"),
            (None, None) => f.write_str("everything"),
        }
    }
}
