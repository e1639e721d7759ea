//! A server that is upgraded: eleven tools, of which one keeps its name, and all that comes with it.

use jiff::Timestamp;

use crate::judge::alert::{DecisionWords, Story, compose};
use crate::model::alert::AlertType;
use crate::model::baseline::BaselineFacet;
use crate::model::confirm::Confirm;
use crate::model::digest::Digest;
use crate::model::drift::{Claim, Detail, Drift, DriftRow, DriftState, Fingerprint, Inside, Note};
use crate::model::facet::{Facet, FacetName, FacetState, SeenFacet, Stability, UnseenKind, UnseenReason};
use crate::model::incident::{Incident, IncidentKind, Member, Unit, UnitMark};
use crate::model::json::Json;
use crate::model::memory::{LedgerHead, Memory};
use crate::model::notice::Body;
use crate::model::observation::{Asked, Detection, DetectionState, Era, Outcome, Transport};
use crate::model::pointer::Pointer;
use crate::model::policy::Policy;
use crate::model::rule::{Class, Fold, Impact, RuleCase, Severity};
use crate::model::snapshot::{MODEL, Snapshot};
use crate::model::target::{Kind, TargetSummary};

use Impact::{Behavior, Breaking, Cosmetic, Exposure, Operational, Security};
use Severity::{High, Low, Medium};

pub(super) const RENAMED: [(&str, &str); 8] = [
    ("weigh", "get-weight"),
    ("labelParcel", "get-parcel-label"),
    ("listDepots", "list-depots"),
    ("tinyMap", "get-tiny-map"),
    ("slowRouteCalculation", "start-slow-route-calculation"),
    ("printSettings", "get-settings"),
    ("quote", "get-structured-quote"),
    ("depotReference", "get-depot-reference"),
];

pub(super) const OLD_WORDS: &str = "Parcel server. Ask for a quote before you book. Weights are in kilograms.";
pub(super) const NEW_WORDS: &str = "# Parcel server, notes for models\n\nYou plan parcels with this server. Quotes hold for \
     one hour; weigh every parcel first, and never book what the user has not confirmed.\n\nWeights are in kilograms.\n";

/// A point in time of the story, in seconds.
pub(super) fn at(seconds: i64) -> Timestamp {
    let start: Timestamp = "2026-11-30T13:02:13Z".parse().unwrap();
    Timestamp::from_second(start.as_second() + seconds).unwrap()
}

/// Everything a story borrows.
pub(super) struct World {
    pub(super) target: TargetSummary,
    pub(super) incident: Incident,
    pub(super) rows: Vec<DriftRow>,
    pub(super) memory: Memory,
    pub(super) snapshot: Option<Snapshot>,
    pub(super) decision: Option<DecisionWords>,
    pub(super) policy: Policy,
}

impl World {
    pub(super) fn tell(&self, kind: AlertType, now: Timestamp) -> Body {
        let drifts: Vec<&DriftRow> = self.rows.iter().collect();
        compose(&Story {
            policy: &self.policy,
            target: &self.target,
            targets: &[&self.target],
            meanwhile: None,
            incident: &self.incident,
            kind,
            drifts: &drifts,
            memory: &self.memory,
            snapshot: self.snapshot.as_ref(),
            confirm: &Confirm::default(),
            decision: self.decision.as_ref(),
            now,
        })
    }

    /// Adds a unit of drifts to the incident.
    pub(super) fn unit(&mut self, rule: (&str, &str), bad: (Severity, &[Impact]), title: &str, drifts: Vec<Drift>) {
        let n = u32::try_from(self.incident.units.len() + 1).unwrap();
        let items = drifts.iter().filter(|drift| drift.path.token(0) == Some("items"));
        let items = items.filter_map(|drift| drift.path.token(1)).map(str::to_owned).collect();
        let member =
            |drift: &Drift| Member { facet: drift.facet, path: drift.path.clone(), fingerprint: drift.fingerprint };
        self.incident.units.push(Unit {
            n,
            fold_key: n.to_string(),
            rule: RuleCase::new(rule.0, rule.1),
            severity: bad.0,
            impact: bad.1.to_vec(),
            title: title.to_owned(),
            items,
            members: drifts.iter().map(member).collect(),
            mark: UnitMark::Open,
        });
        for mut drift in drifts {
            drift.rule = RuleCase::new(rule.0, rule.1);
            (drift.severity, drift.impact) = (bad.0, bad.1.to_vec());
            self.rows.push(row(drift, self.incident.id));
        }
    }
}

