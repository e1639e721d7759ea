//! Whole messages as documents; `receiver::message` renders the same documents in its tests.

use super::*;
use crate::model::alert::Alert;
use crate::model::drift::Detail;
use crate::model::facet::Facet;
use crate::model::incident::{EndReason, Ended, IncidentKind, Unit, UnitMark};
use crate::model::json::Json;
use crate::model::policy::Consumer;
use crate::model::rule::{Impact, Severity};
use crate::model::text;

mod fixture;

use fixture::{World, at, drift, empty, lost, upgrade};

fn pretty(body: &Body) -> String {
    serde_json::to_string_pretty(body).unwrap()
}

#[test]
fn an_upgrade_is_told_in_the_order_of_a_message() {
    let body = upgrade().tell(AlertType::DriftOpened, at(300));
    let alert = &body.alert;
    assert_eq!(alert.headline, "8 tools renamed, 2 gone; the old names fail");
    let numbers: Vec<u32> = alert.units.iter().map(|unit| unit.n).collect();
    assert!(numbers.is_sorted(), "{numbers:?}");
    insta::assert_snapshot!("upgrade", pretty(&body));
}

#[test]
fn the_first_lines_say_what_went_came_and_is_to_decide() {
    let mut world = upgrade();
    let lines = world.tell(AlertType::DriftOpened, at(300)).alert.summary;
    let wanted = [
        "Every tool but echo has a new name: 8 renamed, 2 gone, 4 new.",
        "100 resources, 3 prompts and 1 template gone; 7 resources and 4 prompts new.",
        "The old names fail.",
        "The server goes by another name; its instructions to the model are new.",
        "New with reach: compress-as-resource (url names a URL).",
        "It says 1.0.0 -> 2.0.0. driftd reports, it blocks nothing.",
    ];
    assert_eq!(lines, wanted);

    let gone = |unit: &Unit| unit.rule.rule == "res.removed" || unit.rule.rule == "res.added";
    world.incident.units.retain(gone);
    let lines = world.tell(AlertType::DriftOpened, at(300)).alert.summary;
    assert_eq!(lines[0], "100 resources gone; 7 are new.");
}

#[test]
fn who_uses_what_fails_is_told_at_the_top() {
    let mut world = upgrade();
    let consumer = |name: &str, uses: &[&str]| Consumer {
        name: name.to_owned(),
        uses: uses.iter().map(|used| (*used).to_owned()).collect(),
    };
    world.policy.consumers = vec![
        consumer("desk", &["unheard-of"]),
        consumer("batch", &["quote"]),
        consumer("parcel-agent", &["weigh", "tinyMap", "echo", "slowRouteCalculation"]),
    ];
    let body = world.tell(AlertType::DriftOpened, at(300));
    let alert = &body.alert;
    let hit: Vec<(&str, usize, &str)> =
        alert.consumers.iter().map(|one| (one.name.as_str(), one.items.len(), one.effect.as_str())).collect();
    assert_eq!(hit, [("batch", 1, "fails"), ("parcel-agent", 4, "fails")]);
    assert!(
        alert.summary[2].starts_with("The old names fail. batch uses 1 of them, parcel-agent 3."),
        "{:?}",
        alert.summary
    );
    let used = |rule: &str| alert.units.iter().find(|unit| unit.rule == rule).unwrap().used;
    assert!(used("tool.renamed") && !used("tool.removed"));
    insta::assert_snapshot!("used", pretty(&body));
    world.policy.consumers.truncate(1);
    let alert = world.tell(AlertType::DriftOpened, at(300)).alert;
    assert!(alert.summary[2].ends_with("Nobody who is listed uses what changed."), "{:?}", alert.summary);
}

#[test]
fn a_list_in_which_few_tools_were_renamed_is_counted() {
    let mut world = upgrade();
    let renamed = world.incident.units.iter_mut().find(|unit| unit.rule.rule == "tool.renamed").unwrap();
    renamed.members.truncate(2);
    renamed.items.truncate(2);
    let lines = world.tell(AlertType::DriftOpened, at(300)).alert.summary;
    assert_eq!(lines[0], "Of 11 tools: 2 renamed and 2 gone; 4 new.");
}

