//! What is written is read back the same, by a store opened anew.

use super::fixtures::{
    AWKWARD, Fixture, TOOLS, accepted, approval, at, body, drift, first, id, incident, incident_id, notice, path,
    quiet, row, summary, unit, value, whole,
};
use crate::model::alert::AlertType;
use crate::model::bulletin::Bulletin;
use crate::model::drift::DriftState;
use crate::model::incident::{Ack, EndReason, Ended, UnitMark};
use crate::model::memory::LedgerHead;
use crate::model::pointer::Pointer;
use crate::model::rule::Severity;
use crate::model::settlement::{HistoryLine, Settlement};
use crate::store::{Carry, DriftFilter, Found, IncidentState};

#[tokio::test]
async fn a_settlement_is_memory_after_a_reopening() {
    let fixture = Fixture::new().await;
    let settlement = whole(LedgerHead::default());
    fixture.commit(&settlement, None).await;
    let store = fixture.reopened().await;
    let memory = store.writer().await.memory(&id("a")).await.unwrap();

    assert_eq!(memory.drifts, settlement.drifts);
    assert_eq!(memory.incidents, settlement.incidents);
    assert_eq!(memory.baseline.values().collect::<Vec<_>>(), settlement.baseline.iter().collect::<Vec<_>>());
    assert_eq!(memory.approvals, settlement.approvals);
    assert_eq!(memory.facets, settlement.facets);
    assert_eq!(memory.scans, settlement.scans);
    assert_eq!(memory.ledger.hash, settlement.ledger[1].hash());
    assert_eq!(memory.incident_ids.iter().collect::<Vec<_>>(), [&incident_id()]);
    assert!(memory.person.is_empty() && memory.told.is_empty());
    assert_eq!(store.memory(&id("a")).await.unwrap(), memory);
    assert_eq!(store.baselines(&id("a")).await.unwrap(), settlement.baseline);
}

#[tokio::test]
async fn an_unknown_target_has_no_past() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.store.memory(&id("b")).await.unwrap(), crate::model::memory::Memory::default());
}

#[tokio::test]
async fn equal_values_are_stored_once() {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), None).await;
    let mut writer = fixture.store.writer().await;
    let blobs: i64 = sqlx::query_scalar("SELECT count(*) FROM blob").fetch_one(&mut writer.side.conn).await.unwrap();
    // one, beside, before, after (drift and approval), next.
    assert_eq!(blobs, 5);
}

#[tokio::test]
async fn a_drift_that_ends_leaves_memory_and_stays_in_the_lists() {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), None).await;
    let mut ended = row(0);
    ended.state = DriftState::Reverted;
    ended.ended_at = Some(at(900));
    ended.next = None;
    // The same key lives again in the same settlement.
    let mut again = row(800);
    again.next = None;
    let settlement = Settlement { drifts: vec![again.clone(), ended.clone()], ..quiet(2, 900) };
    fixture.commit(&settlement, None).await;

    let store = fixture.reopened().await;
    assert_eq!(store.memory(&id("a")).await.unwrap().drifts, [again.clone()]);
    let all = store.drifts(&DriftFilter::default()).await.unwrap();
    assert_eq!(all.iter().map(|found| &found.row).collect::<Vec<_>>(), [&again, &ended]);
    let open = DriftFilter { open: true, target: Some(id("a")), limit: 1 };
    assert_eq!(store.drifts(&open).await.unwrap().len(), 1);
    let other = DriftFilter { target: Some(id("b")), ..DriftFilter::default() };
    assert!(store.drifts(&other).await.unwrap().is_empty());
}

#[tokio::test]
async fn one_key_has_one_living_drift() {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), None).await;
    let settlement = Settlement { drifts: vec![row(50)], ..quiet(2, 400) };
    assert!(fixture.store.writer().await.commit(&settlement, None, at(0)).await.is_err());
    assert_eq!(fixture.memory().await.drifts, [row(0)]);
}

#[tokio::test]
async fn a_drift_is_found_by_the_beginning_of_its_fingerprint() {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), None).await;
    let fingerprint = drift(&value("after")).fingerprint.0;
    for prefix in [fingerprint.short(), fingerprint.hex(), fingerprint.to_string(), first(&fingerprint.hex(), 9)] {
        let Found::One(found) = fixture.store.drift(&prefix).await.unwrap() else { panic!("{prefix}") };
        assert_eq!(found.row, row(0));
    }
    for prefix in ["", "12345678", "sha256:", "not hexadecimal", &first(&fingerprint.hex(), 7)] {
        assert_eq!(fixture.store.drift(prefix).await.unwrap(), Found::None, "{prefix}");
    }
}

