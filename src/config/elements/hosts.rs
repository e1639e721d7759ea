//! `hosts` of a profile: where its secrets may be sent.
//!
//! A host is compared as it was parsed, not as it was written: `*.x` stands for one or more labels before `x`, and never
//! for `x` itself; an address stands for itself alone.

use std::fmt;

use url::{Host, Url};

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::tree::Node;
use super::{Form, Shape};

pub(in crate::config) const HOST: Shape = Shape::Text(Form::Host);

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::config) enum HostPattern {
    /// This host.
    Exactly(Host),
    /// Every host below this name.
    Below(String),
}

impl HostPattern {
    /// Whether a URL's host is of the pattern.
    pub(in crate::config) fn admits(&self, url: &Url) -> bool {
        match (self, url.host()) {
            (Self::Exactly(host), Some(other)) => host.to_string() == other.to_string(),
            (Self::Below(name), Some(Host::Domain(other))) => {
                let labels = other.strip_suffix(name.as_str()).and_then(|before| before.strip_suffix('.'));
                labels.is_some_and(|labels| !labels.is_empty())
            }
            (Self::Below(_), Some(Host::Ipv4(_) | Host::Ipv6(_))) | (_, None) => false,
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(host) => host.fmt(f),
            Self::Below(name) => write!(f, "*.{name}"),
        }
    }
}

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<HostPattern>> {
    let hosts = reader.items(node, &HOST, "a host of `hosts`", |reader, node| match parse(&reader.text(node)) {
        Ok(host) => Some(host),
        Err((why, remedy)) => {
            reader.mistake(node.span, ConfigError::Malformed { what: "host", why: why.to_owned(), remedy });
            None
        }
    });
    reader.is_filled(node).then_some(hosts)
}

fn parse(text: &str) -> Result<HostPattern, (&'static str, String)> {
    let example = || "write it as `mcp.example.com` or `*.mcp.example.com`".to_owned();
    if text.contains("://") {
        let host = Url::parse(text).ok().and_then(|url| url.host_str().map(str::to_owned));
        return Err(("it is a URL", host.map_or_else(example, |host| format!("did you mean `{host}`?"))));
    }
    if text.parse::<std::net::Ipv6Addr>().is_ok() {
        return Err(("an IPv6 address stands in brackets", format!("did you mean `[{text}]`?")));
    }
    let (name, below) = text.strip_prefix("*.").map_or((text, false), |name| (name, true));
    if matches!(text, "*" | "*.") {
        return Err(("it stands for every host", "name the hosts that may see the secrets".to_owned()));
    }
    if name.contains('*') {
        return Err(("a `*` stands at the start, before a dot", example()));
    }
    match (Host::parse(name), below) {
        (Ok(Host::Domain(name)), true) => Ok(HostPattern::Below(name)),
        (Ok(Host::Ipv4(_) | Host::Ipv6(_)), true) => Err(("no hosts are below an address", example())),
        (Ok(host), false) => Ok(HostPattern::Exactly(host)),
        (Err(_), _) => Err(("it is no name or address, and has neither scheme, port nor path", example())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_pattern_stands_for_hosts_below_a_name_and_not_for_the_name() {
        for (pattern, url, expected) in [
            ("mcp.example.com", "https://mcp.example.com:8443/mcp", true),
            ("MCP.Example.com", "https://mcp.EXAMPLE.com/", true),
            ("mcp.example.com", "https://a.mcp.example.com/", false),
            ("*.mcp.example.com", "https://a.mcp.example.com/", true),
            ("*.mcp.example.com", "https://a.b.mcp.example.com/", true),
            ("*.mcp.example.com", "https://mcp.example.com/", false),
            ("*.mcp.example.com", "https://evilmcp.example.com/", false),
            ("*.mcp.example.com", "https://mcp.example.com.evil.example/", false),
            ("*.mcp.example.com", "https://evil.example/?a.mcp.example.com", false),
            ("*.mcp.example.com", "https://evil.example\\@a.mcp.example.com/", false),
            ("*.bücher.example", "https://a.xn--bcher-kva.example/", true),
            ("127.0.0.1", "http://2130706433/", true),
            ("127.0.0.1", "http://127.0.0.2/", false),
            ("[::1]", "http://[0:0:0:0:0:0:0:1]:80/", true),
        ] {
            let hosts = taken(&format!("[ \"{pattern}\" ]"), decode);
            let url: Url = url.parse().unwrap();
            assert_eq!(hosts.iter().any(|host| host.admits(&url)), expected, "{pattern} {url}");
        }
    }

    #[test]
    fn what_is_no_host_says_why() {
        let example = "write it as `mcp.example.com` or `*.mcp.example.com`";
        let no = "it is no name or address, and has neither scheme, port nor path";
        for (text, message) in [
            ("\"*\"", "it stands for every host; name the hosts that may see the secrets".to_owned()),
            ("https://mcp.example.com/mcp", "it is a URL; did you mean `mcp.example.com`?".to_owned()),
            ("mcp.example.com:8443", format!("{no}; {example}")),
            ("mcp.example.com/mcp", format!("{no}; {example}")),
            ("\"mcp-*.example.com\"", format!("a `*` stands at the start, before a dot; {example}")),
            ("\"*.10.0.0.1\"", format!("no hosts are below an address; {example}")),
            ("\"::1\"", "an IPv6 address stands in brackets; did you mean `[::1]`?".to_owned()),
        ] {
            assert_eq!(refused(&format!("[ {text} ]"), decode), [format!("this is no host: {message}")], "{text}");
        }
        assert_eq!(refused("[]", decode), ["this list is empty; name at least one"]);
    }
}