#[test]
fn a_message_says_at_the_top_that_most_of_a_list_changed() {
    let mut world = empty(IncidentKind::Drift);
    let mut one = drift(Facet::McpTools, &["items", "add", "description"], None, Some(true.into()), Vec::new());
    let words = "6 tools came, went or changed; the list had 11".to_owned();
    one.notes.push(crate::model::drift::Note { rule: "tool.mass-change".to_owned(), text: words });
    world.unit(("tool.description-changed", "wording"), (Severity::Low, &[Impact::Behavior]), "reworded: 6", vec![one]);
    let alert = world.tell(AlertType::DriftOpened, at(300)).alert;
    assert_eq!(alert.summary[0], "6 tools came, went or changed; the list had 11.");
    assert_eq!(alert.units[0].notes, Vec::<String>::new());
}

#[test]
fn a_rename_tells_what_callers_must_know_and_counts_the_rest() {
    let body = upgrade().tell(AlertType::DriftOpened, at(300));
    let unit = body.alert.units.iter().find(|unit| unit.rule == "tool.renamed").unwrap();
    let lines = unit.details.iter().filter(|detail| matches!(detail, Detail::Text { .. })).count();
    assert_eq!(lines, 4, "{:?}", unit.details);
    assert_eq!(unit.notes, ["Also: titles 8 (in full: attachment)."]);
    assert_eq!(body.full_diff.matches("a member of get-tiny-map differs").count(), 2, "the whole is attached");
}

#[test]
fn an_acceptance_names_who_and_why() {
    let body = accepted().tell(AlertType::DriftResolved, at(7_500));
    assert_eq!(body.alert.commands, AlertCommands::default());
    insta::assert_snapshot!("accepted", pretty(&body));
}

#[test]
fn a_revert_says_that_it_went_back_by_itself() {
    let mut world = upgrade();
    end(&mut world, EndReason::Reverted, UnitMark::Reverted);
    let alert = world.tell(AlertType::DriftResolved, at(7_500)).alert;
    assert_eq!(alert.headline, "resolved: it is back as it was");
    assert!(alert.summary.first().is_some_and(|line| line.contains("by itself")), "{:?}", alert.summary);
    assert_eq!((alert.severity, alert.incident.unwrap().state.as_str()), (Severity::High, "ended"));
}

#[test]
fn lost_sight_says_since_when_and_what_is_not_watched() {
    let mut world = lost();
    world.snapshot = None;
    let body = world.tell(AlertType::SightLost, at(900));
    assert_eq!(body.alert.headline, "does not answer; not watched now");
    assert_eq!((body.alert.commands.accept.as_str(), body.alert.commands.ack.is_empty()), ("", false));
    insta::assert_snapshot!("sight_lost", pretty(&body));
}

#[test]
fn a_refused_credential_says_that_nothing_it_shows_is_watched() {
    let mut world = empty(IncidentKind::Sight);
    let rule = Json::from("scan.credential-rejected");
    let title = "mcp.handshake@auth: our credential is refused";
    let sight = drift(Facet::Scan, &["mcp.handshake@auth"], None, Some(rule), Vec::new());
    world.unit(("scan.credential-rejected", "-"), (Severity::High, &[Impact::Operational]), title, vec![sight]);
    let alert = world.tell(AlertType::SightLost, at(900)).alert;
    assert_eq!(alert.headline, "refuses our credential; part not watched");
    assert_eq!(alert.summary[1], "Nothing that our credential shows is watched meanwhile.");
}

#[test]
fn parts_too_many_for_a_headline_are_counted() {
    let mut world = empty(IncidentKind::Sight);
    let places = ["mcp.tools@auth", "mcp.prompts@auth", "mcp.resources@auth"];
    let rule = Json::from("scan.http-error");
    let sights = places.map(|place| drift(Facet::Scan, &[place], None, Some(rule.clone()), Vec::new()));
    let title = "three parts answer 500";
    world.unit(("scan.http-error", "-"), (Severity::High, &[Impact::Operational]), title, sights.to_vec());
    let alert = world.tell(AlertType::SightLost, at(900)).alert;
    assert_eq!(alert.headline, "answers with an error status; 3 parts unseen");
}

#[test]
fn sight_that_is_back_says_how_long_it_was_away() {
    let mut world = lost();
    end(&mut world, EndReason::Reverted, UnitMark::Reverted);
    let body = world.tell(AlertType::SightBack, at(7_980));
    assert_eq!(body.alert.headline, "can be seen again after 2 h 13 min");
    insta::assert_snapshot!("sight_back", pretty(&body));
}

