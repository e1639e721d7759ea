//! `tls` of a target: who vouches for it, and the certificate that we show it.
//!
//! The files are looked at now, so that a wrong path is a mistake and not a target that is never seen; they are read
//! anew at each scan. A key that need not be there yet (of a variable, a credential) is told by the scan.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use secrecy::ExposeSecret as _;

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::store::path;
use super::{Element, Form, Shape, secret};
use crate::model::inventory::{ClientIdentity, TargetTls};
use crate::model::secret::SecretRef;
use crate::net::own::{self, OwnTlsError};

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new(
        "ca",
        Shape::Text(Form::Path),
        "PEM file of the authorities that vouch for it; no others do then, nor the platform's",
    )
    .also_called(&["ca_file", "cafile", "ca_cert", "cacert", "root_ca"]),
    Element::new(
        "client_cert",
        Shape::Text(Form::Path),
        "PEM file of the certificate that it is shown, the leaf first",
    )
    .also_called(&["cert", "certificate", "cert_file"]),
    Element::new("client_key", Shape::Secret, "a reference to that certificate's private key, PEM").also_called(&[
        "key",
        "key_file",
        "private_key",
    ]),
];

/// What such a path is called.
const WHAT: &str = "path of certificates";

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<TargetTls> {
    let fields = Fields::of(reader, node, "`tls`", KEYS);
    let ca = fields.read(reader, "ca", |reader, node| {
        let path = path(reader, node, WHAT)?;
        looked_at(reader, node, &path, own::authorities).map(|_| path)
    });
    let certificate = fields.read(reader, "client_cert", |reader, node| {
        let path = path(reader, node, WHAT)?;
        looked_at(reader, node, &path, own::certificates).map(|chain| (path, chain))
    });
    let key = fields.read(reader, "client_key", |reader, node| {
        let key = secret::decode(reader, node)?;
        match reader.environment.read(&key) {
            Ok(value) => {
                let chain = certificate.as_ref().map(|(_, chain)| chain.clone());
                let fits = chain.map(|chain| own::identity(chain, value.expose_secret().as_bytes()));
                if let Some(Err(error)) = fits {
                    let (needed, remedy) = unfit(error);
                    reader.mistake(node.span, ConfigError::SecretUnfit { needed, remedy });
                    return None;
                }
            }
            // Of a file it is told now, as of the other two; elsewhere it may come later.
            Err(error) if matches!(key, SecretRef::File(_)) && !reader.passes_over(node.span, &error) => {
                reader.mistake(node.span, ConfigError::SecretUnavailable(error));
                return None;
            }
            Err(_) => {}
        }
        Some(key)
    });
    for (one, other) in [("client_cert", "client_key"), ("client_key", "client_cert")] {
        if fields.has(one) && !fields.has(other) {
            let why = "a certificate is shown with its key or not at all";
            reader.mistake(fields.key_span(one), ConfigError::Needs { key: one, other, why });
        }
    }
    if !KEYS.iter().any(|element| fields.has(element.key)) {
        let keys = &["ca", "client_cert"];
        reader.mistake(node.span, ConfigError::NoneOf { inside: "`tls`", keys });
    }
    let identity = certificate.zip(key).map(|((certificate, _), key)| ClientIdentity { certificate, key });
    Some(TargetTls { ca, identity })
}

/// Reads a file of PEM, or says what is wrong with it.
fn looked_at<T>(
    reader: &mut Reader<'_>,
    node: &Node,
    path: &Path,
    parse: fn(&[u8]) -> Result<T, OwnTlsError>,
) -> Option<T> {
    let why = match read(path).map(|pem| parse(&pem)) {
        Ok(Ok(parsed)) => return Some(parsed),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    let remedy = "it names a file of PEM certificates".to_owned();
    reader.mistake(node.span, ConfigError::Malformed { what: WHAT, why, remedy });
    None
}

/// As much as any such file holds.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Asked before it is opened: a pipe would wait for whoever writes to it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut pem = Vec::new();
    File::open(path)?.take(own::MOST_PEM).read_to_end(&mut pem)?;
    Ok(pem)
}

/// What was needed, and what to do.
const fn unfit(error: OwnTlsError) -> (&'static str, &'static str) {
    match error {
        OwnTlsError::Mismatch => ("key of the certificate in `client_cert`", "both are of one pair"),
        OwnTlsError::NoKey
        | OwnTlsError::UnfitKey
        | OwnTlsError::NoCertificate
        | OwnTlsError::TooMany
        | OwnTlsError::Unreadable => {
            ("private key that can be used", "PEM of PKCS #8, PKCS #1 or SEC 1, not encrypted")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::testing::{refused, taken};
    use super::*;

    struct Files(tempfile::TempDir);

    impl Files {
        fn new() -> Self {
            let files = Self(tempfile::tempdir().unwrap());
            for (name, pair) in [("one", made()), ("two", made())] {
                std::fs::write(files.0.path().join(format!("{name}.pem")), pair.0).unwrap();
                std::fs::write(files.0.path().join(format!("{name}.key")), pair.1).unwrap();
            }
            files
        }

        fn at(&self, name: &str) -> String {
            self.0.path().join(name).to_str().unwrap().to_owned()
        }
    }

    fn made() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn authorities_and_a_certificate_with_its_key_are_taken() {
        let files = Files::new();
        let (pem, key) = (files.at("one.pem"), files.at("one.key"));
        let tls = taken(&format!("{{ ca: {pem}, client_cert: {pem}, client_key: {{ file: {key} }} }}"), decode);
        let identity = ClientIdentity { certificate: PathBuf::from(&pem), key: SecretRef::File(key.into()) };
        assert_eq!(tls, TargetTls { ca: Some(pem.clone().into()), identity: Some(identity) });
        let later = taken(&format!("{{ client_cert: {pem}, client_key: {{ env: ABSENT }} }}"), decode);
        assert!(later.identity.is_some(), "a variable may come later");
    }

    #[test]
    fn what_is_missing_or_of_no_use_is_told_at_once() {
        let files = Files::new();
        let (pem, key, other) = (files.at("one.pem"), files.at("one.key"), files.at("two.key"));
        let remedy = "it names a file of PEM certificates";
        for (text, message) in [
            (
                "{ ca: /nowhere/ca.pem }".to_owned(),
                format!("this is no path of certificates: No such file or directory (os error 2); {remedy}"),
            ),
            (
                format!("{{ ca: {key} }}"),
                format!("this is no path of certificates: there is no certificate in it; {remedy}"),
            ),
            (
                format!("{{ client_cert: {pem} }}"),
                "`client_cert` needs `client_key`; a certificate is shown with its key or not at all".to_owned(),
            ),
            (
                format!("{{ client_cert: {pem}, client_key: {{ file: {other} }} }}"),
                "the value of that secret is no key of the certificate in `client_cert`; both are of one pair"
                    .to_owned(),
            ),
            (
                format!("{{ client_cert: {pem}, client_key: {{ env: PASSWORD }} }}"),
                "the value of that secret is no private key that can be used; PEM of PKCS #8, PKCS #1 or SEC 1, not \
                 encrypted"
                    .to_owned(),
            ),
        ] {
            assert_eq!(refused(&text, decode), [message], "{text}");
        }
        let messages = refused(&format!("{{ client_cert: {pem}, client_key: {{ file: /nowhere/key }} }}"), decode);
        assert!(messages.len() == 1 && messages[0].contains("has no value"), "{messages:?}");
        let messages = refused("{}", decode);
        assert!(messages.len() == 1 && messages[0].starts_with("`tls` has none of ca, client_cert"), "{messages:?}");
    }
}
