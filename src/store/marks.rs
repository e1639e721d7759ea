//! Marks: single facts about the store as a whole that outlive the daemon, each under a name that is a constant here.

use sqlx::{Row as _, SqliteConnection};

use super::{Result, Store, Writer};

/// When the store was put back from a backup (RFC 3339). Whoever has told of it takes it away.
pub const RESTORED_AT: &str = "restored_at";

/// Since when driftd itself is offline, and what told (JSON); taken away when it is back.
pub const BLIND: &str = "blind";

/// Until when driftd itself was offline last (RFC 3339): failures count anew from there.
pub const BLIND_UNTIL: &str = "blind_until";

/// The first round after a time in which nobody looked (JSON); taken away when it was told.
pub const GAP: &str = "gap";

/// When the store was last written to find out whether it can be.
pub(super) const WRITTEN_AT: &str = "written_at";

impl Store {
    /// The mark `name`.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn mark(&self, name: &str) -> Result<Option<String>> {
        read(&mut *self.read().await?, name).await
    }
}

impl Writer<'_> {
    /// Sets the mark `name`; `None` takes it away.
    ///
    /// # Errors
    /// As SQLite says.
    pub async fn set_mark(&mut self, name: &str, value: Option<&str>) -> Result<()> {
        let store = self.store;
        store.wrote(set(self, name, value).await)
    }
}

async fn set(writer: &mut Writer<'_>, name: &str, value: Option<&str>) -> Result<()> {
    let mut tx = writer.begin().await?;
    write(&mut tx, name, value).await?;
    tx.commit().await?;
    Ok(())
}

/// The mark `name`.
pub(super) async fn read(conn: &mut SqliteConnection, name: &str) -> Result<Option<String>> {
    let row = sqlx::query("SELECT value FROM mark WHERE name = ?").bind(name).fetch_optional(conn).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Sets the mark `name`, or takes it away.
pub(super) async fn write(conn: &mut SqliteConnection, name: &str, value: Option<&str>) -> Result<()> {
    let query = match value {
        Some(value) => sqlx::query(
            "INSERT INTO mark (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )
        .bind(name)
        .bind(value),
        None => sqlx::query("DELETE FROM mark WHERE name = ?").bind(name),
    };
    query.execute(conn).await?;
    Ok(())
}
