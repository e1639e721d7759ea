//! The main job on real servers: an upgrade is noticed, told once, decided and resolved.

use std::time::Duration;

use driftd::operations::document::Incident;

use crate::support::daemon::{Daemon, Home, sum};
use crate::support::front::Front;
use crate::support::mail::Mail;
use crate::support::peers::{EVERYTHING_2025_11_25, EVERYTHING_2025_12_18, EVERYTHING_2026_1_26, PinnedPeer};
use crate::support::smtp::{PASSWORD, Smtp, USER};
use crate::support::until;
use crate::support::webhook::Hook;

/// A home whose one target is `url`, with a mail and a webhook receiver.
pub(crate) fn home(url: &str, smtp: &Smtp, hook: &Hook) -> Home {
    let home = Home::new();
    let password = home.write("smtp-password", PASSWORD);
    let secret = home.write("hook-secret", &hook.secret());
    home.write(
        "driftd.yaml",
        &format!(
            "metrics_listen: 127.0.0.1:0\n\
             inventory: [ inventory.yaml ]\n\
             receivers:\n\
             \x20 - name: owners\n\
             \x20   email:\n\
             \x20     from: driftd@driftd.example.com\n\
             \x20     to: [ owners@example.com ]\n\
             \x20     smtp: {{ host: localhost, port: {}, tls: starttls, ca: {:?}, username: {USER}, password: {{ file: {password:?} }} }}\n\
             \x20 - name: hook\n\
             \x20   webhook: {{ url: {:?}, format: standard, secret: {{ file: {secret:?} }} }}\n",
            smtp.port(),
            smtp.ca(),
            hook.url(),
        ),
    );
    home.write(
        "inventory.yaml",
        &format!(
            "targets:\n  - {{ id: everything, kind: mcp, url: {url:?}, every: 24h, labels: {{ team: platform }} }}\n"
        ),
    );
    home
}

fn titles(incident: &Incident) -> Vec<String> {
    incident.units.iter().map(|unit| format!("{} [{}]", unit.title, unit.rule)).collect()
}

