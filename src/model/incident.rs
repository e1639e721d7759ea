//! The open units of one owner, with an id and a revision.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::digest::Digest;
use super::drift::Fingerprint;
use super::facet::FacetName;
use super::pointer::Pointer;
use super::rule::{Impact, RuleCase, Severity};
use super::target::TargetId;

/// Five letters of Crockford's base32.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IncidentId([u8; 5]);

const CROCKFORD: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

impl IncidentId {
    /// The id of 25 bits of a hash; `probe` counts up on collision.
    #[must_use]
    pub fn from_digest(digest: Digest, probe: u32) -> Self {
        let seed = Digest::of_parts([&digest.bytes()[..], &probe.to_be_bytes()[..]]);
        let mut letters = [b'0'; 5];
        for (letter, byte) in letters.iter_mut().zip(seed.bytes()) {
            *letter = CROCKFORD.get(usize::from(byte & 31)).copied().unwrap_or(b'0');
        }
        Self(letters)
    }
}

impl fmt::Display for IncidentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))
    }
}

impl fmt::Debug for IncidentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no incident id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an incident is five letters or digits, as 4F7K2, not {0:?}")]
pub struct IncidentIdError(String);

impl FromStr for IncidentId {
    type Err = IncidentIdError;

    /// Reads as Crockford says: any case, `O` is 0, `I` and `L` are 1.
    fn from_str(text: &str) -> Result<Self, IncidentIdError> {
        let error = || IncidentIdError(text.to_owned());
        let bytes: [u8; 5] = text.as_bytes().try_into().map_err(|_| error())?;
        let mut letters = [b'0'; 5];
        for (letter, byte) in letters.iter_mut().zip(bytes) {
            let upper = match byte.to_ascii_uppercase() {
                b'O' => b'0',
                b'I' | b'L' => b'1',
                other => other,
            };
            *letter = CROCKFORD.contains(&upper).then_some(upper).ok_or_else(error)?;
        }
        Ok(Self(letters))
    }
}

impl TryFrom<String> for IncidentId {
    type Error = IncidentIdError;

    fn try_from(text: String) -> Result<Self, IncidentIdError> {
        text.parse()
    }
}

impl From<IncidentId> for String {
    fn from(id: IncidentId) -> Self {
        id.to_string()
    }
}

/// Drift and sight never share an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IncidentKind {
    /// What the target shows has changed.
    Drift,
    /// We cannot see it.
    Sight,
}

/// The open units of one owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// Its id.
    pub id: IncidentId,
    /// The target; of several, the one whose loss opened it.
    pub owner: TargetId,
    /// Further targets that it is about: of one host with the owner, lost in one window. Only sight has them.
    pub with: Vec<TargetId>,
    /// Drift or sight.
    pub kind: IncidentKind,
    /// Grows when a unit is added, or a value or severity in it changes.
    pub revision: u32,
    /// Every unit it has had, by `n`.
    pub units: Vec<Unit>,
    /// Somebody is on it.
    pub acked: Option<Ack>,
    /// When its first unit was confirmed.
    pub opened_at: Timestamp,
    /// When and why its last unit left.
    pub ended: Option<Ended>,
}

impl Incident {
    /// Whether it is about several targets.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        !self.with.is_empty()
    }

    /// Every target that it is about, the owner first.
    pub fn targets(&self) -> impl Iterator<Item = &TargetId> {
        std::iter::once(&self.owner).chain(&self.with)
    }

    /// Whether it is about `target`.
    #[must_use]
    pub fn is_about(&self, target: &TargetId) -> bool {
        self.targets().any(|each| each == target)
    }
}

/// Somebody is on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    /// Who.
    pub by: String,
    /// Since when.
    pub at: Timestamp,
    /// Until when.
    pub until: Option<Timestamp>,
}

/// How an incident ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// When.
    pub at: Timestamp,
    /// Why.
    pub reason: EndReason,
}

/// Why an incident ended: the last unit's way, or the most decided one of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EndReason {
    /// The baseline's values are back (for sight: it answers again).
    Reverted,
    /// Its target left the inventory.
    Retired,
    /// The inventory says now that it is not to be told.
    Ignored,
    /// A person rejected it and it went away.
    Rejected,
    /// Accepted.
    Accepted,
}

impl EndReason {
    /// All reasons.
    pub const ALL: [Self; 5] = [Self::Reverted, Self::Retired, Self::Ignored, Self::Rejected, Self::Accepted];

    /// The word in documents and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reverted => "reverted",
            Self::Retired => "retired",
            Self::Ignored => "ignored",
            Self::Rejected => "rejected",
            Self::Accepted => "accepted",
        }
    }
}

/// The drifts of one cause, folded. `n` is stable over revisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// Its number in the incident, from 1.
    pub n: u32,
    /// What makes two drifts one unit.
    pub fold_key: String,
    /// Rule and case.
    #[serde(flatten)]
    pub rule: RuleCase,
    /// The worst of its drifts.
    pub severity: Severity,
    /// The first is the main one.
    pub impact: Vec<Impact>,
    /// What stands at its top: `renamed: 6`.
    pub title: String,
    /// The items it is about, in the order of a message.
    pub items: Vec<String>,
    /// Its drifts.
    pub members: Vec<Member>,
    /// Where it stands.
    pub mark: UnitMark,
}

/// A drift in a unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Member {
    /// Facet of the drift's key.
    pub facet: FacetName,
    /// Path of the drift's key.
    pub path: Pointer,
    /// The value it stands for.
    pub fingerprint: Fingerprint,
}

/// Where a unit stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnitMark {
    /// None of its drifts is confirmed.
    Pending,
    /// Some drift of it is open.
    Open,
    /// Rejected, and it stands.
    Rejected,
    /// Gone by itself.
    Reverted,
    /// It stands, and the inventory says that it is not to be told.
    Ignored,
    /// Settled by a person or policy.
    Accepted,
    /// Its target left.
    Retired,
}

impl UnitMark {
    /// Whether it still stands.
    #[must_use]
    pub const fn stands(self) -> bool {
        match self {
            Self::Pending | Self::Open | Self::Rejected => true,
            Self::Reverted | Self::Ignored | Self::Accepted | Self::Retired => false,
        }
    }
}
