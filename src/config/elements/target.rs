//! One entry of `targets`.

use std::time::Duration;

use super::super::error::ConfigError;
use super::super::reader::{At, Fields, Reader};
use super::super::tree::Node;
use super::cadence::EVERY;
use super::defaults::{Defaults, LIMIT};
use super::{Element, Form, Shape, auth, baseline, cadence, duration, egress, flag, headers, id, kind, labels, url};
use crate::model::inventory::{Cadence, Target};

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("id", Shape::Text(Form::Id), "the target's id").required().also_called(&["name"]),
    Element::new("kind", Shape::Word(kind::WORDS), "the protocol, `mcp`").required().also_called(&["type", "protocol"]),
    Element::new("url", Shape::Text(Form::Url), "the endpoint").required().also_called(&["endpoint", "address"]),
    Element::new("every", Shape::Duration(EVERY), "from one scan to the next").also_called(&["interval", "period"]),
    Element::new("schedule", Shape::Map(cadence::KEYS), "when it is scanned").also_called(&["cron"]),
    Element::new("timeout", Shape::Duration(LIMIT), "limit of one request"),
    Element::new("scan_timeout", Shape::Duration(LIMIT), "limit of one scan"),
    Element::new("auth", Shape::Map(auth::KEYS), "what we present").also_called(&["bearer", "token", "credentials"]),
    Element::new("labels", labels::SHAPE, "for routes and people").also_called(&["tags"]),
    Element::new("headers", headers::SHAPE, "sent with every request to the origin written"),
    Element::new("paused", Shape::Flag, "known, not scanned").also_called(&["disabled"]),
    Element::new("anonymous", Shape::Flag, "whether the stranger's face is watched too"),
    Element::new("end_session", Shape::Flag, "whether sessions are ended"),
    Element::new("baseline", Shape::Word(baseline::WORDS), "how it gets what it is held to"),
    Element::new("egress", Shape::Map(egress::KEYS), "special ranges opened for what it names"),
];

/// A target before the defaults, which may stand in a file that is not read yet.
#[derive(Debug)]
pub(in crate::config) struct Draft {
    /// Where its id stands.
    pub(in crate::config) at: At,
    target: Target,
    has_cadence: bool,
    timeout: Option<Duration>,
    scan_timeout: Option<Duration>,
    /// Where the limits stand that it has of its own.
    limits_at: At,
}

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Draft> {
    let fields = Fields::of(reader, node, "a target", KEYS);
    let id = fields.read(reader, "id", id::decode);
    let kind = fields.read(reader, "kind", kind::decode);
    let url = fields.read(reader, "url", url::decode);
    let cadence = cadence_of(reader, &fields);
    let timeout = fields.read(reader, "timeout", |reader, node| duration::decode(reader, node, LIMIT));
    let scan_timeout = fields.read(reader, "scan_timeout", |reader, node| duration::decode(reader, node, LIMIT));
    let auth = fields.read(reader, "auth", auth::decode);
    let labels = fields.read(reader, "labels", labels::decode).unwrap_or_default();
    let headers = fields.read(reader, "headers", headers::decode).unwrap_or_default();
    let paused = fields.read(reader, "paused", flag::decode).unwrap_or(false);
    let anonymous = fields.read(reader, "anonymous", flag::decode).unwrap_or(true);
    if !anonymous && !fields.has("auth") {
        let why = "without a credential nothing else could be watched";
        reader.mistake(fields.key_span("anonymous"), ConfigError::Needs { key: "anonymous", other: "auth", why });
    }
    let end_session = fields.read(reader, "end_session", flag::decode).unwrap_or(true);
    let baseline = fields.read(reader, "baseline", baseline::decode).unwrap_or_default();
    let egress_allow = fields.read(reader, "egress", egress::decode).unwrap_or_default();
    let limit = if fields.has("timeout") { "timeout" } else { "scan_timeout" };
    Some(Draft {
        at: reader.at(fields.node("id").map_or(fields.span, |id| id.span)),
        limits_at: reader.at(fields.key_span(limit)),
        has_cadence: cadence.is_some(),
        timeout,
        scan_timeout,
        target: Target {
            id: id?,
            kind: kind?,
            url: url?,
            cadence: cadence.unwrap_or(Cadence::Every(Duration::ZERO)),
            timeout: Duration::ZERO,
            scan_timeout: Duration::ZERO,
            auth,
            labels,
            headers,
            paused,
            anonymous,
            end_session,
            baseline,
            egress_allow,
            policy: crate::model::policy::Policy::default(),
            confirm: None,
            was: Vec::new(),
        },
    })
}

