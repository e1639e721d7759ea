//! Serving that ends, and that nobody can use up.
//!
//! Connections are capped in number, in how long they may take to say what they want, and in how long they last; and
//! whoever holds one open does not hold up a stop.

use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// What one listener gives away.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at a time; further ones wait to be accepted.
    pub connections: usize,
    /// From the beginning of a connection, or the end of a request on it, to the whole head of the next.
    pub head: Duration,
    /// How long a connection lasts, whatever goes on in it.
    pub life: Duration,
    /// How long requests under way may hold up a stop.
    pub grace: Duration,
}

/// Serves `router` until `stop` completes, and then for at most the limits' grace.
///
/// Requests under way are answered, half a request that never becomes a whole one is left. `dress` adds to the router
/// what a connection says of itself. Where no descriptor is left, accepting waits (a second, in axum's [`Listener`]s)
/// and goes on.
pub async fn serve<L: Listener>(
    mut listener: L,
    router: Router,
    dress: impl Fn(Router, &L::Io) -> Router,
    limits: Limits,
    stop: impl Future<Output = ()> + Send,
) {
    let mut open = JoinSet::new();
    let asked = CancellationToken::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(_) = open.join_next() => {}
            (io, _) = listener.accept(), if open.len() < limits.connections => {
                let router = dress(router.clone(), &io);
                open.spawn(connection(TokioIo::new(io), router, limits, asked.clone()));
            }
        }
    }
    drop(listener);
    asked.cancel();
    let drained = async { while open.join_next().await.is_some() {} };
    // What is left when it runs out is dropped with the set.
    let _ = tokio::time::timeout(limits.grace, drained).await;
}

async fn connection<I>(io: TokioIo<I>, router: Router, limits: Limits, stop: CancellationToken)
where
    I: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head);
    let mut serving = std::pin::pin!(builder.serve_connection(io, TowerToHyperService::new(router)));
    let late = tokio::time::sleep(limits.life);
    // How a connection ended is its client's to know.
    tokio::select! {
        _ = serving.as_mut() => return,
        () = late => return,
        () = stop.cancelled() => serving.as_mut().graceful_shutdown(),
    }
    let _ = serving.await;
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);
    const GENEROUS: Limits = Limits { connections: 8, head: PATIENCE, life: PATIENCE, grace: PATIENCE };

    /// A server of one page, and one that never ends; its end tells when it was stopped.
    async fn server(limits: Limits) -> (std::net::SocketAddr, CancellationToken, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new()
            .route("/", get(async || "ok\n"))
            .route("/stuck", get(async || std::future::pending::<&str>().await));
        let stop = CancellationToken::new();
        let mut running = JoinSet::new();
        let asked = stop.clone().cancelled_owned();
        running.spawn(serve(listener, router, |router, _| router, limits, asked));
        (address, stop, running)
    }

    async fn ask(address: std::net::SocketAddr, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    async fn whole(mut stream: TcpStream) -> String {
        let mut answer = String::new();
        tokio::time::timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        answer
    }

    #[tokio::test]
    async fn half_a_request_is_closed_and_gives_its_place_to_the_next() {
        let limits = Limits { connections: 1, head: Duration::from_millis(50), ..GENEROUS };
        let (address, _stop, _running) = server(limits).await;
        let mut half = TcpStream::connect(address).await.unwrap();
        half.write_all(b"GET / HT").await.unwrap();
        let answer = whole(ask(address, "/").await).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(!whole(half).await.starts_with("HTTP/1.1 200"), "and the half one got no page");
    }

    #[tokio::test]
    async fn a_connection_ends_with_its_time_whatever_goes_on_in_it() {
        let (address, _stop, _running) = server(Limits { life: Duration::from_millis(50), ..GENEROUS }).await;
        assert_eq!(whole(ask(address, "/stuck").await).await, "");
    }

    #[tokio::test]
    async fn what_never_drains_is_left_after_the_grace() {
        let (address, stop, mut running) = server(Limits { grace: Duration::from_millis(10), ..GENEROUS }).await;
        let stuck = ask(address, "/stuck").await;
        // It is being served once another one, asked later, has been.
        whole(ask(address, "/").await).await;
        stop.cancel();
        tokio::time::timeout(PATIENCE, running.join_next()).await.unwrap().unwrap().unwrap();
        assert_eq!(whole(stuck).await, "");
    }

    #[tokio::test]
    async fn what_is_idle_is_not_waited_for() {
        let (address, stop, mut running) = server(Limits { grace: PATIENCE * 2, ..GENEROUS }).await;
        whole(ask(address, "/").await).await;
        stop.cancel();
        tokio::time::timeout(PATIENCE, running.join_next()).await.unwrap().unwrap().unwrap();
    }
}