#[tokio::test]
async fn an_incident_is_rewritten_as_it_grows_and_ends() {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), None).await;
    let mut grown = incident();
    grown.revision = 2;
    grown.units.push(unit(3, Severity::Critical, UnitMark::Open));
    grown.acked = Some(Ack { by: "person:oncall".to_owned(), at: at(500), until: Some(at(900)) });
    fixture.commit(&Settlement { incidents: vec![grown.clone()], ..quiet(2, 500) }, None).await;
    assert_eq!(fixture.reopened().await.incident(incident_id()).await.unwrap(), Some(grown.clone()));
    assert_eq!(fixture.store.incidents(true).await.unwrap(), [grown.clone()]);

    grown.ended = Some(Ended { at: at(950), reason: EndReason::Accepted });
    fixture.commit(&Settlement { incidents: vec![grown.clone()], ..quiet(3, 950) }, None).await;
    let store = fixture.reopened().await;
    assert!(store.incidents(true).await.unwrap().is_empty());
    assert_eq!(store.incidents(false).await.unwrap(), [grown]);
    let memory = store.memory(&id("a")).await.unwrap();
    assert!(memory.incidents.is_empty());
    assert!(memory.incident_ids.contains(&incident_id()), "an id is never used twice");
}

#[tokio::test]
async fn what_a_revision_says_never_changes() {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), None).await;
    let mut rewritten = whole(LedgerHead::default()).revisions;
    rewritten[0].body.alert.headline = "something else".to_owned();
    let mut end = rewritten[0].clone();
    end.body = body(AlertType::DriftResolved, 1);
    rewritten.push(end);
    fixture.commit(&Settlement { revisions: rewritten, ..quiet(2, 400) }, None).await;

    let store = fixture.reopened().await;
    let read = async |revision, event| store.revision(incident_id(), revision, event).await.unwrap();
    assert_eq!(read(1, Some(AlertType::DriftOpened)).await, Some(body(AlertType::DriftOpened, 1)));
    assert_eq!(read(1, None).await, Some(body(AlertType::DriftResolved, 1)));
    assert_eq!(read(1, Some(AlertType::SightLost)).await, None);
    assert_eq!(read(2, None).await, None);
}

#[tokio::test]
async fn a_newer_acceptance_supersedes_the_value_and_its_approvals() {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), None).await;
    let person = accepted("two", 1, true, 100);
    fixture.commit(&Settlement { baseline: vec![person.clone()], ..quiet(2, 100) }, None).await;
    let memory = fixture.memory().await;
    assert_eq!(memory.baseline[&TOOLS], person);
    assert!(memory.approvals.is_empty() && memory.person.is_empty());

    let later = accepted("three", 2, false, 200);
    fixture.commit(&Settlement { baseline: vec![later.clone()], ..quiet(3, 200) }, None).await;
    let memory = fixture.reopened().await.memory(&id("a")).await.unwrap();
    assert_eq!(memory.baseline[&TOOLS], later);
    assert_eq!(memory.person[&TOOLS], person, "what a person accepted last is still known");
}

#[tokio::test]
async fn an_approval_supersedes_those_at_its_path_and_below() {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), None).await;
    let sibling = approval(path().parent().unwrap().child("title"), None, 1);
    let above = approval(path().parent().unwrap(), Some(value("item")), 2);
    fixture.commit(&Settlement { approvals: vec![sibling.clone()], ..quiet(2, 400) }, None).await;
    assert_eq!(fixture.memory().await.approvals, [approval(path(), Some(value("after")), 2), sibling]);
    // Twice the same and one below it, in one decision: the last one at a path stands.
    let below = approval(path().child("deep"), None, 1);
    let laid = vec![approval(path(), None, 1), below, approval(path(), Some(value("again")), 1), above.clone()];
    fixture.commit(&Settlement { approvals: laid, ..quiet(3, 500) }, None).await;
    assert_eq!(fixture.memory().await.approvals, std::slice::from_ref(&above));

    let why = crate::model::baseline::EndedWhy::Expired;
    let ended = vec![(TOOLS, above.path.clone(), why)];
    fixture.commit(&Settlement { ended_approvals: ended, ..quiet(4, 600) }, None).await;
    assert!(fixture.reopened().await.memory(&id("a")).await.unwrap().approvals.is_empty());
}

