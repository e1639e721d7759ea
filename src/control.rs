//! The control socket: HTTP on a Unix socket. Access to it is the right to decide; the kernel names the person.
//!
//! One route, `POST /v1`, takes an [`operations::Request`](crate::operations::Request) and answers with an
//! [`operations::Answer`](crate::operations::Answer), or with [`Refused`] under a 4xx or 5xx.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{ConnectInfo, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::unix::UCred;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::MissedTickBehavior;

use crate::operations::{Answer, Office, Refused, Request};
use crate::serving::{self, Limits};

/// As many as people and scripts need; a connection may wait for a scan, and what it waits for still runs while it
/// holds up a stop.
const LIMITS: Limits = Limits {
    connections: 64,
    head: Duration::from_secs(10),
    life: Duration::from_hours(2),
    grace: Duration::from_secs(5),
};

/// How often it is looked whether the path still leads to our socket.
const LOOK: Duration = Duration::from_secs(3);

/// Answers of the daemon are at most this long.
const MAX_ANSWER: usize = 256 << 20;

/// A bound control socket.
#[derive(Debug)]
pub struct Control {
    listener: Lasting,
}

/// The file of a control socket; it is removed when this is dropped, which is after the store is closed: who comes
/// later finds neither.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    ours: Arc<Mutex<Option<Identity>>>,
}

/// A socket in the file system: device and inode.
type Identity = (u64, u64);