fn row(drift: Drift, incident: crate::model::incident::IncidentId) -> DriftRow {
    DriftRow {
        suppressed: None,
        id: drift.fingerprint.0,
        drift,
        state: DriftState::Open,
        sightings: 2,
        since: at(0),
        last_at: at(300),
        back_count: 0,
        back_since: None,
        next: None,
        values: Vec::new(),
        held: false,
        first_at: at(0),
        confirmed_at: Some(at(300)),
        ended_at: None,
        incident: Some(incident),
    }
}

/// A drift at a place, without a rule yet.
pub(super) fn drift(
    facet: Facet,
    path: &[&str],
    before: Option<Json>,
    after: Option<Json>,
    details: Vec<Detail>,
) -> Drift {
    let path = Pointer::of(path.iter().copied());
    let fingerprint =
        Fingerprint(Digest::of_parts([path.to_string(), after.as_ref().map(Json::canonical).unwrap_or_default()]));
    Drift {
        facet: FacetName::stranger(facet),
        claims: vec![Claim { path: path.clone(), after: after.as_ref().map(Digest::of) }],
        path,
        rule: RuleCase::new("-", "-"),
        severity: Severity::Info,
        impact: Vec::new(),
        class: Class::Surface,
        fold: Fold::Case,
        before: before.into_iter().collect(),
        after: after.into_iter().collect(),
        notes: Vec::new(),
        message: String::new(),
        details,
        inside: Vec::new(),
        fingerprint,
    }
}

pub(super) fn text(text: &str) -> Detail {
    Detail::Text { text: text.to_owned() }
}

fn moved(from: &str, to: &str) -> Detail {
    Detail::Moved { from: from.to_owned(), to: to.to_owned() }
}

pub(super) fn words(diff: &str) -> Detail {
    Detail::Words { diff: diff.to_owned(), before_chars: 24, after_chars: 31, kept_words: 4, total_words: 4 }
}

fn item(name: &str) -> Json {
    Json::from([("name", Json::from(name)), ("description", Json::from("A thing of the parcel server."))])
}

fn new(facet: Facet, names: &[&str]) -> Vec<Drift> {
    names.iter().map(|name| drift(facet, &["items", name], None, Some(item(name)), Vec::new())).collect()
}

fn gone(facet: Facet, names: &[&str]) -> Vec<Drift> {
    names.iter().map(|name| drift(facet, &["items", name], Some(item(name)), None, Vec::new())).collect()
}

/// A world with a target, a baseline and no drift.
pub(super) fn empty(kind: IncidentKind) -> World {
    let target = TargetSummary {
        id: "parcels".parse().unwrap(),
        kind: Kind::Mcp,
        url: "https://tools.example.com/mcp".to_owned(),
        labels: [("team".to_owned(), "logistics".to_owned())].into(),
    };
    let incident = Incident {
        id: "9XTB4".parse().unwrap(),
        owner: target.id.clone(),
        with: Vec::new(),
        kind,
        revision: 1,
        units: Vec::new(),
        acked: None,
        opened_at: at(300),
        ended: None,
    };
    let list = |names: Vec<String>| {
        let items: Json = Json::Object(names.iter().map(|name| (name.clone(), item(name))).collect());
        Json::from([("items", items), ("order", Json::Array(names.into_iter().map(Json::from).collect()))])
    };
    let old: Vec<String> =
        RENAMED.iter().map(|(old, _)| *old).chain(["echo", "sampleModel", "zip"]).map(str::to_owned).collect();
    let new: Vec<String> =
        RENAMED.iter().map(|(_, new)| (*new).to_owned()).chain((0..5).map(|n| format!("n{n}"))).collect();
    let mut memory = Memory { ledger: LedgerHead { no: 4814, hash: Digest::of_bytes(b"head") }, ..Memory::default() };
    memory.scans.last_ok = Some(at(-900));
    for (facet, value) in [(Facet::McpHandshake, handshake("1.0.0")), (Facet::McpTools, list(old))] {
        memory.baseline.insert(FacetName::stranger(facet), held(facet, value));
    }
    World {
        target,
        incident,
        rows: Vec::new(),
        memory,
        snapshot: Some(snapshot(list(new))),
        decision: None,
        policy: Policy::default(),
    }
}

fn handshake(version: &str) -> Json {
    Json::from([("serverInfo", Json::from([("name", Json::from("parcels")), ("version", Json::from(version))]))])
}

