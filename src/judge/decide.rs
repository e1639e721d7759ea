//! What a decision is about, and when it is refused: it holds for exactly what was read (design, section 5).
//!
//! What a decision changes is `settle`'s.

use std::fmt;

use jiff::Timestamp;

use crate::model::drift::{DriftRow, Fingerprint};
use crate::model::facet::FacetName;
use crate::model::incident::{Incident, IncidentId, IncidentKind, Unit};
use crate::model::memory::Memory;
use crate::model::notice::Body;
use crate::model::pointer::Pointer;

/// A decision on what a message or a list showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What was read.
    pub about: About,
    /// Units that it leaves out.
    pub except: Vec<u32>,
    /// Who decides, and why.
    pub author: Author,
}

/// What a decision names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// An incident as it stood at a revision: `4F7K2.1`.
    Revision {
        /// The incident.
        incident: IncidentId,
        /// The revision that was read.
        revision: u32,
    },
    /// One drift with one value.
    Fingerprint(Fingerprint),
}

/// Who decides, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Author {
    /// `person:NAME`.
    pub who: String,
    /// Why; `accept` and `reject` require it.
    pub reason: Option<String>,
    /// A reference into somebody's tracker.
    pub ticket: Option<String>,
    /// When it ends by itself.
    pub until: Option<Timestamp>,
}

/// Why a decision is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No open incident has this id.
    #[error("no open incident is called {0}")]
    NoSuchIncident(IncidentId),
    /// The incident has no such revision yet.
    #[error("{incident} has no revision {named}; it is at {incident}.{current}")]
    NoSuchRevision {
        /// The incident.
        incident: IncidentId,
        /// The revision named.
        named: u32,
        /// The newest.
        current: u32,
    },
    /// The incident has changed since it was read.
    #[error("{incident}.{named} is not the newest; {incident}.{current} also says:{}", list(.news))]
    Older {
        /// The incident.
        incident: IncidentId,
        /// The revision named.
        named: u32,
        /// The newest.
        current: u32,
        /// What is new.
        news: Vec<News>,
    },
    /// No drift that stands has this fingerprint.
    #[error("no drift that stands has the fingerprint {0}; its value may have changed since")]
    NoSuchFingerprint(Fingerprint),
    /// A unit to leave out is not in the incident.
    #[error("{incident} has no unit {n} that stands")]
    NoSuchUnit {
        /// The incident.
        incident: IncidentId,
        /// Its number.
        n: u32,
    },
    /// Every unit was left out, or none stands.
    #[error("that leaves nothing to decide")]
    NothingLeft,
    /// `accept` and `reject` require a reason.
    #[error("a reason is required")]
    ReasonMissing,
    /// What we could not see has no baseline.
    #[error("a target that cannot be seen is acked, never accepted or rejected")]
    Sight,
    /// The drift belongs to no incident yet.
    #[error("the drift is not confirmed; there is no incident to ack")]
    NoIncident,
    /// Several values take turns at a place: one of them is not what will be there next time.
    #[error(
        "several values take turns at {facet} {path}; hold the facet to all of them with `baseline accept --beside`, or leave the unit out"
    )]
    Unsteady {
        /// The facet.
        facet: FacetName,
        /// The place.
        path: Pointer,
    },
    /// A facet without a baseline is accepted whole, and it was not seen.
    #[error("{0} has no baseline and was not seen last time; accept it when it is seen")]
    NotSeen(FacetName),
}

/// What an older reading does not show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The unit's number.
    pub n: u32,
    /// Its title.
    pub title: String,
    /// What is new about it.
    pub what: NewsKind,
}

/// What is new about a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewsKind {
    /// It was not there.
    Added,
    /// Its values or severity were others.
    Changed,
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            NewsKind::Added => "new",
            NewsKind::Changed => "changed",
        };
        write!(f, "{}. {} ({what})", self.n, self.title)
    }
}

fn list(news: &[News]) -> String {
    news.iter().map(|line| format!("\n  {line}")).collect()
}

impl Author {
    /// The reason, which `accept` and `reject` require.
    ///
    /// # Errors
    /// When there is none, or nothing but space.
    pub fn required_reason(&self) -> Result<&str, Refusal> {
        self.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty()).ok_or(Refusal::ReasonMissing)
    }
}

