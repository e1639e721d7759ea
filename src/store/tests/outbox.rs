//! What is owed is paid once, in order, and never lost.

use super::fixtures::{Fixture, at, first, id, incident_id, message, notice, quiet, whole};
use crate::model::alert::AlertType;
use crate::model::bulletin::{Bulletin, Passage};
use crate::model::condition::{Condition, Fate};
use crate::model::memory::LedgerHead;
use crate::model::notice::{Fold, Lane, Message, MessageState, Payment, PutOff, Told};
use crate::model::rule::{Impact, Severity};
use crate::model::settlement::Settlement;
use crate::store::{Found, MessageFilter, Retry, StoreError, Tried};

/// Notices for `mail` (due at 360) and `hook` (due at 300) wait.
async fn owing() -> Fixture {
    let fixture = Fixture::new().await;
    fixture.commit(&whole(LedgerHead::default()), None).await;
    fixture
}

async fn fold_one(fixture: &Fixture, message: &Message) {
    let notice = notice(
        &message.receiver,
        message.body.alert.incident.as_ref().unwrap().revision,
        message.body.alert.kind,
        1000,
    );
    fixture.commit(&Settlement { notices: vec![notice.clone()], ..quiet(2, 400) }, None).await;
    fixture.store.fold(&paying(message, &notice.id)).await.unwrap();
}

/// One message that pays one notice and tells what it says.
fn paying(message: &Message, notice: &str) -> Fold {
    let about = message.body.alert.incident.as_ref().unwrap();
    let told = Told {
        receiver: message.receiver.clone(),
        incident: about.id,
        revision: about.revision,
        event: message.body.alert.kind,
        at: message.at,
    };
    let payment = Payment { message: message.clone(), notices: vec![notice.to_owned()], told: vec![told] };
    Fold { payments: vec![payment], ..Fold::default() }
}

fn again(attempts: u32, next: i64, error: &str) -> Fate {
    Fate::Again { attempts, at: at(next), error: error.to_owned() }
}

fn dead_after(attempts: u32, error: &str) -> Fate {
    Fate::Dead { attempts, error: error.to_owned() }
}

fn dropping(notice: &str) -> Fold {
    Fold { dropped: vec![notice.to_owned()], ..Fold::default() }
}

fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_str()).collect()
}

#[tokio::test]
async fn a_group_is_due_with_its_first_notice_and_brings_the_others_along() {
    let fixture = owing().await;
    let later = notice("hook", 2, AlertType::DriftChanged, 900);
    fixture.commit(&Settlement { notices: vec![later.clone()], ..quiet(2, 400) }, None).await;
    assert!(fixture.store.due_notices(at(299)).await.unwrap().is_empty());
    let due = fixture.reopened().await.due_notices(at(300)).await.unwrap();
    assert_eq!(due, [notice("hook", 1, AlertType::DriftOpened, 300), later]);
    assert_eq!(fixture.store.due_notices(at(360)).await.unwrap().len(), 3);
}

