//! Runs, snapshots and targets.

use super::fixtures::{Fixture, TOOLS, at, first, id, quiet, row, scan, summary, value};
use crate::model::drift::DriftRow;
use crate::model::facet::{Facet, FacetName, FacetState};
use crate::model::memory::ScanMemory;
use crate::model::observation::Outcome;
use crate::model::settlement::{HistoryLine, Settlement};
use crate::model::snapshot::Snapshot;
use crate::store::{Found, Standing, Store, StoredSnapshot, TargetState, Unchanged};

async fn rows(store: &Store, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(&mut *store.read().await.unwrap()).await.unwrap()
}

fn assert_shows(stored: &StoredSnapshot, scan: &Snapshot) {
    assert_eq!(stored.facets, scan.facets);
    assert_eq!((stored.digest, stored.at, stored.outcome), (scan.digest, scan.at, scan.outcome));
    assert_eq!((&stored.asked, &stored.coverage, &stored.mcp), (&scan.asked, &scan.coverage, &scan.mcp));
    assert_eq!((&stored.checks, stored.model), (&scan.checks, scan.model));
}

#[tokio::test]
async fn a_snapshot_is_read_back_whole() {
    let fixture = Fixture::new().await;
    let first = scan(&value("one"), 0);
    fixture.commit(&quiet(1, 0), Some(&first)).await;
    let store = fixture.reopened().await;
    assert_shows(&store.latest_snapshot(&id("a")).await.unwrap().unwrap(), &first);
    assert_eq!(store.latest_snapshot(&id("b")).await.unwrap(), None);
}

#[tokio::test]
async fn unchanged_scans_extend_one_run_and_write_nothing_until_the_flush() {
    let fixture = Fixture::new().await;
    fixture.commit(&quiet(1, 0), Some(&scan(&value("one"), 0))).await;
    for n in 1..5_i64 {
        let changes = fixture.store.writer().await.changes().await;
        let newest = scan(&value("one"), n * 60);
        fixture.commit(&quiet(n.unsigned_abs() + 1, n * 60), Some(&newest)).await;
        assert_eq!(fixture.store.writer().await.changes().await, changes, "no row is written");

        // What is buffered is seen by everybody.
        assert_eq!(fixture.memory().await.scans.seq, n.unsigned_abs() + 1);
        let target = fixture.store.target(&id("a")).await.unwrap().unwrap();
        assert_eq!((target.seq, target.last_scan), (n.unsigned_abs() + 1, Some(at(n * 60))));
        assert_eq!(fixture.store.targets().await.unwrap(), [target]);
        let resumed = fixture.store.resume(&[id("a")]).await.unwrap();
        assert!(resumed[&id("a")].last_seen.values().all(|seen| *seen == at(n * 60)));
        assert_shows(&fixture.store.latest_snapshot(&id("a")).await.unwrap().unwrap(), &newest);
        let runs = fixture.store.runs(&id("a"), 10).await.unwrap();
        assert_eq!((runs.len(), runs[0].scans, runs[0].to_at), (1, n.unsigned_abs() + 1, at(n * 60)));
    }
    // A crash loses that much and no more.
    assert_eq!(fixture.reopened().await.memory(&id("a")).await.unwrap().scans.seq, 1);

    assert_eq!(fixture.store.flush_runs().await.unwrap(), 1);
    assert_eq!(fixture.store.flush_runs().await.unwrap(), 0);
    let store = fixture.reopened().await;
    let runs = store.runs(&id("a"), 10).await.unwrap();
    assert_eq!((runs.len(), runs[0].scans, runs[0].from_seq, runs[0].to_seq), (1, 5, 1, 5));
    assert_eq!((runs[0].from_at, runs[0].to_at), (at(0), at(240)));
    assert_eq!(store.memory(&id("a")).await.unwrap().scans, quiet(5, 240).scans);
    let target = store.target(&id("a")).await.unwrap().unwrap();
    assert_eq!((target.recheck, target.not_before), (Some(at(540)), Some(at(270))));
    assert_eq!(rows(&store, "SELECT count(*) FROM snapshot").await, 1);
}

