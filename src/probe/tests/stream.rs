//! HTTP+SSE of 2024-11-05: how it is found, spoken, and what a hostile one cannot do.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::http::Method;
use axum::response::Response;
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::peer::{Asked, Legacy, Peer, empty, event, events, html, open_events, text, tool, with_header};
use super::*;
use crate::model::observation::{DetectionState, Outcome};

type Sender = mpsc::UnboundedSender<Bytes>;

/// A server of HTTP+SSE: streams by GET at any path, messages by POST to `/messages`.
#[derive(Clone)]
struct Streams {
    date: &'static str,
    /// Where it says that messages go.
    endpoint: String,
    open: Arc<Mutex<Option<Sender>>>,
}

impl Streams {
    fn new() -> Self {
        Self { date: "2024-11-05", endpoint: "/messages?session=7f3a".to_owned(), open: Arc::default() }
    }

    fn answer(&self, asked: &Asked) -> Response {
        if asked.verb == Method::GET {
            return self.stream();
        }
        if asked.path != "/messages" {
            return html(404);
        }
        if let Some(answer) = self.message(asked) {
            self.say(&answer);
        }
        empty(202)
    }

    fn stream(&self) -> Response {
        let (sender, receiver) = mpsc::unbounded_channel::<Bytes>();
        sender.send(format!("event: endpoint\ndata: {}\n\n", self.endpoint).into()).unwrap();
        *self.open.lock().unwrap() = Some(sender);
        let pieces = stream::unfold(receiver, |mut receiver| async move {
            let piece = receiver.recv().await?;
            Some((Ok::<_, Infallible>(piece), receiver))
        });
        text(200, "text/event-stream", Body::from_stream(pieces))
    }

    fn say(&self, message: &Value) {
        if let Some(sender) = self.open.lock().unwrap().as_ref() {
            // Nobody may be listening any more.
            let _ = sender.send(event(message).into());
        }
    }

    fn hang_up(&self) {
        *self.open.lock().unwrap() = None;
    }

    fn message(&self, asked: &Asked) -> Option<Value> {
        let result = match asked.method() {
            "initialize" => json!({"protocolVersion": self.date, "capabilities": {"tools": {}},
                "serverInfo": {"name": "streams", "version": "1"}}),
            "tools/list" => json!({"tools": [tool("a"), tool("b")]}),
            _ => return None,
        };
        Some(json!({"jsonrpc": "2.0", "id": asked.id(), "result": result}))
    }
}

async fn serve(streams: &Streams) -> Peer {
    let streams = streams.clone();
    Peer::start(move |asked, _| streams.answer(asked)).await
}

#[tokio::test]
async fn a_url_that_refuses_posts_is_asked_for_a_stream() {
    let peer = serve(&Streams::new()).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Ok, "{:?}", seen.sights);
    assert_eq!(seen.mcp.transport, Some(Transport::Sse));
    assert_eq!(seen.mcp.state, DetectionState::Confirmed);
    assert_eq!(tools(&seen), [["a", "b"], ["a", "b"]]);
    let order = ["server/discover", "initialize", "GET", "initialize", "notifications/initialized", "tools/list"];
    assert_eq!(peer.methods()[..6], order);
    let transport = page(&seen, "mcp.transport");
    assert_eq!(transport.member("transport"), Some(&Json::from("sse")));
    let messages = transport.member("messages").and_then(Json::as_str).unwrap();
    assert!(messages.ends_with("/messages"), "without its session: {messages}");
}

#[tokio::test]
async fn what_was_a_stream_is_asked_for_one_first_and_by_one_alone() {
    let peer = serve(&Streams::new()).await;
    let ask = Scan {
        date: Some("2024-11-05"),
        transport: Some(Transport::Sse),
        second_read: SecondRead::Fresh,
        ..scan(&peer.url)
    };
    let seen = ask.run().await;
    assert_eq!(seen.outcome, Outcome::Ok, "{:?}", seen.sights);
    assert_eq!(peer.methods(), ["GET", "initialize", "notifications/initialized", "tools/list", "tools/list"]);
    assert!(peer.asked()[1..].iter().all(|asked| asked.path == "/messages"));
}

#[tokio::test]
async fn what_was_a_stream_and_is_none_any_more_is_asked_as_any_other() {
    let peer = Peer::start(|asked, _| match asked.verb {
        Method::GET => empty(405),
        _ => Legacy::of("2025-11-25").answer(asked),
    })
    .await;
    let ask = Scan { date: Some("2024-11-05"), transport: Some(Transport::Sse), ..scan(&peer.url) };
    let seen = ask.run().await;
    assert_eq!((seen.outcome, seen.mcp.transport), (Outcome::Ok, Some(Transport::StreamableHttp)));
}

#[tokio::test]
async fn a_bare_401_to_a_get_asks_for_no_authorization() {
    let peer = Peer::start(|asked, _| if asked.verb == Method::GET { empty(401) } else { html(404) }).await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(sights(&seen), ["scan.http-error/- /endpoint"]);
    assert_eq!(seen.mcp.state, DetectionState::NotDetected);
}

