//! Opening and closing: one connection that writes, a few that read beside it.
//!
//! WAL lets readers go on while the writer commits. The writer syncs on every commit (`synchronous=FULL`), since
//! nothing owed may be lost to a power cut; what may be lost is buffered instead (see [`super::runs`]).

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, Row as _, Sqlite, SqliteConnection, SqlitePool, Transaction};

use super::error::StoreError;
use super::schema;

/// How long a statement waits for another program's lock on the file.
const BUSY: Duration = Duration::from_secs(5);

/// Values that were stored, or found stored, since pruning last looked which ones nobody refers to: in memory, with the
/// transactions of this connection, since nobody else writes.
const TOUCHED: &str = "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE touched (digest BLOB PRIMARY KEY) WITHOUT ROWID";

/// Connections that read at a time; a scrape, a page and a command hardly need more.
const READERS: u32 = 4;

/// The connection that writes.
pub(super) async fn writer(path: &Path) -> Result<SqliteConnection, StoreError> {
    create(path)?;
    // What retention frees is given back to the file system; a database is asked for that before its first table.
    let options = options(path).synchronous(SqliteSynchronous::Full).auto_vacuum(SqliteAutoVacuum::Incremental);
    let mut conn = options.connect().await?;
    let version = schema::inspect(&mut conn).await?;
    // After the inspection: a database that is not ours keeps its own journal.
    let mode: String = sqlx::query("PRAGMA journal_mode = WAL").fetch_one(&mut conn).await?.try_get(0)?;
    if mode != "wal" {
        return Err(StoreError::Other(format!("the file system does not allow WAL (journal mode is {mode})")));
    }
    schema::migrate(&mut conn, version).await?;
    sqlx::raw_sql(TOUCHED).execute(&mut conn).await?;
    Ok(conn)
}

/// Brings the database at `path` up to date: the versions before and after.
pub(super) async fn migrate(path: &Path) -> Result<(i64, i64), StoreError> {
    let mut conn = reader(path).await?;
    let version = schema::inspect(&mut conn).await?;
    conn.close().await?;
    writer(path).await?.close().await?;
    Ok((i64::try_from(version).unwrap_or(i64::MAX), schema::KNOWN))
}

/// A connection of its own that reads `path` and changes nothing.
pub(super) async fn reader(path: &Path) -> Result<SqliteConnection, StoreError> {
    // SQLite would make one.
    std::fs::metadata(path)?;
    Ok(options(path).read_only(true).connect().await?)
}

/// A connection that writes the database at `path` as it is: nothing is made, nothing migrated.
pub(super) async fn writer_of(path: &Path) -> Result<SqliteConnection, StoreError> {
    let mut conn = options(path).connect().await?;
    schema::inspect(&mut conn).await?;
    Ok(conn)
}

/// Whether the file begins as every SQLite database does.
pub(super) fn is_database(path: &Path) -> bool {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let mut head = [0; 16];
    let read = std::fs::File::open(path).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head));
    read.is_ok() && head == *MAGIC
}

/// The connections that read; opened when they are first needed.
pub(super) fn readers(path: &Path) -> SqlitePool {
    SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(BUSY)
        .test_before_acquire(false)
        // One whose view SQLite has ended by itself (an I/O error) is counted as reading for ever, and would be stuck
        // in its next view: see `super::transaction`.
        .before_acquire(|conn, _| {
            Box::pin(async move {
                conn.ping().await?;
                Ok(!conn.is_in_transaction())
            })
        })
        // One that is open needs no descriptor, and reads the file that was opened, whatever its path leads to later.
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(options(path).read_only(true))
}

/// A consistent view of the database for several queries.
pub(super) async fn read(readers: &SqlitePool) -> Result<Transaction<'static, Sqlite>, StoreError> {
    Ok(readers.begin().await?)
}

/// Bytes of the database and its log.
pub(super) fn size(path: &Path) -> Result<u64, StoreError> {
    let database = std::fs::metadata(path)?.len();
    Ok(database + std::fs::metadata(log_path(path)).map_or(0, |log| log.len()))
}

/// The database's log.
pub(super) fn log_path(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

/// `path` with `suffix` after its name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

pub(super) fn options(path: &Path) -> SqliteConnectOptions {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(false);
    // What takes long is told by our own words and metrics, not by a library's warning for each statement.
    options.busy_timeout(BUSY).foreign_keys(true).disable_statement_logging()
}

/// Gives a file that root has made to whoever owns the store, or its directory where there is no store: a command that
/// root runs while no daemon does must leave nothing that the daemon's user cannot open. Who is not root cannot give
/// files away, and has no need to.
pub(super) fn give_to_owner_of(store: &Path, file: &std::fs::File) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let directory = store.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let owner = std::fs::metadata(store).or_else(|_| std::fs::metadata(directory));
    if let (Ok(owner), Ok(made)) = (owner, file.metadata())
        && owner.uid() != made.uid()
    {
        let _ = fchown(file, Some(owner.uid()), Some(owner.gid()));
    }
}

/// Ours alone to read; SQLite gives its other files the same mode.
fn create(path: &Path) -> Result<(), StoreError> {
    let is_new = !path.exists();
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    if is_new {
        give_to_owner_of(path.parent().unwrap_or(path), &file);
    }
    Ok(())
}
