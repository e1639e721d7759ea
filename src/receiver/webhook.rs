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
use super::resolve::{self, Names};
use super::signature;
use super::trail::{self, Trail};
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
    limits: &Limits,
    message: &Message,
    now: Timestamp,
    trail: &mut Trail,
) -> Result<(), DeliveryError> {
    let url = url(&webhook.url, secrets)?;
    if trail.is_kept() {
        on_the_way(&url, webhook, limits, trail).await;
    }
    let secure = url.scheme() == "https";
    let body = message::webhook(&message.body).map_err(|_| DeliveryError::permanent(Reason::Misconfigured))?;
    let headers = headers(webhook.secret.as_ref(), secrets, &message.id, now, body.as_bytes())?;
    let answer = client.post(url).headers(headers).body(body).send().await.map_err(|error| unanswered(&error))?;
    if let Some(peer) = answer.remote_addr() {
        trail.note(|| format!("connected to {peer}"));
    }
    trail.note(|| {
        if secure { "protected by TLS, with a trusted certificate" } else { "not protected: http" }.to_owned()
    });
    trail.note(|| format!("answered with status {}", answer.status().as_u16()));
    let judged = judge(answer.status(), answer.headers(), now);
    drain(answer).await;
    judged
}

/// What is known before anything is sent. Of a URL that is kept as a secret no part is shown but the addresses.
async fn on_the_way(url: &Url, webhook: &Webhook, limits: &Limits, trail: &mut Trail) {
    let port = url.port_or_known_default().unwrap_or(0);
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let (named, name) = match &webhook.url {
        TextOrSecret::Text(_) => {
            (format!("{}://{}:{port}", url.scheme(), url.host_str().unwrap_or_default()), host.as_str())
        }
        TextOrSecret::Secret(reference) => (format!("the {} URL of {reference}", url.scheme()), "its host"),
    };
    trail.note(|| format!("to {named}"));
    match &webhook.secret {
        Some(reference) => trail.note(|| format!("signed with the key of {reference}")),
        None => trail.note(|| "not signed: no `secret` is configured".to_owned()),
    }
    // The client looks the name up again by the same rule; this is for people to read.
    if host.parse::<std::net::IpAddr>().is_ok() {
        return;
    }
    let found = tokio::time::timeout(limits.webhook, resolve::addresses(&host, port, limits.reachable)).await;
    if let Ok(Ok(addresses)) = found {
        trail.note(|| format!("{name} leads to {}", trail::addresses(&addresses)));
    }
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
