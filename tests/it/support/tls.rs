//! TLS in front of a plain server of the test's own: what it shows is swapped while it runs. And authorities that make
//! certificates of every kind.

use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// An authority, or one below another.
#[derive(Debug)]
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: rcgen::Certificate,
}

/// What a certificate says; the default is right for `127.0.0.1` and `localhost` for a century.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) names: Vec<&'static str>,
    pub(crate) from: (i32, u8, u8),
    pub(crate) until: (i32, u8, u8),
}

impl Default for Wish {
    fn default() -> Self {
        Self { names: vec!["127.0.0.1", "localhost"], from: (2020, 1, 1), until: (2120, 1, 1) }
    }
}

impl Wish {
    /// Ends at the midnight so many days after that of `now`.
    pub(crate) fn ending(now: Timestamp, days: i64) -> Self {
        let date = TimeZone::UTC.to_datetime(now).date().checked_add(jiff::Span::new().days(days)).unwrap();
        let until = (i32::from(date.year()), u8::try_from(date.month()).unwrap(), u8::try_from(date.day()).unwrap());
        Self { until, ..Self::default() }
    }

    fn parameters(&self) -> CertificateParams {
        let names: Vec<String> = self.names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = CertificateParams::new(names).unwrap();
        parameters.not_before = rcgen::date_time_ymd(self.from.0, self.from.1, self.from.2);
        parameters.not_after = rcgen::date_time_ymd(self.until.0, self.until.1, self.until.2);
        parameters
    }
}

/// A chain with the key of its leaf.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) certificates: Vec<CertificateDer<'static>>,
    key: Vec<u8>,
    pub(crate) key_pem: String,
    pub(crate) pem: String,
}

impl Clone for Chain {
    fn clone(&self) -> Self {
        Self {
            certificates: self.certificates.clone(),
            key: self.key.clone(),
            key_pem: self.key_pem.clone(),
            pem: self.pem.clone(),
        }
    }
}

impl Authority {
    /// One of this organisation.
    pub(crate) fn new(organization: &str) -> Self {
        let (parameters, key) = (Self::parameters(organization), KeyPair::generate().unwrap());
        let certificate = parameters.self_signed(&key).unwrap();
        Self { issuer: Issuer::new(parameters, key), certificate }
    }

    /// One that this one vouches for.
    pub(crate) fn below(&self, organization: &str) -> Self {
        let (parameters, key) = (Self::parameters(organization), KeyPair::generate().unwrap());
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        Self { issuer: Issuer::new(parameters, key), certificate }
    }

    fn parameters(organization: &str) -> CertificateParams {
        let mut parameters = Wish { names: Vec::new(), ..Wish::default() }.parameters();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::OrganizationName, organization);
        parameters.distinguished_name.push(DnType::CommonName, format!("{organization} CA"));
        parameters
    }

    /// Its own certificate.
    pub(crate) fn pem(&self) -> String {
        self.certificate.pem()
    }

    /// A certificate with a new key.
    pub(crate) fn make(&self, wish: &Wish) -> Chain {
        self.make_with(wish, &KeyPair::generate().unwrap())
    }

    /// A certificate with this key.
    pub(crate) fn make_with(&self, wish: &Wish, key: &KeyPair) -> Chain {
        chain(wish.parameters().signed_by(key, &self.issuer).unwrap(), key)
    }

    /// The chain with this authority's own certificate in it.
    pub(crate) fn completed(&self, mut chain: Chain) -> Chain {
        chain.certificates.push(self.certificate.der().clone());
        chain
    }
}

/// A certificate that vouches for itself.
pub(crate) fn self_signed(wish: &Wish) -> Chain {
    let key = KeyPair::generate().unwrap();
    chain(wish.parameters().self_signed(&key).unwrap(), &key)
}

fn chain(certificate: rcgen::Certificate, key: &KeyPair) -> Chain {
    Chain {
        certificates: vec![certificate.der().clone()],
        key: key.serialize_der(),
        key_pem: key.serialize_pem(),
        pem: certificate.pem(),
    }
}

/// What a front shows.
#[derive(Clone, Debug)]
pub(crate) enum Show {
    /// This chain.
    Chain(Chain),
    /// This chain, in TLS 1.2 at best.
    Older(Chain),
    /// This chain; who shows no certificate of that authority's is not let in.
    Demanding(Chain, CertificateDer<'static>),
    /// The same, in TLS 1.2 at best.
    OlderDemanding(Chain, CertificateDer<'static>),
    /// Plain HTTP.
    Plain,
    /// It accepts, and says nothing.
    Silence,
}

impl Authority {
    /// Its own certificate.
    pub(crate) fn der(&self) -> CertificateDer<'static> {
        self.certificate.der().clone()
    }
}

/// TLS at a fixed address, in front of a plain server.
#[derive(Debug)]
pub(crate) struct TlsFront {
    port: u16,
    shared: Arc<Shared>,
    /// Aborted when dropped.
    _task: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    behind: u16,
    show: Mutex<Show>,
    /// For each connection whether a client certificate was shown.
    shown: Mutex<Vec<bool>>,
}

impl TlsFront {
    /// In front of the server on loopback port `behind`.
    pub(crate) async fn of(behind: u16, show: Show) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared { behind, show: Mutex::new(show), shown: Mutex::default() });
        let mut task = JoinSet::new();
        task.spawn(accept(listener, Arc::clone(&shared)));
        Self { port, shared, _task: task }
    }

    /// The MCP endpoint.
    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}/mcp", self.port)
    }

    /// Shows something else from the next connection on.
    pub(crate) fn show(&self, show: Show) {
        *self.shared.show.lock().unwrap_or_else(PoisonError::into_inner) = show;
    }

    /// For each connection that came as far whether a client certificate was shown.
    pub(crate) fn shown(&self) -> Vec<bool> {
        self.shared.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((socket, _)) = listener.accept().await {
        connections.spawn(serve(socket, Arc::clone(&shared)));
    }
}

async fn serve(socket: TcpStream, shared: Arc<Shared>) {
    let show = shared.show.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let config = match show {
        Show::Plain => return pass(socket, shared.behind).await,
        Show::Silence => return std::future::pending().await,
        Show::Chain(chain) => config(&chain, None, rustls::ALL_VERSIONS),
        Show::Older(chain) => config(&chain, None, &[&rustls::version::TLS12]),
        Show::Demanding(chain, authority) => config(&chain, Some(authority), rustls::ALL_VERSIONS),
        Show::OlderDemanding(chain, authority) => config(&chain, Some(authority), &[&rustls::version::TLS12]),
    };
    // Who does not trust what it is shown goes away.
    if let Ok(stream) = TlsAcceptor::from(Arc::new(config)).accept(socket).await {
        let is_shown = stream.get_ref().1.peer_certificates().is_some();
        shared.shown.lock().unwrap_or_else(PoisonError::into_inner).push(is_shown);
        pass(stream, shared.behind).await;
    }
}

fn config(
    chain: &Chain,
    demanding: Option<CertificateDer<'static>>,
    versions: &[&'static SupportedProtocolVersion],
) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions).unwrap();
    let builder = match demanding {
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(authority).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        }
        None => builder.with_no_client_auth(),
    };
    let key = PrivateKeyDer::try_from(chain.key.clone()).unwrap();
    builder.with_single_cert(chain.certificates.clone(), key).unwrap()
}

async fn pass(mut stream: impl AsyncRead + AsyncWrite + Unpin, behind: u16) {
    if let Ok(mut server) = TcpStream::connect(("127.0.0.1", behind)).await {
        let _ = copy_bidirectional(&mut stream, &mut server).await;
    }
}
