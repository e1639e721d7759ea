//! Retention: what is old goes, what anything living needs stays, and the two may come at any time.

use proptest::prelude::*;

use super::fixtures::{
    Fixture, TOOLS, accepted, approval, at, entry, id, incident, message, notice, path, quiet, row, scan, value,
};
use crate::model::alert::AlertType;
use crate::model::baseline::BaselineFacet;
use crate::model::condition::Fate;
use crate::model::drift::{DriftRow, DriftState};
use crate::model::incident::{EndReason, Ended, Incident};
use crate::model::memory::{LastSight, Memory};
use crate::model::notice::{Fold, Message, MessageState, Notice, Payment};
use crate::model::settlement::{HistoryLine, Settlement};
use crate::store::{
    DriftFilter, Horizon, LedgerCheck, MessageFilter, Retry, Step, Store, StoredSnapshot, Sweep, TargetDrift,
};

const ALL: Horizon = Horizon { history: jiff::Timestamp::MAX, outbox: jiff::Timestamp::MAX };

async fn sweep(store: &Store, horizon: &Horizon) {
    let mut sweep = Sweep::default();
    for _ in 0..1000 {
        if store.prune(&mut sweep, horizon).await.unwrap() == Step::Done {
            return;
        }
    }
    panic!("a sweep has no end");
}

async fn count(store: &Store, table: &str) -> i64 {
    let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    sqlx::query_scalar(sql).fetch_one(&mut *store.read().await.unwrap()).await.unwrap()
}

/// Everything that must outlive pruning.
#[derive(Debug, PartialEq)]
struct Living {
    memory: Memory,
    baselines: Vec<BaselineFacet>,
    newest: Option<StoredSnapshot>,
    notices: Vec<Notice>,
    pending: Vec<Message>,
    drifts: Vec<TargetDrift>,
    incidents: Vec<Incident>,
    ledger: LedgerCheck,
}

async fn living(store: &Store) -> Living {
    let pending = MessageFilter { state: Some(MessageState::Pending), ..MessageFilter::default() };
    Living {
        memory: store.memory(&id("a")).await.unwrap(),
        baselines: store.baselines(&id("a")).await.unwrap(),
        newest: store.latest_snapshot(&id("a")).await.unwrap(),
        notices: store.due_notices(jiff::Timestamp::MAX).await.unwrap(),
        pending: store.messages(&pending).await.unwrap(),
        drifts: store.drifts(&DriftFilter { open: true, ..DriftFilter::default() }).await.unwrap(),
        incidents: store.incidents(true).await.unwrap(),
        ledger: store.verify_ledger().await.unwrap(),
    }
}

/// One target's life, as the core would settle it.
struct World {
    fixture: Fixture,
    seq: u64,
    now: i64,
    incidents: u32,
    open: Option<(DriftRow, Incident)>,
}

impl World {
    async fn new() -> Self {
        Self { fixture: Fixture::new().await, seq: 0, now: 0, incidents: 0, open: None }
    }

    fn settlement(&mut self) -> Settlement {
        self.seq += 1;
        quiet(self.seq, self.now)
    }

    async fn shows(&mut self, text: &str) {
        let settlement = self.settlement();
        self.fixture.commit(&settlement, Some(&scan(&value(text), self.now))).await;
    }

    async fn accepts(&mut self, text: &str, reviewed: bool) {
        let entry = entry(self.fixture.memory().await.ledger);
        let baseline = vec![accepted(text, entry.no, reviewed, self.now)];
        let settlement = Settlement { baseline, ledger: vec![entry], ..self.settlement() };
        self.fixture.commit(&settlement, None).await;
    }

    async fn approves(&mut self, text: &str) {
        let entry = entry(self.fixture.memory().await.ledger);
        let approvals = vec![approval(path(), Some(value(text)), entry.no)];
        let settlement = Settlement { approvals, ledger: vec![entry], ..self.settlement() };
        self.fixture.commit(&settlement, None).await;
    }

    async fn drifts(&mut self) {
        if self.open.is_some() {
            return;
        }
        self.incidents += 1;
        let number = self.incidents;
        let opened = Incident { id: format!("{number:05}").parse().unwrap(), opened_at: at(self.now), ..incident() };
        let drift = DriftRow { incident: Some(opened.id), ..row(self.now * 100 + i64::from(number)) };
        let owed = ["mail", "hook"].map(|receiver| Notice {
            incident: opened.id,
            id: format!("{receiver}-{number}"),
            ..notice(receiver, 1, AlertType::DriftOpened, self.now)
        });
        let line = HistoryLine {
            at: at(self.now),
            event: "drift.open".to_owned(),
            place: Some((TOOLS, path())),
            drift: Some(drift.id),
            incident: Some(opened.id),
            text: "changed".to_owned(),
        };
        let settlement = Settlement {
            drifts: vec![drift.clone()],
            incidents: vec![opened.clone()],
            notices: owed.into(),
            history: vec![line],
            ..self.settlement()
        };
        self.fixture.commit(&settlement, None).await;
        self.open = Some((drift, opened));
    }

