//! An HTTP server of the test's own that can go down and come back on the same port.

use std::net::TcpStream;

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::ports::free_port;
use super::until;

/// A server on a loopback port that stays its own. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Server {
    host: &'static str,
    port: u16,
    router: Router,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    stop: CancellationToken,
    /// Ended by [`Running::stop`], or aborted when dropped.
    _task: JoinSet<()>,
}

impl Server {
    /// A server that is up.
    pub(crate) async fn start(router: Router) -> Self {
        Self::start_on("127.0.0.1", router).await
    }

    /// A server that is up at this loopback address.
    pub(crate) async fn start_on(host: &'static str, router: Router) -> Self {
        let mut server = Self { host, port: free_port(), router, running: None };
        server.up().await;
        server
    }

    /// Its host.
    pub(crate) const fn host(&self) -> &'static str {
        self.host
    }

    /// Its port.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Answers by another router from the next [`Server::up`] on.
    pub(crate) fn replace(&mut self, router: Router) {
        self.router = router;
    }

    /// Opens the port, unless it is open.
    pub(crate) async fn up(&mut self) {
        if self.running.is_some() {
            return;
        }
        let listener = TcpListener::bind((self.host, self.port)).await.unwrap();
        let stop = CancellationToken::new();
        let serving = axum::serve(listener, self.router.clone()).with_graceful_shutdown(stop.clone().cancelled_owned());
        let mut task = JoinSet::new();
        task.spawn(async move { serving.await.unwrap() });
        self.running = Some(Running { stop, _task: task });
    }

    /// Closes the port: from its return on, connections are refused. Idle ones are closed, a request under way ends.
    pub(crate) async fn down(&mut self) {
        let Some(running) = self.running.take() else { return };
        running.stop.cancel();
        let at = (self.host, self.port);
        until("the port closes", || TcpStream::connect(at).is_err().then_some(())).await;
    }
}
