//! What a target and its profile may both say: what is sent, what is opened, how changes are judged.

use std::collections::BTreeMap;
use std::time::Duration;

use ipnet::IpNet;

use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::defaults::LIMIT;
use super::{Element, Shape, auth, baseline, confirm, duration, egress, flag, headers, labels, tls, wish, word};
use crate::model::inventory::{Auth, TargetTls, Tier};
use crate::model::policy::{AutoAccept, Ignore, Reweigh};
use crate::model::secret::TextOrSecret;
use crate::model::target::BaselineMode;

const TRUST_WORDS: &[&str] = &["hints"];
const TIERS: &[&str] = &["passive", "negative"];

pub(in crate::config) const TIMEOUT: Element =
    Element::new("timeout", Shape::Duration(LIMIT), "limit of one request; 20s when not given");
pub(in crate::config) const SCAN_TIMEOUT: Element =
    Element::new("scan_timeout", Shape::Duration(LIMIT), "limit of one scan; 60s when not given");
pub(in crate::config) const AUTH: Element =
    Element::new("auth", Shape::Map(auth::KEYS), "what we present").also_called(&["bearer", "token", "credentials"]);
pub(in crate::config) const LABELS: Element =
    Element::new("labels", labels::SHAPE, "for routes and people").also_called(&["tags"]);
pub(in crate::config) const HEADERS: Element =
    Element::new("headers", headers::SHAPE, "sent with every request to the origin written");
pub(in crate::config) const TLS: Element =
    Element::new("tls", Shape::Map(tls::KEYS), "who vouches for it, and the certificate that it is shown");
pub(in crate::config) const ANONYMOUS: Element =
    Element::new("anonymous", Shape::Flag, "whether the stranger's face is watched too, beside our credential's");
pub(in crate::config) const END_SESSION: Element =
    Element::new("end_session", Shape::Flag, "whether sessions are ended by DELETE");
pub(in crate::config) const TIER: Element = Element::new(
    "tier",
    Shape::Word(TIERS),
    "`negative`: now and then it is also asked oddly, as with a foreign `Origin`; such requests change nothing",
);
pub(in crate::config) const BASELINE: Element =
    Element::new("baseline", Shape::Word(baseline::WORDS), "how it gets what it is held to");
pub(in crate::config) const EGRESS: Element =
    Element::new("egress", Shape::Map(egress::KEYS), "special ranges opened for what it names");
pub(in crate::config) const CONFIRM: Element =
    Element::new("confirm", Shape::Map(confirm::KEYS), "how often and how long its changes must be seen");
pub(in crate::config) const IGNORE: Element =
    Element::new("ignore", wish::IGNORE, "changes that are recorded and never told").also_called(&["ignores"]);
pub(in crate::config) const SEVERITY: Element =
    Element::new("severity", wish::SEVERITY, "other severities; the last match wins").also_called(&["severities"]);
pub(in crate::config) const AUTO_ACCEPT: Element = Element::new(
    "auto_accept",
    wish::AUTO_ACCEPT,
    "confirmed changes that need no person; never what weakens security at high or above",
);
pub(in crate::config) const TRUST: Element = Element::new(
    "trust",
    Shape::Word(TRUST_WORDS),
    "`hints`: what the server says of its tools (`readOnlyHint` and the like) may also lower a severity",
);

/// See the module. What is not said is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::config) struct Wishes {
    pub(in crate::config) timeout: Option<Duration>,
    pub(in crate::config) scan_timeout: Option<Duration>,
    /// One of the two was wrong: what stands in its place proves nothing.
    pub(in crate::config) limits_refused: bool,
    pub(in crate::config) auth: Option<Auth>,
    pub(in crate::config) labels: BTreeMap<String, String>,
    pub(in crate::config) headers: Vec<(String, TextOrSecret)>,
    pub(in crate::config) tls: Option<TargetTls>,
    pub(in crate::config) anonymous: Option<bool>,
    pub(in crate::config) end_session: Option<bool>,
    pub(in crate::config) tier: Option<Tier>,
    pub(in crate::config) baseline: Option<BaselineMode>,
    pub(in crate::config) egress_allow: Option<Vec<IpNet>>,
    pub(in crate::config) confirm: confirm::Wish,
    pub(in crate::config) ignore: Vec<Ignore>,
    pub(in crate::config) severity: Vec<Reweigh>,
    pub(in crate::config) auto_accept: Vec<AutoAccept>,
    pub(in crate::config) trust_hints: bool,
}

