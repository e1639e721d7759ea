//! Many targets: what one of them costs does not grow with the others.

use sqlx::Row as _;

use super::fixtures::{Fixture, at, id, quiet, scan, summary, value};
use crate::model::settlement::Settlement;
use crate::store::{
    baselines, drifts, history, incidents, kin, ledger, memory, outbox, resume, runs, snapshots, targets, values,
};

const BY_INDEX: [&str; 32] = [
    baselines::LIVING,
    baselines::BY_PERSON,
    baselines::APPROVALS,
    drifts::LIVING,
    drifts::FINGERPRINTS,
    drifts::OF_FINGERPRINT,
    history::OF_TARGET,
    history::ALL,
    incidents::OPEN_OF,
    incidents::BY_IDS,
    incidents::UNITS_BY_IDS,
    incidents::WITH_BY_IDS,
    incidents::ONE,
    incidents::REVISION,
    ledger::HEAD,
    ledger::RANGE,
    memory::LOAD,
    resume::LAST,
    resume::MEMORIES,
    resume::STANDING,
    kin::TARGETS,
    kin::LOST,
    kin::DRIFTS,
    outbox::TOLD,
    outbox::DUE_NOTICES,
    outbox::DUE_MESSAGES,
    outbox::BY_ID,
    runs::NEWEST,
    snapshots::LATEST,
    snapshots::BY_PREFIX,
    targets::ONE,
    values::LOAD,
];

#[tokio::test]
async fn no_query_for_one_target_or_message_scans_a_table() {
    let fixture = Fixture::new().await;
    let mut writer = fixture.store.writer().await;
    for sql in BY_INDEX.iter().chain(&[outbox::NEXT_NOTICE, outbox::NEXT_MESSAGE, snapshots::OF_DIGEST]) {
        let plan = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let rows = sqlx::query(plan).fetch_all(&mut writer.side.conn).await.unwrap();
        assert!(!rows.is_empty());
        for row in rows {
            let step: String = row.get("detail");
            // A partial index over what waits is as long as what waits; the list of wanted digests is ours; history
            // and ledger are read from their end.
            let allowed = ["SCAN wanted", "SCAN due", "SCAN (subquery", "SCAN history", "SCAN ledger"];
            let waiting = step.contains("INDEX notice_") || step.contains("INDEX message_");
            let scans = step.starts_with("SCAN ") && !waiting && !allowed.iter().any(|scan| step.starts_with(scan));
            assert!(!scans, "{sql}\n  {step}");
        }
    }
}

#[tokio::test]
async fn with_ten_thousand_targets_one_is_loaded_and_all_are_flushed() {
    let fixture = Fixture::new().await;
    let inventory: Vec<_> = (0..10_000).map(|n| summary(&format!("t{n}"))).collect();
    let synced = fixture.store.sync_targets(&inventory, at(0)).await.unwrap();
    assert_eq!((synced.added.len(), synced.retired.len()), (10_000, 1));

    let mut writer = fixture.store.writer().await;
    let showing = scan(&value("one"), 0);
    for target in &inventory {
        let settlement = Settlement { target: target.id.clone(), ..quiet(1, 0) };
        // Without a scan: what is counted here is the batch, not ten thousand syncs of the disk.
        writer.commit(&settlement, None, at(0)).await.unwrap();
    }
    let one = Settlement { target: id("t7"), ..quiet(2, 60) };
    writer.commit(&one, Some(&showing), at(60)).await.unwrap();
    assert_eq!(writer.memory(&id("t7")).await.unwrap().scans.seq, 2);
    drop(writer);

    assert_eq!(fixture.store.flush_runs().await.unwrap(), 9_999);
    let store = fixture.reopened().await;
    let rows = store.targets().await.unwrap();
    assert_eq!(rows.iter().filter(|row| row.seq >= 1).count(), 10_000);
    let ids: Vec<_> = inventory.iter().map(|target| target.id.clone()).collect();
    let resumed = store.resume(&ids).await.unwrap();
    assert_eq!(resumed.values().filter(|target| target.last_seen.len() == 1 && target.scans.seq >= 1).count(), 10_000);
    assert_eq!(store.memory(&id("t9999")).await.unwrap().scans, quiet(1, 0).scans);
}
