//! Puts a configuration in force: what can fail is built aside, what the store has to know is written, and then plan,
//! door and receivers are swapped in one step that cannot fail.

use std::path::PathBuf;
use std::sync::Arc;

use super::outbox::GONE_FOR;
use crate::clock::Clock;
use crate::config::{self, Config, LastFile, LastGood};
use crate::judge::rules;
use crate::metrics::Metrics;
use crate::model::target::TargetId;
use crate::net::Door;
use crate::operations::{Carries, Office};
use crate::plan::{Live, Plan, Swap};
use crate::receiver::Receivers;
use crate::reload::changes::{AtStart, Changes};
use crate::reload::files::Files;
use crate::reload::{Carried, Cause, Held, NotReloaded, Outcome, Reloaded, Site};
use crate::scan::{Changed, Scanner};
use crate::secret::Environment;
use crate::service_manager;
use crate::store::{InventoryFile, Store, StoreError};

/// Mistakes that are logged one by one; `driftd config check` tells them all.
const LOGGED: usize = 20;

/// The daemon's parts that a configuration is put in force in.
#[derive(Debug)]
pub(super) struct Renewal {
    pub(super) start: AtStart,
    /// In force, but for its targets, which are the plan's: there may be a hundred thousand.
    pub(super) config: Config,
    pub(super) environment: Environment,
    pub(super) office: Arc<Office>,
    pub(super) scanner: Arc<Scanner>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) swap: Swap,
    pub(super) door: Live<Door>,
    pub(super) receivers: Live<Receivers>,
}

impl Site for Renewal {
    async fn take(&mut self, causes: &[Cause], released: &[PathBuf]) -> Outcome {
        service_manager::reloading();
        let outcome = self.renew(released).await;
        self.tell(causes, &outcome);
        service_manager::ready();
        outcome
    }

    fn files(&self) -> Files {
        files(&self.config)
    }
}

/// What `config` was read from.
pub(super) fn files(config: &Config) -> Files {
    Files { daemon: config.file.clone(), listed: config.listed.clone(), ours: config.store.clone() }
}

impl Renewal {
    async fn renew(&mut self, released: &[PathBuf]) -> Outcome {
        let mut config = self.read(released).await?;
        still_held(&config, released)?;
        let (door, receivers) = self.build(&config).map_err(|error| NotReloaded::Failed(format!("{error:#}")))?;
        let before = self.office.plan.plan();
        let plan = Plan::after(&config, &before);
        config.targets = Vec::new();
        let changes = Changes::between((&self.config, &before.targets), (&config, &plan.targets), &self.start);
        drop(before);
        let all = self.config.confirm != config.confirm;
        let changed = if all { Changed::All } else { Changed::These(&changes.changed) };
        let swap = |plan| {
            self.swap.to(plan);
            door.into_iter().for_each(|door| self.door.set(door));
            receivers.into_iter().for_each(|receivers| self.receivers.set(receivers));
        };
        let carries = take_inventory(&self.office, &self.scanner, plan, Some(changed), swap)
            .await
            .map_err(|error| NotReloaded::Failed(format!("the store failed: {error}")))?;
        let before = std::mem::replace(&mut self.config, config);
        self.follow(&before).await;
        Ok(self.reloaded(changes, carries))
    }

    /// Off the runtime's threads: an inventory may be long, and its disk slow.
    async fn read(&self, released: &[PathBuf]) -> Result<Config, NotReloaded> {
        let released: Vec<PathBuf> = released.iter().map(|file| config::key(file)).collect();
        if let Some(file) = released.iter().find(|file| self.config.held.iter().all(|held| held.path != **file)) {
            return Err(NotReloaded::NotHeld(format!(
                "{} is not held; `driftd reload` tells which files are",
                file.display()
            )));
        }
        let mut last_good = LastGood::of(&self.config.parts);
        last_good.released.extend(released);
        let (file, environment) = (self.config.file.clone(), self.environment.clone());
        let read = move || config::load_with(&file, &environment, &last_good, &rule_ids());
        let read = tokio::task::spawn_blocking(read).await;
        let read =
            read.map_err(|_| NotReloaded::Failed("reading the configuration broke: a fault of driftd".to_owned()))?;
        read.map_err(|mistakes| NotReloaded::Mistakes(mistakes.each()))
    }

