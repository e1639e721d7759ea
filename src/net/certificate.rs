//! What a certificate says of itself (RFC 5280, section 4.1). Its texts are its writer's: data, wherever they are shown.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use jiff::Timestamp;
use x509_parser::objects::{oid_registry, oid2abbrev};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate, X509Name};

use crate::model::digest::Digest;

/// Characters of one text that are kept: DER of 64 KiB may be one name.
const LONGEST: usize = 1_024;

/// One certificate of a chain, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Of the whole certificate.
    pub fingerprint: Digest,
    /// What it says; `None` when it is no certificate.
    pub says: Option<Certificate>,
}

/// What a certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Whose it is (RFC 4514).
    pub subject: String,
    /// Who made it (RFC 4514).
    pub issuer: String,
    /// The organisation in that, when there is one.
    pub organization: Option<String>,
    /// Of the public key with its algorithm.
    pub key: Digest,
    /// The names that it is for, sorted, each once; addresses as they are written, other kinds with their kind before.
    pub names: Vec<String>,
    /// The serial number, in hexadecimal.
    pub serial: String,
    /// From when on it is valid.
    pub not_before: Option<Timestamp>,
    /// Until when.
    pub not_after: Option<Timestamp>,
    /// Who made it has the name that it is made for.
    pub is_self_issued: bool,
}

impl Shown {
    /// A certificate in DER, or what came in its place.
    #[must_use]
    pub fn of(der: &[u8]) -> Self {
        Self { fingerprint: Digest::of_bytes(der), says: Certificate::read(der) }
    }
}

impl Certificate {
    fn read(der: &[u8]) -> Option<Self> {
        let (_, read) = X509Certificate::from_der(der).ok()?;
        let mut organizations = read.issuer().iter_organization().map(|one| text(one.as_slice()));
        let instant = |second| Timestamp::from_second(second).ok();
        Some(Self {
            subject: distinguished(read.subject()),
            issuer: distinguished(read.issuer()),
            organization: organizations.next().filter(|name| !name.trim().is_empty()),
            key: Digest::of_bytes(read.public_key().raw),
            names: names(&read),
            serial: hex(read.raw_serial()),
            not_before: instant(read.validity().not_before.timestamp()),
            not_after: instant(read.validity().not_after.timestamp()),
            is_self_issued: read.subject().as_raw() == read.issuer().as_raw(),
        })
    }
}

/// The `notAfter` of a certificate in DER; `None` when it is none, or ends beyond all calendars.
pub(super) fn not_after(der: &[u8]) -> Option<Timestamp> {
    Certificate::read(der)?.not_after
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let extension = certificate.subject_alternative_name().ok().flatten();
    let all = extension.iter().flat_map(|extension| &extension.value.general_names);
    let mut names: Vec<String> = all.map(name).collect();
    names.sort();
    names.dedup();
    names
}

/// DNS names as clients compare them: in lower case.
fn name(name: &GeneralName<'_>) -> String {
    match name {
        GeneralName::DNSName(name) => text(name.to_ascii_lowercase().as_bytes()),
        GeneralName::IPAddress(bytes) => address(bytes),
        GeneralName::URI(uri) => format!("uri:{}", text(uri.as_bytes())),
        GeneralName::RFC822Name(mailbox) => format!("email:{}", text(mailbox.as_bytes())),
        GeneralName::DirectoryName(name) => format!("dirname:{}", distinguished(name)),
        GeneralName::RegisteredID(oid) => format!("oid:{oid}"),
        GeneralName::OtherName(oid, value) => format!("other:{oid}:{}", Digest::of_bytes(value)),
        GeneralName::X400Address(any) => format!("x400:{}", Digest::of_bytes(any.data)),
        GeneralName::EDIPartyName(any) => format!("edi:{}", Digest::of_bytes(any.data)),
        GeneralName::Invalid(tag, value) => format!("invalid:{}:{}", tag.0, Digest::of_bytes(value)),
    }
}