#[tokio::test]
async fn a_stream_behind_a_challenge_is_guarded() {
    let peer = Peer::start(|asked, _| match asked.verb {
        Method::GET => with_header(empty(401), "www-authenticate", "Bearer resource_metadata=\"/meta\""),
        _ => html(404),
    })
    .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    assert!(reads(&seen, "auth.challenge")[0].pages[0].member("status").is_some());
    assert!(seen.unwatched.contains_key(&name("mcp.tools")));
}

#[tokio::test]
async fn a_stream_without_an_endpoint_is_none() {
    let silent = || open_events(vec![": alive\n\n".to_owned()]);
    let message = || open_events(vec![event(&json!({"jsonrpc": "2.0", "method": "x"}))]);
    let nowhere = || open_events(vec!["event: endpoint\ndata: file:///etc/passwd\n\n".to_owned()]);
    let streams: [fn() -> Response; 3] = [silent, message, nowhere];
    for stream in streams {
        let peer = Peer::start(move |asked, _| match (&asked.verb, asked.path.as_str()) {
            (&Method::GET, "/mcp") => stream(),
            (&Method::GET, _) => empty(404),
            _ => html(405),
        })
        .await;
        let seen = scan(&peer.url).with_timeout(400).run().await;
        assert_eq!(sights(&seen), ["scan.http-error/- /endpoint"]);
        let here = peer.asked().into_iter().filter(|asked| asked.path == "/mcp");
        assert_eq!(
            here.map(|asked| asked.method().to_owned()).collect::<Vec<_>>(),
            ["server/discover", "initialize", "GET"]
        );
    }
}

#[tokio::test]
async fn messages_go_nowhere_that_the_guard_does_not_let_a_peer_send_us() {
    let elsewhere = Peer::start(|_, _| empty(202)).await;
    let endpoint = elsewhere.url.join("/messages").unwrap().to_string();
    let peer = serve(&Streams { endpoint, ..Streams::new() }).await;
    let seen = scan(&peer.url).with_token(Some("s3cret")).run().await;
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::Refused);
    assert_eq!(unseen(&seen, "mcp.tools@auth").0, UnseenKind::Refused);
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn our_credential_goes_with_the_stream_and_its_messages() {
    let peer = serve(&Streams::new()).await;
    let ask = Scan { transport: Some(Transport::Sse), ..scan(&peer.url) }.with_token(Some("s3cret"));
    let seen = ask.run().await;
    assert_eq!(seen.outcome, Outcome::Ok, "{:?}", seen.sights);
    let ours = peer.asked().into_iter().filter(|asked| asked.header("authorization") == Some("Bearer s3cret"));
    assert_eq!(ours.count(), 5, "{:?}", peer.methods());
}

#[tokio::test]
async fn a_server_that_asks_on_the_stream_is_answered_by_a_post() {
    let streams = Streams::new();
    let peer = {
        let streams = streams.clone();
        Peer::start(move |asked, _| {
            if asked.method() == "tools/list" {
                streams.say(&json!({"jsonrpc": "2.0", "id": "p1", "method": "ping"}));
                streams.say(&json!({"jsonrpc": "2.0", "id": "r1", "method": "roots/list"}));
            }
            streams.answer(asked)
        })
        .await
    };
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Ok);
    let answers: Vec<Value> = peer
        .asked()
        .into_iter()
        .filter(|asked| asked.body.get("method").is_none() && asked.verb == Method::POST)
        .map(|asked| asked.body)
        .collect();
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": "p1", "result": {}}));
    assert_eq!(answers[1]["error"]["code"], -32601);
}

#[tokio::test]
async fn a_stream_that_ends_before_a_list_leaves_it_unseen() {
    let streams = Streams::new();
    let peer = {
        let streams = streams.clone();
        Peer::start(move |asked, _| {
            if asked.method() == "tools/list" {
                streams.hang_up();
                return empty(202);
            }
            streams.answer(asked)
        })
        .await
    };
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::Partial);
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::Unreachable);
}

#[tokio::test]
async fn a_refused_message_is_told_by_its_status() {
    let streams = Streams::new();
    let peer = {
        let streams = streams.clone();
        Peer::start(move |asked, _| if asked.method() == "tools/list" { empty(429) } else { streams.answer(asked) })
            .await
    };
    let seen = scan(&peer.url).run().await;
    assert_eq!(seen.outcome, Outcome::RateLimited);
}

#[tokio::test]
async fn a_stream_that_never_ends_is_cut_by_the_cap_on_its_events() {
    let endless = || {
        let noise = format!("data: {}\n\n", "x".repeat(10));
        events(std::iter::once("event: endpoint\ndata: /messages\n\n".to_owned()).chain(vec![noise; 5_000]).collect())
    };
    let peer = Peer::start(move |asked, _| match (&asked.verb, asked.path.as_str()) {
        (&Method::GET, _) => endless(),
        (_, "/messages") => empty(202),
        _ => html(404),
    })
    .await;
    let seen = scan(&peer.url).run().await;
    assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::TooLarge);
}
