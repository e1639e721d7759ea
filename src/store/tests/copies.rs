//! Checks, copies, and putting one in the store's place.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use super::fixtures::{Fixture, at, id, quiet, scan, summary, value, whole};
use crate::model::condition::Fate;
use crate::model::ledger::Action;
use crate::model::memory::LedgerHead;
use crate::store::schema::KNOWN;
use crate::store::{CopyError, Health, LedgerCheck, Replace, RestoreError, Store, StoreError, marks};

async fn run(path: &Path, sql: &'static str) {
    let mut conn = SqliteConnectOptions::new().filename(path).foreign_keys(false).connect().await.unwrap();
    sqlx::raw_sql(sql).execute(&mut conn).await.unwrap();
}

async fn full() -> Fixture {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), Some(&scan(&value("one"), 0))).await;
    fixture
}

/// What stands beside the store.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_whole_store_checks_as_whole_open_or_not() {
    let fixture = full().await;
    let checked = fixture.store.check().await.unwrap();
    assert!(checked.is_whole(), "{:?}", checked.problems);
    assert_eq!((checked.schema, checked.targets, checked.values, checked.ledger), (KNOWN, 1, 5, 2));
    assert_eq!(Store::check_file(&fixture.path).await.unwrap(), checked);
}

#[tokio::test]
async fn each_kind_of_damage_is_told() {
    for (damage, told) in [
        ("UPDATE blob SET body = (SELECT body FROM blob ORDER BY digest LIMIT 1)", "is not the one that was stored"),
        ("UPDATE blob SET body = x'00'", "the value sha256:"),
        ("DELETE FROM blob", "which is missing"),
        ("DELETE FROM incident", "refer to rows of incident that are missing"),
        (
            "DROP TRIGGER ledger_never_changes; UPDATE ledger SET entry = replace(entry, 'a release', 'x')",
            "was changed",
        ),
        ("DROP TRIGGER ledger_never_shrinks; DELETE FROM ledger WHERE no = 1", "ledger: entry 1 is missing"),
        ("UPDATE memory SET facets = '{'", "what is remembered of a"),
        ("UPDATE run SET detail = x'00'", "the newest snapshot of a"),
        ("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 3 WHERE name = 'run_by_target'", "SQLite: "),
    ] {
        let fixture = full().await;
        let path = fixture.path.with_file_name("copy.db");
        fixture.store.copy_to(&path, Replace::Never).await.unwrap();
        run(&path, damage).await;
        let checked = Store::check_file(&path).await.unwrap();
        let found = checked.problems.iter().any(|problem| problem.contains(told));
        assert!(found, "{damage}: {told} is not in {:#?}", checked.problems);
    }
}

#[tokio::test]
async fn a_copy_is_whole_ours_alone_and_never_over_a_file_unasked() {
    let fixture = full().await;
    let to = fixture.path.with_file_name("copy.db");
    fixture.store.copy_to(&to, Replace::Never).await.unwrap();
    assert_eq!(std::fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Store::check_file(&to).await.unwrap(), fixture.store.check().await.unwrap());
    let error = fixture.store.copy_to(&to, Replace::Never).await.unwrap_err();
    assert!(matches!(error, CopyError::Exists(_)), "{error}");
    fixture.store.sync_targets(&[summary("a"), summary("b")], at(9)).await.unwrap();
    Store::copy_file(&fixture.path, &to, Replace::Asked).await.unwrap();
    assert_eq!(Store::check_file(&to).await.unwrap().targets, 2, "with what only the log holds");
    for replace in [Replace::Never, Replace::Asked] {
        let error = fixture.store.copy_to(&fixture.path, replace).await.unwrap_err();
        assert!(matches!(error, CopyError::Itself(_)), "{error}");
    }
    let nowhere = fixture.path.with_file_name("nowhere").join("copy.db");
    assert!(matches!(fixture.store.copy_to(&nowhere, Replace::Never).await.unwrap_err(), CopyError::Io { .. }));
    let left = names(fixture.path.parent().unwrap());
    assert!(left.iter().all(|name| !name.contains("partial")), "{left:?}");
}

