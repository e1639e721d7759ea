//! Servers of all five dates, side by side under one daemon.

use std::fmt::Write as _;
use std::time::Duration;

use crate::support::daemon::{Daemon, Home};
use crate::support::peers::{
    EVERYTHING_2026_1_26, FASTMCP_2_3_5, FASTMCP_4_2_3, MCP_1_8_1, MCP_1_12_4, MCP_1_30_0, MCP_2_3_0, Pinned,
    PinnedPeer, SERVER_2_4_0,
};
use crate::support::rmcp_peer::RmcpPeer;

const FLEET: [Pinned; 8] =
    [SERVER_2_4_0, MCP_2_3_0, FASTMCP_4_2_3, EVERYTHING_2026_1_26, MCP_1_30_0, MCP_1_12_4, FASTMCP_2_3_5, MCP_1_8_1];

#[tokio::test(flavor = "multi_thread")]
async fn twenty_scans_and_a_restart_of_servers_of_all_dates_yield_no_drift() {
    let rmcp = RmcpPeer::start().await;
    let mut inventory = format!("  - {{ id: rmcp, kind: mcp, url: {:?}, every: 24h }}\n", rmcp.url());
    let mut peers = Vec::new();
    for pinned in FLEET {
        let peer = PinnedPeer::start(pinned).await;
        let id = pinned.name.replace('.', "-");
        writeln!(inventory, "  - {{ id: {id}, kind: mcp, url: {:?}, every: 24h }}", peer.url()).unwrap();
        peers.push((id, pinned, peer));
    }
    let driftd =
        "metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\nreceivers: [ { name: terminal, console: {} } ]\n";
    let home = Home::with(driftd, &inventory);
    let daemon = Daemon::start(&home).await;
    let mut all: Vec<(String, &str)> = peers.iter().map(|(id, pinned, _)| (id.clone(), pinned.date)).collect();
    all.push(("rmcp".to_owned(), "2026-07-28"));
    for round in 0..10 {
        scan_all(&daemon, &all, round).await;
    }
    let now = daemon.now();
    daemon.stop().await;
    let daemon = Daemon::start_at(&home, now).await;
    for round in 10..20 {
        scan_all(&daemon, &all, round).await;
    }
    for (id, date) in &all {
        let target = daemon.target(id).await;
        let era = if *date == "2026-07-28" { "stateless" } else { "session" };
        assert_eq!(target.protocol.as_deref(), Some(format!("MCP {date}, {era}, streamable_http").as_str()), "{id}");
        let tools = target.facets.iter().find(|facet| facet.facet == "mcp.tools").unwrap();
        assert_eq!((tools.state.as_str(), tools.baseline.as_str()), ("seen", "accepted"), "{id}");
    }
    assert!(daemon.drifts().await.is_empty(), "{:#?}", daemon.drifts().await);
    assert!(daemon.messages().await.is_empty());
    for (id, _, peer) in &mut peers {
        assert!(peer.is_alive(), "{id} died of being scanned");
    }
    daemon.stop().await;
}

async fn scan_all(daemon: &Daemon, all: &[(String, &str)], round: u32) {
    for (id, _) in all {
        let scanned = daemon.scan(id).await;
        assert_eq!(scanned.outcome, "ok", "{id} in round {round}: {scanned:?}");
        assert_eq!((scanned.pending, scanned.open), (0, 0), "{id} in round {round}");
    }
    daemon.advance(Duration::from_mins(6));
}
