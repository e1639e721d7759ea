//! `driftd store`: whether it is whole, copies of it, and putting one in its place.
//!
//! `check` asks the daemon, or looks into the file under the store's lock. `backup` reads the file itself, beside a
//! running daemon too: the copy is written with the rights of who asks, not with the daemon's. `restore` and `migrate`
//! change it, and only while no daemon runs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Subcommand;

use super::exit::Exit;
use super::{Output, page};
use crate::clock::Clock;
use crate::config::{self, Places};
use crate::control::{self, AskError};
use crate::operations::document::StoreCheck;
use crate::operations::{Answer, Request};
use crate::secret::Environment;
use crate::store::{Replace, Store, StoreError, StoreLock};

/// What to do with the store.
#[derive(Debug, Subcommand)]
pub enum StoreVerb {
    /// Whether all of it is there, can be read and is what was written; exits 3 when not
    Check,
    /// Copy it to a file, while the daemon runs or not
    Backup {
        /// The copy
        file: PathBuf,
        /// Replace the file if it is there
        #[arg(long)]
        force: bool,
    },
    /// Put a backup in its place; the daemon must be stopped, and what was there is kept beside it
    Restore {
        /// The backup
        file: PathBuf,
    },
    /// Bring its schema up to this driftd's, as `driftd run` does by itself
    Migrate,
}

/// Does it.
///
/// # Errors
/// When the store cannot be had, read or written.
pub(super) async fn store(file: Option<&Path>, output: Output, verb: StoreVerb) -> anyhow::Result<Exit> {
    match verb {
        StoreVerb::Check => check(file, output).await,
        StoreVerb::Backup { file: to, force } => backup(&config(file)?, output, &to, force).await,
        StoreVerb::Restore { file: from } => restore(&config(file)?, output, &from).await,
        StoreVerb::Migrate => migrate(&config(file)?, output).await,
    }
}

fn config(file: Option<&Path>) -> anyhow::Result<Places> {
    let environment = Environment::process();
    Ok(config::whereabouts(&config::locate(file, &environment), &environment)?)
}

async fn check(file: Option<&Path>, output: Output) -> anyhow::Result<Exit> {
    let config = config(file)?;
    let checked = match control::ask(&config.control, &Request::StoreCheck {}).await {
        Ok(Ok(Answer::StoreChecked(checked))) => checked,
        Ok(Ok(_)) => anyhow::bail!("the daemon's answer is to another question"),
        Ok(Err(refused)) => anyhow::bail!("{refused}"),
        // Without opening it for writing: what is damaged is looked at, not touched.
        Err(AskError::NoDaemon(_)) => {
            let _lock = lock(&config.store)?;
            StoreCheck::from(Store::check_file(&config.store).await.with_context(|| failed("check", &config.store))?)
        }
        Err(error) => return Err(error.into()),
    };
    match output {
        Output::Human => page::write(&said(&config.store, &checked))?,
        Output::Json => page::json(&checked)?,
    }
    Ok(if checked.problems.is_empty() { Exit::Fine } else { Exit::NoVerdict })
}

fn said(store: &Path, checked: &StoreCheck) -> String {
    let counted = format!(
        "schema {}, {} targets, {} values, {} entries in the ledger",
        checked.schema, checked.targets, checked.values, checked.ledger
    );
    if checked.problems.is_empty() {
        return format!("{} is whole: {counted}\n", store.display());
    }
    let mut page = format!("{} is damaged: {counted}\n", store.display());
    for problem in &checked.problems {
        let _ = writeln!(page, "  {}", crate::model::text::inert(problem, 400));
    }
    if checked.more > 0 {
        let _ = writeln!(page, "  and {} more", checked.more);
    }
    page.push_str("`driftd store restore BACKUP` puts a backup in its place\n");
    page
}

async fn backup(config: &Places, output: Output, to: &Path, force: bool) -> anyhow::Result<Exit> {
    let replace = if force { Replace::Asked } else { Replace::Never };
    Store::copy_file(&config.store, to, replace).await.with_context(|| failed("copy", &config.store))?;
    let size = std::fs::metadata(to)?.len();
    match output {
        Output::Human => page::write(&format!("{} holds a copy of {}\n", to.display(), config.store.display()))?,
        Output::Json => page::json(&serde_json::json!({ "file": to, "bytes": size }))?,
    }
    Ok(Exit::Fine)
}

async fn restore(config: &Places, output: Output, from: &Path) -> anyhow::Result<Exit> {
    let lock = lock(&config.store)?;
    let who = control::person(nix::unistd::geteuid().as_raw());
    let restored = Store::restore(&config.store, &lock, from, &who, Clock::system().now()).await?;
    match output {
        Output::Human => {
            let mut said = format!(
                "{} is in place: {} targets, entry {} of the ledger says so\n",
                from.display(),
                restored.checked.targets,
                restored.entry
            );
            if let Some(aside) = &restored.aside {
                let _ = writeln!(said, "what was there is {}", aside.display());
            }
            page::write(&said)?;
        }
        Output::Json => page::json(&serde_json::json!({
            "aside": restored.aside,
            "entry": restored.entry,
            "store": StoreCheck::from(restored.checked),
        }))?,
    }
    Ok(Exit::Fine)
}

async fn migrate(config: &Places, output: Output) -> anyhow::Result<Exit> {
    let _lock = lock(&config.store)?;
    let (from, to) = Store::migrate(&config.store).await.with_context(|| failed("migrate", &config.store))?;
    match output {
        Output::Human if from == to => page::write(&format!("the schema is at version {to} already\n"))?,
        Output::Human => page::write(&format!("the schema is at version {to}; it was at {from}\n"))?,
        Output::Json => page::json(&serde_json::json!({ "from": from, "to": to }))?,
    }
    Ok(Exit::Fine)
}

/// The right to the store, which a running daemon holds.
fn lock(store: &Path) -> anyhow::Result<StoreLock> {
    Store::lock(store).map_err(|error| match error {
        StoreError::Locked { pid } => {
            let who = pid.map(|pid| format!(" by process {pid}")).unwrap_or_default();
            anyhow::anyhow!("the store is in use{who}: stop driftd first")
        }
        StoreError::Busy
        | StoreError::Full
        | StoreError::ReadOnly
        | StoreError::Corrupt(_)
        | StoreError::Damaged(_)
        | StoreError::Moved(_)
        | StoreError::Newer { .. }
        | StoreError::Foreign
        | StoreError::Ledger { .. }
        | StoreError::NotWaiting(_)
        | StoreError::Io(_)
        | StoreError::Other(_) => anyhow::Error::new(error).context(failed("lock", store)),
    })
}

fn failed(what: &str, store: &Path) -> String {
    format!("failed to {what} the store {}", store.display())
}