#[tokio::test]
async fn a_restored_backup_is_the_store_says_so_and_leaves_the_old_one_aside() {
    let fixture = full().await;
    let backup = fixture.path.with_file_name("backup.db");
    fixture.store.copy_to(&backup, Replace::Never).await.unwrap();
    fixture.store.sync_targets(&[summary("a"), summary("b")], at(9)).await.unwrap();
    fixture.store.close().await.unwrap();
    let path = fixture.path.clone();
    let lock = Store::lock(&path).unwrap();

    let restored = Store::restore(&path, &lock, &backup, "person:oncall", at(1000)).await.unwrap();

    let store = Store::open(&path).await.unwrap();
    assert_eq!(store.targets().await.unwrap().len(), 1);
    assert_eq!(store.mark(marks::RESTORED_AT).await.unwrap(), Some(at(1000).to_string()));
    let newest = store.ledger(restored.entry, 1).await.unwrap().pop().unwrap().entry;
    assert_eq!((newest.no, newest.action, newest.who.as_str()), (3, Action::Restore, "person:oncall"));
    let reason = newest.reason.unwrap();
    assert!(reason.starts_with("restored from backup.db; the store before it had 2 entries"), "{reason}");
    assert!(matches!(store.verify_ledger().await.unwrap(), LedgerCheck::Whole { entries: 3, .. }));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(Store::open(&restored.aside.unwrap()).await.unwrap().targets().await.unwrap().len(), 2);
    assert_eq!(Store::check_file(&backup).await.unwrap().ledger, 2, "the backup is as it was");
}

#[tokio::test]
async fn a_damaged_store_is_replaced_and_a_damaged_backup_replaces_nothing() {
    let fixture = full().await;
    let backup = fixture.path.with_file_name("backup.db");
    fixture.store.copy_to(&backup, Replace::Never).await.unwrap();
    let path = fixture.path.with_file_name("other.db");
    std::fs::write(&path, "no database").unwrap();
    std::fs::write(path.with_file_name("other.db-wal"), "nor its log").unwrap();
    let lock = Store::lock(&path).unwrap();

    let broken = fixture.path.with_file_name("broken.db");
    std::fs::copy(&backup, &broken).unwrap();
    run(&broken, "DELETE FROM blob").await;
    let refused = Store::restore(&path, &lock, &broken, "person:oncall", at(0)).await.unwrap_err();
    assert!(matches!(&refused, RestoreError::Damaged { problems, .. } if !problems.is_empty()), "{refused}");
    let refused = Store::restore(&path, &lock, &path.with_file_name("nothing.db"), "person:oncall", at(0)).await;
    assert!(matches!(refused.unwrap_err(), RestoreError::Backup { error: StoreError::Io(_), .. }));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "no database");

    let restored = Store::restore(&path, &lock, &backup, "person:oncall", at(0)).await.unwrap();
    let store = Store::open(&path).await.unwrap();
    assert!(store.check().await.unwrap().is_whole(), "another file's log is not applied to it");
    let aside = restored.aside.unwrap();
    assert_eq!(std::fs::read_to_string(&aside).unwrap(), "no database");
    let left = names(path.parent().unwrap());
    assert!(left.iter().all(|name| !name.contains("partial")), "{left:?}");
}

#[tokio::test]
async fn an_older_store_is_brought_up_to_date_and_says_from_where() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("driftd.db");
    assert!(matches!(Store::migrate(&path).await.unwrap_err(), StoreError::Io(_)), "none is made");
    run_new(&path, include_str!("../migrations/0001_spine.sql")).await;
    assert_eq!(Store::migrate(&path).await.unwrap(), (1, KNOWN));
    assert_eq!(Store::migrate(&path).await.unwrap(), (KNOWN, KNOWN));
}

async fn run_new(path: &Path, sql: &'static str) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let mut conn = options.connect().await.unwrap();
    sqlx::raw_sql(sql).execute(&mut conn).await.unwrap();
    sqlx::raw_sql("PRAGMA user_version = 1").execute(&mut conn).await.unwrap();
}

#[tokio::test]
async fn nothing_is_written_to_a_file_that_was_deleted_or_replaced() {
    let fixture = full().await;
    let mut health = fixture.store.health();
    fixture.store.try_write(at(1)).await.unwrap();
    let head = fixture.store.ledger_head().await.unwrap();
    let kept = fixture.path.with_file_name("kept.db");
    std::fs::rename(&fixture.path, &kept).unwrap();
    let deleted = fixture.store.sync_targets(&[summary("b")], at(2)).await.unwrap_err();
    assert!(matches!(deleted, StoreError::Moved(_)), "{deleted}");
    std::fs::write(&fixture.path, "").unwrap();
    assert!(matches!(fixture.store.targets().await.unwrap_err(), StoreError::Moved(_)), "nor read from another one");
    let settlement = crate::model::settlement::Settlement { ledger: vec![super::fixtures::entry(head)], ..quiet(2, 2) };
    let replaced = fixture.store.writer().await.commit(&settlement, None, at(2)).await.unwrap_err();
    assert!(matches!(replaced, StoreError::Moved(_)), "{replaced}");
    let told = health.borrow_and_update().clone();
    assert!(matches!(&told, Health::Failing(why) if why.contains("was deleted or replaced")), "{told:?}");

    std::fs::rename(&kept, &fixture.path).unwrap();
    fixture.store.try_write(at(3)).await.unwrap();
    assert_eq!(*health.borrow_and_update(), Health::Fine, "it is put back");
    assert_eq!(fixture.store.ledger_head().await.unwrap(), head);
}

