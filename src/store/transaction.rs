//! The writer's transactions: begun, and either committed or undone before anything else is done on the connection.
//!
//! Not sqlx's own. When SQLite undoes a transaction by itself, as it does when the disk is full, sqlx goes on counting
//! it as open, and refuses every later one until the process ends (0.9, *measured*). Here what is left of a transaction
//! that was not committed, because a statement failed or its future was dropped, is undone by whoever uses the
//! connection next; that SQLite has done so already is no error.

use std::ops::{Deref, DerefMut};

use sqlx::SqliteConnection;

use super::{Result, Store, WriteSide};

/// A transaction; undone unless it is committed.
#[derive(Debug)]
pub(super) struct Tx<'w> {
    side: &'w mut WriteSide,
    /// Is told whether it could be written.
    store: &'w Store,
}

impl WriteSide {
    pub(super) const fn new(conn: SqliteConnection) -> Self {
        Self { conn, in_transaction: false }
    }

    /// Undoes what is left of a transaction that was not committed.
    pub(super) async fn clean(&mut self) {
        if self.in_transaction {
            // There may be none any more; were it there still, the next BEGIN would say so.
            let _ = sqlx::query("ROLLBACK").execute(&mut self.conn).await;
            self.in_transaction = false;
        }
    }

    /// Begins a transaction that may write.
    pub(super) async fn begin<'w>(&'w mut self, store: &'w Store) -> Result<Tx<'w>> {
        if let Err(moved) = store.stands() {
            return store.wrote(Err(moved));
        }
        self.clean().await;
        // Before it is begun: this future may be dropped while it is.
        self.in_transaction = true;
        match sqlx::query("BEGIN IMMEDIATE").execute(&mut self.conn).await {
            Ok(_) => Ok(Tx { side: self, store }),
            Err(error) => store.wrote(Err(error.into())),
        }
    }
}

impl Tx<'_> {
    /// Commits it; undone when that fails.
    pub(super) async fn commit(self) -> Result<()> {
        let committed = sqlx::query("COMMIT").execute(&mut self.side.conn).await;
        match committed {
            Ok(_) => self.side.in_transaction = false,
            Err(_) => self.side.clean().await,
        }
        self.store.wrote(committed.map(drop).map_err(Into::into))
    }
}

impl Deref for Tx<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.side.conn
    }
}

impl DerefMut for Tx<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.side.conn
    }
}
