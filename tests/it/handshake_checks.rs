//! Every question about the handshake, asked of servers that deserve a finding and of servers that do not: what the
//! program says to `driftd scan`, over real sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::checkout;
use crate::support::daemon::Home;
use crate::support::ports::free_port;
use crate::support::server::Server;

/// What is asked of every handshake and of the way to it: each is found somewhere and passed somewhere.
const ROWS: [&str; 29] = [
    "auth.blocked-by-gateway",
    "mcp.cache-hint-invalid",
    "mcp.cache-hint-missing",
    "mcp.cache-scope-invalid",
    "mcp.capability-mismatch",
    "mcp.capability-unknown",
    "mcp.deprecated-feature-in-use/logging",
    "mcp.discover-fields-missing",
    "mcp.get-not-sse",
    "mcp.header-mismatch-accepted",
    "mcp.icon-src-missing",
    "mcp.initialize-fields-missing",
    "mcp.instructions-missing",
    "mcp.jsonrpc-lax",
    "mcp.list-varies-by-connection",
    "mcp.no-endpoint",
    "mcp.not-jsonrpc",
    "mcp.ordering-not-enforced",
    "mcp.origin-not-validated",
    "mcp.protocol-version-mismatch",
    "mcp.protocol-version-outdated",
    "mcp.protocol-version-unknown",
    "mcp.server-info-incomplete",
    "mcp.server-info-recommended-missing",
    "mcp.server-title-missing",
    "mcp.session-id-weak",
    "mcp.supported-versions-empty",
    "mcp.ttl-invalid",
    "mcp.version-header-not-checked",
];

/// Cases that are in every document beside those: what is only ever skipped here, and what has words of its own below.
const OTHERS: [&str; 6] = [
    "mcp.deprecated-feature-in-use/http_sse",
    "mcp.deprecated-feature-in-use/roots",
    "mcp.deprecated-feature-in-use/sampling",
    "scan.clock-skew",
    "scan.error",
    "scan.json-ambiguous",
];

/// A server, and what is to be said of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    name: String,
    /// The date of a server in order that it is like; without, it answers nothing but `answers`.
    like: Option<String>,
    /// Members of its handshake, over those of the server in order; null takes one away.
    #[serde(default)]
    says: BTreeMap<String, Value>,
    /// The same of its server info.
    #[serde(default)]
    info: BTreeMap<String, Value>,
    /// The same of its list of tools.
    #[serde(default)]
    lists: BTreeMap<String, Value>,
    /// Answers by method, over those of the server in order; `*` is every other.
    #[serde(default)]
    answers: BTreeMap<String, Given>,
    /// The ids of its sessions, in turn.
    #[serde(default)]
    sessions: Vec<String>,
    /// Sessions after the first are shown one tool more.
    #[serde(default)]
    varies: bool,
    /// It refuses what is odd.
    #[serde(default)]
    strict: bool,
    /// It is not there.
    #[serde(default)]
    down: bool,
    /// It is scanned with this tier.
    tier: Option<String>,
    verdict: String,
    exit: i32,
    /// Findings that must be among the checks, with what each does to the verdict.
    #[serde(default)]
    finds: BTreeMap<String, String>,
    #[serde(default)]
    passes: Vec<String>,
    /// Skipped, with a part of the reason.
    #[serde(default)]
    skips: BTreeMap<String, String>,
    /// There is no finding but those.
    #[serde(default)]
    nothing_else: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Given {
    status: Option<u16>,
    result: Option<Value>,
    error: Option<i64>,
    /// `data` of the error.
    data: Option<Value>,
    headers: BTreeMap<String, String>,
    body: Option<String>,
    kind: Option<String>,
}

