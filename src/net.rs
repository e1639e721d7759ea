//! The door: every connection to a target, or to a URL that a peer wrote, goes through here (law 8).
//!
//! It decides which addresses may be connected to ([`guard`]), how much a peer may send and how long it may take
//! ([`body`], [`client`]), which redirects are followed and what crosses an origin. It knows nothing of MCP: what an
//! answer means is left to `probe`. Receivers are written destinations with clients of their own.

use std::sync::Arc;

use http::HeaderValue;
use ipnet::IpNet;
use tokio::sync::Semaphore;

pub mod body;
pub mod certificate;
pub mod class;
pub mod client;
pub mod document;
pub mod error;
mod exhausted;
pub mod guard;
pub mod handshake;
pub mod own;
pub mod program;
pub mod resolve;
pub mod scrub;
mod tls;

pub use body::Body;
pub use client::{Answer, Hop, Line, Request, Visit, VisitPlan};
pub use error::{NetError, Phase};
pub use exhausted::descriptors_left;
pub use guard::{Destination, Egress, HostForm, Refusal};
pub use handshake::{Handshake, Verdict};
pub use own::{OwnPart, OwnTls, Trust};
pub use program::{Farewell, Launch, Program};
pub use resolve::{Resolver, SystemResolver};
pub use scrub::{NoSecrets, Scrub};

/// Bytes of one answer, on the wire and decompressed.
pub const MAX_ANSWER: usize = 4 * 1024 * 1024;
/// Bytes of all answers of one scan, likewise.
pub const MAX_SCAN: usize = 16 * 1024 * 1024;
/// Bytes of one answer's header fields.
pub const MAX_HEADERS: usize = 64 * 1024;
/// Redirects followed for one request.
pub const MAX_REDIRECTS: usize = 5;
/// Documents beyond this many bytes are parsed by two scans at a time.
pub const HEAVY_DOCUMENT: usize = 256 * 1024;
/// How many scans parse a heavy document at once.
const HEAVY_PARSERS: usize = 2;

/// What the door is built from.
#[derive(Debug)]
pub struct DoorSettings {
    /// Where a peer's operator reaches us, for the User-Agent: a `mailto:` or `https:` URL.
    pub contact: Option<String>,
    /// `egress.allow` of the configuration.
    pub allow: Vec<IpNet>,
    /// Who resolves names.
    pub resolver: Arc<dyn Resolver>,
    /// Whom TLS trusts.
    pub roots: Roots,
}

/// Whom TLS trusts.
#[derive(Debug)]
pub enum Roots {
    /// The platform's certificate authorities.
    Platform,
    /// These and no others.
    Only(Vec<rustls::pki_types::CertificateDer<'static>>),
}

/// Why a door could not be built.
#[derive(Debug, thiserror::Error)]
pub enum DoorError {
    /// The contact cannot stand in a header field.
    #[error("the contact holds characters that a User-Agent cannot carry")]
    Contact,
    /// A given root is no certificate, or the TLS library offers no protocol version.
    #[error("TLS could not be set up")]
    Tls(#[from] rustls::Error),
}

/// The one client's shared part: TLS configuration, resolver, rules. Cheap to share behind a reference.
#[derive(Debug)]
pub struct Door {
    tls: rustls::ClientConfig,
    roots: Arc<rustls::RootCertStore>,
    resolver: Arc<dyn Resolver>,
    allow: Arc<[IpNet]>,
    user_agent: HeaderValue,
    heavy: Semaphore,
}

impl Door {
    /// Reads the roots once; every scan's clients share them.
    ///
    /// # Errors
    /// When the contact cannot stand in a header, or TLS cannot be set up.
    pub fn new(settings: DoorSettings) -> Result<Self, DoorError> {
        let roots = Arc::new(tls::store(settings.roots)?);
        Ok(Self {
            tls: tls::client_config(Arc::clone(&roots), None)?,
            roots,
            resolver: settings.resolver,
            allow: settings.allow.into(),
            user_agent: user_agent(settings.contact.as_deref())?,
            heavy: Semaphore::new(HEAVY_PARSERS),
        })
    }

    /// Begins one scan's use of the door.
    pub fn visit<'a>(&'a self, plan: VisitPlan<'a>) -> Visit<'a> {
        Visit::new(self, plan)
    }
}

fn user_agent(contact: Option<&str>) -> Result<HeaderValue, DoorError> {
    let version = env!("CARGO_PKG_VERSION");
    let text = match contact {
        Some(contact) => format!("driftd/{version} (+{contact})"),
        None => format!("driftd/{version}"),
    };
    HeaderValue::from_str(&text).map_err(|_| DoorError::Contact)
}

#[cfg(test)]
mod tests;
