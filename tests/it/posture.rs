//! A check that gets worse than it was at the baseline is told once, unless another drift tells the same change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::Response;
use driftd::operations::document::Incident;
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use crate::support::daemon::{Daemon, Home};
use crate::support::server::Server;
use crate::support::webhook::Hook;

const WEAK: &str = "x.posture-regressed high";

/// A server of 2025-11-25, what it shows and how it names its sessions.
#[derive(Debug)]
struct Shown {
    /// Its sessions have one id, else each has one that says nothing of the others.
    weak: bool,
    icons: Value,
    opened: u64,
}

type Stage = Arc<Mutex<Shown>>;

async fn served() -> (Server, Stage, String) {
    let icons = json!([{"src": "https://ledger.example/icon.png"}]);
    let stage = Arc::new(Mutex::new(Shown { weak: false, icons, opened: 0 }));
    let server = Server::start(Router::new().fallback(answer).with_state(Arc::clone(&stage))).await;
    let url = format!("http://127.0.0.1:{}/mcp", server.port());
    (server, stage, url)
}

async fn answer(State(stage): State<Stage>, verb: Method, _: HeaderMap, body: Bytes) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut shown = stage.lock().unwrap();
    let mut response = Response::builder().header("content-type", "application/json");
    let result = match message["method"].as_str().unwrap_or(verb.as_str()) {
        "initialize" => {
            shown.opened += 1;
            let drawn = shown.opened.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let id = if shown.weak { 0 } else { drawn };
            response = response.header("mcp-session-id", format!("{id:016x}{:016x}", id.rotate_left(29)));
            let info = json!({"name": "ledger", "version": "1.2.3", "title": "Ledger", "description": "Keeps books.",
                "icons": shown.icons, "websiteUrl": "https://ledger.example"});
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info,
                "instructions": "Amounts are in cents."})
        }
        "tools/list" => json!({"tools": [{"name": "list_invoices", "description": "Lists them.",
            "inputSchema": {"type": "object"}}]}),
        "notifications/initialized" => return response.status(202).body(Bytes::new().into()).unwrap(),
        "GET" | "DELETE" => return response.status(405).body(Bytes::new().into()).unwrap(),
        _ => {
            let error = json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}});
            return response.body(error.to_string().into()).unwrap();
        }
    };
    response.body(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string().into()).unwrap()
}

fn home(url: &str, hook: &Hook) -> Home {
    crate::sight::home_with(url, hook, "every: 24h, timeout: 5s, scan_timeout: 30s")
}

fn rules(incidents: &[Incident]) -> Vec<String> {
    let units = incidents.iter().flat_map(|incident| incident.units.iter());
    let rule = |rule: &str| rule.split('/').next().unwrap_or_default().to_owned();
    units.map(|unit| format!("{} {}", rule(&unit.rule), unit.severity)).collect()
}

