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
mod files;
mod glob;
mod held;
mod hiding;
mod inventories;
mod inventory_file;
mod reader;
mod schema;
mod source;
mod spelling;
mod tree;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;
use jiff::Timestamp;

use crate::model::confirm::Confirm;
use crate::model::inventory::{Auth, Target};
use crate::model::notice::Route;
use crate::model::policy::Ignore;
use crate::model::receiver::{Channel, Receiver};
use crate::model::secret::{SecretRef, TextOrSecret};
use crate::model::settings::{Backups, MetricSettings, Person, Retention, SelfCheck};
use crate::model::target::TargetId;
use crate::secret::Environment;

use inventories::{Inventory, Moment};
use reader::Reader;

pub use error::{ConfigError, Mistake, Mistakes, Place, Snippet, Spot};
pub use files::expand;
pub use held::{Held, HeldReason, InventoryPart, LastFile, LastGood, Warning, key};
pub use hiding::sounds_secret;
pub use schema::{Described, schema};

/// Everything that the files say, defaults applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The `driftd.yaml` it was read from.
    pub file: PathBuf,
    /// The inventory files it was read from, in order.
    pub inventory_files: Vec<PathBuf>,
    /// What `inventory` lists: paths, and patterns of names; see [`expand`].
    pub listed: Vec<PathBuf>,
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
    /// Which series describe each target.
    pub metrics: MetricSettings,
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
    /// What is no mistake and should be known.
    pub warnings: Vec<Warning>,
}

impl Config {
    /// Every reference to a secret in it: people's, receivers' and targets'.
    pub fn secrets(&self) -> Vec<&SecretRef> {
        let mut secrets: Vec<&SecretRef> = self.people.iter().map(|person| &person.token).collect();
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
            let variables = target.endpoint.command().map(|command| command.env.as_slice()).unwrap_or_default();
            secrets.extend(variables.iter().filter_map(|(_, value)| referred(value)));
        }
        secrets
    }

    /// What is ignored no more at `now`, and of which targets: it is inert, and may be taken out.
    pub fn expired(&self, now: Timestamp) -> Vec<(&Ignore, Vec<&TargetId>)> {
        let mut expired: Vec<(&Ignore, Vec<&TargetId>)> = Vec::new();
        for target in &self.targets {
            for ignore in target.policy.ignore.iter().filter(|ignore| ignore.until.is_some_and(|until| until <= now)) {
                // Those of a profile are the same for all its targets.
                match expired.iter_mut().find(|(known, _)| *known == ignore) {
                    Some((_, targets)) => targets.push(&target.id),
                    None => expired.push((ignore, vec![&target.id])),
                }
            }
        }
        expired
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
    written.or_else(here).unwrap_or_else(|| PathBuf::from(daemon_file::LAST_PLACE))
}

/// Where the daemon is, which `driftd.yaml` alone says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The SQLite database.
    pub store: PathBuf,
    /// The control socket.
    pub control: PathBuf,
}

/// Reads of `driftd.yaml` where the daemon is: also with a wrong inventory it can be asked, and the last good one lies
/// in its store.
///
/// # Errors
/// All the mistakes in that file.
pub fn places(path: &Path, environment: &Environment) -> Result<Places, Mistakes> {
    let mut reader = Reader::new(environment, None);
    let places = daemon_file::read(&mut reader, path).map(|file| file.places(environment));
    reader.finish(places)
}

/// Reads of `driftd.yaml` where the daemon is, for who only asks it: also while the rest of the file is wrong, or names
/// secrets that only the daemon's own environment has.
///
/// # Errors
/// When the file cannot be read, or what it says of its store and socket is wrong.
pub fn whereabouts(path: &Path, environment: &Environment) -> Result<Places, Mistakes> {
    let mut reader = Reader::new(environment, None);
    let found = daemon_file::whereabouts(&mut reader, path);
    reader.finish(found.map(|(store, control)| Places::of(&store, control.as_deref(), environment)))
}

