//! One entry of `targets`.

use std::time::Duration;

use super::super::error::ConfigError;
use super::super::reader::{At, Elsewhere, Fields, Reader};
use super::super::tree::Node;
use super::cadence::EVERY;
use super::defaults::Defaults;
use super::profile::{Profile, Profiles};
use super::wishes::{self, Wishes};
use super::{Element, Form, Shape, cadence, command, confirm, consumers, duration, flag, id, kind, listed, url, was};
use crate::model::confirm::Confirm;
use crate::model::endpoint::{Command, Endpoint};
use crate::model::inventory::{Cadence, Target};
use crate::model::policy::{Consumer, Policy};
use crate::model::target::{Kind, TargetId};

pub(in crate::config) const ID: Element =
    Element::new("id", Shape::Text(Form::Id), "the target's id").required().also_called(&["name"]);
pub(in crate::config) const KIND: Element =
    Element::new("kind", Shape::Word(kind::WORDS), "the protocol, `mcp`").required().also_called(&["type", "protocol"]);
pub(in crate::config) const URL: Element =
    Element::new("url", Shape::Text(Form::Url), "the endpoint").also_called(&["endpoint", "address"]);
pub(in crate::config) const CONSUMERS: Element =
    Element::new("consumers", consumers::SHAPE, "who uses which of its items").also_called(&["used_by"]);
pub(in crate::config) const PROFILE: Element =
    Element::new("profile", Shape::Text(Form::Free), "the name of a profile in driftd.yaml, whose keys hold for it");
pub(in crate::config) const WAS: Element =
    Element::new("was", was::SHAPE, "ids it had before, whose baseline and history it carries on")
        .also_called(&["formerly", "previously"]);

/// Keys that say something of a URL alone.
const OF_URLS: [&str; 6] = ["auth", "headers", "tls", "anonymous", "end_session", "egress"];

pub(in crate::config) const KEYS: &[Element] = &[
    ID,
    KIND,
    URL,
    command::COMMAND,
    command::ENV,
    command::CWD,
    Element::new("every", Shape::Duration(EVERY), "from one scan to the next; 15m when not given")
        .also_called(&["interval", "period"]),
    Element::new("schedule", Shape::Map(cadence::KEYS), "when it is scanned").also_called(&["cron"]),
    wishes::TIMEOUT,
    wishes::SCAN_TIMEOUT,
    wishes::AUTH,
    wishes::LABELS,
    wishes::HEADERS,
    wishes::TLS,
    Element::new("paused", Shape::Flag, "known, not scanned").also_called(&["disabled"]),
    wishes::ANONYMOUS,
    wishes::END_SESSION,
    wishes::TIER,
    wishes::BASELINE,
    wishes::CONFIRM,
    wishes::IGNORE,
    wishes::SEVERITY,
    wishes::AUTO_ACCEPT,
    wishes::TRUST,
    CONSUMERS,
    PROFILE,
    WAS,
    wishes::EGRESS,
];

/// A target before what holds around it, which may stand in a file that is not read yet.
#[derive(Debug)]
pub(in crate::config) struct Draft {
    id: TargetId,
    kind: Kind,
    endpoint: Endpoint,
    cadence: Option<Cadence>,
    paused: bool,
    wishes: Wishes,
    consumers: Vec<Consumer>,
    profile: Option<String>,
    was: Vec<(TargetId, At)>,
    is_listed: bool,
    places: Places,
}

/// Where things stand that can be wrong together with others.
#[derive(Debug)]
struct Places {
    id: At,
    /// The value of `url` or `command`.
    endpoint: At,
    profile: At,
    anonymous: At,
    tls: At,
    /// The limits that it has of its own.
    limits: At,
}

/// What holds around a target.
#[derive(Clone, Copy, Debug)]
pub(in crate::config) struct Around<'a> {
    /// The inventory's.
    pub(in crate::config) defaults: Defaults,
    /// The daemon's.
    pub(in crate::config) confirm: Confirm,
    /// Likewise.
    pub(in crate::config) commands: &'a command::Allowed,
    pub(in crate::config) profiles: &'a Profiles,
}

/// A target, and where its ids stand.
#[derive(Debug)]
pub(in crate::config) struct Placed {
    pub(in crate::config) target: Target,
    pub(in crate::config) at: At,
    /// The ids that it claims; `target.was` holds them too.
    pub(in crate::config) was: Vec<(TargetId, At)>,
}

