//! The reference that tells whether we are online: URLs of the configuration, asked through the door and seldom.

use std::time::Duration;

use http::{HeaderMap, Method};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;
use url::Url;

use crate::net::{Door, NoSecrets, Request, VisitPlan};

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
        written: url,
        allow: &[],
        baseline: None,
        timeout: TIMEOUT,
        scan_timeout: TIMEOUT,
        scrub: &NoSecrets,
    };
    let visit = door.visit(plan);
    let request = Request {
        method: Method::GET,
        url: url.clone(),
        headers: HeaderMap::new(),
        private: HeaderMap::new(),
        body: None,
        follow: false,
        keep_origin: true,
        timeout: None,
    };
    let answer = visit.line().send(request).await;
    answer.is_ok_and(|answer| !answer.status.is_server_error())
}
