//! `profiles`: what several targets share, and what a target of a listed file may have at all.
//!
//! A profile that sends a secret or opens a range names the hosts that it is for: a target elsewhere that takes it is a
//! mistake, so that who writes a URL does not decide where a secret goes.

use std::collections::{BTreeMap, BTreeSet};

use url::Url;

use super::super::error::ConfigError;
use super::super::reader::{At, Fields, Reader};
use super::super::tree::{Node, Value};
use super::wishes::{self, Wishes};
use super::{Element, Shape, hosts, target};

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new(
        "hosts",
        Shape::OneOrList(&hosts::HOST),
        "where it may be used, as `mcp.example.com` or `*.mcp.example.com`; needed when it sends a secret",
    )
    .also_called(&["host"]),
    wishes::AUTH,
    wishes::HEADERS,
    wishes::TLS,
    wishes::LABELS,
    wishes::TIMEOUT,
    wishes::SCAN_TIMEOUT,
    wishes::ANONYMOUS,
    wishes::END_SESSION,
    wishes::TIER,
    wishes::BASELINE,
    wishes::CONFIRM,
    wishes::IGNORE,
    wishes::SEVERITY,
    wishes::AUTO_ACCEPT,
    wishes::TRUST,
    wishes::EGRESS,
];

const PROFILE: Shape = Shape::Map(KEYS);

/// What `profiles` looks like.
pub(in crate::config) const SHAPE: Shape = Shape::Names(&PROFILE);

/// All profiles.
#[derive(Debug, Default)]
pub(in crate::config) struct Profiles {
    known: BTreeMap<String, Profile>,
    /// Also those that are wrong: to name one of these is no further mistake.
    names: BTreeSet<String>,
}

/// One of them.
#[derive(Debug)]
pub(in crate::config) struct Profile {
    pub(in crate::config) wishes: Wishes,
    /// `None`: anywhere.
    hosts: Option<Vec<hosts::HostPattern>>,
    /// Where its name stands.
    pub(in crate::config) at: At,
}

impl Profiles {
    /// The profile of this name; says at `at` that there is none.
    pub(in crate::config) fn named(&self, reader: &mut Reader<'_>, name: &str, at: At) -> Option<&Profile> {
        if !self.names.contains(name) {
            let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let remedy = if names.is_empty() {
                "write it under `profiles` in driftd.yaml".to_owned()
            } else {
                reader.advice(name, &names, "profiles are")
            };
            reader.mistake_at(at, ConfigError::UnknownProfile { name: name.to_owned(), remedy }, None);
        }
        self.known.get(name)
    }
}

impl Profile {
    /// Whether it may be used for this URL.
    pub(in crate::config) fn is_for(&self, url: &Url) -> bool {
        self.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(|host| host.admits(url)))
    }

    /// Its hosts, in words.
    pub(in crate::config) fn hosts(&self) -> String {
        let hosts = self.hosts.as_deref().unwrap_or_default();
        hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Profiles> {
    let Value::Map(entries) = &node.value else { return None };
    let mut profiles = Profiles::default();
    for entry in entries {
        let at = reader.at(entry.span);
        if !is_name(&entry.key) {
            let why = "it has 1 to 64 letters, digits, `-`, `_` and `.`".to_owned();
            reader.mistake_at(
                at,
                ConfigError::Malformed { what: "name of a profile", why, remedy: String::new() },
                None,
            );
        } else if !profiles.names.insert(entry.key.clone()) {
            let error = ConfigError::DuplicateKey { key: entry.key.clone(), inside: "`profiles`" };
            reader.mistake_at(at, error, None);
        } else if reader.is_of(&entry.value, &PROFILE, &format!("the profile `{}`", entry.key)) {
            let profile = profile(reader, &entry.value, at);
            profiles.known.insert(entry.key.clone(), profile);
        }
    }
    Some(profiles)
}

fn profile(reader: &mut Reader<'_>, node: &Node, at: At) -> Profile {
    let fields = Fields::of(reader, node, "a profile", KEYS);
    let wishes = wishes::decode(reader, &fields);
    let hosts = fields.read(reader, "hosts", hosts::decode);
    if !fields.has("hosts") {
        let bound = [
            ("auth", wishes.sends_secrets()),
            ("headers", wishes.sends_secrets()),
            ("tls", wishes.sends_secrets()),
            ("egress", true),
        ];
        if let Some((key, _)) = bound.into_iter().find(|(key, counts)| *counts && fields.has(key)) {
            let why = "a profile is taken by whoever writes a target: say for which hosts";
            reader.mistake(fields.key_span(key), ConfigError::Needs { key, other: "hosts", why });
        }
    }
    if let (Some(timeout), Some(scan_timeout)) = (wishes.timeout, wishes.scan_timeout)
        && timeout > scan_timeout
    {
        reader.mistake(fields.key_span("timeout"), target::limits(timeout, scan_timeout));
    }
    Profile { wishes, hosts, at }
}

fn is_name(name: &str) -> bool {
    let ordinary = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    (1..=64).contains(&name.len()) && name.chars().all(ordinary)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_profile_with_a_secret_is_for_its_hosts_alone() {
        let profiles = taken(
            "{ internal: { auth: { bearer: { credential: mcp } }, hosts: [ \"*.mcp.example.com\", a.example ] } }",
            decode,
        );
        let profile = profiles.known.get("internal").unwrap();
        assert!(profile.wishes.sends_secrets());
        assert!(profile.is_for(&"https://b.mcp.example.com/mcp".parse().unwrap()));
        assert!(!profile.is_for(&"https://evil.example/mcp".parse().unwrap()));
        assert_eq!(profile.hosts(), "*.mcp.example.com, a.example");
    }

    #[test]
    fn a_profile_without_secrets_is_for_any_host() {
        let profiles =
            taken("{ calm: { ignore: [ { rule: tool.removed, reason: x } ], headers: { X-A: b } } }", decode);
        assert!(profiles.known.get("calm").unwrap().is_for(&"https://any.example".parse().unwrap()));
    }

    #[test]
    fn secrets_and_openings_without_hosts_are_refused() {
        let why = "a profile is taken by whoever writes a target: say for which hosts";
        assert_eq!(
            refused(
                "{ a: { auth: { bearer: { env: X } } }, b: { headers: { X-Api-Key: { env: X } } }, \
                 c: { egress: { allow: [ 10.0.0.0/8 ] } }, d e: {}, f: [], timeout: { timeout: 2m, scan_timeout: 1m, \
                 url: x } }",
                decode
            ),
            [
                format!("`auth` needs `hosts`; {why}"),
                format!("`headers` needs `hosts`; {why}"),
                format!("`egress` needs `hosts`; {why}"),
                "this is no name of a profile: it has 1 to 64 letters, digits, `-`, `_` and `.`".to_owned(),
                "the profile `f` has to be a map of `hosts`, `auth`, `headers`, `tls`, `labels`, `timeout`, `scan_timeout`, \
                 `anonymous`, `end_session`, `tier`, `baseline`, `confirm`, `ignore`, `severity`, `auto_accept`, `trust`, \
                 `egress`, this is a list"
                    .to_owned(),
                "a request may take 2m, its whole scan only 1m; raise `scan_timeout` or lower `timeout`".to_owned(),
                "unknown key `url` in a profile; known here: hosts, auth, headers, tls, labels, timeout, scan_timeout, \
                 anonymous, end_session, tier, baseline, confirm, ignore, severity, auto_accept, trust, egress"
                    .to_owned(),
            ]
        );
    }
}