/// A scan of `a` that changed nothing, its number and time.
fn unchanged(seq: u64, seconds: i64, fresh: bool) -> Unchanged<'static> {
    let snapshot = scan(&value("one"), 0).digest;
    Unchanged { seq, snapshot, began: at(seconds), ended: at(seconds), fresh, scan: None }
}

/// The first scan of `a`, complete and calm.
fn calm() -> (Settlement, Snapshot) {
    let mut settlement = quiet(1, 0);
    settlement.scans.outcome = Some(Outcome::Ok);
    settlement.history.push(HistoryLine {
        at: at(0),
        event: "scan.ok".to_owned(),
        place: None,
        drift: None,
        incident: None,
        text: String::new(),
    });
    (settlement, Snapshot { outcome: Outcome::Ok, ..scan(&value("one"), 0) })
}

#[tokio::test]
async fn unchanged_scans_are_counted_in_memory_and_seen_by_everybody_before_and_after_the_flush() {
    let fixture = Fixture::new().await;
    let (first, snapshot) = calm();
    fixture.commit(&first, Some(&snapshot)).await;
    let changes = fixture.store.writer().await.changes().await;
    for (seq, seconds, fresh) in [(2, 60, true), (3, 120, false)] {
        let mut writer = fixture.store.writer().await;
        writer.extend(&id("a"), &unchanged(seq, seconds, fresh)).await.unwrap();
        assert_eq!(writer.changes().await, changes, "no row is written");
    }
    for store in [fixture.store.clone(), {
        fixture.store.flush_runs().await.unwrap();
        fixture.reopened().await
    }] {
        let memory = store.memory(&id("a")).await.unwrap();
        let facet = &memory.facets[&TOOLS];
        assert_eq!((facet.last_seen, facet.runs[0].to, facet.runs[0].scans), (Some(at(120)), at(120), 4));
        let scans = &memory.scans;
        assert_eq!((scans.seq, scans.last_at, scans.last_ok), (3, Some(at(120)), Some(at(120))));
        assert_eq!((scans.last_fresh, scans.not_before), (Some(at(60)), None));
        let resumed = &store.resume(&[id("a"), id("b")]).await.unwrap()[&id("a")];
        assert_eq!((&resumed.scans, resumed.last_seen[&TOOLS], resumed.recheck), (scans, at(120), None));
        let target = store.target(&id("a")).await.unwrap().unwrap();
        assert_eq!((target.seq, target.last_ok, target.recheck), (3, Some(at(120)), None));
        assert_eq!(store.targets().await.unwrap(), [target]);
        let runs = store.runs(&id("a"), 10).await.unwrap();
        assert_eq!((runs.len(), runs[0].scans, runs[0].to_seq, runs[0].to_at), (1, 3, 3, at(120)));
        assert_eq!(store.latest_snapshot(&id("a")).await.unwrap().unwrap().at, at(120));
    }
}

#[tokio::test]
async fn an_unchanged_scan_lengthens_what_is_buffered_whole_and_what_is_lengthened_is_settled_on() {
    let fixture = Fixture::new().await;
    let (first, snapshot) = calm();
    fixture.commit(&first, Some(&snapshot)).await;
    let again =
        Settlement { history: Vec::new(), scans: ScanMemory { seq: 2, ..first.scans.clone() }, ..first.clone() };
    fixture.commit(&again, Some(&snapshot)).await;
    let mut writer = fixture.store.writer().await;
    writer.extend(&id("a"), &unchanged(3, 60, false)).await.unwrap();
    drop(writer);
    assert_eq!(fixture.memory().await.scans.seq, 3);
    fixture.store.flush_runs().await.unwrap();

    let mut writer = fixture.store.writer().await;
    writer.extend(&id("a"), &unchanged(4, 120, false)).await.unwrap();
    let told = Settlement { scans: writer.memory(&id("a")).await.unwrap().scans, ..first };
    writer.commit(&told, None, at(130)).await.unwrap();
    drop(writer);
    let store = fixture.reopened().await;
    assert_eq!(store.memory(&id("a")).await.unwrap().scans.seq, 4);
    let runs = store.runs(&id("a"), 10).await.unwrap();
    assert_eq!((runs.len(), runs[0].scans, runs[0].to_seq, runs[0].to_at), (1, 4, 4, at(120)));
}

