//! Which targets carry on the past of another id (`was`): the id that left, when who goes on has no past of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::Office;
use crate::judge;
use crate::model::inventory::Target;
use crate::model::settlement::HistoryLine;
use crate::model::target::TargetId;
use crate::store::{Carry, StoreError, TargetRow, Writer};

/// What is carried over, and what is not.
#[derive(Debug, Default)]
pub struct Carries {
    /// What is.
    pub taken: Vec<Carry>,
    /// Why something is not, a sentence each.
    pub refused: Vec<String>,
}

impl Office {
    /// What `targets` carry over, under the writer's lock, under which it is then [written](Writer::take_inventory).
    ///
    /// # Errors
    /// As the store says.
    pub async fn carries(
        &self,
        writer: &mut Writer<'_>,
        targets: &BTreeMap<TargetId, Arc<Target>>,
        now: Timestamp,
    ) -> Result<Carries, StoreError> {
        let mut carries = Carries::default();
        for target in targets.values().filter(|target| !target.was.is_empty()) {
            let own = self.store.target(&target.id).await?;
            for was in &target.was {
                let Some(old) = self.store.target(was).await?.filter(has_past) else { continue };
                if old.became.as_ref() == Some(&target.id) {
                    break;
                }
                if let Some(why) = refusal(&old, own.as_ref(), target, targets, &carries) {
                    carries.refused.push(why);
                    continue;
                }
                let memory = writer.memory(was).await?;
                let (drifts, incidents) = judge::carry::carried(&memory, was, &target.id);
                let line = line(was, now);
                carries.taken.push(Carry { from: was.clone(), to: target.id.clone(), drifts, incidents, line });
                break;
            }
        }
        Ok(carries)
    }
}

fn has_past(row: &TargetRow) -> bool {
    row.seq > 0 || row.became.is_some()
}

fn refusal(
    old: &TargetRow,
    own: Option<&TargetRow>,
    target: &Target,
    targets: &BTreeMap<TargetId, Arc<Target>>,
    carries: &Carries,
) -> Option<String> {
    let (was, is) = (&old.summary.id, &target.id);
    let taken = carries.taken.iter().find(|carry| carry.from == *was).map(|carry| &carry.to);
    if targets.contains_key(was) {
        Some(format!("{is} cannot carry on the past of {was}, which is in the inventory itself"))
    } else if let Some(other) = old.became.as_ref().or(taken) {
        Some(format!("{is} cannot carry on the past of {was}: {other} does"))
    } else if own.is_some_and(has_past) {
        Some(format!("{is} has a past of its own, that of {was} stays with {was}: take `was` out"))
    } else {
        None
    }
}

fn line(was: &TargetId, now: Timestamp) -> HistoryLine {
    HistoryLine {
        at: now,
        event: "target.carried".to_owned(),
        place: None,
        drift: None,
        incident: None,
        text: format!("carries on the past of {was}: baseline, decisions, history and what stands"),
    }
}
