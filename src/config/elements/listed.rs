//! A target of a file that another program writes: the few keys that it may have, and what is said of the others.
//!
//! Such a file decides what is watched, not what we send, start, open or leave untold: all of that stands in files that a
//! person writes. Its addresses are ones that a service of ours may have.

use std::net::IpAddr;

use url::{Host, Url};

use super::super::error::ConfigError;
use super::super::hiding::sounds_secret;
use super::{Bounds, Element, Shape, profile, target, wishes};
use crate::model::observation::AddressClass;
use crate::net::class::classify;

/// How often such a target may be scanned.
pub(in crate::config) const EVERY: Bounds = Bounds { least: 60, most: 30 * 86_400 };

pub(in crate::config) const KEYS: &[Element] = &[
    target::ID,
    target::KIND,
    target::URL,
    Element::new("every", Shape::Duration(EVERY), "from one scan to the next").also_called(&["interval", "period"]),
    wishes::LABELS,
    target::CONSUMERS,
    target::PROFILE,
    target::WAS,
];

/// Names under which clouds serve credentials to whoever asks from inside.
const METADATA_NAMES: [&str; 5] =
    ["metadata.google.internal", "metadata.goog", "metadata", "instance-data", "instance-data.ec2.internal"];

/// What is said of a key of a target that such a file may not give; `None` for one that means nothing anywhere.
pub(in crate::config) fn refused(key: &str) -> Option<ConfigError> {
    let has = |elements: &[Element]| elements.iter().any(|element| element.key == key);
    let why = match key {
        "command" | "args" | "cwd" | "env" => "it starts no programs",
        "auth" | "headers" | "tls" => "what is sent stands in a profile: `profile: NAME`",
        _ if has(profile::KEYS) => "it stands in a profile: `profile: NAME`",
        _ if has(target::KEYS) => "it stands in files that a person writes",
        _ if sounds_secret(key) => "what is sent stands in a profile: `profile: NAME`",
        _ => return None,
    };
    Some(ConfigError::NotListed { key: key.to_owned(), why })
}

/// Says of a URL that no service of ours is there.
pub(in crate::config) fn is_for_others(url: &Url) -> Option<ConfigError> {
    let class = match url.host()? {
        Host::Ipv4(address) => classify(IpAddr::V4(address)),
        Host::Ipv6(address) => classify(IpAddr::V6(address)),
        Host::Domain(name) if METADATA_NAMES.contains(&name.trim_end_matches('.')) => AddressClass::Metadata,
        Host::Domain(_) => return None,
    };
    match class {
        AddressClass::Metadata | AddressClass::LinkLocal | AddressClass::Multicast | AddressClass::Unspecified => {
            Some(ConfigError::ForbiddenAddress(class.as_str()))
        }
        AddressClass::Public | AddressClass::Private | AddressClass::Loopback | AddressClass::Reserved => None,
    }
}

/// Whether what is sent to a URL can be read on its way.
pub(in crate::config) fn is_in_clear(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() != "https" && !is_here
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_hands_out_credentials_is_no_target() {
        for (url, class) in [
            ("http://169.254.169.254/latest/meta-data/", Some("metadata")),
            ("http://2852039166/", Some("metadata")),
            ("http://[::ffff:169.254.169.254]/", Some("metadata")),
            ("http://[fd00:ec2::254]/", Some("metadata")),
            ("http://METADATA.google.internal./", Some("metadata")),
            ("http://169.254.1.1/", Some("link_local")),
            ("http://[fe80::1]/", Some("link_local")),
            ("http://0.0.0.0:7439/", Some("unspecified")),
            ("http://224.0.0.1/", Some("multicast")),
            ("http://10.1.2.3/", None),
            ("http://127.0.0.1:8080/mcp", None),
            ("https://mcp.example.com/mcp", None),
        ] {
            let refused = is_for_others(&url.parse().unwrap()).map(|error| error.to_string());
            let expected = class.map(|class| ConfigError::ForbiddenAddress(class).to_string());
            assert_eq!(refused, expected, "{url}");
        }
    }

    #[test]
    fn only_what_stays_on_this_machine_may_go_without_tls() {
        for (url, expected) in [
            ("https://mcp.example.com", false),
            ("http://mcp.example.com", true),
            ("http://10.1.2.3", true),
            ("http://127.0.0.1:8080", false),
            ("http://[::1]:8080", false),
            ("http://localhost:8080", false),
            ("http://localhost.example.com", true),
        ] {
            assert_eq!(is_in_clear(&url.parse().unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn every_key_that_a_person_may_write_and_a_program_may_not_says_where_it_belongs() {
        for element in target::KEYS {
            let is_listed = KEYS.iter().any(|listed| listed.key == element.key);
            assert!(is_listed || refused(element.key).is_some(), "{}", element.key);
        }
        for key in ["command", "env", "cwd", "token", "apiKey", "password"] {
            assert!(refused(key).is_some(), "{key}");
        }
        assert!(refused("evry").is_none());
    }
}
