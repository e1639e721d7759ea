//! A hostile peer costs its time limit, one slot and the bytes of the caps, and no more.

use std::convert::Infallible;
use std::io::Write;

use axum::body::{Body, Bytes};
use futures_util::{StreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

use super::peer::{Legacy, Peer, result, text, tool, with_header};
use super::*;
use crate::model::observation::Outcome;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn packed(content_type: &str, body: Vec<u8>) -> axum::response::Response {
    with_header(text(200, content_type, body), "content-encoding", "gzip")
}

/// Peers that answer the opening with one body.
async fn asked_of(answer: impl Fn(&peer::Asked) -> axum::response::Response + Send + Sync + 'static) -> Observation {
    let peer = Peer::start(move |asked, _| answer(asked)).await;
    scan(&peer.url).run().await
}

#[tokio::test]
async fn a_packed_body_is_read() {
    let peer = Peer::start(|asked, _| {
        assert_eq!(asked.header("accept-encoding"), Some("gzip"));
        let body = serde_json::json!({"jsonrpc": "2.0", "id": asked.id(),
            "result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "tools": [tool("a")]}});
        packed("application/json", gzip(body.to_string().as_bytes()))
    })
    .await;
    assert_eq!(tools(&scan(&peer.url).run().await), [["a"], ["a"]]);
}

#[tokio::test]
async fn a_bomb_is_cut_off_at_the_cap() {
    let bomb = gzip(&vec![b' '; 64 << 20]);
    assert!(bomb.len() < 1 << 20, "it is small on the wire");
    for kind in ["application/json", "text/event-stream"] {
        let bomb = bomb.clone();
        let seen = asked_of(move |_| packed(kind, bomb.clone())).await;
        assert_eq!(seen.outcome, Outcome::Error, "{kind}");
        assert_eq!(sights(&seen), ["scan.response-too-large/- /endpoint"], "{kind}");
    }
}

#[tokio::test]
async fn a_damaged_or_unknown_coding_is_no_answer() {
    let mut cut = gzip(b"{\"jsonrpc\":\"2.0\"}");
    cut.truncate(12);
    let seen = asked_of(move |_| packed("application/json", cut.clone())).await;
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::InvalidJson);
    let seen = asked_of(|_| with_header(text(200, "application/json", "x"), "content-encoding", "br")).await;
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::InvalidJson);
}

#[tokio::test]
async fn an_endless_body_ends_at_four_mebibytes() {
    for kind in ["application/json", "text/event-stream"] {
        let seen = asked_of(move |_| {
            let piece = Bytes::from(": x\n".repeat(16 << 10));
            text(200, kind, Body::from_stream(stream::repeat(Ok::<_, Infallible>(piece))))
        })
        .await;
        assert_eq!(sights(&seen), ["scan.response-too-large/- /endpoint"], "{kind}");
    }
}

#[tokio::test]
async fn a_scan_ends_at_sixteen_mebibytes() {
    let peer = Peer::start(|asked, number| match asked.method() {
        "tools/list" => {
            let tools = [serde_json::json!({"name": "x".repeat(3 << 20)})];
            result(asked, &serde_json::json!({"tools": tools, "nextCursor": number.to_string()}))
        }
        _ => Legacy::of("2025-06-18").answer(asked),
    })
    .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::TooLarge);
    assert_eq!(peer.asked_for("tools/list").len(), 6);
}

#[tokio::test]
async fn a_stream_of_too_many_events_ends() {
    let seen = asked_of(|_| {
        let event = Bytes::from("data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n");
        text(200, "text/event-stream", Body::from_stream(stream::repeat(Ok::<_, Infallible>(event))))
    })
    .await;
    assert_eq!(sights(&seen), ["scan.response-too-large/- /endpoint"]);
}

#[tokio::test]
async fn deep_and_numerous_values_are_refused_while_they_are_parsed() {
    for body in ["[".repeat(1 << 20), format!("[{}1]", "1,".repeat(300_000))] {
        let seen = asked_of(move |_| text(200, "application/json", body.clone())).await;
        assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::TooLarge);
        assert_eq!(sights(&seen), ["scan.response-too-large/- /endpoint"]);
    }
}

