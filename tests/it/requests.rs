//! What leaves the prober: all requests of a full first scan of each kind of target, compared with a committed list. No
//! request is sent but those.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::mpsc;

use crate::support::server::Server;

/// How a server of a test answers.
type Answer = fn(&Asked) -> Response;
type Answers = Arc<dyn Fn(&Asked) -> Response + Send + Sync>;

struct Asked {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Value,
}

#[derive(Clone)]
struct Recorder {
    answer: Answers,
    lines: Arc<Mutex<Vec<String>>>,
}

async fn record(State(recorder): State<Recorder>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 1 << 20).await.unwrap_or_default();
    let asked = Asked {
        method: parts.method,
        path: parts.uri.to_string(),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    recorder.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line(&asked));
    (recorder.answer)(&asked)
}

/// One request: what differs from run to run is masked.
fn line(asked: &Asked) -> String {
    let mut line = format!("{} {}", asked.method, asked.path);
    let mut names: Vec<&str> = asked.headers.keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    for name in names {
        let value = asked.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("?");
        let shown = match name {
            "host" => "HOST",
            "content-length" => "N",
            "user-agent" => value.split('/').next().unwrap_or_default(),
            _ => value,
        };
        let _ = write!(line, "\n    {name}: {shown}");
    }
    if asked.body.is_object() {
        let mut body = asked.body.clone();
        mask(&mut body);
        let _ = write!(line, "\n    {body}");
    }
    line
}

fn mask(body: &mut Value) {
    if let Some(id) = body.get_mut("id").filter(|id| id.is_number()) {
        *id = json!("ID");
    }
    let pointers = ["/params/clientInfo/version", "/params/_meta/io.modelcontextprotocol~1clientInfo/version"];
    for pointer in pointers {
        if let Some(version) = body.pointer_mut(pointer) {
            *version = json!("VERSION");
        }
    }
}

/// What a full scan of a server that answers so sends to it.
async fn sent(answer: Answer, path: &str, inventory: &str) -> String {
    sent_to(Arc::new(answer), path, inventory).await
}

async fn sent_to(answer: Answers, path: &str, inventory: &str) -> String {
    let recorder = Recorder { answer, lines: Arc::default() };
    let server = Server::start(Router::new().fallback(record).with_state(recorder.clone())).await;
    let url = format!("http://127.0.0.1:{}{path}", server.port());
    let home = tempfile::tempdir().unwrap();
    std::fs::write(
        home.path().join("driftd.yaml"),
        "inventory: [ inventory.yaml ]\nreceivers: [ { name: t, console: {} } ]\n",
    )
    .unwrap();
    let targets = format!("targets:\n- {{ id: peer, kind: mcp, url: {url:?}{inventory} }}\n");
    std::fs::write(home.path().join("inventory.yaml"), targets).unwrap();
    let scanned = Command::new(env!("CARGO_BIN_EXE_driftd"))
        .arg("--config")
        .arg(home.path().join("driftd.yaml"))
        .args(["scan", "peer"])
        .env("PEER_TOKEN", "s3cret-of-the-peer")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    assert_ne!(scanned.status.code(), Some(2), "{scanned:?}");
    let lines = recorder.lines.lock().unwrap_or_else(PoisonError::into_inner).join("\n");
    lines.replace("s3cret-of-the-peer", "TOKEN")
}

fn reply(status: u16, kind: &str, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or_default();
    Response::builder().status(status).header("content-type", kind).body(Body::from(body)).unwrap_or_default()
}

fn result(asked: &Asked, result: &Value) -> Response {
    reply(200, "application/json", json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": result}).to_string())
}

fn error(asked: &Asked, status: u16, code: i64) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": asked.body["id"], "error": {"code": code, "message": "no"}});
    reply(status, "application/json", body.to_string())
}

fn lists(asked: &Asked, hints: &Value) -> Option<Response> {
    let of = |name: &str, items: Value| {
        let mut page = hints.clone();
        page[name] = items;
        Some(result(asked, &page))
    };
    match asked.body["method"].as_str() {
        Some("tools/list") => of("tools", json!([{"name": "a", "inputSchema": {"type": "object"}}])),
        Some("prompts/list") => of("prompts", json!([])),
        Some("resources/list") => of("resources", json!([])),
        Some("resources/templates/list") => of("resourceTemplates", json!([])),
        _ => None,
    }
}

const EVERYTHING: fn() -> Value = || json!({"tools": {}, "prompts": {}, "resources": {}});

fn modern(asked: &Asked) -> Response {
    if asked.path != "/mcp" {
        return reply(404, "text/plain", String::new());
    }
    let hints = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
    match asked.body["method"].as_str() {
        Some("server/discover") => {
            let mut page = hints;
            page["supportedVersions"] = json!(["2026-07-28"]);
            page["capabilities"] = EVERYTHING();
            result(asked, &page)
        }
        _ => lists(asked, &hints).unwrap_or_else(|| error(asked, 404, -32601)),
    }
}

fn sessions(asked: &Asked) -> Response {
    if asked.path != "/mcp" {
        return reply(404, "text/plain", String::new());
    }
    match (asked.method.as_str(), asked.body["method"].as_str()) {
        ("GET", _) => reply(405, "text/plain", String::new()),
        ("DELETE", _) => reply(200, "text/plain", String::new()),
        (_, Some("initialize")) => {
            let page = json!({"protocolVersion": "2025-11-25", "capabilities": EVERYTHING(),
                "serverInfo": {"name": "peer", "version": "1"}});
            let mut response = result(asked, &page);
            response.headers_mut().insert("mcp-session-id", http::HeaderValue::from_static("0f9d2c6e4b8a71d35e0c"));
            response
        }
        (_, Some("notifications/initialized")) => reply(202, "text/plain", String::new()),
        _ => lists(asked, &json!({})).unwrap_or_else(|| error(asked, 400, -32000)),
    }
}

