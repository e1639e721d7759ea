use std::sync::Mutex;

use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tokio::sync::{Semaphore, watch};

use super::condition::Say;
use super::*;
use crate::clock::Hand;
use crate::model::condition::{Condition, Fate};
use crate::model::notice::MessageState;
use crate::receiver::error::Reason;
use crate::receiver::sample;

/// An outbox in memory, whose every change can be waited for.
#[derive(Debug, Default)]
struct Memory {
    /// Notices: when they are due, and the message they fold into.
    waiting: Vec<(Timestamp, Message)>,
    messages: BTreeMap<String, Message>,
    conditions: BTreeMap<String, Condition>,
    /// What the other receivers are told of one.
    said: Vec<(String, Say)>,
    /// The next look for what is due waits until this is false, and says so.
    moves_clock: bool,
    waits_for_clock: bool,
    /// Operations that fail.
    broken: BTreeSet<&'static str>,
    /// Operations that have failed.
    failures: u32,
}

#[derive(Clone, Debug)]
struct Fake(Arc<watch::Sender<Memory>>);

#[derive(Debug, thiserror::Error)]
#[error("no space is left")]
struct Full;

impl Fake {
    fn of(messages: impl IntoIterator<Item = Message>) -> Self {
        let messages = messages.into_iter().map(|message| (message.id.clone(), message)).collect();
        Self(Arc::new(watch::channel(Memory { messages, ..Memory::default() }).0))
    }

    fn change<T>(&self, operation: &'static str, change: impl FnOnce(&mut Memory) -> T) -> Result<T, Full> {
        let mut result = Err(Full);
        self.0.send_modify(|memory| {
            if memory.broken.contains(operation) {
                memory.failures += 1;
            } else {
                result = Ok(change(memory));
            }
        });
        result
    }

    async fn until(&self, reached: impl FnMut(&Memory) -> bool) {
        self.0.subscribe().wait_for(reached).await.unwrap();
    }

    async fn until_state(&self, id: &str, state: MessageState) -> Message {
        self.until(|memory| memory.messages.get(id).is_some_and(|message| message.state == state)).await;
        self.message(id)
    }

    fn message(&self, id: &str) -> Message {
        self.0.borrow().messages[id].clone()
    }
}

impl Outbox for Fake {
    type Error = Full;

    async fn fold_due(&self, now: Timestamp) -> Result<(), Full> {
        self.change("fold", |memory| {
            for (_, message) in memory.waiting.extract_if(.., |(due, _)| *due <= now) {
                memory.messages.insert(message.id.clone(), message);
            }
        })
    }

    async fn due_messages(&self, now: Timestamp) -> Result<Vec<Message>, Full> {
        let mut heads = BTreeMap::new();
        self.change("due_messages", |memory| {
            for message in memory.messages.values() {
                if message.state == MessageState::Pending && message.next_at <= now {
                    heads.entry(message.receiver.clone()).or_insert_with(|| message.clone());
                }
            }
        })?;
        Ok(heads.into_values().collect())
    }

    async fn next_due(&self, _: Timestamp) -> Result<Option<Timestamp>, Full> {
        if self.0.borrow().moves_clock {
            self.0.send_modify(|memory| memory.waits_for_clock = true);
            self.until(|memory| !memory.moves_clock).await;
        }
        let memory = self.0.borrow();
        let pending = memory.messages.values().filter(|message| message.state == MessageState::Pending);
        Ok(pending.map(|message| message.next_at).chain(memory.waiting.iter().map(|(due, _)| *due)).min())
    }

    async fn condition(&self, receiver: &str) -> Result<Condition, Full> {
        Ok(self.0.borrow().conditions.get(receiver).cloned().unwrap_or_default())
    }

