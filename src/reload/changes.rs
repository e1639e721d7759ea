//! What a configuration changes. Pure.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::model::inventory::Target;
use crate::model::receiver::Receiver;
use crate::model::target::TargetId;

/// What one configuration changes of another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Targets that are new, or back.
    pub added: Vec<TargetId>,
    /// Targets that left.
    pub removed: Vec<TargetId>,
    /// Targets of which something else is said.
    pub changed: Vec<TargetId>,
    /// Receivers that are new, gone or changed.
    pub receivers: Vec<String>,
    /// Other keys of `driftd.yaml` that say something else.
    pub settings: Vec<String>,
    /// Keys that say something else and take a restart; until then what they said at the start holds.
    pub restart: Vec<String>,
}

/// What only a start can set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtStart {
    listen: Option<SocketAddr>,
    metrics_listen: SocketAddr,
    control: PathBuf,
    store: PathBuf,
}

impl AtStart {
    /// Of the configuration that the daemon started with.
    pub fn of(config: &Config) -> Self {
        Self {
            listen: config.listen,
            metrics_listen: config.metrics_listen,
            control: config.control.clone(),
            store: config.store.clone(),
        }
    }

    /// The keys that say something else in `config`.
    fn differing(&self, config: &Config) -> Vec<String> {
        let keys = [
            ("listen", self.listen != config.listen),
            ("metrics_listen", self.metrics_listen != config.metrics_listen),
            ("control", self.control != config.control),
            ("store", self.store != config.store),
        ];
        keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key.to_owned()).collect()
    }
}

impl Changes {
    /// From `old` to `new`, in a daemon that was started with `start`; their targets are `before` and `after`.
    pub fn between(
        (old, before): (&Config, &BTreeMap<TargetId, Arc<Target>>),
        (new, after): (&Config, &BTreeMap<TargetId, Arc<Target>>),
        start: &AtStart,
    ) -> Self {
        let (added, removed, changed) = differing(before, after);
        let (more, fewer, others) = differing(&receivers(old), &receivers(new));
        Self {
            added,
            removed,
            changed,
            receivers: [more, fewer, others].concat(),
            settings: settings(old, new),
            restart: start.differing(new),
        }
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.removed.is_empty()
            && self.changed.is_empty()
            && self.receivers.is_empty()
            && self.settings.is_empty()
    }
}

fn receivers(config: &Config) -> BTreeMap<String, &Receiver> {
    config.receivers.iter().map(|receiver| (receiver.name.clone(), receiver)).collect()
}

/// Keys only in `after`, only in `before`, and in both with another value.
fn differing<K: Ord + Clone, V: PartialEq>(
    before: &BTreeMap<K, V>,
    after: &BTreeMap<K, V>,
) -> (Vec<K>, Vec<K>, Vec<K>) {
    let missing = |there: &BTreeMap<K, V>, here: &BTreeMap<K, V>| {
        here.keys().filter(|key| !there.contains_key(*key)).cloned().collect()
    };
    let others = after.iter().filter(|(key, value)| before.get(*key).is_some_and(|old| old != *value));
    (missing(before, after), missing(after, before), others.map(|(key, _)| key.clone()).collect())
}

fn settings(old: &Config, new: &Config) -> Vec<String> {
    let keys = [
        ("scan", old.scan != new.scan),
        ("confirm", old.confirm != new.confirm),
        ("egress", old.egress_allow != new.egress_allow),
        ("people", old.people != new.people),
        ("retention", old.retention != new.retention),
        ("backups", old.backups != new.backups),
        ("metrics", old.metrics != new.metrics),
        ("self_check", old.self_check != new.self_check),
        ("routes", old.routes != new.routes),
    ];
    keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key.to_owned()).collect()
}
