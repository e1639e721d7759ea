use std::sync::{Arc, Mutex};

use super::*;

const GRACE: Duration = Duration::from_secs(30);

/// Ends when it is told to.
async fn obedient(stop: CancellationToken) -> Result<(), TaskError> {
    stop.cancelled().await;
    Ok(())
}

/// Never ends by itself.
async fn deaf() -> Result<(), TaskError> {
    std::future::pending().await
}

#[tokio::test]
async fn a_wish_to_stop_ends_all_tasks_the_last_started_first() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Supervisor::new();
    for name in ["health", "delivery", "scanning"] {
        let order = Arc::clone(&order);
        tasks.spawn(name, |stop| async move {
            stop.cancelled().await;
            tokio::task::yield_now().await;
            order.lock().unwrap().push(name);
            Ok(())
        });
    }
    let (mut stop, hand) = Stop::by_hand();
    hand.stop();
    let report = tasks.run(&mut stop, GRACE, |_| (), async {}).await;
    assert!(report.reason.is_asked() && report.cut_off.is_empty(), "{report:?}");
    assert_eq!(*order.lock().unwrap(), ["scanning", "delivery", "health"]);
}

#[tokio::test]
async fn the_first_task_to_fail_stops_the_rest_with_its_reason() {
    let mut tasks = Supervisor::new();
    tasks.spawn("health", obedient);
    tasks.spawn("delivery", |_| async { Err(TaskError::from("no space is left")) });
    tasks.spawn("scanning", obedient);
    let report = tasks.run(&mut Stop::silent(), GRACE, |_| (), async {}).await;
    assert_eq!(report.reason.to_string(), "task delivery failed: no space is left");
    assert!(report.cut_off.is_empty(), "{report:?}");
}

#[tokio::test]
async fn a_task_that_merely_ends_stops_the_rest() {
    let mut tasks = Supervisor::new();
    tasks.spawn("health", obedient);
    tasks.spawn("scanning", |_| async { Ok(()) });
    let report = tasks.run(&mut Stop::silent(), GRACE, |_| (), async {}).await;
    assert_eq!(report.reason.to_string(), "task scanning ended");
}

#[tokio::test]
async fn a_panic_is_told_with_the_task_and_quotes_nobody() {
    for (text, told) in [(None, "a list is empty"), (Some("peer"), "see the log for its place")] {
        let mut tasks = Supervisor::new();
        tasks.spawn("health", obedient);
        tasks.spawn("scanning", move |_| async move {
            match text {
                Some(text) => panic!("no such {text}"),
                None => panic!("a list is empty"),
            }
        });
        let report = tasks.run(&mut Stop::silent(), GRACE, |_| (), async {}).await;
        assert_eq!(report.reason.to_string(), format!("task scanning panicked: {told}"));
        assert!(!report.reason.is_asked());
    }
}

#[tokio::test]
async fn a_task_that_does_not_stop_in_time_is_cut_off_and_named() {
    let mut tasks = Supervisor::new();
    tasks.spawn("health", obedient);
    tasks.spawn("scanning", |_| deaf());
    let (mut stop, hand) = Stop::by_hand();
    hand.stop();
    let report = tasks.run(&mut stop, Duration::from_millis(5), |_| (), async { 7 }).await;
    assert_eq!(report.cut_off.len(), 2, "health was still to be told: {report:?}");
    assert!(report.cut_off.contains(&"scanning"));
    assert_eq!((report.last, report.cut_by), (Some(7), None), "what is last still has its chance");
}

#[tokio::test]
async fn a_second_wish_to_stop_cuts_off_at_once() {
    let mut tasks = Supervisor::new();
    tasks.spawn("scanning", |_| deaf());
    let (mut stop, hand) = Stop::by_hand();
    hand.stop();
    hand.stop();
    let report = tasks.run(&mut stop, Duration::MAX, |_| (), async { 7 }).await;
    assert_eq!(report.cut_off, ["scanning"]);
    assert_eq!((report.last, report.cut_by), (None, Some("hand")));
}

#[tokio::test]
async fn what_is_last_is_done_when_all_tasks_have_ended_and_why_is_told_before() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Supervisor::new();
    for name in ["delivery", "scanning"] {
        let order = Arc::clone(&order);
        tasks.spawn(name, |stop| async move {
            stop.cancelled().await;
            order.lock().unwrap().push(name.to_owned());
            Ok(())
        });
    }
    let (mut stop, hand) = Stop::by_hand();
    hand.stop();
    let why = |reason: &Reason| order.lock().unwrap().push(reason.to_string());
    let report = tasks.run(&mut stop, GRACE, why, async { order.lock().unwrap().push("store".to_owned()) }).await;
    assert_eq!(report.last, Some(()));
    assert_eq!(*order.lock().unwrap(), ["asked by hand", "scanning", "delivery", "store"]);
}

#[tokio::test]
async fn what_is_last_is_cut_off_by_a_second_wish() {
    let mut tasks = Supervisor::new();
    tasks.spawn("scanning", obedient);
    let (mut stop, hand) = Stop::by_hand();
    hand.stop();
    let close = async {
        hand.stop();
        std::future::pending::<()>().await;
    };
    let report = tasks.run(&mut stop, Duration::MAX, |_| (), close).await;
    assert_eq!((report.last, report.cut_by), (None, Some("hand")));
}

#[tokio::test]
async fn tasks_started_beside_one_another_are_told_to_stop_together() {
    let mut tasks = Supervisor::new();
    let (told, both) = (Arc::new(tokio::sync::Barrier::new(2)), GRACE);
    // Each ends only when the other has been told too.
    for name in ["scanning", "control"] {
        let told = Arc::clone(&told);
        let task = |stop: CancellationToken| async move {
            stop.cancelled().await;
            told.wait().await;
            Ok(())
        };
        if name == "scanning" { tasks.spawn(name, task) } else { tasks.spawn_beside(name, task) }
    }
    let (mut stop, hand) = Stop::by_hand();
    hand.stop();
    let report = tasks.run(&mut stop, both, |_| (), async {}).await;
    assert!(report.cut_off.is_empty(), "{report:?}");
}
