//! Every pinned server starts, stays up and speaks what the tests take it to speak, asked without the prober.

use rmcp::model::ProtocolVersion;
use serde_json::json;

use crate::support::client::Client;
use crate::support::front::Front;
use crate::support::peers::command::{self, PinnedCommand};
use crate::support::peers::{self, Pinned, PinnedPeer};
use crate::support::rmcp_peer::RmcpPeer;
use crate::support::talk::Talk;

/// The dates of `initialize`, newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

async fn speaks_as_pinned(pinned: Pinned) {
    let mut peer = PinnedPeer::start(pinned).await;
    let url = peer.url();
    let mut client = Client::of(&url);

    let discovered = client.discover().await;
    let answered = discovered.message["result"]["supportedVersions"].as_array();
    assert_eq!(answered.is_some(), pinned.modern, "{}: {discovered:?}", pinned.name);
    assert_eq!(discovered.url != url, pinned.redirects, "{}: {discovered:?}", pinned.name);

    if let Some(dates) = answered {
        assert!(dates.iter().any(|date| date == pinned.date), "{}: {discovered:?}", pinned.name);
    } else {
        let initialized = client.initialize("2025-11-25").await;
        let date = &initialized.message["result"]["protocolVersion"];
        assert_eq!(date, pinned.date, "{}: {initialized:?}", pinned.name);
    }
    let tools = client.list("tools/list", "tools").await;
    assert_eq!(tools.len(), pinned.tools, "{}: {tools:?}", pinned.name);
    assert!(peer.is_alive(), "{} did not survive", pinned.name);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_pinned_server_speaks_the_date_it_is_pinned_for() {
    // One after the other: two cores.
    for pinned in peers::ALL {
        speaks_as_pinned(pinned).await;
    }
}

/// Asks over one connection, as both transports have the server keep the era of its first request. Gives the newest date.
async fn newest_date(talk: &mut Talk, name: &str, modern: bool) -> String {
    let discovered = talk.discover().await;
    let dates = discovered["result"]["supportedVersions"].as_array();
    assert_eq!(dates.is_some(), modern, "{name}: {discovered}");
    match dates {
        Some(dates) => dates.iter().filter_map(|date| date.as_str()).max().unwrap().to_owned(),
        None => {
            let initialized = talk.initialize("2025-11-25").await;
            initialized["result"]["protocolVersion"].as_str().unwrap_or_else(|| panic!("{name}: {initialized}")).into()
        }
    }
}

async fn streams_as_pinned(pinned: Pinned) {
    let mut peer = PinnedPeer::start(pinned).await;
    let mut talk = Talk::over_sse(&peer.url()).await;
    assert_eq!(newest_date(&mut talk, pinned.name, pinned.modern).await, pinned.date, "{}", pinned.name);
    assert_eq!(talk.tools().await, pinned.tools, "{}", pinned.name);
    drop(talk);
    if pinned.mortal {
        peer.end().await;
    } else {
        let mut talk = Talk::over_sse(&peer.url()).await;
        talk.initialize("2025-11-25").await;
        assert_eq!(talk.tools().await, pinned.tools, "{} serves no second client", pinned.name);
        assert!(peer.is_alive(), "{} did not survive", pinned.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_pinned_server_of_http_and_sse_speaks_the_date_it_is_pinned_for() {
    for pinned in peers::ALL_SSE {
        streams_as_pinned(pinned).await;
    }
}

async fn answers_as_pinned(pinned: PinnedCommand) {
    let mut talk = Talk::with(&pinned.argv());
    assert_eq!(newest_date(&mut talk, pinned.name, pinned.modern).await, pinned.date, "{}", pinned.name);
    assert_eq!(talk.tools().await, pinned.tools, "{}", pinned.name);
    talk.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_pinned_command_speaks_the_date_it_is_pinned_for_and_ends_with_its_input() {
    for pinned in command::ALL {
        answers_as_pinned(pinned).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pinned_upgrade_changes_as_much_as_the_story_says() {
    let older = PinnedPeer::start(peers::EVERYTHING_2025_12_18).await;
    let newer = PinnedPeer::start(peers::EVERYTHING_2026_1_26).await;
    let front = Front::of(older.port()).await;
    let mut client = Client::of(&front.url());
    let mut counts = Vec::new();
    for peer in [older, newer] {
        front.swap(peer.port());
        client.initialize("2025-11-25").await;
        let mut sizes = Vec::new();
        for (method, array) in [
            ("tools/list", "tools"),
            ("resources/list", "resources"),
            ("prompts/list", "prompts"),
            ("resources/templates/list", "resourceTemplates"),
        ] {
            sizes.push(client.list(method, array).await.len());
        }
        counts.push(sizes);
    }
    assert_eq!(counts, [[11, 100, 3, 1], [13, 7, 4, 2]]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pair_that_is_pinned_as_equal_is_equal() {
    let mut shown = Vec::new();
    for pinned in [peers::EVERYTHING_2025_11_25, peers::EVERYTHING_2025_12_18] {
        let peer = PinnedPeer::start(pinned).await;
        let mut client = Client::of(&peer.url());
        let handshake = client.initialize("2025-11-25").await.message["result"].clone();
        shown.push((handshake, client.list("tools/list", "tools").await));
    }
    assert_eq!(shown[0], shown[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rmcp_speaks_all_five_dates() {
    let mut peer = RmcpPeer::start().await;
    let mut client = Client::of(&peer.url());
    let discovered = client.discover().await;
    let dates = discovered.message["result"]["supportedVersions"].as_array().unwrap();
    assert!(LEGACY.iter().all(|date| dates.iter().any(|other| other == date)), "{dates:?}");
    assert!(dates.iter().any(|date| date == "2026-07-28"), "{dates:?}");
    assert_eq!(client.list("tools/list", "tools").await.len(), 3);

    for date in LEGACY {
        let initialized = client.initialize(date).await;
        assert_eq!(initialized.message["result"]["protocolVersion"], date, "{initialized:?}");
        assert_eq!(client.list("tools/list", "tools").await.len(), 3);
    }
    peer.restart().await;
    assert_eq!(client.request("tools/list", json!({})).await.status, 404, "the session outlived its server");
    assert_eq!(client.initialize("2025-11-25").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rmcp_of_one_date_answers_that_date() {
    let peer = RmcpPeer::start_of(ProtocolVersion::V_2025_03_26).await;
    let initialized = Client::of(&peer.url()).initialize("2025-11-25").await;
    assert_eq!(initialized.message["result"]["protocolVersion"], "2025-03-26", "{initialized:?}");
}