/// An entry of a file that a person writes.
pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Draft> {
    let fields = Fields::of(reader, node, "a target", KEYS);
    let cadence = cadence_of(reader, &fields);
    draft(reader, &fields, cadence, false)
}

/// An entry of a file that another program writes.
pub(in crate::config) fn decode_listed(reader: &mut Reader<'_>, node: &Node) -> Option<Draft> {
    let fields =
        Fields::beside(reader, node, "a target of a listed file", listed::KEYS, Elsewhere::Refused(listed::refused));
    let every = fields.read(reader, "every", |reader, node| duration::decode(reader, node, listed::EVERY));
    let draft = draft(reader, &fields, every.map(Cadence::Every), true);
    if let Some(draft) = &draft
        && let Some(error) = draft.endpoint.url().and_then(listed::is_for_others)
    {
        reader.mistake_at(draft.places.endpoint, error, None);
    }
    draft
}

fn draft(reader: &mut Reader<'_>, fields: &Fields<'_>, cadence: Option<Cadence>, is_listed: bool) -> Option<Draft> {
    let id = fields.read(reader, "id", id::decode);
    let kind = fields.read(reader, "kind", kind::decode);
    let endpoint = endpoint_of(reader, fields);
    let paused = fields.read(reader, "paused", flag::decode).unwrap_or(false);
    let wishes = wishes::decode(reader, fields);
    let consumers = fields.read(reader, "consumers", consumers::decode).unwrap_or_default();
    let profile = fields.read(reader, "profile", |reader, node| Some(reader.text(node)));
    let was = fields.read(reader, "was", was::decode).unwrap_or_default();
    let value = |key| reader.at(fields.node(key).map_or(fields.span, |node| node.span));
    let limit = if fields.has("timeout") { "timeout" } else { "scan_timeout" };
    let places = Places {
        id: value("id"),
        endpoint: value(if fields.has("command") { "command" } else { "url" }),
        profile: value("profile"),
        anonymous: reader.at(fields.key_span("anonymous")),
        tls: reader.at(fields.key_span("tls")),
        limits: reader.at(fields.key_span(limit)),
    };
    let (id, kind, endpoint) = (id?, kind?, endpoint?);
    Some(Draft { id, kind, endpoint, cadence, paused, wishes, consumers, profile, was, is_listed, places })
}

