//! Nouns to store: small, and with every awkward character that a peer may send.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;

use crate::model::alert::{
    ALERT_SCHEMA, Alert, AlertAfter, AlertBefore, AlertCommands, AlertEvidence, AlertIncident, AlertLedger, AlertType,
};
use crate::model::baseline::{Approval, BaselineFacet};
use crate::model::digest::Digest;
use crate::model::drift::{Claim, Detail, Drift, DriftRow, DriftState, Fingerprint, NextValue, Note};
use crate::model::facet::{Facet, FacetName, FacetState, SeenFacet, Stability, UnseenKind, UnseenReason};
use crate::model::incident::{Incident, IncidentId, IncidentKind, Member, Unit, UnitMark};
use crate::model::json::Json;
use crate::model::ledger::{Action, LedgerEntry};
use crate::model::memory::{FacetMemory, LastSight, LedgerHead, Memory, ScanMemory, ValueRun};
use crate::model::notice::{Body, Lane, Message, MessageState, Notice};
use crate::model::observation::{AddressClass, Asked, Detection, DetectionState, Era, Outcome, Transport};
use crate::model::pointer::Pointer;
use crate::model::rule::{Class, Fold, Impact, RuleCase, Severity};
use crate::model::settlement::{HistoryLine, Revision, Settlement};
use crate::model::snapshot::{Check, CheckStatus, CheckVerdict, Coverage, MODEL, Snapshot};
use crate::model::target::{Kind, TargetId, TargetSummary};
use crate::store::Store;

/// A name as a hostile peer may choose it.
pub(super) const AWKWARD: &str = "say \"hi\"\u{0}\u{0}; DROP TABLE drift; --\u{202e}\u{1f980}/~";

/// A store in a directory of its own, with the target `a`.
pub(super) struct Fixture {
    pub(super) store: Store,
    pub(super) path: PathBuf,
    _dir: tempfile::TempDir,
}

impl Fixture {
    pub(super) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("driftd.db");
        let store = Store::open(&path).await.unwrap();
        store.sync_targets(&[summary("a")], at(0)).await.unwrap();
        Self { store, path, _dir: dir }
    }

    /// The same file, opened anew without closing it well.
    pub(super) async fn reopened(&self) -> Store {
        Store::open(&self.path).await.unwrap()
    }

    pub(super) async fn memory(&self) -> Memory {
        self.store.writer().await.memory(&id("a")).await.unwrap()
    }

    pub(super) async fn commit(&self, settlement: &Settlement, scan: Option<&Snapshot>) {
        self.store.writer().await.commit(settlement, scan, at(0)).await.unwrap();
    }
}

/// So many seconds after a fixed start.
pub(super) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

pub(super) fn id(text: &str) -> TargetId {
    text.parse().unwrap()
}

pub(super) fn summary(text: &str) -> TargetSummary {
    let labels = BTreeMap::from([("team".to_owned(), "payments".to_owned())]);
    TargetSummary { id: id(text), kind: Kind::Mcp, url: format!("https://{text}.example.com/mcp"), labels }
}

pub(super) const TOOLS: FacetName = FacetName::stranger(Facet::McpTools);

pub(super) fn value(text: &str) -> Json {
    // A number beyond what a double holds, a name that is all traps.
    let text = format!("{{\"order\":[\"x\"],\"n\":123456789012345678901234567890.5,\"{text}\":\"\\u0000\"}}");
    Json::parse_trusted(text.as_bytes()).unwrap()
}

pub(super) fn asked() -> Asked {
    Asked {
        anonymous: true,
        date: Some("2025-11-25".to_owned()),
        offered: vec!["2025-11-25".to_owned()],
        place: Some(Digest::of_bytes(b"https://mcp.example.com/mcp")),
        headers: vec!["x-tenant".to_owned()],
        authorities: Some(Digest::of_bytes(b"ca.pem")),
        identity: Some(Digest::of_bytes(b"client.pem")),
        tier: "passive".to_owned(),
        credential: Some("env TOKEN".to_owned()),
    }
}

