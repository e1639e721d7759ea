//! How a target is asked: its headers and credential, read at this use, and whose values are taken out of what
//! arrives; and the seam at which scans are made of something else than conversations.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};

use crate::clock::Clock;
use crate::judge;
use crate::model::inventory::{Auth, Target};
use crate::model::memory::Memory;
use crate::model::observation::{AddressClass, Echo, Kept, Observation};
use crate::model::secret::TextOrSecret;
use crate::model::snapshot::Snapshot;
use crate::net::{Door, Scrub};
use crate::plan::Live;
use crate::probe::{self, Ask, Credential, SecondRead};
use crate::secret::{Environment, Redactor};

/// What the target's past says of how it is asked.
#[derive(Clone, Copy, Debug)]
pub struct AskManner<'a> {
    /// The date of the baseline's conversation.
    pub date: Option<&'a str>,
    /// The address class at the baseline.
    pub known_class: Option<AddressClass>,
    /// The second read goes over a fresh connection and session.
    pub fresh: bool,
    /// A block is confirmed: one request.
    pub probe_only: bool,
    /// What is not looked at in every scan, while it need not be.
    pub kept: Option<&'a Arc<Kept>>,
    /// The same of before, however old.
    pub before: Option<&'a Arc<Kept>>,
    /// By what a scan is known to have brought nothing new.
    pub known: Option<&'a Echo>,
}

/// What a [`super::Scanner`] sees with.
pub trait Eye: std::fmt::Debug + Send + Sync {
    /// Looks at `target` once. It never fails: what went wrong is part of what it brings home.
    fn look<'a>(&'a self, target: &'a Target, manner: &'a AskManner<'a>, now: Timestamp) -> BoxFuture<'a, Observation>;
}

/// Looks by holding a conversation, through the door.
#[derive(Debug)]
pub struct Conversations {
    /// The door of the moment.
    pub door: Live<Door>,
    /// Where secrets are.
    pub environment: Environment,
}

impl Eye for Conversations {
    fn look<'a>(&'a self, target: &'a Target, manner: &'a AskManner<'a>, now: Timestamp) -> BoxFuture<'a, Observation> {
        Box::pin(async move { observe(&self.door.get(), target, &self.environment, manner, now).await })
    }
}

/// One look at `target`, judged against nothing: for `driftd scan`, which has no past.
pub async fn look(door: &Door, target: &Target, environment: &Environment, now: Timestamp) -> (Observation, Snapshot) {
    let manner = AskManner {
        date: None,
        known_class: None,
        fresh: true,
        probe_only: false,
        kept: None,
        before: None,
        known: None,
    };
    let observation = observe(door, target, environment, &manner, now).await;
    let snapshot = judge::snapshot::snapshot(&observation, &target.summary(), &Memory::default());
    (observation, snapshot)
}

/// Holds one conversation with `target`.
async fn observe(
    door: &Door,
    target: &Target,
    environment: &Environment,
    manner: &AskManner<'_>,
    now: Timestamp,
) -> Observation {
    let mut secrets = Vec::new();
    let headers = headers(target, environment, &mut secrets);
    let credential = target.auth.as_ref().map(|auth| credential(auth, environment, &mut secrets));
    let scrub = Scrubber(Redactor::new(secrets.iter().map(|(name, value)| (name, value.expose_secret()))));
    let ask = Ask {
        target,
        headers: &headers,
        credential: credential.as_ref(),
        date: manner.date,
        known_class: manner.known_class,
        second_read: if manner.fresh { SecondRead::Fresh } else { SecondRead::Same },
        probe_only: manner.probe_only,
        kept: manner.kept,
        before: manner.before,
        known: manner.known,
        scrub: &scrub,
        at: now,
        machine: Clock::system().now(),
    };
    probe::probe(door, &ask).await
}

/// The extra headers whose values can be had; one that cannot is left out and said, so that the peer's answer tells.
fn headers(
    target: &Target,
    environment: &Environment,
    secrets: &mut Vec<(String, SecretString)>,
) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    for (name, value) in &target.headers {
        let value = match value {
            TextOrSecret::Text(text) => HeaderValue::from_str(text).ok(),
            TextOrSecret::Secret(reference) => environment.read(reference).ok().and_then(|secret| {
                let mut value = HeaderValue::from_str(secret.expose_secret()).ok()?;
                value.set_sensitive(true);
                secrets.push((reference.to_string(), secret));
                Some(value)
            }),
        };
        match (HeaderName::from_bytes(name.as_bytes()), value) {
            (Ok(name), Some(value)) => headers.push((name, value)),
            (_, _) => {
                tracing::warn!(target_id = %target.id, header = %name, "the header's value cannot be had; it is not sent")
            }
        }
    }
    headers
}

fn credential(auth: &Auth, environment: &Environment, secrets: &mut Vec<(String, SecretString)>) -> Credential {
    let Auth::Bearer(reference) = auth;
    let token = environment.read(reference).ok();
    if let Some(token) = &token {
        secrets.push((reference.to_string(), token.clone()));
    }
    Credential { name: auth.name(), token }
}

struct Scrubber(Redactor);

impl Scrub for Scrubber {
    fn scrub<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        self.0.redact_bytes(bytes)
    }
}
