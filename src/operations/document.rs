//! The documents that answers are made of; their names are stable, additions are allowed.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::alert::Alert;
use crate::model::digest::Digest;
use crate::model::rule::Severity;
use crate::model::snapshot::Coverage;
use crate::store::{Checked, LedgerCheck};

mod why;

pub use why::{
    Next, Pending, Policy, RouteLine, Severed, Sighting, Waiting, Why, WhyIncident, WhyMessage, WhyTarget, WhyUnit,
};

/// A target in a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Target {
    /// Its id.
    pub id: String,
    /// The protocol.
    pub kind: String,
    /// Its URL.
    pub url: String,
    /// The inventory's labels.
    pub labels: BTreeMap<String, String>,
    /// `active`, `paused` or `retired`.
    pub state: String,
    /// How the last scan ended.
    pub outcome: Option<String>,
    /// When it ended.
    pub last_scan: Option<Timestamp>,
    /// Last complete scan.
    pub last_ok: Option<Timestamp>,
    /// When the next is due; none without a daemon.
    pub next_scan: Option<Timestamp>,
    /// What decided that: `first`, `plan`, `recheck`, `hold`, `blocked`, `asked` or `never`.
    pub next_why: Option<String>,
    /// How it stands: `up`, `unreachable`, `blocked`, `rate_limited`, `credential_rejected`, `error` (no MCP where we
    /// asked for it), or `new` before its first scan.
    pub sight: String,
    /// While losing sight of it is not confirmed: `1 of 3`.
    pub failing: Option<String>,
    /// How much of it the last scan saw.
    pub coverage: Option<TargetCoverage>,
    /// Facets in its baseline.
    pub baseline_facets: u32,
    /// Facets that wait for a person.
    pub awaiting_approval: u32,
    /// Incidents that stand.
    pub incidents: Vec<String>,
    /// The worst of them.
    pub severity: Option<Severity>,
    /// The same incidents, each with how bad it is.
    pub standing: Vec<Stands>,
    /// Since when driftd itself is offline: nothing is held against the target meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offline_since: Option<Timestamp>,
}

/// How much of a target the last scan saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetCoverage {
    /// Facets that were seen or absent.
    pub seen: u32,
    /// Facets that are watched.
    pub watched: u32,
    /// `5 of 5`, `4 of 5: mcp.tools unseen`, `door only: tools not read, no credential`.
    pub text: String,
}

/// An incident that stands, in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stands {
    /// `4F7K2.1`
    pub reference: String,
    /// `drift` or `sight`.
    pub kind: String,
    /// The worst that stands in it.
    pub severity: Severity,
}

/// All that is known of a target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TargetInFull {
    /// As in a list.
    #[serde(flatten)]
    pub target: Target,
    /// Digest of its newest snapshot.
    pub digest: Option<Digest>,
    /// What was found out about its protocol.
    pub protocol: Option<String>,
    /// Its facets.
    pub facets: Vec<Facet>,
    /// What its inventory entry does not want told.
    #[serde(default)]
    pub ignores: Vec<Ignore>,
}

/// An `ignore` of an inventory entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ignore {
    /// What it matches, as the inventory writes it.
    pub matches: String,
    /// Why.
    pub reason: String,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
    /// When something matched it last, or since when nothing has; none before the first scan after it appeared.
    pub last_used: Option<Timestamp>,
    /// Nothing has matched it for thirty days.
    pub unused: bool,
    /// Drifts that it keeps from being told now.
    pub drifts: u32,
}

/// A facet of a target.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facet {
    /// Its name.
    pub facet: String,
    /// `seen`, `absent`, `unseen`, or `unwatched` where nobody asks for it (`coverage` says why).
    pub state: String,
    /// Why it is unseen, or what kind of absent.
    pub reason: Option<String>,
    /// Its value's digest.
    pub digest: Option<Digest>,
    /// Whether it is watched.
    pub coverage: Option<Coverage>,
    /// When it was last seen or absent.
    pub last_seen: Option<Timestamp>,
    /// `accepted`, `waiting` (for a person), `joining` or `none`.
    pub baseline: String,
}

