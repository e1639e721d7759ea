//! A TLS handshake of its own to the origin written: what the peer's chain says, whether or not it verifies.
//!
//! It sends nothing beyond the handshake, so any chain is let through, and whether it verifies is looked at beside it,
//! by what verifies every other connection. It goes where the guard lets a request go, and counts as one.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, ProtocolVersion, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Host;

use super::certificate::Shown;
use super::client::Visit;
use super::error::NetError;
use super::guard::{Destination, HostForm};
use super::tls;

/// A handshake that takes longer tells nothing that a request would not.
const LIMIT: Duration = Duration::from_secs(10);
/// Certificates of a chain that are looked at; nobody needs more.
const MOST_CERTIFICATES: usize = 16;
/// Bytes of a chain, likewise.
const MOST_BYTES: usize = 64 * 1024;
/// Time for the first of several addresses, at least.
const LEAST_PER_ADDRESS: Duration = Duration::from_millis(500);

/// What a handshake showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// Whether the chain verifies.
    pub verdict: Verdict,
    /// The version that was negotiated, as `1.3`.
    pub version: String,
    /// The protocol above it that was negotiated (ALPN).
    pub alpn: Option<String>,
    /// The chain as it came, the leaf first.
    pub chain: Vec<Shown>,
}

/// What verifying came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It verifies.
    Ok,
    /// A certificate of it has ended.
    Expired,
    /// A certificate of it is not valid yet.
    NotYetValid,
    /// Nobody that is trusted made it, or a certificate between is missing.
    UnknownIssuer,
    /// It vouches for itself.
    SelfSigned,
    /// It is for other names.
    WrongName,
    /// Who made it took it back.
    Revoked,
    /// It is for something else than servers.
    WrongPurpose,
    /// The peer does not have the key of its certificate.
    BadSignature,
    /// Anything else.
    Bad,
}

impl Verdict {
    /// The word in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::UnknownIssuer => "unknown_issuer",
            Self::SelfSigned => "self_signed",
            Self::WrongName => "wrong_name",
            Self::Revoked => "revoked",
            Self::WrongPurpose => "wrong_purpose",
            Self::BadSignature => "bad_signature",
            Self::Bad => "bad",
        }
    }

    fn of(error: &rustls::Error) -> Self {
        use CertificateError as E;
        let rustls::Error::InvalidCertificate(error) = error else { return Self::Bad };
        if matches!(error, E::Expired | E::ExpiredContext { .. }) {
            Self::Expired
        } else if matches!(error, E::NotValidYet | E::NotValidYetContext { .. }) {
            Self::NotYetValid
        } else if matches!(error, E::NotValidForName | E::NotValidForNameContext { .. }) {
            Self::WrongName
        } else if matches!(error, E::InvalidPurpose | E::InvalidPurposeContext { .. }) {
            Self::WrongPurpose
        } else if *error == E::UnknownIssuer {
            Self::UnknownIssuer
        } else if *error == E::Revoked {
            Self::Revoked
        } else {
            Self::Bad
        }
    }
}

impl Visit<'_> {
    /// Shakes hands with the origin written, as of `now`. No request follows.
    ///
    /// # Errors
    /// When there was no handshake: address refused, no connection, no TLS, time over, a chain beyond all bounds.
    pub async fn handshake(&self, now: Timestamp) -> Result<Handshake, NetError> {
        let limit = self.limit(Some(LIMIT));
        let shaken = Box::pin(self.shake(now, limit.at));
        let handshake = tokio::time::timeout_at(limit.at, shaken).await.map_err(|_| limit.error)??;
        self.note_certificate(handshake.chain.first().and_then(|leaf| leaf.says.as_ref()?.not_after));
        Ok(handshake)
    }

    async fn shake(&self, now: Timestamp, until: tokio::time::Instant) -> Result<Handshake, NetError> {
        let url = self.written().ok_or(NetError::Request)?;
        let (host, port) = url.host().zip(url.port_or_known_default()).ok_or(NetError::Request)?;
        let addresses = self.addresses(&host).await?;
        let name = server_name(&host).ok_or(NetError::Request)?;
        let witness = Arc::new(Witness::new(self, now)?);
        let verifier: Arc<dyn ServerCertVerifier> = Arc::<Witness>::clone(&witness);
        let config = tls::watched_config(verifier, self.identity()).map_err(|_| NetError::Request)?;
        self.count();
        let socket = connect(&addresses, port, until).await?;
        let connected = TlsConnector::from(Arc::new(config)).connect(name, socket).await;
        read(&connected.map_err(|error| NetError::of_handshake(&error))?, &witness)
    }

    /// Where the guard lets us go.
    async fn addresses(&self, host: &Host<&str>) -> Result<Vec<IpAddr>, NetError> {
        let rule = self.rule(Destination::Written);
        let literal = match host {
            Host::Ipv4(address) => IpAddr::V4(*address),
            Host::Ipv6(address) => IpAddr::V6(*address),
            Host::Domain(name) => {
                return self.guarded(rule).addresses(name).await.map_err(|error| NetError::of_name(&error));
            }
        };
        rule.decide(HostForm::Literal, literal).map_err(NetError::Refused)?;
        Ok(vec![literal])
    }
}

