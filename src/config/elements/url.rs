//! `url` of a target and of a webhook.

use url::Url;

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::tree::Node;

/// A target's endpoint.
pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Url> {
    match parse(&reader.text(node)) {
        Ok(url) => Some(url),
        Err(why) => {
            // Also when it is no URL at all, it may hold a password.
            if reader.text(node).contains('@') {
                reader.hide(node);
            }
            let remedy = "write it as `https://host/path`".to_owned();
            reader.mistake(node.span, ConfigError::Malformed { what: "URL", why, remedy });
            None
        }
    }
}

/// `http:` or `https:`, with a host, without user information and fragment. The reason quotes nothing.
pub(in crate::config) fn parse(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| {
        let no_scheme = error == url::ParseError::RelativeUrlWithoutBase;
        if no_scheme { "it has no scheme".to_owned() } else { error.to_string() }
    })?;
    let why = if !matches!(url.scheme(), "http" | "https") {
        "its scheme is neither http nor https"
    } else if !url.has_host() {
        "it has no host"
    } else if !url.username().is_empty() || url.password().is_some() {
        "it holds a user or a password; secrets are references"
    } else if url.fragment().is_some() {
        "it has a fragment, which is never sent"
    } else {
        return Ok(url);
    };
    Err(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn an_endpoint_is_kept_as_written() {
        assert_eq!(taken("https://mcp.example.com/mcp?x=1", decode).as_str(), "https://mcp.example.com/mcp?x=1");
        assert_eq!(taken("\"http://[::1]:8080/\"", decode).as_str(), "http://[::1]:8080/");
    }

    #[test]
    fn what_is_no_endpoint_says_why() {
        for (text, why) in [
            ("mcp.example.com/mcp", "it has no scheme"),
            ("localhost:8080/mcp", "its scheme is neither http nor https"),
            ("ftp://example.com", "its scheme is neither http nor https"),
            ("\"https://\"", "empty host"),
            ("https://exa mple.com", "invalid international domain name"),
            ("https://user@example.com", "it holds a user or a password; secrets are references"),
            ("https://:pw@example.com", "it holds a user or a password; secrets are references"),
            ("\"https://example.com/#a\"", "it has a fragment, which is never sent"),
        ] {
            let message = format!("this is no URL: {why}; write it as `https://host/path`");
            assert_eq!(refused(text, decode), [message], "{text}");
        }
    }
}
