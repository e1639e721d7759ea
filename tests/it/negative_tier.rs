//! `tier: negative`: asked for by whoever runs the target, asked seldom, and no reason for drift.

use std::time::Duration;

use driftd::operations::document;

use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Script, ScriptedPeer};

const DRIFTD: &str =
    "metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\nreceivers: [ { name: terminal, console: {} } ]\n";

fn target(url: &str, tier: &str) -> String {
    format!("targets:\n  - {{ id: a, kind: mcp, url: {url:?}, every: 24h, tier: {tier} }}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tier_is_a_change_of_ours_and_leaves_what_is_held() {
    for date in ["2026-07-28", "2025-11-25"] {
        let peer = ScriptedPeer::start(Script { date, ..Script::default() }).await;
        let home = Home::new();
        home.write("driftd.yaml", DRIFTD);
        home.write("inventory.yaml", &target(&peer.url(), "passive"));
        let daemon = Daemon::start(&home).await;
        let before = daemon.take_baseline("a").await;
        assert!(peer.heard("origin").is_empty(), "a passive target is asked nothing odd");

        home.write("inventory.yaml", &target(&peer.url(), "negative"));
        daemon.reload().await.unwrap();
        daemon.advance(Duration::from_mins(10));
        let scanned = daemon.scan("a").await;
        assert_eq!((scanned.outcome.as_str(), scanned.pending, scanned.open), ("ok", 0, 0), "{date}: {scanned:?}");
        let odd = peer.heard("origin").len();
        assert!(odd > 0, "{date}");
        let after = daemon.baseline("a").await;
        let held = |baseline: &document::Baseline| format!("{:?}", baseline.facets);
        assert_eq!(held(&after), held(&before), "{date}: the baseline is as it was");
        let history = daemon.history("a").await;
        let told = history.iter().find(|line| line.event == "base.ask-changed").unwrap();
        assert_eq!(told.text, "edited by us: tier passive -> negative; the baseline stays");

        for _ in 0..3 {
            daemon.advance(Duration::from_mins(10));
            assert_eq!(daemon.scan("a").await.pending, 0, "{date}");
        }
        assert_eq!(peer.heard("origin").len(), odd, "{date}: what is odd is not asked in each scan");
        daemon.stop().await;
    }
}
