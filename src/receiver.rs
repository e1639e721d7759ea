//! Receivers: a message in, a delivery or its error out.
//!
//! A receiver decides how a message travels and what an answer means. When a message is sent, and whether and when it
//! is tried again, is decided by [`crate::deliver`]; what it says, by [`message`].
//!
//! Sending is at least once and may be cut off at any point: every channel gives each try the message's own id, so
//! that whoever receives it twice can tell.

pub mod error;
pub mod message;

mod console;
mod email;
mod resolve;
mod signature;
mod trail;
mod webhook;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use secrecy::SecretString;

use self::console::Console;
use self::email::Mailer;
use self::error::{DeliveryError, Reason};
use self::trail::Trail;
use crate::model::notice::Message;
use crate::model::receiver::{Channel, Receiver, Webhook};
use crate::model::secret::SecretRef;

/// Where receivers get the values of their secrets, at each use.
pub trait Secrets: Send + Sync {
    /// The value now; `None` when it cannot be read.
    fn read(&self, reference: &SecretRef) -> Option<SecretString>;
}

/// How long a try may take, and where it may lead.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A webhook's request, its answer included.
    pub webhook: Duration,
    /// A mail, from the connection to the relay's last word.
    pub email: Duration,
    /// Whether a name may lead to an address: the egress rule for written destinations. An address that is written
    /// itself is not asked for.
    pub reachable: fn(IpAddr) -> bool,
}

impl Limits {
    /// The usual times.
    pub const fn new(reachable: fn(IpAddr) -> bool) -> Self {
        Self { webhook: Duration::from_secs(15), email: Duration::from_mins(1), reachable }
    }
}

/// A receiver that cannot be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A mailbox of an email receiver.
    #[error("receiver {receiver}: {mailbox:?} is no mailbox")]
    Mailbox {
        /// The receiver's name.
        receiver: String,
        /// What stands there.
        mailbox: String,
    },
    /// An email receiver without recipients.
    #[error("receiver {receiver}: a mail needs at least one recipient")]
    NoRecipient {
        /// The receiver's name.
        receiver: String,
    },
    /// The platform's certificates.
    #[error("the platform's certificates cannot be used for TLS")]
    Tls,
}

/// A try that somebody made by hand.
#[derive(Clone, Debug)]
pub struct Tried {
    /// What happened, in order; sentences of ours.
    pub steps: Vec<String>,
    /// How it ended.
    pub outcome: Result<(), DeliveryError>,
}

/// All receivers, by name.
pub struct Receivers {
    channels: BTreeMap<String, Ready>,
    webhooks: reqwest::Client,
    secrets: Arc<dyn Secrets>,
    limits: Limits,
    console: Console,
}

#[derive(Debug)]
enum Ready {
    Console,
    Email(Box<Mailer>),
    Webhook(Webhook),
}

impl Receivers {
    /// Sets up `receivers`. Nothing is connected and no secret is read yet.
    ///
    /// # Errors
    /// When a mailbox is none, or TLS cannot be set up.
    pub fn new(receivers: &[Receiver], secrets: Arc<dyn Secrets>, limits: Limits) -> Result<Self, BuildError> {
        let ready = |receiver: &Receiver| {
            let channel = match &receiver.channel {
                Channel::Console => Ready::Console,
                Channel::Email(email) => Ready::Email(Box::new(Mailer::new(&receiver.name, email)?)),
                Channel::Webhook(webhook) => Ready::Webhook(webhook.clone()),
            };
            Ok((receiver.name.clone(), channel))
        };
        let channels = receivers.iter().map(ready).collect::<Result<_, _>>()?;
        let console = Console::default();
        Ok(Self { channels, webhooks: webhook::client(&limits)?, secrets, limits, console })
    }

    /// The same, with standard output left to whoever writes a document there.
    #[must_use]
    pub const fn beside_a_document(mut self) -> Self {
        self.console = Console::Error;
        self
    }

    /// The receivers' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.channels.keys().map(String::as_str)
    }

    /// Tries to deliver `message` to the receiver it names, once.
    ///
    /// # Errors
    /// Whether it is worth another try, and why it failed.
    pub async fn send(&self, message: &Message, now: Timestamp) -> Result<(), DeliveryError> {
        match self.channels.get(&message.receiver) {
            Some(ready) => self.try_once(ready, message, now, &mut Trail::none()).await,
            // It left the configuration while this message was on its way: it waits until it is back.
            None => Err(DeliveryError::transient(Reason::Misconfigured)),
        }
    }

    /// The same, and says step by step what happened; `None` when no receiver has the name.
    pub async fn test(&self, message: &Message, now: Timestamp) -> Option<Tried> {
        let ready = self.channels.get(&message.receiver)?;
        let mut trail = Trail::kept();
        let outcome = self.try_once(ready, message, now, &mut trail).await;
        Some(Tried { steps: trail.into_steps(), outcome })
    }

    async fn try_once(
        &self,
        ready: &Ready,
        message: &Message,
        now: Timestamp,
        trail: &mut Trail,
    ) -> Result<(), DeliveryError> {
        let secrets = self.secrets.as_ref();
        match ready {
            Ready::Console => {
                console::send(message, self.console).await?;
                trail.note(|| format!("written to the {} of the process that was asked", self.console.name()));
                Ok(())
            }
            Ready::Email(mailer) => mailer.send(message, secrets, &self.limits, trail).await,
            Ready::Webhook(webhook) => {
                webhook::send(&self.webhooks, webhook, secrets, &self.limits, message, now, trail).await
            }
        }
    }
}

impl fmt::Debug for Receivers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receivers").field("names", &self.channels.keys()).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod sample;
