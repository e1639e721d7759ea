//! Who may write: one process at a time holds an advisory lock on `PATH.lock`.
//!
//! The lock is the operating system's, so it ends with its holder however that ends; the file stays, because
//! removing it would let two processes hold locks on two files of one name.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::error::StoreError;
use super::open::{beside, give_to_owner_of};

/// The right to write a store; given back when dropped.
#[derive(Debug)]
pub struct StoreLock {
    /// Keeps the lock: closing the file releases it.
    _file: File,
}

impl StoreLock {
    pub(super) fn take(store: &Path) -> Result<Self, StoreError> {
        let path = beside(store, ".lock");
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { pid: holder(&mut file) }),
            Err(TryLockError::Error(error)) => return Err(StoreError::Io(error)),
        }
        give_to_owner_of(store, &file);
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        writeln!(file, "{}", std::process::id())?;
        file.flush()?;
        Ok(Self { _file: file })
    }
}

/// The process id in the lock file; none when its holder has not come to write it yet.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
