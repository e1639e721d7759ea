//! Copies of the store: made beside a running daemon, whole or not at all.
//!
//! A copy is one consistent view, written by SQLite (`VACUUM INTO`) to a file of its own that nobody else can read,
//! and gets its name only when all of it is on the disk. What scans have only counted since the last minute is not in
//! it, as after a crash.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sqlx::{Connection as _, SqliteConnection};

use super::error::StoreError;
use super::{Result, Store, open, schema};

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// A file is there.
    #[error("{} exists; name another file, or say --force to replace it", .0.display())]
    Exists(PathBuf),
    /// It is the store itself.
    #[error("{} is the store itself; name another file", .0.display())]
    Itself(PathBuf),
    /// The copy could not be written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// The store could not be read, or the copy not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether a file that is there is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// Never.
    Never,
    /// As somebody asked.
    Asked,
}

impl Store {
    /// Copies the store to `to`, beside whatever goes on in it.
    ///
    /// # Errors
    /// See [`CopyError`]; nothing stands at `to` then that did not stand there before.
    pub async fn copy_to(&self, to: &Path, replace: Replace) -> std::result::Result<(), CopyError> {
        self.stands()?;
        let mut conn = self.inner.readers.acquire().await.map_err(StoreError::from)?;
        copy(&mut conn, &self.inner.path, to, replace).await
    }

    /// Copies the store at `from`, which another process may be writing, to `to`.
    ///
    /// # Errors
    /// As [`Store::copy_to`].
    pub async fn copy_file(from: &Path, to: &Path, replace: Replace) -> std::result::Result<(), CopyError> {
        let mut conn = open::reader(from).await?;
        let inspected = schema::inspect(&mut conn).await;
        let copied = match inspected {
            Ok(0) => Err(StoreError::Foreign.into()),
            Ok(_) => copy(&mut conn, from, to, replace).await,
            Err(error) => Err(error.into()),
        };
        // It was only read.
        let _ = conn.close().await;
        copied
    }
}

async fn copy(
    conn: &mut SqliteConnection,
    from: &Path,
    to: &Path,
    replace: Replace,
) -> std::result::Result<(), CopyError> {
    let failed = |error| CopyError::Io { path: to.to_owned(), error };
    match std::fs::metadata(to) {
        Ok(found) if is_same(from, &found) => return Err(CopyError::Itself(to.to_owned())),
        Ok(_) if replace == Replace::Never => return Err(CopyError::Exists(to.to_owned())),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let partial = Partial::create(to).map_err(failed)?;
    vacuum_into(conn, &partial.0).await?;
    let target = to.to_owned();
    let named = tokio::task::spawn_blocking(move || partial.name(&target, replace));
    match named.await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => Err(CopyError::Exists(to.to_owned())),
        Ok(Err(error)) => Err(failed(error)),
        Err(error) => Err(failed(io::Error::other(error))),
    }
}

/// Writes a view of all that `conn` reads into the empty file at `to`.
pub(super) async fn vacuum_into(conn: &mut SqliteConnection, to: &Path) -> Result<()> {
    let Some(name) = to.to_str() else {
        return Err(StoreError::Io(io::Error::new(io::ErrorKind::InvalidInput, "the path is not UTF-8")));
    };
    sqlx::query("VACUUM INTO ?").bind(name).execute(conn).await?;
    Ok(())
}

fn is_same(path: &Path, found: &std::fs::Metadata) -> bool {
    std::fs::metadata(path).is_ok_and(|store| (store.dev(), store.ino()) == (found.dev(), found.ino()))
}

/// A copy that has not got its name; removed unless it gets one.
#[derive(Debug)]
pub(super) struct Partial(pub(super) PathBuf);

impl Partial {
    /// An empty file of ours alone, beside `to`.
    pub(super) fn create(to: &Path) -> io::Result<Self> {
        let name = to.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it names no file"))?;
        let mut partial = std::ffi::OsString::from(".");
        partial.push(name);
        partial.push(format!(".{}.partial", std::process::id()));
        let path = to.with_file_name(partial);
        // What a process of this number left behind is nobody's.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self(path))
    }

    /// Gives it its name, once it is on the disk.
    fn name(self, to: &Path, replace: Replace) -> io::Result<()> {
        File::open(&self.0)?.sync_all()?;
        match replace {
            Replace::Asked => std::fs::rename(&self.0, to)?,
            // A second name refuses a file that has come in between; where there are no second names, looking must do.
            Replace::Never => match std::fs::hard_link(&self.0, to) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) if to.exists() => return Err(io::ErrorKind::AlreadyExists.into()),
                Err(_) => std::fs::rename(&self.0, to)?,
            },
        }
        sync_directory(to)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Once it has its name there is nothing to remove.
        let _ = std::fs::remove_file(&self.0);
        for suffix in ["-journal", "-wal", "-shm"] {
            let _ = std::fs::remove_file(open::beside(&self.0, suffix));
        }
    }
}

/// Has the directory of `path` remember its names.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(directory)?.sync_all()
}