    async fn reverts(&mut self) {
        let Some((drift, opened)) = self.open.take() else { return };
        let end = at(self.now);
        let drift = DriftRow { state: DriftState::Reverted, ended_at: Some(end), next: None, ..drift };
        let ended = Incident { ended: Some(Ended { at: end, reason: EndReason::Reverted }), ..opened };
        let settlement = Settlement { drifts: vec![drift], incidents: vec![ended], ..self.settlement() };
        self.fixture.commit(&settlement, None).await;
    }

    /// Makes a message of the oldest notice, and drops the next one.
    async fn folds(&mut self) {
        let waiting = self.fixture.store.due_notices(jiff::Timestamp::MAX).await.unwrap();
        let Some(first) = waiting.first() else { return };
        let mut made = Message {
            id: format!("message-of-{}", first.id),
            incident: Some(first.incident),
            ..message(&first.receiver, 1, first.event, self.now)
        };
        made.body.alert.incident.as_mut().unwrap().id = first.incident;
        let dropped: Vec<String> = waiting.get(1).map(|notice| notice.id.clone()).into_iter().collect();
        let payment = Payment { message: made, notices: vec![first.id.clone()], told: Vec::new() };
        let fold = Fold { payments: vec![payment], dropped, ..Fold::default() };
        self.fixture.store.fold(&fold).await.unwrap();
    }

    async fn sends(&mut self, arrives: bool) {
        let filter = MessageFilter { state: Some(MessageState::Pending), ..MessageFilter::default() };
        let pending = self.fixture.store.messages(&filter).await.unwrap();
        let Some(message) = pending.last() else { return };
        if arrives {
            self.fixture.store.record_fate(&message.id, &Fate::Sent, at(self.now)).await.unwrap();
        } else {
            let dead = Fate::Dead { attempts: 20, error: "gone".to_owned() };
            self.fixture.store.record_fate(&message.id, &dead, at(self.now)).await.unwrap();
        }
    }
}

#[derive(Clone, Debug)]
enum Move {
    Shows(u8),
    Accepts(u8, bool),
    Approves(u8),
    Drifts,
    Reverts,
    Folds,
    Sends(bool),
    Retries,
    Flushes,
    /// So many steps of a sweep that goes on over other moves, with this horizon behind now.
    Prunes(u8, i64),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let step = prop_oneof![
        4 => (0_u8..4).prop_map(Move::Shows),
        2 => (0_u8..4, any::<bool>()).prop_map(|(value, reviewed)| Move::Accepts(value, reviewed)),
        1 => (0_u8..4).prop_map(Move::Approves),
        3 => Just(Move::Drifts),
        3 => Just(Move::Reverts),
        3 => Just(Move::Folds),
        3 => any::<bool>().prop_map(Move::Sends),
        1 => Just(Move::Retries),
        1 => Just(Move::Flushes),
        6 => (1_u8..14, prop_oneof![Just(0_i64), Just(2), Just(10)]).prop_map(|(steps, age)| Move::Prunes(steps, age)),
    ];
    prop::collection::vec(step, 1..40)
}

async fn plays(moves: Vec<Move>) {
    let mut world = World::new().await;
    let mut sweep = Sweep::default();
    let name = |value: u8| format!("value {value}");
    for step in moves {
        world.now += 1;
        match step {
            Move::Shows(value) => world.shows(&name(value)).await,
            Move::Accepts(value, reviewed) => world.accepts(&name(value), reviewed).await,
            Move::Approves(value) => world.approves(&name(value)).await,
            Move::Drifts => world.drifts().await,
            Move::Reverts => world.reverts().await,
            Move::Folds => world.folds().await,
            Move::Sends(arrives) => world.sends(arrives).await,
            Move::Retries => drop(world.fixture.store.retry(&Retry::AllDead, at(world.now)).await.unwrap()),
            Move::Flushes => drop(world.fixture.store.flush_runs().await.unwrap()),
            Move::Prunes(steps, age) => {
                let store = &world.fixture.store;
                let before = living(store).await;
                let old = at(world.now - age);
                for _ in 0..steps {
                    store.prune(&mut sweep, &Horizon { history: old, outbox: old }).await.unwrap();
                }
                assert_eq!(living(store).await, before);
            }
        }
    }
    let store = &world.fixture.store;
    let before = living(store).await;
    self::sweep(store, &ALL).await;
    assert_eq!(living(store).await, before);
    let checked = store.check().await.unwrap();
    assert!(checked.is_whole(), "{:?}", checked.problems);
    let left = count(store, "run").await;
    assert!(left <= 1, "of a target's runs only the newest stays, not {left}");
    assert_eq!(living(&world.fixture.reopened().await).await.memory.drifts, before.memory.drifts);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn after_any_pruning_everything_living_still_reads(moves in moves()) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(plays(moves));
    }
}

