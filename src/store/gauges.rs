//! What `/metrics` says of targets, from the store: a few queries, whatever the number of targets.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use jiff::Timestamp;
use sqlx::SqliteConnection;

use super::columns::Columns as _;
use super::error::StoreError;
use super::views::{BaselineGauge, Gauges, IncidentCount, IncidentState, UnitCount};
use crate::model::facet::{Facet, FacetName};
use crate::model::incident::{Ack, IncidentId, IncidentKind, UnitMark};
use crate::model::rule::{Impact, Severity};
use crate::model::target::TargetId;

const UNITS: &str = "SELECT incident.id, incident.owner, incident.kind, incident.acked, unit.mark, unit.severity, \
     unit.impact FROM incident JOIN unit ON unit.incident = incident.id WHERE incident.ended_at IS NULL \
     ORDER BY incident.id, unit.n";
const UNDECIDED: &str = "SELECT drift.severity, drift.facet, drift.confirmed_at, incident.acked FROM drift \
     LEFT JOIN incident ON incident.id = drift.incident WHERE drift.ended_at IS NULL AND drift.state = 'open' \
     AND drift.suppressed IS NULL";
const BASELINES: &str = "SELECT target, max(at) AS at, min(reviewed) AS reviewed FROM baseline \
     WHERE ended_at IS NULL GROUP BY target ORDER BY target";

/// All of it.
pub(super) async fn load(conn: &mut SqliteConnection, now: Timestamp) -> Result<Gauges, StoreError> {
    let incidents = open_incidents(&mut *conn).await?;
    let mut units = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for incident in incidents.values() {
        for unit in incident.units.iter().filter(|unit| unit.is_open()) {
            *units.entry((&incident.owner, incident.kind, unit.severity)).or_insert(0) += 1;
        }
        let standing = incident.units.iter().filter(|unit| unit.mark.stands());
        if let Some(worst) = standing.max_by_key(|unit| (unit.is_open(), unit.severity))
            && let Some(impact) = worst.impact
        {
            *counts.entry((incident.state(now), worst.severity, impact)).or_insert(0) += 1;
        }
    }
    Ok(Gauges {
        units: units
            .into_iter()
            .map(|((target, kind, severity), units)| UnitCount { target: target.clone(), kind, severity, units })
            .collect(),
        incidents: counts
            .into_iter()
            .map(|((state, severity, impact), incidents)| IncidentCount { state, severity, impact, incidents })
            .collect(),
        oldest_undecided: oldest_undecided(&mut *conn, now).await?,
        baselines: baselines(conn).await?,
    })
}

struct OpenIncident {
    owner: TargetId,
    kind: IncidentKind,
    acked: Option<Ack>,
    units: Vec<OpenUnit>,
}

struct OpenUnit {
    mark: UnitMark,
    severity: Severity,
    impact: Option<Impact>,
}

impl OpenUnit {
    /// Confirmed and standing.
    const fn is_open(&self) -> bool {
        match self.mark {
            UnitMark::Open | UnitMark::Rejected => true,
            UnitMark::Pending | UnitMark::Reverted | UnitMark::Ignored | UnitMark::Accepted | UnitMark::Retired => {
                false
            }
        }
    }
}

impl OpenIncident {
    fn state(&self, now: Timestamp) -> IncidentState {
        let mut open = self.units.iter().filter(|unit| unit.is_open()).peekable();
        if open.peek().is_some() && open.all(|unit| unit.mark == UnitMark::Rejected) {
            IncidentState::Rejected
        } else if stands(self.acked.as_ref(), now) {
            IncidentState::Acked
        } else {
            IncidentState::Open
        }
    }
}

fn stands(ack: Option<&Ack>, now: Timestamp) -> bool {
    ack.is_some_and(|ack| ack.until.is_none_or(|until| now < until))
}

async fn open_incidents(conn: &mut SqliteConnection) -> Result<BTreeMap<IncidentId, OpenIncident>, StoreError> {
    let mut incidents = BTreeMap::new();
    for row in sqlx::query(UNITS).fetch_all(conn).await? {
        let unit = OpenUnit {
            mark: row.variant("mark")?,
            severity: row.variant("severity")?,
            impact: row.maybe_variant("impact")?,
        };
        let incident = match incidents.entry(row.parsed::<IncidentId>("id")?) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(OpenIncident {
                owner: row.parsed("owner")?,
                kind: row.variant("kind")?,
                acked: row.maybe_json("acked")?,
                units: Vec::new(),
            }),
        };
        incident.units.push(unit);
    }
    Ok(incidents)
}

/// Sight is never decided, only acked; what is acked has an answer.
async fn oldest_undecided(
    conn: &mut SqliteConnection,
    now: Timestamp,
) -> Result<BTreeMap<Severity, Timestamp>, StoreError> {
    let mut oldest = BTreeMap::new();
    for row in sqlx::query(UNDECIDED).fetch_all(conn).await? {
        let facet: FacetName = row.parsed("facet")?;
        let acked: Option<Ack> = row.maybe_json("acked")?;
        let Some(confirmed) = row.maybe_time("confirmed_at")? else { continue };
        if facet.facet != Facet::Scan && !stands(acked.as_ref(), now) {
            let first = oldest.entry(row.variant("severity")?).or_insert(confirmed);
            *first = confirmed.min(*first);
        }
    }
    Ok(oldest)
}

async fn baselines(conn: &mut SqliteConnection) -> Result<Vec<BaselineGauge>, StoreError> {
    let rows = sqlx::query(BASELINES).fetch_all(conn).await?;
    rows.iter()
        .map(|row| {
            Ok(BaselineGauge {
                target: row.parsed("target")?,
                accepted_at: row.time("at")?,
                reviewed: row.flag("reviewed")?,
            })
        })
        .collect()
}
