//! What a target brings to TLS of its own, read at this use: files may be renewed, and may be lost.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};

use crate::model::inventory::Target;
use crate::net::own::{self, OwnTlsError};
use crate::net::{OwnPart, OwnTls, Trust};
use crate::secret::Environment;

/// What came of it.
pub(super) enum Brought {
    /// It brings nothing.
    Nothing,
    /// What it brings.
    Own(OwnTls),
    /// What it should have brought: the scan says so, and asks nothing.
    Lost(OwnPart),
}

impl Brought {
    /// For a visit.
    pub(super) const fn trust(&self) -> Trust<'_> {
        match self {
            Self::Nothing => Trust::Door,
            Self::Own(own) => Trust::Own(own),
            Self::Lost(part) => Trust::Lost(*part),
        }
    }
}

/// Reads what `target` names; its key is one of the secrets that are taken out of what arrives.
pub(super) fn read(target: &Target, environment: &Environment, secrets: &mut Vec<(String, SecretString)>) -> Brought {
    let Some(tls) = &target.tls else { return Brought::Nothing };
    let mut brought = OwnTls::default();
    let lost = |part: OwnPart, error: &dyn std::fmt::Display| {
        tracing::warn!(target_id = %target.id, key = part.key(), %error, "what a target needs for TLS cannot be had");
        Brought::Lost(part)
    };
    if let Some(path) = &tls.ca {
        match parsed(path, own::authorities) {
            Ok(authorities) => brought.authorities = Some(authorities),
            Err(error) => return lost(OwnPart::Authorities, &error),
        }
    }
    if let Some(identity) = &tls.identity {
        let chain = match parsed(&identity.certificate, own::certificates) {
            Ok(chain) => chain,
            Err(error) => return lost(OwnPart::Certificate, &error),
        };
        let key = match environment.read(&identity.key) {
            Ok(key) => key,
            Err(error) => return lost(OwnPart::Key, &error),
        };
        match own::identity(chain, key.expose_secret().as_bytes()) {
            Ok(identity) => brought.identity = Some(identity),
            Err(error) => return lost(OwnPart::Key, &error),
        }
        secrets.push((identity.key.to_string(), key));
    }
    Brought::Own(brought)
}

fn parsed<T>(path: &Path, parse: fn(&[u8]) -> Result<T, OwnTlsError>) -> Result<T, Box<dyn std::error::Error>> {
    // Asked before it is opened: a pipe would wait for whoever writes to it.
    if !std::fs::metadata(path)?.is_file() {
        return Err("it is no regular file".into());
    }
    let mut pem = Vec::new();
    File::open(path)?.take(own::MOST_PEM).read_to_end(&mut pem)?;
    Ok(parse(&pem)?)
}