fn guarded(asked: &Asked) -> Response {
    match asked.headers.get("authorization") {
        Some(_) => modern(asked),
        None if asked.path == "/mcp" => reply(401, "text/plain", String::new()),
        None => reply(404, "text/plain", String::new()),
    }
}

fn page(_: &Asked) -> Response {
    reply(404, "text/html", "<!doctype html><title>An MCP server-card and agent-card page</title>".to_owned())
}

fn with_card(asked: &Asked) -> Response {
    match asked.path.as_str() {
        "/.well-known/mcp/server-card.json" => {
            let host = asked.headers.get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
            let card = json!({"name": "org/peer", "version": "1", "description": "A peer.",
                "remotes": [{"type": "streamable-http", "url": format!("http://{host}/mcp")}]});
            reply(200, "application/json", card.to_string())
        }
        "/mcp" => modern(asked),
        _ => reply(404, "text/plain", String::new()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_2026_07_28_is_asked_these_requests_and_no_others() {
    insta::assert_snapshot!("modern", sent(modern, "/mcp", "").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_sessions_is_asked_these_requests_and_no_others() {
    insta::assert_snapshot!("sessions", sent(sessions, "/mcp", "").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_behind_a_token_is_asked_these_requests_and_no_others() {
    insta::assert_snapshot!("guarded", sent(guarded, "/mcp", ", auth: { bearer: { env: PEER_TOKEN } }").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_speaks_no_mcp_is_asked_these_requests_and_no_others() {
    insta::assert_snapshot!("no_mcp", sent(page, "/mcp", "").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bare_origin_with_a_card_is_asked_these_requests_and_no_others() {
    insta::assert_snapshot!("bare_origin", sent(with_card, "", "").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_of_the_negative_tier_is_asked_these_requests_and_no_others() {
    insta::assert_snapshot!("negative_modern", sent(modern, "/mcp", ", tier: negative").await);
    insta::assert_snapshot!("negative_sessions", sent(sessions, "/mcp", ", tier: negative").await);
}

/// HTTP+SSE: a stream by GET, messages by POST to where it says.
fn streams() -> Answers {
    let open: Mutex<Option<mpsc::UnboundedSender<String>>> = Mutex::new(None);
    Arc::new(move |asked: &Asked| {
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.method == Method::GET && asked.path == "/sse" {
            let (sender, receiver) = mpsc::unbounded_channel();
            let _ = sender.send("event: endpoint\ndata: /messages?session=1\n\n".to_owned());
            *open = Some(sender);
            let pieces = futures_util::stream::unfold(receiver, |mut receiver| async move {
                let piece = receiver.recv().await?;
                Some((Ok::<_, std::convert::Infallible>(piece), receiver))
            });
            let builder = Response::builder().header("content-type", "text/event-stream");
            return builder.body(Body::from_stream(pieces)).unwrap_or_default();
        }
        if !asked.path.starts_with("/messages") {
            return reply(404, "text/plain", String::new());
        }
        let page = match asked.body["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
                "serverInfo": {"name": "peer", "version": "1"}}),
            Some("tools/list") => json!({"tools": []}),
            _ => return reply(202, "text/plain", String::new()),
        };
        let message = json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": page});
        if let Some(sender) = open.as_ref() {
            let _ = sender.send(format!("event: message\ndata: {message}\n\n"));
        }
        reply(202, "text/plain", String::new())
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_http_sse_is_asked_these_requests_and_no_others() {
    insta::assert_snapshot!("http_sse", sent_to(streams(), "/sse", "").await);
}

/// A program that writes down what it is told.
const PROGRAM: &str = r#"
while IFS= read -r line; do
    printf '%s\n' "$line" >>"$1"
    id=${line#\{\"id\":}; id=${id%%,*}
    case $line in
    *'"method":"initialize"'*)
        echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}}' ;;
    *'"method":"tools/list"'*)
        echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[]}}' ;;
    *'"method":"server/discover"'*)
        echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}' ;;
    esac
done
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_program_is_told_these_messages_and_no_others() {
    let home = tempfile::tempdir().unwrap();
    let (script, told) = (home.path().join("server.sh"), home.path().join("told"));
    std::fs::write(&script, PROGRAM).unwrap();
    let driftd =
        "inventory: [ inventory.yaml ]\ncommands: { allow: [ /bin/sh ] }\nreceivers: [ { name: t, console: {} } ]\n";
    std::fs::write(home.path().join("driftd.yaml"), driftd).unwrap();
    let command = format!("[ /bin/sh, {:?}, {:?} ]", script.display().to_string(), told.display().to_string());
    let targets = format!("targets:\n- {{ id: peer, kind: mcp, command: {command} }}\n");
    std::fs::write(home.path().join("inventory.yaml"), targets).unwrap();
    let mut scan = Command::new(env!("CARGO_BIN_EXE_driftd"));
    scan.arg("--config").arg(home.path().join("driftd.yaml")).args(["scan", "peer"]).kill_on_drop(true);
    let scanned = scan.output().await.unwrap();
    assert_ne!(scanned.status.code(), Some(2), "{scanned:?}");
    let lines = std::fs::read_to_string(&told).unwrap();
    let masked = lines.lines().map(|line| {
        let mut message: Value = serde_json::from_str(line).unwrap();
        mask(&mut message);
        message.to_string()
    });
    insta::assert_snapshot!("stdio", masked.collect::<Vec<_>>().join("\n"));
}
