//! Opening and closing: one connection that writes, a few that read beside it.
//!
//! WAL lets readers go on while the writer commits. The writer syncs on every commit (`synchronous=FULL`), since
//! nothing owed may be lost to a power cut; what may be lost is buffered instead (see [`super::runs`]).

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Row as _, Sqlite, SqliteConnection, SqlitePool, Transaction};

use super::error::StoreError;
use super::schema;

/// How long a statement waits for another program's lock on the file.
const BUSY: Duration = Duration::from_secs(5);

/// Connections that read at a time; a scrape, a page and a command hardly need more.
const READERS: u32 = 4;

/// The connection that writes.
pub(super) async fn writer(path: &Path) -> Result<SqliteConnection, StoreError> {
    create(path)?;
    let options = options(path).synchronous(SqliteSynchronous::Full);
    let mut conn = options.connect().await?;
    let version = schema::inspect(&mut conn).await?;
    // After the inspection: a database that is not ours keeps its own journal.
    let mode: String = sqlx::query("PRAGMA journal_mode = WAL").fetch_one(&mut conn).await?.try_get(0)?;
    if mode != "wal" {
        return Err(StoreError::Other(format!("the file system does not allow WAL (journal mode is {mode})")));
    }
    schema::migrate(&mut conn, version).await?;
    Ok(conn)
}

/// The connections that read; opened when they are first needed.
pub(super) fn readers(path: &Path) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(BUSY)
        .test_before_acquire(false)
        .connect_lazy_with(options(path).read_only(true))
}

/// A consistent view of the database for several queries.
pub(super) async fn read(readers: &SqlitePool) -> Result<Transaction<'static, Sqlite>, StoreError> {
    Ok(readers.begin().await?)
}

/// Bytes of the database and its log.
pub(super) fn size(path: &Path) -> Result<u64, StoreError> {
    let database = std::fs::metadata(path)?.len();
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    Ok(database + std::fs::metadata(PathBuf::from(log)).map_or(0, |log| log.len()))
}

fn options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(path).create_if_missing(false).busy_timeout(BUSY).foreign_keys(true)
}

/// Ours alone to read; SQLite gives its other files the same mode.
fn create(path: &Path) -> Result<(), StoreError> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    Ok(())
}
