//! What the integration tests stand on: processes, servers of ours and of others, and their receivers.

pub(crate) mod client;
pub(crate) mod daemon;
pub(crate) mod front;
pub(crate) mod mail;
pub(crate) mod peer;
pub(crate) mod peers;
pub(crate) mod ports;
pub(crate) mod process;
pub(crate) mod real;
pub(crate) mod rmcp_peer;
pub(crate) mod server;
pub(crate) mod smtp;
pub(crate) mod talk;
pub(crate) mod tls;
pub(crate) mod webhook;

use std::path::PathBuf;
use std::time::Duration;

/// The longest that a test waits for anything that should happen by itself. Only a failing test takes that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How long to wait before looking again where nothing can wake us: another process's port or file.
pub(crate) const GLANCE: Duration = Duration::from_millis(20);

/// Whether a headline is that of the report of a first round.
pub(crate) fn is_of_first_round(headline: &str) -> bool {
    headline.contains("new target") && headline.contains("watched")
}

/// A path inside the checkout.
pub(crate) fn checkout(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Calls `look` until it gives something, within [`PATIENCE`].
pub(crate) async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    eventually(what, async || look()).await
}

/// The same where looking takes a question to somebody else.
pub(crate) async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        let mut glances = tokio::time::interval(GLANCE);
        loop {
            glances.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    match tokio::time::timeout(PATIENCE, looking).await {
        Ok(found) => found,
        Err(_) => panic!("waited {PATIENCE:?} in vain: {what}"),
    }
}