fn held(facet: Facet, value: Json) -> BaselineFacet {
    BaselineFacet {
        facet: FacetName::stranger(facet),
        digest: Some(Digest::of(&value)),
        values: vec![value],
        at: at(-1_320),
        by: "first_seen".to_owned(),
        reason: None,
        asked: Asked { date: Some("2025-11-25".to_owned()), ..Asked::default() },
        model: MODEL,
        entry: 4_800,
        reviewed: false,
    }
}

fn snapshot(tools: Json) -> Snapshot {
    let seen = |value: Json, fresh| {
        FacetState::Seen(SeenFacet {
            digest: Digest::of(&value),
            views: vec![value],
            volatile: Json::object(),
            stability: Stability { fresh, ..Stability::default() },
            ambiguities: Vec::new(),
        })
    };
    let prompts = ["simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"];
    let prompts = Json::from([("items", Json::Object(prompts.map(|name| (name.to_owned(), item(name))).into()))]);
    let reason = UnseenReason { kind: UnseenKind::Timeout, detail: "resources/list took longer than 20 s".to_owned() };
    let facets = [
        (Facet::McpHandshake, seen(handshake("2.0.0"), false)),
        (Facet::McpTools, seen(tools, true)),
        (Facet::McpPrompts, seen(prompts, false)),
        (Facet::McpResourceTemplates, FacetState::Unseen { reason }),
    ];
    Snapshot {
        model: MODEL,
        target: empty_summary(),
        at: at(300),
        duration_ms: 80,
        requests: 9,
        outcome: Outcome::Partial,
        digest: Digest::of_bytes(b"snapshot"),
        mcp: Detection {
            state: DetectionState::Confirmed,
            transport: Some(Transport::StreamableHttp),
            era: Some(Era::Session),
            version: Some("2025-11-25".to_owned()),
            supported: Vec::new(),
            endpoint: None,
            evidence: Vec::new(),
        },
        facets: facets.into_iter().map(|(facet, state)| (FacetName::stranger(facet), state)).collect(),
        coverage: std::collections::BTreeMap::new(),
        asked: Asked::default(),
        checks: Vec::new(),
    }
}

fn empty_summary() -> TargetSummary {
    TargetSummary {
        id: "parcels".parse().unwrap(),
        kind: Kind::Mcp,
        url: String::new(),
        labels: std::collections::BTreeMap::new(),
    }
}

/// The whole upgrade.
pub(super) fn upgrade() -> World {
    let mut world = empty(IncidentKind::Drift);
    let instructions = drift(
        Facet::McpHandshake,
        &["instructions"],
        Some(OLD_WORDS.into()),
        Some(NEW_WORDS.into()),
        vec![Detail::Words {
            diff: format!("[-{OLD_WORDS}-] {{+{NEW_WORDS}+}}"),
            before_chars: 73,
            after_chars: 201,
            kept_words: 5,
            total_words: 13,
        }],
    );
    let title = "instructions: rewritten; a model reads them at every start";
    world.unit(("mcp.instructions-changed", "-"), (High, &[Behavior, Security]), title, vec![instructions]);
    let (old, new_name) = (Json::from("parcel-demo/server"), Json::from("parcel-works/server"));
    let details = vec![moved("parcel-demo/server", "parcel-works/server")];
    let mut name = drift(Facet::McpHandshake, &["serverInfo", "name"], Some(old), Some(new_name), details);
    name.notes.push(Note { rule: "-".to_owned(), text: "Same URL, same address.".to_owned() });
    let title = "the server calls itself something else";
    world.unit(("mcp.server-name-changed", "-"), (High, &[Security]), title, vec![name]);
    world.unit(("tool.renamed", "-"), (High, &[Breaking]), "renamed: 8", renames());
    world.unit(("tool.removed", "-"), (High, &[Breaking]), "gone: 2", gone(Facet::McpTools, &["sampleModel", "zip"]));
    let resources: Vec<String> = (1..=100).map(|n| format!("parcel://depot/{n}")).collect();
    let mut names: Vec<&str> = resources.iter().map(String::as_str).collect();
    names.sort_unstable();
    let title = "gone: 100 resources";
    world.unit(("res.removed", "-"), (High, &[Breaking]), title, gone(Facet::McpResources, &names));
    let prompts = gone(Facet::McpPrompts, &["simple_prompt", "complex_prompt", "resource_prompt"]);
    world.unit(("prompt.removed", "-"), (High, &[Breaking]), "gone: 3 prompts", prompts);
    let template = gone(Facet::McpResourceTemplates, &["parcel://depot/{id}"]);
    world.unit(("res.template-removed", "-"), (High, &[Breaking]), "gone: parcel://depot/{id}", template);

    world.unit(("tool.added", "plain"), (Medium, &[Exposure, Security]), "new: 4", new_tools());
    quiet_units(&mut world);
    world
}