#[tokio::test]
async fn scanning_goes_on_from_what_stands_and_what_was_watched() {
    let fixture = Fixture::new().await;
    let showing = scan(&value("one"), 0);
    let mut settlement = quiet(1, 0);
    settlement.drifts.push(DriftRow { incident: None, ..row(0) });
    fixture.commit(&settlement, Some(&showing)).await;
    let resumed = fixture.reopened().await.resume(&[id("a")]).await.unwrap().remove(&id("a")).unwrap();
    let drift = row(0);
    let stands = Standing {
        facet: drift.drift.facet,
        path: drift.drift.path,
        rule: drift.drift.rule.rule,
        state: drift.state,
        told: true,
    };
    assert_eq!((resumed.standing, resumed.recheck), (vec![stands], Some(at(300))));
    let last = resumed.last.unwrap();
    assert_eq!((last.outcome, last.mcp, &last.coverage), (showing.outcome, showing.mcp.state, &showing.coverage));
    assert_eq!(
        last.unseen.len(),
        showing.facets.values().filter(|state| matches!(state, FacetState::Unseen { .. })).count()
    );
}

#[tokio::test]
async fn another_snapshot_or_outcome_begins_a_run_and_a_value_that_returns_is_stored_once() {
    let fixture = Fixture::new().await;
    let one = scan(&value("one"), 0);
    fixture.commit(&quiet(1, 0), Some(&one)).await;
    fixture.commit(&quiet(2, 60), Some(&scan(&value("one"), 60))).await;
    fixture.commit(&quiet(3, 120), Some(&scan(&value("two"), 120))).await;
    let mut ok = scan(&value("two"), 180);
    ok.outcome = Outcome::Ok;
    fixture.commit(&quiet(4, 180), Some(&ok)).await;
    fixture.commit(&quiet(5, 240), Some(&scan(&value("one"), 240))).await;

    let store = fixture.reopened().await;
    let runs = store.runs(&id("a"), 10).await.unwrap();
    let spans: Vec<_> = runs.iter().map(|run| (run.from_seq, run.to_seq, run.scans)).collect();
    assert_eq!(spans, [(5, 5, 1), (4, 4, 1), (3, 3, 1), (1, 2, 2)], "a buffered run is written when the next begins");
    assert_eq!(rows(&store, "SELECT count(*) FROM snapshot").await, 2);
    assert_eq!(rows(&store, "SELECT count(*) FROM blob").await, 2);
}

