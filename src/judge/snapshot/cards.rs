//! Questions to the server card: whether it agrees with the server, and whether it is the origin's own.

use url::Url;

use super::finding::{check, skipped};
use crate::judge::canon::shown;
use crate::model::facet::{Facet, FacetName, FacetState};
use crate::model::json::Json;
use crate::model::observation::{DetectionState, Era};
use crate::model::snapshot::{Check, Snapshot};

/// Dates that are shown of one list.
const MOST_DATES: usize = 10;

/// The checks of cards and catalogs; none where they were not looked at.
pub(super) fn checks(snapshot: &Snapshot) -> Vec<Check> {
    let looked = |facet| snapshot.facets.get(&FacetName::stranger(facet));
    let Some(card) = looked(Facet::McpCard) else { return Vec::new() };
    let any_seen = [Some(card), looked(Facet::McpCatalog)].into_iter().flatten();
    let origin = if any_seen.clone().any(|state| matches!(state, FacetState::Seen(_))) {
        // A finding of the conversation itself stands over it.
        check("net.redirect-cross-origin", "-", &[])
    } else {
        skipped("net.redirect-cross-origin", "-", &why_none(card))
    };
    let versions = match disagreement(snapshot, card) {
        Ok(evidence) => check("mcp.card-versions-disagree", "-", &evidence),
        Err(reason) => skipped("mcp.card-versions-disagree", "-", &reason),
    };
    vec![origin, versions]
}

fn why_none(state: &FacetState) -> String {
    match state {
        FacetState::Seen(_) | FacetState::Absent { .. } => "no server card was found".to_owned(),
        FacetState::Unseen { reason } => reason.to_string(),
    }
}

/// What the card says of this endpoint and the server does not; why that cannot be said.
fn disagreement(snapshot: &Snapshot, state: &FacetState) -> Result<Vec<String>, String> {
    let FacetState::Seen(seen) = state else { return Err(why_none(state)) };
    if snapshot.mcp.state != DetectionState::Confirmed || snapshot.mcp.supported.is_empty() {
        return Err("the server names no date to compare with".to_owned());
    }
    let remotes = seen.views.first().and_then(|view| view.member("document")?.member("remotes")?.as_array());
    let here = addresses(snapshot);
    let is_here = |remote: &&Json| {
        let url = remote.member("url").and_then(Json::as_str).and_then(|url| Url::parse(url).ok());
        url.is_some_and(|url| here.contains(&url))
    };
    let ours: Vec<&Json> = remotes.into_iter().flatten().filter(is_here).collect();
    if ours.is_empty() {
        return Err("no remote of the card is this endpoint".to_owned());
    }
    let lists = ours.iter().filter_map(|remote| remote.member("supportedProtocolVersions")?.as_array());
    let lists: Vec<Vec<&str>> = lists.map(|list| list.iter().filter_map(Json::as_str).collect()).collect();
    if lists.is_empty() {
        return Err("the card lists no protocol dates for this endpoint".to_owned());
    }
    Ok(lists.iter().filter_map(|listed| differs(snapshot, listed)).collect())
}

/// A session shows one date of a server and no other: what else it speaks is not known.
fn differs(snapshot: &Snapshot, listed: &[&str]) -> Option<String> {
    let live: Vec<&str> = snapshot.mcp.supported.iter().map(String::as_str).collect();
    let missing = live.iter().any(|date| !listed.contains(date));
    let beyond = snapshot.mcp.era == Some(Era::Stateless) && listed.iter().any(|date| !live.contains(date));
    let told = |dates: &[&str]| dates.iter().take(MOST_DATES).map(|date| shown(date)).collect::<Vec<_>>().join(", ");
    (missing || beyond).then(|| format!("the card lists {}, the server speaks {}", told(listed), told(&live)))
}

