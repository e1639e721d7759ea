//! What the core must know of a target's past: loaded by the store in one go before a scan is settled.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::baseline::{Approval, BaselineFacet};
use super::digest::Digest;
use super::drift::DriftRow;
use super::facet::FacetName;
use super::incident::{Incident, IncidentId};
use super::notice::Told;
use super::observation::{AddressClass, Found, Outcome, Transport};
use super::posture::Posture;
use super::rule::Severity;
use super::settlement::Recomputed;
use super::target::{Kind, TargetSummary};

/// A target's past.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Baseline per facet.
    pub baseline: BTreeMap<FacetName, BaselineFacet>,
    /// For each facet, the last values a person accepted, when they are not the baseline's.
    pub person: BTreeMap<FacetName, BaselineFacet>,
    /// Living approvals.
    pub approvals: Vec<Approval>,
    /// Drifts that have not ended.
    pub drifts: Vec<DriftRow>,
    /// Incidents that have not ended: at most one of drift and one of sight, and those of its host that it is part of.
    pub incidents: Vec<Incident>,
    /// What is remembered of each facet.
    pub facets: BTreeMap<FacetName, FacetMemory>,
    /// What is remembered of the target's scans.
    pub scans: ScanMemory,
    /// Where the ledger stands.
    pub ledger: LedgerHead,
    /// Ids of all incidents there ever were, so that a new one is new.
    pub incident_ids: Arc<BTreeSet<IncidentId>>,
    /// What receivers were told of the incidents above.
    pub told: Vec<Told>,
    /// Facets whose credential is another now: what stands there ends, and they join anew. Never stored.
    pub left: BTreeSet<FacetName>,
    /// What of it is of an older model and was recomputed on reading. Never stored.
    pub recomputed: Recomputed,
    /// Other targets of the same host, as far as they matter to this one's sight.
    pub kin: Vec<Kin>,
}

/// Another target of the same host, as far as it matters to what keeps us from seeing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kin {
    /// Who.
    pub target: TargetSummary,
    /// What keeps us from seeing its endpoint, when something does.
    pub lost: Option<DriftRow>,
    /// The incident that this belongs to.
    pub incident: Option<Incident>,
    /// What else stands of it, confirmed or not, in short.
    pub drifts: Vec<KinDrift>,
}

/// What stands of another target besides sight, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KinDrift {
    /// Its sentence.
    pub message: String,
    /// How bad.
    pub severity: Severity,
    /// First sight of it.
    pub first_at: Timestamp,
}

/// The newest entry of the ledger; number 0 and 64 zeros while there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerHead {
    /// Its number.
    pub no: u64,
    /// Its hash.
    pub hash: Digest,
}

impl Default for LedgerHead {
    fn default() -> Self {
        Self { no: 0, hash: Digest::ZERO }
    }
}

/// What is remembered of one facet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FacetMemory {
    /// What the last sight showed.
    pub last: LastSight,
    /// Last time it was seen or absent.
    pub last_seen: Option<Timestamp>,
    /// Since when it has been unseen.
    pub unseen_since: Option<Timestamp>,
    /// Runs of one value, oldest first, those that ended within 6 h: for A B A B.
    pub runs: Vec<ValueRun>,
    /// Numbers of the scans (see [`ScanMemory::seq`]) among the last 20 in which the order differed.
    pub order_differed: Vec<u64>,
    /// While it waits to join the baseline: what is seen alike, how often, since when.
    pub joining: Option<Joining>,
    /// In `approve`, or held up: it waits for a person.
    pub awaiting_approval: bool,
    /// Since when variants have taken turns.
    pub mixed_since: Option<Timestamp>,
}

/// What the last sight of a facet showed. Three words, since two options in each other are one null in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LastSight {
    /// There was none.
    #[default]
    Unknown,
    /// The peer said that it has none.
    Absent,
    /// A value with this digest.
    Value(Digest),
}

impl From<Option<Digest>> for LastSight {
    /// Of what a facet showed; `None` means absent.
    fn from(shown: Option<Digest>) -> Self {
        shown.map_or(Self::Absent, Self::Value)
    }
}

/// A stretch of scans with one value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueRun {
    /// The value's digest; `None` for absent.
    pub digest: Option<Digest>,
    /// First scan.
    pub from: Timestamp,
    /// Last scan.
    pub to: Timestamp,
    /// Scans.
    pub scans: u32,
}

/// A facet on its way into the baseline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joining {
    /// The value's digest; `None` for absent.
    pub digest: Option<Digest>,
    /// Complete scans that showed it, in a row.
    pub sightings: u32,
    /// First of them.
    pub since: Timestamp,
}

/// What is remembered of a target's scans.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanMemory {
    /// Number of the last scan; the first is 1.
    pub seq: u64,
    /// When it ended.
    pub last_at: Option<Timestamp>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Last scan that was complete.
    pub last_ok: Option<Timestamp>,
    /// Last time lists were read a second time over a fresh connection.
    pub last_fresh: Option<Timestamp>,
    /// The address class at the baseline.
    pub address_class: Option<AddressClass>,
    /// When the certificate ends that it showed last.
    #[serde(default)]
    pub certificate_ends: Option<Timestamp>,
    /// The date of the baseline's conversation: asked with first.
    pub date: Option<String>,
    /// How it was carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Where its endpoint was found last; none when that is the URL as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Box<Found>>,
    /// Not before this instant (`Retry-After`).
    pub not_before: Option<Timestamp>,
    /// How we asked in the last scan: what differs from it now was edited by us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<Box<Ours>>,
    /// What the target's checks are held to.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub posture: Posture,
    /// For each `ignore` of the inventory, by a hash of it, when it was of use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ignores: BTreeMap<String, IgnoreUse>,
}

/// Our side of a scan: what it was asked with and judged by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ours {
    /// The protocol that was asked for.
    pub kind: Kind,
    /// The URL as written, without user information.
    pub url: String,
    /// Names of the extra headers.
    pub headers: Vec<String>,
    /// `passive`.
    pub tier: String,
    /// The credential's name.
    pub credential: Option<String>,
    /// Whether the stranger's face is watched beside our credential's.
    pub anonymous: bool,
    /// The rule set, by its digest.
    pub rules: String,
}

/// When an `ignore` was of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IgnoreUse {
    /// First scan after it appeared.
    pub since: Timestamp,
    /// When something matched it last; not moved while something does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// It was said that it is of no use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub told: bool,
}

/// What decides, besides the plan, when a target is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// When it was last scanned.
    pub last: Option<Timestamp>,
    /// Earliest instant at which a further scan confirms or reverts something.
    pub recheck: Option<Timestamp>,
    /// Not before this instant (`Retry-After`).
    pub hold: Option<Timestamp>,
    /// Its block is confirmed.
    pub blocked: bool,
}
