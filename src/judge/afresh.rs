//! Which facets start afresh: those that we ask for otherwise now (design, section 3).
//!
//! A new, removed or re-pointed `auth:` and other headers are changes of ours, and are never told as drift (law 10):
//! facets that were asked otherwise (for a credential, those of `@auth` alone) are held to nothing, what stands there
//! ends, and they join anew; so does everything that was seen with another client certificate, and `tls` where others
//! vouch for the target. An edited URL keeps the baseline, but for `mcp.transport` and `tls`: they describe the way to the
//! server, which is what was edited, and not the server. Names are compared, as written in the inventory: neither another
//! value behind the same reference nor one that cannot be read for a while lets anything be trusted anew. Another tier
//! asks further questions over conversations of their own; what is held to a baseline is asked as before, and stays.

use std::collections::BTreeSet;

use crate::model::baseline::BaselineFacet;
use crate::model::facet::{Face, Facet, FacetName};
use crate::model::memory::{FacetMemory, Memory};
use crate::model::observation::Asked;

/// `memory` without what another credential than that of `asked` was shown.
#[must_use]
pub fn afresh(mut memory: Memory, asked: &Asked) -> Memory {
    let left: BTreeSet<FacetName> =
        memory.baseline.values().filter(|held| is_asked_otherwise(held, asked)).map(|held| held.facet).collect();
    if left.is_empty() {
        return memory;
    }
    memory.baseline.retain(|name, _| !left.contains(name));
    memory.person.retain(|name, _| !left.contains(name));
    memory.approvals.retain(|approval| !left.contains(&approval.facet));
    for name in &left {
        if let Some(facet) = memory.facets.get_mut(name).filter(|facet| !has_begun(facet)) {
            *facet = FacetMemory::default();
        }
    }
    memory.left = left;
    memory
}

/// Whether what we send to see this facet is something else than what it was accepted with.
fn is_asked_otherwise(held: &BaselineFacet, asked: &Asked) -> bool {
    let credential = held.facet.face == Face::Auth && held.asked.credential != asked.credential;
    let led_elsewhere = held.asked.place.is_some() && held.asked.place != asked.place;
    let way = matches!(held.facet.facet, Facet::McpTransport | Facet::Tls) && led_elsewhere;
    let vouched_otherwise = held.facet.facet == Facet::Tls && held.asked.authorities != asked.authorities;
    let shown_otherwise = held.asked.identity != asked.identity;
    credential || way || vouched_otherwise || shown_otherwise || held.asked.headers != asked.headers
}

/// Whether the facet is on its way into the baseline: then what is remembered of it is the new credential's.
const fn has_begun(facet: &FacetMemory) -> bool {
    facet.joining.is_some() || facet.awaiting_approval
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::model::digest::Digest;
    use crate::model::memory::Joining;

    fn asked(credential: Option<&str>) -> Asked {
        Asked { credential: credential.map(str::to_owned), ..Asked::default() }
    }

    fn memory() -> Memory {
        let mut memory = Memory::default();
        for facet in [FacetName::stranger(Facet::McpTools), FacetName::of(Facet::McpTools, Face::Auth)] {
            let held = BaselineFacet {
                facet,
                values: Vec::new(),
                digest: None,
                at: Timestamp::UNIX_EPOCH,
                by: "first_seen".to_owned(),
                reason: None,
                asked: asked(Some("env A")),
                model: 1,
                entry: 1,
                reviewed: false,
            };
            memory.baseline.insert(facet, held);
            let seen = FacetMemory { last_seen: Some(Timestamp::UNIX_EPOCH), ..FacetMemory::default() };
            memory.facets.insert(facet, seen);
        }
        memory
    }

    #[test]
    fn the_same_credential_keeps_everything() {
        assert_eq!(afresh(memory(), &asked(Some("env A"))), memory());
    }

    #[test]
    fn another_credential_or_none_leaves_the_strangers_face_alone() {
        let ours = FacetName::of(Facet::McpTools, Face::Auth);
        for credential in [Some("env B"), None] {
            let after = afresh(memory(), &asked(credential));
            assert_eq!(after.left, BTreeSet::from([ours]));
            assert_eq!(after.baseline.keys().collect::<Vec<_>>(), [&FacetName::stranger(Facet::McpTools)]);
            assert_eq!(after.facets.get(&ours), Some(&FacetMemory::default()));
        }
    }

    #[test]
    fn what_the_new_credential_was_shown_is_kept_until_it_has_joined() {
        let ours = FacetName::of(Facet::McpTools, Face::Auth);
        let mut before = memory();
        let joining = Joining { digest: None, sightings: 1, since: Timestamp::UNIX_EPOCH };
        before.facets.insert(ours, FacetMemory { joining: Some(joining), ..FacetMemory::default() });
        let after = afresh(before.clone(), &asked(Some("env B")));
        assert_eq!(after.facets.get(&ours), before.facets.get(&ours));
    }

    #[test]
    fn another_url_leaves_everything_but_the_way_there() {
        let way = FacetName::stranger(Facet::McpTransport);
        let at = |url: &str| Asked { place: Some(Digest::of_bytes(url.as_bytes())), ..asked(Some("env A")) };
        let mut before = memory();
        let tools = before.baseline[&FacetName::stranger(Facet::McpTools)].clone();
        before.baseline.insert(way, BaselineFacet { facet: way, ..tools });
        assert_eq!(afresh(before.clone(), &at("https://a/")), before, "where it led before is not known");
        before.baseline.values_mut().for_each(|held| held.asked = at("https://a/"));
        assert_eq!(afresh(before.clone(), &at("https://a/")), before);
        let after = afresh(before.clone(), &at("https://b/"));
        assert_eq!(after.left, BTreeSet::from([way]));
        assert_eq!(after.baseline.len(), before.baseline.len() - 1);
    }
}
