//! The answer to `why`: each fact by itself, and in a sentence (`text`) that can be shown as it is.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Approval, BaselineFacet, Facet, Target};
use crate::model::rule::Severity;

/// Why things are as they are.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "snake_case")]
pub enum Why {
    /// With a target.
    Target(Box<WhyTarget>),
    /// With an incident, or with one drift before it belongs to any.
    Incident(Box<WhyIncident>),
}

/// Why a target is watched as it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WhyTarget {
    /// As in a list.
    pub target: Target,
    /// The moment of the answer.
    pub now: Timestamp,
    /// Why the next scan is when it is.
    pub next: Next,
    /// What it is held to, since when and by whom.
    pub held: Vec<BaselineFacet>,
    /// What was accepted at single places.
    pub approvals: Vec<Approval>,
    /// What is watched, and why not.
    pub facets: Vec<Facet>,
    /// What is on its way, and what it waits for.
    pub pending: Vec<Pending>,
    /// Which routes would take what, and to whom.
    pub routes: Vec<RouteLine>,
    /// What the inventory asks for.
    pub policy: Vec<Policy>,
}

/// Why the next scan is when it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// When; none where none is planned.
    pub at: Option<Timestamp>,
    /// What decided it, or why there is none.
    pub text: String,
}

/// Something that waits to count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// What was seen.
    pub what: String,
    /// Facet and path.
    pub place: String,
    /// The rule; none for a facet that waits to join the baseline.
    pub rule: Option<String>,
    /// How bad it would be.
    pub severity: Option<Severity>,
    /// Sightings so far.
    pub sightings: u32,
    /// Sightings that it takes.
    pub needed: u32,
    /// The first of them.
    pub since: Option<Timestamp>,
    /// The earliest instant at which a scan can confirm it.
    pub earliest: Option<Timestamp>,
    /// What it waits for.
    pub text: String,
}

/// A route as it applies to one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteLine {
    /// Its place in the configuration, from 1; 0 for what happens without a route.
    pub n: u32,
    /// Whether it can take anything of this target.
    pub applies: bool,
    /// To whom.
    pub to: Vec<String>,
    /// What it takes, when, and what comes after it.
    pub text: String,
}

/// A wish of the inventory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// `ignore`, `severity`, `auto_accept`, `trust`, `consumers`, `confirm` or `baseline`.
    pub key: String,
    /// What it does.
    pub text: String,
}

/// Why an incident says what it says, and who was told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WhyIncident {
    /// `4F7K2.1`; none while a drift belongs to no incident.
    pub reference: Option<String>,
    /// Whose.
    pub target: String,
    /// `drift` or `sight`.
    pub kind: String,
    /// `pending`, `open`, `acked`, `rejected`, or how it ended.
    pub state: String,
    /// The moment of the answer.
    pub now: Timestamp,
    /// Since when driftd itself is offline: nothing is held against the targets meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline_since: Option<Timestamp>,
    /// When it was opened.
    pub opened_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Where it stands, in a sentence.
    pub text: String,
    /// What it is about.
    pub units: Vec<WhyUnit>,
    /// Which route takes it, and to whom.
    pub routes: Vec<RouteLine>,
    /// What was sent, or is on its way.
    pub messages: Vec<WhyMessage>,
    /// What is owed and not yet in a message, and what became of it.
    pub notices: Vec<Waiting>,
    /// Receivers that were not told, and why.
    pub untold: Vec<String>,
}

/// Why a unit is what it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WhyUnit {
    /// Its number; 0 before there is an incident.
    pub n: u32,
    /// What it is.
    pub title: String,
    /// The items it is about.
    pub items: Vec<String>,
    /// Where it stands.
    pub mark: String,
    /// The rule.
    pub rule: String,
    /// Its case, or `-`.
    pub case: String,
    /// Why the rule is there.
    pub why: String,
    /// How bad, and who says so.
    pub severity: Severed,
    /// Its drifts, each with the scans that confirmed it.
    pub sightings: Vec<Sighting>,
}

/// A severity and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Severed {
    /// How bad.
    pub severity: Severity,
    /// What the rule says by itself.
    pub rule: Option<Severity>,
    /// Who says so.
    pub text: String,
}

/// How a drift was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sighting {
    /// Facet and path.
    pub place: String,
    /// Its fingerprint.
    pub fingerprint: String,
    /// Where it is in its life.
    pub state: String,
    /// When it was first seen.
    pub first_at: Timestamp,
    /// When it was confirmed.
    pub confirmed_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// How often it was seen, when, and what it took.
    pub text: String,
}

/// A message about an incident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhyMessage {
    /// Its id.
    pub id: String,
    /// To whom.
    pub receiver: String,
    /// `drift.opened` and its like.
    #[serde(rename = "type")]
    pub kind: String,
    /// `pending`, `sent` or `dead`.
    pub state: String,
    /// When it was made.
    pub at: Timestamp,
    /// When it arrived.
    pub sent_at: Option<Timestamp>,
    /// What became of it.
    pub text: String,
}

/// A notice about an incident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// To whom.
    pub receiver: String,
    /// What happened.
    pub event: String,
    /// At which revision.
    pub revision: u32,
    /// When it may go into a message.
    pub due_at: Timestamp,
    /// What became of it, or what it waits for.
    pub text: String,
}
