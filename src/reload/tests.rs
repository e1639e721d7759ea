use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::*;

/// A site whose reloads wait for a permit each, and end as it is told.
#[derive(Clone, Debug)]
struct Slow {
    gate: Arc<Semaphore>,
    /// Causes and releases of each reload that began.
    rounds: Arc<Mutex<Vec<(usize, usize)>>>,
    outcome: Outcome,
}

impl Site for Slow {
    async fn take(&mut self, causes: &[Cause], released: &[PathBuf]) -> Outcome {
        self.rounds.lock().unwrap().push((causes.len(), released.len()));
        self.gate.acquire().await.unwrap().forget();
        self.outcome.clone()
    }

    fn files(&self) -> Files {
        Files::default()
    }
}

#[tokio::test]
async fn one_reading_answers_all_who_asked_before_it_began() {
    let site = Slow { gate: Arc::new(Semaphore::new(0)), rounds: Arc::default(), outcome: Ok(Reloaded::default()) };
    let (reload, handle) = Reload::new(Hup::silent(), Lookout::new(Files::default(), Duration::from_hours(1)));
    let (stop, mut running) = (CancellationToken::new(), JoinSet::new());
    let (gate, rounds) = (Arc::clone(&site.gate), Arc::clone(&site.rounds));
    let loops = {
        let stop = stop.clone();
        async move { reload.run(site, stop).await }
    };
    running.spawn(loops);
    let mut asking = JoinSet::new();
    let ask = |asking: &mut JoinSet<Option<Outcome>>, order: Order| {
        let handle = handle.clone();
        asking.spawn(async move { handle.ask(order, "person:oncall").await });
    };
    ask(&mut asking, Order::Reload);
    while rounds.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    for _ in 0..9 {
        ask(&mut asking, Order::Reload);
    }
    ask(&mut asking, Order::Release("held.yaml".into()));
    // All of them wait in the channel before the first is answered.
    while handle.0.capacity() > ASKS - 10 {
        tokio::task::yield_now().await;
    }
    gate.add_permits(2);
    while let Some(answered) = asking.join_next().await {
        assert!(matches!(answered.unwrap(), Some(Ok(_))));
    }
    assert_eq!(*rounds.lock().unwrap(), [(1, 0), (10, 1)]);
    stop.cancel();
    running.join_next().await.unwrap().unwrap();
    assert_eq!(handle.ask(Order::Reload, "person:oncall").await, None, "it has stopped");
}

#[test]
fn mistakes_are_told_as_they_are_and_a_failure_says_what_holds() {
    let mistakes = NotReloaded::Mistakes(vec!["one".to_owned(), "two".to_owned()]);
    assert_eq!(mistakes.to_string(), "one\n\ntwo");
    let failed = NotReloaded::Failed("the store failed: full".to_owned());
    assert_eq!(failed.to_string(), "the configuration before stays in force: the store failed: full");
}
