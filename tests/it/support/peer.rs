//! A scripted MCP peer: what it shows can be swapped while it runs, and it misbehaves on request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::server::Server;

/// What the peer shows and how it behaves. The default is a well-behaved server of 2026-07-28 with two tools.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    /// The one date it speaks: `server/discover` for 2026-07-28, `initialize` with a session for older ones.
    pub(crate) date: &'static str,
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// Its instructions.
    pub(crate) instructions: Option<String>,
    /// `tools/list`; none: the capability is not declared and the method not found.
    pub(crate) tools: Option<Vec<Value>>,
    /// `prompts/list`, likewise.
    pub(crate) prompts: Option<Vec<Value>>,
    /// `resources/list`, likewise.
    pub(crate) resources: Option<Vec<Value>>,
    /// `resources/templates/list`, where resources are declared.
    pub(crate) templates: Vec<Value>,
    /// The token without which every request is answered 401.
    pub(crate) guard: Option<&'static str>,
    /// `tools/list` for who presents a token, where it is another than the stranger's.
    pub(crate) ours: Option<Vec<Value>>,
    /// Members added to the handshake's result.
    pub(crate) said: Value,
    /// Items a page; none: all on one.
    pub(crate) page: Option<usize>,
    /// The paths where it is served.
    pub(crate) at: Vec<&'static str>,
    /// What lies at other paths of its origin.
    pub(crate) documents: Vec<(&'static str, Value)>,
    /// Whether answers come as event streams.
    pub(crate) sse: bool,
    /// How it misbehaves.
    pub(crate) quirk: Quirk,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            date: "2026-07-28",
            name: "ledger-tools".to_owned(),
            version: "3.1.0".to_owned(),
            instructions: Some("Amounts are in cents.".to_owned()),
            tools: Some(vec![
                tool("list_invoices", "Lists the invoices of a customer."),
                tool("get_invoice", "Gives one invoice by its number."),
            ]),
            prompts: None,
            resources: None,
            templates: Vec::new(),
            guard: None,
            ours: None,
            said: json!({}),
            page: None,
            at: vec!["/mcp"],
            documents: Vec::new(),
            sse: false,
            quirk: Quirk::None,
        }
    }
}

/// A tool of that name and description with one required text argument.
pub(crate) fn tool(name: &str, description: &str) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    })
}

/// How a peer misbehaves. Quirks of a list are about `tools/list` alone; the handshake stays as it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Quirk {
    /// Not at all.
    None,
    /// The list is answered with this status and a JSON-RPC error.
    ListStatus(u16),
    /// The list is never answered.
    ListStalls,
    /// The list's result has no `tools`.
    ListWithoutArray,
    /// The list's event stream ends in the middle of an event.
    HalfAStream,
    /// The list's last page names its own cursor.
    CursorLoop,
    /// The list comes in two pages, and the second one's cursor is the empty string.
    EmptyCursor,
    /// Every second read of the list shows these tools instead.
    EverySecondRead(Vec<Value>),
    /// Each read of the list has another order.
    Shuffle,
    /// Every request is answered by a gateway's 403 page.
    ForbiddenPage,
    /// Every request is answered by a page of a website, with this status.
    Website(u16),
    /// Every request is answered 401 with this challenge, or without any.
    Unauthorized(Option<&'static str>),
    /// Every request is answered 429, to be tried again after so many seconds.
    RateLimited(u32),
    /// No request is answered.
    Stalls,
}

/// The peer. Its address stays the same whatever it shows.
#[derive(Debug)]
pub(crate) struct ScriptedPeer {
    server: Server,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<Stage>,
    /// While the gate is shut, requests wait for a permit each.
    gate: Semaphore,
}

#[derive(Debug)]
struct Stage {
    script: Script,
    /// Methods asked for, in order; what is no JSON-RPC is there by its HTTP method.
    asked: Vec<String>,
    /// Reads of `tools/list` that began.
    reads: usize,
    sessions: usize,
    /// Headers of each request, in order.
    heard: Vec<HeaderMap>,
    gated: bool,
    /// Requests that wait at the gate, and the most that ever did.
    waiting: usize,
    most: usize,
}

