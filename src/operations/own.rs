//! What we changed ourselves, told to the fleet's people: new rules, ignores that are of no use.

use super::{Office, Refused};
use crate::judge::own::{UnusedIgnore, rules_updated, unused_ignores};
use crate::judge::{rules, settle};
use crate::model::target::{TargetId, TargetSummary};
use crate::plan::Plan;

impl Office {
    /// Posts what there is to tell of our own changes; what was posted before stays posted once. Call it before the
    /// first scan after a start, since a scan remembers the rules that it was judged by, and from time to time.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tell_own_changes(&self) -> Result<(), Refused> {
        let (now, plan) = (self.clock.now(), self.plan.plan());
        let others = self.store.judged_otherwise(rules::version()).await?;
        let judged: Vec<TargetSummary> =
            others.iter().filter_map(|id| plan.targets.get(id)).map(|target| target.summary()).collect();
        let unused = self.unused(&plan).await?;
        let bulletins: Vec<_> = rules_updated(&judged).into_iter().chain(unused_ignores(&unused, now)).collect();
        if bulletins.is_empty() {
            return Ok(());
        }
        let posted = self.store.writer().await.post(&bulletins, &plan.receivers, now).await?;
        if let Some(daemon) = self.daemon.as_ref().filter(|_| posted > 0) {
            daemon.wake_delivery.notify_one();
        }
        Ok(())
    }

    /// Ignores of the inventory that nothing has matched for long.
    async fn unused(&self, plan: &Plan) -> Result<Vec<UnusedIgnore>, Refused> {
        let ignoring = || plan.targets.values().filter(|target| !target.policy.ignore.is_empty());
        let ids: Vec<TargetId> = ignoring().map(|target| target.id.clone()).collect();
        let resumed = if ids.is_empty() { return Ok(Vec::new()) } else { self.store.resume(&ids).await? };
        let mut unused = Vec::new();
        for target in ignoring() {
            let Some(resumed) = resumed.get(&target.id) else { continue };
            for ignore in &target.policy.ignore {
                let used = resumed.scans.ignores.get(&settle::ignore_key(ignore)).filter(|used| used.told);
                unused.extend(used.map(|used| UnusedIgnore {
                    target: target.summary(),
                    matches: ignore.matches.to_string(),
                    reason: ignore.reason.clone(),
                    since: used.last.unwrap_or(used.since),
                }));
            }
        }
        Ok(unused)
    }
}