#[tokio::test]
async fn history_is_read_newest_first_by_target() {
    let fixture = Fixture::new().await;
    let mut settlement = whole(LedgerHead::default());
    let mut second = settlement.history[0].clone();
    second.place = None;
    second.drift = None;
    second.incident = None;
    second.text = AWKWARD.to_owned();
    settlement.history.push(second.clone());
    fixture.commit(&settlement, None).await;
    let store = fixture.reopened().await;
    let lines = store.history(Some(&id("a")), 10).await.unwrap();
    let lines: Vec<_> = lines.into_iter().map(|row| row.line).collect();
    assert_eq!(lines, [second, settlement.history[0].clone()]);
    assert_eq!(store.history(None, 1).await.unwrap().len(), 1);
    assert!(store.history(Some(&id("b")), 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn gauges_count_confirmed_units_incidents_and_what_waits_for_an_answer() {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), None).await;
    let gauges = fixture.store.gauges(at(1000)).await.unwrap();
    let units: Vec<_> = gauges.units.iter().map(|unit| (unit.severity, unit.units)).collect();
    assert_eq!(units, [(Severity::High, 1)], "a pending unit is not open");
    assert_eq!(gauges.incidents.len(), 1);
    assert_eq!((gauges.incidents[0].state, gauges.incidents[0].severity), (IncidentState::Open, Severity::High));
    assert_eq!(gauges.oldest_undecided.into_iter().collect::<Vec<_>>(), [(Severity::High, at(300))]);
    assert_eq!((gauges.baselines[0].accepted_at, gauges.baselines[0].reviewed), (at(10), false));

    let mut acked = incident();
    acked.acked = Some(Ack { by: "person:oncall".to_owned(), at: at(500), until: Some(at(900)) });
    fixture.commit(&Settlement { incidents: vec![acked.clone()], ..quiet(2, 500) }, None).await;
    let gauges = fixture.store.gauges(at(899)).await.unwrap();
    assert_eq!(gauges.incidents[0].state, IncidentState::Acked);
    assert!(gauges.oldest_undecided.is_empty());
    let gauges = fixture.store.gauges(at(900)).await.unwrap();
    assert_eq!(gauges.incidents[0].state, IncidentState::Open, "an ack ends at its until");

    acked.units[0].mark = UnitMark::Rejected;
    fixture.commit(&Settlement { incidents: vec![acked], ..quiet(3, 600) }, None).await;
    let gauges = fixture.store.gauges(at(899)).await.unwrap();
    assert_eq!(gauges.incidents[0].state, IncidentState::Rejected);
    assert_eq!(gauges.units[0].units, 1, "what is rejected stands");
}

#[tokio::test]
async fn a_notice_owed_twice_is_one() {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), None).await;
    let again = notice("mail", 1, AlertType::DriftOpened, 9000);
    fixture.commit(&Settlement { notices: vec![again], ..quiet(2, 400) }, None).await;
    assert_eq!(fixture.store.due_notices(at(9000)).await.unwrap().len(), 2);
    assert_eq!(fixture.store.next_due(at(0)).await.unwrap(), Some(at(300)));
}

#[tokio::test]
async fn a_value_that_is_gone_is_told_as_damage() {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), None).await;
    let mut writer = fixture.store.writer().await;
    for damage in ["UPDATE blob SET size = 1", "UPDATE blob SET body = x'00'", "UPDATE blob SET size = 1 << 40"] {
        sqlx::raw_sql("BEGIN").execute(&mut writer.side.conn).await.unwrap();
        sqlx::raw_sql(damage).execute(&mut writer.side.conn).await.unwrap();
        let error = writer.memory(&id("a")).await.unwrap_err();
        assert!(matches!(error, crate::store::StoreError::Corrupt(_)), "{damage}: {error}");
        sqlx::raw_sql("ROLLBACK").execute(&mut writer.side.conn).await.unwrap();
    }
    let delete = "PRAGMA foreign_keys = OFF; DELETE FROM blob";
    sqlx::raw_sql(delete).execute(&mut writer.side.conn).await.unwrap();
    let error = writer.memory(&id("a")).await.unwrap_err();
    assert!(matches!(error, crate::store::StoreError::Corrupt(_)), "{error}");
}

#[tokio::test]
async fn ten_thousand_approvals_of_one_decision_are_laid_and_superseded() {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), None).await;
    let items = Pointer::of(["items"]);
    let many = (0..10_000).map(|n| approval(items.child(format!("t{n}")), None, 1)).collect();
    fixture.commit(&Settlement { approvals: many, ..quiet(2, 400) }, None).await;
    assert_eq!(fixture.memory().await.approvals.len(), 10_001);
    fixture.commit(&Settlement { approvals: vec![approval(items, None, 1)], ..quiet(3, 500) }, None).await;
    assert_eq!(fixture.memory().await.approvals.len(), 1);
}

#[tokio::test]
async fn a_renamed_target_is_told_of_in_no_second_report() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let bulletin = Bulletin {
        kind: AlertType::FleetReport,
        key: "first-round".to_owned(),
        severity: Severity::Info,
        impact: Vec::new(),
        headline: "1 new target is watched".to_owned(),
        summary: Vec::new(),
        sections: Vec::new(),
        targets: Vec::new(),
    };
    store.writer().await.report(&bulletin, &[id("a")], &[], at(1)).await.unwrap();
    let line = HistoryLine {
        at: at(2),
        event: "target.carried".to_owned(),
        place: None,
        drift: None,
        incident: None,
        text: "it carries on the past of a".to_owned(),
    };
    let carry = Carry { from: id("a"), to: id("b"), drifts: Vec::new(), incidents: Vec::new(), line };
    store.writer().await.take_inventory(&[summary("b"), summary("c")], &[carry], at(2)).await.unwrap();
    let new: Vec<String> = store.unreported().await.unwrap().iter().map(|row| row.summary.id.to_string()).collect();
    assert_eq!(new, ["c"], "b carries on a past that was told");
}
