//! One fixed address in front of a server that the test swaps: what an upgrade looks like from outside.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::server::Server;

/// Forwards each request to the server behind it, over a connection of its own; 502 while there is none.
#[derive(Debug)]
pub(crate) struct Front {
    server: Server,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    behind: Mutex<Option<u16>>,
    requests: AtomicU64,
    /// Drives the connections to the server behind; a body may still be on its way when its request is answered.
    connections: Mutex<JoinSet<()>>,
}

impl Front {
    /// A front of the server on loopback port `behind`.
    pub(crate) async fn of(behind: u16) -> Self {
        let shared = Arc::new(Shared { behind: Mutex::new(Some(behind)), ..Shared::default() });
        let router = Router::new().fallback(forward).with_state(Arc::clone(&shared));
        Self { server: Server::start(router).await, shared }
    }

    /// The MCP endpoint, the same whatever is behind.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.server.port())
    }

    /// Another place at the same address.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.server.port())
    }

    /// From the next request on, another server answers.
    pub(crate) fn swap(&self, behind: u16) {
        *self.shared.behind.lock().unwrap_or_else(PoisonError::into_inner) = Some(behind);
    }

    /// How many requests came so far.
    pub(crate) fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::SeqCst)
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

async fn forward(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    shared.requests.fetch_add(1, Ordering::SeqCst);
    let behind = *shared.behind.lock().unwrap_or_else(PoisonError::into_inner);
    match behind {
        Some(port) => pass(&shared, port, request).await.unwrap_or_else(|problem| bad_gateway(&problem)),
        None => bad_gateway("nothing is behind"),
    }
}

/// The `Host` stays what the client wrote, so that a redirect leads back here.
async fn pass(shared: &Shared, port: u16, request: Request) -> Result<Response, String> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    {
        let mut connections = shared.connections.lock().unwrap_or_else(PoisonError::into_inner);
        while connections.try_join_next().is_some() {}
        connections.spawn(async move {
            // A connection that breaks shows in the response's body.
            let _ = connection.await;
        });
    }
    let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
    Ok(response.map(Body::new))
}

fn bad_gateway(problem: &str) -> Response {
    (StatusCode::BAD_GATEWAY, format!("front: {problem}")).into_response()
}