fn fixtures() -> Vec<Fixture> {
    let text = std::fs::read_to_string(checkout("tests/fixtures/handshakes.yaml")).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_server_is_told_what_it_deserves() {
    let mut wrong = Vec::new();
    for fixture in fixtures() {
        wrong.extend(held(&fixture).await.into_iter().map(|line| format!("{}: {line}", fixture.name)));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn each_question_is_found_somewhere_and_passed_somewhere() {
    let fixtures = fixtures();
    let found: BTreeSet<&str> = fixtures.iter().flat_map(|fixture| fixture.finds.keys()).map(String::as_str).collect();
    let passed: BTreeSet<&str> = fixtures.iter().flat_map(|fixture| &fixture.passes).map(String::as_str).collect();
    let missing = |all: &BTreeSet<&str>| ROWS.into_iter().filter(|row| !all.contains(row)).collect::<Vec<_>>();
    assert_eq!((missing(&found), missing(&passed)), (Vec::new(), Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_is_none_is_a_mistake_of_use_and_makes_no_document() {
    let home = Home::with("metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\n", "");
    for url in ["", "://", "http://", "ftp://127.0.0.1/mcp"] {
        let output = home.driftd(&["scan", url, "--output", "json"]).await;
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{url:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_of_the_older_auditor_is_explained() {
    let home = Home::with("metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\n", "");
    let output = home.driftd(&["explain", "37A-McpServerAuditor-410"]).await;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && told.contains("mcp.initialize-fields-missing"), "{told}");
}

/// What does not hold of the scan of a fixture.
async fn held(fixture: &Fixture) -> Vec<String> {
    let (code, document) = scanned(fixture).await;
    let checks: BTreeMap<String, &Value> =
        document["checks"].as_array().unwrap().iter().map(|check| (name_of(check), check)).collect();
    let mut wrong = Vec::new();
    let mut hold = |holds: bool, line: String| {
        if !holds {
            wrong.push(line);
        }
    };
    let verdict = document["verdict"].as_str().unwrap();
    let found: Vec<&String> =
        checks.iter().filter(|(_, check)| check["verdict"] == "finding").map(|(name, _)| name).collect();
    hold(verdict == fixture.verdict, format!("verdict {verdict}, not {}; found {found:?}", fixture.verdict));
    hold(code == Some(fixture.exit), format!("exit {code:?}, not {}", fixture.exit));
    for (rule, status) in &fixture.finds {
        let check = checks.get(rule).copied().unwrap_or(&Value::Null);
        let is = (check["verdict"].as_str(), check["status"].as_str());
        hold(is == (Some("finding"), Some(status)), format!("{rule}: {is:?}, not a finding of status {status}"));
        let told = ["message", "remedy", "evidence", "spec"].iter().all(|part| check[part].as_str() != Some(""));
        hold(told, format!("{rule}: not told in full: {check}"));
    }
    for rule in &fixture.passes {
        let is = checks.get(rule).map(|check| check["verdict"].as_str().unwrap());
        hold(is == Some("passed"), format!("{rule}: {is:?}, not passed"));
    }
    for (rule, why) in &fixture.skips {
        let check = checks.get(rule).copied().unwrap_or(&Value::Null);
        let reason = check["reason"].as_str().unwrap_or_default();
        let is = check["verdict"] == "skipped" && reason.contains(why.as_str());
        hold(is, format!("{rule}: {} ({reason}), not skipped for {why:?}", check["verdict"]));
    }
    if fixture.nothing_else {
        let others: Vec<_> = found.iter().filter(|name| !fixture.finds.contains_key(**name)).collect();
        hold(others.is_empty(), format!("also finds {others:?}"));
    }
    for row in ROWS.into_iter().chain(OTHERS) {
        hold(checks.contains_key(row), format!("{row} is not answered"));
    }
    for (name, check) in &checks {
        let is_told = check["verdict"] != "skipped" || check["reason"].as_str().is_some_and(|why| !why.is_empty());
        hold(is_told, format!("{name} is skipped without a reason"));
    }
    wrong
}

fn name_of(check: &Value) -> String {
    match check["case"].as_str().unwrap() {
        "-" => check["rule"].as_str().unwrap().to_owned(),
        case => format!("{}/{case}", check["rule"].as_str().unwrap()),
    }
}

/// One scan by the program: how it exits, and its document.
async fn scanned(fixture: &Fixture) -> (Option<i32>, Value) {
    let (_server, url) = served(fixture).await;
    let tier = fixture.tier.as_ref().map(|tier| format!(", tier: {tier}")).unwrap_or_default();
    let target = format!("  - {{ id: peer, kind: mcp, url: {url:?}, timeout: 2s, scan_timeout: 20s{tier} }}\n");
    let home = Home::with("metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\n", &target);
    let output = home.driftd(&["scan", "peer", "--output", "json"]).await;
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{}: {error}: {}", fixture.name, String::from_utf8_lossy(&output.stderr));
    });
    (output.status.code(), document)
}

async fn served(fixture: &Fixture) -> (Option<Server>, String) {
    if fixture.down {
        return (None, format!("http://127.0.0.1:{}/mcp", free_port()));
    }
    let stage = Stage { fixture: fixture.clone(), opened: Mutex::new(0), stands: Mutex::new(false) };
    let router = Router::new().fallback(answer).with_state(Arc::new(stage));
    let server = Server::start(router).await;
    let url = format!("http://127.0.0.1:{}/mcp", server.port());
    (Some(server), url)
}

struct Stage {
    fixture: Fixture,
    opened: Mutex<usize>,
    /// The session that was opened last has been initialized.
    stands: Mutex<bool>,
}

async fn answer(State(stage): State<Arc<Stage>>, verb: Method, headers: HeaderMap, body: Bytes) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or(verb.as_str()).to_owned();
    let given = match stage.refusal(&verb, &method, &headers, &message) {
        Some(refusal) => refusal,
        None => stage.given(&method, &headers),
    };
    framed(&given, &message["id"])
}

fn framed(given: &Given, id: &Value) -> Response {
    let message = match (&given.result, given.error) {
        (Some(result), _) => Some(json!({"jsonrpc": "2.0", "id": id, "result": result})),
        (None, Some(code)) => {
            let error = json!({"code": code, "message": "no", "data": given.data});
            Some(json!({"jsonrpc": "2.0", "id": id, "error": error}))
        }
        (None, None) => None,
    };
    let kind = given.kind.as_deref().unwrap_or("application/json");
    let status = StatusCode::from_u16(given.status.unwrap_or(200)).unwrap();
    let mut response = Response::builder().status(status).header("content-type", kind);
    for (name, value) in &given.headers {
        response = response.header(name, value);
    }
    let body = message.map(|message| message.to_string()).or_else(|| given.body.clone()).unwrap_or_default();
    response.body(body.into()).unwrap()
}

fn status(status: u16, error: i64) -> Given {
    Given { status: Some(status), error: Some(error), ..Given::default() }
}

impl Stage {
    /// What a server that is strict says to what is odd.
    fn refusal(&self, verb: &Method, method: &str, headers: &HeaderMap, message: &Value) -> Option<Given> {
        if !self.fixture.strict || *verb != Method::POST {
            return None;
        }
        let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
        let like = self.fixture.like.as_deref().unwrap_or_default();
        let is_modern = like == "2026-07-28";
        let is_early = !is_modern && !matches!(method, "initialize" | "notifications/initialized" | "server/discover");
        let is_nameless = message["id"].is_null() && method != "notifications/initialized";
        if header("origin").is_some() {
            Some(Given { status: Some(403), ..Given::default() })
        } else if header("mcp-protocol-version").is_some_and(|date| date != like && date != "2026-07-28") {
            Some(status(400, if is_modern { -32022 } else { -32600 }))
        } else if header("mcp-method").is_some_and(|named| named != method) {
            Some(status(400, -32020))
        } else if is_nameless || (is_early && !*self.stands.lock().unwrap()) {
            Some(status(400, -32600))
        } else {
            None
        }
    }

    fn given(&self, method: &str, headers: &HeaderMap) -> Given {
        let fixture = &self.fixture;
        if let Some(given) = fixture.answers.get(method) {
            return given.clone();
        }
        let in_order = fixture.like.as_deref().and_then(|date| self.in_order(date, method, headers));
        in_order.or_else(|| fixture.answers.get("*").cloned()).unwrap_or_else(|| status(404, -32601))
    }

    /// What a server of `date` that is in order says.
    fn in_order(&self, date: &str, method: &str, headers: &HeaderMap) -> Option<Given> {
        let is_modern = date == "2026-07-28";
        let result = |result: Value| Some(Given { result: Some(result), ..Given::default() });
        match method {
            "server/discover" if is_modern => result(self.handshake(date)),
            "initialize" if !is_modern => {
                let mut given = Given { result: Some(self.handshake(date)), ..Given::default() };
                let mut opened = self.opened.lock().unwrap();
                let id = self.fixture.sessions.get(*opened).or(self.fixture.sessions.last());
                given.headers.extend(id.map(|id| ("mcp-session-id".to_owned(), id.clone())));
                *opened += 1;
                *self.stands.lock().unwrap() = false;
                Some(given)
            }
            "notifications/initialized" => {
                *self.stands.lock().unwrap() = true;
                Some(Given { status: Some(202), ..Given::default() })
            }
            "tools/list" => result(self.tools(is_modern, headers)),
            "GET" | "DELETE" => Some(Given { status: Some(405), ..Given::default() }),
            _ => None,
        }
    }

    fn handshake(&self, date: &str) -> Value {
        let icons = json!([{"src": "https://ledger.example/icon.png"}]);
        let mut info = json!({"name": "ledger", "version": "1.2.3", "title": "Ledger", "description": "Keeps books.",
            "icons": icons, "websiteUrl": "https://ledger.example"});
        lay(&mut info, &self.fixture.info);
        let mut result = json!({"capabilities": {"tools": {}}, "instructions": "Amounts are in cents."});
        let of_date = if date == "2026-07-28" {
            json!({"resultType": "complete", "supportedVersions": [date], "ttlMs": 60000, "cacheScope": "public",
                "_meta": {"io.modelcontextprotocol/serverInfo": info}})
        } else {
            json!({"protocolVersion": date, "serverInfo": info})
        };
        result.as_object_mut().unwrap().extend(of_date.as_object().unwrap().clone());
        lay(&mut result, &self.fixture.says);
        result
    }

    fn tools(&self, is_modern: bool, headers: &HeaderMap) -> Value {
        let tool = |name: &str| json!({"name": name, "description": "Does it.", "inputSchema": {"type": "object"}});
        let mut tools = vec![tool("list_invoices")];
        let session = headers.get("mcp-session-id").and_then(|id| id.to_str().ok());
        if self.fixture.varies && session != self.fixture.sessions.first().map(String::as_str) {
            tools.push(tool("get_invoice"));
        }
        let mut result = json!({ "tools": tools });
        if is_modern {
            let hints = json!({"resultType": "complete", "ttlMs": 60000, "cacheScope": "public"});
            result.as_object_mut().unwrap().extend(hints.as_object().unwrap().clone());
        }
        lay(&mut result, &self.fixture.lists);
        result
    }
}

/// Lays `members` over `value`; null takes one away.
fn lay(value: &mut Value, members: &BTreeMap<String, Value>) {
    let object = value.as_object_mut().unwrap();
    for (name, member) in members {
        if member.is_null() {
            object.remove(name);
        } else {
            object.insert(name.clone(), member.clone());
        }
    }
}