/// A scan that was asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scanned {
    /// The target.
    pub target: String,
    /// How it ended.
    pub outcome: String,
    /// Digest of its snapshot.
    pub digest: Option<Digest>,
    /// Drifts that are pending after it.
    pub pending: u32,
    /// Drifts that are open after it.
    pub open: u32,
    /// What was not seen, and why.
    pub unseen: Vec<String>,
    /// When a further scan is due early, to confirm something.
    pub recheck: Option<Timestamp>,
}

/// An incident in a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Incident {
    /// `4F7K2.1`; `pending` before there is an incident, `ignored` for what belongs to none because it is not told.
    pub reference: String,
    /// The target; of several, the one whose loss opened it.
    pub target: String,
    /// Further targets of the same host that it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<String>,
    /// `drift` or `sight`.
    pub kind: String,
    /// `pending`, `open`, `acked`, `rejected` or `ignored`.
    pub state: String,
    /// The worst that stands.
    pub severity: Severity,
    /// When it was opened, or first seen.
    pub since: Timestamp,
    /// What stands, one line each.
    pub units: Vec<UnitLine>,
}

/// A unit in a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnitLine {
    /// Its number; 0 before there is an incident.
    pub n: u32,
    /// Rule and case.
    pub rule: String,
    /// How bad.
    pub severity: Severity,
    /// What it is.
    pub title: String,
    /// Where it stands.
    pub mark: String,
    /// For what is not told: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many items it is about.
    pub items: u32,
}

/// An incident in full: what its newest message says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IncidentInFull {
    /// The alert of the revision.
    pub alert: Alert,
    /// Every change in full.
    pub full_diff: String,
    /// The newest revision, when an older one was asked for.
    pub newest_revision: u32,
}

/// A decision that was taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Decided {
    /// `accept`, `reject` or `ack`.
    pub action: String,
    /// The target.
    pub target: String,
    /// What was decided on, one line each.
    pub places: Vec<String>,
    /// Numbers of its ledger entries.
    pub entries: Vec<u64>,
    /// Who.
    pub who: String,
    /// The incident's state after it.
    pub incident: Option<String>,
}

/// What a target is held to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Baseline {
    /// The target.
    pub target: String,
    /// Its accepted facets.
    pub facets: Vec<BaselineFacet>,
    /// Its living approvals.
    pub approvals: Vec<Approval>,
    /// Facets that wait for a person.
    pub awaiting: Vec<String>,
    /// Digest of the newest snapshot: what `baseline accept TARGET@DIGEST` would take.
    pub newest: Option<Digest>,
}

/// A target that no person has looked at yet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reviewed {
    /// The target.
    pub target: String,
    /// Its URL.
    pub url: String,
    /// How much of it is watched: `full`, `part` or `nothing`.
    pub coverage: String,
    /// What is missing, and why.
    pub missing: Option<String>,
    /// Digest of its newest snapshot: what `accept` would take.
    pub digest: Option<Digest>,
    /// Accepted facets.
    pub facets: u32,
    /// Those of them that no person accepted.
    pub unreviewed: u32,
    /// Facets that wait for a person.
    pub awaiting: Vec<String>,
    /// What its newest snapshot lists; left out for targets far down a long list.
    #[serde(default)]
    pub shows: Vec<Shown>,
    /// What was found, the worst first.
    pub findings: Vec<ReviewFinding>,
    /// Findings that were cut.
    pub more_findings: u32,
    /// Incidents that stand: accepting the newest snapshot takes their drift too.
    pub stands: Vec<String>,
    /// The command that accepts it; empty before a first scan has ended.
    pub accept: String,
}

/// A list of a target, as it was seen last.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shown {
    /// `tools`, `prompts`, `resources`, `templates`; with our credential, it says so.
    pub what: String,
    /// How many.
    pub count: u32,
    /// Names of the first tools; no other list's.
    pub names: Vec<String>,
    /// Those that are not named.
    pub more: u32,
}

/// A finding of a target's newest scan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReviewFinding {
    /// How bad.
    pub severity: Severity,
    /// The rule.
    pub rule: String,
    /// The finding in a sentence.
    pub message: String,
    /// What was seen.
    pub evidence: String,
    /// What to do.
    pub remedy: String,
}

