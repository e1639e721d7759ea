//! The reference that tells whether we are online: URLs of the configuration, asked through the door and seldom.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;
use url::Url;

use crate::net::{Door, NoSecrets, Request, Trust, VisitPlan};

/// An answer holds for so long.
const HOLDS: SignedDuration = SignedDuration::from_secs(10);
/// Limit of one request.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Limit of all of them.
const ALL: Duration = Duration::from_secs(10);

/// Asks the reference, at most once in ten seconds whoever wants to know.
#[derive(Debug, Default)]
pub(super) struct SelfChecker(Mutex<Option<(Timestamp, bool)>>);

impl SelfChecker {
    /// Whether one of `urls` answers, whatever it says.
    pub(super) async fn answers(&self, door: &Door, urls: &[Url], now: Timestamp) -> bool {
        let mut last = self.0.lock().await;
        if let Some((at, answered)) = *last
            && now.duration_since(at).abs() < HOLDS
        {
            return answered;
        }
        let answered = tokio::time::timeout(ALL, any(door, urls)).await.unwrap_or(false);
        *last = Some((now, answered));
        answered
    }
}

async fn any(door: &Door, urls: &[Url]) -> bool {
    for url in urls {
        if answers(door, url).await {
            return true;
        }
    }
    false
}

/// The body is not read: a head says all we want to know.
async fn answers(door: &Door, url: &Url) -> bool {
    let plan = VisitPlan {
        written: Some(url),
        allow: &[],
        baseline: None,
        timeout: TIMEOUT,
        scan_timeout: TIMEOUT,
        scrub: &NoSecrets,
        trust: Trust::Door,
    };
    let visit = door.visit(plan);
    let request = Request { follow: false, ..Request::get(url.clone()) };
    let answer = visit.line().send(request).await;
    answer.is_ok_and(|answer| !answer.status.is_server_error())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::http::StatusCode;
    use tokio::net::TcpListener;
    use tokio::task::JoinSet;

    use super::*;
    use crate::net::{DoorSettings, Roots, SystemResolver};

    fn door() -> Door {
        let settings = DoorSettings {
            contact: None,
            allow: Vec::new(),
            resolver: Arc::new(SystemResolver),
            roots: Roots::Only(Vec::new()),
        };
        Door::new(settings).unwrap()
    }

    /// A reference that answers with `status`, and how often it was asked.
    async fn reference(serving: &mut JoinSet<()>, status: StatusCode) -> (Url, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let router = Router::new().fallback(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            async move { status }
        });
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        (url, asked)
    }

    /// A port on which nobody listens.
    async fn nobody() -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap()
    }

    #[tokio::test]
    async fn one_url_that_answers_is_enough_whatever_it_says() {
        let mut serving = JoinSet::new();
        let (there, _) = reference(&mut serving, StatusCode::NOT_FOUND).await;
        let (broken, _) = reference(&mut serving, StatusCode::BAD_GATEWAY).await;
        let gone = nobody().await;
        let now = Timestamp::UNIX_EPOCH;
        for (urls, online) in [
            (vec![gone.clone(), there], true),
            (vec![gone.clone()], false),
            // Something in front of it answers: that proves nothing beyond.
            (vec![broken, gone], false),
        ] {
            assert_eq!(SelfChecker::default().answers(&door(), &urls, now).await, online, "{urls:?}");
        }
    }

    #[tokio::test]
    async fn the_reference_is_asked_once_in_ten_seconds_however_many_want_to_know() {
        let mut serving = JoinSet::new();
        let (url, asked) = reference(&mut serving, StatusCode::OK).await;
        let (checker, door, urls) = (SelfChecker::default(), door(), [url]);
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        for (second, wanted) in [(0, 1), (0, 1), (9, 1), (10, 2), (12, 2), (-60, 3)] {
            assert!(checker.answers(&door, &urls, at(second)).await);
            assert_eq!(asked.load(Ordering::SeqCst), wanted, "at {second}");
        }
    }
}
