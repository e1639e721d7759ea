//! Which tables there are: migrations applied in order, and which databases are refused.
//!
//! Run by sqlx's `Migrator`, built by hand because its macro is not compiled in. A `user_version` of our own would
//! be shorter, but the migrator also keeps the checksum of what was applied, so that a migration which was edited
//! after its release is refused instead of believed; and it serves PostgreSQL alike.

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{Row as _, SqlSafeStr as _, SqliteConnection};

use super::error::StoreError;

/// As in `0001_spine.sql`.
const APPLICATION_ID: i64 = 0x6472_6674;

const MIGRATIONS: [(i64, &str, &str); 1] = [(1, "spine", include_str!("migrations/0001_spine.sql"))];

/// Refuses what is not ours or is beyond us; changes nothing.
pub(super) async fn inspect(conn: &mut SqliteConnection) -> Result<(), StoreError> {
    let tables: i64 = sqlx::query("SELECT count(*) FROM sqlite_schema").fetch_one(&mut *conn).await?.try_get(0)?;
    if tables == 0 {
        return Ok(());
    }
    let ours: i64 = sqlx::query("PRAGMA application_id").fetch_one(&mut *conn).await?.try_get(0)?;
    // The migrator makes its own table before the first migration marks the file as ours.
    let begun: i64 = sqlx::query("SELECT count(*) FROM sqlite_schema WHERE name = '_sqlx_migrations'")
        .fetch_one(&mut *conn)
        .await?
        .try_get(0)?;
    if begun == 0 || (ours != APPLICATION_ID && tables > 2) {
        return Err(StoreError::Foreign);
    }
    let known = MIGRATIONS.iter().map(|(version, ..)| *version).max().unwrap_or(0);
    let found: Option<i64> =
        sqlx::query("SELECT max(version) FROM _sqlx_migrations").fetch_one(&mut *conn).await?.try_get(0)?;
    match found {
        Some(found) if found > known => Err(StoreError::Newer { found, known }),
        Some(_) | None => Ok(()),
    }
}

/// Applies what is missing, each migration in a transaction of its own.
pub(super) async fn migrate(conn: &mut SqliteConnection) -> Result<(), StoreError> {
    let migrations = MIGRATIONS.iter().map(|(version, name, sql)| {
        Migration::new(*version, (*name).into(), MigrationType::Simple, (*sql).into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.collect()).run(conn).await?;
    Ok(())
}