    async fn record(&self, record: &Record, now: Timestamp) -> Result<(), Full> {
        self.change("mark", |memory| {
            let message = memory.messages.get_mut(&record.message).unwrap();
            match record.fate.clone() {
                Fate::Sent => {
                    message.state = MessageState::Sent;
                    message.sent_at = Some(now);
                }
                Fate::Again { attempts, at, error } => {
                    message.attempts = attempts;
                    message.next_at = at;
                    message.error = Some(error);
                }
                Fate::Dead { attempts, error } => {
                    message.state = MessageState::Dead;
                    message.attempts = attempts;
                    message.error = Some(error);
                }
            }
            memory.conditions.insert(record.receiver.clone(), record.condition.clone());
            memory.said.extend(record.say.map(|say| (record.receiver.clone(), say)));
        })
    }
}

type Answer = Box<dyn Fn(&Message, usize) -> Result<(), DeliveryError> + Send + Sync>;

/// Receivers that answer as told; `gates` hold back a receiver's answers until they are opened.
struct Peers {
    answer: Answer,
    gates: BTreeMap<&'static str, Arc<Semaphore>>,
    sent: Mutex<Vec<String>>,
    under_way: Mutex<BTreeMap<String, u32>>,
}

impl Sender for Peers {
    async fn send(&self, message: &Message, _: Timestamp) -> Result<(), DeliveryError> {
        let tries = {
            let mut sent = self.sent.lock().unwrap();
            sent.push(message.id.clone());
            sent.iter().filter(|id| **id == message.id).count()
        };
        {
            let mut under_way = self.under_way.lock().unwrap();
            let count = under_way.entry(message.receiver.clone()).or_default();
            *count += 1;
            assert_eq!(*count, 1, "a receiver has one try at a time");
        }
        if let Some(gate) = self.gates.get(message.receiver.as_str()) {
            gate.acquire().await.unwrap().forget();
        }
        *self.under_way.lock().unwrap().get_mut(&message.receiver).unwrap() -= 1;
        (self.answer)(message, tries)
    }
}

#[derive(Clone, Debug, Default)]
struct Counts(Arc<Mutex<Vec<String>>>);

