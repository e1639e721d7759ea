//! `smtp` of an email receiver: the relay.

use std::fs;
use std::path::PathBuf;

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::store::path;
use super::{Bounds, Element, Form, Shape, count, secret, text, word};
use crate::model::receiver::{Smtp, SmtpLogin, SmtpTls};

const PORT: Bounds = Bounds { least: 1, most: 65_535 };
const TLS: &[&str] = &["starttls", "implicit", "none"];

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("host", Shape::Text(Form::Free), "name or address of the relay").required().also_called(&["server"]),
    Element::new("port", Shape::Count(PORT), "587, 465 or 25 by `tls` when not given"),
    Element::new("tls", Shape::Word(TLS), "`starttls`, `implicit` or `none`"),
    Element::new("ca", Shape::Text(Form::Path), "a private authority's certificates, PEM"),
    Element::new("username", Shape::Text(Form::Free), "for AUTH").also_called(&["user", "login"]),
    Element::new("password", Shape::Secret, "a reference to the password"),
];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Smtp> {
    let fields = Fields::of(reader, node, "`smtp`", KEYS);
    let host = fields.read(reader, "host", host);
    let tls = fields.read(reader, "tls", tls).unwrap_or(SmtpTls::StartTls);
    let port = fields.read(reader, "port", |reader, node| count::decode(reader, node, PORT));
    let ca = fields.read(reader, "ca", certificates);
    if tls == SmtpTls::None && fields.has("ca") {
        let why = "with `tls: none` no certificate is looked at";
        reader.mistake(fields.key_span("ca"), ConfigError::Needs { key: "ca", other: "tls", why });
    }
    let username = fields.read(reader, "username", |reader, node| text::decode(reader, node, "user name"));
    let password = fields.read(reader, "password", secret::resolved).map(|(secret, _)| secret);
    for (key, other) in [("username", "password"), ("password", "username")] {
        if fields.has(key) && !fields.has(other) {
            let why = "AUTH takes both";
            reader.mistake(fields.key_span(key), ConfigError::Needs { key, other, why });
        }
    }
    let login = username.zip(password).map(|(username, password)| SmtpLogin { username, password });
    Some(Smtp { host: host?, port: port.unwrap_or_else(|| default_port(tls)), tls, ca, login })
}

const fn default_port(tls: SmtpTls) -> u16 {
    match tls {
        SmtpTls::StartTls => 587,
        SmtpTls::Implicit => 465,
        SmtpTls::None => 25,
    }
}

fn host(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let text = reader.text(node);
    // A literal IPv6 address is written bare, as everywhere outside of URLs.
    let address = text.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    if let Ok(address) = address {
        return Some(address.to_string());
    }
    match ::url::Host::parse(&text) {
        Ok(_) if !text.contains(':') => Some(text),
        _ => {
            let (why, remedy) = ("it is no name and no address", "write it as `smtp.example.com`");
            let error = ConfigError::Malformed { what: "host", why: why.to_owned(), remedy: remedy.to_owned() };
            reader.mistake(node.span, error);
            None
        }
    }
}

fn tls(reader: &mut Reader<'_>, node: &Node) -> Option<SmtpTls> {
    word::decode(reader, node, "protection of SMTP", TLS, |word| match word {
        "starttls" => Some(SmtpTls::StartTls),
        "implicit" => Some(SmtpTls::Implicit),
        "none" => Some(SmtpTls::None),
        _ => None,
    })
}

/// Looked at now, so that a wrong path is a mistake and not a mail that never leaves.
fn certificates(reader: &mut Reader<'_>, node: &Node) -> Option<PathBuf> {
    let path = path(reader, node, "path of certificates")?;
    let why = match fs::read_to_string(&path) {
        Ok(text) if text.contains("-----BEGIN CERTIFICATE-----") => return Some(path),
        Ok(_) => "there is no certificate in it".to_owned(),
        Err(error) => error.to_string(),
    };
    let remedy = "it names a file of PEM certificates".to_owned();
    reader.mistake(node.span, ConfigError::Malformed { what: "path of certificates", why, remedy });
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;
    use crate::model::secret::SecretRef;

    #[test]
    fn a_relay_is_protected_unless_it_says_otherwise_and_has_the_port_of_its_protection() {
        for (text, tls, port) in [
            ("{ host: smtp.example.com }", SmtpTls::StartTls, 587),
            ("{ host: smtp.example.com, tls: implicit }", SmtpTls::Implicit, 465),
            ("{ host: smtp.example.com, tls: none }", SmtpTls::None, 25),
            ("{ host: smtp.example.com, tls: starttls, port: 2525 }", SmtpTls::StartTls, 2525),
        ] {
            let smtp = taken(text, decode);
            assert_eq!(smtp, Smtp { host: "smtp.example.com".into(), port, tls, ca: None, login: None }, "{text}");
        }
        assert_eq!(taken("{ host: \"[::1]\" }", decode).host, "::1");
    }

    #[test]
    fn a_login_is_a_user_and_a_reference_to_a_password() {
        let smtp = taken("{ host: localhost, username: driftd, password: { env: PASSWORD } }", decode);
        let password = SecretRef::Env("PASSWORD".into());
        assert_eq!(smtp.login, Some(SmtpLogin { username: "driftd".into(), password }));
        assert_eq!(
            refused("{ host: localhost, username: driftd }", decode),
            ["`username` needs `password`; AUTH takes both"]
        );
        assert_eq!(
            refused("{ host: localhost, username: driftd, password: hunter2 }", decode),
            ["a secret is written out here; refer to it: `{ env: NAME }`, `{ file: PATH }` or `{ credential: NAME }`"]
        );
    }

    #[test]
    fn certificates_are_looked_at_when_they_are_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("ca.pem");
        let text = format!("{{ host: localhost, ca: {} }}", file.display());
        let messages = refused(&text, decode);
        assert!(messages.len() == 1 && messages[0].starts_with("this is no path of certificates: "), "{messages:?}");
        fs::write(&file, "no certificate").unwrap();
        assert_eq!(
            refused(&text, decode),
            ["this is no path of certificates: there is no certificate in it; it names a file of PEM certificates"]
        );
        fs::write(&file, "-----BEGIN CERTIFICATE-----\n").unwrap();
        assert_eq!(taken(&text, decode).ca, Some(file));
        assert_eq!(
            refused(&text.replace(" }", ", tls: none }"), decode),
            ["`ca` needs `tls`; with `tls: none` no certificate is looked at"]
        );
    }

    #[test]
    fn what_is_no_relay_says_why() {
        assert_eq!(
            refused("{ host: \"smtp.example.com:587\", port: 0, tls: tls }", decode),
            [
                "this is no host: it is no name and no address; write it as `smtp.example.com`",
                "this is out of range; from 1 to 65535",
                "this is no protection of SMTP; one of: starttls, implicit, none",
            ]
        );
    }
}
