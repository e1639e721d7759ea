//! How a target is asked: its headers and credential, read at this use, and whose values are taken out of what
//! arrives; and the seam at which scans are made of something else than conversations.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};

use super::own_tls;
use crate::clock::Clock;
use crate::judge;
use crate::model::endpoint::Command;
use crate::model::inventory::{Auth, Target};
use crate::model::memory::Memory;
use crate::model::observation::{AddressClass, Echo, Found, Kept, Observation, Transport};
use crate::model::secret::TextOrSecret;
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetId;
use crate::net::program::INHERITED;
use crate::net::{Door, Launch, Scrub};
use crate::plan::Live;
use crate::probe::{self, Ask, Credential, SecondRead};
use crate::secret::{Environment, Redactor};

/// What the target's past says of how it is asked.
#[derive(Clone, Copy, Debug)]
pub struct AskManner<'a> {
    /// The date of the baseline's conversation.
    pub date: Option<&'a str>,
    /// How it was carried.
    pub transport: Option<Transport>,
    /// The address class at the baseline.
    pub known_class: Option<AddressClass>,
    /// Where the endpoint was found last, when that is not the URL as written.
    pub endpoint: Option<&'a Found>,
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
        transport: None,
        known_class: None,
        endpoint: None,
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
    let launch = target.endpoint.command().and_then(|command| launch(&target.id, command, environment, &mut secrets));
    let brought = own_tls::read(target, environment, &mut secrets);
    let scrub = Scrubber(Redactor::new(secrets.iter().map(|(name, value)| (name, value.expose_secret()))));
    let ask = Ask {
        target,
        headers: &headers,
        launch: launch.as_ref(),
        credential: credential.as_ref(),
        transport: manner.transport,
        date: manner.date,
        known_class: manner.known_class,
        endpoint: manner.endpoint,
        second_read: if manner.fresh { SecondRead::Fresh } else { SecondRead::Same },
        probe_only: manner.probe_only,
        kept: manner.kept,
        before: manner.before,
        known: manner.known,
        scrub: &scrub,
        trust: brought.trust(),
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

/// The program with its variables; `None` when one of them cannot be had, which is said.
fn launch(
    id: &TargetId,
    command: &Command,
    environment: &Environment,
    secrets: &mut Vec<(String, SecretString)>,
) -> Option<Launch> {
    let inherited = INHERITED.iter().filter_map(|name| Some(((*name).to_owned(), environment.path(name)?.into())));
    let mut env: Vec<(String, OsString)> = inherited.collect();
    for (name, value) in &command.env {
        let value = match value {
            TextOrSecret::Text(text) => text.clone().into(),
            TextOrSecret::Secret(reference) => {
                let Ok(secret) = environment.read(reference) else {
                    tracing::warn!(target_id = %id, variable = %name, "the variable's value cannot be had; the program is not started");
                    return None;
                };
                let value = secret.expose_secret().into();
                secrets.push((reference.to_string(), secret));
                value
            }
        };
        env.retain(|(known, _)| known != name);
        env.push((name.clone(), value));
    }
    let cwd = command.cwd.clone().unwrap_or_else(|| PathBuf::from("/"));
    Some(Launch { program: command.program.clone(), args: command.args.clone(), env, cwd })
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
