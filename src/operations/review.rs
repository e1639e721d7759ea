//! What no person has looked at yet: the list that the report of a first round tells of, as it stands now.

use std::collections::BTreeMap;

use super::document::{ReviewFinding, Reviewed, Shown};
use super::words::count;
use super::{Answer, Office, Refused};
use crate::judge::report::{self, Coverage};
use crate::model::facet::{Facet, FacetName, FacetState};
use crate::model::memory::Memory;
use crate::model::snapshot::Look;
use crate::model::target::TargetId;
use crate::model::text;
use crate::store::{TargetRow, TargetState};

/// Findings told of one target.
const FINDINGS: usize = 5;
/// Targets whose lists are read, values and all; further ones are listed without.
const SHOWN: usize = 100;
/// Tools named of one list.
const NAMED: usize = 20;
/// Looks read at once.
const AT_ONCE: usize = 500;

impl Office {
    pub(super) async fn review(&self) -> Result<Answer, Refused> {
        let mut waiting: Vec<(TargetRow, Memory)> = Vec::new();
        for row in self.store.targets().await?.into_iter().filter(|row| row.state == TargetState::Active) {
            let memory = self.store.memory(&row.summary.id).await?;
            if is_unreviewed(&memory) {
                waiting.push((row, memory));
            }
        }
        let ids: Vec<TargetId> = waiting.iter().map(|(row, _)| row.summary.id.clone()).collect();
        // A scan that showed what is there is in the store; only how often it did may still be buffered.
        let mut looks = BTreeMap::<TargetId, Look>::new();
        for part in ids.chunks(AT_ONCE) {
            looks.append(&mut self.store.looks(part).await?);
        }
        let mut reviewed: Vec<Reviewed> =
            waiting.iter().map(|(row, memory)| document(row, memory, looks.get(&row.summary.id))).collect();
        for (one, (row, _)) in reviewed.iter_mut().zip(&waiting).take(SHOWN) {
            let snapshot = self.store.latest_snapshot(&row.summary.id).await?;
            one.shows = snapshot.map(|snapshot| shows(&snapshot.facets)).unwrap_or_default();
        }
        Ok(Answer::Review(reviewed))
    }
}

fn is_unreviewed(memory: &Memory) -> bool {
    memory.baseline.values().any(|facet| !facet.reviewed) || memory.facets.values().any(|facet| facet.awaiting_approval)
}

/// The lists of a snapshot, with the names of its tools.
fn shows(facets: &BTreeMap<FacetName, FacetState>) -> Vec<Shown> {
    let list = |(name, state): (&FacetName, &FacetState)| {
        name.facet.list()?;
        let FacetState::Seen(seen) = state else { return None };
        let items = seen.views.first()?.member("items")?.as_object()?;
        let named = if name.facet == Facet::McpTools { NAMED } else { 0 };
        let names: Vec<String> = items.keys().take(named).map(|name| text::inert(name, 100)).collect();
        let (all, more) = (count(items.len()), count(items.len().saturating_sub(names.len())));
        Some(Shown { what: report::facet(*name), count: all, names, more })
    };
    facets.iter().filter_map(list).collect()
}

fn document(row: &TargetRow, memory: &Memory, look: Option<&Look>) -> Reviewed {
    let id = row.summary.id.to_string();
    let coverage = report::coverage(look);
    let findings = look.map(report::findings).unwrap_or_default();
    let digest = look.map(|look| look.digest);
    let short = digest.map(|digest| digest.hex().chars().take(12).collect::<String>());
    let awaiting = memory.facets.iter().filter(|(_, facet)| facet.awaiting_approval);
    Reviewed {
        url: row.summary.url.clone(),
        coverage: match &coverage {
            Coverage::Full => "full",
            Coverage::Part(_) => "part",
            Coverage::Nothing(_) => "nothing",
        }
        .to_owned(),
        missing: coverage.missing(),
        digest,
        facets: count(memory.baseline.len()),
        unreviewed: count(memory.baseline.values().filter(|facet| !facet.reviewed).count()),
        shows: Vec::new(),
        awaiting: awaiting.map(|(name, _)| name.to_string()).collect(),
        more_findings: count(findings.len().saturating_sub(FINDINGS)),
        findings: findings
            .iter()
            .take(FINDINGS)
            .map(|check| ReviewFinding {
                severity: check.severity,
                rule: check.rule.clone(),
                message: text::inert(&check.message, 300),
                evidence: text::inert(&check.evidence, 300),
                remedy: text::inert(&check.remedy, 300),
            })
            .collect(),
        stands: memory.incidents.iter().map(|incident| format!("{}.{}", incident.id, incident.revision)).collect(),
        accept: short.map(|short| format!("driftd baseline accept {id}@{short} --reason \"...\"")).unwrap_or_default(),
        target: id,
    }
}