fn new_tools() -> Vec<Drift> {
    let tool = |(name, definition): (&str, &str)| {
        let definition = Json::parse_trusted(definition.as_bytes()).unwrap();
        drift(Facet::McpTools, &["items", name], None, Some(definition), Vec::new())
    };
    [
        (
            "compress-as-resource",
            r#"{"inputSchema":{"properties":{"url":{"type":"string"},"level":{"type":"integer"}}}}"#,
        ),
        ("simulate-delivery", r#"{"execution":{"taskSupport":"required"},"inputSchema":{"properties":{"parcel":{}}}}"#),
        ("toggle-logging", r#"{"inputSchema":{"type":"object"}}"#),
        ("toggle-updates", r#"{"inputSchema":{"type":"object"}}"#),
    ]
    .map(tool)
    .into()
}

/// What else changed in a renamed tool: its title in each, its input in one.
fn inside(old: &str, new: &str) -> Vec<Inside> {
    let change = |rule: &str, severity, details| Inside {
        path: Pointer::of(["items", new, "member"]),
        rule: RuleCase::new(rule, "-"),
        severity,
        message: format!("a member of {new} differs"),
        details,
    };
    let mut inside = vec![change("tool.title-changed", Low, vec![moved("(none)", "A \u{1b}title")])];
    if old == "tinyMap" {
        let lines = vec![text("additionalProperties: false -> (none)")];
        inside.insert(0, change("tool.input.schema-undecidable", Medium, lines));
    }
    inside
}

fn renames() -> Vec<Drift> {
    let extra = |new: &str| match new {
        "get-structured-quote" => vec![text("location: any text -> \"Oslo\", \"Lima\" or \"Pune\"")],
        "get-depot-reference" => {
            vec![text("depot: no longer required, no longer limited to 1..100"), text("+ format: \"text\" or \"blob\"")]
        }
        _ => Vec::new(),
    };
    let rename = |(old, new): &(&str, &str)| {
        let mut details = vec![moved(old, new)];
        details.extend(extra(new));
        let mut drift = drift(Facet::McpTools, &["items", new], Some(item(old)), Some(item(new)), details);
        drift.claims.push(Claim { path: Pointer::of(["items", old]), after: None });
        drift.inside = inside(old, new);
        drift
    };
    RENAMED.iter().map(rename).collect()
}

fn quiet_units(world: &mut World) {
    let added: Vec<String> = (1..=7).map(|n| format!("parcel://form/{n}")).collect();
    let added: Vec<&str> = added.iter().map(String::as_str).collect();
    world.unit(("res.added", "-"), (Low, &[Exposure]), "new: 7 resources", new(Facet::McpResources, &added));
    let prompts = new(Facet::McpPrompts, &["simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"]);
    world.unit(("prompt.added", "-"), (Low, &[Exposure]), "new: 4 prompts", prompts);
    let words = words("Gives back the input {+string+}");
    let reworded = drift(
        Facet::McpTools,
        &["items", "echo", "description"],
        Some("Gives back the input".into()),
        Some("Gives back the input string".into()),
        vec![words],
    );
    let title = "echo: reworded";
    world.unit(("tool.description-changed", "wording"), (Low, &[Behavior, Security]), title, vec![reworded]);
    let flag = drift(
        Facet::McpHandshake,
        &["capabilities", "tasks"],
        None,
        Some(Json::object()),
        vec![text("+ tasks (list)")],
    );
    world.unit(("mcp.capability-added", "-"), (Low, &[Exposure]), "capability tasks is new", vec![flag]);
    let titles = drift(Facet::McpTools, &["items", "echo", "title"], None, Some("Echo".into()), Vec::new());
    world.unit(("tool.title-changed", "-"), (Low, &[Cosmetic]), "echo: has a title now", vec![titles]);
}

/// A target that stopped answering.
pub(super) fn lost() -> World {
    let mut world = empty(IncidentKind::Sight);
    let rule = Json::from("scan.unreachable");
    let details = vec![text("connection refused, tools.example.com:443")];
    let mut sight = drift(Facet::Scan, &["endpoint"], None, Some(rule), details);
    sight.message = "no HTTP answer".to_owned();
    let title = "the endpoint does not answer";
    world.unit(("scan.unreachable", "-"), (High, &[Operational]), title, vec![sight]);
    world
}
