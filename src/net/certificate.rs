//! When a certificate ends (RFC 5280, section 4.1.2.5).

use jiff::Timestamp;
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// The `notAfter` of a certificate in DER; `None` when it is none, or ends beyond all calendars.
pub(super) fn not_after(der: &[u8]) -> Option<Timestamp> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_tells_when_it_ends_and_anything_else_tells_nothing() {
        let mut parameters = rcgen::CertificateParams::new(vec!["mcp.example.com".to_owned()]).unwrap();
        parameters.not_after = rcgen::date_time_ymd(2031, 7, 4);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        let der = certificate.der();
        assert_eq!(not_after(der), Some("2031-07-04T00:00:00Z".parse().unwrap()));
        for cut in 0..der.len() {
            assert_eq!(not_after(&der[..cut]), None, "{cut} of {} bytes", der.len());
        }
        assert_eq!(not_after(b"no certificate"), None);
    }
}