fn seen(value: &Json) -> FacetState {
    FacetState::Seen(SeenFacet {
        views: vec![value.clone()],
        digest: Digest::of(value),
        volatile: Json::from([("/ttlMs", Json::from(5))]),
        stability: Stability { order_differs: true, ..Stability::default() },
        ambiguities: vec!["a member came twice".to_owned()],
    })
}

/// A scan that showed `tools`, no prompts, and could not read resources.
pub(super) fn scan(tools: &Json, seconds: i64) -> Snapshot {
    let unseen = UnseenReason { kind: UnseenKind::Timeout, detail: "after 10 s".to_owned() };
    let facets = BTreeMap::from([
        (TOOLS, seen(tools)),
        (FacetName::stranger(Facet::McpPrompts), FacetState::Absent { note: Some("not declared".to_owned()) }),
        (FacetName::stranger(Facet::McpResources), FacetState::Unseen { reason: unseen }),
    ]);
    Snapshot {
        model: MODEL,
        target: summary("a"),
        at: at(seconds),
        duration_ms: 12,
        requests: 9,
        outcome: Outcome::Partial,
        digest: Digest::of_parts([Digest::of(tools).hex()]),
        mcp: Detection {
            state: DetectionState::Confirmed,
            transport: Some(Transport::StreamableHttp),
            era: Some(Era::Session),
            version: Some("2025-11-25".to_owned()),
            supported: Vec::new(),
            endpoint: None,
            evidence: vec!["a valid initialize".to_owned()],
        },
        facets,
        coverage: BTreeMap::from([(TOOLS, Coverage { watched: true, reason: None })]),
        asked: asked(),
        checks: vec![Check {
            rule: "scan.json-ambiguous".to_owned(),
            case: "-".to_owned(),
            verdict: CheckVerdict::Finding,
            severity: Severity::Low,
            status: CheckStatus::Warning,
            message: "a member came twice".to_owned(),
            remedy: "send it once".to_owned(),
            evidence: "tools/list".to_owned(),
            spec: "RFC 8259".to_owned(),
            reason: None,
        }],
    }
}

/// A settlement of `a` that only counts its `seq`th scan.
pub(super) fn quiet(seq: u64, seconds: i64) -> Settlement {
    let memory = FacetMemory {
        last: LastSight::Value(Digest::of(&value("one"))),
        last_seen: Some(at(seconds)),
        runs: vec![ValueRun { digest: None, from: at(0), to: at(seconds), scans: 2 }],
        ..FacetMemory::default()
    };
    Settlement {
        target: id("a"),
        drifts: Vec::new(),
        incidents: Vec::new(),
        revisions: Vec::new(),
        baseline: Vec::new(),
        approvals: Vec::new(),
        ended_approvals: Vec::new(),
        ledger: Vec::new(),
        notices: Vec::new(),
        facets: BTreeMap::from([(TOOLS, memory)]),
        suppressed: Vec::new(),
        recomputed: crate::model::settlement::Recomputed::default(),
        scans: ScanMemory {
            ours: None,
            posture: BTreeMap::from([("mcp.session-id-weak".to_owned(), crate::model::posture::Held::Passed)]),
            ignores: BTreeMap::new(),
            seq,
            last_at: Some(at(seconds)),
            outcome: Some(Outcome::Partial),
            last_ok: None,
            last_fresh: Some(at(seconds)),
            address_class: Some(AddressClass::Public),
            certificate_ends: None,
            transport: None,
            date: Some("2025-11-25".to_owned()),
            endpoint: Some(Box::new(crate::model::observation::Found {
                url: "https://mcp.example.com/v2/mcp".to_owned(),
                found_by: crate::model::observation::FoundBy::ServerCard,
            })),
            not_before: Some(at(seconds + 30)),
        },
        history: Vec::new(),
        recheck: Some(at(seconds + 300)),
        detected: Vec::new(),
        closed: Vec::new(),
    }
}

