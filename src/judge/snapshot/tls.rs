//! The check of the facet `tls`: how near the certificate's end is.

use crate::model::facet::{Facet, FacetName, FacetState};
use crate::model::json::Json;
use crate::model::snapshot::{Check, Snapshot};

use super::finding::{check, skipped};

const RULE: &str = "net.tls-expiring";

/// The farthest first.
const CASES: [&str; 4] = ["30d", "14d", "7d", "1d"];

/// One bound is told: the nearest that it is within. What is said of farther ones would be the same once more.
pub(super) fn expiring(snapshot: &Snapshot) -> Vec<Check> {
    match snapshot.facets.get(&FacetName::stranger(Facet::Tls)) {
        Some(FacetState::Seen(seen)) => {
            let word = seen.views.iter().find_map(|view| view.member("ending")?.as_str());
            let at = CASES.iter().position(|case| word == Some(case));
            let ends = leaf_ends(&seen.volatile).map_or_else(
                || "it is near".to_owned(),
                |ends| format!("it ends at {}", crate::judge::canon::shown(ends)),
            );
            let near = at.and_then(|at| CASES.get(at)).map(|case| check(RULE, case, std::slice::from_ref(&ends)));
            let far = CASES.iter().skip(at.map_or(0, |at| at + 1));
            near.into_iter().chain(far.map(|case| check(RULE, case, &[]))).collect()
        }
        Some(FacetState::Unseen { reason }) => {
            let reason = reason.to_string();
            CASES.iter().map(|case| skipped(RULE, case, &reason)).collect()
        }
        Some(FacetState::Absent { .. }) | None => Vec::new(),
    }
}

/// When the leaf ends, of what is kept beside the value.
pub(in crate::judge) fn leaf_ends(volatile: &Json) -> Option<&str> {
    volatile.member("/certificates")?.as_array()?.first()?.member("not_after")?.as_str()
}
