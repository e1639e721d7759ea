//! A thousand targets come, leave, return and change while they are scanned: nothing is left behind, and no trust is
//! laundered.

use std::collections::BTreeSet;
use std::time::Duration;

use driftd::operations::{Answer, Request, document};

use super::rename_over;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer, tool};
use crate::support::{eventually, until};

/// Those that answer, and those whose scans never end.
const LIVELY: usize = 40;
const FLEET: usize = 1000;

/// The targets of a fleet, as the inventory has them.
struct Fleet<'a> {
    lively: &'a ScriptedPeer,
    stuck: &'a ScriptedPeer,
}

impl Fleet<'_> {
    fn inventory(&self, ids: std::ops::Range<usize>, more: &str) -> String {
        let url = |n: usize| if n < LIVELY { self.lively.url() } else { self.stuck.url() };
        let target = |n: usize| format!("  - {{ id: t{n:04}, kind: mcp, url: {:?}{more} }}\n", url(n));
        format!("targets:\n{}", ids.map(target).collect::<String>())
    }
}

async fn take(daemon: &Daemon, home: &Home, inventory: &str) -> driftd::reload::Reloaded {
    rename_over(home, "inventory.yaml", inventory);
    daemon.reload().await.unwrap_or_else(|refused| panic!("{refused}"))
}

async fn all(daemon: &Daemon) -> Vec<document::Target> {
    match daemon.ask(Request::Targets {}).await {
        Ok(Answer::Targets(targets)) => targets,
        other => panic!("no list of targets: {other:?}"),
    }
}

/// The series of an exposition, without values, and without those of our own process.
fn series(exposition: &str) -> BTreeSet<String> {
    let lines = exposition.lines().filter(|line| !line.starts_with('#') && !line.starts_with("process_"));
    lines.filter_map(|line| Some(line.rsplit_once(' ')?.0.to_owned())).collect()
}

/// Waits until nothing is due and nobody is being scanned.
async fn idle(daemon: &Daemon) {
    eventually("nothing is due any more", async || {
        let (load, _) = daemon.load().await;
        (load.tasks == 0 && load.next.is_none_or(|next| next > daemon.now())).then_some(())
    })
    .await;
}

/// Moves the clock, and waits until who is due by then is scanned.
async fn pass(daemon: &Daemon, by: Duration) {
    daemon.advance(by);
    idle(daemon).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_targets_leave_nothing_behind_and_launder_no_trust() {
    let (lively, stuck) = (ScriptedPeer::start(Script::default()).await, ScriptedPeer::start(Script::default()).await);
    let fleet = Fleet { lively: &lively, stuck: &stuck };
    let home = Home::new();
    let driftd = "metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\n\
                  scan: { concurrency: 200, per_host: 100 }\n";
    home.write("driftd.yaml", driftd);
    home.write("inventory.yaml", "targets: []\n");
    let daemon = Daemon::start(&home).await;
    let empty = series(&daemon.metrics().await);
    take(&daemon, &home, &fleet.inventory(0..LIVELY, "")).await;
    idle(&daemon).await;
    pass(&daemon, Duration::from_mins(5)).await;
    assert!(all(&daemon).await.iter().all(|target| target.baseline_facets > 0), "all have their baseline");

    // From here on there are always scans under way, of those that come, leave, return and change.
    stuck.shut_gate();
    let new = tool("delete_invoice", "Deletes an invoice.");
    lively.change(|script| script.tools.as_mut().unwrap().push(new));
    let whole = fleet.inventory(0..FLEET, "");
    assert_eq!(take(&daemon, &home, &whole).await.changes.added.len(), FLEET - LIVELY);
    until("scans are under way", || (stuck.waiting() == 100).then_some(())).await;
    daemon.advance(Duration::from_mins(20));
    assert_eq!(take(&daemon, &home, &fleet.inventory(FLEET / 2..FLEET, "")).await.changes.removed.len(), FLEET / 2);
    take(&daemon, &home, &fleet.inventory(0..FLEET / 2, ", every: 1h")).await;
    take(&daemon, &home, &fleet.inventory(0..FLEET, ", paused: true")).await;
    assert_eq!(take(&daemon, &home, &whole).await.changes.changed.len(), FLEET);
    take(&daemon, &home, &fleet.inventory(0..FLEET, ", headers: { X-Team: x }")).await;
    take(&daemon, &home, &whole).await;
    let (load, _) = daemon.load().await;
    assert!(load.running <= 200 && load.queued + load.running >= FLEET && load.hosts == 1, "{load:?}");

    // Whoever returned is held to what was: the new tool is no part of any baseline.
    take(&daemon, &home, &fleet.inventory(0..LIVELY, "")).await;
    idle(&daemon).await;
    pass(&daemon, Duration::from_mins(20)).await;
    pass(&daemon, Duration::from_mins(20)).await;
    let incidents = daemon.incidents().await;
    assert_eq!(incidents.len(), LIVELY, "the new tool is confirmed everywhere");
    let told = |incident: &document::Incident| incident.units.iter().any(|unit| unit.rule.starts_with("tool.added"));
    assert!(incidents.iter().all(told), "{:?}", incidents[0]);

    take(&daemon, &home, "targets: []\n").await;
    assert!(daemon.drifts().await.is_empty(), "nothing stands of who left");
    let targets = all(&daemon).await;
    assert_eq!(targets.len(), FLEET, "they are remembered");
    assert!(targets.iter().all(|target| target.state == "retired" && target.next_scan.is_none()), "{:?}", targets[0]);
    assert!(targets[LIVELY..].iter().all(|target| target.last_scan.is_none()), "no scan of theirs came to an end");
    let load = eventually("the last scan is broken off", async || {
        let (load, remembered) = daemon.load().await;
        (load.tasks == 0).then_some((load, remembered))
    })
    .await;
    assert_eq!(load, (driftd::watch::Load::default(), 0), "no task, timer or memory of who left");
    assert_eq!(daemon.metric("driftd_inventory_targets").await, 0.0);
    let left = series(&daemon.metrics().await);
    let more: Vec<_> = left.difference(&empty).filter(|series| !is_of_what_happened(series)).collect();
    assert!(more.is_empty(), "series that came with targets leave with them: {more:?}");
    stuck.open_gate();
    daemon.stop().await;
}

/// Counters by rule and by kind tell of what happened, whoever it happened to.
fn is_of_what_happened(series: &str) -> bool {
    ["driftd_drift_detected_total", "driftd_alerts_closed_total", "driftd_scan_duration_seconds", "driftd_incidents"]
        .iter()
        .any(|name| series.starts_with(name))
}
