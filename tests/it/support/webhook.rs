//! A webhook receiver that checks Standard Webhooks signatures by itself, from the specification.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, StatusCode};
use sha2::Sha256;

use super::server::Server;
use super::until;

/// One request that was answered with success.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    /// `webhook-id`.
    pub(crate) id: String,
    /// `webhook-timestamp`, in seconds.
    pub(crate) timestamp: i64,
    /// Whether a signature was there and right.
    pub(crate) signed: bool,
    /// The body.
    pub(crate) body: serde_json::Value,
}

impl Delivery {
    /// The body's `type`.
    pub(crate) fn kind(&self) -> &str {
        self.body["type"].as_str().unwrap_or_default()
    }
}

/// The receiver.
#[derive(Debug)]
pub(crate) struct Hook {
    server: Server,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    key: Vec<u8>,
    state: Mutex<Records>,
}

#[derive(Debug, Default)]
struct Records {
    refusing: Option<StatusCode>,
    /// Seconds of `Retry-After` beside it.
    asking: Option<u32>,
    kept: Vec<Delivery>,
    /// Reports of a first round: every daemon sends one within its first minutes, at no moment that a test names.
    reports: Vec<Delivery>,
    /// `webhook-id` of each request, refused ones included.
    tries: Vec<String>,
}

impl Hook {
    /// A receiver that is up and accepts.
    pub(crate) async fn start() -> Self {
        let key: [u8; 24] = *b"the test's signing key.!";
        let shared = Arc::new(Shared { key: key.to_vec(), state: Mutex::default() });
        let router = Router::new().fallback(receive).with_state(Arc::clone(&shared));
        Self { server: Server::start(router).await, shared }
    }

    /// Where to send.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.server.port())
    }

    /// The signing key as a receiver's configuration takes it.
    pub(crate) fn secret(&self) -> String {
        format!("whsec_{}", STANDARD.encode(&self.shared.key))
    }

    /// Answers each request with `status` and keeps none, until [`Hook::accept`].
    pub(crate) fn refuse(&self, status: StatusCode) {
        self.shared.lock().refusing = Some(status);
    }

    /// The same, and asks to be tried again after so many seconds.
    pub(crate) fn refuse_for(&self, status: StatusCode, seconds: u32) {
        let mut state = self.shared.lock();
        (state.refusing, state.asking) = (Some(status), Some(seconds));
    }

    /// Accepts again.
    pub(crate) fn accept(&self) {
        let mut state = self.shared.lock();
        (state.refusing, state.asking) = (None, None);
    }

    /// Connections are refused from here on.
    pub(crate) async fn down(&mut self) {
        self.server.down().await;
    }

    /// It is back at the same address.
    pub(crate) async fn up(&mut self) {
        self.server.up().await;
    }

    /// Reports of first rounds, in order.
    pub(crate) fn reports(&self) -> Vec<Delivery> {
        self.shared.lock().reports.clone()
    }

    /// What was kept so far, in order; reports of first rounds apart.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        self.shared.lock().kept.clone()
    }

    /// The types of what was delivered, in order.
    pub(crate) fn kinds(&self) -> Vec<String> {
        self.deliveries().iter().map(|delivery| delivery.kind().to_owned()).collect()
    }

    /// `webhook-id` of each request so far, refused ones included.
    pub(crate) fn tries(&self) -> Vec<String> {
        self.shared.lock().tries.clone()
    }

    /// Waits until at least `count` were kept, and gives them all.
    pub(crate) async fn wait_for(&self, count: usize) -> Vec<Delivery> {
        let what = format!("{count} webhooks arrive");
        until(&what, || Some(self.deliveries()).filter(|kept| kept.len() >= count)).await
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Records> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`; any one right `v1` signature of the list is enough.
    fn verifies(&self, headers: &HeaderMap, body: &[u8]) -> bool {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let mut signed = format!("{}.{}.", text("webhook-id"), text("webhook-timestamp")).into_bytes();
        signed.extend_from_slice(body);
        text("webhook-signature").split(' ').any(|entry| {
            let Some(signature) = entry.strip_prefix("v1,").and_then(|code| STANDARD.decode(code).ok()) else {
                return false;
            };
            let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).unwrap();
            mac.update(&signed);
            mac.verify_slice(&signature).is_ok()
        })
    }
}

async fn receive(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> (StatusCode, HeaderMap) {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let signed = shared.verifies(&headers, &body);
    let mut state = shared.lock();
    let document = serde_json::from_slice::<serde_json::Value>(&body);
    let of_first_round = document.as_ref().is_ok_and(is_of_first_round);
    if !of_first_round {
        state.tries.push(text("webhook-id"));
    }
    if let Some(status) = state.refusing {
        let asking = state.asking.map(|seconds| (http::header::RETRY_AFTER, seconds.into()));
        return (status, asking.into_iter().collect());
    }
    let Ok(document) = document else {
        return (StatusCode::BAD_REQUEST, HeaderMap::new());
    };
    let timestamp = text("webhook-timestamp").parse().unwrap_or_default();
    let delivery = Delivery { id: text("webhook-id"), timestamp, signed, body: document };
    if of_first_round {
        state.reports.push(delivery);
    } else {
        state.kept.push(delivery);
    }
    (StatusCode::NO_CONTENT, HeaderMap::new())
}

fn is_of_first_round(document: &serde_json::Value) -> bool {
    document["type"] == "fleet.report" && document["data"]["headline"].as_str().is_some_and(super::is_of_first_round)
}
