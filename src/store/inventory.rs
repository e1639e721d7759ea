//! The last good inventory: the texts of the files that were in use last.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::columns::{Columns as _, millis, to_json};
use super::error::StoreError;
use super::values::{pack, unpack};
use super::{Result, Store};
use crate::model::digest::Digest;
use crate::model::target::TargetId;

/// An inventory file as it was in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InventoryFile {
    /// Its absolute path.
    pub path: PathBuf,
    /// Of its text.
    pub digest: Digest,
    /// Its text.
    pub text: String,
    /// The ids that it may carry on.
    pub ids: BTreeSet<TargetId>,
}

impl Store {
    /// The inventory files that were in use last.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn last_inventory(&self) -> Result<Vec<InventoryFile>> {
        let rows =
            sqlx::query("SELECT * FROM inventory_file ORDER BY path").fetch_all(&mut *self.read().await?).await?;
        let file = |row: &sqlx::sqlite::SqliteRow| {
            let text = unpack("inventory file", row.bytes("body")?, row.u64("size")?)?;
            Ok(InventoryFile {
                path: PathBuf::from(OsString::from_vec(row.bytes("path")?.to_vec())),
                digest: row.digest("digest")?,
                text: String::from_utf8(text).map_err(|error| StoreError::unreadable("inventory file", error))?,
                ids: row.json("ids")?,
            })
        };
        rows.iter().map(file).collect()
    }

    /// Remembers `files` as those in use, and no others. What is there already is not written.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn keep_inventory(&self, files: &[InventoryFile], now: Timestamp) -> Result<()> {
        let mut writer = self.writer().await;
        let mut tx = writer.begin().await?;
        let mut known = digests(&mut tx).await?;
        for file in files {
            let path = file.path.as_os_str().as_bytes().to_vec();
            if known.remove(&(path.clone(), file.digest)) {
                continue;
            }
            put(&mut tx, &path, file, now).await?;
            known.retain(|(other, _)| *other != path);
        }
        for (path, _) in known {
            sqlx::query("DELETE FROM inventory_file WHERE path = ?").bind(path).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(())
    }
}

async fn digests(conn: &mut SqliteConnection) -> Result<BTreeSet<(Vec<u8>, Digest)>> {
    let rows = sqlx::query("SELECT path, digest FROM inventory_file").fetch_all(conn).await?;
    rows.iter().map(|row| Ok((row.bytes("path")?.to_vec(), row.digest("digest")?))).collect()
}

async fn put(conn: &mut SqliteConnection, path: &[u8], file: &InventoryFile, now: Timestamp) -> Result<()> {
    let packed = pack(file.text.as_bytes())?;
    sqlx::query(
        "INSERT INTO inventory_file (path, digest, size, body, ids, at) VALUES (?, ?, ?, ?, ?, ?) \
         ON CONFLICT (path) DO UPDATE SET digest = excluded.digest, size = excluded.size, body = excluded.body, \
         ids = excluded.ids, at = excluded.at",
    )
    .bind(path)
    .bind(&file.digest.bytes()[..])
    .bind(packed.size)
    .bind(packed.body)
    .bind(to_json(&file.ids)?)
    .bind(millis(now))
    .execute(conn)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &[u8], text: &str) -> InventoryFile {
        InventoryFile {
            path: PathBuf::from(OsString::from_vec(path.to_vec())),
            digest: Digest::of_bytes(text.as_bytes()),
            text: text.to_owned(),
            ids: ["a".parse().unwrap()].into(),
        }
    }

    #[tokio::test]
    async fn the_inventory_in_force_is_what_is_kept_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(&home.path().join("driftd.db")).await.unwrap();
        let now = Timestamp::UNIX_EPOCH;
        assert!(store.last_inventory().await.unwrap().is_empty());
        let mut files = vec![file(b"/etc/a.yaml", "targets: []"), file(b"/etc/b\xff.yaml", "")];
        store.keep_inventory(&files, now).await.unwrap();
        assert_eq!(store.last_inventory().await.unwrap(), files, "a path need not be text");
        files.pop();
        files[0] = file(b"/etc/a.yaml", "targets: [ {} ]");
        store.keep_inventory(&files, now).await.unwrap();
        assert_eq!(store.last_inventory().await.unwrap(), files);
        store.keep_inventory(&[], now).await.unwrap();
        assert!(store.last_inventory().await.unwrap().is_empty());
    }
}
