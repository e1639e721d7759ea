//! One target once: probe, judge, settle, commit.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::judge;
use crate::judge::settle::Scene;
use crate::metrics::Metrics;
use crate::model::confirm::Confirm;
use crate::model::digest::Digest;
use crate::model::drift::DriftState;
use crate::model::facet::{FacetName, FacetState};
use crate::model::inventory::{Auth, Target};
use crate::model::memory::{FacetMemory, Memory, ScanMemory};
use crate::model::notice::Route;
use crate::model::observation::{Observation, Outcome};
use crate::model::settlement::Settlement;
use crate::model::snapshot::Snapshot;
use crate::net::Door;
use crate::probe::{self, Ask, Credential, SecondRead};
use crate::secret::{Environment, Redactor};
use crate::store::{Store, StoreError};

/// A second read of a steady list goes over a fresh connection this often (design, section 3).
const FRESH_EVERY: Duration = Duration::from_hours(1);

/// Everything that a scan needs beside its target.
#[derive(Debug)]
pub struct Scanner {
    door: Door,
    store: Store,
    clock: Clock,
    environment: Environment,
    metrics: Arc<Metrics>,
    wake_delivery: Arc<Notify>,
    confirm: Confirm,
    routes: Vec<Route>,
    receivers: Vec<String>,
    cache: Mutex<HashMap<String, Remembered>>,
}

/// What is kept in memory of a target between its scans, so that an unchanged one costs no query.
#[derive(Clone, Debug, Default)]
struct Remembered {
    scans: ScanMemory,
    facets: BTreeMap<FacetName, FacetMemory>,
    /// Digest and outcome of the last scan, when nothing about the target was on its way.
    quiet: Option<(Digest, Outcome)>,
    /// A drift or loss of sight is on its way to being confirmed or reverted.
    confirming: bool,
    /// A block is confirmed: one request an hour.
    blocked: bool,
}

/// What a scan came to, for the loop and for who asked.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Digest of its snapshot.
    pub digest: Digest,
    /// Earliest instant at which a further scan confirms or reverts something.
    pub recheck: Option<Timestamp>,
    /// Not before this instant.
    pub not_before: Option<Timestamp>,
    /// A block is confirmed.
    pub blocked: bool,
    /// Drifts that are pending after it.
    pub pending: u32,
    /// Drifts that are open after it.
    pub open: u32,
    /// What was not seen, and why.
    pub unseen: Vec<String>,
}

/// One look at a target, judged against nothing.
#[derive(Debug)]
pub struct Look {
    /// What was brought home.
    pub observation: Observation,
    /// The same, canonical and checked.
    pub snapshot: Snapshot,
}
