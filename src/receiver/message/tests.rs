//! The documents that `judge::alert` composes in its tests, as people and machines get them.

use proptest::prelude::*;

use super::*;
use crate::model::alert::{Alert, AlertType, AlertUnit};
use crate::model::bulletin::{Bulletin, Passage};
use crate::model::drift::{Detail, Fingerprint};
use crate::model::rule::{Impact, Severity};
use crate::model::target::TargetId;

/// A document as `judge::alert` composed it.
macro_rules! composed {
    ($name:literal) => {
        body(include_str!(concat!("../../judge/alert/snapshots/driftd__judge__alert__tests__", $name, ".snap")))
    };
}

fn body(snapshot: &str) -> Body {
    let document = snapshot.splitn(3, "---\n").nth(2).unwrap();
    serde_json::from_str(document).unwrap()
}

fn bulletin() -> Body {
    let target = |id: &str| crate::model::target::TargetSummary {
        id: id.parse().unwrap(),
        kind: crate::model::target::Kind::Mcp,
        url: format!("https://{id}.example.com/mcp"),
        labels: std::collections::BTreeMap::new(),
    };
    let passage = |heading: &str, lines: &[&str]| Passage {
        heading: heading.to_owned(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
    };
    let bulletin = Bulletin {
        kind: AlertType::FleetReport,
        key: "report".to_owned(),
        severity: Severity::Info,
        impact: vec![Impact::Operational],
        headline: "2 targets are watched now, 1 only in part".to_owned(),
        summary: vec!["driftd has looked at every target for the first time. Nothing of this is drift.".to_owned()],
        sections: vec![
            passage("In full", &["tickets: 12 tools, 2 prompts"]),
            passage("In part", &["planner: its lists are behind a 401, and it has no credential in the inventory"]),
        ],
        targets: vec![target("tickets"), target("planner")],
    };
    bulletin.message("mail", jiff::Timestamp::UNIX_EPOCH).body
}

#[test]
fn a_bulletin_reads_like_a_report_by_mail_and_on_the_console() {
    insta::assert_snapshot!("bulletin", mail(&bulletin()));
    insta::assert_snapshot!("bulletin_console", console(&bulletin(), Colour::Never));
}

#[test]
fn a_bulletin_is_a_document_without_an_incident_and_has_no_changes_to_attach() {
    let body = bulletin();
    let json: serde_json::Value = serde_json::from_str(&webhook(&body).unwrap()).unwrap();
    assert_eq!((&json["type"], &json["data"]["incident"]), (&"fleet.report".into(), &serde_json::Value::Null));
    assert_eq!(json["data"]["passages"][0]["heading"], "In full");
    assert_eq!(json["data"]["targets"].as_array().map(Vec::len), Some(2));
    let names: Vec<String> = attachments(&body).unwrap().into_iter().map(|file| file.name).collect();
    assert_eq!(names, ["fleet.report.json"]);
    let incident: serde_json::Value = serde_json::from_str(&webhook(&composed!("upgrade")).unwrap()).unwrap();
    assert_eq!(incident["data"].get("passages"), None, "only bulletins have them");
}

#[test]
fn a_terminal_is_not_told_of_mail() {
    for body in [composed!("upgrade"), composed!("sight_back"), composed!("hostile")] {
        let page = terminal_text(&body);
        for word in ["this mail", "Attached:", "more: attachment", "more here: attachment"] {
            assert!(!page.contains(word), "{word} in:\n{page}");
        }
        assert!(page.contains("HOW DRIFTD KNOWS"), "{page}");
    }
}

#[test]
fn what_is_over_has_no_severity_on_the_console() {
    let page = console(&composed!("sight_back"), Colour::Never);
    assert!(page.contains("  1. back     the endpoint does not answer"), "{page}");
    assert!(!page.contains("  1. high"), "{page}");
}

/// A message as a mail program shows it.
fn mail(body: &Body) -> String {
    format!("Subject: {}\nX-Driftd: {}\n\n{}", subject(body), tag(body), mail_text(body))
}

#[test]
fn an_upgrade_reads_like_a_letter() {
    insta::assert_snapshot!(mail(&composed!("upgrade")));
}

#[test]
fn a_letter_says_whom_it_hurts() {
    insta::assert_snapshot!(mail(&composed!("used")));
    assert!(console(&composed!("used"), Colour::Never).contains("batch uses 1 of them"));
}

#[test]
fn an_acceptance_reads_like_an_answer() {
    insta::assert_snapshot!(mail(&composed!("accepted")));
}

#[test]
fn lost_sight_reads_like_a_warning() {
    insta::assert_snapshot!(mail(&composed!("sight_lost")));
}

#[test]
fn sight_that_is_back_reads_like_an_all_clear() {
    insta::assert_snapshot!(mail(&composed!("sight_back")));
}

#[test]
fn hostile_texts_read_like_data() {
    insta::assert_snapshot!(mail(&composed!("hostile")));
}

#[test]
fn the_console_is_shorter() {
    insta::assert_snapshot!(console(&composed!("upgrade"), Colour::Never));
}

#[test]
fn only_our_own_colours_reach_the_console() {
    let body = composed!("hostile");
    let plain = console(&body, Colour::Never);
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let mut coloured = console(&body, Colour::Ansi);
    assert_ne!(plain, coloured);
    for code in ["1;31", "31", "33", "36", "2", "0"] {
        coloured = coloured.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(plain, coloured);
}

#[test]
fn every_line_fits_the_page_but_commands_and_addresses() {
    for body in all() {
        for line in mail_text(&body).lines() {
            let ours = line.contains(" driftd drift ") && !line.contains('|') || line.starts_with("Target ");
            assert!(ours || text::width(line) <= 72, "{line:?}");
        }
    }
}

#[test]
fn no_word_of_a_server_begins_a_line() {
    let text = mail_text(&composed!("hostile"));
    let commands: Vec<&str> = text.lines().filter(|line| line.contains("AAAAA.1")).collect();
    assert!(!commands.is_empty());
    for line in commands {
        let line = line.trim_start();
        assert!(line.starts_with("| ") || line.starts_with('"') || line.starts_with("-> \""), "{line:?}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("-- HOW TO DECIDE")).count(), 1);
    assert!(!text.lines().any(|line| line.starts_with("Bcc")));
}

#[test]
fn nothing_hidden_is_in_any_rendering() {
    let hidden = |text: &str| text.chars().find(|character| text::is_hidden(*character) && *character != '\n');
    for body in all() {
        let texts = [mail(&body), console(&body, Colour::Never), webhook(&body).unwrap()];
        let files = attachments(&body).unwrap().into_iter().map(|file| file.content);
        for text in texts.into_iter().chain(files) {
            assert_eq!(hidden(&text), None, "{text}");
        }
    }
}

#[test]
fn a_webhook_that_fits_carries_the_whole_document() {
    let body = composed!("sight_lost");
    let json: serde_json::Value = serde_json::from_str(&webhook(&body).unwrap()).unwrap();
    assert_eq!(json["type"], "sight.lost");
    assert_eq!(json["timestamp"], serde_json::to_value(body.alert.at).unwrap());
    let data: Alert = serde_json::from_value(json["data"].clone()).unwrap();
    assert_eq!(data, body.alert);
}

#[test]
fn a_webhook_of_an_upgrade_keeps_every_unit_and_counts_what_it_cuts() {
    let body = composed!("upgrade");
    let json = webhook(&body).unwrap();
    assert!(json.len() <= 20_000);
    let payload: serde_json::Value = serde_json::from_str(&json).unwrap();
    let data: Alert = serde_json::from_value(payload["data"].clone()).unwrap();
    assert_eq!((data.units.len(), data.more), (body.alert.units.len(), 0));
    let resources = data.units.iter().find(|unit| unit.rule == "res.removed").unwrap();
    assert_eq!(resources.fingerprints.len() + usize::try_from(resources.more_fingerprints).unwrap(), 100);
    assert_eq!(data.commands, body.alert.commands);
}

#[test]
fn attachments_are_named_for_the_revision_and_hold_everything() {
    let body = composed!("upgrade");
    let files = attachments(&body).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["9XTB4.1.diff.txt", "9XTB4.1.json"]);
    assert_eq!(files[0].content, body.full_diff);
    assert_eq!(serde_json::from_str::<Alert>(&files[1].content).unwrap(), body.alert);
}

#[test]
fn an_answer_says_so_within_the_same_bounds() {
    let mut body = composed!("accepted");
    assert_eq!(subject(&body), "Re: HIGH parcels: resolved: accepted by oncall");
    body.alert.targets[0].id = "t".repeat(64).parse().unwrap();
    body.alert.headline = "8 tools renamed, 2 gone; the old names fail".to_owned();
    assert_eq!(subject(&body), "Re: HIGH ttttttttttttttttttttttttt...: 8 tools renamed, 2 gone");
}

fn all() -> [Body; 5] {
    [
        composed!("upgrade"),
        composed!("accepted"),
        composed!("sight_lost"),
        composed!("sight_back"),
        composed!("hostile"),
    ]
}

/// Hidden, and no variation selector: one behind a symbol may stay.
fn is_live(character: char) -> bool {
    text::is_hidden(character) && !matches!(character, '\u{FE0E}' | '\u{FE0F}')
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ -~]{0,200}",
        (any::<char>(), 0_usize..1_500).prop_map(|(character, n)| character.to_string().repeat(n)),
        Just("\r\nBcc: x@example.com\r\n\u{1b}[31m".to_owned()),
    ]
}

fn any_unit() -> impl Strategy<Value = AlertUnit> {
    let texts = || proptest::collection::vec(any_text(), 0..12);
    let parts = (any_text(), texts(), texts(), 0_usize..300, 0_usize..5, 0_usize..7);
    parts.prop_map(|(title, items, details, fingerprints, severity, impact)| {
        let fingerprint = Fingerprint(crate::model::digest::Digest::ZERO);
        AlertUnit {
            n: 1,
            rule: "tool.renamed".to_owned(),
            case: "-".to_owned(),
            severity: Severity::ALL[severity],
            impact: vec![Impact::ALL[impact]],
            title: title.clone(),
            diff: details.join("\n"),
            details: details
                .into_iter()
                .enumerate()
                .map(|(index, text)| match index % 4 {
                    0 => Detail::Text { text },
                    1 => Detail::Moved { from: text, to: title.clone() },
                    2 => Detail::Words { diff: text, before_chars: 1, after_chars: 2, kept_words: 0, total_words: 1 },
                    _ => Detail::Quote { label: title.clone(), text },
                })
                .collect(),
            notes: items.clone(),
            items,
            more_items: 0,
            used: true,
            why: title.clone(),
            ask: title,
            mark: crate::model::incident::UnitMark::Open,
            fingerprints: vec![fingerprint; fingerprints],
            more_fingerprints: 0,
        }
    })
}

fn any_body() -> impl Strategy<Value = Body> {
    let units = proptest::collection::vec(any_unit(), 0..20);
    let labels = proptest::collection::btree_map(any_text(), any_text(), 0..40);
    (any_text(), units, any::<bool>(), "[a-z0-9][a-z0-9._-]{0,63}", labels).prop_map(
        |(text, units, reply, id, labels)| {
            let mut body = composed!("upgrade");
            let id: TargetId = id.parse().unwrap();
            let alert = &mut body.alert;
            alert.targets[0].id = id;
            alert.targets[0].labels = labels;
            alert.headline.clone_from(&text);
            alert.summary = vec![text.clone(); 5];
            alert.evidence.read = vec![text.clone(); 5];
            alert.after.version = Some(text);
            alert.units = units;
            body.reply = reply;
            body
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn subjects_are_short_printable_ascii(body in any_body()) {
        let subject = subject(&body);
        prop_assert!(subject.len() <= 72, "{subject}");
        prop_assert!(subject.chars().all(|c| matches!(c, ' '..='~')), "{:?}", subject);
        prop_assert!(tag(&body).chars().all(|c| matches!(c, ' '..='~')));
    }

    #[test]
    fn webhooks_fit_and_count_every_item_and_unit(body in any_body()) {
        let json = webhook(&body).unwrap();
        prop_assert!(json.len() <= 20_000, "{}", json.len());
        let shown = serde_json::to_string(&document(&body.alert).unwrap()).unwrap();
        prop_assert!(shown.len() <= 20_000, "{}", shown.len());
        let payload: serde_json::Value = serde_json::from_str(&json).unwrap();
        let data: Alert = serde_json::from_value(payload["data"].clone()).unwrap();
        let whole = &body.alert;
        prop_assert_eq!(data.units.len() + usize::try_from(data.more).unwrap(), whole.units.len());
        for (cut, unit) in data.units.iter().zip(&whole.units) {
            prop_assert_eq!(cut.items.len() + usize::try_from(cut.more_items).unwrap(), unit.items.len());
            let fingerprints = cut.fingerprints.len() + usize::try_from(cut.more_fingerprints).unwrap();
            prop_assert_eq!(fingerprints, unit.fingerprints.len());
        }
    }

    #[test]
    fn bulletins_fit_and_count_what_is_cut(
        heading in any_text(),
        lines in proptest::collection::vec(any_text(), 0..16),
        passages in 0_usize..12,
    ) {
        let mut body = bulletin();
        body.alert.passages = vec![Passage { heading, lines }; passages];
        let json = webhook(&body).unwrap();
        prop_assert!(json.len() <= 20_000, "{}", json.len());
        let payload: serde_json::Value = serde_json::from_str(&json).unwrap();
        let data: Alert = serde_json::from_value(payload["data"].clone()).unwrap();
        if data.passages.len() < passages {
            let counted = format!("{} passages", passages - data.passages.len());
            prop_assert!(data.summary.iter().any(|line| line.contains(&counted)), "{:?}", data.summary);
        }
        for line in mail_text(&body).lines().chain(console(&body, Colour::Never).lines()) {
            prop_assert!(!line.chars().any(is_live), "{line:?}");
        }
    }

    #[test]
    fn mails_of_any_document_keep_to_the_page(body in any_body()) {
        for line in mail_text(&body).lines() {
            let ours = line.contains(" driftd drift ") || line.starts_with("Target ");
            prop_assert!(ours || text::width(line) <= 72, "{line:?}");
            prop_assert!(!line.chars().any(is_live), "{line:?}");
        }
        let shown = console(&body, Colour::Never);
        prop_assert!(!shown.lines().any(|line| line.chars().any(is_live)), "{shown:?}");
    }
}
