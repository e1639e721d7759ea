//! What the store answers with, where a noun of `model` alone does not say whose or since when.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::model::bulletin::Bulletin;
use crate::model::condition::{Condition, Fate};
use crate::model::digest::Digest;
use crate::model::drift::{DriftRow, DriftState};
use crate::model::facet::{FacetName, FacetState, UnseenReason};
use crate::model::incident::{Incident, IncidentId, IncidentKind};
use crate::model::ledger::LedgerEntry;
use crate::model::memory::ScanMemory;
use crate::model::notice::{MessageState, Notice};
use crate::model::observation::{Asked, Detection, DetectionState, Outcome};
use crate::model::pointer::Pointer;
use crate::model::rule::{Impact, Severity};
use crate::model::settlement::HistoryLine;
use crate::model::snapshot::{Check, Coverage, Snapshot};
use crate::model::target::{TargetId, TargetSummary};

/// What a prefix led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<T> {
    /// Nothing has it.
    None,
    /// One thing has it.
    One(T),
    /// Several have it: it has to be longer.
    Several,
}

/// A target in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRow {
    /// As the inventory named it last.
    pub summary: TargetSummary,
    /// Whether it is in the inventory.
    pub state: TargetState,
    /// When it was first in the inventory.
    pub first_seen: Timestamp,
    /// When it left, while it is away.
    pub retired_at: Option<Timestamp>,
    /// Number of its last scan.
    pub seq: u64,
    /// How that ended.
    pub outcome: Option<Outcome>,
    /// When that ended.
    pub last_scan: Option<Timestamp>,
    /// Last complete scan.
    pub last_ok: Option<Timestamp>,
    /// Not to be asked before (`Retry-After`).
    pub not_before: Option<Timestamp>,
    /// Earliest instant at which a further scan can confirm or revert something.
    pub recheck: Option<Timestamp>,
    /// The id that carries on its past.
    pub became: Option<TargetId>,
}

/// Whether a target is in the inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetState {
    /// It is.
    Active,
    /// It left; its baseline, decisions and history stay for its return.
    Retired,
}

/// What a new inventory changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// Never seen before.
    pub added: Vec<TargetId>,
    /// Were away.
    pub returned: Vec<TargetId>,
    /// Left now.
    pub retired: Vec<TargetId>,
    /// Have another URL than before.
    pub moved: Vec<TargetId>,
}

/// A past that is carried over from one id to another.
#[derive(Clone, Debug)]
pub struct Carry {
    /// The id that left.
    pub from: TargetId,
    /// The id that goes on.
    pub to: TargetId,
    /// Drifts that stand, as those of the new id.
    pub drifts: Vec<DriftRow>,
    /// Incidents that stand, likewise.
    pub incidents: Vec<Incident>,
    /// What the history says of it.
    pub line: HistoryLine,
}

/// One snapshot, as far as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSnapshot {
    /// Its digest.
    pub digest: Digest,
    /// [`crate::model::snapshot::MODEL`] of its values.
    pub model: u32,
    /// The last scan that showed it.
    pub at: Timestamp,
    /// How that scan ended.
    pub outcome: Outcome,
    /// Seen and absent facets, and the ones that scan did not see.
    pub facets: BTreeMap<FacetName, FacetState>,
    /// How that scan asked.
    pub asked: Asked,
    /// What that scan watched.
    pub coverage: BTreeMap<FacetName, Coverage>,
    /// What that scan found out about MCP.
    pub mcp: Detection,
    /// What that scan checked.
    pub checks: Vec<Check>,
}

/// A complete scan that showed what the one before it showed, while nothing about its target was on its way: only
/// counts and last-seen times move.
#[derive(Clone, Copy, Debug)]
pub struct Unchanged<'a> {
    /// Its number.
    pub seq: u64,
    /// Digest of its snapshot, and of the one before.
    pub snapshot: Digest,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// Lists were read a second time over a fresh connection.
    pub fresh: bool,
    /// The scan, unless every byte of it was that of the one before.
    pub scan: Option<&'a Snapshot>,
}

/// What the scanning of a target goes on from: its past without any value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumed {
    /// What is remembered of its scans.
    pub scans: ScanMemory,
    /// When each facet was last seen or absent.
    pub last_seen: BTreeMap<FacetName, Timestamp>,
    /// Earliest instant at which a further scan can confirm or revert something.
    pub recheck: Option<Timestamp>,
    /// Drifts that have not ended.
    pub standing: Vec<Standing>,
    /// Its newest scan.
    pub last: Option<LastScan>,
}

/// A drift that has not ended, without its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Where.
    pub facet: FacetName,
    /// Where in it.
    pub path: Pointer,
    /// Which rule tells it.
    pub rule: String,
    /// Where in its life it is.
    pub state: DriftState,
    /// It is not kept from being told.
    pub told: bool,
}

/// What a scan said of a target's sight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastScan {
    /// How it ended.
    pub outcome: Outcome,
    /// What it found out about MCP.
    pub mcp: DetectionState,
    /// What it watched.
    pub coverage: BTreeMap<FacetName, Coverage>,
    /// What it did not see, and why.
    pub unseen: BTreeMap<FacetName, UnseenReason>,
}