/// Reads those of them that the table of `fields` has.
pub(in crate::config) fn decode(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Wishes {
    let mut limit = |key| fields.read(reader, key, |reader, node| duration::decode(reader, node, LIMIT));
    let (timeout, scan_timeout) = (limit("timeout"), limit("scan_timeout"));
    let is_refused = |key, value: Option<Duration>| fields.has(key) && value.is_none();
    let limits_refused = is_refused("timeout", timeout) || is_refused("scan_timeout", scan_timeout);
    Wishes {
        timeout,
        scan_timeout,
        limits_refused,
        auth: fields.read(reader, "auth", auth::decode),
        labels: fields.read(reader, "labels", labels::decode).unwrap_or_default(),
        headers: fields.read(reader, "headers", headers::decode).unwrap_or_default(),
        tls: fields.read(reader, "tls", tls::decode),
        anonymous: fields.read(reader, "anonymous", flag::decode),
        end_session: fields.read(reader, "end_session", flag::decode),
        tier: fields.read(reader, "tier", tier),
        baseline: fields.read(reader, "baseline", baseline::decode),
        egress_allow: fields.read(reader, "egress", egress::decode),
        confirm: fields.read(reader, "confirm", confirm::decode).unwrap_or_default(),
        ignore: fields.read(reader, "ignore", wish::ignore).unwrap_or_default(),
        severity: fields.read(reader, "severity", wish::severity).unwrap_or_default(),
        auto_accept: fields.read(reader, "auto_accept", wish::auto_accept).unwrap_or_default(),
        trust_hints: fields.read(reader, "trust", trust).is_some(),
    }
}

fn trust(reader: &mut Reader<'_>, node: &Node) -> Option<()> {
    word::decode(reader, node, "trust in a server", TRUST_WORDS, |word| TRUST_WORDS.contains(&word).then_some(()))
}

fn tier(reader: &mut Reader<'_>, node: &Node) -> Option<Tier> {
    let named = |word: &str| [Tier::Passive, Tier::Negative].into_iter().find(|tier| tier.as_str() == word);
    word::decode(reader, node, "tier", TIERS, named)
}

impl Wishes {
    /// Whether a secret is sent.
    pub(in crate::config) fn sends_secrets(&self) -> bool {
        let shows = self.tls.as_ref().is_some_and(|tls| tls.identity.is_some());
        self.auth.is_some() || shows || self.headers.iter().any(|(_, value)| matches!(value, TextOrSecret::Secret(_)))
    }

    /// These over those of a profile. What a target says itself counts; lists of wishes add up, the profile's first, so
    /// that of severities the target's own is the last match. With `profile_labels` the profile's labels count: those of
    /// a listed file may not lead its messages elsewhere.
    pub(in crate::config) fn over(self, profile: &Self, profile_labels: bool) -> Self {
        let mut headers: Vec<_> = profile
            .headers
            .iter()
            .filter(|(name, _)| self.headers.iter().all(|(own, _)| own != name))
            .cloned()
            .collect();
        headers.extend(self.headers);
        let (mut labels, winning) = (profile.labels.clone(), self.labels);
        for (name, value) in winning {
            if profile_labels {
                labels.entry(name).or_insert(value);
            } else {
                labels.insert(name, value);
            }
        }
        Self {
            timeout: self.timeout.or(profile.timeout),
            scan_timeout: self.scan_timeout.or(profile.scan_timeout),
            limits_refused: self.limits_refused || profile.limits_refused,
            auth: self.auth.or_else(|| profile.auth.clone()),
            labels,
            headers,
            tls: self.tls.or_else(|| profile.tls.clone()),
            anonymous: self.anonymous.or(profile.anonymous),
            end_session: self.end_session.or(profile.end_session),
            tier: self.tier.or(profile.tier),
            baseline: self.baseline.or(profile.baseline),
            egress_allow: self.egress_allow.or_else(|| profile.egress_allow.clone()),
            confirm: self.confirm.or(profile.confirm),
            ignore: profile.ignore.iter().cloned().chain(self.ignore).collect(),
            severity: profile.severity.iter().cloned().chain(self.severity).collect(),
            auto_accept: profile.auto_accept.iter().cloned().chain(self.auto_accept).collect(),
            trust_hints: self.trust_hints || profile.trust_hints,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::taken;
    use super::*;
    use crate::config::elements::{profile, target};

    fn of_a_target(reader: &mut Reader<'_>, node: &Node) -> Option<Wishes> {
        let fields = Fields::of(reader, node, "a target", target::KEYS);
        Some(decode(reader, &fields))
    }

    fn of_a_profile(reader: &mut Reader<'_>, node: &Node) -> Option<Wishes> {
        let fields = Fields::of(reader, node, "a profile", profile::KEYS);
        Some(decode(reader, &fields))
    }

    const HEAD: &str = "id: a, kind: mcp, url: \"https://a.example\"";

    #[test]
    fn what_a_target_says_itself_counts_and_wishes_add_up() {
        let profile = taken(
            "{ timeout: 5s, headers: { X-A: p, X-B: p }, labels: { team: p, tier: p }, baseline: approve, \
             severity: [ { rule: tool.removed, set: low } ], trust: hints }",
            of_a_profile,
        );
        let own = taken(
            &format!(
                "{{ {HEAD}, timeout: 7s, headers: {{ X-B: t }}, labels: {{ team: t }}, \
                 severity: [ {{ rule: tool.removed, set: high }} ] }}"
            ),
            of_a_target,
        );
        let wishes = own.clone().over(&profile, false);
        assert_eq!(wishes.timeout, Some(Duration::from_secs(7)));
        let headers: Vec<_> = wishes.headers.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
        assert_eq!(headers, ["x-a=Text(\"p\")", "x-b=Text(\"t\")"]);
        assert_eq!(wishes.labels.values().collect::<Vec<_>>(), ["t", "p"]);
        assert_eq!(wishes.baseline, Some(BaselineMode::Approve));
        let set: Vec<_> = wishes.severity.iter().map(|one| one.set.unwrap().as_str()).collect();
        assert_eq!(set, ["low", "high"]);
        assert!(wishes.trust_hints);
        assert_eq!(own.over(&profile, true).labels.values().collect::<Vec<_>>(), ["p", "p"]);
    }
}
