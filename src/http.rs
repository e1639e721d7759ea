//! `metrics_listen`: `/metrics`, `/-/healthy`, `/-/ready`; open, and nothing that changes anything.
//!
//! Requests whose `Host` is neither an address we listen on nor localhost are refused (DNS rebinding).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::metrics::{Metrics, TargetGauges};
use crate::pulse::Pulses;
use crate::serving::{self, Limits};

pub mod listen;

/// A scraper or two, a service manager and whoever looks; a scrape takes a second.
const LIMITS: Limits = Limits {
    connections: 64,
    head: Duration::from_secs(30),
    life: Duration::from_mins(5),
    grace: Duration::from_secs(2),
};

/// What the listener shows.
#[derive(Clone)]
pub struct Shown {
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// What describes targets, gathered at each scrape.
    pub gauges: Arc<dyn GaugeSource>,
    /// Whether the daemon is ready, and why not.
    pub ready: watch::Receiver<Readiness>,
    /// Whether its tasks move.
    pub pulses: Pulses,
}

impl std::fmt::Debug for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shown").finish_non_exhaustive()
    }
}

/// Gathers what describes targets.
pub trait GaugeSource: Send + Sync {
    /// The gauges of this moment; `None` when the store cannot be read.
    fn gather(&self) -> std::pin::Pin<Box<dyn Future<Output = Option<TargetGauges>> + Send + '_>>;
}

/// Whether the daemon is ready to be relied on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Still starting.
    Starting,
    /// Ready.
    Ready,
    /// Not ready, and why.
    Failing(String),
}

/// Serves until `stop` completes.
///
/// # Errors
/// When accepting fails for good.
pub async fn serve(
    listener: TcpListener,
    shown: Shown,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let address = listener.local_addr()?;
    let router = Router::new()
        .route("/metrics", get(metrics))
        .route("/-/healthy", get(healthy))
        .route("/-/ready", get(ready))
        .with_state(shown)
        .layer(from_fn_with_state(address, only_our_host));
    serving::serve(listener, router, |router, _| router, LIMITS, stop).await;
    Ok(())
}

async fn metrics(State(shown): State<Shown>) -> Response {
    let gauges = shown.gauges.gather().await.unwrap_or_else(|| {
        shown.metrics.store_errors.with_label_values(&["gauges"]).inc();
        TargetGauges::default()
    });
    match shown.metrics.exposition(gauges) {
        Ok(text) => ([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

/// Whether a restart would mend anything: not what is slow or full, only what stands still.
async fn healthy(State(shown): State<Shown>) -> Response {
    match shown.pulses.stuck(Instant::now()) {
        None => "ok\n".into_response(),
        Some(stuck) => (StatusCode::SERVICE_UNAVAILABLE, format!("{stuck}\n")).into_response(),
    }
}

async fn ready(State(shown): State<Shown>) -> Response {
    let readiness = shown.ready.borrow().clone();
    match readiness {
        Readiness::Ready => "ready\n".into_response(),
        Readiness::Starting => (StatusCode::SERVICE_UNAVAILABLE, "starting\n".to_owned()).into_response(),
        Readiness::Failing(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn only_our_host(State(address): State<SocketAddr>, request: Request, next: Next) -> Response {
    // Each of them: the target of the request goes before the field, and a second field is a trick.
    let is_named_ours = |host: &HeaderValue| host.to_str().is_ok_and(|host| is_ours(host, address));
    let asks_us = request.uri().authority().is_none_or(|authority| is_ours(authority.as_str(), address));
    if asks_us && request.headers().get_all(header::HOST).iter().all(is_named_ours) {
        next.run(request).await
    } else {
        (StatusCode::MISDIRECTED_REQUEST, "this Host is not served here\n").into_response()
    }
}

/// Whether `host` (with or without a port) is an address we listen on, or localhost. A listener on all addresses is
/// asked by any literal address.
fn is_ours(host: &str, address: SocketAddr) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        Some(_) | None => host,
    };
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    let literal: Option<IpAddr> = bare.parse().ok();
    name.eq_ignore_ascii_case("localhost")
        || literal.is_some_and(|literal| address.ip().is_unspecified() || literal == address.ip())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[test]
    fn a_foreign_host_is_not_ours() {
        let local: SocketAddr = "127.0.0.1:7439".parse().unwrap();
        let everywhere: SocketAddr = "[::]:7439".parse().unwrap();
        for (host, address, ours) in [
            ("127.0.0.1:7439", local, true),
            ("localhost", local, true),
            ("LOCALHOST:1", local, true),
            ("evil.example:7439", local, false),
            ("10.0.0.1:7439", local, false),
            ("10.0.0.1:7439", everywhere, true),
            ("[::1]:7439", everywhere, true),
            ("[::1]", everywhere, true),
            ("127.0.0.1.evil.example", everywhere, false),
            ("[[127.0.0.1]]", local, false),
            ("user@localhost", local, false),
            ("", local, false),
        ] {
            assert_eq!(is_ours(host, address), ours, "{host} on {address}");
        }
    }

    #[tokio::test]
    async fn no_spelling_of_a_foreign_host_is_served() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router =
            Router::new().route("/-/healthy", get(async || "ok\n")).layer(from_fn_with_state(address, only_our_host));
        let mut server = tokio::task::JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await });
        for (target, fields, served) in [
            ("/-/healthy", &b"Host: localhost\r\n"[..], true),
            ("http://localhost/-/healthy", b"Host: localhost\r\n", true),
            ("http://evil.example/-/healthy", b"Host: localhost\r\n", false),
            ("/-/healthy", b"Host: \xff\xfe.example\r\n", false),
            ("/-/healthy", b"Host: localhost\r\nHost: evil.example\r\n", false),
        ] {
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            let request = [b"GET ", target.as_bytes(), b" HTTP/1.1\r\nConnection: close\r\n", fields, b"\r\n"].concat();
            stream.write_all(&request).await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            assert_eq!(answer.starts_with(b"HTTP/1.1 200"), served, "{}", String::from_utf8_lossy(&request));
        }
    }
}
