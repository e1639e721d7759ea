//! An inventory entry: everything that configuration says of a target.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use url::Url;

use super::confirm::Confirm;
use super::endpoint::Endpoint;
use super::policy::Policy;
use super::secret::{SecretRef, TextOrSecret};
use super::target::{BaselineMode, Kind, TargetId, TargetSummary};

/// A target as configured, defaults applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// It is the target.
    pub id: TargetId,
    /// The protocol.
    pub kind: Kind,
    /// Where it is.
    pub endpoint: Endpoint,
    /// When it is scanned.
    pub cadence: Cadence,
    /// Limit of one request.
    pub timeout: Duration,
    /// Limit of one scan.
    pub scan_timeout: Duration,
    /// Our credential.
    pub auth: Option<Auth>,
    /// Labels, for routes and people.
    pub labels: BTreeMap<String, String>,
    /// Extra headers on every request to the origin written.
    pub headers: Vec<(String, TextOrSecret)>,
    /// Known, not scanned.
    pub paused: bool,
    /// Whether the stranger's face is watched too when there is a credential.
    pub anonymous: bool,
    /// Whether sessions are ended by DELETE (from 2025-06-18 on; `real-servers` trap 1).
    pub end_session: bool,
    /// What it may be asked.
    pub tier: Tier,
    /// How it gets its baseline.
    pub baseline: BaselineMode,
    /// What it needs for TLS.
    pub tls: Option<TargetTls>,
    /// Special ranges opened for what this target's peer names.
    pub egress_allow: Vec<IpNet>,
    /// How its changes are judged.
    pub policy: Policy,
    /// How they are confirmed, where that differs from the daemon's.
    pub confirm: Option<Confirm>,
    /// Ids it had before, whose baseline and history it carries on.
    pub was: Vec<TargetId>,
}

impl Target {
    /// From one scan to the next, where nothing else is said.
    pub const EVERY: Duration = Duration::from_mins(15);
    /// Limit of one request, likewise.
    pub const TIMEOUT: Duration = Duration::from_secs(20);
    /// Limit of one scan, likewise.
    pub const SCAN_TIMEOUT: Duration = Duration::from_mins(1);

    /// A target of which nothing is said but where it is.
    #[must_use]
    pub fn at(id: TargetId, kind: Kind, url: Url) -> Self {
        Self {
            id,
            kind,
            endpoint: Endpoint::Url(url),
            cadence: Cadence::Every(Self::EVERY),
            timeout: Self::TIMEOUT,
            scan_timeout: Self::SCAN_TIMEOUT,
            auth: None,
            labels: BTreeMap::new(),
            headers: Vec::new(),
            paused: false,
            anonymous: true,
            end_session: true,
            tier: Tier::Passive,
            baseline: BaselineMode::FirstSeen,
            tls: None,
            egress_allow: Vec::new(),
            policy: Policy::default(),
            confirm: None,
            was: Vec::new(),
        }
    }

    /// Whether a scan of `other` would have asked what a scan of this asks, so that what it saw may be held against
    /// either.
    #[must_use]
    pub fn asks_as(&self, other: &Self) -> bool {
        let Self {
            id,
            kind,
            endpoint,
            cadence: _,
            timeout: _,
            scan_timeout: _,
            auth,
            labels: _,
            headers,
            paused: _,
            anonymous,
            end_session: _,
            tier,
            baseline: _,
            tls,
            egress_allow,
            policy: _,
            confirm: _,
            was: _,
        } = self;
        *id == other.id
            && *kind == other.kind
            && *endpoint == other.endpoint
            && *auth == other.auth
            && *headers == other.headers
            && *anonymous == other.anonymous
            && *tls == other.tls
            && *tier == other.tier
            && *egress_allow == other.egress_allow
    }

    /// Which targets may go down together: its host; of a program, which shares none, itself.
    #[must_use]
    pub fn host(&self) -> String {
        match &self.endpoint {
            Endpoint::Url(_) => self.endpoint.host().to_owned(),
            Endpoint::Command(_) => format!("stdio:{}", self.id),
        }
    }

    /// What people see of it.
    #[must_use]
    pub fn summary(&self) -> TargetSummary {
        TargetSummary {
            id: self.id.clone(),
            kind: self.kind,
            url: self.endpoint.to_string(),
            labels: self.labels.clone(),
        }
    }
}

/// What a target needs for TLS. The files are read at each use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TargetTls {
    /// PEM of the authorities that vouch for it, and no others.
    pub ca: Option<PathBuf>,
    /// What it is shown.
    pub identity: Option<ClientIdentity>,
}

/// A client certificate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientIdentity {
    /// PEM of the chain, the leaf first.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: SecretRef,
}

/// What a target may be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tier {
    /// What any client asks before it has anything.
    #[default]
    Passive,
    /// Now and then also a few odd requests, which a server should refuse and which change nothing.
    Negative,
}

impl Tier {
    /// The word in configuration and documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passive => "passive",
            Self::Negative => "negative",
        }
    }
}

/// When a target is scanned: `every` or `schedule`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cadence {
    /// So long after one another.
    Every(Duration),
    /// At these instants.
    Cron {
        /// Five or six fields.
        expression: String,
        /// An IANA zone, as `Europe/Madrid`.
        timezone: String,
    },
}

/// What we present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// A static bearer token (RFC 6750).
    Bearer(SecretRef),
}

impl Auth {
    /// The credential's name for people: of its reference, never its value.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Bearer(secret) => secret.to_string(),
        }
    }
}
