//! A client of a few lines for the transports that keep one connection: HTTP+SSE and standard input and output.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::process::Stdio;

use http::header::{ACCEPT, CONTENT_TYPE};
use reqwest::Url;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::PATIENCE;
use super::client::modern_meta;

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Talk {
    way: Way,
    next: u64,
    modern: bool,
}

#[derive(Debug)]
enum Way {
    Sse { http: reqwest::Client, endpoint: Url, events: Events },
    Stdio { child: Child, input: ChildStdin, output: Lines<BufReader<ChildStdout>> },
}

impl Talk {
    /// Opens the stream at `url` and waits for where to post.
    pub(crate) async fn over_sse(url: &str) -> Self {
        // Fails when another test was first, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().read_timeout(PATIENCE).no_proxy().build().unwrap();
        let response = http.get(url).header(ACCEPT, "text/event-stream").send().await.unwrap();
        assert_eq!(response.status(), 200, "{url}");
        let mut events = Events { response, rest: Vec::new(), ready: VecDeque::new() };
        let endpoint = events.next().await;
        let endpoint = Url::parse(url).unwrap().join(&endpoint).unwrap();
        Self { way: Way::Sse { http, endpoint, events }, next: 1, modern: false }
    }

    /// Starts a program in an empty environment.
    pub(crate) fn with(argv: &[OsString]) -> Self {
        let mut child = Command::new(&argv[0])
            .args(&argv[1..])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { way: Way::Stdio { child, input, output }, next: 1, modern: false }
    }

    /// Asks `server/discover`; if that is answered, goes on at that date.
    pub(crate) async fn discover(&mut self) -> Value {
        self.modern = true;
        let answer = self.ask("server/discover").await;
        self.modern = answer.get("result").is_some();
        answer
    }

    /// Asks `initialize`, offering `date`.
    pub(crate) async fn initialize(&mut self, date: &str) -> Value {
        self.modern = false;
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": date, "capabilities": {}, "clientInfo": client});
        let answer = self.request("initialize", params).await;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        answer
    }

    /// How many tools it lists on its first page.
    pub(crate) async fn tools(&mut self) -> usize {
        let answer = self.ask("tools/list").await;
        answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("tools/list answered {answer}")).len()
    }

    /// Ends a program by closing its input.
    pub(crate) async fn close(self) {
        if let Way::Stdio { mut child, input, output } = self.way {
            drop((input, output));
            tokio::time::timeout(PATIENCE, child.wait()).await.expect("it ends with its input").unwrap();
        }
    }

    async fn ask(&mut self, method: &str) -> Value {
        let params = if self.modern { json!({"_meta": modern_meta("2026-07-28")}) } else { json!({}) };
        self.request(method, params).await
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        let answer = async {
            loop {
                let message = self.receive().await;
                if message["id"] == id && message.get("method").is_none() {
                    return message;
                }
            }
        };
        tokio::time::timeout(PATIENCE, answer).await.unwrap_or_else(|_| panic!("{method} is not answered"))
    }

    async fn send(&mut self, message: &Value) {
        match &mut self.way {
            Way::Sse { http, endpoint, events: _ } => {
                let post = http.post(endpoint.clone()).header(CONTENT_TYPE, "application/json");
                let answer = post.body(message.to_string()).send().await.unwrap();
                assert!(answer.status().is_success(), "{message}: {answer:?}");
            }
            Way::Stdio { input, .. } => input.write_all(format!("{message}\n").as_bytes()).await.unwrap(),
        }
    }

    async fn receive(&mut self) -> Value {
        let text = match &mut self.way {
            Way::Sse { events, .. } => events.next().await,
            Way::Stdio { output, .. } => output.next_line().await.unwrap().expect("its output goes on"),
        };
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

/// The data of the events of a stream; each of our servers writes an event's data in one line.
#[derive(Debug)]
struct Events {
    response: reqwest::Response,
    rest: Vec<u8>,
    ready: VecDeque<String>,
}

impl Events {
    async fn next(&mut self) -> String {
        loop {
            if let Some(data) = self.ready.pop_front() {
                return data;
            }
            self.rest.extend(self.response.chunk().await.unwrap().expect("the stream goes on"));
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                let line = String::from_utf8(line).unwrap();
                self.ready.extend(line.strip_prefix("data:").map(|data| data.trim().to_owned()));
            }
        }
    }
}
