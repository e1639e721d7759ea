//! For tests: drifts without rules, a fold and a composer of a few lines, and a target whose past is kept in memory
//! and checked at every step.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::alert::Story;
use super::decide::{About, Author, Decision};
use super::fold::Folding;
use super::notices::{Desk, fold_notices};
use super::settle::{Arrival, Named, Parts, Scene, is_quiet, settle_scan, settle_tick};
use crate::model::alert::{
    ALERT_SCHEMA, Alert, AlertAfter, AlertBefore, AlertCommands, AlertEvidence, AlertIncident, AlertLedger, AlertType,
    AlertUnit,
};
use crate::model::confirm::Confirm;
use crate::model::digest::Digest;
use crate::model::drift::{Claim, Drift, DriftRow, DriftState, Fingerprint};
use crate::model::facet::{Facet, FacetName, FacetState, SeenFacet, Stability, UnseenKind, UnseenReason};
use crate::model::incident::{Incident, IncidentId, IncidentKind, Member, Unit, UnitMark};
use crate::model::json::Json;
use crate::model::judgment::Judgment;
use crate::model::memory::{LedgerHead, Memory};
use crate::model::notice::{self, Body, Message, Notice, Route, RouteMatch};
use crate::model::observation::{Asked, Detection, DetectionState, Outcome};
use crate::model::pointer::Pointer;
use crate::model::policy::Policy;
use crate::model::rule::{Class, Fold, Impact, RuleCase, Severity};
use crate::model::settlement::Settlement;
use crate::model::snapshot::{MODEL, Snapshot};
use crate::model::target::{BaselineMode, Kind, TargetId, TargetSummary};

pub(super) const TOOLS: FacetName = FacetName::stranger(Facet::McpTools);
pub(super) const PROMPTS: FacetName = FacetName::stranger(Facet::McpPrompts);
const SCAN: FacetName = FacetName::stranger(Facet::Scan);

pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

pub(super) fn target() -> TargetId {
    "tickets".parse().unwrap()
}

pub(super) fn summary() -> TargetSummary {
    let labels = BTreeMap::from([("team".to_owned(), "payments".to_owned())]);
    TargetSummary { id: target(), kind: Kind::Mcp, url: "https://mcp.example.com/mcp".to_owned(), labels }
}

/// A drift of class surface: `name` has `value` now.
pub(super) fn drift(facet: FacetName, name: &str, value: &str) -> Drift {
    judged(facet, name, Some("base"), Some(value), Severity::Medium)
}

/// A drift of class security.
pub(super) fn alarm(facet: FacetName, name: &str, value: &str) -> Drift {
    judged(facet, name, Some("base"), Some(value), Severity::High)
}

fn judged(facet: FacetName, name: &str, before: Option<&str>, after: Option<&str>, severity: Severity) -> Drift {
    let path = Pointer::of(["items", name]);
    let rule = match (before, after) {
        (None, _) => "sample.added",
        (_, None) => "sample.removed",
        _ => "sample.changed",
    };
    made(facet, path, RuleCase::new(rule, "-"), before, after, severity)
}

pub(super) fn made(
    facet: FacetName,
    path: Pointer,
    rule: RuleCase,
    before: Option<&str>,
    after: Option<&str>,
    severity: Severity,
) -> Drift {
    let json = |value: Option<&str>| value.map(Json::from).into_iter().collect::<Vec<_>>();
    let high = severity >= Severity::High;
    let parts = [facet.to_string(), path.to_string(), after.unwrap_or("absent").to_owned()];
    Drift {
        facet,
        claims: vec![Claim { path: path.clone(), after: after.map(|value| Digest::of(&Json::from(value))) }],
        path,
        message: format!("{rule} now"),
        rule,
        severity,
        impact: vec![if high { Impact::Security } else { Impact::Behavior }],
        class: if high { Class::Security } else { Class::Surface },
        fold: Fold::Case,
        before: json(before),
        after: json(after),
        notes: Vec::new(),
        details: Vec::new(),
        inside: Vec::new(),
        fingerprint: Fingerprint(Digest::of_parts(parts)),
    }
}

