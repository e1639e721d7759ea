//! A settlement is written whole or not at all, whatever interrupts it.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use super::fixtures::{Fixture, at, id, quiet, scan, value, whole};
use crate::model::memory::{LedgerHead, Memory};
use crate::store::{DriftFilter, MessageFilter, Store};

/// What a store holds of `a`, as far as a settlement touches it.
async fn state(store: &Store) -> (Memory, usize, usize, usize, usize) {
    let notices = store.due_notices(at(9000)).await.unwrap().len();
    let history = store.history(None, 10).await.unwrap().len();
    let drifts = store.drifts(&DriftFilter::default()).await.unwrap().len();
    let runs = store.runs(&id("a"), 10).await.unwrap().len();
    (store.memory(&id("a")).await.unwrap(), notices, history, drifts, runs)
}

#[tokio::test]
async fn a_failure_of_the_last_statement_undoes_the_first() {
    let fixture = Fixture::new().await;
    fixture.commit(&quiet(1, 0), Some(&scan(&value("one"), 0))).await;
    fixture.commit(&quiet(2, 60), Some(&scan(&value("one"), 60))).await;
    let before = state(&fixture.store).await;
    // Each in turn is the table that a settlement cannot write.
    for table in ["ledger", "baseline", "approval", "incident", "revision", "drift", "notice", "history", "run"] {
        let mut writer = fixture.store.writer().await;
        let trigger =
            format!("CREATE TEMP TRIGGER stop BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'stopped'); END");
        sqlx::raw_sql(sqlx::AssertSqlSafe(trigger)).execute(&mut writer.side.conn).await.unwrap();
        let settlement = whole(LedgerHead::default());
        let showing = scan(&value("two"), 300);
        assert!(writer.commit(&settlement, Some(&showing), at(300)).await.is_err(), "{table}");
        // What is left of the transaction goes first, and would take the trigger's end along.
        writer.side.clean().await;
        sqlx::raw_sql("DROP TRIGGER stop").execute(&mut writer.side.conn).await.unwrap();
        drop(writer);
        let mut after = state(&fixture.store).await;
        after.0.incident_ids = before.0.incident_ids.clone();
        assert_eq!(after, before, "{table}: what was there stays, buffered counts too");
    }
    fixture.commit(&whole(LedgerHead::default()), Some(&scan(&value("two"), 300))).await;
    assert_eq!(state(&fixture.store).await.1, 2, "and the writer goes on");
}

/// Gives its future up after so many polls.
struct Impatient<F> {
    future: F,
    polls: u32,
}

impl<F: Future + Unpin> Future for Impatient<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match Pin::new(&mut self.future).poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if self.polls == 0 => Poll::Ready(None),
            Poll::Pending => {
                self.polls -= 1;
                Poll::Pending
            }
        }
    }
}

#[tokio::test]
async fn a_commit_that_is_dropped_half_way_is_whole_or_nothing() {
    let mut given_up = 0;
    for polls in 0..40 {
        let fixture = Fixture::new().await;
        let before = state(&fixture.store).await;
        let settlement = whole(LedgerHead::default());
        let showing = scan(&value("two"), 300);
        let mut writer = fixture.store.writer().await;
        let done = {
            let commit = pin!(writer.commit(&settlement, Some(&showing), at(300)));
            Impatient { future: commit, polls }.await
        };
        drop(writer);
        // The next write comes after whatever the connection still had to do.
        fixture.store.sync_targets(&[super::fixtures::summary("a")], at(1)).await.unwrap();
        let mut after = state(&fixture.store).await;
        after.0.incident_ids = before.0.incident_ids.clone();
        if done.is_none() {
            given_up += 1;
        }
        if after != before {
            assert_eq!((after.0.drifts, after.1, after.2, after.4), (settlement.drifts, 2, 1, 1));
            assert_eq!(after.0.ledger.no, 2);
        } else {
            assert!(done.is_none(), "a commit that returned is there");
        }
    }
    assert!(given_up > 5, "commits were interrupted at several places, not {given_up}");
}

#[tokio::test]
async fn readers_do_not_wait_for_a_write_and_see_none_of_it() {
    let fixture = Fixture::new().await;
    let mut writer = fixture.store.writer().await;
    let open = "BEGIN IMMEDIATE; UPDATE target SET url = 'https://half.example.com/'";
    sqlx::raw_sql(open).execute(&mut writer.side.conn).await.unwrap();
    // The limit is far above what a read takes; a read that waited for the writer would never end.
    let reads = async {
        let targets = fixture.store.targets().await.unwrap();
        let messages = fixture.store.messages(&MessageFilter::default()).await.unwrap();
        (targets, messages, fixture.store.gauges(at(0)).await.unwrap())
    };
    let (targets, ..) = tokio::time::timeout(Duration::from_secs(30), reads).await.unwrap();
    assert_eq!(targets[0].summary.url, "https://a.example.com/mcp");
}