#[tokio::test]
async fn what_is_old_goes_and_its_incident_id_is_never_given_out_again() {
    let mut world = World::new().await;
    world.shows("one").await;
    world.accepts("one", true).await;
    world.now = 10;
    world.shows("two").await;
    world.drifts().await;
    let spent = world.open.as_ref().unwrap().1.id;
    world.folds().await;
    world.sends(true).await;
    world.accepts("two", false).await;
    world.reverts().await;
    world.now = 20;
    world.shows("three").await;
    world.fixture.store.flush_runs().await.unwrap();
    let store = &world.fixture.store;
    let before = living(store).await;
    sweep(store, &Horizon { history: at(5), outbox: at(5) }).await;
    assert_eq!((count(store, "message").await, count(store, "incident").await), (1, 1), "what is younger stays");
    sweep(store, &Horizon { history: at(15), outbox: at(15) }).await;
    for (table, left) in [
        ("message", 0),
        ("notice", 0),
        ("history", 0),
        ("drift", 0),
        ("unit", 0),
        ("revision", 0),
        ("told", 0),
        ("incident", 0),
        ("run", 1),
        ("snapshot", 1),
        ("baseline", 2),
        ("ledger", 2),
        // The newest snapshot's, what is held, and what a person held it to last; "beside" is in both.
        ("blob", 4),
    ] {
        assert_eq!(count(store, table).await, left, "{table}");
    }
    let after = living(store).await;
    assert_eq!((after.memory.person, after.baselines), (before.memory.person, before.baselines));
    let again = world.fixture.reopened().await;
    assert!(again.incident_ids().contains(&spent), "its id stands in mails and in the ledger");
}

#[tokio::test]
async fn a_message_that_is_put_back_on_its_way_is_not_old() {
    let mut world = World::new().await;
    world.drifts().await;
    world.folds().await;
    world.sends(false).await;
    world.reverts().await;
    world.fixture.store.retry(&Retry::AllDead, at(1)).await.unwrap();
    sweep(&world.fixture.store, &ALL).await;
    assert_eq!(living(&world.fixture.store).await.pending.len(), 1);
    assert_eq!(count(&world.fixture.store, "incident").await, 1, "and what it tells of stays with it");
}

#[tokio::test]
async fn a_value_that_returns_while_it_is_being_swept_stays() {
    let mut world = World::new().await;
    for text in ["one", "two"] {
        world.now += 1;
        world.shows(text).await;
    }
    let store = world.fixture.store.clone();
    let mut sweep = Sweep::default();
    // Up to where it has seen that nothing refers to the first value.
    while sweep.values_left() == 0 {
        assert_eq!(store.prune(&mut sweep, &ALL).await.unwrap(), Step::More, "the value of a pruned run is to go");
        sweep.look(&store).await;
    }
    world.now += 1;
    world.shows("one").await;
    while store.prune(&mut sweep, &ALL).await.unwrap() == Step::More {}
    assert!(store.check().await.unwrap().is_whole());
    assert!(store.latest_snapshot(&id("a")).await.unwrap().is_some());
}

#[tokio::test]
async fn room_that_is_freed_is_given_back() {
    let mut world = World::new().await;
    for n in 0..120 {
        world.now += 1;
        // Random text, which does not shrink.
        let noise: String = (0..4000)
            .map(|at| crate::model::digest::Digest::of_parts([n.to_string(), at.to_string()]).short())
            .collect();
        world.shows(&noise).await;
    }
    let store = &world.fixture.store;
    let before = store.size_bytes().unwrap();
    let pages: i64 = sqlx::query_scalar("SELECT page_count FROM pragma_page_count")
        .fetch_one(&mut store.writer().await.side.conn)
        .await
        .unwrap();
    sweep(store, &ALL).await;
    let left: i64 = sqlx::query_scalar("SELECT page_count FROM pragma_page_count")
        .fetch_one(&mut store.writer().await.side.conn)
        .await
        .unwrap();
    assert!(left < pages / 2, "of {pages} pages {left} are left ({before} bytes before)");
}

#[tokio::test]
async fn a_facet_that_is_absent_is_still_known_to_be_after_a_restart() {
    let fixture = Fixture::new().await;
    let mut settlement = quiet(1, 0);
    for sight in [LastSight::Unknown, LastSight::Absent, LastSight::Value(crate::model::digest::Digest::ZERO)] {
        settlement.facets.get_mut(&TOOLS).unwrap().last = sight;
        fixture.commit(&settlement, Some(&scan(&value("one"), 0))).await;
        fixture.store.flush_runs().await.unwrap();
        let read = fixture.reopened().await.memory(&id("a")).await.unwrap();
        assert_eq!(read.facets[&TOOLS].last, sight);
    }
}