    /// What differs and can fail.
    fn build(&self, config: &Config) -> anyhow::Result<(Option<Door>, Option<Receivers>)> {
        let old = &self.config;
        let same_door = old.scan.contact == config.scan.contact && old.egress_allow == config.egress_allow;
        let door = if same_door { None } else { Some(super::start::door(config)?) };
        let same = old.receivers == config.receivers;
        let receivers = if same { None } else { Some(super::receivers(config, &self.environment)?) };
        Ok((door, receivers))
    }

    /// What follows from another plan and may fail without its being less in force.
    async fn follow(&self, before: &Config) {
        let plan = self.office.plan.plan();
        self.metrics.take_in(&plan.receivers);
        self.metrics.take_out(&plan.receivers);
        tell_inventory(&self.metrics, &self.config, plan.targets.len());
        if let Err(error) = self.office.retire().await {
            self.metrics.store_errors.with_label_values(&["commit"]).inc();
            tracing::error!(%error, "what left the inventory could not be settled; it is tried again each minute");
        }
        keep_inventory(&self.office.store, &self.office.clock, &self.metrics, &self.config).await;
        if let Err(error) = self.follow_receivers(before, &plan).await {
            self.metrics.store_errors.with_label_values(&["outbox"]).inc();
            tracing::error!(%error, "what is owed to receivers that left or came could not be told so");
        }
    }

    /// What is owed to who left waits; what waited for who is back goes out.
    async fn follow_receivers(&self, before: &Config, plan: &Plan) -> Result<(), StoreError> {
        let now = self.office.clock.now();
        for left in before.receivers.iter().filter(|receiver| !plan.receivers.contains(&receiver.name)) {
            self.office.store.hold_receiver(&left.name, now.saturating_add(GONE_FOR).unwrap_or(now)).await?;
        }
        if self.office.store.let_receivers_go(&plan.receivers, now).await? > 0 {
            self.office.daemon.iter().for_each(|daemon| daemon.wake_delivery.notify_one());
        }
        Ok(())
    }

    fn reloaded(&self, changes: Changes, carries: Carries) -> Reloaded {
        let carried = |carry: &crate::store::Carry| Carried { was: carry.from.to_string(), is: carry.to.to_string() };
        Reloaded {
            at: Some(self.office.clock.now()),
            targets: self.office.plan.plan().targets.len(),
            changes,
            held: held(&self.config),
            carried: carries.taken.iter().map(carried).collect(),
            not_carried: carries.refused,
        }
    }

    fn tell(&self, causes: &[Cause], outcome: &Outcome) {
        let asked: Vec<String> = causes.iter().map(ToString::to_string).collect();
        let asked = asked.join(", ");
        let was_right = self.metrics.config_last_reload_successful.get() == 1;
        self.metrics.config_last_reload_successful.set(i64::from(outcome.is_ok()));
        match outcome {
            Ok(reloaded) => {
                tell_warnings(&self.config);
                self.metrics.config_last_reload_success.set(self.office.clock.now().as_duration().as_secs_f64());
                // Files are read once more after a start, and whenever one was touched.
                let is_asked_for = causes.iter().any(|cause| *cause != Cause::Files);
                if was_right && !is_asked_for && reloaded.is_nothing_new() {
                    tracing::debug!(asked, targets = reloaded.targets, "the files say what is in force");
                } else {
                    tell_taken(&asked, reloaded);
                }
            }
            Err(NotReloaded::Mistakes(mistakes)) => {
                tracing::error!(
                    mistakes = mistakes.len(),
                    asked,
                    "the configuration has mistakes; the one before stays in force (`driftd config check` tells them all)"
                );
                for mistake in mistakes.iter().take(LOGGED) {
                    tracing::error!("{}", headline(mistake));
                }
            }
            Err(error @ (NotReloaded::Failed(_) | NotReloaded::NotHeld(_) | NotReloaded::NotReleased(_))) => {
                let error = error.to_string();
                tracing::error!(asked, error = headline(&error), "the configuration was not reloaded");
            }
        }
    }
}

fn tell_taken(asked: &str, reloaded: &Reloaded) {
    let changes = &reloaded.changes;
    tracing::info!(
        asked,
        targets = reloaded.targets,
        added = changes.added.len(),
        removed = changes.removed.len(),
        changed = changes.changed.len(),
        receivers = changes.receivers.join(", "),
        settings = changes.settings.join(", "),
        "the configuration is in force"
    );
    for key in &changes.restart {
        tracing::warn!(key, "this key takes a restart; until then it is what it was at the start");
    }
    for carried in &reloaded.carried {
        tracing::info!(target_id = carried.is, was = carried.was, "carries on the past of another id");
    }
    for why in &reloaded.not_carried {
        tracing::warn!(why, "a past was not carried over");
    }
    tell_held(&reloaded.held);
}