/// What a decision is about, found.
#[derive(Debug)]
pub(super) struct Chosen<'a> {
    /// The incident it belongs to.
    pub(super) incident: Option<&'a Incident>,
    /// The drifts.
    pub(super) rows: Vec<&'a DriftRow>,
}

impl Chosen<'_> {
    /// Refuses what cannot be accepted or rejected.
    pub(super) fn decidable(&self) -> Result<(), Refusal> {
        let of_sight = self.incident.is_some_and(|incident| incident.kind == IncidentKind::Sight);
        let sight = of_sight || self.rows.iter().any(|row| super::life::is_sight(row.drift.facet));
        if sight { Err(Refusal::Sight) } else { Ok(()) }
    }
}

/// Finds what `decision` is about; `older` is what the revision named showed.
pub(super) fn choose<'a>(memory: &'a Memory, decision: &Decision, older: Option<&Body>) -> Result<Chosen<'a>, Refusal> {
    match decision.about {
        About::Fingerprint(fingerprint) => {
            let rows: Vec<_> = memory.drifts.iter().filter(|row| stands_as(row, fingerprint)).collect();
            let first = rows.first().ok_or(Refusal::NoSuchFingerprint(fingerprint))?;
            let incident = first.incident.and_then(|id| find(memory, id));
            Ok(Chosen { incident, rows })
        }
        About::Revision { incident, revision } => {
            let known = find(memory, incident).ok_or(Refusal::NoSuchIncident(incident))?;
            bound(known, revision, older)?;
            let rows = members(memory, known, &decision.except)?;
            // Of what a host's targets share, the one that is asked may be back already.
            if rows.is_empty() && !known.is_shared() {
                Err(Refusal::NothingLeft)
            } else {
                Ok(Chosen { incident: Some(known), rows })
            }
        }
    }
}

fn find(memory: &Memory, id: IncidentId) -> Option<&Incident> {
    memory.incidents.iter().find(|incident| incident.id == id && incident.ended.is_none())
}

fn stands_as(row: &DriftRow, fingerprint: Fingerprint) -> bool {
    !row.state.is_ended() && row.drift.fingerprint == fingerprint
}

/// Refuses any revision but the newest.
fn bound(incident: &Incident, named: u32, older: Option<&Body>) -> Result<(), Refusal> {
    let (id, current) = (incident.id, incident.revision);
    match named.cmp(&current) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(Refusal::NoSuchRevision { incident: id, named, current }),
        std::cmp::Ordering::Less => {
            let news = incident.units.iter().filter(|unit| unit.mark.stands());
            let news = news.filter_map(|unit| news_of(unit, older)).collect();
            Err(Refusal::Older { incident: id, named, current, news })
        }
    }
}

fn news_of(unit: &Unit, older: Option<&Body>) -> Option<News> {
    let then = older.and_then(|body| body.alert.units.iter().find(|then| then.n == unit.n));
    let what = match then {
        None => NewsKind::Added,
        Some(then) => {
            let cut = then.more_items > 0;
            let known = |fingerprint: &Fingerprint| cut || then.fingerprints.contains(fingerprint);
            let same = unit.members.iter().all(|member| known(&member.fingerprint)) && then.severity == unit.severity;
            if same {
                return None;
            }
            NewsKind::Changed
        }
    };
    Some(News { n: unit.n, title: unit.title.clone(), what })
}

/// The drifts of the units that stand, without those left out, each with the value that the revision shows.
fn members<'a>(memory: &'a Memory, incident: &Incident, except: &[u32]) -> Result<Vec<&'a DriftRow>, Refusal> {
    let standing = || incident.units.iter().filter(|unit| unit.mark.stands());
    if let Some(n) = except.iter().find(|n| !standing().any(|unit| unit.n == **n)) {
        return Err(Refusal::NoSuchUnit { incident: incident.id, n: *n });
    }
    let wanted: std::collections::BTreeSet<_> = standing()
        .filter(|unit| !except.contains(&unit.n))
        .flat_map(|unit| &unit.members)
        .map(|member| (member.facet, &member.path, member.fingerprint))
        .collect();
    let is_wanted = |row: &&DriftRow| {
        row.incident == Some(incident.id)
            && !row.state.is_ended()
            && wanted.contains(&(row.drift.facet, &row.drift.path, row.drift.fingerprint))
    };
    let rows: Vec<_> = memory.drifts.iter().filter(is_wanted).collect();

    Ok(rows)
}
