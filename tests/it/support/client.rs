//! A client of a few lines, independent of the prober: what a server says of itself when asked by hand.

use http::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

use super::PATIENCE;

/// Speaks to one endpoint.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    session: Option<String>,
    date: String,
    modern: bool,
}

/// An answer over HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The status, after redirects.
    pub(crate) status: u16,
    /// The JSON-RPC message; null if there was none.
    pub(crate) message: Value,
    /// Where it came from, after redirects.
    pub(crate) url: String,
    session: Option<String>,
}

impl Client {
    /// A client of `url`.
    pub(crate) fn of(url: &str) -> Self {
        // Fails when another test was first, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().timeout(PATIENCE).no_proxy().build().unwrap();
        Self { http, url: url.to_owned(), session: None, date: String::new(), modern: false }
    }

    /// Asks `server/discover`.
    pub(crate) async fn discover(&mut self) -> Answer {
        self.session = None;
        self.modern = true;
        self.date = "2026-07-28".to_owned();
        self.request("server/discover", json!({})).await
    }

    /// Asks `initialize`, offering `date`; on success goes on with what the server chose.
    pub(crate) async fn initialize(&mut self, date: &str) -> Answer {
        self.session = None;
        self.modern = false;
        self.date = String::new();
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": date, "capabilities": {}, "clientInfo": client});
        let answer = self.request("initialize", params).await;
        if let Some(chosen) = answer.message["result"]["protocolVersion"].as_str() {
            self.date = chosen.to_owned();
            self.session.clone_from(&answer.session);
            self.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), None).await;
        }
        answer
    }

    /// Sends a request of the era of the last handshake.
    pub(crate) async fn request(&self, method: &str, mut params: Value) -> Answer {
        if self.modern {
            params["_meta"] = modern_meta(&self.date);
        }
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(&message, self.modern.then_some(method)).await
    }

    /// All items of a list, in order.
    pub(crate) async fn list(&self, method: &str, array: &str) -> Vec<Value> {
        let mut items = Vec::new();
        let mut params = json!({});
        // More pages than any of our servers has.
        for _ in 0..100 {
            let answer = self.request(method, params).await;
            let page = answer.message["result"][array].as_array();
            items.extend(page.unwrap_or_else(|| panic!("{method} answered {answer:?}")).iter().cloned());
            match answer.message["result"].get("nextCursor") {
                Some(cursor) if !cursor.is_null() => params = json!({"cursor": cursor}),
                _ => return items,
            }
        }
        panic!("{method} has no end");
    }

    async fn post(&self, message: &Value, method: Option<&str>) -> Answer {
        let mut request = self
            .http
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(message.to_string());
        if let Some(method) = method {
            request = request.header("mcp-method", method);
        }
        if !self.date.is_empty() {
            request = request.header("mcp-protocol-version", &self.date);
        }
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        let response = request.send().await.unwrap();
        let session = response.headers().get("mcp-session-id").map(|value| value.to_str().unwrap().to_owned());
        let (status, url) = (response.status().as_u16(), response.url().to_string());
        let body = response.text().await.unwrap();
        Answer { status, message: message_of(&body), url, session }
    }
}

/// What each request of 2026-07-28 or later says of its client.
pub(crate) fn modern_meta(date: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": date,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// The JSON-RPC answer in a body of either framing.
fn message_of(body: &str) -> Value {
    let answers = |text: &str| serde_json::from_str(text).ok().filter(|message: &Value| message.get("id").is_some());
    let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
    std::iter::once(body).chain(events).find_map(answers).unwrap_or_default()
}
