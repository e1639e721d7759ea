//! `driftd.alert/1`: what a webhook's `data` holds and `alerts show` prints; at most 20 kB, what is cut is counted.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::bulletin::Passage;
use super::digest::Digest;
use super::drift::{Detail, Fingerprint};
use super::incident::{EndReason, IncidentId};
use super::rule::{Impact, Severity};
use super::target::TargetSummary;

/// The value of `schema`.
pub const ALERT_SCHEMA: &str = "driftd.alert/1";

/// One message's content, for every kind of receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// [`ALERT_SCHEMA`].
    pub schema: String,
    /// The message's id: the same on every try.
    pub id: String,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: AlertType,
    /// When.
    pub at: Timestamp,
    /// The incident; none for what is told of the fleet or of driftd itself.
    pub incident: Option<AlertIncident>,
    /// The worst that stands (of a resolved one: the worst that stood).
    pub severity: Severity,
    /// All impacts, the main one first.
    pub impact: Vec<Impact>,
    /// The one thing, without the target's name: `8 tools renamed, 2 gone; the old names fail`.
    pub headline: String,
    /// The five first lines of a message.
    pub summary: Vec<String>,
    /// What a message without an incident goes on with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passages: Vec<Passage>,
    /// Whose.
    pub targets: Vec<TargetSummary>,
    /// Who is hit; empty until consumers can be configured.
    pub consumers: Vec<AlertConsumer>,
    /// What changed, in the order of a message.
    pub units: Vec<AlertUnit>,
    /// Units that were cut.
    pub more: u32,
    /// The baseline.
    pub before: AlertBefore,
    /// What is there now.
    pub after: AlertAfter,
    /// Facets that this scan did not see, and why.
    pub unseen: Vec<AlertUnseen>,
    /// How to decide.
    pub commands: AlertCommands,
    /// What the decision or the newest entry of the ledger is.
    pub ledger: AlertLedger,
    /// How driftd knows.
    pub evidence: AlertEvidence,
}

/// What happened. A variant joins when something sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AlertType {
    /// A drift incident was opened.
    #[serde(rename = "drift.opened")]
    DriftOpened,
    /// It has a new revision.
    #[serde(rename = "drift.changed")]
    DriftChanged,
    /// It still waits for a decision.
    #[serde(rename = "drift.reminder")]
    DriftReminder,
    /// It ended.
    #[serde(rename = "drift.resolved")]
    DriftResolved,
    /// A target cannot be seen.
    #[serde(rename = "sight.lost")]
    SightLost,
    /// It can be seen again.
    #[serde(rename = "sight.back")]
    SightBack,
    /// Something about the fleet or about driftd itself.
    #[serde(rename = "fleet.report")]
    FleetReport,
    /// What could wait, told together.
    #[serde(rename = "digest")]
    Digest,
    /// Somebody tries whether a receiver works.
    #[serde(rename = "test")]
    Test,
}

impl AlertType {
    /// The dotted name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DriftOpened => "drift.opened",
            Self::DriftChanged => "drift.changed",
            Self::DriftReminder => "drift.reminder",
            Self::DriftResolved => "drift.resolved",
            Self::SightLost => "sight.lost",
            Self::SightBack => "sight.back",
            Self::FleetReport => "fleet.report",
            Self::Digest => "digest",
            Self::Test => "test",
        }
    }
}

/// The incident a message is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertIncident {
    /// Five letters.
    pub id: IncidentId,
    /// Its revision at the time.
    pub revision: u32,
    /// `open`, `acked`, `rejected` or `ended`.
    pub state: String,
    /// Why it ended.
    pub reason: Option<EndReason>,
    /// A page, where there is one.
    pub url: Option<String>,
}

/// Who uses what changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertConsumer {
    /// Its name in the inventory.
    pub name: String,
    /// The items it uses that changed.
    pub items: Vec<String>,
    /// `fails`, `may_fail` or `differs`.
    pub effect: String,
}

/// One numbered thing of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertUnit {
    /// The number a decision can leave out.
    pub n: u32,
    /// The rule.
    pub rule: String,
    /// Its case.
    pub case: String,
    /// How bad.
    pub severity: Severity,
    /// The first is the main one.
    pub impact: Vec<Impact>,
    /// What it is: `renamed: 6`.
    pub title: String,
    /// The items.
    pub items: Vec<String>,
    /// Items that were cut.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_items: u32,
    /// Somebody uses one of the items (true where no consumers are listed).
    pub used: bool,
    /// What changed, for the text of a message.
    pub details: Vec<Detail>,
    /// The same as one text, for machines that show it.
    pub diff: String,
    /// Why it matters: the rule's words.
    pub why: String,
    /// What to ask or do: the rule's words.
    pub ask: String,
    /// Where it stands: `open`, `pending`, `rejected`, `accepted`, `reverted`, `retired`.
    pub mark: super::incident::UnitMark,
    /// What a decision binds to.
    pub fingerprints: Vec<Fingerprint>,
    /// Fingerprints that were cut.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_fingerprints: u32,
    /// Companions, one sentence each.
    pub notes: Vec<String>,
}

impl AlertUnit {
    /// Where it stands in a message.
    #[must_use]
    pub fn section(&self) -> Section {
        Section::of(self.severity, &self.impact)
    }
}

/// The parts of a message about drift, in their order (design, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// What gives power or changes what a model does, and whatever else is too bad to leave undecided.
    Decide,
    /// Calls that worked fail.
    CanBreak,
    /// The rest.
    GoodToKnow,
}

impl Section {
    /// Where a unit stands, by its severity and its main impact.
    #[must_use]
    pub fn of(severity: Severity, impact: &[Impact]) -> Self {
        match impact.first() {
            Some(Impact::Breaking) if severity >= Severity::Medium => Self::CanBreak,
            Some(Impact::Security | Impact::Behavior) if severity >= Severity::Medium => Self::Decide,
            Some(Impact::Exposure | Impact::Cosmetic | Impact::Operational | Impact::Conformance) | None
                if severity >= Severity::High =>
            {
                Self::Decide
            }
            Some(_) | None => Self::GoodToKnow,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// What the target was held to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertBefore {
    /// Digest of the baseline of the facets concerned.
    pub digest: Option<Digest>,
    /// Who accepted it.
    pub accepted: Option<AlertAccepted>,
}

/// An acceptance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertAccepted {
    /// When.
    pub at: Timestamp,
    /// Who: `first_seen`, `person:NAME`.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

/// What is there now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertAfter {
    /// The snapshot's digest.
    pub digest: Option<Digest>,
    /// The version the server claims.
    pub version: Option<String>,
}

/// A facet that was not seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertUnseen {
    /// The facet.
    pub facet: String,
    /// Why.
    pub reason: String,
}

/// How to decide; empty strings where nothing is to decide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertCommands {
    /// Accept all.
    pub accept: String,
    /// All but one.
    pub accept_except: String,
    /// Reject.
    pub reject: String,
    /// I am on it.
    pub ack: String,
}

/// The ledger at the time: it anchors the chain outside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertLedger {
    /// Number of the newest entry.
    pub entry: u64,
    /// Its hash, first eight hexadecimal digits.
    pub head: String,
}

/// How driftd knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertEvidence {
    /// The scans that showed it.
    pub seen_at: Vec<Timestamp>,
    /// `MCP 2025-11-25 before and after`.
    pub protocol: String,
    /// What was read and how, one line each.
    pub read: Vec<String>,
    /// Version before, as the server claims.
    pub version_before: Option<String>,
}
