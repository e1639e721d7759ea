//! What a target brings to TLS of its own: the authorities that vouch for it, and the certificate that we show it.
//!
//! Both are read from PEM at each use. The certificate is shown to the origin written and to nobody else; where the
//! target has authorities of its own, they and no others vouch for that origin.

use std::fmt;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::tls::provider;

/// Bytes of one file that are read.
pub const MOST_PEM: u64 = 1024 * 1024;
/// Certificates in one file; nobody has more authorities of his own.
const MOST: usize = 1_000;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct OwnTls {
    /// Who vouches for it, when that is not left to the door.
    pub authorities: Option<Vec<CertificateDer<'static>>>,
    /// What we show it.
    pub identity: Option<Identity>,
}

/// A client certificate with its key. The key is shown nowhere.
#[derive(Clone)]
pub struct Identity(pub(super) Arc<CertifiedKey>);

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({} certificates)", self.0.cert.len())
    }
}

/// Whom a visit trusts and what it shows.
#[derive(Clone, Copy, Debug, Default)]
pub enum Trust<'a> {
    /// What the door has.
    #[default]
    Door,
    /// What the target brings.
    Own(&'a OwnTls),
    /// What the target brings cannot be had: nothing is asked.
    Lost(OwnPart),
}

/// A part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnPart {
    /// `tls.ca`.
    Authorities,
    /// `tls.client_cert`.
    Certificate,
    /// `tls.client_key`.
    Key,
}

impl OwnPart {
    /// Its key in the configuration.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Authorities => "tls.ca",
            Self::Certificate => "tls.client_cert",
            Self::Key => "tls.client_key",
        }
    }
}

/// Why PEM is of no use; no text of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OwnTlsError {
    /// None between the marks of PEM.
    #[error("there is no certificate in it")]
    NoCertificate,
    /// More than anybody has.
    #[error("there are more than 1000 certificates in it")]
    TooMany,
    /// What stands there is none.
    #[error("a certificate in it cannot be read")]
    Unreadable,
    /// No private key, or one that is encrypted.
    #[error("there is no private key in it (PKCS #8, PKCS #1 or SEC 1, not encrypted)")]
    NoKey,
    /// A key of a kind that is not known.
    #[error("the key is of a kind that cannot be used")]
    UnfitKey,
    /// Certificate and key are of two pairs.
    #[error("the key is not that of the certificate")]
    Mismatch,
}

/// The authorities in a file of PEM.
///
/// # Errors
/// When there is none, or one that is no certificate.
pub fn authorities(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, OwnTlsError> {
    let all = certificates(pem)?;
    let mut store = rustls::RootCertStore::empty();
    for one in &all {
        store.add(one.clone()).map_err(|_| OwnTlsError::Unreadable)?;
    }
    Ok(all)
}

/// The certificates in a file of PEM, the leaf first.
///
/// # Errors
/// When there is none.
pub fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, OwnTlsError> {
    let mut all = Vec::new();
    for one in CertificateDer::pem_slice_iter(pem) {
        all.push(one.map_err(|_| OwnTlsError::Unreadable)?);
        if all.len() > MOST {
            return Err(OwnTlsError::TooMany);
        }
    }
    if all.is_empty() { Err(OwnTlsError::NoCertificate) } else { Ok(all) }
}

/// A client certificate with its key.
///
/// # Errors
/// When the key cannot be used, or is not that of the certificate.
pub fn identity(chain: Vec<CertificateDer<'static>>, key: &[u8]) -> Result<Identity, OwnTlsError> {
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| OwnTlsError::NoKey)?;
    let certified = CertifiedKey::from_der(chain, key, &provider()).map_err(|error| {
        if matches!(error, rustls::Error::InconsistentKeys(_)) { OwnTlsError::Mismatch } else { OwnTlsError::UnfitKey }
    })?;
    Ok(Identity(Arc::new(certified)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["client.example".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn a_certificate_goes_with_its_own_key_alone() {
        let ((certificate, key), (_, other)) = (pair(), pair());
        let chain = || certificates(certificate.as_bytes()).unwrap();
        let identity_of = |key: &str| identity(chain(), key.as_bytes()).map(|identity| format!("{identity:?}"));
        assert_eq!(identity_of(&key), Ok("Identity(1 certificates)".to_owned()));
        assert_eq!(identity_of(&other), Err(OwnTlsError::Mismatch));
        assert_eq!(identity_of(&certificate), Err(OwnTlsError::NoKey));
        assert_eq!(identity_of(""), Err(OwnTlsError::NoKey));
    }

    #[test]
    fn what_holds_no_certificate_is_refused() {
        let (certificate, key) = pair();
        assert_eq!(authorities(certificate.as_bytes()).map(|all| all.len()), Ok(1));
        assert_eq!(authorities(key.as_bytes()), Err(OwnTlsError::NoCertificate));
        assert_eq!(authorities(b"hello"), Err(OwnTlsError::NoCertificate));
        let damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert_eq!(authorities(damaged.as_bytes()), Err(OwnTlsError::Unreadable));
    }
}
