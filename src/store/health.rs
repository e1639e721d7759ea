//! Whether the store can be written: told by each write, and by a trial where nothing else is written.
//!
//! A database file that was deleted or replaced under us would take writes into a file that nobody finds again; so
//! its identity is looked at before each write, and a write into another file is refused.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jiff::Timestamp;
use tokio::sync::watch;

use super::error::StoreError;
use super::{Result, Store, marks};

/// Less room than this on the file system is none: the next scan with something to say would not fit.
const LEAST_ROOM: u64 = 1 << 20;

/// What the last write told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Health {
    /// It can be written.
    #[default]
    Fine,
    /// It cannot, and why.
    Failing(String),
    /// SQLite called it damaged, and why: whatever is written since, it stays so until it is opened anew.
    Damaged(String),
}

/// What the database is in the file system, whatever its path leads to later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(path: &Path) -> io::Result<Self> {
        let found = std::fs::metadata(path)?;
        Ok(Self { device: found.dev(), inode: found.ino() })
    }
}

/// The database and its log, as they were when they were opened.
#[derive(Debug)]
pub(super) struct Place {
    path: PathBuf,
    database: Identity,
    /// Known once there is one.
    log: OnceLock<Identity>,
}

impl Place {
    /// Where `path` leads now.
    pub(super) fn of(path: &Path) -> Result<Self> {
        Ok(Self { path: path.to_owned(), database: Identity::of(path)?, log: OnceLock::new() })
    }

    /// Whether the path still leads there.
    fn stands(&self) -> Result<()> {
        let moved = || StoreError::Moved(self.path.clone());
        if Identity::of(&self.path).map_err(|_| moved())? != self.database {
            return Err(moved());
        }
        match (self.log.get(), Identity::of(&super::open::log_path(&self.path))) {
            (Some(known), Ok(found)) if *known == found => Ok(()),
            (Some(_), _) => Err(moved()),
            (None, Ok(found)) => {
                // Somebody else has set it in between: to the same.
                let _ = self.log.set(found);
                Ok(())
            }
            (None, Err(_)) => Ok(()),
        }
    }
}

impl Store {
    /// Tells of each change.
    pub fn health(&self) -> watch::Receiver<Health> {
        self.inner.health.subscribe()
    }

    /// Writes a mark, to find out whether the store can be written and has room.
    ///
    /// # Errors
    /// What keeps it from being written.
    pub async fn try_write(&self, now: Timestamp) -> Result<()> {
        self.writer().await.set_mark(marks::WRITTEN_AT, Some(&now.to_string())).await?;
        self.wrote(self.has_room())
    }

    fn has_room(&self) -> Result<()> {
        let directory = self.inner.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        match nix::sys::statvfs::statvfs(directory.unwrap_or(Path::new("."))) {
            Ok(found) if room(&found) < LEAST_ROOM => Err(StoreError::Full),
            // What does not tell its room is asked by writing.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Refuses when the database is not where it was opened.
    pub(super) fn stands(&self) -> Result<()> {
        self.inner.place.stands()
    }

    /// Notes what a write came to. A transaction does that by itself where it begins and ends; whoever has it write
    /// more than will fit in memory does it for the statements between.
    pub(super) fn wrote<T>(&self, written: Result<T>) -> Result<T> {
        let health = match &written {
            Ok(_) => Health::Fine,
            Err(error @ StoreError::Damaged(_)) => Health::Damaged(error.to_string()),
            Err(error) if error.is_of_storage() => Health::Failing(error.to_string()),
            Err(_) => return written,
        };
        self.inner.health.send_if_modified(|known| {
            let differs = !matches!(known, Health::Damaged(_)) && *known != health;
            if differs {
                *known = health;
            }
            differs
        });
        written
    }

    /// Notes what a read came to: one that finds damage tells of the store, any other tells nothing of writing.
    pub(super) fn read_so<T>(&self, read: Result<T>) -> Result<T> {
        if matches!(read, Err(StoreError::Damaged(_))) { self.wrote(read) } else { read }
    }
}

fn room(found: &nix::sys::statvfs::Statvfs) -> u64 {
    found.blocks_available().saturating_mul(found.fragment_size())
}