/// Logs what is no mistake and should be known.
pub(super) fn tell_warnings(config: &Config) {
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
}

/// Logs which files are held.
pub(super) fn tell_held(held: &[Held]) {
    for Held { file, reason, why, .. } in held {
        let why = headline(why);
        tracing::error!(
            file = %file.display(),
            reason,
            why,
            "an inventory file is held at its last good version (`driftd config check` tells all that is wrong with it)"
        );
    }
}

/// Refuses the release of what is held for its mistakes: that would change nothing and say that all is well.
fn still_held(config: &Config, released: &[PathBuf]) -> Result<(), NotReloaded> {
    let released: Vec<PathBuf> = released.iter().map(|file| config::key(file)).collect();
    match config.held.iter().find(|held| released.contains(&held.path)) {
        None => Ok(()),
        Some(held) => Err(NotReloaded::NotReleased(format!(
            "a release lets in what a file removes, and {} has mistakes to mend first; it stays held\n\n{}",
            held.path.display(),
            held.mistakes.join("\n\n")
        ))),
    }
}

/// Where and what, without the lines that show it: an event is one line.
fn headline(mistake: &str) -> &str {
    mistake.lines().next().unwrap_or_default()
}

/// Which files of `config` are held.
pub(super) fn held(config: &Config) -> Vec<Held> {
    let held = config.held.iter().map(|held| Held {
        file: held.path.clone(),
        reason: held.reason.to_string(),
        why: held.mistakes.join("\n\n"),
        releasable: held.releasable,
    });
    held.collect()
}

/// What metrics say of an inventory.
pub(super) fn tell_inventory(metrics: &Metrics, config: &Config, targets: usize) {
    metrics.inventory_targets.set(i64::try_from(targets).unwrap_or(i64::MAX));
    let held = config.held.iter().map(|held| (held.path.display().to_string(), held.reason.as_str()));
    metrics.tell_held(&held.collect::<Vec<_>>());
}

/// The ids of all rules.
pub(super) fn rule_ids() -> Vec<&'static str> {
    rules::all().map(|rule| rule.id).collect()
}

/// Has store and scanner know the targets of `plan`, and puts it in force by `swap`. Nothing is scanned into the store
/// in between. With `changed` there is a plan before this one, and scans under way.
///
/// # Errors
/// As the store says; then nothing has changed.
pub(super) async fn take_inventory(
    office: &Office,
    scanner: &Scanner,
    plan: Plan,
    changed: Option<Changed<'_>>,
    swap: impl FnOnce(Plan),
) -> Result<Carries, StoreError> {
    let now = office.clock.now();
    let summaries: Vec<_> = plan.targets.values().map(|target| target.summary()).collect();
    let mut writer = office.store.writer().await;
    let carries = office.carries(&mut writer, &plan.targets, now).await?;
    let before = office.plan.plan();
    let arrived = plan.targets.keys().filter(|id| changed.is_some() && !before.targets.contains_key(*id));
    let arrived: Vec<TargetId> = arrived.chain(carries.taken.iter().map(|carry| &carry.from)).cloned().collect();
    let mut arrivals = scanner.arrivals(&arrived).await?;
    for carry in &carries.taken {
        arrivals.rename(&carry.from, &carry.to);
    }
    writer.take_inventory(&summaries, &carries.taken, now).await?;
    scanner.adopt(&writer, arrivals, changed.unwrap_or(Changed::These(&[])), || swap(plan));
    Ok(carries)
}

/// What the store keeps of the inventory that was in force last.
///
/// # Errors
/// As the store says.
pub(super) async fn last_good(store: &Store) -> Result<LastGood, StoreError> {
    let files = store.last_inventory().await?;
    let files = files.into_iter().map(|file| (file.path, LastFile { text: file.text, ids: file.ids }));
    Ok(LastGood { files: files.collect(), ..LastGood::default() })
}

/// Has the store keep the inventory in force, for a start that finds a wrong one.
pub(super) async fn keep_inventory(store: &Store, clock: &Clock, metrics: &Metrics, config: &Config) {
    let files = config.parts.iter().map(|part| InventoryFile {
        path: part.path.clone(),
        digest: part.digest,
        text: part.text.clone(),
        ids: part.ids.clone(),
    });
    if let Err(error) = store.keep_inventory(&files.collect::<Vec<_>>(), clock.now()).await {
        metrics.store_errors.with_label_values(&["commit"]).inc();
        tracing::error!(%error, "the inventory in force could not be kept for the next start");
    }
}
