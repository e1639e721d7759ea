//! Verbs that ask the daemon over its control socket; with no daemon they open the store under its lock.

use std::path::Path;

use anyhow::Context as _;

use super::exit::Exit;
use super::{DecisionArgs, Output, answer, page};
use crate::clock::Clock;
use crate::config::{self, Config};
use crate::control::{self, AskError};
use crate::daemon;
use crate::model::notice::MessageState;
use crate::model::observation::Outcome;
use crate::operations::{Answer, Decision, Office, Refused, Request, trial};
use crate::plan::{InForce, Live, Plan};
use crate::secret::Environment;
use crate::store::{Store, StoreError};

/// Asks, writes the answer and says how it ended.
///
/// # Errors
/// When neither the daemon nor the store can be asked.
pub(super) async fn ask(config: Option<&Path>, output: Output, request: Request) -> anyhow::Result<Exit> {
    let answer = asked(config, request).await?;
    if let (Ok(Answer::Targets(targets)), Output::Human) = (&answer, output)
        && targets.is_empty()
        && is_named(config)
    {
        page::write("nothing was scanned yet: start `driftd run`\n")?;
        return Ok(Exit::Fine);
    }
    told(answer, output)
}

/// Whether the inventory names targets, which the store knows once a daemon has run.
fn is_named(config: Option<&Path>) -> bool {
    let environment = Environment::process();
    config::load(&config::locate(config, &environment), &environment).is_ok_and(|config| !config.targets.is_empty())
}

fn told(answer: Result<Answer, Refused>, output: Output) -> anyhow::Result<Exit> {
    let answer = answer.map_err(|refused| anyhow::anyhow!("{refused}"))?;
    match output {
        Output::Human => page::write(&answer::human(&answer))?,
        Output::Json => page::json(&answer::document(&answer)?)?,
    }
    Ok(exit(&answer))
}

/// Lists messages, or those that were given up.
///
/// # Errors
/// When neither the daemon nor the store can be asked.
pub(super) async fn alerts(config: Option<&Path>, output: Output, dead: bool) -> anyhow::Result<Exit> {
    let mut answer = asked(config, Request::Alerts {}).await?;
    if let Ok(Answer::Alerts(messages)) = &mut answer
        && dead
    {
        messages.retain(|message| message.state == MessageState::Dead.as_str());
    }
    told(answer, output)
}

/// Sends a test message: by the daemon, which may see another network and other secrets than we do, or, with none, from
/// here. No store is needed for that.
///
/// # Errors
/// When there is no such receiver, or the daemon cannot be asked.
pub(super) async fn receiver_test(config: Option<&Path>, output: Output, name: String) -> anyhow::Result<Exit> {
    let environment = Environment::process();
    let file = config::locate(config, &environment);
    let request = Request::ReceiverTest { name: name.clone() };
    let answer = match control::ask(&config::whereabouts(&file, &environment)?.control, &request).await {
        Ok(answer) => answer,
        Err(AskError::NoDaemon(_)) => {
            let config = config::load(&file, &environment)?;
            let receivers = daemon::receivers(&config, &environment)?;
            let receivers = match output {
                Output::Human => receivers,
                Output::Json => receivers.beside_a_document(),
            };
            trial::receiver(&receivers, &name, Clock::system().now()).await.map(Answer::Tried)
        }
        Err(error) => return Err(error.into()),
    };
    told(answer, output)
}

/// A scan that saw less than everything gave no verdict, whoever made it.
fn exit(answer: &Answer) -> Exit {
    match answer {
        Answer::Scanned(scanned) if scanned.outcome != Outcome::Ok.as_str() => Exit::NoVerdict,
        Answer::Tried(trial) if trial.error.is_some() => Exit::NoVerdict,
        Answer::LedgerVerified(verified) if verified.broken.is_some() => Exit::NoVerdict,
        Answer::Scanned(_)
        | Answer::LedgerVerified(_)
        | Answer::Tried(_)
        | Answer::Targets(_)
        | Answer::Target(_)
        | Answer::Drifts(_)
        | Answer::Drift(_)
        | Answer::Decided(_)
        | Answer::Baseline(_)
        | Answer::Review(_)
        | Answer::Alerts(_)
        | Answer::Alert(_)
        | Answer::Retried(_)
        | Answer::StoreChecked(_)
        | Answer::Why(_)
        | Answer::Reloaded(_)
        | Answer::History(_) => Exit::Fine,
    }
}

