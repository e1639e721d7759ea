//! `was`: what another id was held to, and what stands of it, goes on under the new one; and no detour over a name
//! clears a past.

use std::time::Duration;

use driftd::operations::Request;
use jiff::Timestamp;

use super::rename_over;
use crate::sight;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer};
use crate::support::until;
use crate::support::webhook::Hook;

/// A start with the one target under another id, that carries on these.
async fn start_as(home: &Home, id: &str, was: &[&str], now: Timestamp) -> Daemon {
    let mut config = home.config();
    config.targets[0].id = id.parse().unwrap();
    config.targets[0].was = was.iter().map(|id| id.parse().unwrap()).collect();
    Daemon::start_with(config, home, now).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_of_an_id_goes_on_under_another_and_stays_with_the_old_one_too() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    let baseline = daemon.take_baseline("peer").await;
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    daemon.scan_twice("peer", Duration::from_mins(5)).await;
    hook.wait_for(1).await;
    let standing = daemon.incidents().await;
    let (mut now, history) = (daemon.now(), daemon.history("peer").await.len());
    daemon.stop().await;

    let daemon = start_as(&home, "ledger", &["gone", "peer"], now).await;
    let renamed = daemon.incidents().await;
    assert_eq!((renamed.len(), &renamed[0].reference), (1, &standing[0].reference), "the same incident");
    assert_eq!(renamed[0].target, "ledger");
    assert_eq!(daemon.baseline("ledger").await.facets.len(), baseline.facets.len());
    let lines = daemon.history("ledger").await;
    assert_eq!(lines.len(), history + 1);
    assert!(lines.iter().any(|line| line.event == "target.carried" && line.text.contains("past of peer")), "{lines:?}");
    daemon.advance(Duration::from_mins(5));
    daemon.scan_twice("ledger", Duration::from_mins(5)).await;
    assert_eq!(daemon.incidents().await[0].reference, standing[0].reference, "no news to a scan");
    // It ends as it would have under its first name.
    peer.change(|script| script.tools = Script::default().tools);
    daemon.scan_twice("ledger", Duration::from_mins(5)).await;
    let told: Vec<String> = hook.wait_for(2).await.iter().map(|message| message.kind().to_owned()).collect();
    assert_eq!(told, ["drift.opened", "drift.resolved"]);
    now = daemon.now();
    daemon.stop().await;

    // Once only; and the old id, back, is held to what it was held to.
    let daemon = start_as(&home, "ledger", &["peer"], now).await;
    assert_eq!(daemon.history("ledger").await.iter().filter(|line| line.event == "target.carried").count(), 1);
    daemon.stop().await;
    let daemon = start_as(&home, "peer", &[], now).await;
    assert_eq!(daemon.baseline("peer").await.facets.len(), baseline.facets.len(), "no past is cleared by a detour");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_with_a_past_of_its_own_carries_on_no_other() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    let now = daemon.now();
    daemon.stop().await;
    let daemon = start_as(&home, "ledger", &[], now).await;
    daemon.scan("ledger").await;
    daemon.stop().await;
    let daemon = start_as(&home, "ledger", &["peer"], now).await;
    assert!(daemon.baseline("ledger").await.facets.is_empty());
    assert!(!daemon.baseline("peer").await.facets.is_empty(), "it stays where it is");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_renames_a_target_that_is_being_scanned() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    let baseline = daemon.take_baseline("peer").await;
    let inventory = std::fs::read_to_string(home.path().join("inventory.yaml")).unwrap();
    peer.shut_gate();
    let scanning = async { daemon.ask(Request::ScanNow { id: "peer".to_owned() }).await };
    let renaming = async {
        until("its scan has begun", || (peer.waiting() > 0).then_some(())).await;
        rename_over(&home, "inventory.yaml", &inventory.replace("id: peer,", "id: ledger, was: [ peer ],"));
        daemon.reload().await.unwrap()
    };
    let (scanned, reloaded) = tokio::join!(scanning, renaming);
    assert!(scanned.is_err(), "nobody is called that any more");
    assert_eq!(reloaded.carried.iter().map(|carried| carried.is.as_str()).collect::<Vec<_>>(), ["ledger"]);
    peer.open_gate();
    assert_eq!(daemon.baseline("ledger").await.facets.len(), baseline.facets.len());
    assert!(daemon.reload().await.unwrap().carried.is_empty(), "once");
    peer.change(|script| script.tools.as_mut().unwrap().truncate(1));
    daemon.scan_twice("ledger", Duration::from_mins(5)).await;
    let told = hook.wait_for(1).await.remove(0);
    assert_eq!(told.body["data"]["targets"][0]["id"], "ledger", "held to what peer was held to");
    daemon.stop().await;
}
