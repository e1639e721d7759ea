//! What the door asks for: whether a stranger is served.

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::model::json::Json;

use super::common;
use super::draft::Draft;

/// Drifts of `auth.challenge`; absent means that the anonymous request was served.
pub(in crate::judge) fn judge(accepted: &[Json], seen: &[Json]) -> Vec<Draft> {
    let root = Place::root(accepted, seen);
    match (accepted.is_empty(), seen.is_empty()) {
        (true, true) => Vec::new(),
        (true, false) => {
            let message = "anonymous calls that were served are refused now".to_owned();
            vec![Draft::plain(&root, "auth.requirement-added", message).line(refusal("the refusal", root.now()))]
        }
        (false, true) if root.differs() => {
            let message = "anonymous calls that were refused are served now".to_owned();
            let before = refusal("the refusal before", root.old());
            vec![Draft::plain(&root, "auth.requirement-dropped", message).line(before)]
        }
        (false, true) => Vec::new(),
        (false, false) => root.changed().iter().map(other).collect(),
    }
}

fn other(place: &Place<'_>) -> Draft {
    Draft::other(place, format!("{} of the challenge {}", shown(place.name()), common::fate(place)))
}

fn refusal(which: &str, value: Option<&Json>) -> String {
    let status = value.and_then(|value| value.member("status")?.as_number());
    status.map_or_else(|| format!("{which} had no status"), |status| format!("{which}: HTTP {status}"))
}