/// The answer of the daemon, or of the store where no daemon runs.
///
/// # Errors
/// When neither can be asked.
pub(super) async fn asked(config: Option<&Path>, request: Request) -> anyhow::Result<Result<Answer, Refused>> {
    let environment = Environment::process();
    let file = config::locate(config, &environment);
    // A daemon can be asked also while its files are wrong, and from where its secrets cannot be had.
    let places = config::whereabouts(&file, &environment)?;
    match control::ask(&places.control, &request).await {
        Ok(answer) => Ok(answer),
        Err(AskError::NoDaemon(socket)) => {
            // The lock is held until the answer is there: nobody writes behind a running daemon.
            let _lock = Store::lock(&places.store).map_err(|error| locked(&error, &socket))?;
            let office = alone(config::load_to_look(&file, &environment)?, &environment).await?;
            let answer = office.answer(request, &control::person(nix::unistd::geteuid().as_raw())).await;
            office.store.close().await.context("failed to close the store")?;
            Ok(answer)
        }
        Err(error) => Err(error.into()),
    }
}

fn locked(error: &StoreError, socket: &Path) -> anyhow::Error {
    let StoreError::Locked { pid } = error else { return anyhow::anyhow!("failed to lock the store: {error}") };
    let who = pid.map(|pid| format!(" by process {pid}")).unwrap_or_default();
    anyhow::anyhow!(
        "the store is in use{who}, and nothing listens on {}: another command is at work, try again when it has ended; \
         or a daemon that starts or stops, or whose configuration names another `control`",
        socket.display()
    )
}

async fn alone(config: Config, environment: &Environment) -> anyhow::Result<Office> {
    let path = config.store.clone();
    let store = Store::open(&path).await.with_context(|| format!("failed to open the store {}", path.display()))?;
    let (_, plan) = InForce::new(Plan::of(&config));
    let receivers = Live::new(daemon::receivers(&config, environment)?);
    Ok(Office { store, clock: Clock::system(), plan, receivers, daemon: None })
}

/// Reads `--until`: an instant, or a date, which ends with its day in UTC.
///
/// # Errors
/// When it is neither.
pub(super) fn decision(args: DecisionArgs) -> anyhow::Result<Decision> {
    let until = args.until.as_deref().map(until).transpose()?;
    Ok(Decision { reference: args.reference, except: args.except, reason: args.reason, ticket: args.ticket, until })
}

fn until(text: &str) -> anyhow::Result<jiff::Timestamp> {
    if let Ok(instant) = text.parse() {
        return Ok(instant);
    }
    let date: jiff::civil::Date =
        text.parse().with_context(|| format!("--until takes a date (2026-12-07) or an instant, not {text:?}"))?;
    let midnight = date.tomorrow()?.to_datetime(jiff::civil::Time::midnight());
    Ok(jiff::tz::TimeZone::UTC.to_timestamp(midnight)?)
}

/// Reads `TARGET@DIGEST`; of a bare `TARGET`, on a terminal, shows the newest snapshot and asks.
///
/// # Errors
/// When no digest is given and nobody can be asked, or the answer is no.
pub(super) async fn snapshot_reference(config: Option<&Path>, reference: &str) -> anyhow::Result<(String, String)> {
    use std::io::IsTerminal as _;
    if let Some((id, digest)) = reference.split_once('@') {
        return Ok((id.to_owned(), digest.to_owned()));
    }
    let id = reference.to_owned();
    let advice =
        format!("name the snapshot that you have read: `driftd baseline show {id}` tells its digest, then {id}@DIGEST");
    if !std::io::stdin().is_terminal() {
        anyhow::bail!("{advice}");
    }
    let answer =
        asked(config, Request::Target { id: id.clone() }).await?.map_err(|refused| anyhow::anyhow!("{refused}"))?;
    let Answer::Target(target) = &answer else { anyhow::bail!("{advice}") };
    let Some(digest) = target.digest else { anyhow::bail!("{id} has no snapshot yet") };
    page::write(&answer::human(&answer))?;
    page::write(&format!("\nHold {id} to {digest}? [y/N] "))?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    if !matches!(line.trim(), "y" | "Y" | "yes") {
        anyhow::bail!("nothing was accepted");
    }
    Ok((id, digest.hex()))
}