/// What kept us from seeing; `place` is `endpoint` or a facet.
pub(super) fn sight(rule: &str, place: &str) -> Drift {
    let case = if rule == "scan.blocked" { "under_24h" } else { "-" };
    let severity = if rule == "scan.rate-limited" { Severity::Low } else { Severity::Medium };
    let drift = made(SCAN, Pointer::of([place]), RuleCase::new(rule, case), None, Some(rule), severity);
    Drift { class: Class::Sight, impact: vec![Impact::Operational], ..drift }
}

pub(super) fn unseen() -> UnseenReason {
    UnseenReason { kind: UnseenKind::Timeout, detail: "tools/list".to_owned() }
}

/// Drifts of one rule and facet are one unit.
pub(super) fn fold(drifts: &[Folding<'_>], known: &[Unit]) -> Vec<Unit> {
    let mut units: Vec<Unit> = known.to_vec();
    units.iter_mut().for_each(|unit| {
        let here = drifts.iter().any(|folding| key(folding.drift) == unit.fold_key);
        if here {
            unit.members.clear();
            unit.severity = Severity::Info;
            unit.mark = UnitMark::Pending;
        }
    });
    for folding in drifts {
        let drift = folding.drift;
        let n = u32::try_from(units.len()).unwrap() + 1;
        let unit = match units.iter_mut().find(|unit| unit.fold_key == key(drift)) {
            Some(unit) => unit,
            None => {
                units.push(Unit {
                    n,
                    fold_key: key(drift),
                    rule: drift.rule.clone(),
                    severity: drift.severity,
                    impact: drift.impact.clone(),
                    title: drift.rule.to_string(),
                    items: Vec::new(),
                    members: Vec::new(),
                    mark: folding.mark,
                });
                units.last_mut().unwrap()
            }
        };
        let member = Member { facet: drift.facet, path: drift.path.clone(), fingerprint: drift.fingerprint };
        unit.members.push(member);
        unit.rule = drift.rule.clone();
        unit.severity = unit.severity.max(drift.severity);
        unit.mark = match (unit.mark, folding.mark) {
            (UnitMark::Open, _) | (_, UnitMark::Open) => UnitMark::Open,
            (UnitMark::Rejected, _) | (_, UnitMark::Rejected) => UnitMark::Rejected,
            (_, mark) => mark,
        };
    }
    units
}

fn key(drift: &Drift) -> String {
    format!("{} {}", drift.facet, drift.rule.rule)
}

pub(super) fn compose(story: &Story<'_>) -> Body {
    let unit = |unit: &Unit| AlertUnit {
        more_fingerprints: 0,
        n: unit.n,
        rule: unit.rule.rule.clone(),
        case: unit.rule.case.clone(),
        severity: unit.severity,
        impact: unit.impact.clone(),
        title: unit.title.clone(),
        items: unit.items.clone(),
        more_items: 0,
        used: true,
        details: Vec::new(),
        diff: String::new(),
        why: String::new(),
        ask: String::new(),
        mark: unit.mark,
        fingerprints: unit.members.iter().map(|member| member.fingerprint).collect(),
        notes: Vec::new(),
    };
    let incident = story.incident;
    Body {
        alert: Alert {
            schema: ALERT_SCHEMA.to_owned(),
            id: String::new(),
            kind: story.kind,
            at: story.now,
            incident: Some(AlertIncident {
                id: incident.id,
                revision: incident.revision,
                state: "open".to_owned(),
                reason: incident.ended.as_ref().map(|ended| ended.reason),
                url: None,
            }),
            severity: incident.units.iter().map(|unit| unit.severity).max().unwrap_or(Severity::Info),
            impact: Vec::new(),
            headline: format!("{} drifts", story.drifts.len()),
            summary: Vec::new(),
            passages: Vec::new(),
            targets: vec![story.target.clone()],
            consumers: Vec::new(),
            units: incident.units.iter().map(unit).collect(),
            more: 0,
            before: AlertBefore { digest: None, accepted: None },
            after: AlertAfter { digest: None, version: None },
            unseen: Vec::new(),
            commands: AlertCommands::default(),
            ledger: AlertLedger { entry: story.memory.ledger.no, head: story.memory.ledger.hash.short() },
            evidence: AlertEvidence::default(),
        },
        full_diff: String::new(),
        reply: false,
    }
}

/// What a peer shows of one facet in one scan.
#[derive(Clone, Debug)]
pub(super) enum Show {
    /// Items, each with a value.
    Items(Vec<(&'static str, String)>),
    /// Nothing that we could see.
    Unseen,
}

/// Items as `a=1 b=2`.
pub(super) fn items(text: &'static str) -> Show {
    let item = |item: &'static str| item.split_once('=').map(|(name, value)| (name, value.to_owned())).unwrap();
    Show::Items(text.split_whitespace().map(item).collect())
}

/// All that happens goes to `ops` at once.
pub(super) fn everything_at_once() -> Route {
    Route {
        matches: RouteMatch::default(),
        to: vec!["ops".to_owned()],
        goes_on: false,
        group_wait: std::time::Duration::ZERO,
        group_interval: std::time::Duration::ZERO,
        repeat: None,
    }
}

/// A target with a past; every settlement is checked and applied.
pub(super) struct World {
    pub(super) memory: Memory,
    pub(super) confirm: Confirm,
    pub(super) mode: BaselineMode,
    pub(super) policy: Policy,
    pub(super) routes: Vec<Route>,
    pub(super) receivers: Vec<String>,
    pub(super) now: Timestamp,
    /// All incidents as last written, ended ones included.
    pub(super) incidents: BTreeMap<IncidentId, Incident>,
    /// All drifts as last written, ended ones included.
    pub(super) rows: BTreeMap<Digest, DriftRow>,
    pub(super) bodies: BTreeMap<(IncidentId, u32), Body>,
    pub(super) waiting: Vec<Notice>,
    pub(super) messages: Vec<Message>,
    pub(super) history: Vec<String>,
    /// What was shown last.
    pub(super) shown: BTreeMap<FacetName, FacetState>,
    /// How many scans were quiet.
    pub(super) quiet: Cell<u32>,
    /// The newest settlement.
    pub(super) last: Option<Settlement>,
    /// All notices there ever were.
    pub(super) notices: Vec<Notice>,
}

impl World {
    pub(super) fn new() -> Self {
        Self {
            memory: Memory::default(),
            confirm: Confirm::default(),
            mode: BaselineMode::FirstSeen,
            policy: Policy::default(),
            routes: vec![everything_at_once()],
            receivers: vec!["ops".to_owned()],
            now: at(0),
            incidents: BTreeMap::new(),
            rows: BTreeMap::new(),
            bodies: BTreeMap::new(),
            waiting: Vec::new(),
            messages: Vec::new(),
            history: Vec::new(),
            shown: BTreeMap::new(),
            quiet: Cell::new(0),
            last: None,
            notices: Vec::new(),
        }
    }

    /// A target held to `tools`.
    pub(super) fn held_to(tools: &'static str) -> Self {
        let mut world = Self::new();
        world.scan(0, &[(TOOLS, items(tools))]);
        world.scan(300, &[(TOOLS, items(tools))]);
        assert!(world.memory.baseline.contains_key(&TOOLS));
        world
    }

    pub(super) fn scene<'a>(&'a self, summary: &'a TargetSummary) -> Scene<'a> {
        Scene {
            target: summary,
            mode: self.mode,
            policy: &self.policy,
            confirm: &self.confirm,
            routes: &self.routes,
            receivers: &self.receivers,
            memory: &self.memory,
            times: crate::model::fleet::Times::default(),
            parts: Parts { fold, compose },
            now: self.now,
        }
    }

    pub(super) fn wait(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// Waits, scans tools and whatever else is shown, and settles. Items beginning with `x` are alarms.
    pub(super) fn scan(&mut self, seconds: i64, shows: &[(FacetName, Show)]) -> Settlement {
        self.wait(seconds);
        let facets: BTreeMap<FacetName, FacetState> = shows.iter().map(|(name, show)| (*name, state(show))).collect();
        let judgment = self.judge(&facets);
        let outcome = if judgment.unseen.is_empty() { Outcome::Ok } else { Outcome::Partial };
        self.settle(facets, &judgment, outcome)
    }

    /// Waits, and nothing is to be seen.
    pub(super) fn fail(&mut self, seconds: i64, rule: &str) -> Settlement {
        self.wait(seconds);
        let facets = BTreeMap::from([(TOOLS, FacetState::Unseen { reason: unseen() })]);
        let judgment = Judgment {
            sights: vec![sight(rule, "endpoint"), sight("scan.partial", "mcp.tools")],
            unseen: vec![(TOOLS, unseen())],
            ..Judgment::default()
        };
        let outcome = if rule == "scan.blocked" { Outcome::Blocked } else { Outcome::Unreachable };
        self.settle(facets, &judgment, outcome)
    }

    pub(super) fn tick(&mut self, seconds: i64) -> Option<Settlement> {
        self.wait(seconds);
        let summary = summary();
        let settlement = settle_tick(&self.scene(&summary))?;
        self.apply(&settlement);
        Some(settlement)
    }

    fn settle(&mut self, facets: BTreeMap<FacetName, FacetState>, judgment: &Judgment, outcome: Outcome) -> Settlement {
        let snapshot = snapshot(facets, outcome, self.now);
        let summary = summary();
        let quiet = is_quiet(&self.scene(&summary), &snapshot, judgment);
        let settlement = settle_scan(&self.scene(&summary), &snapshot, judgment, Arrival::default());
        if quiet {
            self.quiet.set(self.quiet.get() + 1);
            assert!(settlement.drifts.is_empty() && settlement.incidents.is_empty(), "a quiet scan writes nothing");
            assert!(settlement.history.is_empty() && settlement.baseline.is_empty() && settlement.notices.is_empty());
        }
        self.shown.extend(snapshot.facets);
        self.apply(&settlement);
        settlement
    }

    /// What differs from the baseline with its approvals laid over, item by item.
    fn judge(&self, facets: &BTreeMap<FacetName, FacetState>) -> Judgment {
        let mut judgment = Judgment::default();
        for (name, state) in facets {
            let FacetState::Seen(seen) = state else {
                judgment.unseen.push((*name, unseen()));
                judgment.sights.push(sight("scan.partial", &name.to_string()));
                continue;
            };
            judgment.seen.insert(*name);
            let Some(held) = self.memory.baseline.get(name) else { continue };
            let mut accepted: Vec<BTreeMap<String, String>> = held.values.iter().map(named).collect();
            for approval in self.memory.approvals.iter().filter(|approval| approval.facet == *name) {
                let item = approval.path.token(1).unwrap().to_owned();
                accepted.iter_mut().for_each(|items| match approval.value.as_ref().and_then(Json::as_str) {
                    Some(value) => drop(items.insert(item.clone(), value.to_owned())),
                    None => drop(items.remove(&item)),
                });
            }
            let now = named(&seen.views[0]);
            let names: BTreeSet<&String> = accepted.iter().flat_map(BTreeMap::keys).chain(now.keys()).collect();
            for item in names {
                let (before, after) = (accepted[0].get(item), now.get(item));
                if accepted.iter().all(|items| items.get(item) != after) {
                    let severity = if item.starts_with('x') { Severity::High } else { Severity::Medium };
                    let text = |value: Option<&String>| value.cloned();
                    judgment.drifts.push(judged(
                        *name,
                        item,
                        text(before).as_deref(),
                        text(after).as_deref(),
                        severity,
                    ));
                }
            }
        }
        crate::judge::policy::apply(&self.policy, &mut judgment);
        judgment
    }

    /// Does what the store does, and checks what must hold for every settlement.
    pub(super) fn apply(&mut self, settlement: &Settlement) {
        self.apply_rows(settlement);
        self.apply_incidents(settlement);
        for entry in &settlement.ledger {
            assert_eq!((entry.no, entry.prev), (self.memory.ledger.no + 1, self.memory.ledger.hash));
            self.memory.ledger = LedgerHead { no: entry.no, hash: entry.hash() };
        }
        for entry in &settlement.baseline {
            self.memory.approvals.retain(|approval| approval.facet != entry.facet);
            self.memory.baseline.insert(entry.facet, entry.clone());
        }
        for new in &settlement.approvals {
            self.memory.approvals.retain(|old| old.facet != new.facet || !new.path.contains(&old.path));
            self.memory.approvals.push(new.clone());
        }
        for (facet, path, _) in &settlement.ended_approvals {
            self.memory.approvals.retain(|old| old.facet != *facet || old.path != *path);
        }
        self.memory.facets = settlement.facets.clone();
        self.memory.scans = settlement.scans.clone();
        self.waiting.extend(settlement.notices.iter().cloned());
        self.history.extend(settlement.history.iter().map(|line| line.event.clone()));
        self.notices.extend(settlement.notices.iter().cloned());
        self.last = Some(settlement.clone());
    }

    fn apply_rows(&mut self, settlement: &Settlement) {
        for row in &settlement.drifts {
            if let Some(old) = self.rows.get(&row.id) {
                assert!(!old.state.is_ended(), "an ended drift never changes");
            }
            self.rows.insert(row.id, row.clone());
        }
        let standing: Vec<DriftRow> = self.rows.values().filter(|row| !row.state.is_ended()).cloned().collect();
        let keys: BTreeSet<_> = standing.iter().map(|row| (row.drift.facet, row.drift.path.clone())).collect();
        assert_eq!(keys.len(), standing.len(), "one row of a key stands at a time");
        self.memory.drifts = standing;
    }

    fn apply_incidents(&mut self, settlement: &Settlement) {
        for incident in &settlement.incidents {
            if let Some(old) = self.incidents.get(&incident.id) {
                assert!(old.ended.is_none() && old.revision <= incident.revision);
            }
            Arc::make_mut(&mut self.memory.incident_ids).insert(incident.id);
            self.incidents.insert(incident.id, incident.clone());
        }
        self.memory.incidents = self.incidents.values().filter(|one| one.ended.is_none()).cloned().collect();
        for kind in [IncidentKind::Drift, IncidentKind::Sight] {
            assert!(self.memory.incidents.iter().filter(|incident| incident.kind == kind).count() <= 1);
        }
        for revision in &settlement.revisions {
            self.bodies.insert((revision.incident, revision.revision), revision.body.clone());
        }
        for row in self.memory.drifts.iter().filter(|row| matches!(row.state, DriftState::Open | DriftState::Rejected))
        {
            if row.suppressed.is_some() {
                assert_eq!(row.incident, None, "what is not told is in no incident");
                continue;
            }
            let id = row.incident.expect("what is confirmed is in an incident");
            let incident = self.memory.incidents.iter().find(|incident| incident.id == id).expect("that stands");
            let told = incident.units.iter().filter(|unit| unit.mark.stands()).flat_map(|unit| &unit.members);
            assert!(told.into_iter().any(|member| member.fingerprint == row.drift.fingerprint), "as it is");
        }
    }

    /// Folds what is due.
    pub(super) fn fold(&mut self) -> notice::Fold {
        let fold = {
            let (bodies, incidents) = (&self.bodies, &self.incidents);
            let desk = Desk {
                revisions: &|incident, revision| bodies.get(&(incident, revision)).cloned(),
                incidents: &|id| incidents.get(&id).cloned(),
                told: &self.memory.told,
                undelivered: &BTreeSet::new(),
                routes: &self.routes,
                receivers: &self.receivers,
            };
            fold_notices(&self.waiting, &desk, self.now)
        };
        let mut gone: BTreeSet<&String> = fold.dropped.iter().collect();
        for payment in &fold.payments {
            gone.extend(&payment.notices);
            for told in &payment.told {
                self.memory.told.retain(|old| (&old.receiver, old.incident) != (&told.receiver, told.incident));
                self.memory.told.push(told.clone());
            }
            self.messages.push(payment.message.clone());
        }
        self.waiting.retain(|notice| !gone.contains(&notice.id));
        for later in &fold.put_off {
            let notice = self.waiting.iter_mut().find(|notice| notice.id == later.id).expect("it waits");
            (notice.lane, notice.due_at) = (later.lane, later.due_at);
        }
        self.waiting.extend(fold.owed.iter().cloned());
        fold
    }

    /// The kinds of the messages so far.
    pub(super) fn told(&self) -> Vec<AlertType> {
        self.messages.iter().map(|message| message.body.alert.kind).collect()
    }

    /// The incident of a kind that stands.
    pub(super) fn incident(&self, kind: IncidentKind) -> Option<&Incident> {
        self.memory.incidents.iter().find(|incident| incident.kind == kind)
    }

    /// The state of the row of tools' `item` that stands.
    pub(super) fn state(&self, item: &str) -> Option<DriftState> {
        self.row(item).map(|row| row.state)
    }

    pub(super) fn row(&self, item: &str) -> Option<&DriftRow> {
        let path = Pointer::of(["items", item]);
        self.memory.drifts.iter().find(|row| row.drift.facet == TOOLS && row.drift.path == path)
    }

    pub(super) fn named<'a>(&'a self, asked: &'a Asked, beside: bool) -> Named<'a> {
        Named { digest: Digest::ZERO, facets: &self.shown, asked, beside }
    }
}

fn state(show: &Show) -> FacetState {
    match show {
        Show::Unseen => FacetState::Unseen { reason: unseen() },
        Show::Items(items) => {
            let members = items.iter().map(|(name, value)| ((*name).to_owned(), Json::from(value.as_str())));
            let value = Json::from([("items", Json::Object(members.collect()))]);
            FacetState::Seen(SeenFacet {
                digest: Digest::of(&value),
                views: vec![value],
                volatile: Json::object(),
                stability: Stability::default(),
                ambiguities: Vec::new(),
            })
        }
    }
}

fn named(value: &Json) -> BTreeMap<String, String> {
    let items = value.member("items").and_then(Json::as_object).cloned().unwrap_or_default();
    items.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned()))).collect()
}

pub(super) fn snapshot(facets: BTreeMap<FacetName, FacetState>, outcome: Outcome, now: Timestamp) -> Snapshot {
    Snapshot {
        model: MODEL,
        target: summary(),
        at: now,
        duration_ms: 1,
        requests: 1,
        outcome,
        digest: Digest::ZERO,
        mcp: Detection {
            state: DetectionState::Confirmed,
            transport: None,
            era: None,
            version: None,
            supported: Vec::new(),
            endpoint: None,
            evidence: Vec::new(),
        },
        facets,
        coverage: BTreeMap::new(),
        asked: Asked { date: Some("2025-11-25".to_owned()), ..Asked::default() },
        checks: Vec::new(),
    }
}

pub(super) fn author(reason: &str) -> Author {
    Author { who: "person:oncall".to_owned(), reason: Some(reason.to_owned()), ticket: None, until: None }
}

pub(super) fn decision(incident: IncidentId, revision: u32) -> Decision {
    Decision { about: About::Revision { incident, revision }, except: Vec::new(), author: author("upgrade") }
}