#[tokio::test]
async fn a_change_of_how_it_was_asked_is_kept_without_a_new_run() {
    let fixture = Fixture::new().await;
    fixture.commit(&quiet(1, 0), Some(&scan(&value("one"), 0))).await;
    let mut other = scan(&value("one"), 60);
    other.asked.date = Some("2026-07-28".to_owned());
    fixture.commit(&quiet(2, 60), Some(&other)).await;
    assert_shows(&fixture.store.latest_snapshot(&id("a")).await.unwrap().unwrap(), &other);
    fixture.store.flush_runs().await.unwrap();
    let store = fixture.reopened().await;
    assert_shows(&store.latest_snapshot(&id("a")).await.unwrap().unwrap(), &other);
    assert_eq!(store.runs(&id("a"), 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_scan_with_something_to_say_takes_what_is_buffered_with_it() {
    let fixture = Fixture::new().await;
    fixture.commit(&quiet(1, 0), Some(&scan(&value("one"), 0))).await;
    fixture.commit(&quiet(2, 60), Some(&scan(&value("one"), 60))).await;
    let line = HistoryLine {
        at: at(120),
        event: "scan.partial".to_owned(),
        place: None,
        drift: None,
        incident: None,
        text: "resources were not read".to_owned(),
    };
    let settlement = Settlement { history: vec![line], ..quiet(3, 120) };
    fixture.commit(&settlement, Some(&scan(&value("one"), 120))).await;
    let store = fixture.reopened().await;
    assert_eq!(store.runs(&id("a"), 1).await.unwrap()[0].scans, 3);
    assert_eq!(store.memory(&id("a")).await.unwrap().scans.seq, 3);
    assert_eq!(fixture.store.flush_runs().await.unwrap(), 0);
}

#[tokio::test]
async fn a_tick_without_a_scan_leaves_the_buffered_run_alone() {
    let fixture = Fixture::new().await;
    fixture.commit(&quiet(1, 0), Some(&scan(&value("one"), 0))).await;
    fixture.commit(&quiet(2, 60), Some(&scan(&value("one"), 60))).await;
    fixture.commit(&quiet(2, 60), None).await;
    fixture.store.close().await.unwrap();
    let store = fixture.reopened().await;
    assert_eq!(store.runs(&id("a"), 1).await.unwrap()[0].scans, 2);
}

#[tokio::test]
async fn a_snapshot_is_found_by_the_beginning_of_its_digest() {
    let fixture = Fixture::new().await;
    let one = scan(&value("one"), 0);
    fixture.commit(&quiet(1, 0), Some(&one)).await;
    fixture.commit(&quiet(2, 60), Some(&scan(&value("two"), 60))).await;
    let find = async |prefix: &str| fixture.store.snapshot_by_prefix(&id("a"), prefix).await.unwrap();
    let Found::One(found) = find(&one.digest.short()).await else { panic!("not found") };
    assert_shows(&found, &one);
    assert!(matches!(find(&one.digest.to_string()).await, Found::One(_)));
    assert_eq!(find(&first(&one.digest.hex(), 7)).await, Found::None, "seven digits are too few");
    assert_eq!(find("00000000").await, Found::None);
    let elsewhere = fixture.store.snapshot_by_prefix(&id("b"), &one.digest.short()).await.unwrap();
    assert_eq!(elsewhere, Found::None, "another target's snapshot is not ours");
}

#[tokio::test]
async fn a_prefix_that_two_snapshots_share_is_too_short() {
    let fixture = Fixture::new().await;
    let hex = "0123456789".to_owned();
    for (seq, tail) in [(1, 'a'), (2, 'b')] {
        let mut showing = scan(&value("one"), 0);
        showing.digest = format!("{hex}{}", tail.to_string().repeat(54)).parse().unwrap();
        fixture.commit(&quiet(seq, 0), Some(&showing)).await;
    }
    let find = async |prefix: &str| fixture.store.snapshot_by_prefix(&id("a"), prefix).await.unwrap();
    assert_eq!(find(&hex).await, Found::Several);
    assert!(matches!(find(&format!("{hex}b")).await, Found::One(_)));
}

#[tokio::test]
async fn a_target_that_leaves_is_retired_and_resumes_on_its_return() {
    let fixture = Fixture::new().await;
    fixture.commit(&quiet(1, 0), Some(&scan(&value("one"), 0))).await;
    let synced = fixture.store.sync_targets(&[summary("b")], at(100)).await.unwrap();
    assert_eq!((synced.added, synced.retired), (vec![id("b")], vec![id("a")]));
    let gone = fixture.store.target(&id("a")).await.unwrap().unwrap();
    assert_eq!((gone.state, gone.retired_at), (TargetState::Retired, Some(at(100))));

    let mut moved = summary("a");
    moved.url = "https://elsewhere.example.com/mcp".to_owned();
    let inventory = [moved.clone(), summary("b")];
    let synced = fixture.store.sync_targets(&inventory, at(200)).await.unwrap();
    assert_eq!((synced.returned, synced.moved), (vec![id("a")], vec![id("a")]));
    let synced = fixture.store.sync_targets(&inventory, at(300)).await.unwrap();
    assert_eq!(synced, crate::store::Synced::default(), "what is the same is not written");

    let store = fixture.reopened().await;
    let back = store.target(&id("a")).await.unwrap().unwrap();
    assert_eq!((back.state, back.retired_at, back.first_seen), (TargetState::Active, None, at(0)));
    assert_eq!((back.summary, back.seq), (moved, 1));
}

#[tokio::test]
async fn nothing_seen_is_a_snapshot_too() {
    let fixture = Fixture::new().await;
    let mut blind = scan(&value("one"), 0);
    blind.facets.retain(|name, _| *name == FacetName::stranger(Facet::McpResources));
    blind.outcome = Outcome::Unreachable;
    fixture.commit(&quiet(1, 0), Some(&blind)).await;
    let stored = fixture.reopened().await.latest_snapshot(&id("a")).await.unwrap().unwrap();
    assert_shows(&stored, &blind);
    assert!(!stored.facets.contains_key(&TOOLS));
}
