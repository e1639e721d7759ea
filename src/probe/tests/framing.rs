use serde_json::{Value, json};

use super::peer::{Asked, Legacy, Peer, broken, error, event, events, json_body, open_events, tool};
use super::*;
use crate::model::observation::Outcome;

fn listed(asked: &Asked) -> Value {
    json!({"jsonrpc": "2.0", "id": asked.id(), "result": {"tools": [tool("a")]}})
}

/// A server whose `tools/list` is answered by `list`; it is told how many lists were asked for before.
async fn listing(list: impl Fn(&Asked, usize) -> axum::response::Response + Send + Sync + 'static) -> Peer {
    let server = Legacy::of("2025-11-25");
    let count = std::sync::atomic::AtomicUsize::new(0);
    Peer::start(move |asked, _| match asked.method() {
        "tools/list" => list(asked, count.fetch_add(1, std::sync::atomic::Ordering::Relaxed)),
        _ => server.answer(asked),
    })
    .await
}

#[tokio::test]
async fn an_answer_is_found_in_every_shape_of_stream() {
    type Answer = fn(&Asked, usize) -> axum::response::Response;
    let shapes: [(&str, Answer); 7] = [
        ("one event", |asked, _| events(vec![event(&listed(asked))])),
        ("primed, commented, in pieces", |asked, _| {
            let text = event(&listed(asked)).replace('\n', "\r\n");
            let (head, tail) = text.split_at(40);
            events(vec![": hi\n\nid: 1\ndata:\n\n".into(), head.into(), tail.into()])
        }),
        ("after a notification", |asked, _| {
            let notification = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}});
            events(vec![event(&notification), event(&listed(asked))])
        }),
        ("after another's result", |asked, _| {
            let foreign = json!({"jsonrpc": "2.0", "id": 99, "result": {"tools": []}});
            events(vec![event(&foreign), event(&listed(asked))])
        }),
        ("in a batch", |asked, _| {
            let batch = json!([{"jsonrpc": "2.0", "method": "notifications/progress"}, listed(asked)]);
            events(vec![event(&batch)])
        }),
        ("without its blank line", |asked, _| events(vec![format!("data: {}", listed(asked))])),
        ("in a stream that stays open", |asked, _| open_events(vec![event(&listed(asked))])),
    ];
    for (shape, answer) in shapes {
        let peer = listing(answer).await;
        let seen = scan(&peer.url).run().await;
        assert_eq!(seen.outcome, Outcome::Ok, "{shape}");
        assert_eq!(tools(&seen), [["a"], ["a"]], "{shape}");
    }
}

#[tokio::test]
async fn a_batch_in_a_json_body_is_its_messages() {
    let peer = listing(|asked, _| json_body(200, &json!([{"jsonrpc": "2.0", "method": "x"}, listed(asked)]))).await;
    assert_eq!(tools(&scan(&peer.url).run().await), [["a"], ["a"]]);
}

#[tokio::test]
async fn half_a_stream_is_asked_for_once_more_and_then_unseen() {
    for half in [
        (|_, _| events(vec!["data: {\"jsonrpc\":\"2.0\",".into()])) as fn(&Asked, usize) -> axum::response::Response,
        |_, _| events(vec![": nothing\n\n".into()]),
        |_, _| broken("text/event-stream", vec!["data: {\"json".into()]),
        |_, _| broken("application/json", vec!["{\"json".into()]),
    ] {
        let peer = listing(half).await;
        let seen = scan(&peer.url).run().await;
        let asked = peer.asked_for("tools/list");
        assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::Unreachable);
        assert_eq!(sights(&seen), ["scan.partial/- /mcp.tools"]);
        assert_eq!(asked.len(), 2);
        assert_ne!(asked[0].id(), asked[1].id(), "a retry has a new id");
    }
}

#[tokio::test]
async fn a_stream_lost_once_is_read_at_the_second_try() {
    let peer = listing(|asked, number| match number {
        0 => events(vec![": nothing\n\n".into()]),
        _ => events(vec![event(&listed(asked))]),
    })
    .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    assert_eq!(tools(&seen), [["a"], ["a"]]);
}

#[tokio::test]
async fn a_ping_is_answered_and_every_other_request_is_refused() {
    let peer = listing(|asked, _| {
        let ping = json!({"jsonrpc": "2.0", "id": "p", "method": "ping"});
        let roots = json!({"jsonrpc": "2.0", "id": 5, "method": "roots/list"});
        events(vec![event(&ping), event(&roots), event(&listed(asked))])
    })
    .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    let answers: Vec<Value> =
        peer.asked().into_iter().filter(|asked| asked.body["method"].is_null()).map(|asked| asked.body).collect();
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
    assert_eq!(answers[1]["error"]["code"], -32601);
    assert_eq!(answers.len(), 4);
}

#[tokio::test]
async fn a_server_cannot_make_us_send_without_end() {
    let peer = listing(|asked, _| {
        let ping = event(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
        events(vec![ping.repeat(900), event(&listed(asked))])
    })
    .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    assert!(seen.requests < 20, "{}", seen.requests);
}

#[tokio::test]
async fn an_error_in_a_stream_counts_without_an_id() {
    let peer = listing(|_, _| {
        events(vec![event(&json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32603, "message": ""}}))])
    })
    .await;
    assert_eq!(unseen(&scan(&peer.url).run().await, "mcp.tools").0, UnseenKind::RpcError);
}

#[tokio::test]
async fn a_handshake_by_stream_is_recorded_as_such() {
    let peer = Peer::start(|asked, _| match asked.method() {
        "server/discover" => {
            let result = json!({"supportedVersions": ["2026-07-28"], "capabilities": {}});
            events(vec![event(&json!({"jsonrpc": "2.0", "id": asked.id(), "result": result}))])
        }
        _ => error(404, &asked.id(), -32601),
    })
    .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(page(&seen, "mcp.transport").member("framing"), Some(&Json::from("sse")));
}