/// A peer without HTTP: it reads something, then writes `pieces` and waits after each as `pause` says.
async fn raw(pieces: impl Fn() -> Vec<Vec<u8>> + Send + 'static, pause: Duration) -> (Url, JoinSet<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/mcp", listener.local_addr().unwrap())).unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = socket.read(&mut request).await;
            for piece in pieces() {
                if socket.write_all(&piece).await.is_err() {
                    break;
                }
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
            }
        }
    });
    (url, tasks)
}

#[tokio::test]
async fn endless_headers_end_at_their_cap() {
    let head = || {
        let line = b"x-filler: 0123456789abcdef0123456789abcdef\r\n".repeat(24);
        let mut pieces = vec![b"HTTP/1.1 200 OK\r\n".to_vec()];
        pieces.extend(std::iter::repeat_n(line, 100_000));
        pieces
    };
    let (url, _tasks) = raw(head, Duration::ZERO).await;
    assert_eq!(sights(&scan(&url).run().await), ["scan.response-too-large/- /endpoint"]);

    let one = || vec![format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(100_000)).into_bytes()];
    let (url, _tasks) = raw(one, Duration::ZERO).await;
    assert_eq!(sights(&scan(&url).run().await), ["scan.response-too-large/- /endpoint"]);
}

#[tokio::test]
async fn what_is_no_http_is_unreachable() {
    let (url, _tasks) = raw(|| vec![b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()], Duration::ZERO).await;
    let seen = scan(&url).run().await;
    assert_eq!(seen.outcome, Outcome::Unreachable);
    assert_eq!(unseen(&seen, "mcp.tools").1, "the answer is no valid HTTP");
}

#[tokio::test]
async fn a_peer_that_drips_is_left_at_the_time_limit() {
    let drip = || {
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_vec();
        std::iter::once(head).chain(std::iter::repeat_n(b":\n".to_vec(), 10_000)).collect()
    };
    let (url, _tasks) = raw(drip, Duration::from_millis(20)).await;
    let seen = scan(&url).with_timeout(200).run().await;
    assert_eq!(seen.outcome, Outcome::Unreachable);
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::Timeout);
    assert_eq!(seen.requests, 1, "a timeout decides nothing about the era");
}

#[tokio::test]
async fn a_peer_that_says_nothing_is_left_at_the_time_limit() {
    let (url, _tasks) = raw(|| vec![Vec::new()], Duration::from_mins(1)).await;
    let seen = scan(&url).with_timeout(100).run().await;
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::Timeout);
}

#[tokio::test]
async fn a_list_that_hangs_makes_no_other_facet_unseen() {
    let server = Legacy { capabilities: serde_json::json!({"tools": {}, "prompts": {}}), ..Legacy::of("2025-06-18") };
    let peer = Peer::start(move |asked, _| match asked.method() {
        "tools/list" => {
            let silence = stream::pending::<Result<Bytes, Infallible>>();
            text(200, "application/json", Body::from_stream(stream::once(async { Ok("{".into()) }).chain(silence)))
        }
        _ => server.answer(asked),
    })
    .await;
    let seen = scan(&peer.url).with_timeout(400).run().await;
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::Timeout);
    assert_eq!(reads(&seen, "mcp.prompts").len(), 1);
    assert_eq!(sights(&seen), ["scan.partial/- /mcp.tools"]);
    assert_eq!(seen.outcome, Outcome::Partial);
}

#[tokio::test]
async fn the_scans_own_limit_ends_what_is_left() {
    let server = Legacy { capabilities: serde_json::json!({"tools": {}, "prompts": {}}), ..Legacy::of("2025-06-18") };
    let peer = Peer::start(move |asked, _| match asked.method() {
        "tools/list" => {
            text(200, "application/json", Body::from_stream(stream::pending::<Result<Bytes, Infallible>>()))
        }
        _ => server.answer(asked),
    })
    .await;
    let mut ask = scan(&peer.url);
    ask.target.scan_timeout = Duration::from_millis(600);
    let seen = ask.run().await;
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::NotReached);
    assert_eq!(unseen(&seen, "mcp.prompts").0, UnseenKind::NotReached);
    assert_eq!(seen.outcome, Outcome::Partial);
}
