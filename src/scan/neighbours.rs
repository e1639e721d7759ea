//! Which other targets of a host are worth a look at once: when one of them is lost, for whether they all are (design,
//! section 5: siblings are scanned again before anything is said), and when one is back, for whether they are too.

use crate::judge::host;
use crate::model::drift::{DriftRow, DriftState};
use crate::model::memory::Memory;
use crate::model::settlement::Settlement;
use crate::model::target::TargetId;

/// Neighbours that one scan brings forward: each of them that is lost brings further ones.
const AT_ONCE: usize = 16;

/// The neighbours to look at after a scan, of `siblings` that its target has.
///
/// Who refuses us or limits us is not asked through its neighbours either.
pub(super) fn to_hasten(memory: &Memory, settlement: &Settlement, siblings: &[TargetId]) -> Vec<TargetId> {
    let Some(loss) = settlement.drifts.iter().find(|row| host::is_loss(row)) else { return Vec::new() };
    let known = memory.drifts.iter().any(|row| row.id == loss.id);
    let is_lost = |id: &TargetId| memory.kin.iter().any(|kin| kin.target.id == *id && kin.lost.is_some());
    if loss.state.is_ended() {
        let shared =
            memory.incidents.iter().find(|incident| Some(incident.id) == loss.incident && incident.is_shared());
        let others = shared.into_iter().flat_map(|incident| incident.targets());
        others.filter(|id| **id != settlement.target && is_lost(id)).take(AT_ONCE).cloned().collect()
    } else if !known && !refuses(loss) {
        siblings.iter().filter(|id| !is_lost(id)).take(AT_ONCE).cloned().collect()
    } else {
        Vec::new()
    }
}

fn refuses(loss: &DriftRow) -> bool {
    matches!(loss.state, DriftState::Pending | DriftState::Open)
        && matches!(loss.drift.rule.rule.as_str(), "scan.blocked" | "scan.rate-limited")
}