impl ScriptedPeer {
    /// A peer that is up.
    pub(crate) async fn start(script: Script) -> Self {
        Self::start_on("127.0.0.1", script).await
    }

    /// A peer that is up at this loopback address.
    pub(crate) async fn start_on(host: &'static str, script: Script) -> Self {
        let stage = Stage {
            script,
            asked: Vec::new(),
            reads: 0,
            sessions: 0,
            heard: Vec::new(),
            gated: false,
            waiting: 0,
            most: 0,
        };
        let shared = Arc::new(Shared { state: Mutex::new(stage), gate: Semaphore::new(0) });
        let router = Router::new().fallback(route).with_state(Arc::clone(&shared));
        Self { server: Server::start_on(host, router).await, shared }
    }

    /// Its MCP endpoint.
    pub(crate) fn url(&self) -> String {
        format!("http://{}:{}/mcp", self.server.host(), self.server.port())
    }

    /// Its origin.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}:{}", self.server.host(), self.server.port())
    }

    /// Its port.
    pub(crate) const fn port(&self) -> u16 {
        self.server.port()
    }

    /// Changes what it shows from the next request on.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Script)) {
        change(&mut self.shared.lock().script);
    }

    /// The methods asked for so far, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.shared.lock().asked.clone()
    }

    /// The values of a header in each request that had it, in order.
    pub(crate) fn heard(&self, header: &str) -> Vec<String> {
        let stage = self.shared.lock();
        let values = stage.heard.iter().filter_map(|headers| headers.get(header));
        values.map(|value| value.to_str().unwrap().to_owned()).collect()
    }

    /// Requests wait from here on, each until [`ScriptedPeer::let_in`] lets it in.
    pub(crate) fn shut_gate(&self) {
        self.shared.lock().gated = true;
    }

    /// Lets `count` waiting requests in.
    pub(crate) fn let_in(&self, count: usize) {
        self.shared.gate.add_permits(count);
    }

    /// Lets everybody in, from here on.
    pub(crate) fn open_gate(&self) {
        self.shared.lock().gated = false;
        self.let_in(1_000);
    }

    /// How many requests wait at the gate.
    pub(crate) fn waiting(&self) -> usize {
        self.shared.lock().waiting
    }

    /// The most requests that ever waited at once.
    pub(crate) fn most_waiting(&self) -> usize {
        self.shared.lock().most
    }

    /// Connections are refused from here on.
    pub(crate) async fn down(&mut self) {
        self.server.down().await;
    }

    /// It is back at the same address.
    pub(crate) async fn up(&mut self) {
        self.server.up().await;
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is asked beside its endpoint is not among what it was asked.
async fn route(
    state: State<Arc<Shared>>,
    uri: http::Uri,
    method: http::Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let (is_endpoint, document) = {
        let stage = state.0.lock();
        let document = stage.script.documents.iter().find(|(path, _)| *path == uri.path());
        (stage.script.at.contains(&uri.path()), document.map(|(_, document)| document.clone()))
    };
    match document {
        Some(document) => json_of(StatusCode::OK, &document),
        None if is_endpoint => answer(state, method, headers, body).await,
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn answer(State(shared): State<Arc<Shared>>, method: http::Method, headers: HeaderMap, body: Bytes) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asked = message["method"].as_str().unwrap_or(method.as_str()).to_owned();
    let gated = {
        let mut stage = shared.lock();
        stage.heard.push(headers.clone());
        if stage.gated {
            stage.waiting += 1;
            stage.most = stage.most.max(stage.waiting);
        }
        stage.gated
    };
    if gated {
        shared.gate.acquire().await.unwrap().forget();
        shared.lock().waiting -= 1;
    }
    let answer = {
        let mut stage = shared.lock();
        stage.asked.push(asked.clone());
        stage.answer(&method, &asked, &headers, &message)
    };
    match answer {
        Some(response) => response,
        // The client's patience is what ends it, or the end of the test.
        None => std::future::pending().await,
    }
}

impl Stage {
    /// None: never.
    fn answer(&mut self, http: &http::Method, asked: &str, headers: &HeaderMap, message: &Value) -> Option<Response> {
        match &self.script.quirk {
            Quirk::Stalls => return None,
            Quirk::ForbiddenPage => {
                let page = "<html><head><title>403 Forbidden</title></head><body>Access denied</body></html>";
                return Some((StatusCode::FORBIDDEN, [(CONTENT_TYPE, "text/html")], page).into_response());
            }
            Quirk::Unauthorized(challenge) => {
                let mut response = StatusCode::UNAUTHORIZED.into_response();
                if let Some(challenge) = challenge {
                    response.headers_mut().insert("www-authenticate", challenge.parse().unwrap());
                }
                return Some(response);
            }
            Quirk::RateLimited(seconds) => {
                let after = [(RETRY_AFTER, seconds.to_string())];
                return Some((StatusCode::TOO_MANY_REQUESTS, after, "slow down").into_response());
            }
            Quirk::Website(status) => {
                let status = StatusCode::from_u16(*status).unwrap();
                let page = "<!doctype html><title>Our MCP server: tools/list, server-card</title>";
                return Some((status, [(CONTENT_TYPE, "text/html")], page).into_response());
            }
            Quirk::None
            | Quirk::ListStatus(_)
            | Quirk::ListStalls
            | Quirk::ListWithoutArray
            | Quirk::HalfAStream
            | Quirk::CursorLoop
            | Quirk::EmptyCursor
            | Quirk::EverySecondRead(_)
            | Quirk::Shuffle => {}
        }
        let token = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        if self.script.guard.is_some_and(|guard| token != Some(guard)) {
            let challenge = [(WWW_AUTHENTICATE, "Bearer realm=\"ledger\"")];
            return Some((StatusCode::UNAUTHORIZED, challenge).into_response());
        }
        if *http != http::Method::POST {
            return Some(StatusCode::METHOD_NOT_ALLOWED.into_response());
        }
        let Some(id) = message.get("id") else { return Some(StatusCode::ACCEPTED.into_response()) };
        let known = self.script.date == "2026-07-28" || headers.contains_key("mcp-session-id");
        match asked {
            "server/discover" => Some(self.discover(id)),
            "initialize" => Some(self.initialize(id)),
            _ if !known => Some(self.error(id, StatusCode::BAD_REQUEST, -32000, "no session")),
            "tools/list" => self.tools(id, message, token.is_some()),
            "prompts/list" => Some(self.list(id, message, "prompts", self.script.prompts.clone())),
            "resources/list" => Some(self.list(id, message, "resources", self.script.resources.clone())),
            "resources/templates/list" => {
                let templates = self.script.resources.as_ref().map(|_| self.script.templates.clone());
                Some(self.list(id, message, "resourceTemplates", templates))
            }
            _ => Some(self.not_found(id)),
        }
    }

    fn discover(&self, id: &Value) -> Response {
        if self.script.date != "2026-07-28" {
            return self.error(id, StatusCode::BAD_REQUEST, -32000, "not initialized");
        }
        let mut result = json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": self.capabilities(),
            "_meta": {"io.modelcontextprotocol/serverInfo": self.server_info()},
        });
        self.instruct(&mut result);
        self.result(id, result)
    }

    fn initialize(&mut self, id: &Value) -> Response {
        if self.script.date == "2026-07-28" {
            return self.error(id, StatusCode::BAD_REQUEST, -32022, "2026-07-28 only");
        }
        self.sessions += 1;
        let mut result = json!({
            "protocolVersion": self.script.date,
            "capabilities": self.capabilities(),
            "serverInfo": self.server_info(),
        });
        self.instruct(&mut result);
        let mut response = self.result(id, result);
        response.headers_mut().insert("mcp-session-id", format!("session-{}", self.sessions).parse().unwrap());
        response
    }

    fn tools(&mut self, id: &Value, message: &Value, with_token: bool) -> Option<Response> {
        if message["params"]["cursor"].is_null() {
            self.reads += 1;
        }
        let ours = self.script.ours.as_ref().filter(|_| with_token);
        let mut tools = ours.or(self.script.tools.as_ref()).cloned();
        match &self.script.quirk {
            Quirk::ListStalls => return None,
            Quirk::ListStatus(status) => {
                let status = StatusCode::from_u16(*status).unwrap();
                return Some(self.error(id, status, -32603, "the list cannot be had"));
            }
            Quirk::ListWithoutArray => return Some(self.result(id, json!({}))),
            Quirk::HalfAStream => {
                let half =
                    Bytes::from_static(b"event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[");
                return Some(([(CONTENT_TYPE, "text/event-stream")], half).into_response());
            }
            Quirk::CursorLoop => return Some(self.result(id, json!({"tools": tools, "nextCursor": "again"}))),
            Quirk::EmptyCursor => {
                let half = tools.as_ref().map_or(0, Vec::len) / 2;
                let (first, second) = tools.as_deref().unwrap_or_default().split_at(half);
                let page = match message["params"]["cursor"].as_str() {
                    None => json!({"tools": first, "nextCursor": ""}),
                    Some(_) => json!({"tools": second}),
                };
                return Some(self.result(id, page));
            }
            Quirk::EverySecondRead(others) => {
                if self.reads.is_multiple_of(2) {
                    tools = Some(others.clone());
                }
            }
            Quirk::Shuffle => {
                if let Some(tools) = tools.as_mut().filter(|tools| !tools.is_empty()) {
                    let by = self.reads % tools.len();
                    tools.rotate_left(by);
                }
            }
            Quirk::None
            | Quirk::ForbiddenPage
            | Quirk::Website(_)
            | Quirk::Unauthorized(_)
            | Quirk::RateLimited(_)
            | Quirk::Stalls => {}
        }
        Some(self.list(id, message, "tools", tools))
    }

    fn list(&self, id: &Value, message: &Value, array: &str, items: Option<Vec<Value>>) -> Response {
        let Some(items) = items else { return self.not_found(id) };
        let start = message["params"]["cursor"].as_str().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
        let end = self.script.page.map_or(items.len(), |page| items.len().min(start + page));
        let mut result = json!({array: items.get(start..end).unwrap_or_default()});
        if end < items.len() {
            result["nextCursor"] = end.to_string().into();
        }
        self.result(id, result)
    }

    fn capabilities(&self) -> Value {
        let mut capabilities = json!({});
        let lists = [
            ("tools", self.script.tools.is_some()),
            ("prompts", self.script.prompts.is_some()),
            ("resources", self.script.resources.is_some()),
        ];
        for (name, _) in lists.into_iter().filter(|(_, declared)| *declared) {
            capabilities[name] = json!({});
        }
        capabilities
    }

    fn server_info(&self) -> Value {
        json!({"name": self.script.name, "version": self.script.version})
    }

    fn instruct(&self, result: &mut Value) {
        if let Some(instructions) = &self.script.instructions {
            result["instructions"] = instructions.as_str().into();
        }
        for (name, value) in self.script.said.as_object().unwrap() {
            result[name] = value.clone();
        }
    }

    fn result(&self, id: &Value, mut result: Value) -> Response {
        if self.script.date == "2026-07-28" {
            result["resultType"] = "complete".into();
            result["ttlMs"] = 0.into();
            result["cacheScope"] = "private".into();
        }
        self.send(StatusCode::OK, &json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn not_found(&self, id: &Value) -> Response {
        let modern = self.script.date == "2026-07-28";
        let status = if modern { StatusCode::NOT_FOUND } else { StatusCode::OK };
        self.error(id, status, -32601, "method not found")
    }

    fn error(&self, id: &Value, status: StatusCode, code: i64, words: &str) -> Response {
        let message = json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": words}});
        if status == StatusCode::OK { self.send(status, &message) } else { json_of(status, &message) }
    }

    fn send(&self, status: StatusCode, message: &Value) -> Response {
        if self.script.sse {
            let event = format!("event: message\ndata: {message}\n\n");
            (status, [(CONTENT_TYPE, "text/event-stream")], event).into_response()
        } else {
            json_of(status, message)
        }
    }
}

fn json_of(status: StatusCode, message: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], message.to_string()).into_response()
}
