//! A real axum peer on a port of its own that answers by a script, misbehaves on request and keeps what it was asked.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::response::Response;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use url::Url;

/// What the peer was asked.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) verb: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
    /// The client's port: which connection it came by.
    pub(super) connection: u16,
}

impl Asked {
    /// The JSON-RPC method, or the HTTP one where there is none.
    pub(super) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or(self.verb.as_str())
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(super) fn id(&self) -> Value {
        self.body["id"].clone()
    }
}

/// A listening peer; it is gone when dropped.
pub(super) struct Peer {
    pub(super) url: Url,
    log: Arc<Mutex<Vec<Asked>>>,
    _tasks: JoinSet<()>,
}

impl Peer {
    /// Answers each request as `script` says; it is told how many were asked before.
    pub(super) async fn start(script: impl Fn(&Asked, usize) -> Response + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/mcp", listener.local_addr().unwrap())).unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(script);
        let kept = Arc::clone(&log);
        let app = Router::new().fallback(move |ConnectInfo(client): ConnectInfo<SocketAddr>, request: Request| {
            let (script, kept) = (Arc::clone(&script), Arc::clone(&kept));
            async move {
                let asked = read(client, request).await;
                let number = {
                    let mut kept = kept.lock().unwrap();
                    kept.push(asked.clone());
                    kept.len() - 1
                };
                script(&asked, number)
            }
        });
        let mut tasks = JoinSet::new();
        let service = app.into_make_service_with_connect_info::<SocketAddr>();
        tasks.spawn(async move { axum::serve(listener, service).await.unwrap() });
        Self { url, log, _tasks: tasks }
    }

    /// The same with nothing but an endpoint: it has no documents.
    pub(super) async fn endpoint(script: impl Fn(&Asked, usize) -> Response + Send + Sync + 'static) -> Self {
        Self::start(move |asked, number| if asked.path == "/mcp" { script(asked, number) } else { empty(404) }).await
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }

    /// What it was asked at its endpoint.
    pub(super) fn asked_here(&self) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.path == self.url.path()).collect()
    }

    /// The methods asked for, in order.
    pub(super) fn methods(&self) -> Vec<String> {
        self.asked().iter().map(|asked| asked.method().to_owned()).collect()
    }

    /// Those of one method.
    pub(super) fn asked_for(&self, method: &str) -> Vec<Asked> {
        self.asked().into_iter().filter(|asked| asked.method() == method).collect()
    }
}

async fn read(client: SocketAddr, request: Request) -> Asked {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    Asked {
        verb: parts.method,
        path: parts.uri.path().to_owned(),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        connection: client.port(),
    }
}

/// An answer with any body.
pub(super) fn text(status: u16, content_type: &str, body: impl Into<Body>) -> Response {
    let builder = Response::builder().status(StatusCode::from_u16(status).unwrap());
    builder.header("content-type", content_type).body(body.into()).unwrap()
}

pub(super) fn json_body(status: u16, body: &Value) -> Response {
    text(status, "application/json", body.to_string())
}

/// A JSON-RPC result.
pub(super) fn result(asked: &Asked, result: &Value) -> Response {
    json_body(200, &json!({"jsonrpc": "2.0", "id": asked.id(), "result": result}))
}

/// A JSON-RPC error.
pub(super) fn error(status: u16, id: &Value, code: i64) -> Response {
    json_body(status, &json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no"}}))
}

pub(super) fn html(status: u16) -> Response {
    text(status, "text/html", "<!doctype html><title>MCP agent-card schema</title>")
}

pub(super) fn empty(status: u16) -> Response {
    Response::builder().status(StatusCode::from_u16(status).unwrap()).body(Body::empty()).unwrap()
}

pub(super) fn with_header(mut response: Response, name: &'static str, value: &str) -> Response {
    response.headers_mut().append(HeaderName::from_static(name), value.parse().unwrap());
    response
}

/// An event stream of these pieces, which ends after them.
pub(super) fn events(pieces: Vec<String>) -> Response {
    let pieces = stream::iter(pieces.into_iter().map(|piece| Ok::<_, Infallible>(Bytes::from(piece))));
    text(200, "text/event-stream", Body::from_stream(pieces))
}

/// The same, but the stream stays open.
pub(super) fn open_events(pieces: Vec<String>) -> Response {
    let pieces = stream::iter(pieces.into_iter().map(|piece| Ok::<_, Infallible>(Bytes::from(piece))));
    text(200, "text/event-stream", Body::from_stream(pieces.chain(stream::pending())))
}

/// The same, but the connection breaks after them.
pub(super) fn broken(content_type: &str, pieces: Vec<String>) -> Response {
    let pieces = stream::iter(pieces.into_iter().map(|piece| Ok(Bytes::from(piece))));
    let end = stream::iter([Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))]);
    text(200, content_type, Body::from_stream(pieces.chain(end)))
}

/// One message as an event.
pub(super) fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

pub(super) fn tool(name: &str) -> Value {
    json!({"name": name, "description": "Does it.", "inputSchema": {"type": "object"}})
}

/// A well-behaved server of a legacy date; tests override what they want wrong.
#[derive(Clone)]
pub(super) struct Legacy {
    pub(super) date: &'static str,
    pub(super) session: Option<&'static str>,
    pub(super) tools: Vec<Value>,
    pub(super) capabilities: Value,
}

impl Legacy {
    pub(super) fn of(date: &'static str) -> Self {
        Self { date, session: None, tools: vec![tool("a"), tool("b")], capabilities: json!({"tools": {}}) }
    }

    pub(super) fn answer(&self, asked: &Asked) -> Response {
        match asked.method() {
            "initialize" => {
                let response = result(
                    asked,
                    &json!({"protocolVersion": self.date, "capabilities": self.capabilities,
                        "serverInfo": {"name": "peer", "version": "1"}}),
                );
                match self.session {
                    Some(session) => with_header(response, "mcp-session-id", session),
                    None => response,
                }
            }
            "notifications/initialized" => empty(202),
            "tools/list" => result(asked, &json!({"tools": self.tools})),
            "prompts/list" => result(asked, &json!({"prompts": []})),
            "resources/list" => result(asked, &json!({"resources": []})),
            "resources/templates/list" => result(asked, &json!({"resourceTemplates": []})),
            "DELETE" => empty(200),
            _ => error(400, &Value::Null, -32000),
        }
    }
}

/// A well-behaved server of 2026-07-28.
pub(super) fn modern(asked: &Asked, tools: &[Value]) -> Response {
    match asked.method() {
        "server/discover" => result(
            asked,
            &json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "private"}),
        ),
        "tools/list" => {
            result(asked, &json!({"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"}))
        }
        _ => error(404, &asked.id(), -32601),
    }
}
