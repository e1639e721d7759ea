//! Which tables there are: migrations applied in order, and which databases are refused.
//!
//! A runner of our own over SQLite's `user_version` rather than sqlx's `Migrator`: the version then commits with the
//! very tables it stands for, a database from a newer driftd is told by one number before anything is touched, and
//! no table of somebody else's lies among ours (nor can the migrator be driven over a borrowed connection from a
//! future that is `Send`, except by a method it hides).

use sqlx::{AssertSqlSafe, Connection as _, Row as _, SqliteConnection};

use super::error::StoreError;

/// As in `0001_spine.sql`.
const APPLICATION_ID: i64 = 0x6472_6674;

/// In order; the first brings a database to version 1. One that was released is never edited, only followed.
const MIGRATIONS: [&str; 6] = [
    include_str!("migrations/0001_spine.sql"),
    include_str!("migrations/0002_inventory.sql"),
    include_str!("migrations/0003_bulletins.sql"),
    include_str!("migrations/0004_sight.sql"),
    include_str!("migrations/0005_keeping.sql"),
    include_str!("migrations/0006_policy.sql"),
];

/// The version that this program makes.
#[expect(clippy::cast_possible_wrap, reason = "a handful")]
pub(super) const KNOWN: i64 = MIGRATIONS.len() as i64;

/// Refuses what is not ours or is beyond us, and changes nothing; else the version that the database is at.
pub(super) async fn inspect(conn: &mut SqliteConnection) -> Result<usize, StoreError> {
    let found = number(&mut *conn, "PRAGMA user_version").await?;
    let tables = number(&mut *conn, "SELECT count(*) FROM sqlite_schema").await?;
    if tables == 0 && found == 0 {
        return Ok(0);
    }
    if number(conn, "PRAGMA application_id").await? != APPLICATION_ID {
        return Err(StoreError::Foreign);
    }
    match usize::try_from(found) {
        Ok(version) if version <= MIGRATIONS.len() => Ok(version),
        Ok(_) => Err(StoreError::Newer { found, known: KNOWN }),
        Err(error) => Err(StoreError::unreadable("schema version", error)),
    }
}

/// Applies what is missing after `version`, each migration in a transaction of its own.
pub(super) async fn migrate(conn: &mut SqliteConnection, version: usize) -> Result<(), StoreError> {
    for (before, migration) in MIGRATIONS.iter().enumerate().skip(version) {
        let mut tx = conn.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::raw_sql(*migration).execute(&mut *tx).await?;
        // A pragma takes no parameters; the number is ours.
        let reached = AssertSqlSafe(format!("PRAGMA user_version = {}", before + 1));
        sqlx::raw_sql(reached).execute(&mut *tx).await?;
        tx.commit().await?;
    }
    Ok(())
}

async fn number(conn: &mut SqliteConnection, sql: &'static str) -> Result<i64, StoreError> {
    Ok(sqlx::query(sql).fetch_one(conn).await?.try_get(0)?)
}
