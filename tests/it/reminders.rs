//! Drift that nobody decides on is recalled, in its own thread, and no more often than that.

use std::time::Duration;

use crate::digest::{home, move_to};
use crate::support::daemon::{Daemon, Home};
use crate::support::eventually;
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::webhook::Hook;

const DAY: Duration = Duration::from_hours(24);

/// A target that has drifted, and who is told of it.
struct Drifted {
    peer: ScriptedPeer,
    hook: Hook,
    home: Home,
    daemon: Daemon,
    reference: String,
}

/// Whether the receiver takes messages.
#[derive(PartialEq)]
enum Answers {
    Yes,
    No,
}

async fn drifted(answers: Answers) -> Drifted {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = home(&hook, &[("tickets", &peer.url())]);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("tickets").await;
    if answers == Answers::No {
        hook.refuse(http::StatusCode::INTERNAL_SERVER_ERROR);
    }
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    daemon.scan_twice("tickets", Duration::from_mins(5)).await;
    let reference = daemon.incidents().await.remove(0).reference;
    if answers == Answers::Yes {
        hook.wait_for(1).await;
    }
    Drifted { peer, hook, home, daemon, reference }
}

/// Waits until every notice and message that is due by now was looked at: the store says so.
async fn looked_at(daemon: &Daemon) {
    daemon.delivered().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_told_is_reminded_daily_over_restarts_and_a_clock_that_jumps_until_somebody_decides() {
    let Drifted { peer: _peer, hook, home, daemon, reference } = drifted(Answers::Yes).await;
    daemon.advance(DAY);
    let reminder = hook.wait_for(2).await.remove(1);
    assert_eq!(reminder.kind(), "drift.reminder");
    let data = &reminder.body["data"];
    let about = format!("{}.{}", data["incident"]["id"].as_str().unwrap(), data["incident"]["revision"]);
    assert_eq!(about, reference);
    assert!(data["headline"].as_str().unwrap().starts_with("undecided: "), "{data:#}");
    assert!(data["commands"]["ack"].as_str().unwrap().ends_with("--until 2026-12-08"), "a week from now: {data:#}");

    // A restart neither repeats nor forgets; ten days away are one reminder.
    let now = daemon.now();
    daemon.stop().await;
    let daemon = Daemon::start_at(&home, now.saturating_add(10 * DAY).unwrap()).await;
    hook.wait_for(3).await;
    looked_at(&daemon).await;
    assert_eq!(hook.kinds(), ["drift.opened", "drift.reminder", "drift.reminder"]);

    // Who is on it is left alone until then.
    let until = daemon.now().saturating_add(3 * DAY).unwrap().to_string();
    let ack = home.driftd(&["drift", "ack", &reference, "--until", &until]).await;
    assert!(ack.status.success(), "{}", String::from_utf8_lossy(&ack.stderr));
    daemon.advance(2 * DAY);
    looked_at(&daemon).await;
    daemon.advance(DAY);
    hook.wait_for(4).await;

    let accept = home.driftd(&["drift", "accept", &reference, "--reason", "as announced"]).await;
    assert!(accept.status.success(), "{}", String::from_utf8_lossy(&accept.stderr));
    hook.wait_for(5).await;
    daemon.advance(30 * DAY);
    looked_at(&daemon).await;
    daemon.stop().await;
    let told = hook.kinds();
    assert_eq!(told[3..], ["drift.reminder", "drift.resolved"]);
    let ids: std::collections::BTreeSet<String> = hook.deliveries().into_iter().map(|delivery| delivery.id).collect();
    assert_eq!(ids.len(), 5, "each is a message of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_back_is_not_met_by_a_heap_of_reminders() {
    let Drifted { peer: _peer, hook, home: _home, daemon, .. } = drifted(Answers::No).await;
    let refused = async || daemon.messages().await.first().filter(|message| message.attempts > 0).map(drop);
    eventually("the message is refused", refused).await;
    // The third day has not ended, so the first message is on its schedule still.
    for hours in [6_u64; 8] {
        daemon.advance(Duration::from_hours(hours));
        eventually("what is due is tried", async || {
            let now = daemon.now();
            let due = daemon.messages().await.iter().any(|message| message.next_at.is_some_and(|at| at <= now));
            (!due).then_some(())
        })
        .await;
    }
    let owed = daemon.messages().await;
    assert_eq!(owed.len(), 1, "{owed:#?}");
    hook.accept();
    daemon.advance(DAY);
    hook.wait_for(1).await;
    daemon.delivered().await;
    assert_eq!(hook.kinds(), ["drift.opened"]);
    daemon.advance(DAY);
    hook.wait_for(2).await;
    assert_eq!(hook.kinds()[1], "drift.reminder");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_rejected_is_recalled_weekly() {
    let Drifted { peer: _peer, hook, home, daemon, reference } = drifted(Answers::Yes).await;
    let reject = home.driftd(&["drift", "reject", &reference, "--reason", "not announced"]).await;
    assert!(reject.status.success(), "{}", String::from_utf8_lossy(&reject.stderr));
    daemon.delivered().await;
    move_to(&daemon, "2026-12-06T12:00:00Z");
    daemon.delivered().await;
    daemon.advance(2 * DAY);
    let reminder = hook.wait_for(2).await.remove(1);
    assert_eq!((reminder.kind(), &reminder.body["data"]["incident"]["state"]), ("drift.reminder", &"rejected".into()));
    daemon.stop().await;
}
