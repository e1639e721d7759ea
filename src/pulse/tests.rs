use std::future::pending;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::*;

const ROUND: Duration = Duration::from_secs(30);

/// A loop that is polled each second of `seconds`, with `each` done in it.
fn after(seconds: u64, mut each: impl FnMut(&Task, u64, Instant)) -> (Option<Stuck>, Option<Slow>) {
    let (pulses, start) = (Pulses::new(), Instant::now());
    let task = Arc::new(Task::new("loop", Some(ROUND), start));
    pulses.tasks().push(Arc::clone(&task));
    for second in 0..seconds {
        let now = start + Duration::from_secs(second);
        task.polled(now);
        each(&task, second, now);
    }
    let now = start + Duration::from_secs(seconds);
    (pulses.stuck(now), pulses.slow(now))
}

#[test]
fn a_loop_that_comes_round_is_never_stuck() {
    let (stuck, slow) = after(1000, |task, second, now| {
        if second % 20 == 0 {
            task.moved(now);
        }
    });
    assert_eq!((stuck, slow), (None, None));
}

#[test]
fn a_loop_that_waits_for_nothing_known_is_stuck_after_its_bound() {
    assert_eq!(after(30, |_, _, _| ()).0, None, "its bound is not over");
    let said = after(31, |_, _, _| ()).0.unwrap().to_string();
    assert_eq!(said, "task loop has not come round for 31 s");
}

#[test]
fn waiting_for_disk_or_network_counts_as_moving_however_long_it_takes() {
    for (what, is_slow) in [(For::Disk, true), (For::Network, false)] {
        let (stuck, slow) = after(100_000, |task, second, now| {
            if second == 0 {
                task.waits(Some(what), now);
            }
        });
        assert_eq!((stuck, slow.is_some()), (None, is_slow), "{what:?}; only the disk shows in readiness");
    }
}

#[test]
fn a_short_wait_for_the_disk_is_no_slow_store() {
    let wait = |task: &Task, second, now| {
        if second == 0 {
            task.waits(Some(For::Disk), now);
        }
    };
    assert_eq!(after(9, wait).1, None);
    let said = after(12, wait).1.unwrap().to_string();
    assert_eq!(said, "the store is slow: task loop has waited 12 s for it");
}

#[test]
fn after_a_wait_the_bound_begins_anew() {
    let wait = |task: &Task, second, now| match second {
        0 => drop(task.waits(Some(For::Disk), now)),
        100 => drop(task.waits(None, now)),
        _ => {}
    };
    assert_eq!(after(130, wait), (None, None));
    assert_eq!(after(131, wait).0.unwrap().stands, Duration::from_secs(31), "since the wait ended");
}

#[test]
fn a_task_that_is_not_polled_is_stuck_even_while_it_waits_for_the_disk() {
    let (pulses, start) = (Pulses::new(), Instant::now());
    let task = Arc::new(Task::new("loop", None, start));
    pulses.tasks().push(Arc::clone(&task));
    task.waits(Some(For::Disk), start);
    assert_eq!(pulses.stuck(start + UNPOLLED), None);
    let said = pulses.stuck(start + UNPOLLED + TICK).unwrap().to_string();
    assert_eq!(said, "task loop has not run for 11 s: its thread is blocked");
}

#[tokio::test]
async fn a_task_that_has_ended_is_not_stuck() {
    let pulses = Pulses::new();
    let pulse = pulses.start("loop", Some(ROUND));
    let later = Instant::now() + ROUND * 10;
    let work = pulse.polled(async {});
    assert!(pulses.stuck(later).is_some());
    work.await;
    assert_eq!(pulses.stuck(later), None);
    assert!(pulses.living().is_empty(), "nothing is left of it");
}

#[tokio::test]
async fn a_task_that_nothing_wakes_is_polled_all_the_same() {
    let pulses = Pulses::new();
    let pulse = pulses.start("loop", None);
    let (sender, mut polls) = mpsc::unbounded_channel();
    let idle = futures_util::future::poll_fn(move |_| {
        sender.send(()).unwrap();
        Poll::<()>::Pending
    });
    let mut running = JoinSet::new();
    running.spawn(pulse.polled(idle));
    for _ in 0..3 {
        polls.recv().await.unwrap();
    }
}

#[tokio::test]
async fn a_wait_that_is_dropped_has_ended() {
    let pulse = Pulse::alone();
    let mut waits = Box::pin(pulse.wait(For::Disk, pending::<()>()));
    futures_util::future::poll_fn(|cx| Poll::Ready(waits.as_mut().poll(cx).is_pending())).await;
    assert_eq!(pulse.0.state().waits, Some(For::Disk));
    drop(waits);
    assert_eq!(pulse.0.state().waits, None);
}
