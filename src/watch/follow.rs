//! How the loop follows another plan: what left leaves no trace, what is new or asked otherwise is scanned at once, and
//! what is only planned otherwise is planned anew.

use std::sync::Arc;

use jiff::Timestamp;

use super::schedule::{self, Due, Why};
use super::{Asker, Watch};
use crate::model::inventory::Target;
use crate::model::target::TargetId;
use crate::plan::Plan;
use crate::scan::ScanFault;

/// What another plan means for one target.
enum Turn {
    /// It is not in it, or is not to be scanned.
    Leaves,
    /// It was not in the one before, was not to be scanned, or is asked otherwise.
    Comes,
    /// It is scanned at other times.
    Moves,
    /// Nothing for the loop.
    Stays,
}

impl Turn {
    fn of(before: Option<&Arc<Target>>, after: &Arc<Target>) -> Self {
        match before {
            // The same in memory: the usual case of a reload.
            Some(before) if Arc::ptr_eq(before, after) => Self::Stays,
            _ if after.paused => Self::Leaves,
            Some(before) if before.paused || !before.asks_as(after) => Self::Comes,
            Some(before) if before.cadence != after.cadence => Self::Moves,
            Some(_) => Self::Stays,
            None => Self::Comes,
        }
    }
}

impl Watch {
    pub(super) fn follow(&mut self, plan: Arc<Plan>) {
        let before = std::mem::replace(&mut self.known, Arc::clone(&plan));
        let now = self.clock.now();
        for id in before.targets.keys().filter(|id| !plan.targets.contains_key(*id)) {
            self.leave(id);
        }
        for (id, running) in &self.running {
            let stands = plan.targets.get(id).is_some_and(|target| target.asks_as(&running.target));
            if !stands {
                running.outdated.cancel();
            }
        }
        for (id, target) in &plan.targets {
            match Turn::of(before.targets.get(id), target) {
                Turn::Stays => {}
                Turn::Leaves => self.pause(id),
                // One that runs is planned when it ends.
                Turn::Comes | Turn::Moves if self.running.contains_key(id) => {}
                Turn::Comes => {
                    let due = self.at_once(id, target, now);
                    self.put(id, due);
                }
                Turn::Moves => {
                    let past = self.scanner.past(id);
                    self.plan(id, &past, now);
                }
            }
        }
        self.dispatch();
    }

    /// A scan was broken off or dropped: the target is scanned as it is now, or it is gone.
    pub(super) fn again(&mut self, id: &TargetId, askers: Vec<Asker>) {
        let plan = self.plan.plan();
        let Some(target) = plan.targets.get(id) else {
            self.leave(id);
            return refuse(askers);
        };
        if !askers.is_empty() {
            self.asked.entry(id.clone()).or_default().extend(askers);
        }
        if target.paused && !self.asked.contains_key(id) {
            self.take_out(id);
        } else {
            let now = self.clock.now();
            let asked = self.asked.contains_key(id).then_some(Due { at: now, why: Why::Asked });
            let due = asked.unwrap_or_else(|| self.at_once(id, target, now));
            self.put(id, due);
        }
    }

    fn leave(&mut self, id: &TargetId) {
        self.take_out(id);
        refuse(self.asked.remove(id).unwrap_or_default());
    }

    /// Not in the queue, unless somebody asked.
    fn pause(&mut self, id: &TargetId) {
        if !self.asked.contains_key(id) {
            self.take_out(id);
        }
    }

    /// Now, unless the peer asked us to wait or refuses us: leaving and returning makes us no worse a guest.
    fn at_once(&self, id: &TargetId, target: &Target, now: Timestamp) -> Due {
        let due = schedule::step(&target.cadence, id, &self.scanner.past(id), now);
        match due.why {
            Why::Hold | Why::Blocked => due,
            Why::First | Why::Plan | Why::Recheck | Why::Never | Why::Asked => Due { at: now, ..due },
        }
    }
}

fn refuse(askers: Vec<Asker>) {
    for asker in askers {
        // Who asked may have gone.
        let _ = asker.send(Err(ScanFault::NoTarget));
    }
}
