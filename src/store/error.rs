//! What can go wrong with the store, told apart by what its reader does next; read from result codes, never from text.

use std::io;

use sqlx::error::DatabaseError;

/// Why the store could not read or write. A write that failed has changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another program holds the database; trying again is right.
    #[error("another program holds a lock on the database (a shell in a transaction, a copy being made); let it end")]
    Busy,
    /// The disk, or the file's size limit, is full.
    #[error("no space is left for the database; free some on its file system")]
    Full,
    /// The database or its directory may not be written.
    #[error("the database cannot be written; is its file system mounted read-only, or does it belong to another user?")]
    ReadOnly,
    /// What is stored cannot be read back.
    #[error(
        "the database is damaged ({0}); `driftd store check` tells how far, `driftd store restore` puts a backup in its place"
    )]
    Corrupt(String),
    /// SQLite itself calls the file damaged: what can still be written does not make it whole.
    #[error(
        "the database is damaged ({0}); `driftd store check` tells how far, `driftd store restore` puts a backup in its place"
    )]
    Damaged(String),
    /// The path leads to another file than the one that is open, or to none.
    #[error("{} was deleted or replaced while it was open, and nothing is written to it; \
             put the file back, or stop driftd, `driftd store restore` a backup and start it again", .0.display())]
    Moved(std::path::PathBuf),
    /// A later version of driftd made it.
    #[error(
        "the database is of a newer driftd: its schema is {found}, this driftd knows {known}; \
             install that driftd again, or `driftd store restore` a backup from before"
    )]
    Newer {
        /// The newest schema version applied to it.
        found: i64,
        /// The newest schema version of this program.
        known: i64,
    },
    /// The file is a database of another program.
    #[error("the file is a database of another program; give `store` a file of its own")]
    Foreign,
    /// Another process holds the store's lock.
    #[error("the store is in use{}: another command or daemon; let it end or stop it first, or give this one a store of its own", .pid.map(|pid| format!(" by process {pid}")).unwrap_or_default())]
    Locked {
        /// The holder, as it wrote itself into the lock file.
        pid: Option<u32>,
    },
    /// Entries that do not continue the ledger: they were made from a head that is no longer the newest.
    #[error("entry {found} does not continue the ledger, whose next entry is {expected}")]
    Ledger {
        /// The number the next entry has to have.
        expected: u64,
        /// The number it had (equal to `expected` when its `prev` is not the head's hash).
        found: u64,
    },
    /// A notice to be folded or dropped that does not wait any more.
    #[error("notice {0} is not waiting")]
    NotWaiting(String),
    /// A file could not be read or written.
    #[error("the database's file: {0}")]
    Io(io::Error),
    /// Anything else: a fault of ours.
    #[error("the store: {0}")]
    Other(String),
}

impl StoreError {
    /// Something stored that this code cannot read.
    pub(super) fn unreadable(what: &str, why: impl std::fmt::Display) -> Self {
        Self::Corrupt(format!("{what}: {why}"))
    }

    /// Whether it stays so however often the store is opened, until somebody does something about the file.
    #[must_use]
    pub const fn stays(&self) -> bool {
        match self {
            Self::Corrupt(_) | Self::Damaged(_) | Self::Newer { .. } | Self::Foreign => true,
            Self::Busy
            | Self::Full
            | Self::ReadOnly
            | Self::Moved(_)
            | Self::Locked { .. }
            | Self::Ledger { .. }
            | Self::NotWaiting(_)
            | Self::Io(_)
            | Self::Other(_) => false,
        }
    }

    /// Whether the storage failed, not what was asked of it.
    pub(super) const fn is_of_storage(&self) -> bool {
        match self {
            Self::Busy
            | Self::Full
            | Self::ReadOnly
            | Self::Corrupt(_)
            | Self::Damaged(_)
            | Self::Moved(_)
            | Self::Newer { .. }
            | Self::Foreign
            | Self::Locked { .. }
            | Self::Io(_)
            | Self::Other(_) => true,
            Self::Ledger { .. } | Self::NotWaiting(_) => false,
        }
    }

    /// The word in logs and metrics.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Full => "full",
            Self::ReadOnly => "read_only",
            Self::Corrupt(_) | Self::Damaged(_) => "corrupt",
            Self::Moved(_) => "moved",
            Self::Newer { .. } => "newer",
            Self::Foreign => "foreign",
            Self::Locked { .. } => "locked",
            Self::Ledger { .. } => "ledger",
            Self::NotWaiting(_) => "not_waiting",
            Self::Io(_) => "io",
            Self::Other(_) => "other",
        }
    }
}

/// Primary result codes of SQLite (<https://www.sqlite.org/rescode.html>); extended ones hold them in the low byte.
mod code {
    pub(super) const BUSY: u32 = 5;
    pub(super) const LOCKED: u32 = 6;
    pub(super) const READONLY: u32 = 8;
    pub(super) const IOERR: u32 = 10;
    pub(super) const CORRUPT: u32 = 11;
    pub(super) const FULL: u32 = 13;
    pub(super) const CANTOPEN: u32 = 14;
    pub(super) const NOTADB: u32 = 26;
}

fn from_database(error: &dyn DatabaseError) -> StoreError {
    let primary = error.code().and_then(|code| code.parse::<u32>().ok()).map(|code| code & 0xff);
    match primary {
        Some(code::BUSY | code::LOCKED) => StoreError::Busy,
        Some(code::READONLY) => StoreError::ReadOnly,
        Some(code::CORRUPT | code::NOTADB) => StoreError::Damaged(error.message().to_owned()),
        Some(code::FULL) => StoreError::Full,
        Some(code::IOERR | code::CANTOPEN) => StoreError::Io(io::Error::other(error.message().to_owned())),
        _ => StoreError::Other(error.to_string()),
    }
}

/// No `source` of the error: its words hold those already, and whoever writes the chain would say them twice.
impl From<io::Error> for StoreError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<sqlx::Error> for StoreError {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the enum is non-exhaustive; what is not named is a fault of ours"
    )]
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => from_database(error.as_ref()),
            sqlx::Error::Io(error) => Self::Io(error),
            sqlx::Error::PoolTimedOut => Self::Busy,
            sqlx::Error::ColumnDecode { index, source } => Self::Corrupt(format!("column {index}: {source}")),
            other => Self::Other(other.to_string()),
        }
    }
}