pub(super) fn path() -> Pointer {
    Pointer::of(["items", AWKWARD, "description"])
}

pub(super) fn drift(after: &Json) -> Drift {
    let path = path();
    Drift {
        facet: TOOLS,
        path: path.clone(),
        rule: RuleCase::new("tool.description-changed", "-"),
        severity: Severity::High,
        impact: vec![Impact::Behavior, Impact::Security],
        class: Class::Surface,
        fold: Fold::Case,
        before: vec![value("before")],
        after: vec![after.clone()],
        claims: vec![Claim { path, after: Some(Digest::of(after)) }, Claim { path: Pointer::root(), after: None }],
        notes: vec![Note { rule: "note.version".to_owned(), text: "the version stood still".to_owned() }],
        message: format!("the description of {AWKWARD:?} changed"),
        details: vec![
            Detail::Moved { from: "a".to_owned(), to: AWKWARD.to_owned() },
            Detail::Words {
                diff: "[-a-] {+b+}".to_owned(),
                before_chars: 1,
                after_chars: 1,
                kept_words: 0,
                total_words: 1,
            },
        ],
        inside: Vec::new(),
        fingerprint: Fingerprint(Digest::of_parts(["fingerprint", &after.canonical()])),
    }
}

pub(super) fn incident_id() -> IncidentId {
    "4F7K2".parse().unwrap()
}

/// An open drift with another value on its way.
pub(super) fn row(seconds: i64) -> DriftRow {
    let drift_now = drift(&value("after"));
    DriftRow {
        suppressed: None,
        id: Digest::of_parts(["life", &seconds.to_string()]),
        values: vec![(drift_now.fingerprint, at(seconds))],
        drift: drift_now,
        state: DriftState::Open,
        sightings: 2,
        since: at(seconds),
        last_at: at(seconds + 300),
        back_count: 1,
        back_since: Some(at(seconds + 400)),
        next: Some(NextValue { drift: drift(&value("next")), sightings: 1, since: at(seconds + 500) }),
        held: true,
        first_at: at(seconds),
        confirmed_at: Some(at(seconds + 300)),
        ended_at: None,
        incident: Some(incident_id()),
    }
}

pub(super) fn unit(n: u32, severity: Severity, mark: UnitMark) -> Unit {
    Unit {
        n,
        fold_key: format!("{TOOLS} {AWKWARD}"),
        rule: RuleCase::new("tool.description-changed", "-"),
        severity,
        impact: vec![Impact::Behavior],
        title: "descriptions: 1".to_owned(),
        items: vec![AWKWARD.to_owned()],
        members: vec![Member { facet: TOOLS, path: path(), fingerprint: drift(&value("after")).fingerprint }],
        mark,
    }
}

pub(super) fn incident() -> Incident {
    Incident {
        id: incident_id(),
        owner: id("a"),
        with: Vec::new(),
        kind: IncidentKind::Drift,
        revision: 1,
        units: vec![unit(1, Severity::High, UnitMark::Open), unit(2, Severity::Low, UnitMark::Pending)],
        acked: None,
        opened_at: at(300),
        ended: None,
    }
}

pub(super) fn body(kind: AlertType, revision: u32) -> Body {
    let alert = Alert {
        schema: ALERT_SCHEMA.to_owned(),
        id: String::new(),
        kind,
        at: at(300),
        incident: Some(AlertIncident {
            id: incident_id(),
            revision,
            state: "open".to_owned(),
            reason: None,
            url: None,
        }),
        severity: Severity::High,
        impact: vec![Impact::Behavior],
        headline: "1 description changed".to_owned(),
        summary: vec![AWKWARD.to_owned()],
        passages: Vec::new(),
        targets: vec![summary("a")],
        consumers: Vec::new(),
        units: Vec::new(),
        more: 0,
        before: AlertBefore { digest: None, accepted: None },
        after: AlertAfter { digest: None, version: Some("1.0".to_owned()) },
        unseen: Vec::new(),
        commands: AlertCommands::default(),
        ledger: AlertLedger::default(),
        evidence: AlertEvidence::default(),
    };
    Body { alert, full_diff: "- before\n+ after\n".repeat(200), reply: false }
}

