//! The TLS configurations: ring, no session resumption, HTTP/2 preferred. One is shared by all clients; a target that
//! brings authorities or a certificate of its own has others.
//!
//! Resumption is off because a resumed session shows nothing of the peer's certificate, and because a fresh
//! connection must be one (read twice, section 3).

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

use super::Roots;
use super::own::Identity;

/// The one provider of cryptography.
pub(super) fn provider() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

/// Trusts `roots`, and shows `identity` to whoever asks for one.
pub(super) fn client_config(
    roots: Arc<RootCertStore>,
    identity: Option<&Identity>,
) -> Result<ClientConfig, rustls::Error> {
    let builder = builder()?.with_root_certificates(roots);
    Ok(finished(match identity {
        Some(identity) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(&identity.0)))),
        None => builder.with_no_client_auth(),
    }))
}

/// Leaves it to `verifier` whom to trust.
pub(super) fn watched_config(
    verifier: Arc<dyn ServerCertVerifier>,
    identity: Option<&Identity>,
) -> Result<ClientConfig, rustls::Error> {
    let builder = builder()?.dangerous().with_custom_certificate_verifier(verifier);
    Ok(finished(match identity {
        Some(identity) => builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(&identity.0)))),
        None => builder.with_no_client_auth(),
    }))
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(Arc::new(provider())).with_safe_default_protocol_versions()
}

fn finished(mut config: ClientConfig) -> ClientConfig {
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}

/// Whom the door trusts.
pub(super) fn store(roots: Roots) -> Result<RootCertStore, rustls::Error> {
    let mut store = RootCertStore::empty();
    match roots {
        Roots::Platform => {
            let loaded = rustls_native_certs::load_native_certs();
            let (added, ignored) = store.add_parsable_certificates(loaded.certs);
            tracing::debug!(added, ignored, unreadable = loaded.errors.len(), "certificate authorities loaded");
            if added == 0 {
                tracing::warn!("no certificate authority on this system: every https target will be unreachable");
            }
        }
        Roots::Only(certificates) => {
            for certificate in certificates {
                store.add(certificate)?;
            }
        }
    }
    Ok(store)
}

/// `store` and these.
pub(super) fn with(
    store: RootCertStore,
    authorities: &[CertificateDer<'static>],
) -> Result<Arc<RootCertStore>, rustls::Error> {
    let mut store = store;
    for authority in authorities {
        store.add(authority.clone())?;
    }
    Ok(Arc::new(store))
}