/// `url` or `command`, and what belongs to a command.
fn endpoint_of(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Endpoint> {
    let url = fields.read(reader, "url", url::decode);
    let command = fields.read(reader, "command", command::decode);
    let env = fields.read(reader, "env", command::env);
    let cwd = fields.read(reader, "cwd", command::cwd);
    match (fields.has("url"), fields.has("command")) {
        (true, true) => {
            let (at, other) = (reader.at(fields.key_span("command")), reader.at(fields.key_span("url")));
            reader.mistake_at(at, ConfigError::Excludes("url", "command"), Some((other, "the other stands here")));
            return None;
        }
        (false, false) => {
            let (inside, keys) = ("a target", &["url", "command"]);
            reader.mistake(fields.span, ConfigError::NoneOf { inside, keys });
            return None;
        }
        (true, false) => {
            for key in ["env", "cwd"].into_iter().filter(|key| fields.has(key)) {
                let why = "only a program that is started has an environment";
                reader.mistake(fields.key_span(key), ConfigError::Needs { key, other: "command", why });
            }
            return url.map(Endpoint::Url);
        }
        (false, true) => {}
    }
    for key in OF_URLS.into_iter().filter(|key| fields.has(key)) {
        let why = "a program is given what it needs by `env`";
        reader.mistake(fields.key_span(key), ConfigError::Needs { key, other: "url", why });
    }
    command.map(|command| Endpoint::Command(Command { env: env.unwrap_or_default(), cwd, ..command }))
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
    pub(in crate::config) const fn id(&self) -> &TargetId {
        &self.id
    }

    /// Where it stands.
    pub(in crate::config) const fn at(&self) -> At {
        self.places.id
    }

    /// The target with what holds around it.
    pub(in crate::config) fn finish(self, reader: &mut Reader<'_>, around: &Around<'_>) -> Placed {
        self.look_at_command(reader, around.commands);
        let profile = self.profile.as_deref().and_then(|name| {
            let profile = around.profiles.named(reader, name, self.places.profile)?;
            self.look_at_profile(reader, name, profile);
            Some(profile)
        });
        if self.wishes.tls.is_some() && self.endpoint.url().is_some_and(|url| url.scheme() != "https") {
            let why = "nothing of it is used over plain http";
            reader.mistake_at(self.places.tls, ConfigError::Needs { key: "tls", other: "url: https://…", why }, None);
        }
        let (timeout, scan_timeout) = (self.wishes.timeout, self.wishes.scan_timeout);
        let wishes = match profile {
            Some(profile) => self.wishes.over(&profile.wishes, self.is_listed),
            None => self.wishes,
        };
        if wishes.anonymous == Some(false) && wishes.auth.is_none() {
            let why = "without a credential nothing else could be watched";
            reader.mistake_at(self.places.anonymous, ConfigError::Needs { key: "anonymous", other: "auth", why }, None);
        }
        let (defaults, limits_refused) = (around.defaults, wishes.limits_refused);
        let target = Target {
            id: self.id,
            kind: self.kind,
            endpoint: self.endpoint,
            cadence: self.cadence.unwrap_or(Cadence::Every(defaults.every)),
            timeout: wishes.timeout.unwrap_or(defaults.timeout),
            scan_timeout: wishes.scan_timeout.unwrap_or(defaults.scan_timeout),
            auth: wishes.auth,
            labels: wishes.labels,
            headers: wishes.headers,
            paused: self.paused,
            anonymous: wishes.anonymous.unwrap_or(true),
            end_session: wishes.end_session.unwrap_or(true),
            tls: wishes.tls,
            tier: wishes.tier.unwrap_or_default(),
            baseline: wishes.baseline.unwrap_or_default(),
            egress_allow: wishes.egress_allow.unwrap_or_default(),
            policy: Policy {
                ignore: wishes.ignore,
                severity: wishes.severity,
                auto_accept: wishes.auto_accept,
                trust_hints: wishes.trust_hints,
                consumers: self.consumers,
            },
            confirm: (wishes.confirm != confirm::Wish::default()).then(|| wishes.confirm.over(around.confirm)),
            was: self.was.iter().map(|(id, _)| id.clone()).collect(),
        };
        // Limits of the defaults alone are looked at where they stand.
        let has_own = timeout.is_some() || scan_timeout.is_some() || profile.is_some();
        if target.timeout > target.scan_timeout && has_own && !limits_refused {
            reader.mistake_at(self.places.limits, limits(target.timeout, target.scan_timeout), None);
        }
        Placed { target, at: self.places.id, was: self.was }
    }

    /// Whether its program may be started.
    fn look_at_command(&self, reader: &mut Reader<'_>, allowed: &command::Allowed) {
        if let Some(command) = self.endpoint.command().filter(|command| !allowed.admits(command)) {
            let program = command.program.clone();
            reader.mistake_at(self.places.endpoint, ConfigError::NotAllowed { program }, None);
        }
    }

    /// Whether a profile may be used for it.
    fn look_at_profile(&self, reader: &mut Reader<'_>, name: &str, profile: &Profile) {
        let there = Some((profile.at, "the profile stands here"));
        let Some(url) = self.endpoint.url() else {
            if profile.wishes.sends_secrets() {
                let why = "a program is given what it needs by `env`";
                let error = ConfigError::Needs { key: "profile", other: "url", why };
                reader.mistake_at(self.places.profile, error, there);
            }
            return;
        };
        if !profile.is_for(url) {
            let host = url.host_str().unwrap_or_default().to_owned();
            let error = ConfigError::NotOfProfile { host, profile: name.to_owned(), hosts: profile.hosts() };
            reader.mistake_at(self.places.endpoint, error, there);
        } else if self.is_listed && profile.wishes.sends_secrets() && listed::is_in_clear(url) {
            let error = ConfigError::InClear { profile: name.to_owned() };
            reader.mistake_at(self.places.endpoint, error, there);
        }
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
    use crate::model::confirm::Threshold;
    use crate::model::target::BaselineMode;

    fn finished(reader: &mut Reader<'_>, node: &Node) -> Option<Target> {
        let draft = decode(reader, node)?;
        Some(finish(reader, draft))
    }

    fn listed_and_finished(reader: &mut Reader<'_>, node: &Node) -> Option<Target> {
        let draft = decode_listed(reader, node)?;
        Some(finish(reader, draft))
    }

    fn finish(reader: &mut Reader<'_>, draft: Draft) -> Target {
        let (profiles, commands) = (Profiles::default(), command::Allowed::default());
        let around = Around {
            defaults: Defaults::default(),
            confirm: Confirm::default(),
            commands: &commands,
            profiles: &profiles,
        };
        draft.finish(reader, &around).target
    }

    #[test]
    fn a_target_of_three_keys_has_every_default() {
        let target = taken("{ id: a, kind: mcp, url: \"https://mcp.example.com/mcp\" }", finished);
        assert_eq!(
            target,
            Target {
                id: "a".parse().unwrap(),
                kind: Kind::Mcp,
                endpoint: Endpoint::Url("https://mcp.example.com/mcp".parse().unwrap()),
                cadence: Cadence::Every(Duration::from_mins(15)),
                timeout: Duration::from_secs(20),
                scan_timeout: Duration::from_mins(1),
                auth: None,
                labels: std::collections::BTreeMap::new(),
                headers: Vec::new(),
                paused: false,
                anonymous: true,
                end_session: true,
                tls: None,
                tier: crate::model::inventory::Tier::Passive,
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
    fn what_is_not_said_of_a_targets_thresholds_is_the_daemons() {
        let text = "{ id: a, kind: mcp, url: \"https://a.example\", confirm: { sight: { failures: 9 } } }";
        let default = Confirm::default();
        let sight = Threshold { sightings: 9, ..default.sight };
        assert_eq!(taken(text, finished).confirm, Some(Confirm { sight, ..default }));
    }

    #[test]
    fn a_program_may_say_what_is_watched_and_nothing_else() {
        let text = "{ id: a, kind: mcp, url: \"https://a.example\", every: 1m, labels: { team: x }, \
                    consumers: [ { name: c, uses: [t] } ], was: b }";
        let target = taken(text, listed_and_finished);
        assert_eq!((target.cadence, target.was.len()), (Cadence::Every(Duration::from_mins(1)), 1));
        assert_eq!(target.policy.consumers.len(), 1);
        insta::assert_snapshot!(
            refused("{ id: a, kind: mcp, url: \"http://169.254.169.254/\", every: 30s, command: [ sh ], \
                     auth: { bearer: { env: TOKEN } }, headers: { X-A: b }, egress: { allow: [] }, \
                     ignore: [], paused: true, evry: 5m, apiKey: hunter2 }", listed_and_finished)
                .join("\n"),
            @r"
    a listed file may not name an address of this kind: metadata; what must be watched there is written by a person
    this is out of range; from 1m to 30d
    a listed file may not give `command`; it starts no programs
    a listed file may not give `auth`; what is sent stands in a profile: `profile: NAME`
    a listed file may not give `headers`; what is sent stands in a profile: `profile: NAME`
    a listed file may not give `egress`; it stands in a profile: `profile: NAME`
    a listed file may not give `ignore`; it stands in a profile: `profile: NAME`
    a listed file may not give `paused`; it stands in files that a person writes
    unknown key `evry` in a target of a listed file; did you mean `every`?
    a listed file may not give `apiKey`; what is sent stands in a profile: `profile: NAME`
    "
        );
    }

    #[test]
    fn a_limit_that_is_out_of_range_makes_no_second_mistake() {
        let target = "{ id: a, kind: mcp, url: \"https://a.example\", scan_timeout: 1s, timeout: 100h }";
        let messages = refused(target, finished);
        assert!(messages.len() == 1 && messages[0].starts_with("this is out of range"), "{messages:?}");
    }

    #[test]
    fn all_that_is_wrong_with_a_target_is_said_at_once() {
        insta::assert_snapshot!(
            refused("{ name: a, kind: a2a, url: a.example, paused: no, labels: [x], evry: 5m, active: true }", finished)
                .join("\n"),
            @r#"
    a target has no `id`; add `id`: the target's id
    unknown key `name` in a target; it is called `id`
    `kind: a2a` is not supported by this version; this version watches MCP servers: `kind: mcp`
    this is no URL: it has no scheme; write it as `https://host/path`
    `paused` has to be true or false, this is a text
    `labels` has to be a map, each value a text, this is a list
    unknown key `evry` in a target; did you mean `every`?
    unknown key `active` in a target; known here: id, kind, url, command, env, cwd, every, schedule, timeout, scan_timeout, auth, labels, headers, tls, paused, anonymous, end_session, tier, baseline, confirm, ignore, severity, auto_accept, trust, consumers, profile, was, egress
    "#
        );
    }
}