/// Reads `driftd.yaml` and the inventory files that it lists, without any last good version. Which rules there are is
/// not looked at.
///
/// # Errors
/// All the mistakes in them, in the order of files and lines.
pub fn load(path: &Path, environment: &Environment) -> Result<Config, Mistakes> {
    read(path, Reader::new(environment, None), &LastGood::default(), Moment::Reload)
}

/// The same for who looks at targets or the store without a daemon: secrets of receivers and people are not looked at.
///
/// # Errors
/// All other mistakes in them, in the order of files and lines.
pub fn load_to_look(path: &Path, environment: &Environment) -> Result<Config, Mistakes> {
    read(path, Reader::new(environment, None).without_secrets(), &LastGood::default(), Moment::Reload)
}

/// Reads them for a daemon that runs.
///
/// A wrong file that another program writes is held at its last good version, any other mistake refuses the whole.
/// `rules` are the ids of all rules: a policy that names another is a mistake.
///
/// # Errors
/// All the mistakes in them, in the order of files and lines.
pub fn load_with(
    path: &Path,
    environment: &Environment,
    last_good: &LastGood,
    rules: &[&str],
) -> Result<Config, Mistakes> {
    read(path, Reader::new(environment, Some(rules)), last_good, Moment::Reload)
}

/// Reads them to see whether they are right, perhaps where the unit's credentials are not passed: those are told as not
/// looked at.
///
/// # Errors
/// All the mistakes in them, in the order of files and lines.
pub fn check(path: &Path, environment: &Environment, rules: &[&str]) -> Result<Config, Mistakes> {
    let reader = Reader::new(environment, Some(rules)).outside_the_unit();
    read(path, reader, &LastGood::default(), Moment::Reload)
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
    read(path, Reader::new(environment, Some(rules)), last_good, Moment::Start)
}

fn read(path: &Path, mut reader: Reader<'_>, last_good: &LastGood, moment: Moment) -> Result<Config, Mistakes> {
    let config = daemon_file::read(&mut reader, path).map(|mut file| {
        let entries = std::mem::take(&mut file.inventory);
        let listed = entries.iter().map(|entry| entry.path.clone()).collect();
        let mut warnings = Vec::new();
        let files = files::of(&mut reader, entries, last_good, &mut warnings);
        let inventory_files = files.iter().map(|file| file.path.clone()).collect();
        let mut inventory = inventories::read(&mut reader, files, &file, last_good, moment);
        inventory.warnings.extend(warnings);
        inventory.warnings.extend(reader.not_looked_at());
        assemble(path, file, inventory, (inventory_files, listed), reader.environment)
    });
    reader.finish(config)
}

fn assemble(
    path: &Path,
    file: daemon_file::DaemonFile,
    inventory: Inventory,
    (inventory_files, listed): (Vec<PathBuf>, Vec<PathBuf>),
    environment: &Environment,
) -> Config {
    let Places { store, control } = file.places(environment);
    Config {
        file: path.to_owned(),
        inventory_files,
        listed,
        store,
        control,
        metrics_listen: file.metrics_listen.unwrap_or(elements::address::METRICS),
        scan: file.scan,
        confirm: file.confirm,
        egress_allow: file.egress_allow,
        listen: file.listen,
        people: file.people,
        retention: file.retention,
        backups: file.store.backups,
        metrics: file.metrics,
        self_check: file.self_check,
        receivers: file.receivers,
        routes: file.routes,
        targets: inventory.targets,
        parts: inventory.parts,
        held: inventory.held,
        warnings: inventory.warnings,
    }
}

impl daemon_file::DaemonFile {
    fn places(&self, environment: &Environment) -> Places {
        Places::of(&self.store, self.control.as_deref(), environment)
    }
}

impl Places {
    fn of(store: &elements::store::Store, control: Option<&Path>, environment: &Environment) -> Self {
        let store = store.sqlite.clone().unwrap_or_else(|| default_store(environment));
        let control = control.map_or_else(|| default_control(environment, &store), Path::to_owned);
        Self { store, control }
    }
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
