//! `why`: gathers what is needed from store, plan and loop; what it means is said by the pure builders below.

mod incident;
mod routes;
mod target;
mod wishes;

use std::collections::BTreeSet;

use super::document::Why;
use super::read::{self, no_target, one};
use super::reference::Reference;
use super::{Answer, Office, Refused};
use crate::model::drift::DriftRow;
use crate::model::incident::{Incident, IncidentId};
use crate::model::target::{TargetId, TargetSummary};
use crate::store::{DriftFilter, MessageFilter, TargetState};

/// Drifts of a target that are looked through for those of one incident.
const LOOKED_THROUGH: u32 = 5_000;

impl Office {
    pub(super) async fn why(&self, reference: &str) -> Result<Answer, Refused> {
        // An id may look like an incident or a fingerprint; a target of that name is what is meant.
        if let Ok(id) = reference.parse::<TargetId>()
            && self.store.target(&id).await?.is_some()
        {
            return self.why_target(&id).await;
        }
        let why = match reference.parse() {
            Ok(Reference::Incident(id, _)) => {
                let Some(incident) = self.store.incident(id).await? else {
                    return Err(Refused::NotFound(format!(
                        "neither a target nor an incident is called {reference}; `driftd targets` and `driftd drift` \
                         list them"
                    )));
                };
                self.why_incident(&incident).await?
            }
            Ok(Reference::Fingerprint(prefix)) => {
                let drift = one(self.store.drift(&prefix).await?, "drift", reference)?;
                match drift.row.incident {
                    Some(id) => self.why_incident(&self.incident_of(id).await?).await?,
                    None => self.why_drift(&drift.target, &drift.row).await?,
                }
            }
            Err(_) => {
                return Err(Refused::NotFound(format!(
                    "{reference:?} is neither a target (`driftd targets`) nor an incident (4F7K2) nor eight digits of \
                     a fingerprint"
                )));
            }
        };
        Ok(Answer::Why(Box::new(why)))
    }

    async fn why_target(&self, id: &TargetId) -> Result<Answer, Refused> {
        let Some(row) = self.store.target(id).await? else { return Err(no_target(id.as_str())) };
        let memory = self.store.memory(id).await?;
        let snapshot = self.store.latest_snapshot(id).await?;
        let plan = self.plan.plan();
        let configured = plan.targets.get(id).map(AsRef::as_ref);
        let facets = snapshot.as_ref().map(|snapshot| read::facets(snapshot, &memory)).unwrap_or_default();
        let built = target::why(&target::Known {
            document: self.target_now(&row, &memory).await?,
            summary: &row.summary,
            retired: row.state == TargetState::Retired,
            configured,
            confirm: plan.confirm_of(id),
            routes: &plan.routes,
            receivers: &plan.receivers,
            memory: &memory,
            due: self.next_scan(id),
            hold: row.not_before,
            daemon: self.daemon.is_some(),
            facets,
            now: self.clock.now(),
        });
        Ok(Answer::Why(Box::new(Why::Target(Box::new(built)))))
    }

    async fn why_incident(&self, found: &Incident) -> Result<Why, Refused> {
        let filter = DriftFilter { open: false, target: Some(found.owner.clone()), limit: LOOKED_THROUGH };
        let all = self.store.drifts(&filter).await?;
        let rows: Vec<DriftRow> =
            all.into_iter().map(|drift| drift.row).filter(|row| row.incident == Some(found.id)).collect();
        let conditions = self.store.conditions().await?;
        let messages =
            self.store.messages(&MessageFilter { incident: Some(found.id), ..MessageFilter::default() }).await?;
        let notices = self.store.notices(found.id).await?;
        let told = self.store.told(&[found.id]).await?;
        let plan = self.plan.plan();
        let summary = self.summary_of(&found.owner).await?;
        Ok(Why::Incident(Box::new(incident::why(&incident::Known {
            incident: found,
            rows: &rows,
            messages: &messages,
            conditions: &conditions,
            notices: &notices,
            told: &told,
            summary: &summary,
            policy: plan.targets.get(&found.owner).map(|target| &target.policy),
            confirm: plan.confirm_of(&found.owner),
            routes: &plan.routes,
            receivers: &plan.receivers,
            next: self.next_scan(&found.owner).map(|due| due.at),
            now: self.clock.now(),
            offline_since: self.offline_since().await?,
        }))))
    }

    /// A drift that belongs to no incident: it is pending, or it went before it was confirmed.
    async fn why_drift(&self, target: &TargetId, row: &DriftRow) -> Result<Why, Refused> {
        let plan = self.plan.plan();
        let summary = self.summary_of(target).await?;
        Ok(Why::Incident(Box::new(incident::alone(&incident::Alone {
            row,
            summary: &summary,
            policy: plan.targets.get(target).map(|target| &target.policy),
            confirm: plan.confirm_of(target),
            routes: &plan.routes,
            receivers: &plan.receivers,
            next: self.next_scan(target).map(|due| due.at),
            now: self.clock.now(),
            offline_since: self.offline_since().await?,
        }))))
    }

    async fn incident_of(&self, id: IncidentId) -> Result<Incident, Refused> {
        let found = self.store.incident(id).await?;
        found.ok_or_else(|| Refused::NotFound(format!("the incident {id} is not in the store any more")))
    }

    async fn summary_of(&self, id: &TargetId) -> Result<TargetSummary, Refused> {
        let row = self.store.target(id).await?;
        row.map(|row| row.summary).ok_or_else(|| no_target(id.as_str()))
    }
}

/// Names in their order, each once.
fn distinct<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    names.into_iter().filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}
