//! `metrics_listen`: an IP address and a port.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::tree::Node;

/// Where metrics are served when nothing is said.
pub(in crate::config) const METRICS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7439);

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<SocketAddr> {
    let text = reader.text(node);
    let address = text.parse().ok();
    if address.is_none() {
        let why = if text.bytes().all(|byte| byte.is_ascii_digit()) {
            "it is a port alone"
        } else if text.parse::<IpAddr>().is_ok() {
            "it has no port"
        } else if text.starts_with(':') {
            "it has no address before the port"
        } else if text.rsplit_once(':').is_some_and(|(address, _)| address.parse::<IpAddr>().is_ok()) {
            "its port is not between 0 and 65535"
        } else {
            "names are not looked up here, an IP address is needed"
        };
        let remedy = "write it as `127.0.0.1:7439`, or `[::1]:7439`, or `0.0.0.0:7439` for every interface".to_owned();
        reader.mistake(node.span, ConfigError::Malformed { what: "address", why: why.to_owned(), remedy });
    }
    address
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn an_address_of_either_family_has_a_port() {
        assert_eq!(taken("127.0.0.1:7439", decode), METRICS);
        assert_eq!(taken("\"[::]:9\"", decode).to_string(), "[::]:9");
    }

    #[test]
    fn half_an_address_says_which_half() {
        for (text, why) in [
            ("7439", "it is a port alone"),
            ("\":7439\"", "it has no address before the port"),
            ("127.0.0.1", "it has no port"),
            ("\"::1\"", "it has no port"),
            ("localhost:7439", "names are not looked up here, an IP address is needed"),
            ("127.0.0.1:74390", "its port is not between 0 and 65535"),
        ] {
            let messages = refused(text, decode);
            assert_eq!(messages.len(), 1, "{text}");
            assert!(messages[0].starts_with(&format!("this is no address: {why}; ")), "{text}: {messages:?}");
        }
    }
}