/// Scans until what is shown is confirmed, with a look at everything.
async fn confirm(daemon: &Daemon) {
    daemon.advance(Duration::from_hours(7));
    daemon.scan("peer").await;
    for _ in 0..2 {
        daemon.advance(Duration::from_mins(5));
        daemon.scan("peer").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn session_ids_that_become_weak_are_told_once_over_a_restart_and_end_when_they_are_not() {
    let (_server, stage, url) = served().await;
    let hook = Hook::start().await;
    let home = home(&url, &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    confirm(&daemon).await;
    assert_eq!(rules(&daemon.drifts().await), [""; 0]);
    stage.lock().unwrap().weak = true;
    daemon.advance(Duration::from_hours(7));
    daemon.scan("peer").await;
    let now = daemon.now();
    daemon.stop().await;
    // Half confirmed, it is taken up where it was.
    let daemon = Daemon::start_at(&home, now + Duration::from_mins(5)).await;
    daemon.scan("peer").await;
    daemon.advance(Duration::from_mins(5));
    daemon.scan("peer").await;
    let incidents = daemon.incidents().await;
    assert_eq!(rules(&incidents), [WEAK]);
    let title = &incidents[0].units[0].title;
    assert!(title.contains("session id"), "the check's own title: {title}");
    let told = &hook.wait_for(1).await[0];
    assert_eq!((told.kind(), &told.body["data"]["severity"]), ("drift.opened", &"high".into()));
    let text = told.body.to_string();
    assert!(text.contains("two sessions have one id") && text.contains("remedy: "), "{text}");
    let why = home.driftd(&["why", &incidents[0].reference]).await;
    let shown = home.driftd(&["drift", "show", &incidents[0].reference]).await;
    for page in [&why, &shown] {
        let page = String::from_utf8_lossy(&page.stdout).into_owned();
        assert!(page.contains("session id"), "{page}");
    }
    confirm(&daemon).await;
    assert_eq!(hook.deliveries().len(), 1, "told once");
    stage.lock().unwrap().weak = false;
    confirm(&daemon).await;
    assert_eq!(rules(&daemon.drifts().await), [""; 0]);
    assert_eq!(hook.wait_for(2).await[1].body["data"]["incident"]["reason"], "reverted");
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_accepted_is_quiet_until_it_was_better_for_a_day() {
    let (_server, stage, url) = served().await;
    let hook = Hook::start().await;
    let home = home(&url, &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    stage.lock().unwrap().weak = true;
    confirm(&daemon).await;
    let incidents = daemon.incidents().await;
    assert_eq!(rules(&incidents), [WEAK]);
    let accepted = home.driftd(&["drift", "accept", &incidents[0].reference, "--reason", "behind our gateway"]).await;
    assert!(accepted.status.success(), "{}", String::from_utf8_lossy(&accepted.stderr));
    confirm(&daemon).await;
    assert_eq!(rules(&daemon.drifts().await), [""; 0]);
    // It wavers.
    for weak in [false, true] {
        stage.lock().unwrap().weak = weak;
        confirm(&daemon).await;
        assert_eq!(rules(&daemon.drifts().await), [""; 0]);
    }
    stage.lock().unwrap().weak = false;
    confirm(&daemon).await;
    daemon.advance(Duration::from_hours(24));
    confirm(&daemon).await;
    stage.lock().unwrap().weak = true;
    confirm(&daemon).await;
    assert_eq!(rules(&daemon.incidents().await), [WEAK]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_drift_tells_is_told_by_that_alone_and_accepted_with_it() {
    let (_server, stage, url) = served().await;
    let hook = Hook::start().await;
    let home = home(&url, &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    stage.lock().unwrap().icons = json!([{"sizes": ["48x48"]}]);
    confirm(&daemon).await;
    let incidents = daemon.incidents().await;
    let units: BTreeMap<&str, &str> =
        incidents.iter().flat_map(|it| &it.units).map(|unit| (unit.rule.as_str(), unit.title.as_str())).collect();
    assert_eq!(units.keys().copied().collect::<Vec<_>>(), ["mcp.server-icons-changed"], "{units:?}");
    let accepted = home.driftd(&["drift", "accept", &incidents[0].reference, "--reason", "new logo"]).await;
    assert!(accepted.status.success(), "{}", String::from_utf8_lossy(&accepted.stderr));
    confirm(&daemon).await;
    assert_eq!(rules(&daemon.drifts().await), [""; 0]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_knows_no_verdicts_or_those_of_other_rules_records_them_and_tells_nothing() {
    let (_server, stage, url) = served().await;
    let hook = Hook::start().await;
    let home = home(&url, &hook);
    let mut daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    for forgotten in ["json_remove(scans, '$.posture')", "json_set(scans, '$.ours.rules', '000000000000')"] {
        let now = daemon.now();
        daemon.stop().await;
        let mut store = sqlx::ConnectOptions::connect(
            &sqlx::sqlite::SqliteConnectOptions::new().filename(home.path().join("driftd.db")),
        )
        .await
        .unwrap();
        let changed = sqlx::raw_sql(sqlx::AssertSqlSafe(format!("UPDATE memory SET scans = {forgotten}")))
            .execute(&mut store)
            .await;
        assert_eq!(changed.unwrap().rows_affected(), 1);
        sqlx::Connection::close(store).await.unwrap();
        stage.lock().unwrap().weak = true;
        daemon = Daemon::start_at(&home, now + Duration::from_mins(5)).await;
        confirm(&daemon).await;
        assert_eq!(rules(&daemon.drifts().await), [""; 0], "{forgotten}");
        stage.lock().unwrap().weak = false;
        confirm(&daemon).await;
        daemon.advance(Duration::from_hours(25));
        confirm(&daemon).await;
    }
    // From there it is held to what it was then.
    stage.lock().unwrap().weak = true;
    confirm(&daemon).await;
    assert_eq!(rules(&daemon.incidents().await), [WEAK]);
    daemon.stop().await;
}
