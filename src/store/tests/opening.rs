//! Which files are opened, by whom, and what is refused.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use super::fixtures::{Fixture, at, summary, whole};
use crate::model::memory::LedgerHead;
use crate::store::schema::KNOWN;
use crate::store::{Store, StoreError};

/// Runs SQL behind the store's back.
async fn run(path: &Path, sql: &'static str) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut conn = options.connect().await.unwrap();
    sqlx::raw_sql(sql).execute(&mut conn).await.unwrap();
}

async fn text(path: &Path, sql: &'static str) -> String {
    let mut conn = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    sqlx::query_scalar(sql).fetch_one(&mut conn).await.unwrap()
}

#[tokio::test]
async fn a_new_database_is_ours_alone_in_wal_mode_and_migrated_once() {
    let fixture = Fixture::new().await;
    let again = fixture.reopened().await;
    assert_eq!(again.targets().await.unwrap().len(), 1);
    for file in ["driftd.db", "driftd.db-wal"] {
        let mode = std::fs::metadata(fixture.path.with_file_name(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    assert_eq!(text(&fixture.path, "PRAGMA journal_mode").await, "wal");
    assert_eq!(
        text(&fixture.path, "SELECT CAST(user_version AS TEXT) FROM pragma_user_version").await,
        KNOWN.to_string()
    );
    assert_eq!(text(&fixture.path, "SELECT group_concat(integrity_check) FROM pragma_integrity_check").await, "ok");
    assert!(fixture.store.size_bytes().unwrap() > 4096);
}

#[tokio::test]
async fn the_writer_syncs_every_commit_and_holds_to_foreign_keys() {
    let fixture = Fixture::new().await;
    let mut writer = fixture.store.writer().await;
    for (pragma, expected) in [("PRAGMA synchronous", 2), ("PRAGMA foreign_keys", 1), ("PRAGMA busy_timeout", 5000)] {
        let found: i64 = sqlx::query_scalar(pragma).fetch_one(&mut writer.side.conn).await.unwrap();
        assert_eq!(found, expected, "{pragma}");
    }
}

#[tokio::test]
async fn a_database_of_a_newer_driftd_is_refused_and_left_alone() {
    let fixture = Fixture::new().await;
    run(&fixture.path, "CREATE TABLE later (x); PRAGMA user_version = 99").await;
    let error = Store::open(&fixture.path).await.unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, known: KNOWN }), "{error}");
    assert_eq!(text(&fixture.path, "SELECT name FROM sqlite_schema WHERE name = 'later'").await, "later");
}

#[tokio::test]
async fn another_programs_database_is_refused_and_keeps_its_journal() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("driftd.db");
    run(&path, "CREATE TABLE song (title TEXT)").await;
    assert!(matches!(Store::open(&path).await.unwrap_err(), StoreError::Foreign));
    assert_eq!(text(&path, "PRAGMA journal_mode").await, "delete");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_told_as_damage() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("driftd.db");
    std::fs::write(&path, "listen: 127.0.0.1\n".repeat(400)).unwrap();
    let error = Store::open(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged(_)), "{error}");
}

#[tokio::test]
async fn a_missing_directory_is_an_error_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let error = Store::open(&dir.path().join("nowhere/driftd.db")).await.unwrap_err();
    assert!(matches!(error, StoreError::Io(_)), "{error}");
}

#[tokio::test]
async fn a_full_database_is_told_apart_and_changes_nothing() {
    let fixture = Fixture::new().await;
    let mut writer = fixture.store.writer().await;
    let pages: i64 = sqlx::query_scalar("PRAGMA page_count").fetch_one(&mut writer.side.conn).await.unwrap();
    let limit = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
    sqlx::query(limit).execute(&mut writer.side.conn).await.unwrap();
    let mut settlement = whole(LedgerHead::default());
    settlement.history[0].text = "x".repeat(100_000);
    let error = writer.commit(&settlement, None, at(0)).await.unwrap_err();
    assert!(matches!(error, StoreError::Full), "{error}");
    assert!(writer.commit(&settlement, None, at(0)).await.is_err());
    let limit = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {}", pages + 1000));
    sqlx::query(limit).execute(&mut writer.side.conn).await.unwrap();
    drop(writer);
    assert_eq!(fixture.store.ledger_head().await.unwrap(), LedgerHead::default());
    fixture.commit(&settlement, None).await;
    assert_eq!(fixture.store.ledger_head().await.unwrap().no, 2, "it goes on once there is room");
}

#[tokio::test]
async fn a_write_lock_of_another_program_is_told_as_busy() {
    let fixture = Fixture::new().await;
    let mut other = SqliteConnectOptions::new().filename(&fixture.path).connect().await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let mut writer = fixture.store.writer().await;
    sqlx::raw_sql("PRAGMA busy_timeout = 1").execute(&mut writer.side.conn).await.unwrap();
    drop(writer);
    let error = fixture.store.sync_targets(&[summary("b")], at(0)).await.unwrap_err();
    assert!(matches!(error, StoreError::Busy), "{error}");
}

#[tokio::test]
async fn readers_cannot_write() {
    let fixture = Fixture::new().await;
    let mut tx = fixture.store.read().await.unwrap();
    let error = sqlx::query("DELETE FROM target").execute(&mut *tx).await.unwrap_err();
    assert!(matches!(StoreError::from(error), StoreError::ReadOnly));
}

#[test]
fn a_second_holder_is_told_who_holds_the_lock_until_it_is_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("driftd.db");
    let lock = Store::lock(&path).unwrap();
    let error = Store::lock(&path).unwrap_err();
    assert!(matches!(error, StoreError::Locked { pid: Some(pid) } if pid == std::process::id()), "{error}");
    assert_eq!(
        error.to_string(),
        format!(
            "the store is in use by process {}: another command or daemon; let it end or stop it first, or give this one a store of its own",
            std::process::id()
        )
    );
    drop(lock);
    Store::lock(&path).unwrap();
}

#[test]
fn what_the_daemon_holds_across_threads_may_cross_them() {
    const fn sends<T: Send>(_: &T) {}
    const fn shares<T: Send + Sync>() {}
    shares::<Store>();
    sends(&Store::open(Path::new("x")));
    let writes = |store: Store| async move {
        let mut writer = store.writer().await;
        writer.commit(&whole(LedgerHead::default()), None, at(0)).await
    };
    fn takes<F: Future<Output: Send> + Send>(_: impl Fn(Store) -> F) {}
    takes(writes);
    takes(|store: Store| async move { store.flush_runs().await });
    takes(|store: Store| async move { store.due_messages(at(0)).await });
}

#[test]
fn a_slow_statement_is_no_line_of_a_librarys() {
    let options = format!("{:?}", super::super::open::options(std::path::Path::new("driftd.db")));
    assert!(options.contains("slow_statements_level: Off"), "{options}");
}