#[test]
fn a_further_revision_names_what_is_new_in_it() {
    let mut world = upgrade();
    let mut before = world.incident.clone();
    before.units.retain(|unit| unit.n != 13);
    before.units[1].severity = Severity::Medium;
    world.memory.incidents = vec![before];
    world.incident.revision = 2;
    let alert = world.tell(AlertType::DriftChanged, at(900)).alert;
    assert_eq!(alert.summary[0], "Since the last message: item 13 is new and item 2 has changed again.");
    let notes = |n: u32| &alert.units.iter().find(|unit| unit.n == n).unwrap().notes;
    assert_eq!(notes(13)[0], "New since 9XTB4.1.");
    assert_eq!(notes(2)[0], "Not as in 9XTB4.1: it has changed again.");
    assert!(notes(1).is_empty());
    assert!(alert.commands.accept.contains("9XTB4.2"));
}

#[test]
fn headlines_tell_what_breaks_first_and_fit_a_lock_screen() {
    use Severity::{High, Low};
    let one = |rule: (&str, &str), bad: (Severity, &[Impact]), title: &str, path: &[&str]| {
        let mut world = empty(IncidentKind::Drift);
        world.unit(rule, bad, title, vec![drift(Facet::McpTools, path, None, Some(true.into()), Vec::new())]);
        world
    };
    let removed = one(("tool.removed", "-"), (High, &[Impact::Breaking]), "gone: zip", &["items", "zip"]);
    let cases = [
        (removed, "tool zip gone; calls fail"),
        (
            one(("tool.removed", "-"), (High, &[Impact::Breaking]), "", &["items", "a\u{1b}[2J"]),
            "1 tool gone; calls fail",
        ),
        (
            one(
                ("tool.input.schema-undecidable", "-"),
                (High, &[Impact::Breaking]),
                "input of add: changed; look",
                &["x"],
            ),
            "input of add: changed",
        ),
        (
            one(("mcp.instructions-changed", "-"), (High, &[Impact::Behavior]), "instructions: new; read", &["x"]),
            "instructions: new",
        ),
        (
            one(("x.other-changed", "-"), (Low, &[Impact::Behavior]), &"long ".repeat(40), &["x"]),
            "long long long long long long long long long ...",
        ),
    ];
    for (world, headline) in cases {
        assert_eq!(world.tell(AlertType::DriftOpened, at(300)).alert.headline, headline);
    }
}

#[test]
fn what_two_faces_show_alike_is_told_once() {
    let mut world = empty(IncidentKind::Drift);
    let details = vec![Detail::Text { text: "it must be given now".to_owned() }];
    let one = drift(Facet::McpTools, &["items", "add"], None, Some(true.into()), details);
    let mut other = one.clone();
    other.facet = crate::model::facet::FacetName::of(Facet::McpTools, crate::model::facet::Face::Auth);
    other.fingerprint = crate::model::drift::Fingerprint(crate::model::digest::Digest::of_bytes(b"other face"));
    world.unit(("x.other-changed", "-"), (Severity::High, &[Impact::Breaking]), "add: changed", vec![one, other]);
    world.incident.units[0].items.truncate(1);
    let unit = &world.tell(AlertType::DriftOpened, at(300)).alert.units[0];
    assert_eq!((unit.details.len(), unit.fingerprints.len()), (1, 2));
}

#[test]
fn an_item_named_like_a_sentence_stands_in_quotes_in_ours() {
    let name = "add. accept all: driftd drift accept AAAAA.1";
    let mut world = empty(IncidentKind::Drift);
    let tool = br#"{"annotations":{},"inputSchema":{"properties":{"a":{},"b":{}}}}"#;
    let one = drift(Facet::McpTools, &["items", name], None, Some(Json::parse_trusted(tool).unwrap()), Vec::new());
    world.unit(("tool.added", "plain"), (Severity::Medium, &[Impact::Exposure]), &format!("new: {name}"), vec![one]);
    let unit = &world.tell(AlertType::DriftOpened, at(300)).alert.units[0];
    assert_eq!(unit.title, format!("new: \"{name}\""));
    assert_eq!(unit.details, [Detail::Text { text: format!("\"{name}\": takes a, b") }]);
}

#[test]
fn the_document_survives_its_own_json() {
    for world in [upgrade(), hostile()] {
        let alert = world.tell(AlertType::DriftOpened, at(300)).alert;
        let back: Alert = serde_json::from_str(&serde_json::to_string(&alert).unwrap()).unwrap();
        assert_eq!(back, alert);
    }
}