fn identity(path: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

/// A listener that binds its path anew when the file is gone or is another one: whoever tidies up would else leave a
/// daemon that nobody can ask.
#[derive(Debug)]
struct Lasting {
    listener: UnixListener,
    path: PathBuf,
    ours: Arc<Mutex<Option<Identity>>>,
    look: tokio::time::Interval,
    /// It is told once that the path cannot be had.
    is_told: bool,
}

impl Lasting {
    /// Binds the path anew, if it does not lead to us.
    fn stand(&mut self) {
        let ours = *self.ours.lock().unwrap_or_else(PoisonError::into_inner);
        if ours.is_some() && identity(&self.path).ok() == ours {
            return;
        }
        match bind(&self.path) {
            Ok((listener, identity)) => {
                self.listener = listener;
                *self.ours.lock().unwrap_or_else(PoisonError::into_inner) = Some(identity);
                self.is_told = false;
                tracing::warn!(control = %self.path.display(), "the control socket was gone; it is bound anew");
            }
            Err(error) if !self.is_told => {
                self.is_told = true;
                tracing::error!(control = %self.path.display(), %error, "the control socket is gone and cannot be bound anew");
            }
            Err(_) => {}
        }
    }
}

impl axum::serve::Listener for Lasting {
    type Io = UnixStream;
    type Addr = tokio::net::unix::SocketAddr;

    async fn accept(&mut self) -> (UnixStream, Self::Addr) {
        loop {
            tokio::select! {
                accepted = axum::serve::Listener::accept(&mut self.listener) => return accepted,
                _ = self.look.tick() => {}
            }
            self.stand();
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

fn bind(path: &Path) -> io::Result<(UnixListener, Identity)> {
    use std::os::unix::fs::FileTypeExt as _;
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => {
            if std::os::unix::net::UnixStream::connect(path).is_ok() {
                return Err(io::Error::new(io::ErrorKind::AddrInUse, "another program listens on it"));
            }
            std::fs::remove_file(path)?;
        }
        Ok(_) => {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "something that is no socket stands there"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
    Ok((listener, identity(path)?))
}

impl Control {
    /// Binds `path` with mode 0660. A socket that a dead daemon left is replaced; one that somebody listens on is not:
    /// a daemon with another store may have been given the same path.
    ///
    /// # Errors
    /// When the path is taken by a living socket or by something that is no socket, or cannot be bound.
    pub fn bind(path: &Path) -> io::Result<(Self, SocketFile)> {
        let (listener, identity) = bind(path)?;
        let ours = Arc::new(Mutex::new(Some(identity)));
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let file = SocketFile { path: path.to_owned(), ours: Arc::clone(&ours) };
        Ok((Self { listener: Lasting { listener, path: path.to_owned(), ours, look, is_told: false } }, file))
    }

    /// Answers until `stop` completes; requests under way are answered first.
    ///
    /// # Errors
    /// When accepting fails for good.
    pub async fn serve(self, office: Arc<Office>, stop: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let listener = self.listener;
        let router = Router::new().route("/v1", post(answer)).with_state(office);
        let named = |router: Router, stream: &UnixStream| router.layer(Extension(ConnectInfo(Peer::of(stream))));
        serving::serve(listener, router, named, LIMITS, stop).await;
        Ok(())
    }
}

impl SocketFile {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = *self.ours.lock().unwrap_or_else(PoisonError::into_inner);
        // Another one may have come to its place, which is not ours to remove.
        if identity(&self.path).ok() == ours {
            // Nothing more can be done when this fails; the next start replaces the file.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Who is at the other end of the socket.
#[derive(Clone, Debug)]
struct Peer(Option<UCred>);

impl Peer {
    fn of(stream: &UnixStream) -> Self {
        Self(stream.peer_cred().ok())
    }
}

/// `person:NAME` of a user id; the number where it has no name.
pub fn person(uid: u32) -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::from_raw(uid)).ok().flatten();
    user.map_or_else(|| format!("person:uid-{uid}"), |user| format!("person:{}", user.name))
}

async fn answer(
    State(office): State<Arc<Office>>,
    ConnectInfo(Peer(peer)): ConnectInfo<Peer>,
    Json(request): Json<Request>,
) -> Response {
    let Some(peer) = peer else {
        let refused = Refused::Usage("the socket does not say who asks".to_owned());
        return (StatusCode::FORBIDDEN, Json(refused)).into_response();
    };
    match office.answer(request, &person(peer.uid())).await {
        Ok(answer) => Json(answer).into_response(),
        Err(refused) => (status(&refused), Json(refused)).into_response(),
    }
}

const fn status(refused: &Refused) -> StatusCode {
    match refused {
        Refused::NotFound(_) => StatusCode::NOT_FOUND,
        Refused::Usage(_) => StatusCode::BAD_REQUEST,
        Refused::Conflict(_) => StatusCode::CONFLICT,
        Refused::Mistakes(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Refused::Store(_) => StatusCode::INTERNAL_SERVER_ERROR,
        Refused::NeedsDaemon(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// Why the daemon could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nothing listens there.
    #[error("no daemon listens on {0}")]
    NoDaemon(PathBuf),
    /// It is there, and we may not.
    #[error("no right to use {0}: join the group that owns it, or ask as its user")]
    Forbidden(PathBuf),
    /// The conversation broke.
    #[error("the daemon on {path} broke off: {why}")]
    Broken {
        /// The socket.
        path: PathBuf,
        /// What happened.
        why: String,
    },
}

/// How long an answer may take: a scan, and a check of the whole store or its ledger, take their own time, all else is a look into the store.
const fn patience(request: &Request) -> Duration {
    if matches!(request, Request::ScanNow { .. } | Request::StoreCheck {} | Request::LedgerVerify {}) {
        Duration::from_hours(1)
    } else if matches!(request, Request::ReceiverTest { .. }) {
        // A mail may take a minute by itself.
        Duration::from_mins(2)
    } else {
        Duration::from_mins(1)
    }
}

/// Asks the daemon that listens on `path`.
///
/// # Errors
/// When it cannot be asked; what it refuses is the inner result.
pub async fn ask(path: &Path, request: &Request) -> Result<Result<Answer, Refused>, AskError> {
    let stream = UnixStream::connect(path).await.map_err(|error| {
        let kind = error.kind();
        if kind == io::ErrorKind::PermissionDenied {
            AskError::Forbidden(path.to_owned())
        } else if matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) {
            AskError::NoDaemon(path.to_owned())
        } else {
            AskError::Broken { path: path.to_owned(), why: error.to_string() }
        }
    })?;
    let broken = |why: String| AskError::Broken { path: path.to_owned(), why };
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| broken(error.to_string()))?;
    let body = serde_json::to_vec(request).map_err(|error| broken(error.to_string()))?;
    let post = http::Request::post("/v1")
        .header(http::header::HOST, "driftd")
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(Full::new(bytes::Bytes::from(body)))
        .map_err(|error| broken(error.to_string()))?;
    let exchange = async {
        let response = sender.send_request(post).await.map_err(|error| broken(error.to_string()))?;
        let success = response.status().is_success();
        let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
        let body = body.map_err(|error| broken(error.to_string()))?.to_bytes();
        let read = if success { serde_json::from_slice(&body).map(Ok) } else { serde_json::from_slice(&body).map(Err) };
        read.map_err(|error| broken(format!("its answer is not one of this version's: {error}")))
    };
    let patience = patience(request);
    let exchange = async {
        let late = |_| broken(format!("no answer within {} s", patience.as_secs()));
        tokio::time::timeout(patience, exchange).await.map_err(late)?
    };
    let mut exchange = std::pin::pin!(exchange);
    let mut connection = std::pin::pin!(connection);
    // The connection moves the bytes; it may end before the answer is read to its end, never the other way round.
    tokio::select! {
        answer = &mut exchange => answer,
        ended = &mut connection => {
            ended.map_err(|error| broken(error.to_string()))?;
            exchange.await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_in_use_is_not_taken_and_a_dead_one_is() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("c.sock");
        let first = Control::bind(&path).unwrap();
        let refused = Control::bind(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        assert!(UnixStream::connect(&path).await.is_ok(), "the first still listens");
        drop(first);
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "as after kill -9");
        Control::bind(&path).unwrap();
    }

    #[tokio::test]
    async fn a_socket_that_is_deleted_or_replaced_is_bound_anew_and_another_daemons_is_left() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("c.sock");
        let (mut control, file) = Control::bind(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        control.listener.stand();
        assert!(UnixStream::connect(&path).await.is_ok(), "it was deleted");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        std::fs::remove_file(&path).unwrap();
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        control.listener.stand();
        assert!(UnixStream::connect(&path).await.is_ok(), "a dead one stood in its place");
        std::fs::remove_file(&path).unwrap();
        let (_other, others) = Control::bind(&path).unwrap();
        control.listener.stand();
        drop((control, file));
        assert!(UnixStream::connect(&path).await.is_ok(), "the other daemon still listens");
        drop(others);
        assert!(!path.exists());
    }
}
