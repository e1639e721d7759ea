//! A webhook: one POST with the [Standard Webhooks] headers, and what its answer means.
//!
//! The destination is written by the operator, so it is reached by a client of its own, not through the door for
//! targets: no redirect is followed (a moved endpoint is for people to correct, and a body that was meant for one place
//! goes to no other), no proxy of the environment is used, and of the answer only status and `Retry-After` count.
//!
//! Success is 2xx alone. 410 is what the standard reserves for "stop": permanent. Every other refusal is tried again to
//! the end of the schedule, 4xx included: most of them (a rotated token, a route not deployed yet, a body limit)
//! are repaired by people, and what was owed must not be lost in the minutes until they do. A permanent failure for
//! them would only make somebody run `alerts retry` by hand.
//!
//! [Standard Webhooks]: https://www.standardwebhooks.com

use std::time::Duration;

use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret as _, SecretString};

use super::error::{DeliveryError, Reason};
use super::message;
use super::resolve::Names;
use super::signature;
use super::{BuildError, Limits, Secrets};
use crate::model::notice::Message;
use crate::model::receiver::Webhook;
use crate::model::secret::{SecretRef, TextOrSecret};

/// What of an answer's body is read and thrown away, so that a small one leaves the peer a clean end.
const DRAIN: usize = 16 * 1024;

/// How long that may take.
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// The client that all webhooks share.
pub(super) fn client(limits: &Limits) -> Result<Client, BuildError> {
    // The client takes the process's provider. Whoever installed one first wins, and all of ours are ring.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("driftd/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .dns_resolver(Names(limits.reachable))
        // Messages are rare: an idle connection would be stale by the next one.
        .pool_max_idle_per_host(0)
        .timeout(limits.webhook)
        .build()
        .map_err(|_| BuildError::Tls)
}

/// Posts `message`, signed at `now`.
pub(super) async fn send(
    client: &Client,
    webhook: &Webhook,
    secrets: &dyn Secrets,
    message: &Message,
    now: Timestamp,
) -> Result<(), DeliveryError> {
    let url = url(&webhook.url, secrets)?;
    let body = message::webhook(&message.body).map_err(|_| DeliveryError::permanent(Reason::Misconfigured))?;
    let headers = headers(webhook.secret.as_ref(), secrets, &message.id, now, body.as_bytes())?;
    let answer = client.post(url).headers(headers).body(body).send().await.map_err(|error| unanswered(&error))?;
    let judged = judge(answer.status(), answer.headers(), now);
    drain(answer).await;
    judged
}

fn url(url: &TextOrSecret, secrets: &dyn Secrets) -> Result<Url, DeliveryError> {
    let parsed = match url {
        TextOrSecret::Text(text) => Url::parse(text),
        TextOrSecret::Secret(reference) => Url::parse(read(secrets, reference)?.expose_secret().trim()),
    };
    // People repair a wrong secret, and the next try reads it anew.
    parsed
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or(DeliveryError::transient(Reason::Misconfigured))
}

fn read(secrets: &dyn Secrets, reference: &SecretRef) -> Result<SecretString, DeliveryError> {
    secrets.read(reference).ok_or(DeliveryError::transient(Reason::SecretUnavailable))
}

fn headers(
    secret: Option<&SecretRef>,
    secrets: &dyn Secrets,
    id: &str,
    now: Timestamp,
    body: &[u8],
) -> Result<HeaderMap, DeliveryError> {
    let seconds = now.as_second();
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert("webhook-id", ours(id)?);
    headers.insert("webhook-timestamp", HeaderValue::from(seconds));
    if let Some(reference) = secret {
        let key = read(secrets, reference)?;
        let signed = signature::sign(&key, id, seconds, body).ok_or(DeliveryError::transient(Reason::Misconfigured))?;
        headers.insert("webhook-signature", ours(&signed)?);
    }
    Ok(headers)
}

fn ours(value: &str) -> Result<HeaderValue, DeliveryError> {
    HeaderValue::from_str(value).map_err(|_| DeliveryError::permanent(Reason::Misconfigured))
}

/// The reason why there is no answer. The error's own text holds the URL, so it goes no further than this.
fn unanswered(error: &reqwest::Error) -> DeliveryError {
    let reason = if error.is_timeout() { Reason::Timeout } else { Reason::of_connection(error) };
    DeliveryError::transient(reason)
}

fn judge(status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Result<(), DeliveryError> {
    if status.is_success() {
        return Ok(());
    }
    let code = Some(status.as_u16());
    let reason = match status.as_u16() {
        300..=399 => Reason::Redirected,
        401 | 403 | 407 => Reason::Auth,
        410 => return Err(DeliveryError::Permanent { reason: Reason::Gone, code }),
        429 => Reason::RateLimited,
        400..=499 => Reason::Rejected,
        502..=504 => Reason::Unavailable,
        500..=599 => Reason::ServerError,
        _ => Reason::Protocol,
    };
    Err(DeliveryError::Transient { reason, code, retry_after: retry_after(headers, now) })
}

/// Seconds, or an HTTP date (RFC 9110, section 10.2.3).
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(now)).unwrap_or(Duration::ZERO))
}

/// Reads what little an endpoint says and drops it. Whatever happens here, the status has already decided.
async fn drain(mut answer: Response) {
    let mut left = DRAIN;
    let rest = async {
        while let Ok(Some(chunk)) = answer.chunk().await {
            left = left.saturating_sub(chunk.len());
            if left == 0 {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIME, rest).await;
}

#[cfg(test)]
mod tests;