/// The names of rustls keep no brackets around an address.
fn server_name(host: &Host<&str>) -> Option<ServerName<'static>> {
    match host {
        Host::Domain(name) => ServerName::try_from((*name).to_owned()).ok(),
        Host::Ipv4(address) => Some(ServerName::IpAddress(IpAddr::V4(*address).into())),
        Host::Ipv6(address) => Some(ServerName::IpAddress(IpAddr::V6(*address).into())),
    }
}

/// To the first address that answers; a dead one does not use up the time of the others.
async fn connect(addresses: &[IpAddr], port: u16, until: tokio::time::Instant) -> Result<TcpStream, NetError> {
    let mut last = NetError::Dns;
    for (index, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - index).unwrap_or(u32::MAX);
        let remaining = until.saturating_duration_since(tokio::time::Instant::now());
        let share = (remaining / left).max(LEAST_PER_ADDRESS);
        last = match tokio::time::timeout(share, TcpStream::connect(SocketAddr::new(*address, port))).await {
            Ok(Ok(socket)) => return Ok(socket),
            Ok(Err(error)) => NetError::of_connection(&error),
            Err(_) => NetError::Timeout,
        };
    }
    Err(last)
}

fn read(stream: &TlsStream<TcpStream>, witness: &Witness) -> Result<Handshake, NetError> {
    let (_, connection) = stream.get_ref();
    let chain = connection.peer_certificates().unwrap_or_default();
    let bytes: usize = chain.iter().map(|certificate| certificate.len()).sum();
    if chain.len() > MOST_CERTIFICATES || bytes > MOST_BYTES {
        return Err(NetError::ChainTooLarge);
    }
    let chain: Vec<Shown> = chain.iter().map(|certificate| Shown::of(certificate)).collect();
    let vouches_for_itself = chain.first().and_then(|leaf| leaf.says.as_ref()).is_some_and(|leaf| leaf.is_self_issued);
    let verdict = witness.verdict();
    // An authority that serves as its own server's certificate is refused as that.
    let is_own = vouches_for_itself && matches!(verdict, Verdict::UnknownIssuer | Verdict::Bad);
    let verdict = if is_own { Verdict::SelfSigned } else { verdict };
    Ok(Handshake {
        verdict,
        version: version(connection.protocol_version()),
        alpn: connection.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned()),
        chain,
    })
}

fn version(version: Option<ProtocolVersion>) -> String {
    match version {
        Some(ProtocolVersion::TLSv1_3) => "1.3".to_owned(),
        Some(ProtocolVersion::TLSv1_2) => "1.2".to_owned(),
        Some(other) => format!("{other:?}"),
        None => "unknown".to_owned(),
    }
}

/// Lets every chain through, and remembers what the real verifier says of it.
#[derive(Debug)]
struct Witness {
    /// `None` when nobody is trusted.
    verifier: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<rustls::crypto::CryptoProvider>,
    now: UnixTime,
    chain: OnceLock<Verdict>,
    bad_signature: OnceLock<()>,
}

impl Witness {
    fn new(visit: &Visit<'_>, now: Timestamp) -> Result<Self, NetError> {
        let provider = Arc::new(tls::provider());
        let roots = visit.roots()?;
        let builder = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let since = Duration::from_secs(u64::try_from(now.as_second()).unwrap_or(0));
        Ok(Self {
            verifier: builder.build().ok(),
            provider,
            now: UnixTime::since_unix_epoch(since),
            chain: OnceLock::new(),
            bad_signature: OnceLock::new(),
        })
    }

    /// What does not belong to its certificate is not it, whatever the chain says.
    fn verdict(&self) -> Verdict {
        match (self.chain.get().copied().unwrap_or(Verdict::Bad), self.bad_signature.get()) {
            (Verdict::Ok, Some(())) => Verdict::BadSignature,
            (verdict, _) => verdict,
        }
    }

    fn note(&self, signed: Result<HandshakeSignatureValid, rustls::Error>) -> HandshakeSignatureValid {
        signed.unwrap_or_else(|_| {
            let _ = self.bad_signature.set(());
            HandshakeSignatureValid::assertion()
        })
    }
}

impl ServerCertVerifier for Witness {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verdict = match &self.verifier {
            Some(verifier) => verifier
                .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, self.now)
                .map_or_else(|error| Verdict::of(&error), |_| Verdict::Ok),
            None => Verdict::UnknownIssuer,
        };
        let _ = self.chain.set(verdict);
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        Ok(self.note(verify_tls12_signature(message, certificate, signed, algorithms)))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        Ok(self.note(verify_tls13_signature(message, certificate, signed, algorithms)))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