/// Scans in a row that ended alike with one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// What they showed.
    pub snapshot: Digest,
    /// How they ended.
    pub outcome: Outcome,
    /// The first.
    pub from_at: Timestamp,
    /// The last.
    pub to_at: Timestamp,
    /// Number of the first.
    pub from_seq: u64,
    /// Number of the last.
    pub to_seq: u64,
    /// How many.
    pub scans: u64,
}

/// A drift and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetDrift {
    /// Whose.
    pub target: TargetId,
    /// The drift.
    pub row: DriftRow,
}

/// Which drifts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DriftFilter {
    /// Only those that have not ended.
    pub open: bool,
    /// Only this target's.
    pub target: Option<TargetId>,
    /// At most so many, the newest first; 0 is no limit.
    pub limit: u32,
}

/// A line of the history and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRow {
    /// Grows with time.
    pub no: i64,
    /// Whose; none where it is about driftd itself.
    pub target: Option<TargetId>,
    /// The line.
    pub line: HistoryLine,
}

/// Which messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageFilter {
    /// Only those that stand so.
    pub state: Option<MessageState>,
    /// Only this receiver's.
    pub receiver: Option<String>,
    /// Only of this incident.
    pub incident: Option<IncidentId>,
    /// At most so many, the newest first; 0 is no limit.
    pub limit: u32,
}

/// A notice and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeRow {
    /// The notice.
    pub notice: Notice,
    /// The message that pays it.
    pub message: Option<String>,
    /// It pays nothing any more.
    pub dropped: bool,
}

/// Which messages are sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Retry {
    /// This one, dead or waiting for its next try.
    One(String),
    /// Every dead one.
    AllDead,
}

/// What a try of a message came to.
#[derive(Clone, Copy, Debug)]
pub struct Tried<'a> {
    /// The message's id.
    pub message: &'a str,
    /// Its receiver.
    pub receiver: &'a str,
    /// What becomes of the message.
    pub fate: &'a Fate,
    /// How the receiver fares now.
    pub condition: &'a Condition,
    /// It takes messages again after it did not: what waited for it is tried now.
    pub recovered: bool,
    /// What is posted about that, and to whom.
    pub posts: &'a [(Bulletin, Vec<String>)],
}

/// What is owed to one receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// The receiver.
    pub receiver: String,
    /// Messages not delivered and not given up.
    pub messages: u64,
    /// Notices not folded yet.
    pub notices: u64,
    /// Messages given up.
    pub dead: u64,
    /// When the oldest of the messages and notices that wait was made.
    pub oldest: Option<Timestamp>,
}

/// An entry of the ledger and its hash as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerRow {
    /// The entry.
    pub entry: LedgerEntry,
    /// Its hash.
    pub hash: Digest,
}

/// What became of following the ledger's chain from its first entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerCheck {
    /// Every entry has the hash it was given and names the one before.
    Whole {
        /// How many there are.
        entries: u64,
        /// The newest one's hash.
        head: Digest,
    },
    /// The chain breaks.
    Broken {
        /// The first entry that does not fit.
        no: u64,
        /// How.
        fault: LedgerFault,
    },
}

/// How an entry does not fit the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerFault {
    /// Its number is not the next.
    Missing,
    /// It does not name the hash of the entry before.
    Unchained,
    /// Its content does not have its hash.
    Changed,
    /// It cannot be read.
    Unreadable,
}

impl LedgerFault {
    /// The word in documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Unchained => "unchained",
            Self::Changed => "changed",
            Self::Unreadable => "unreadable",
        }
    }

    /// For people, after `entry 3`.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Missing => "is missing",
            Self::Unchained => "does not continue the entry before it",
            Self::Changed => "was changed after it was written",
            Self::Unreadable => "cannot be read",
        }
    }
}

/// Open units of one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitCount {
    /// Whose.
    pub target: TargetId,
    /// Drift or sight.
    pub kind: IncidentKind,
    /// How bad.
    pub severity: Severity,
    /// How many.
    pub units: u64,
}

/// Open incidents of one sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentCount {
    /// `open`, `acked` or `rejected`.
    pub state: IncidentState,
    /// The worst unit that stands.
    pub severity: Severity,
    /// The main impact of that unit.
    pub impact: Impact,
    /// How many.
    pub incidents: u64,
}

/// Where an incident stands for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IncidentState {
    /// Somebody should decide.
    Open,
    /// Somebody is on it.
    Acked,
    /// All of it is rejected, and it stands.
    Rejected,
}

impl IncidentState {
    /// The label.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Acked => "acked",
            Self::Rejected => "rejected",
        }
    }
}

/// A target's baseline, for gauges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineGauge {
    /// Whose.
    pub target: TargetId,
    /// The newest acceptance.
    pub accepted_at: Timestamp,
    /// A person has accepted all of it.
    pub reviewed: bool,
}

/// What the store knows for `/metrics`; what is zero is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Open and rejected units of open incidents.
    pub units: Vec<UnitCount>,
    /// Incidents that have not ended.
    pub incidents: Vec<IncidentCount>,
    /// The oldest confirmation that nobody has answered, by severity.
    pub oldest_undecided: BTreeMap<Severity, Timestamp>,
    /// Every target with a baseline.
    pub baselines: Vec<BaselineGauge>,
}
