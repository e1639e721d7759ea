//! The ledger: it only grows, and whoever touches it is found out.

use super::fixtures::{Fixture, at, entry, id, quiet};
use crate::model::memory::LedgerHead;
use crate::model::settlement::Settlement;
use crate::store::{LedgerCheck, LedgerFault, Store, StoreError};

async fn with_entries(n: u64) -> Fixture {
    let fixture = Fixture::new().await;
    for seq in 0..n {
        let head = fixture.memory().await.ledger;
        fixture.commit(&Settlement { ledger: vec![entry(head)], ..quiet(seq, 0) }, None).await;
    }
    fixture
}

/// What somebody with the file and a SQL shell can do.
async fn tamper(store: &Store, sql: &'static str) {
    let mut writer = store.writer().await;
    let all = "DROP TRIGGER ledger_never_changes; DROP TRIGGER ledger_never_shrinks; PRAGMA foreign_keys = OFF;";
    sqlx::raw_sql(all).execute(&mut writer.side.conn).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut writer.side.conn).await.unwrap();
}

#[tokio::test]
async fn a_chain_is_whole_after_a_reopening() {
    let fixture = with_entries(3).await;
    let store = fixture.reopened().await;
    let rows = store.ledger(2, 10).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.entry.no).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(rows[0].entry, entry(LedgerHead { no: 1, hash: rows[0].entry.prev }), "to the last nanosecond");
    assert_eq!(rows[1].entry.prev, rows[0].hash);
    let head = store.ledger_head().await.unwrap();
    assert_eq!((head.no, head.hash), (3, rows[1].hash));
    assert_eq!(store.verify_ledger().await.unwrap(), LedgerCheck::Whole { entries: 3, head: head.hash });
}

#[tokio::test]
async fn an_empty_ledger_is_whole() {
    let fixture = Fixture::new().await;
    let head = LedgerHead::default();
    assert_eq!(fixture.store.ledger_head().await.unwrap(), head);
    let whole = LedgerCheck::Whole { entries: 0, head: head.hash };
    assert_eq!(fixture.store.verify_ledger().await.unwrap(), whole);
}

#[tokio::test]
async fn a_chain_longer_than_one_reading_is_followed_to_its_end() {
    let fixture = Fixture::new().await;
    let mut head = LedgerHead::default();
    let mut entries = Vec::new();
    for _ in 0..1001 {
        let next = entry(head);
        head = LedgerHead { no: next.no, hash: next.hash() };
        entries.push(next);
    }
    fixture.commit(&Settlement { ledger: entries, ..quiet(1, 0) }, None).await;
    let whole = LedgerCheck::Whole { entries: 1001, head: head.hash };
    assert_eq!(fixture.store.verify_ledger().await.unwrap(), whole);
}

#[tokio::test]
async fn entries_that_do_not_continue_the_chain_are_refused_with_all_that_came_with_them() {
    let fixture = with_entries(2).await;
    let head = fixture.memory().await.ledger;
    let stale = entry(LedgerHead { no: 1, hash: head.hash });
    let gap = entry(LedgerHead { no: 5, hash: head.hash });
    let unchained = entry(LedgerHead { no: head.no, hash: LedgerHead::default().hash });
    for (wrong, found) in [(stale, 2), (gap, 6), (unchained, 3)] {
        let settlement = Settlement { ledger: vec![entry(head), wrong.clone()], ..quiet(9, 0) };
        let alone = Settlement { ledger: vec![wrong], ..quiet(9, 0) };
        let mut writer = fixture.store.writer().await;
        assert!(writer.commit(&settlement, None, at(0)).await.is_err());
        let error = writer.commit(&alone, None, at(0)).await.unwrap_err();
        assert!(matches!(error, StoreError::Ledger { expected: 3, found: f } if f == found), "{error}");
    }
    assert_eq!(fixture.memory().await.ledger, head);
    assert_eq!(fixture.memory().await.scans.seq, 1, "the memory that came with it was not written");
}

#[tokio::test]
async fn the_database_itself_refuses_to_change_an_entry() {
    let fixture = with_entries(2).await;
    let mut writer = fixture.store.writer().await;
    for sql in ["UPDATE ledger SET who = 'somebody' WHERE no = 1", "DELETE FROM ledger WHERE no = 2"] {
        assert!(sqlx::query(sql).execute(&mut writer.side.conn).await.is_err(), "{sql}");
    }
}

#[tokio::test]
async fn tampering_is_found_where_it_was_done() {
    let cases = [
        ("UPDATE ledger SET entry = replace(entry, 'a release', 'an accident') WHERE no = 2", 2, LedgerFault::Changed),
        ("UPDATE ledger SET hash = zeroblob(32) WHERE no = 2", 2, LedgerFault::Changed),
        ("UPDATE ledger SET entry = 'x' WHERE no = 3", 3, LedgerFault::Unreadable),
        ("UPDATE ledger SET hash = x'00' WHERE no = 3", 3, LedgerFault::Unreadable),
        ("DELETE FROM ledger WHERE no = 2", 2, LedgerFault::Missing),
        ("DELETE FROM ledger WHERE no = 1", 1, LedgerFault::Missing),
        (
            "DELETE FROM ledger WHERE no = 2; UPDATE ledger SET no = no - 1, \
             entry = replace(entry, '\"no\":' || no, '\"no\":' || (no - 1)) WHERE no > 2",
            2,
            LedgerFault::Changed,
        ),
    ];
    for (sql, no, fault) in cases {
        let fixture = with_entries(4).await;
        tamper(&fixture.store, sql).await;
        assert_eq!(fixture.store.verify_ledger().await.unwrap(), LedgerCheck::Broken { no, fault }, "{sql}");
    }
}

#[tokio::test]
async fn an_entry_rewritten_with_its_own_hash_breaks_the_next_ones_link() {
    let fixture = with_entries(3).await;
    let mut forged = fixture.store.ledger(2, 1).await.unwrap().remove(0).entry;
    forged.who = "person:somebody".to_owned();
    tamper(&fixture.store, "SELECT 1").await;
    let mut writer = fixture.store.writer().await;
    sqlx::query("UPDATE ledger SET entry = ?, hash = ? WHERE no = 2")
        .bind(serde_json::to_string(&forged).unwrap())
        .bind(&forged.hash().bytes()[..])
        .execute(&mut writer.side.conn)
        .await
        .unwrap();
    drop(writer);
    let broken = LedgerCheck::Broken { no: 3, fault: LedgerFault::Unchained };
    assert_eq!(fixture.store.verify_ledger().await.unwrap(), broken);
}

#[tokio::test]
async fn a_baseline_without_its_entry_is_refused() {
    let fixture = Fixture::new().await;
    let baseline = vec![super::fixtures::accepted("one", 7, false, 0)];
    let settlement = Settlement { baseline, ..quiet(1, 0) };
    assert!(fixture.store.writer().await.commit(&settlement, None, at(0)).await.is_err());
    assert!(fixture.store.baselines(&id("a")).await.unwrap().is_empty());
}