#[tokio::test]
async fn folding_notes_what_is_told_and_survives_a_reopening() {
    let fixture = owing().await;
    let hook = message("hook", 1, AlertType::DriftOpened, 300);
    let owed = fixture.store.due_notices(at(360)).await.unwrap();
    let (to_hook, to_mail): (Vec<_>, Vec<_>) = owed.iter().partition(|notice| notice.receiver == "hook");
    let fold = Fold { dropped: vec![to_mail[0].id.clone()], ..paying(&hook, &to_hook[0].id) };
    fixture.store.fold(&fold).await.unwrap();

    let store = fixture.reopened().await;
    assert!(store.due_notices(at(9000)).await.unwrap().is_empty());
    assert_eq!(store.messages(&MessageFilter::default()).await.unwrap(), std::slice::from_ref(&hook));
    let told = store.told(&[incident_id()]).await.unwrap();
    assert_eq!(told, store.memory(&id("a")).await.unwrap().told);
    assert_eq!((told.len(), told[0].receiver.as_str(), told[0].event), (1, "hook", AlertType::DriftOpened));
    assert_eq!(store.message(&first(&hook.id, 8)).await.unwrap(), Found::One(hook.clone()));
    assert_eq!(store.message(&first(&hook.id, 7)).await.unwrap(), Found::None);
    assert_eq!(store.message("%_______").await.unwrap(), Found::None);
    let other = MessageFilter { receiver: Some("mail".to_owned()), ..MessageFilter::default() };
    assert!(store.messages(&other).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_notice_is_folded_once_and_a_fold_is_all_or_nothing() {
    let fixture = owing().await;
    let owed = fixture.store.due_notices(at(360)).await.unwrap();
    let hook = owed.iter().find(|notice| notice.receiver == "hook").unwrap().id.clone();
    let mail = owed.iter().find(|notice| notice.receiver == "mail").unwrap().id.clone();
    fixture.store.fold(&dropping(&mail)).await.unwrap();

    let folded = paying(&message("hook", 1, AlertType::DriftOpened, 300), &hook);
    let error = fixture.store.fold(&Fold { dropped: vec![mail.clone()], ..folded.clone() }).await.unwrap_err();
    assert!(matches!(&error, StoreError::NotWaiting(notice) if *notice == mail), "{error}");
    assert!(fixture.store.messages(&MessageFilter::default()).await.unwrap().is_empty());
    assert!(fixture.store.told(&[incident_id()]).await.unwrap().is_empty());

    let to_another = paying(&message("pager", 1, AlertType::DriftOpened, 300), &hook);
    assert!(fixture.store.fold(&to_another).await.is_err(), "a notice is owed to its own receiver");
    let later = PutOff { id: hook.clone(), lane: Lane::Digest, due_at: at(900) };
    fixture.store.fold(&Fold { put_off: vec![later], ..Fold::default() }).await.unwrap();
    assert!(fixture.store.due_notices(at(899)).await.unwrap().is_empty());
    assert_eq!(fixture.store.due_notices(at(900)).await.unwrap()[0].lane, Lane::Digest);
    fixture.store.fold(&folded).await.unwrap();
    assert!(fixture.store.fold(&dropping(&hook)).await.is_err());
}

#[tokio::test]
async fn one_receiver_gets_one_incidents_messages_in_order() {
    let fixture = owing().await;
    let opened = message("mail", 5, AlertType::DriftOpened, 100);
    let changed = message("mail", 6, AlertType::DriftChanged, 50);
    let hook = message("hook", 5, AlertType::DriftOpened, 200);
    for message in [&opened, &changed, &hook] {
        fold_one(&fixture, message).await;
    }
    let due = fixture.store.due_messages(at(1000)).await.unwrap();
    assert_eq!(ids(&due), [&opened.id, &hook.id], "the longest due first; a later one waits for the earlier");

    // The earlier one fails and waits: the later one waits with it, another receiver does not.
    fixture.store.record_fate(&opened.id, &again(1, 2000, "refused"), at(0)).await.unwrap();
    let store = fixture.reopened().await;
    assert_eq!(ids(&store.due_messages(at(1000)).await.unwrap()), [&hook.id]);
    fixture.store.record_fate(&hook.id, &Fate::Sent, at(1000)).await.unwrap();
    assert!(fixture.store.due_messages(at(1999)).await.unwrap().is_empty());
    let due = fixture.store.due_messages(at(2000)).await.unwrap();
    assert_eq!((due[0].attempts, due[0].error.as_deref()), (1, Some("refused")));

    fixture.store.record_fate(&opened.id, &Fate::Sent, at(2000)).await.unwrap();
    assert_eq!(ids(&fixture.store.due_messages(at(2000)).await.unwrap()), [&changed.id]);
}

#[tokio::test]
async fn the_next_due_is_of_what_can_be_done_next() {
    let fixture = owing().await;
    let owed = fixture.store.due_notices(at(360)).await.unwrap();
    let dropped = owed.into_iter().map(|notice| notice.id).collect();
    fixture.store.fold(&Fold { dropped, ..Fold::default() }).await.unwrap();
    assert_eq!(fixture.store.next_due(at(0)).await.unwrap(), None);
    let first = message("mail", 5, AlertType::DriftOpened, 700);
    let second = message("mail", 6, AlertType::DriftChanged, 500);
    fold_one(&fixture, &first).await;
    fold_one(&fixture, &second).await;
    assert_eq!(fixture.store.next_due(at(0)).await.unwrap(), Some(at(700)), "the second cannot go before the first");
    let new = notice("hook", 9, AlertType::DriftResolved, 600);
    fixture.commit(&Settlement { notices: vec![new], ..quiet(3, 400) }, None).await;
    assert_eq!(fixture.store.next_due(at(0)).await.unwrap(), Some(at(600)));
}

#[tokio::test]
async fn a_dead_message_lets_later_ones_pass_and_comes_back_on_request_under_its_id() {
    let fixture = owing().await;
    let opened = message("mail", 5, AlertType::DriftOpened, 100);
    let changed = message("mail", 6, AlertType::DriftChanged, 100);
    fold_one(&fixture, &opened).await;
    fold_one(&fixture, &changed).await;
    fixture.store.record_fate(&opened.id, &dead_after(9, "unknown user"), at(0)).await.unwrap();
    assert_eq!(ids(&fixture.store.due_messages(at(1000)).await.unwrap()), [&changed.id]);

    let dead = MessageFilter { state: Some(MessageState::Dead), limit: 5, ..MessageFilter::default() };
    let store = fixture.reopened().await;
    let given_up = store.messages(&dead).await.unwrap();
    assert_eq!((given_up[0].attempts, given_up[0].error.as_deref()), (9, Some("unknown user")));

    assert_eq!(fixture.store.retry(&Retry::AllDead, at(3000)).await.unwrap(), 1);
    assert_eq!(fixture.store.retry(&Retry::AllDead, at(3000)).await.unwrap(), 0);
    let due = fixture.store.due_messages(at(3000)).await.unwrap();
    assert_eq!((ids(&due), due[0].attempts), (vec![opened.id.as_str()], 0));

    fixture.store.record_fate(&opened.id, &Fate::Sent, at(3001)).await.unwrap();
    let one = Retry::One(opened.id.clone());
    assert_eq!(fixture.store.retry(&one, at(3002)).await.unwrap(), 0, "a delivered one is never sent again");
    fixture.store.record_fate(&opened.id, &again(3, 9000, "late"), at(0)).await.unwrap();
    fixture.store.record_fate(&opened.id, &dead_after(3, "late"), at(0)).await.unwrap();
    let Found::One(sent) = fixture.store.message(&opened.id).await.unwrap() else { panic!("not found") };
    assert_eq!((sent.state, sent.sent_at, sent.attempts), (MessageState::Sent, Some(at(3001)), 1));
}

#[tokio::test]
async fn what_is_owed_is_counted_for_each_receiver() {
    let fixture = owing().await;
    fold_one(&fixture, &message("mail", 5, AlertType::DriftOpened, 500)).await;
    let dead = message("pager", 5, AlertType::DriftOpened, 500);
    fold_one(&fixture, &dead).await;
    fixture.store.record_fate(&dead.id, &dead_after(9, "gone"), at(0)).await.unwrap();
    let counts = fixture.store.pending_counts().await.unwrap();
    let counts: Vec<_> = counts
        .iter()
        .map(|count| (count.receiver.as_str(), count.messages, count.notices, count.dead, count.oldest))
        .collect();
    let expected = [("hook", 0, 1, 0, Some(at(240))), ("mail", 1, 1, 0, Some(at(300))), ("pager", 0, 0, 1, None)];
    assert_eq!(counts, expected);
}

fn bulletin(key: &str) -> Bulletin {
    Bulletin {
        kind: AlertType::FleetReport,
        key: key.to_owned(),
        severity: Severity::Info,
        impact: vec![Impact::Operational],
        headline: "4 targets are watched now".to_owned(),
        summary: vec!["All of them in full.".to_owned()],
        sections: vec![Passage { heading: "In full".to_owned(), lines: vec!["a".to_owned()] }],
        targets: Vec::new(),
    }
}

#[tokio::test]
async fn a_bulletin_is_one_message_for_each_receiver_and_is_posted_once_even_after_it_arrived() {
    let fixture = Fixture::new().await;
    let to = ["mail".to_owned(), "hook".to_owned()];
    let post = async |key: &str, to: &[String], now| {
        let mut writer = fixture.store.writer().await;
        writer.post(&[bulletin(key)], to, at(now)).await.unwrap()
    };
    assert_eq!(post("report", &to[..1], 100).await, 1);
    assert_eq!(post("report", &to, 200).await, 1, "the other receiver alone");
    let due = fixture.store.due_messages(at(200)).await.unwrap();
    assert_eq!(due, [bulletin("report").message("mail", at(100)), bulletin("report").message("hook", at(200))]);
    for message in due {
        fixture.store.record_fate(&message.id, &Fate::Sent, at(300)).await.unwrap();
    }
    assert_eq!(post("report", &to, 400).await, 0);
    assert_eq!(post("another", &to, 400).await, 2);
}

#[tokio::test]
async fn bulletins_reach_a_receiver_in_the_order_in_which_they_were_posted() {
    let fixture = Fixture::new().await;
    let to = ["mail".to_owned()];
    let both = [bulletin("fails"), bulletin("works again")];
    fixture.store.writer().await.post(&both, &to, at(100)).await.unwrap();
    let first = both[0].message_id("mail");
    fixture.store.record_fate(&first, &again(1, 900, "refused"), at(0)).await.unwrap();
    assert!(fixture.store.due_messages(at(500)).await.unwrap().is_empty(), "the second waits for the first");
    fixture.store.record_fate(&first, &Fate::Sent, at(900)).await.unwrap();
    assert_eq!(ids(&fixture.store.due_messages(at(900)).await.unwrap()), [both[1].message_id("mail")]);
}

#[tokio::test]
async fn a_receiver_that_rests_is_left_alone_until_its_rest_ends_or_somebody_asks() {
    let fixture = Fixture::new().await;
    let (mail, hook) = (["mail".to_owned()], ["hook".to_owned()]);
    let mut writer = fixture.store.writer().await;
    writer.post(&[bulletin("one"), bulletin("two")], &mail, at(100)).await.unwrap();
    let (one, two) = (bulletin("one").message_id("mail"), bulletin("two").message_id("mail"));
    let well = Condition::default();
    let resting = Condition {
        failures: 1,
        since: Some(at(100)),
        error: Some("too slow".to_owned()),
        not_before: Some(at(700)),
        ..Condition::default()
    };
    let told = [(bulletin("mail fails"), hook.to_vec())];
    let tried = |fate, condition, recovered| Tried {
        message: &one,
        receiver: "mail",
        fate,
        condition,
        recovered,
        posts: &told,
    };
    let too_slow = again(1, 105, "too slow");
    writer.tried(&tried(&too_slow, &resting, false), at(100)).await.unwrap();
    drop(writer);
    let store = fixture.reopened().await;
    assert_eq!(store.condition("mail").await.unwrap(), resting);
    assert_eq!(store.conditions().await.unwrap(), [("mail".to_owned(), resting.clone())]);
    let about = told[0].0.message_id("hook");
    assert_eq!(ids(&store.due_messages(at(699)).await.unwrap()), [&about], "posted with it; mail rests");
    store.record_fate(&about, &Fate::Sent, at(200)).await.unwrap();
    assert_eq!(store.next_due(at(200)).await.unwrap(), Some(at(700)));
    assert_eq!(ids(&store.due_messages(at(700)).await.unwrap()), [&one]);

    store.record_fate(&one, &again(2, 9000, "refused"), at(700)).await.unwrap();
    assert_eq!(store.retry(&Retry::One(one.clone()), at(300)).await.unwrap(), 1);
    assert_eq!(ids(&store.due_messages(at(300)).await.unwrap()), [&one], "somebody asked");

    // It takes one: what waits behind it goes at once, whatever its schedule said.
    store.record_fate(&two, &again(1, 9000, "refused"), at(300)).await.unwrap();
    store.writer().await.tried(&tried(&Fate::Sent, &well, true), at(400)).await.unwrap();
    assert_eq!(ids(&store.due_messages(at(400)).await.unwrap()), [&two]);
    assert_eq!(store.condition("mail").await.unwrap(), well);
    assert_eq!(store.posted(&told[0].0, &["mail".to_owned(), "hook".to_owned()]).await.unwrap(), hook);
}
