//! Serving that ends: whoever holds a connection open does not hold up a stop.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::oneshot;

/// Completes when a stop is asked for.
pub type Asked = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Serves until `stop` completes, and then for at most `grace` more: requests under way are answered, half a request
/// that never becomes a whole one is left.
///
/// # Errors
/// Those of what `serve` makes.
pub async fn bounded<S>(
    stop: impl Future<Output = ()> + Send + 'static,
    grace: Duration,
    serve: impl FnOnce(Asked) -> S,
) -> io::Result<()>
where
    S: Future<Output = io::Result<()>>,
{
    let (asked, seen) = oneshot::channel();
    let serving = serve(Box::pin(async move {
        stop.await;
        // Nobody waits for it once serving has ended.
        let _ = asked.send(());
    }));
    let late = async {
        match seen.await {
            Ok(()) => tokio::time::sleep(grace).await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        served = serving => served,
        () = late => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn what_never_drains_is_left_after_the_grace() {
        let stuck = bounded(async {}, Duration::from_millis(10), |asked| async {
            asked.await;
            std::future::pending().await
        });
        assert!(tokio::time::timeout(PATIENCE, stuck).await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn what_drains_at_once_is_not_waited_for() {
        let drained = bounded(async {}, PATIENCE * 2, |asked| async {
            asked.await;
            Err(io::ErrorKind::Other.into())
        });
        assert!(tokio::time::timeout(PATIENCE, drained).await.unwrap().is_err(), "what serving ends with is told");
    }
}