/// The lines of the message between two of its heads.
fn section<'t>(text: &'t str, head: &str) -> &'t str {
    let (_, rest) = text.split_once(head).unwrap_or_else(|| panic!("no {head} in:\n{text}"));
    rest.split("\n-- ").next().unwrap_or(rest)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_upgrade_is_told_once_decided_and_resolved() {
    let older = PinnedPeer::start(EVERYTHING_2025_12_18).await;
    let front = Front::of(older.port()).await;
    let smtp = Smtp::start().await;
    let hook = Hook::start().await;
    let home = home(&front.url(), &smtp, &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("everything").await;
    assert!(daemon.drifts().await.is_empty());

    let newer = PinnedPeer::start(EVERYTHING_2026_1_26).await;
    front.swap(newer.port());
    let first = daemon.scan("everything").await;
    assert!(first.pending > 0 && first.open == 0, "{first:?}");
    assert!(daemon.incidents().await.is_empty(), "one sighting opens nothing");
    daemon.advance(Duration::from_secs(30));
    let second = daemon.scan("everything").await;
    assert!(second.open > 0, "{second:?}");
    daemon.advance(Duration::from_mins(5));
    let third = daemon.scan("everything").await;
    assert_eq!(third.pending, 0, "all is confirmed after five minutes: {third:?}");

    let incidents = daemon.incidents().await;
    let [incident] = incidents.as_slice() else { panic!("one incident, not {incidents:#?}") };
    assert!(incident.reference.ends_with(".1"), "confirming the rest is no new revision: {}", incident.reference);
    let titles = titles(incident).join("\n");
    for wanted in ["renamed: 6", "tool.removed", "prompt.removed", "res.removed", "res.template-removed"] {
        assert!(titles.contains(wanted), "{wanted} is missing in:\n{titles}");
    }

    until("the first round is told", || (!hook.reports().is_empty()).then_some(())).await;
    daemon.delivered().await;
    let deliveries = hook.deliveries();
    let [opened] = deliveries.as_slice() else { panic!("one webhook, not {deliveries:#?}") };
    assert!(opened.signed, "the signature verifies");
    assert_eq!(opened.kind(), "drift.opened");
    assert_eq!(opened.body["data"]["schema"], "driftd.alert/1");
    let mails = smtp.mails();
    let [mail] = mails.as_slice() else { panic!("one mail, not {}", mails.len()) };
    says_what_happened(mail, &incident.reference);

    let exposition = daemon.metrics().await;
    assert!(sum(&exposition, "driftd_drift_open{severity=\"high\",target=\"everything\"}") >= 5.0, "{exposition}");
    assert_eq!(sum(&exposition, "driftd_target_up"), 1.0);
    let sent = sum(&exposition, "driftd_notifications_total{outcome=\"sent\",receiver=\"hook\"}");
    assert_eq!(sent, 2.0, "the report of the first round, and this");

    let accept = home.driftd(&["drift", "accept", &incident.reference, "--reason", "we knew of the release"]).await;
    assert!(accept.status.success(), "{}", String::from_utf8_lossy(&accept.stderr));
    daemon.delivered().await;
    let deliveries = hook.wait_for(2).await;
    assert_eq!(deliveries.len(), 2);
    assert_eq!(deliveries[1].kind(), "drift.resolved");
    assert_eq!(deliveries[1].body["data"]["incident"]["reason"], "accepted");
    let mails = smtp.wait_for(2).await;
    assert_eq!(mails.len(), 2);
    let subject = mails[1].header("Subject").unwrap();
    assert!(subject.starts_with("Re: "), "{subject}");
    assert_eq!(mails[1].header("References"), mails[0].header("References"), "one thread");
    assert!(mails[1].text().contains("we knew of the release"), "{}", mails[1].text());

    for _ in 0..5 {
        daemon.advance(Duration::from_mins(5));
        let scanned = daemon.scan("everything").await;
        assert_eq!((scanned.pending, scanned.open), (0, 0));
    }
    assert_eq!(daemon.delivered().await.len(), 4, "two receivers, two messages each, and no more");
    daemon.stop().await;
}

/// The number that a line of a mail begins with.
fn number(line: &str) -> Option<usize> {
    let (number, rest) = line.split_once(". ")?;
    number.trim_start().parse().ok().filter(|_| !rest.is_empty() && line.find('.') == Some(number.len()))
}

/// All of `wanted` are lines of `text`, in this order.
fn has_lines(text: &str, wanted: &[&str]) {
    let mut lines = text.lines();
    for line in wanted {
        assert!(lines.any(|told| told == *line), "{line:?} is not told, or not in its place, in:\n{text}");
    }
}

/// 8 renames, 2 tools gone, 4 new; 100 resources, 3 prompts and 1 template gone, 7, 4 and 2 new; instructions and name
/// changed; each told once, what matters most first.
fn says_what_happened(mail: &Mail, reference: &str) {
    let subject = mail.header("Subject").unwrap();
    assert_eq!(subject, "HIGH everything: 8 tools renamed, 2 gone; the old names fail");
    assert_eq!(mail.header("Auto-Submitted").unwrap(), "auto-generated");
    let id = reference.split('.').next().unwrap();
    assert_eq!(mail.header("References").unwrap(), format!("<{id}@driftd.example.com>"));
    let text = mail.text();
    let first: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    let wanted = [
        "Every tool but echo has a new name: 8 renamed, 2 gone, 4 new.",
        "100 resources, 3 prompts and 1 template gone; 7, 4 and 2 are new.",
        "The old names fail.",
        "The server goes by another name; its instructions to the model are new.",
        "New with reach: gzip-file-as-resource (data names a URL).",
        "It says 1.0.0 -> 2.0.0. driftd reports, it blocks nothing.",
    ];
    assert_eq!(first, wanted, "{text}");
    let numbers: Vec<usize> = text.lines().filter_map(number).collect();
    assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<_>>(), "numbers rise through the mail:\n{text}");
    let too_wide = text.lines().find(|line| line.chars().count() > 72 && !line.contains(" driftd drift "));
    assert_eq!(too_wide, None);

    has_lines(
        section(&text, "DECIDE"),
        &[
            "1. instructions: rewritten",
            "  The new text begins:",
            "2. the server calls itself something else",
            "  example-servers/everything   -> mcp-servers/everything",
        ],
    );
    let breaks = section(&text, "CAN BREAK");
    has_lines(
        breaks,
        &[
            "3. renamed: 6",
            "  add                   -> get-sum",
            "  annotatedMessage      -> get-annotated-message",
            "  getResourceLinks      -> get-resource-links",
            "  longRunningOperation  -> trigger-long-running-operation",
            "  getTinyImage          -> get-tiny-image",
            "  printEnv              -> get-env",
            "  Also: reworded 6, task support 6, titles 6 (in full: attachment).",
            "4. renamed and changed: 2",
            "  getResourceReference  -> get-resource-reference",
            "      required: [\"resourceId\"] -> (none)",
            "  structuredContent     -> get-structured-content",
            "      location/enum: (none) -> [\"New York\",\"Chicago\",\"Los Angeles\"]",
            "5. gone: 2",
            "  sampleLLM, zip",
            "6. gone: 3 prompts; 4 are new",
            "  complex_prompt, resource_prompt, simple_prompt",
            "7. gone: 100 resources; 7 are new",
            "8. gone: template test://static/resource/{id}; 2 are new",
        ],
    );
    assert_eq!(breaks.matches(" -> get-sum").count(), 1, "told once:\n{breaks}");
    assert!(!breaks.contains("Sum Tool"), "no titles inside renames:\n{breaks}");
    has_lines(
        section(&text, "GOOD TO KNOW"),
        &[
            " 9. new   gzip-file-as-resource    data names a URL",
            "          simulate-research-query  runs only as a task",
            "          toggle-simulated-logging, toggle-subscriber-updates",
            "          None of the 4 carries hints: a client must take each for",
            "11. cap   + tasks",
            "12. text  echo  | Echoes back the input {+string+}",
            "14. title echo  (none) -> \"Echo Tool\"",
            "18. another version: 1.0.0 -> 2.0.0",
        ],
    );
    assert!(section(&text, "HOW TO DECIDE").contains(&format!("driftd drift accept {reference} --reason")), "{text}");
    let diff = mail.attachment(".diff.txt").unwrap();
    assert!(
        diff.contains("the title of get-sum is new") && diff.contains("[-Adds-]"),
        "the whole is attached:\n{diff}"
    );
    let document: serde_json::Value = serde_json::from_str(&mail.attachment(".json").unwrap()).unwrap();
    assert_eq!(document["incident"]["id"], id);
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_of_equal_content_bring_nothing() {
    let older = PinnedPeer::start(EVERYTHING_2025_11_25).await;
    let front = Front::of(older.port()).await;
    let smtp = Smtp::start().await;
    let hook = Hook::start().await;
    let home = home(&front.url(), &smtp, &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("everything").await;
    let newer = PinnedPeer::start(EVERYTHING_2025_12_18).await;
    front.swap(newer.port());
    for _ in 0..3 {
        daemon.advance(Duration::from_mins(5));
        let scanned = daemon.scan("everything").await;
        assert_eq!((scanned.outcome.as_str(), scanned.pending, scanned.open), ("ok", 0, 0), "{scanned:?}");
    }
    assert!(daemon.drifts().await.is_empty());
    assert!(daemon.messages().await.is_empty());
    daemon.stop().await;
}
