//! A clock that ran ahead and is put right: what is owed does not wait for the wrong time to come.

use std::time::Duration;

use http::StatusCode;

use crate::digest::home;
use crate::support::daemon::Daemon;
use crate::support::eventually;
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::webhook::Hook;

const AHEAD: Duration = Duration::from_hours(20);

#[tokio::test(flavor = "multi_thread")]
async fn what_is_owed_waits_for_no_time_that_was_put_back() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = home(&hook, &[("tickets", &peer.url())]);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("tickets").await;
    daemon.advance(AHEAD);
    hook.refuse(StatusCode::SERVICE_UNAVAILABLE);
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    daemon.scan_twice("tickets", Duration::from_mins(5)).await;
    eventually("the message is tried", async || {
        daemon.messages().await.iter().any(|message| message.attempts > 0).then_some(())
    })
    .await;

    daemon.put_back(AHEAD);
    hook.accept();
    peer.change(|script| script.tools = Some(Vec::new()));
    daemon.scan_twice("tickets", Duration::from_mins(5)).await;
    let kinds = |hook: &Hook| hook.deliveries().iter().map(|delivery| delivery.kind().to_owned()).collect::<Vec<_>>();
    hook.wait_for(2).await;
    assert_eq!(kinds(&hook), ["drift.opened", "drift.changed"]);
    daemon.delivered().await;

    // And the next reminder comes a day after what was told, not a day after the wrong time.
    daemon.advance(Duration::from_hours(24));
    hook.wait_for(3).await;
    assert_eq!(kinds(&hook)[2..], ["drift.reminder"]);
    daemon.stop().await;
}