/// An accepted facet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BaselineFacet {
    /// Its name.
    pub facet: String,
    /// Its digest; none for *absent*.
    pub digest: Option<Digest>,
    /// How many values are accepted beside each other.
    pub values: u32,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
    /// A person has accepted it.
    pub reviewed: bool,
    /// Number of its ledger entry.
    pub entry: u64,
    /// The protocol date it was asked with.
    pub date: Option<String>,
}

/// A living approval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Approval {
    /// The facet.
    pub facet: String,
    /// The place.
    pub path: String,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: String,
    /// When it ends.
    pub until: Option<Timestamp>,
    /// Number of its ledger entry.
    pub entry: u64,
}

/// A message in a list.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: String,
    /// The receiver.
    pub receiver: String,
    /// `drift.opened` and its like.
    #[serde(rename = "type")]
    pub kind: String,
    /// `4F7K2.1`; none for what is told of the fleet or of driftd itself.
    pub incident: Option<String>,
    /// The target; empty where it is about none, or about several of the fleet.
    pub target: String,
    /// What it says.
    pub headline: String,
    /// `pending`, `sent` or `dead`.
    pub state: String,
    /// Tries.
    pub attempts: u32,
    /// When it was folded.
    pub at: Timestamp,
    /// When the next try is due.
    pub next_at: Option<Timestamp>,
    /// What that waits for, where it is not the message's own turn: `receiver rests`, `receiver suspended`.
    #[serde(default)]
    pub waits_for: Option<String>,
    /// When it arrived.
    pub sent_at: Option<Timestamp>,
    /// Why the last try failed.
    pub error: Option<String>,
}

/// A message in full.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MessageInFull {
    /// As in a list.
    pub message: Message,
    /// What it says.
    pub alert: Alert,
}

/// A message that was sent by hand.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trial {
    /// The receiver.
    pub receiver: String,
    /// The message's id.
    pub message: String,
    /// What happened, in order.
    pub steps: Vec<String>,
    /// Why it was not delivered, in a word.
    pub reason: Option<String>,
    /// Why, in a sentence.
    pub error: Option<String>,
    /// What can be done about it.
    pub advice: Option<String>,
}

/// A line of the history.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HistoryLine {
    /// When.
    pub at: Timestamp,
    /// The target; none where it is about driftd itself.
    pub target: Option<String>,
    /// What happened.
    pub event: String,
    /// Where.
    pub place: Option<String>,
    /// The incident.
    pub incident: Option<String>,
    /// One sentence.
    pub text: String,
}

/// Whether the chain of the ledger is whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LedgerVerified {
    /// Entries, where it is whole.
    pub entries: Option<u64>,
    /// The newest entry's hash, where it is whole: messages name it, which anchors the chain outside the store.
    pub head: Option<Digest>,
    /// Where it breaks.
    pub broken: Option<LedgerBreak>,
}

/// Where the chain of the ledger breaks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LedgerBreak {
    /// Number of the first entry that does not fit.
    pub entry: u64,
    /// How: `missing`, `unchained`, `changed` or `unreadable`.
    pub fault: String,
    /// The same for people.
    pub words: String,
}

impl From<LedgerCheck> for LedgerVerified {
    fn from(check: LedgerCheck) -> Self {
        match check {
            LedgerCheck::Whole { entries, head } => Self { entries: Some(entries), head: Some(head), broken: None },
            LedgerCheck::Broken { no, fault } => {
                let broken =
                    LedgerBreak { entry: no, fault: fault.as_str().to_owned(), words: fault.words().to_owned() };
                Self { entries: None, head: None, broken: Some(broken) }
            }
        }
    }
}

/// Whether the store is whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoreCheck {
    /// Version of its schema.
    pub schema: i64,
    /// Targets.
    pub targets: u64,
    /// Values of peers.
    pub values: u64,
    /// Entries of the ledger.
    pub ledger: u64,
    /// What is wrong.
    pub problems: Vec<String>,
    /// Further ones.
    pub more: u64,
}

impl From<Checked> for StoreCheck {
    fn from(checked: Checked) -> Self {
        let Checked { schema, targets, values, ledger, problems, more } = checked;
        Self { schema, targets, values, ledger, problems, more }
    }
}