#[tokio::test]
async fn a_write_that_fails_shows_at_once_and_one_that_works_mends_it() {
    let fixture = full().await;
    let health = fixture.store.health();
    sqlx::raw_sql("PRAGMA query_only = ON").execute(&mut fixture.store.writer().await.side.conn).await.unwrap();
    let error = fixture.store.record_fate("x", &Fate::Sent, at(0)).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly), "{error}");
    assert!(matches!(&*health.borrow(), Health::Failing(_)));
    // What is only buffered proves nothing.
    fixture.commit(&quiet(2, 60), Some(&scan(&value("one"), 60))).await;
    assert!(matches!(&*health.borrow(), Health::Failing(_)));
    sqlx::raw_sql("PRAGMA query_only = OFF").execute(&mut fixture.store.writer().await.side.conn).await.unwrap();
    assert_eq!(fixture.store.flush_runs().await.unwrap(), 1);
    assert_eq!(*health.borrow(), Health::Fine);
    assert_eq!(fixture.store.memory(&id("a")).await.unwrap().scans.seq, 2);
}

/// Writes over most of every page but the first.
fn spoil(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    for page in bytes.chunks_mut(4096).skip(1) {
        page.iter_mut().skip(50).take(3000).for_each(|byte| *byte = 0xa5);
    }
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn a_damaged_store_is_checked_as_far_as_it_can_be_read() {
    let fixture = full().await;
    let store = fixture.path.with_file_name("copy.db");
    fixture.store.copy_to(&store, Replace::Never).await.unwrap();
    spoil(&store);
    let checked = Store::check_file(&store).await.unwrap();
    assert!(checked.problems.iter().any(|problem| problem.starts_with("SQLite: ")), "{checked:?}");
    assert_eq!(checked.schema, KNOWN, "its first page is whole");
    std::fs::write(&store, "not a database at all ".repeat(400)).unwrap();
    let closed = Store::check_file(&store).await.unwrap();
    assert_eq!(closed.problems, ["SQLite: file is not a database: nothing in it can be read"]);
    for checked in [checked, closed] {
        let advice = checked.problems.iter().find(|problem| problem.contains("driftd store"));
        assert_eq!(advice, None, "whoever reads this has checked it");
    }
}

#[tokio::test]
async fn what_is_no_copy_of_a_store_is_said_to_be_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("driftd.db");
    let lock = Store::lock(&path).unwrap();
    let other = dir.path().join("other");
    let restore = async || Store::restore(&path, &lock, &other, "person:oncall", at(0)).await.unwrap_err();
    std::fs::write(&other, "root:x:0:0:root:/root:/bin/bash\n".repeat(40)).unwrap();
    let refused = restore().await;
    assert!(matches!(refused, RestoreError::NoCopy { .. }), "{refused}");
    assert!(!refused.to_string().contains("driftd store check"), "{refused}");
    std::fs::write(&other, "").unwrap();
    let refused = restore().await;
    assert!(matches!(refused, RestoreError::NoCopy { .. }), "{refused}");
    let fixture = full().await;
    std::fs::remove_file(&other).unwrap();
    fixture.store.copy_to(&other, Replace::Never).await.unwrap();
    spoil(&other);
    let refused = restore().await;
    assert!(matches!(refused, RestoreError::Damaged { .. }), "{refused}");
    assert!(!path.exists());
}

#[tokio::test]
async fn a_store_that_sqlite_calls_damaged_is_not_mended_by_a_write_that_works() {
    let fixture = full().await;
    let health = fixture.store.health();
    let damage = StoreError::Damaged("database disk image is malformed".to_owned());
    fixture.store.wrote::<()>(Err(damage)).unwrap_err();
    fixture.store.try_write(at(1)).await.unwrap();
    let _ = fixture.store.wrote::<()>(Err(StoreError::Full));
    assert!(matches!(&*health.borrow(), Health::Damaged(why) if why.contains("malformed")), "{:?}", *health.borrow());
}