/// `every` or `schedule`, not both.
fn cadence_of(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Cadence> {
    let every = fields.read(reader, "every", |reader, node| duration::decode(reader, node, EVERY));
    let schedule = fields.read(reader, "schedule", cadence::decode);
    if fields.has("every") && fields.has("schedule") {
        let (at, other) = (reader.at(fields.key_span("schedule")), reader.at(fields.key_span("every")));
        reader.mistake_at(at, ConfigError::Excludes("every", "schedule"), Some((other, "the other stands here")));
    }
    schedule.or_else(|| every.map(Cadence::Every))
}

impl Draft {
    /// The id.
    pub(in crate::config) fn id(&self) -> &str {
        self.target.id.as_str()
    }

    /// The target with the inventory's defaults.
    pub(in crate::config) fn finish(self, reader: &mut Reader<'_>, defaults: Defaults) -> Target {
        let mut target = self.target;
        if !self.has_cadence {
            target.cadence = Cadence::Every(defaults.every);
        }
        target.timeout = self.timeout.unwrap_or(defaults.timeout);
        target.scan_timeout = self.scan_timeout.unwrap_or(defaults.scan_timeout);
        // Limits of the defaults alone are looked at where they stand.
        if target.timeout > target.scan_timeout && (self.timeout.is_some() || self.scan_timeout.is_some()) {
            let error = limits(target.timeout, target.scan_timeout);
            reader.mistake_at(self.limits_at, error, None);
        }
        target
    }
}

/// A request that may take longer than its scan.
pub(in crate::config) fn limits(timeout: Duration, scan_timeout: Duration) -> ConfigError {
    ConfigError::Limits {
        timeout: duration::spelled(timeout.as_secs()),
        scan_timeout: duration::spelled(scan_timeout.as_secs()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;
    use crate::model::target::{BaselineMode, Kind};

    fn finished(reader: &mut Reader<'_>, node: &Node) -> Option<Target> {
        let draft = decode(reader, node)?;
        Some(draft.finish(reader, Defaults::default()))
    }

    #[test]
    fn a_target_of_three_keys_has_every_default() {
        let target = taken("{ id: a, kind: mcp, url: \"https://mcp.example.com/mcp\" }", finished);
        assert_eq!(
            target,
            Target {
                id: "a".parse().unwrap(),
                kind: Kind::Mcp,
                url: "https://mcp.example.com/mcp".parse().unwrap(),
                cadence: Cadence::Every(Duration::from_mins(15)),
                timeout: Duration::from_secs(20),
                scan_timeout: Duration::from_mins(1),
                auth: None,
                labels: std::collections::BTreeMap::new(),
                headers: Vec::new(),
                paused: false,
                anonymous: true,
                end_session: true,
                baseline: BaselineMode::FirstSeen,
                egress_allow: Vec::new(),
                policy: crate::model::policy::Policy::default(),
                confirm: None,
                was: Vec::new(),
            }
        );
    }

    #[test]
    fn every_and_schedule_exclude_each_other() {
        let text = "{ id: a, kind: mcp, url: \"https://a.example\", every: 5m, schedule: { cron: \"0 0 * * *\" } }";
        assert_eq!(
            refused(text, finished),
            ["`every` and `schedule` exclude each other; keep either `every` or `schedule`"]
        );
    }

    #[test]
    fn without_a_credential_the_strangers_face_is_all_there_is() {
        let text = "{ id: a, kind: mcp, url: \"https://a.example\", anonymous: false }";
        assert_eq!(
            refused(text, finished),
            ["`anonymous` needs `auth`; without a credential nothing else could be watched"]
        );
    }

    #[test]
    fn a_request_cannot_outlast_its_scan() {
        let text = "{ id: a, kind: mcp, url: \"https://a.example\", timeout: 2m }";
        assert_eq!(
            refused(text, finished),
            ["a request may take 2m, its whole scan only 1m; raise `scan_timeout` or lower `timeout`"]
        );
    }

    #[test]
    fn all_that_is_wrong_with_a_target_is_said_at_once() {
        insta::assert_snapshot!(
            refused("{ name: a, kind: a2a, url: a.example, paused: no, labels: [x], evry: 5m, tier: negative }", finished)
                .join("\n"),
            @r#"
    a target has no `id`; add `id`: the target's id
    unknown key `name` in a target; it is called `id`
    `kind: a2a` is not supported by this version; this version watches MCP servers: `kind: mcp`
    this is no URL: it has no scheme; write it as `https://host/path`
    `paused` has to be true or false, this is a text
    `labels` has to be a map, each value a text, this is a list
    unknown key `evry` in a target; did you mean `every`?
    unknown key `tier` in a target; known here: id, kind, url, every, schedule, timeout, scan_timeout, auth, labels, headers, paused, anonymous, end_session, baseline, egress
    "#
        );
    }
}
