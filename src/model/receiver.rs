//! A receiver as configured.

use std::path::PathBuf;

use super::secret::{SecretRef, TextOrSecret};

/// Somewhere messages go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// Its name in routes, the store and metrics.
    pub name: String,
    /// How it is reached.
    pub channel: Channel,
}

/// How a receiver is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Standard output of the daemon.
    Console,
    /// SMTP.
    Email(Box<Email>),
    /// HTTP POST with the Standard Webhooks headers.
    Webhook(Webhook),
}

/// An email receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email {
    /// The mailbox messages come from.
    pub from: String,
    /// The mailboxes they go to; at least one.
    pub to: Vec<String>,
    /// The relay.
    pub smtp: Smtp,
}

/// An SMTP relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smtp {
    /// Name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// How the connection is protected.
    pub tls: SmtpTls,
    /// A private authority's certificates (PEM), beside the platform's roots.
    pub ca: Option<PathBuf>,
    /// AUTH PLAIN or LOGIN.
    pub login: Option<SmtpLogin>,
}

/// SMTP AUTH.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmtpLogin {
    /// The user.
    pub username: String,
    /// The password.
    pub password: SecretRef,
}

/// How SMTP is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpTls {
    /// RFC 3207, required.
    StartTls,
    /// RFC 8314.
    Implicit,
    /// Not at all.
    None,
}

/// A webhook receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Webhook {
    /// Where; often a secret in itself.
    pub url: TextOrSecret,
    /// The signing key, `whsec_` and base64; unsigned without.
    pub secret: Option<SecretRef>,
}