/// Every address of the endpoint that the scan knows.
fn addresses(snapshot: &Snapshot) -> Vec<Url> {
    let transports = snapshot.facets.iter().filter(|(name, _)| name.facet == Facet::McpTransport);
    let reached = transports.filter_map(|(_, state)| match state {
        FacetState::Seen(seen) => seen.views.first()?.member("url")?.as_str(),
        FacetState::Absent { .. } | FacetState::Unseen { .. } => None,
    });
    let found = snapshot.mcp.endpoint.as_ref().map(|found| found.url.as_str());
    reached.chain(found).chain([snapshot.target.url.as_str()]).filter_map(|url| Url::parse(url).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::snapshot::tests::observation;
    use crate::model::memory::Memory;
    use crate::model::observation::{RawFacet, RawRead};
    use crate::model::snapshot::CheckVerdict;

    fn verdict(era: Era, supported: &[&str], card: Option<&str>) -> (CheckVerdict, String) {
        let raw = card.map_or(RawFacet::Absent { note: None }, |card| {
            let page = Json::parse_trusted(format!(r#"{{"at":"https://a.example/c","document":{card}}}"#).as_bytes());
            RawFacet::Seen(vec![RawRead { pages: vec![page.unwrap()], ..RawRead::default() }])
        });
        let mut observation = observation([("mcp.card", raw)]);
        observation.mcp.era = Some(era);
        observation.mcp.supported = supported.iter().map(|date| (*date).to_owned()).collect();
        let target = crate::model::target::TargetSummary {
            id: "a".parse().unwrap(),
            kind: crate::model::target::Kind::Mcp,
            url: "https://a.example/mcp".to_owned(),
            labels: std::collections::BTreeMap::new(),
        };
        let snapshot = crate::judge::snapshot::snapshot(&observation, &target, &Memory::default());
        let check = snapshot.checks.into_iter().find(|check| check.rule == "mcp.card-versions-disagree").unwrap();
        (check.verdict, check.reason.unwrap_or(check.evidence))
    }

    fn card(url: &str, dates: &str) -> String {
        format!(r#"{{"remotes":[{{"type":"sse","url":"{url}","supportedProtocolVersions":{dates}}}]}}"#)
    }

    #[test]
    fn a_card_is_held_to_what_the_server_speaks() {
        let here = |dates| card("https://a.example/mcp", dates);
        let modern = |card: &str| verdict(Era::Stateless, &["2026-07-28"], Some(card));
        assert_eq!(modern(&here(r#"["2026-07-28"]"#)).0, CheckVerdict::Passed);
        let (found, evidence) = modern(&here(r#"["2025-06-18"]"#));
        assert_eq!((found, evidence.contains("2025-06-18")), (CheckVerdict::Finding, true));
        assert_eq!(modern(&here(r#"["2026-07-28","2025-06-18"]"#)).0, CheckVerdict::Finding);
    }

    #[test]
    fn a_session_shows_one_date_and_says_nothing_of_others() {
        let session =
            |dates: &str| verdict(Era::Session, &["2025-06-18"], Some(&card("https://a.example/mcp", dates))).0;
        assert_eq!(session(r#"["2025-11-25","2025-06-18"]"#), CheckVerdict::Passed);
        assert_eq!(session(r#"["2025-11-25"]"#), CheckVerdict::Finding);
    }

    #[test]
    fn without_a_list_for_this_endpoint_nothing_is_said() {
        let modern = |card: Option<&str>| verdict(Era::Stateless, &["2026-07-28"], card);
        for (card, reason) in [
            (None, "no server card was found"),
            (Some(card("https://b.example/mcp", r#"["2025-06-18"]"#)), "no remote of the card is this endpoint"),
            (Some(r#"{"name":"a"}"#.to_owned()), "no remote of the card is this endpoint"),
            (
                Some(r#"{"remotes":[{"url":"https://a.example/mcp"}]}"#.to_owned()),
                "the card lists no protocol dates for this endpoint",
            ),
        ] {
            assert_eq!(modern(card.as_deref()), (CheckVerdict::Skipped, reason.to_owned()));
        }
    }
}
