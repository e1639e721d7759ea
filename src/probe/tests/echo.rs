//! What brings the bytes of last time is not parsed; what does not is read as ever.

use std::sync::atomic::{AtomicU8, Ordering};

use super::peer::{Peer, json_body, modern, tool};
use super::*;

/// The tools' reads that were not parsed, and all of them.
fn unparsed(observation: &Observation) -> (usize, usize) {
    let Some(RawFacet::Seen(reads)) = observation.facets.get(&name("mcp.tools")) else { panic!("no tools") };
    let is_unparsed = |read: &&RawRead| read.document.as_ref().is_some_and(|document| document.unparsed.is_some());
    assert!(reads.iter().all(|read| read.pages.is_empty() == is_unparsed(&read)));
    (reads.iter().filter(is_unparsed).count(), reads.len())
}

#[tokio::test]
async fn bytes_of_last_time_are_not_parsed() {
    let peer = Peer::start(|asked, _| modern(asked, &[tool("a"), tool("b")])).await;
    let mut scan = Scan { date: Some("2026-07-28"), ..scan(&peer.url) };
    let first = scan.run().await;
    assert_eq!((unparsed(&first), tools(&first)), ((0, 2), vec![vec!["a".to_owned(), "b".to_owned()]; 2]));
    scan.known = first.echo.clone();
    let second = scan.run().await;
    assert_eq!((unparsed(&second), &second.echo), ((2, 2), &first.echo));
    assert_eq!((second.outcome, second.requests), (first.outcome, first.requests));
}

#[tokio::test]
async fn what_changed_anywhere_has_everything_parsed() {
    // The instructions, a tool, the tool of the second read alone.
    for changed in 1..4_u8 {
        let release = Arc::new(AtomicU8::new(0));
        let shipped = Arc::clone(&release);
        let peer = Peer::start(move |asked, _| {
            let release = shipped.load(Ordering::SeqCst);
            let newer = release == 2 || (release == 3 && asked.id() == 3);
            match asked.method() {
                "server/discover" if release == 1 => {
                    let result = serde_json::json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
                        "capabilities": {"tools": {}}, "instructions": "Others."});
                    json_body(200, &serde_json::json!({"jsonrpc": "2.0", "id": asked.id(), "result": result}))
                }
                _ => modern(asked, &[tool("a"), tool(if newer { "c" } else { "b" })]),
            }
        })
        .await;
        let mut scan = Scan { date: Some("2026-07-28"), ..scan(&peer.url) };
        let first = scan.run().await;
        scan.known = first.echo.clone();
        release.store(changed, Ordering::SeqCst);
        let second = scan.run().await;
        assert_eq!(unparsed(&second), (0, 2), "{changed}");
        assert_ne!(second.echo, first.echo, "{changed}");
        let (old, new) = (["a", "b"], ["a", "c"]);
        let wanted = [[old, old], [new, new], [old, new]][usize::from(changed) - 1];
        assert_eq!(tools(&second), wanted, "{changed}");
    }
}

#[tokio::test]
async fn a_date_that_is_not_the_baselines_has_nothing_to_be_known_by() {
    let peer = Peer::start(|asked, _| modern(asked, &[tool("a")])).await;
    let mut scan = scan(&peer.url);
    scan.known = scan.run().await.echo;
    assert!(scan.known.is_some());
    assert_eq!(unparsed(&Scan { date: None, ..scan }.run().await), (0, 2));
}