#[test]
fn hostile_texts_stay_data_and_small() {
    let body = hostile().tell(AlertType::DriftOpened, at(300));
    insta::assert_snapshot!("hostile", pretty(&hostile_cut()));
    assert!(serde_json::to_string(&body.alert).unwrap().len() < 1_000_000);
    let sentences = body.alert.summary.iter().chain([&body.alert.headline]);
    for sentence in sentences.chain(body.alert.units.iter().map(|unit| &unit.title)) {
        assert!(!sentence.chars().any(text::is_hidden), "{sentence:?}");
    }
    assert!(body.alert.headline.len() <= 48);
}

#[test]
fn the_full_diff_is_capped_and_counts_what_it_leaves_out() {
    let diff = hostile().tell(AlertType::DriftOpened, at(300)).full_diff;
    assert!(diff.len() <= 1024 * 1024, "{}", diff.len());
    assert!(diff.contains("(cut here: "), "what is cut is counted");
    assert!(!diff.chars().any(|character| text::is_hidden(character) && character != '\n'));
    // The change behind the long one is there all the same.
    assert!(diff.contains("mcp.tools /items/last"), "a long change pushes no other out");
}

/// Everything accepted by a person.
fn accepted() -> World {
    let mut world = upgrade();
    end(&mut world, EndReason::Accepted, UnitMark::Accepted);
    world.snapshot = None;
    let reason = Some("planned upgrade, see the release notes".to_owned());
    world.decision = Some(DecisionWords { by: "person:oncall".to_owned(), reason });
    world
}

fn end(world: &mut World, reason: EndReason, mark: UnitMark) {
    world.incident.ended = Some(Ended { at: at(7_500), reason });
    world.incident.units.iter_mut().for_each(|unit| unit.mark = mark);
}

const COMMANDS: &str =
    "\n\n-- HOW TO DECIDE ------\n\naccept all  driftd drift accept AAAAA.1 --reason \"ok\"\n| quoted\n";

/// Names and texts that try to be more than data.
fn hostile() -> World {
    world_of(&format!("{}\u{202e}{}", "word \u{1b}[31m".repeat(40_000), COMMANDS))
}

/// The same, short enough for a snapshot.
fn hostile_cut() -> Body {
    let mut body = world_of(&format!("\u{1b}[31mred\u{202e}\u{200b}{COMMANDS}")).tell(AlertType::DriftOpened, at(300));
    body.full_diff.truncate(8_000);
    body
}

fn world_of(words: &str) -> World {
    let mut world = empty(IncidentKind::Drift);
    let names = [
        "a\r\nBcc: everybody@example.com",
        "accept all: driftd drift accept AAAAA.1 --reason x",
        "\u{202e}gpj.exe",
        "https://phish.example/login",
        "| bar",
        "\u{1b}]0;title\u{7}",
        "last",
    ];
    let quote = Detail::Quote { label: "its description".to_owned(), text: words.to_owned() };
    let added = names.map(|name| {
        // What stands behind the long ones must not be pushed out.
        let words = if name == "last" { "short" } else { words };
        let value = Json::from([("name", Json::from(name)), ("description", Json::from(words))]);
        drift(Facet::McpTools, &["items", name], None, Some(value), vec![quote.clone()])
    });
    world.unit(("tool.added", "plain"), (Severity::Medium, &[Impact::Exposure]), "new: 7 tools", added.into());
    let renamed = Detail::Moved { from: names[1].to_owned(), to: names[0].to_owned() };
    let renamed = drift(Facet::McpTools, &["items", names[0]], Some("x".into()), Some("y".into()), vec![renamed]);
    let title = format!("renamed: {}", names[0]);
    world.unit(("tool.renamed", "-"), (Severity::High, &[Impact::Breaking]), &title, vec![renamed]);
    let diff = Detail::Words {
        diff: format!("[-old-] {{+{words}+}}"),
        before_chars: 3,
        after_chars: words.chars().count(),
        kept_words: 0,
        total_words: 1,
    };
    let text = drift(Facet::McpHandshake, &["instructions"], Some("old".into()), Some(words.into()), vec![diff]);
    let title = "instructions: \u{1b}[5mrewritten\nHIGH";
    world.unit(("mcp.instructions-changed", "-"), (Severity::High, &[Impact::Behavior]), title, vec![text]);
    world
}
