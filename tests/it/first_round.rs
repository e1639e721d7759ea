//! What is found at first sight is one report, and `driftd review` walks the same list.

use std::time::Duration;

use serde_json::Value;

use crate::sight_hosts::{home, inventory};
use crate::support::daemon::Daemon;
use crate::support::peer::{Quirk, Script, ScriptedPeer};
use crate::support::until;
use crate::support::webhook::{Delivery, Hook};

async fn reports(hook: &Hook, count: usize) -> Vec<Delivery> {
    until("reports arrive", || Some(hook.reports()).filter(|reports| reports.len() >= count)).await
}

fn lines(report: &Delivery, heading: &str) -> Vec<String> {
    let passages = report.body["data"]["passages"].as_array().unwrap();
    let passage = passages.iter().find(|passage| passage["heading"] == heading);
    let lines = passage.and_then(|passage| passage["lines"].as_array());
    lines.into_iter().flatten().map(|line| line.as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn new_targets_are_told_in_one_report_and_never_again() {
    let full = ScriptedPeer::start(Script::default()).await;
    let broken = ScriptedPeer::start(Script { quirk: Quirk::ListStatus(500), ..Script::default() }).await;
    let hook = Hook::start().await;
    let home = home(&[("full", full.url()), ("part", broken.url())], &hook);
    let daemon = Daemon::start(&home).await;
    daemon.scan("full").await;
    daemon.scan("part").await;
    daemon.housekeep().await;
    let told = reports(&hook, 1).await;
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0].body["data"]["headline"], "2 new targets are watched, 1 in part");
    assert!(lines(&told[0], "Watched in full")[0].starts_with("full: http"));
    let part = lines(&told[0], "Watched in part").remove(0);
    assert!(part.starts_with("part: not read: tools (") && part.contains("HTTP 500"), "{part}");
    assert_eq!(lines(&told[0], "How to trust")[0], "driftd review");
    assert!(daemon.incidents().await.is_empty(), "first sight is no alarm");

    // A third one joins; the first two were told.
    let third = ScriptedPeer::start(Script::default()).await;
    let now = daemon.now();
    daemon.stop().await;
    inventory(&home, &[("full", full.url()), ("part", broken.url()), ("third", third.url())]);
    let daemon = Daemon::start_at(&home, now).await;
    daemon.scan("third").await;
    daemon.housekeep().await;
    daemon.housekeep().await;
    let told = reports(&hook, 2).await;
    assert_eq!(told.len(), 2);
    assert_eq!(told[1].body["data"]["headline"], "1 new target is watched");
    assert!(lines(&told[1], "Watched in full")[0].starts_with("third: "));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_does_not_answer_holds_the_report_for_a_quarter_of_an_hour_only() {
    let mut gone = ScriptedPeer::start(Script::default()).await;
    gone.down().await;
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = home(&[("gone", gone.url()), ("peer", peer.url())], &hook);
    let daemon = Daemon::start(&home).await;
    daemon.scan("gone").await;
    daemon.scan("peer").await;
    daemon.housekeep().await;
    daemon.delivered().await;
    assert!(hook.reports().is_empty());
    daemon.advance(Duration::from_mins(15));
    daemon.housekeep().await;
    let told = reports(&hook, 1).await;
    assert_eq!(told[0].body["data"]["headline"], "2 new targets are watched, 1 not seen");
    assert!(lines(&told[0], "Not seen yet")[0].starts_with("gone: unreachable"));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_after_the_first_sight_is_drift_and_not_in_a_report_that_waited() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let mut gone = ScriptedPeer::start(Script::default()).await;
    gone.down().await;
    let hook = Hook::start().await;
    let home = home(&[("shop", peer.url()), ("gone", gone.url())], &hook);
    let daemon = Daemon::start(&home).await;
    daemon.scan("gone").await;
    daemon.take_baseline("shop").await;
    let hidden = "Lists invoices.\u{e0061}\u{e0062}\u{e0063}\u{e0064}\u{e0065}\u{e0066}\u{e0067}";
    peer.change(|script| script.tools.as_mut().unwrap()[0]["description"] = hidden.into());
    daemon.scan_twice("shop", Duration::from_mins(1)).await;
    assert_eq!(hook.wait_for(1).await[0].kind(), "drift.opened");
    assert!(hook.reports().is_empty(), "it waits for the other target");
    daemon.advance(Duration::from_mins(15));
    daemon.housekeep().await;
    let report = reports(&hook, 1).await.remove(0);
    assert_eq!(report.body["data"]["severity"], "info", "{:#}", report.body);
    assert!(!report.body.to_string().contains("hidden"), "{:#}", report.body);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn review_lists_what_nobody_looked_at_with_the_command_that_accepts_it() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = home(&[("peer", peer.url())], &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    let listed = home.driftd(&["--output", "json", "review"]).await;
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let document: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let one = &document[0];
    assert_eq!((one["target"].as_str(), one["coverage"].as_str()), (Some("peer"), Some("full")), "{document:#}");
    assert_eq!(one["unreviewed"], one["facets"]);
    let plain = home.driftd(&["review"]).await;
    let page = String::from_utf8_lossy(&plain.stdout).into_owned();
    let command = one["accept"].as_str().unwrap();
    assert!(page.contains(command) && page.contains("watched in full"), "{page}");

    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let accepted = home.driftd(&[&words[..words.len() - 1], &["read it"]].concat()).await;
    assert!(accepted.status.success(), "{}", String::from_utf8_lossy(&accepted.stderr));
    assert_eq!(daemon.metric("driftd_baseline_reviewed").await, 1.0);
    let listed = home.driftd(&["--output", "json", "review"]).await;
    assert_eq!(String::from_utf8_lossy(&listed.stdout).trim(), "[]");
    daemon.stop().await;
}
