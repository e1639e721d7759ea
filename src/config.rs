//! Configuration: two YAML files, whole and valid by construction.
//!
//! Decides what `driftd.yaml` and the inventory files may say, and says every mistake in them at once, each with its
//! place. What a target or a receiver *is* stands in [`crate::model`]; secrets stay references (see [`crate::secret`]).
//!
//! Relative paths in a file are relative to the directory of that file. The defaults of `store` and `control` are not
//! written in a file: without systemd's directories they are relative to the working directory.

mod daemon_file;
mod elements;
mod error;
mod held;
mod hiding;
mod inventory_file;
mod listed;
mod reader;
mod source;
mod spelling;
mod tree;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;

use crate::model::confirm::Confirm;
use crate::model::inventory::{Auth, Target};
use crate::model::notice::Route;
use crate::model::receiver::{Channel, Receiver};
use crate::model::secret::{SecretRef, TextOrSecret};
use crate::model::settings::{Backups, Person, Retention, SelfCheck};
use crate::secret::Environment;

use reader::Reader;

pub use error::{ConfigError, Mistake, Mistakes, Place, Snippet, Spot};
pub use held::{Held, HeldReason, InventoryPart, LastFile, LastGood, key};
pub use listed::expand;

/// Everything that the files say, defaults applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The `driftd.yaml` it was read from.
    pub file: PathBuf,
    /// What `inventory` lists: paths, and patterns of names.
    pub listed: Vec<PathBuf>,
    /// The inventory files it was read from, in order.
    pub inventory_files: Vec<PathBuf>,
    /// The SQLite database.
    pub store: PathBuf,
    /// The control socket.
    pub control: PathBuf,
    /// Where `/metrics` and health are served.
    pub metrics_listen: SocketAddr,
    /// How scans are run.
    pub scan: ScanSettings,
    /// How often and how long something must be seen before it counts.
    pub confirm: Confirm,
    /// Special ranges opened for every target.
    pub egress_allow: Vec<IpNet>,
    /// Where `POST /-/reload` is served, later the page and the API; `None`: nowhere.
    pub listen: Option<SocketAddr>,
    /// Who may act over TCP.
    pub people: Vec<Person>,
    /// How long things are kept.
    pub retention: Retention,
    /// Copies of the store that are made by themselves.
    pub backups: Option<Backups>,
    /// How driftd tells that it is offline itself.
    pub self_check: SelfCheck,
    /// Where messages go.
    pub receivers: Vec<Receiver>,
    /// Which events go where; the first match takes one.
    pub routes: Vec<Route>,
    /// What is watched, in the order of the files.
    pub targets: Vec<Target>,
    /// What is in use of each inventory file, in order: the next load's [`LastGood`].
    pub parts: Vec<InventoryPart>,
    /// Inventory files that are not used as they are.
    pub held: Vec<Held>,
}

impl Config {
    /// Every reference to a secret in it, receivers' and targets'.
    pub fn secrets(&self) -> Vec<&SecretRef> {
        let mut secrets = Vec::new();
        for receiver in &self.receivers {
            match &receiver.channel {
                Channel::Console => {}
                Channel::Email(email) => secrets.extend(email.smtp.login.as_ref().map(|login| &login.password)),
                Channel::Webhook(webhook) => {
                    secrets.extend(referred(&webhook.url));
                    secrets.extend(&webhook.secret);
                }
            }
        }
        for target in &self.targets {
            secrets.extend(target.auth.as_ref().map(|Auth::Bearer(secret)| secret));
            secrets.extend(target.headers.iter().filter_map(|(_, value)| referred(value)));
        }
        secrets
    }
}

const fn referred(value: &TextOrSecret) -> Option<&SecretRef> {
    match value {
        TextOrSecret::Text(_) => None,
        TextOrSecret::Secret(secret) => Some(secret),
    }
}

/// How scans are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScanSettings {
    /// Scans at a time.
    pub concurrency: usize,
    /// Scans at a time of one host.
    pub per_host: usize,
    /// Whom an operator of a target may ask about us: a `mailto:` or `https:` URL.
    pub contact: Option<String>,
}

