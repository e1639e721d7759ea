//! What the target's origin shows in a TLS handshake: the facet `tls`.
//!
//! Who made the certificate is told by organisation, or by name where there is none: an authority signs with another of
//! its certificates at each renewal. Instants, serial numbers and fingerprints are not compared at all.

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::model::json::Json;

use super::common;
use super::draft::Draft;

/// Words for how near the end is, the farthest first.
const NEAR: [&str; 4] = ["30d", "14d", "7d", "1d"];

/// Names that a message lists.
const LISTED: usize = 10;

/// What is known besides the values.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::judge) struct Beside<'a> {
    /// The transport is compared too, and tells another HTTP version.
    pub(in crate::judge) tells_http: bool,
    /// That the end comes near is told already.
    pub(in crate::judge) tells_end: bool,
    /// When the leaf ends.
    pub(in crate::judge) ends: Option<&'a str>,
}

/// Drifts of `tls`.
pub(in crate::judge) fn judge(accepted: &[Json], seen: &[Json], beside: Beside<'_>) -> Vec<Draft> {
    let root = Place::root(accepted, seen);
    if !root.is_object() || root.old().is_none() || seen.is_empty() {
        return if root.differs() { vec![Draft::other(&root, format!("TLS {}", common::fate(&root)))] } else { vec![] };
    }
    let changed = root.changed();
    let member = |name: &str| changed.iter().find(|member| member.name() == name);
    let verifies = seen.iter().all(|value| value.member("verified").and_then(Json::as_str) == Some("ok"));
    let mut inner: Vec<Draft> = maker(&changed, verifies).into_iter().collect();
    inner.extend(member("names").map(names));
    let end = member("ending").and_then(|place| ending(place, beside.ends));
    let mut out = Vec::new();
    match member("verified") {
        Some(place) if !verifies => {
            let mut told: Vec<&Place<'_>> =
                changed.iter().filter(|member| matches!(member.name(), "issuer" | "key" | "chain" | "names")).collect();
            // What has been told of it stands: that it has ended does not take that back.
            if beside.tells_end {
                out.extend(end);
            } else {
                told.extend(member("ending").filter(|_| end.is_some()));
                inner.extend(end);
            }
            let draft = Draft::plain(place, "net.tls-chain-invalid", why(place).to_owned()).told(place).holding(inner);
            out.push(told.iter().fold(draft, |draft, other| draft.claiming(other.path().clone(), other.now())));
        }
        place => {
            out.extend(place.map(|place| Draft::other(place, "the certificate chain verifies now".to_owned())));
            out.extend(inner);
            out.extend(end);
        }
    }
    out.extend(changed.iter().filter_map(|place| other(place, beside)));
    out
}

/// Members that stand for themselves.
fn other(place: &Place<'_>, beside: Beside<'_>) -> Option<Draft> {
    match place.name() {
        "verified" | "issuer" | "key" | "chain" | "names" | "ending" => None,
        "version" => Some(version(place)),
        "alpn" if beside.tells_http => None,
        "alpn" => Some(Draft::other(place, "another protocol is negotiated above TLS".to_owned())),
        name => Some(Draft::other(place, format!("{} {}", shown(name), common::fate(place)))),
    }
}

fn version(place: &Place<'_>) -> Draft {
    let (old, now) = place.texts();
    if old.zip(now).is_some_and(|(old, now)| now < old) {
        Draft::plain(place, "net.tls-version-lowered", "an older version of TLS is negotiated".to_owned()).told(place)
    } else {
        Draft::other(place, "another version of TLS is negotiated".to_owned())
    }
}

/// Who made the certificate, whose key it holds, and the chain that both stand in: one drift.
fn maker(changed: &[Place<'_>], verifies: bool) -> Option<Draft> {
    let member = |name: &str| changed.iter().find(|member| member.name() == name);
    let (issuer, key, chain) = (member("issuer"), member("key"), member("chain"));
    let other_maker = issuer.filter(|place| organization(place.old()) != organization(place.now()));
    let (draft, own) = if let Some(place) = other_maker {
        let name = |value| organization(value).map_or_else(|| "(nobody)".to_owned(), shown);
        let message = "the certificate was made by another authority".to_owned();
        let draft = Draft::plain(place, "net.tls-issuer-changed", message);
        (draft.line(format!("{} -> {}", name(place.old()), name(place.now()))), place)
    } else if let Some(place) = key {
        // Where nobody vouches for the issuer, anybody may write its name.
        let (case, message) = if verifies {
            ("renewal", "the certificate was renewed, with another key")
        } else {
            ("other", "the certificate holds another key, and nobody vouches for who made it")
        };
        (Draft::at(place, "net.tls-key-changed", case, message.to_owned()), place)
    } else {
        let place = chain.or(issuer)?;
        let message = "other certificates stand in the chain".to_owned();
        (Draft::plain(place, "x.other-changed", message), place)
    };
    let rest = [issuer, key, chain].into_iter().flatten().filter(|place| place.name() != own.name());
    Some(rest.fold(draft, |draft, place| draft.claiming(place.path().clone(), place.now())))
}

fn organization(issuer: Option<&Json>) -> Option<&str> {
    let issuer = issuer?;
    issuer.member("organization").or_else(|| issuer.member("name"))?.as_str()
}

fn names(place: &Place<'_>) -> Draft {
    let of = |value: Option<&Json>| -> Vec<String> {
        let names = value.and_then(Json::as_array).into_iter().flatten();
        names.filter_map(Json::as_str).map(shown).collect()
    };
    let (old, now) = (of(place.old()), of(place.now()));
    let without = |all: &[String], others: &[String]| -> Vec<String> {
        all.iter().filter(|name| !others.contains(name)).cloned().collect()
    };
    let draft = Draft::plain(place, "x.other-changed", "the certificate is for other names".to_owned());
    let lines = [("added", without(&now, &old)), ("gone", without(&old, &now))];
    lines.into_iter().filter(|(_, names)| !names.is_empty()).fold(draft, |draft, (what, names)| {
        let told = common::listed(&names, LISTED);
        draft.line(format!("{what}: {told}"))
    })
}

/// Nearer than what is accepted; that it was renewed is nothing to tell.
fn ending(place: &Place<'_>, ends: Option<&str>) -> Option<Draft> {
    let rank = |value: &Json| NEAR.iter().position(|word| value.as_str() == Some(word));
    let accepted = place.before().iter().filter_map(rank).max();
    let now = place.after().iter().filter_map(rank).max().filter(|now| accepted.is_none_or(|old| old < *now))?;
    let case = NEAR.get(now).copied()?;
    let within = if case == "1d" { "a day".to_owned() } else { format!("{} days", case.trim_end_matches('d')) };
    let draft = Draft::at(place, "net.tls-expiring", case, format!("the certificate ends within {within}"));
    Some(ends.into_iter().fold(draft, |draft, ends| draft.line(format!("it ends at {}", shown(ends)))))
}

fn why(place: &Place<'_>) -> &'static str {
    match place.now().and_then(Json::as_str).unwrap_or_default() {
        "expired" => "the certificate, or one above it, has ended",
        "not_yet_valid" => "the certificate, or one above it, is not valid yet",
        "unknown_issuer" => "nobody that is trusted vouches for the certificate",
        "self_signed" => "the certificate vouches for itself",
        "wrong_name" => "the certificate is for other names than the target's",
        "revoked" => "the certificate was taken back by who made it",
        "wrong_purpose" => "the certificate is not one for servers",
        "bad_signature" => "the server does not have the key of its certificate",
        _ => "the certificate chain does not verify",
    }
}
