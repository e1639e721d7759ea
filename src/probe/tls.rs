//! The facet `tls`: what the target's own origin shows in a handshake of its own.
//!
//! Only the stranger has it, and only over https. What verifying came to is kept as a word, since a chain that does not
//! verify ends every other conversation; so is how near the end is, as one of four words, since instants differ with
//! each renewal.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::Ask;
use super::face::{End, FaceReport};
use super::seldom::seen;
use super::trouble::Trouble;
use crate::model::digest::Digest;
use crate::model::facet::{Facet, FacetName, UnseenKind};
use crate::model::json::Json;
use crate::model::observation::{RawFacet, RawRead};
use crate::net::certificate::{Certificate, Shown};
use crate::net::{Handshake, Verdict, Visit};

/// How near the end is told, the nearest first: days and word.
const NEAR: [(i64, &str); 4] = [(1, "1d"), (7, "7d"), (14, "14d"), (30, "30d")];

/// The name of the facet.
pub(super) const NAME: FacetName = FacetName::stranger(Facet::Tls);

/// Shakes hands, where there is somebody to shake hands with.
pub(super) async fn look(visit: &Visit<'_>, ask: &Ask<'_>, reports: &[FaceReport]) -> RawFacet {
    if visit.written().is_none_or(|url| url.scheme() != "https") {
        return RawFacet::Absent { note: Some("plain http".to_owned()) };
    }
    // Where nobody answered nobody shakes hands: the time that it takes to find out is the target's and ours.
    let answers = visit.own_class().is_some() || visit.failed_in_tls();
    if !answers && let Some(trouble) = reports.iter().find_map(trouble) {
        return RawFacet::Unseen(trouble.reason());
    }
    match visit.handshake(ask.at).await {
        Ok(handshake) if handshake.chain.is_empty() => {
            RawFacet::Unseen(Trouble::new(UnseenKind::Unreachable, "no certificate was shown").reason())
        }
        Ok(handshake) => seen(visit.clean(page(&handshake, ask.at)), Vec::new()),
        Err(error) => RawFacet::Unseen(Trouble::from(error).reason()),
    }
}

fn trouble(report: &FaceReport) -> Option<&Trouble> {
    match &report.end {
        End::Failed(trouble) => Some(trouble),
        End::Ready | End::Guarded | End::Unavailable | End::Off => None,
    }
}

/// Whether what was kept of it is overtaken by what this scan met: another certificate, one that verifies no more or
/// does again, or an end that has come nearer.
pub(super) fn is_overtaken(kept: &BTreeMap<FacetName, RawFacet>, visit: &Visit<'_>, now: Timestamp) -> bool {
    let Some(RawFacet::Seen(reads)) = kept.get(&NAME) else { return false };
    let Some(page) = reads.first().and_then(|read: &RawRead| read.pages.first()) else { return false };
    let leaf = page.member("certificates").and_then(|all| all.as_array()?.first());
    let text = |value: Option<&Json>| value.and_then(Json::as_str).map(str::to_owned);
    let differs = visit
        .leaf()
        .is_some_and(|leaf_now| text(leaf.and_then(|leaf| leaf.member("fingerprint"))) != Some(leaf_now.to_string()));
    let ends = text(leaf.and_then(|leaf| leaf.member("not_after"))).and_then(|instant| instant.parse().ok());
    let is_nearer = text(page.member("ending")).as_deref() != ends.and_then(|ends| ending(ends, now));
    let verified = text(page.member("verified")).as_deref() == Some(Verdict::Ok.as_str());
    let turned = if verified { visit.failed_in_tls() } else { visit.leaf().is_some() };
    differs || turned || is_nearer
}

/// The value: what is compared, and `certificates`, which is another with each renewal.
fn page(handshake: &Handshake, now: Timestamp) -> Json {
    let says = |shown: &Shown| shown.says.clone();
    let leaf = handshake.chain.first().and_then(says);
    let mut members = vec![
        ("verified", Json::from(handshake.verdict.as_str())),
        ("version", Json::from(handshake.version.as_str())),
        ("chain", Json::Array(handshake.chain.iter().map(link).collect())),
        ("certificates", Json::Array(handshake.chain.iter().map(instance).collect())),
    ];
    members.extend(handshake.alpn.as_deref().map(|alpn| ("alpn", Json::from(alpn))));
    if let Some(leaf) = &leaf {
        members.push(("key", digest(&leaf.key)));
        members.push(("names", Json::Array(leaf.names.iter().map(|name| Json::from(name.as_str())).collect())));
        members.push(("issuer", issuer(leaf)));
        let near = leaf.not_after.and_then(|ends| ending(ends, now));
        members.extend(near.map(|word| ("ending", Json::from(word))));
    }
    object(members)
}

fn issuer(leaf: &Certificate) -> Json {
    let organization = leaf.organization.as_deref().map(|name| ("organization", Json::from(name)));
    object([("name", Json::from(leaf.issuer.as_str()))].into_iter().chain(organization))
}

/// A certificate without what each renewal changes.
fn link(shown: &Shown) -> Json {
    match &shown.says {
        Some(says) => object([
            ("subject", Json::from(says.subject.as_str())),
            ("issuer", Json::from(says.issuer.as_str())),
            ("key", digest(&says.key)),
        ]),
        None => object([("unreadable", Json::Bool(true))]),
    }
}

/// What each renewal changes.
fn instance(shown: &Shown) -> Json {
    let mut members = vec![("fingerprint", digest(&shown.fingerprint))];
    if let Some(says) = &shown.says {
        members.push(("serial", Json::from(says.serial.as_str())));
        let instant = |at: Option<Timestamp>| at.map(|at| Json::from(at.to_string().as_str()));
        members.extend(instant(says.not_before).map(|at| ("not_before", at)));
        members.extend(instant(says.not_after).map(|at| ("not_after", at)));
    }
    object(members)
}

/// The nearest of the words that holds; also when the end has passed.
fn ending(ends: Timestamp, now: Timestamp) -> Option<&'static str> {
    let left = ends.duration_since(now);
    NEAR.iter().find(|(days, _)| left <= SignedDuration::from_hours(24 * days)).map(|(_, word)| *word)
}

fn digest(digest: &Digest) -> Json {
    Json::from(digest.to_string().as_str())
}

fn object<'a>(members: impl IntoIterator<Item = (&'a str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_by_the_nearest_bound_that_it_is_within() {
        let now: Timestamp = "2026-10-01T00:00:00Z".parse().unwrap();
        for (ends, word) in [
            ("2026-10-31T00:00:01Z", None),
            ("2026-10-31T00:00:00Z", Some("30d")),
            ("2026-10-15T00:00:00Z", Some("14d")),
            ("2026-10-08T00:00:00Z", Some("7d")),
            ("2026-10-02T00:00:01Z", Some("7d")),
            ("2026-10-02T00:00:00Z", Some("1d")),
            ("2025-10-01T00:00:00Z", Some("1d")),
        ] {
            assert_eq!(ending(ends.parse().unwrap(), now), word, "{ends}");
        }
    }
}
