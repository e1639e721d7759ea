//! What is in force of the configuration: read at each use, swapped whole by a reload.
//!
//! Whoever holds an [`InForce`] takes the [`Plan`] once for one piece of work, so that no scan and no decision sees half
//! of an old plan and half of a new one.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use tokio::sync::watch;

use crate::config::Config;
use crate::model::confirm::Confirm;
use crate::model::inventory::Target;
use crate::model::notice::Route;
use crate::model::settings::{Backups, MetricSettings, Person, Retention, SelfCheck};
use crate::model::target::TargetId;

/// Targets of one host that may share an incident: what one step reads of its neighbours is bounded.
const SIBLINGS: usize = 200;

/// The parts of a configuration that a reload can change.
#[derive(Debug, Default)]
pub struct Plan {
    /// The inventory.
    pub targets: BTreeMap<TargetId, Arc<Target>>,
    /// How things are confirmed.
    pub confirm: Confirm,
    /// Where messages go, in order; none is the default.
    pub routes: Vec<Route>,
    /// Names of all receivers.
    pub receivers: Vec<String>,
    /// How much at once.
    pub limits: Limits,
    /// How long things are kept.
    pub retention: Retention,
    /// Copies of the store that are made by themselves.
    pub backups: Option<Backups>,
    /// Which series describe each target.
    pub metrics: MetricSettings,
    /// How driftd tells that it is offline itself.
    pub self_check: SelfCheck,
    /// Who may act over TCP.
    pub people: Vec<Person>,
    /// The targets of each host; made when it is first asked for.
    hosts: OnceLock<HashMap<String, Vec<TargetId>>>,
}

/// How much at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Scans.
    pub concurrency: usize,
    /// Scans of one host.
    pub per_host: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { concurrency: 256, per_host: 2 }
    }
}

impl Plan {
    /// What of `config` a reload can change.
    pub fn of(config: &Config) -> Self {
        Self::after(config, &Self::default())
    }

    /// What of `config` a reload can change; targets of which it says what `before` says are the same in memory.
    pub fn after(config: &Config, before: &Self) -> Self {
        let target = |target: &Target| {
            let known = before.targets.get(&target.id).filter(|known| known.as_ref() == target);
            (target.id.clone(), known.map_or_else(|| Arc::new(target.clone()), Arc::clone))
        };
        Self {
            targets: config.targets.iter().map(target).collect(),
            confirm: config.confirm,
            routes: config.routes.clone(),
            receivers: config.receivers.iter().map(|receiver| receiver.name.clone()).collect(),
            limits: Limits { concurrency: config.scan.concurrency, per_host: config.scan.per_host },
            retention: config.retention,
            backups: config.backups.clone(),
            metrics: config.metrics.clone(),
            self_check: config.self_check.clone(),
            people: config.people.clone(),
            hosts: OnceLock::new(),
        }
    }

    /// Other targets of `target`'s host: those that may share an incident with it. Of a host with very many, a part
    /// that is the same for each of its members.
    pub fn siblings(&self, target: &TargetId) -> Vec<TargetId> {
        let Some(configured) = self.targets.get(target) else { return Vec::new() };
        let hosts = self.hosts.get_or_init(|| {
            let mut hosts = HashMap::<String, Vec<TargetId>>::new();
            for target in self.targets.values() {
                hosts.entry(target.host()).or_default().push(target.id.clone());
            }
            hosts
        });
        let all = hosts.get(&configured.host()).map(Vec::as_slice).unwrap_or_default();
        // In the order of their names, as targets are.
        let own = all.binary_search(target).unwrap_or_default();
        let part = all.chunks(SIBLINGS).nth(own / SIBLINGS).unwrap_or_default();
        part.iter().filter(|id| *id != target).cloned().collect()
    }

    /// What `target` asks for its changes to be confirmed.
    pub fn confirm_of(&self, target: &TargetId) -> &Confirm {
        self.targets.get(target).and_then(|target| target.confirm.as_ref()).unwrap_or(&self.confirm)
    }
}

/// Gives the plan of the moment.
#[derive(Clone, Debug)]
pub struct InForce(watch::Receiver<Arc<Plan>>);

/// Puts another plan in force.
#[derive(Debug)]
pub struct Swap(watch::Sender<Arc<Plan>>);

impl InForce {
    /// Puts `plan` in force, and gives the hand that can put another in its place.
    pub fn new(plan: Plan) -> (Swap, Self) {
        let (sender, receiver) = watch::channel(Arc::new(plan));
        (Swap(sender), Self(receiver))
    }

    /// The plan of the moment.
    pub fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.0.borrow())
    }

    /// Waits for another plan; never ends when there can be none any more.
    pub async fn changed(&mut self) -> Arc<Plan> {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        Arc::clone(&self.0.borrow_and_update())
    }
}

impl Swap {
    /// Puts `plan` in force for all work that begins from now on.
    pub fn to(&self, plan: Plan) {
        self.0.send_replace(Arc::new(plan));
    }
}

/// A part that is built from the configuration and swapped with it: taken once for one piece of work.
#[derive(Debug)]
pub struct Live<T>(Arc<RwLock<Arc<T>>>);

impl<T> Clone for Live<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Live<T> {
    /// The first.
    pub fn new(part: T) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(part))))
    }

    /// The part of the moment.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another in its place, for all work that begins from now on.
    pub fn set(&self, part: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(part);
    }
}
