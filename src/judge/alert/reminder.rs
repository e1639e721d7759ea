//! What a message says once more, while nobody has decided.

use jiff::Timestamp;

use super::{ack, span, state, words};
use crate::model::alert::AlertType;
use crate::model::incident::Incident;
use crate::model::notice::Body;
use crate::model::text;

/// So many characters fit a subject of 72 beside severity and target.
const HEADLINE: usize = 48;
/// Lines of the summary.
const LINES: usize = 6;

/// What `body` said of the newest revision of `incident`, as a reminder at `now`: where its units stand by now, and for
/// how long.
#[must_use]
pub fn remind(mut body: Body, incident: &Incident, now: Timestamp) -> Body {
    let alert = &mut body.alert;
    let state = state(incident);
    alert.kind = AlertType::DriftReminder;
    alert.at = now;
    if let Some(about) = &mut alert.incident {
        state.clone_into(&mut about.state);
    }
    for told in &mut alert.units {
        if let Some(unit) = incident.units.iter().find(|unit| unit.n == told.n) {
            told.mark = unit.mark;
        }
    }
    let open_for = span(incident.opened_at, now);
    let (first, start) = if state == "rejected" {
        (format!("Rejected, and still there {open_for} after it was seen first."), "rejected, still there")
    } else {
        (format!("Nobody has decided on this for {open_for}."), "undecided")
    };
    alert.headline = text::ascii(&format!("{start}: {}", alert.headline), HEADLINE);
    alert.summary.insert(0, first);
    alert.summary.truncate(LINES);
    if !alert.commands.ack.is_empty() {
        // The date in the one that was told first may have passed.
        alert.commands.ack = ack(&words::reference(incident), now);
    }
    body
}
