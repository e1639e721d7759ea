//! Putting a backup in the store's place: checked first, with what was there kept aside, and said in the ledger.
//!
//! Whoever calls it holds the store's lock. Until the last step, one rename, the store is what it was; a log that
//! belongs to the old file is gone before that, since SQLite would apply it to the new one.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sqlx::{Connection as _, SqliteConnection};

use super::backup::{Partial, sync_directory, vacuum_into};
use super::check::{self, Checked};
use super::error::StoreError;
use super::{Store, StoreLock, ledger, marks, open, schema};
use crate::model::facet::{Facet, FacetName};
use crate::model::ledger::{Action, EVERY_TARGET, LedgerEntry};
use crate::model::memory::LedgerHead;
use crate::model::pointer::Pointer;

/// Why nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The backup is not whole.
    #[error("{} is damaged, and nothing was changed:\n  {}", .path.display(), .problems.join("\n  "))]
    Damaged {
        /// The backup.
        path: PathBuf,
        /// What is wrong with it.
        problems: Vec<String>,
    },
    /// The file is something else.
    #[error("{} is no copy of a driftd store, and nothing was changed; `driftd store backup FILE` makes one", .path.display())]
    NoCopy {
        /// The file.
        path: PathBuf,
    },
    /// The backup cannot be read.
    #[error("{}: {error}", .path.display())]
    Backup {
        /// The backup.
        path: PathBuf,
        /// Why.
        error: StoreError,
    },
    /// Files could not be put in place.
    #[error("{}: {error}", .path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// The copy could not be prepared.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was put in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// What the backup holds.
    pub checked: Checked,
    /// Where the store that was there is now; none when there was none.
    pub aside: Option<PathBuf>,
    /// Number of the ledger's entry about it.
    pub entry: u64,
}

impl Store {
    /// Puts `backup` in the place of the store at `path`, for `who` (`person:NAME`).
    ///
    /// # Errors
    /// See [`RestoreError`]; the store is then what it was.
    pub async fn restore(
        path: &Path,
        _lock: &StoreLock,
        backup: &Path,
        who: &str,
        now: Timestamp,
    ) -> Result<Restored, RestoreError> {
        let (partial, checked) = copied(path, backup).await?;
        let before = closed(path).await;
        let entry = prepare(&partial.0, backup, before, who, now).await?;
        let aside =
            put_in_place(path, &partial.0, now).map_err(|error| RestoreError::Io { path: path.to_owned(), error })?;
        Ok(Restored { checked, aside, entry })
    }
}

/// A copy of the backup beside the store, checked.
async fn copied(path: &Path, backup: &Path) -> Result<(Partial, Checked), RestoreError> {
    let unreadable = |error| unreadable(backup, error);
    let mut source = open::reader(backup).await.map_err(unreadable)?;
    let version = schema::inspect(&mut source).await.map_err(unreadable)?;
    if version == 0 {
        return Err(unreadable(StoreError::Foreign));
    }
    // Of the backup itself: a copy repairs indexes on its way, and hides what is damaged.
    let checked = check::checked(&mut source).await.map_err(unreadable)?;
    if !checked.is_whole() {
        return Err(RestoreError::Damaged { path: backup.to_owned(), problems: checked.problems });
    }
    let partial = Partial::create(path).map_err(|error| RestoreError::Io { path: path.to_owned(), error })?;
    vacuum_into(&mut source, &partial.0).await?;
    // It was only read.
    let _ = source.close().await;
    Ok((partial, checked))
}

/// In words about the file that was named, not about the store.
fn unreadable(backup: &Path, error: StoreError) -> RestoreError {
    let path = backup.to_owned();
    match error {
        StoreError::Foreign => RestoreError::NoCopy { path },
        StoreError::Damaged(_) if !open::is_database(backup) => RestoreError::NoCopy { path },
        StoreError::Damaged(what) | StoreError::Corrupt(what) => RestoreError::Damaged { path, problems: vec![what] },
        error @ (StoreError::Busy
        | StoreError::Full
        | StoreError::ReadOnly
        | StoreError::Moved(_)
        | StoreError::Newer { .. }
        | StoreError::Locked { .. }
        | StoreError::Ledger { .. }
        | StoreError::NotWaiting(_)
        | StoreError::Io(_)
        | StoreError::Other(_)) => RestoreError::Backup { path, error },
    }
}

/// Has the store that is there write its log into itself, and says where its ledger stood; none when there is none or
/// it cannot be read any more.
async fn closed(path: &Path) -> Option<LedgerHead> {
    if !path.exists() {
        return None;
    }
    let mut conn = open::writer_of(path).await.ok()?;
    let head = ledger::head(&mut conn).await.ok();
    // Its log goes with it where this fails: see `put_in_place`.
    let _ = conn.close().await;
    head
}

/// Brings the copy up to date, and says in it that it was restored.
async fn prepare(
    copy: &Path,
    backup: &Path,
    before: Option<LedgerHead>,
    who: &str,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let mut conn = open::writer(copy).await?;
    let written = say(&mut conn, backup, before, who, now).await;
    let closed = conn.close().await;
    let entry = written?;
    closed?;
    Ok(entry)
}

async fn say(
    conn: &mut SqliteConnection,
    backup: &Path,
    before: Option<LedgerHead>,
    who: &str,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let head = ledger::head(conn).await?;
    let file = backup.file_name().unwrap_or_default().to_string_lossy();
    let left = match before {
        Some(before) => format!("; the store before it had {} entries, head {}", before.no, before.hash),
        None => String::new(),
    };
    let entry = LedgerEntry {
        no: head.no + 1,
        decision: format!("restore-{}", now.as_millisecond()),
        at: now,
        target: EVERY_TARGET.parse().map_err(|_| StoreError::Other("a name of ours is none".to_owned()))?,
        facet: FacetName::stranger(Facet::Scan),
        path: Pointer::root(),
        before: before.map(|before| before.hash),
        after: None,
        rule: None,
        action: Action::Restore,
        who: who.to_owned(),
        reason: Some(format!("restored from {file}{left}")),
        ticket: None,
        until: None,
        prev: head.hash,
    };
    let mut tx = conn.begin().await?;
    ledger::append(&mut tx, std::slice::from_ref(&entry)).await?;
    marks::write(&mut tx, marks::RESTORED_AT, Some(&now.to_string())).await?;
    tx.commit().await?;
    Ok(entry.no)
}

/// Keeps the store that is there aside, and gives the copy its name.
fn put_in_place(path: &Path, copy: &Path, now: Timestamp) -> io::Result<Option<PathBuf>> {
    let file = std::fs::File::open(copy)?;
    open::give_to_owner_of(path, &file);
    file.sync_all()?;
    let aside = path.exists().then(|| open::beside(path, &format!(".before-{}", now.strftime("%Y%m%dT%H%M%SZ"))));
    if let Some(aside) = &aside {
        second_name(path, aside)?;
        // A damaged store could not be closed: its log goes aside with it, and may not stay for the new one.
        let log = open::log_path(path);
        if log.exists() {
            std::fs::rename(&log, open::log_path(aside))?;
        }
        remove(&open::beside(path, "-shm"))?;
        sync_directory(path)?;
    }
    std::fs::rename(copy, path)?;
    sync_directory(path)?;
    Ok(aside)
}

/// A second name, or a copy where there are none.
fn second_name(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => std::fs::copy(from, to).map(drop),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