impl Counts {
    fn push(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Tally for Counts {
    fn sent(&self, receiver: &str) {
        self.push(format!("sent {receiver}"));
    }

    fn failed(&self, receiver: &str, reason: Reason) {
        self.push(format!("failed {receiver} {reason}"));
    }

    fn dead(&self, receiver: &str, reason: Reason) {
        self.push(format!("dead {receiver} {reason}"));
    }

    fn store_failed(&self, operation: &'static str) {
        self.push(format!("store {operation}"));
    }
}

/// A running loop.
struct Running {
    outbox: Fake,
    peers: Arc<Peers>,
    counts: Counts,
    hand: Hand,
    wake: Arc<Notify>,
    stop: CancellationToken,
    task: JoinSet<()>,
}

impl Running {
    fn start(
        outbox: Fake,
        answer: impl Fn(&Message, usize) -> Result<(), DeliveryError> + Send + Sync + 'static,
        gates: &[&'static str],
    ) -> Self {
        let peers = Arc::new(Peers {
            answer: Box::new(answer),
            gates: gates.iter().map(|name| (*name, Arc::new(Semaphore::new(0)))).collect(),
            sent: Mutex::default(),
            under_way: Mutex::default(),
        });
        let counts = Counts::default();
        let (clock, hand) = Clock::manual(start());
        let wake = Arc::new(Notify::new());
        let stop = CancellationToken::new();
        let delivery = Delivery::new(outbox.clone(), Arc::clone(&peers), counts.clone(), clock, Arc::clone(&wake));
        let mut task = JoinSet::new();
        task.spawn(delivery.run(StdRng::seed_from_u64(1), stop.clone(), Pulse::alone()));
        Self { outbox, peers, counts, hand, wake, stop, task }
    }

    fn open(&self, receiver: &str) {
        self.peers.gates[receiver].add_permits(1);
    }

    fn sent(&self) -> Vec<String> {
        self.peers.sent.lock().unwrap().clone()
    }

    async fn stopped(mut self) -> Vec<String> {
        self.stop.cancel();
        self.task.join_next().await.unwrap().unwrap();
        self.counts.all()
    }
}

fn start() -> Timestamp {
    Timestamp::from_second(1_600_000_000).unwrap()
}

fn fails(reason: Reason) -> Result<(), DeliveryError> {
    Err(DeliveryError::transient(reason))
}

#[tokio::test]
async fn a_due_message_is_delivered_once_and_marked() {
    let running = Running::start(Fake::of([sample::message("a", "hook")]), |_, _| Ok(()), &[]);
    let message = running.outbox.until_state("a", MessageState::Sent).await;
    assert_eq!(message.sent_at, Some(start()));
    assert_eq!(running.sent(), ["a"]);
    assert_eq!(running.stopped().await, ["sent hook"]);
}

#[tokio::test]
async fn a_failed_try_comes_back_on_the_schedule_under_its_id() {
    let answer = |_: &Message, tries| if tries < 3 { fails(Reason::Refused) } else { Ok(()) };
    let running = Running::start(Fake::of([sample::message("a", "hook")]), answer, &[]);
    for (tries, least, most) in [(1, 4, 6), (2, 240, 360)] {
        running.outbox.until(|memory| memory.messages["a"].attempts == tries).await;
        let message = running.outbox.message("a");
        assert_eq!(message.error.as_deref(), Some("the receiver's server refused the connection"));
        let wait = message.next_at.duration_since(running.hand.now()).as_secs();
        assert!((least..=most).contains(&wait), "{wait} s after try {tries}");
        running.hand.advance(Duration::from_secs(most.unsigned_abs()));
    }
    running.outbox.until_state("a", MessageState::Sent).await;
    assert_eq!(running.sent(), ["a", "a", "a"]);
    assert_eq!(running.stopped().await, ["failed hook refused", "failed hook refused", "sent hook"]);
}

#[tokio::test]
async fn a_message_is_given_up_at_the_end_of_the_schedule_and_on_a_permanent_refusal() {
    let mut last = sample::message("last", "hook");
    last.attempts = 9;
    let gone = sample::message("gone", "other");
    let answer = |message: &Message, _| match message.id.as_str() {
        "gone" => Err(DeliveryError::permanent(Reason::Gone)),
        _ => fails(Reason::Timeout),
    };
    let running = Running::start(Fake::of([last, gone]), answer, &[]);
    let last = running.outbox.until_state("last", MessageState::Dead).await;
    let gone = running.outbox.until_state("gone", MessageState::Dead).await;
    assert_eq!((last.attempts, gone.attempts), (10, 1));
    let mut counts = running.stopped().await;
    counts.sort();
    assert_eq!(counts, ["dead hook timeout", "dead other gone"]);
}

#[tokio::test]
async fn a_slow_receiver_delays_no_other_and_has_one_try_at_a_time() {
    let messages = [("s1", "slow"), ("s2", "slow"), ("f1", "fast"), ("f2", "fast")];
    let outbox = Fake::of(messages.map(|(id, receiver)| sample::message(id, receiver)));
    let running = Running::start(outbox, |_, _| Ok(()), &["slow"]);
    running.outbox.until_state("f1", MessageState::Sent).await;
    running.outbox.until_state("f2", MessageState::Sent).await;
    assert_eq!(running.outbox.message("s1").state, MessageState::Pending);
    running.open("slow");
    running.outbox.until_state("s1", MessageState::Sent).await;
    running.open("slow");
    running.outbox.until_state("s2", MessageState::Sent).await;
}

#[tokio::test]
async fn a_commit_that_owes_something_wakes_the_loop() {
    let running = Running::start(Fake::of([sample::message("a", "hook")]), |_, _| Ok(()), &[]);
    running.outbox.until_state("a", MessageState::Sent).await;
    running.outbox.0.send_modify(|memory| memory.waiting.push((start(), sample::message("b", "hook"))));
    running.wake.notify_one();
    running.outbox.until_state("b", MessageState::Sent).await;
}

#[tokio::test]
async fn notices_are_folded_when_they_are_due_and_not_before() {
    let outbox = Fake::of([sample::message("a", "hook")]);
    let due = start().saturating_add(Duration::from_secs(60)).unwrap();
    outbox.0.send_modify(|memory| memory.waiting.push((due, sample::message("b", "hook"))));
    let running = Running::start(outbox, |_, _| Ok(()), &[]);
    running.outbox.until_state("a", MessageState::Sent).await;
    running.hand.advance(Duration::from_secs(59));
    assert_eq!(running.outbox.0.borrow().waiting.len(), 1);
    running.hand.advance(Duration::from_secs(1));
    let message = running.outbox.until_state("b", MessageState::Sent).await;
    assert_eq!(message.sent_at, Some(due));
}

#[tokio::test]
async fn a_delivered_message_that_cannot_be_marked_is_not_delivered_again() {
    let outbox = Fake::of([sample::message("a", "hook"), sample::message("b", "hook")]);
    outbox.0.send_modify(|memory| memory.broken.extend(["mark"]));
    let running = Running::start(outbox, |_, _| Ok(()), &[]);
    for failures in 1..=3 {
        running.outbox.until(|memory| memory.failures >= failures).await;
        running.hand.advance(PAUSE);
    }
    assert_eq!(running.sent(), ["a"], "the receiver stays taken");
    running.outbox.0.send_modify(|memory| memory.broken.clear());
    running.hand.advance(PAUSE);
    running.outbox.until_state("b", MessageState::Sent).await;
    assert_eq!(running.outbox.message("a").state, MessageState::Sent);
    assert_eq!(running.sent(), ["a", "b"]);
    let counts = running.stopped().await;
    assert_eq!(counts.iter().filter(|count| *count == "sent hook").count(), 2, "{counts:?}");
}

#[tokio::test]
async fn a_store_that_cannot_be_read_ends_nothing() {
    let outbox = Fake::of([sample::message("a", "hook")]);
    outbox.0.send_modify(|memory| memory.broken.extend(["fold", "due_messages"]));
    let running = Running::start(outbox, |_, _| Ok(()), &[]);
    running.outbox.until(|memory| memory.failures >= 2).await;
    running.outbox.0.send_modify(|memory| memory.broken.clear());
    running.hand.advance(PAUSE);
    running.outbox.until_state("a", MessageState::Sent).await;
    let counts = running.stopped().await;
    assert_eq!(counts[..2], ["store fold", "store due_messages"]);
}

#[tokio::test]
async fn a_panic_in_a_try_is_a_failed_try() {
    let answer = |_: &Message, tries| if tries == 1 { panic!("a fault of ours") } else { Ok(()) };
    let running = Running::start(Fake::of([sample::message("a", "hook")]), answer, &[]);
    running.outbox.until(|memory| memory.messages["a"].attempts == 1).await;
    running.hand.advance(Duration::from_secs(6));
    running.outbox.until_state("a", MessageState::Sent).await;
    assert_eq!(running.stopped().await, ["failed hook internal", "sent hook"]);
}

#[tokio::test]
async fn a_stop_lets_tries_under_way_end_and_starts_no_more() {
    let outbox = Fake::of([sample::message("a", "hook"), sample::message("b", "hook"), sample::message("c", "other")]);
    let running = Running::start(outbox, |_, _| Ok(()), &["hook"]);
    running.outbox.until_state("c", MessageState::Sent).await;
    running.stop.cancel();
    running.open("hook");
    let (outbox, peers) = (running.outbox.clone(), Arc::clone(&running.peers));
    running.stopped().await;
    assert_eq!(outbox.message("a").state, MessageState::Sent);
    assert_eq!(outbox.message("b").state, MessageState::Pending);
    assert!(!peers.sent.lock().unwrap().contains(&"b".to_owned()));
}

#[tokio::test]
async fn what_becomes_due_while_a_round_is_made_does_not_wait_for_a_further_change() {
    let outbox = Fake::of([sample::message("a", "hook")]);
    let later = start().saturating_add(Duration::from_secs(60)).unwrap();
    outbox.0.send_modify(|memory| {
        memory.messages.get_mut("a").unwrap().next_at = later;
        memory.moves_clock = true;
    });
    let running = Running::start(outbox, |_, _| Ok(()), &[]);
    running.outbox.until(|memory| memory.waits_for_clock).await;
    running.hand.advance(Duration::from_secs(60));
    running.outbox.0.send_modify(|memory| memory.moves_clock = false);
    running.outbox.until_state("a", MessageState::Sent).await;
}