fn address(bytes: &[u8]) -> String {
    let v4 = <[u8; 4]>::try_from(bytes).map(|octets| Ipv4Addr::from(octets).to_string());
    let v6 = || <[u8; 16]>::try_from(bytes).map(|octets| Ipv6Addr::from(octets).to_string());
    v4.or_else(|_| v6()).unwrap_or_else(|_| format!("invalid:{}", Digest::of_bytes(bytes)))
}

/// As RFC 4514 writes it, but in the order of the certificate: what a name holds cannot pass for another part of it.
fn distinguished(name: &X509Name<'_>) -> String {
    let mut out = String::new();
    for part in name.iter() {
        for (index, attribute) in part.iter().enumerate() {
            if !out.is_empty() {
                out.push_str(if index == 0 { ", " } else { "+" });
            }
            let oid = attribute.attr_type();
            match oid2abbrev(oid, oid_registry()) {
                Ok(short) => out.push_str(short),
                Err(_) => out.push_str(&oid.to_id_string()),
            }
            out.push('=');
            escape(&mut out, &text(attribute.as_slice()));
            if out.len() > LONGEST {
                out.push('…');
                return out;
            }
        }
    }
    out
}

fn escape(out: &mut String, value: &str) {
    for character in value.chars() {
        if matches!(character, ',' | '+' | '"' | '\\' | '<' | '>' | ';' | '=') {
            out.push('\\');
        }
        out.push(character);
    }
}

fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut characters = text.chars();
    let mut kept: String = characters.by_ref().take(LONGEST).collect();
    if characters.next().is_some() {
        kept.push('…');
    }
    kept
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(LONGEST).fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(set: impl FnOnce(&mut rcgen::CertificateParams)) -> Vec<u8> {
        let mut parameters = rcgen::CertificateParams::new(vec!["mcp.example.com".to_owned()]).unwrap();
        set(&mut parameters);
        parameters.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn a_certificate_tells_when_it_ends_and_anything_else_tells_nothing() {
        let der = made(|parameters| parameters.not_after = rcgen::date_time_ymd(2031, 7, 4));
        assert_eq!(not_after(&der), Some("2031-07-04T00:00:00Z".parse().unwrap()));
        for cut in 0..der.len() {
            assert_eq!(not_after(&der[..cut]), None, "{cut} of {} bytes", der.len());
        }
        assert_eq!(not_after(b"no certificate"), None);
    }

    #[test]
    fn a_name_cannot_pass_for_another_part_of_it() {
        let der = made(|parameters| {
            parameters.distinguished_name = rcgen::DistinguishedName::new();
            parameters.distinguished_name.push(rcgen::DnType::OrganizationName, "Shop, O=Let's Encrypt");
            parameters.distinguished_name.push(rcgen::DnType::CommonName, "a+b");
        });
        let says = Shown::of(&der).says.unwrap();
        assert_eq!(says.issuer, r"O=Shop\, O\=Let's Encrypt, CN=a\+b");
        assert_eq!(says.organization.as_deref(), Some("Shop, O=Let's Encrypt"));
        assert!(says.is_self_issued);
    }

    #[test]
    fn names_are_sorted_in_lower_case_and_each_stands_once() {
        let der = made(|parameters| {
            use rcgen::SanType::{DnsName, IpAddress, URI};
            let dns = |name: &str| DnsName(name.try_into().unwrap());
            let uri = URI("spiffe://example.com/x".try_into().unwrap());
            parameters.subject_alt_names = vec![
                dns("b.example"),
                dns("A.example"),
                dns("a.example"),
                IpAddress("127.0.0.1".parse().unwrap()),
                IpAddress("::1".parse().unwrap()),
                uri,
            ];
        });
        let names = Shown::of(&der).says.unwrap().names;
        assert_eq!(names, ["127.0.0.1", "::1", "a.example", "b.example", "uri:spiffe://example.com/x"]);
    }

    #[test]
    fn damaged_bytes_anywhere_are_read_without_a_panic() {
        let der = made(|_| {});
        for place in 0..der.len() {
            for value in [0x00, 0x7f, 0x80, 0xff] {
                let mut damaged = der.clone();
                damaged[place] = value;
                let shown = Shown::of(&damaged);
                assert_eq!(shown.fingerprint, Digest::of_bytes(&damaged));
            }
        }
    }
}