/// The file to read: `flag`, else `DRIFTD_CONFIG`, else `./config/driftd.yaml` if there is one, else
/// `/etc/driftd/driftd.yaml`.
pub fn locate(flag: Option<&Path>, environment: &Environment) -> PathBuf {
    let written = flag.map(Path::to_owned).or_else(|| environment.path("DRIFTD_CONFIG"));
    let here = || Some(PathBuf::from("./config/driftd.yaml")).filter(|path| path.exists());
    written.or_else(here).unwrap_or_else(|| PathBuf::from("/etc/driftd/driftd.yaml"))
}

/// Reads `driftd.yaml` and the inventory files that it lists.
///
/// # Errors
/// All the mistakes in them, in the order of files and lines.
pub fn load(path: &Path, environment: &Environment) -> Result<Config, Mistakes> {
    let mut reader = Reader::new(environment);
    let config = daemon_file::read(&mut reader, path).map(|file| {
        let listed = file.inventory.iter().map(|listed| listed.path.clone()).collect();
        let inventory_files = listed::files(&mut reader, file.inventory);
        let targets = inventory_file::read(&mut reader, &inventory_files);
        let store = file.store.unwrap_or_else(|| default_store(environment));
        Config {
            file: path.to_owned(),
            listed,
            inventory_files,
            control: file.control.unwrap_or_else(|| default_control(environment, &store)),
            store,
            metrics_listen: file.metrics_listen.unwrap_or(elements::address::METRICS),
            scan: file.scan,
            confirm: file.confirm,
            egress_allow: file.egress_allow,
            listen: None,
            people: Vec::new(),
            retention: Retention::default(),
            backups: None,
            self_check: SelfCheck::default(),
            receivers: file.receivers,
            routes: file.routes,
            targets,
            parts: Vec::new(),
            held: Vec::new(),
        }
    });
    reader.finish(config)
}

/// Reads them for a daemon that runs: a wrong file that another program writes is held at its last good version, any
/// other mistake refuses the whole. `rules` are the ids of all rules: a policy that names another is a mistake.
///
/// # Errors
/// All the mistakes in them, in the order of files and lines.
pub fn load_with(
    path: &Path,
    environment: &Environment,
    _last_good: &LastGood,
    _rules: &[&str],
) -> Result<Config, Mistakes> {
    load(path, environment)
}

/// Reads them for a daemon that starts: a wrong inventory file of any kind is held at its last good version, if there
/// is one; a wrong `driftd.yaml` refuses the whole.
///
/// # Errors
/// All the mistakes in them, in the order of files and lines.
pub fn load_at_start(
    path: &Path,
    environment: &Environment,
    last_good: &LastGood,
    rules: &[&str],
) -> Result<Config, Mistakes> {
    load_with(path, environment, last_good, rules)
}

/// Where `driftd.yaml` alone says that a daemon's store and control socket are: to be asked before the inventory is
/// read, and when it is wrong.
///
/// # Errors
/// All the mistakes in that file.
pub fn places(path: &Path, environment: &Environment) -> Result<Places, Mistakes> {
    let mut reader = Reader::new(environment);
    let places = daemon_file::read(&mut reader, path).map(|file| {
        let store = file.store.unwrap_or_else(|| default_store(environment));
        Places { control: file.control.unwrap_or_else(|| default_control(environment, &store)), store }
    });
    reader.finish(places)
}

/// Where a daemon is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The SQLite database.
    pub store: PathBuf,
    /// The control socket.
    pub control: PathBuf,
}

/// In systemd's directory of state, else in the working directory.
fn default_store(environment: &Environment) -> PathBuf {
    directory(environment, "STATE_DIRECTORY").unwrap_or_default().join("driftd.db")
}

/// In systemd's runtime directory, else beside the store.
fn default_control(environment: &Environment, store: &Path) -> PathBuf {
    let beside = || store.parent().map(Path::to_owned).unwrap_or_default();
    directory(environment, "RUNTIME_DIRECTORY").unwrap_or_else(beside).join("driftd.sock")
}

/// systemd lists several with colons; ours is the first.
fn directory(environment: &Environment, variable: &str) -> Option<PathBuf> {
    let path = environment.path(variable)?;
    let first = path.to_str().and_then(|path| path.split(':').next()).map(PathBuf::from);
    Some(first.unwrap_or(path))
}

#[cfg(test)]
mod tests;
