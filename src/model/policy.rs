//! How an inventory entry wants its changes judged: what it does not want to hear of, what weighs more or less for it,
//! what needs no person, and who uses what. Applied by the judge, in this order after the rules' own severity.

use jiff::Timestamp;

use super::rule::Severity;

/// The wishes of one target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignore {
    /// Where, and what.
    pub matches: PolicyMatch,
    /// Why; a person's words.
    pub reason: String,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
}

/// Another severity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reweigh {
    /// Where, and what.
    pub matches: PolicyMatch,
    /// The severity; `None` for `off`: recorded, never told.
    pub set: Option<Severity>,
}

/// A change that needs no person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoAccept {
    /// Where, and what.
    pub matches: PolicyMatch,
    /// The worst severity that is taken so.
    pub at_most: Severity,
    /// Why; a person's words.
    pub reason: Option<String>,
}

/// What a wish is about; a part that is `None` matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyMatch {
    /// The rule's id; `*` stands for any characters (`tool.*`).
    pub rule: Option<String>,
    /// Facet and path.
    pub path: Option<PathPattern>,
}

/// `FACET/SEGMENT/…`: `*` is one segment, `**` any number, a literal `*` is `~2` (design, section 3). The facet stands
/// before the path; without `@` it is the facet of every face.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern(pub Vec<PatternSegment>);

/// A segment of a [`PathPattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternSegment {
    /// This one, unescaped.
    Exactly(String),
    /// Any one.
    One,
    /// Any number, none included.
    Many,
}

/// Who uses what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// Its name.
    pub name: String,
    /// Names of the items it uses; empty: all of them.
    pub uses: Vec<String>,
}
