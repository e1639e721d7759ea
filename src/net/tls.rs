//! The TLS configuration that all clients share: ring, no session resumption, HTTP/2 preferred.
//!
//! Resumption is off because a resumed session shows nothing of the peer's certificate, and because a fresh
//! connection must be one (read twice, section 3).

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::{ClientConfig, RootCertStore};

use super::Roots;

pub(super) fn client_config(roots: Roots) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(store(roots)?)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn store(roots: Roots) -> Result<RootCertStore, rustls::Error> {
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