pub(super) fn notice(receiver: &str, revision: u32, event: AlertType, due: i64) -> Notice {
    Notice {
        id: Digest::of_parts([receiver, &revision.to_string(), event.as_str()]).hex(),
        receiver: receiver.to_owned(),
        incident: incident_id(),
        revision,
        event,
        lane: Lane::Message,
        due_at: at(due),
        at: at(due - 60),
    }
}

pub(super) fn message(receiver: &str, revision: u32, event: AlertType, next: i64) -> Message {
    Message {
        id: Digest::of_parts(["message", receiver, &revision.to_string(), event.as_str()]).hex(),
        receiver: receiver.to_owned(),
        incident: Some(incident_id()),
        body: body(event, revision),
        state: MessageState::Pending,
        attempts: 0,
        next_at: at(next),
        error: None,
        at: at(next),
        sent_at: None,
    }
}

/// The entry that continues `head`. Its time has more digits than a column of ours keeps.
pub(super) fn entry(head: LedgerHead) -> LedgerEntry {
    LedgerEntry {
        no: head.no + 1,
        decision: format!("d{}", head.no + 1),
        at: at(0) + jiff::SignedDuration::from_nanos(123_456_789),
        target: id("a"),
        facet: TOOLS,
        path: path(),
        before: None,
        after: Some(Digest::of(&value("after"))),
        rule: Some("tool.description-changed".to_owned()),
        action: Action::Accept,
        who: "person:oncall".to_owned(),
        reason: Some("a release".to_owned()),
        ticket: None,
        until: Some(at(9000)),
        prev: head.hash,
    }
}

pub(super) fn accepted(text: &str, no: u64, reviewed: bool, seconds: i64) -> BaselineFacet {
    BaselineFacet {
        facet: TOOLS,
        values: vec![value(text), value("beside")],
        digest: Some(Digest::of(&value(text))),
        at: at(seconds),
        by: if reviewed { "person:oncall" } else { "first_seen" }.to_owned(),
        reason: reviewed.then(|| "a release".to_owned()),
        asked: asked(),
        model: MODEL,
        entry: no,
        reviewed,
    }
}

pub(super) fn approval(path: Pointer, value: Option<Json>, no: u64) -> Approval {
    Approval { facet: TOOLS, path, value, at: at(20), by: "person:oncall".to_owned(), until: Some(at(5000)), entry: no }
}

/// Everything at once: a drift opens its incident, which is owed to two receivers, and a facet is accepted.
pub(super) fn whole(head: LedgerHead) -> Settlement {
    let first = entry(head);
    let second = entry(LedgerHead { no: first.no, hash: first.hash() });
    Settlement {
        drifts: vec![row(0)],
        incidents: vec![incident()],
        revisions: vec![Revision {
            incident: incident_id(),
            revision: 1,
            at: at(300),
            body: body(AlertType::DriftOpened, 1),
        }],
        baseline: vec![accepted("one", first.no, false, 10)],
        approvals: vec![approval(path(), Some(value("after")), second.no)],
        ledger: vec![first, second],
        notices: vec![notice("mail", 1, AlertType::DriftOpened, 360), notice("hook", 1, AlertType::DriftOpened, 300)],
        history: vec![HistoryLine {
            at: at(300),
            event: "drift.open".to_owned(),
            place: Some((TOOLS, path())),
            drift: Some(row(0).id),
            incident: Some(incident_id()),
            text: "the description changed".to_owned(),
        }],
        ..quiet(1, 300)
    }
}

/// The first `n` characters.
pub(super) fn first(text: &str, n: usize) -> String {
    text.chars().take(n).collect()
}
