use super::*;
use crate::judge::sample::{at, summary};
use crate::model::incident::EndReason;
use crate::model::rule::Impact;

fn event(kind: AlertType, revision: u32, severity: Severity) -> Event {
    Event {
        kind,
        incident: "4F7K2".parse().unwrap(),
        revision,
        target: summary().id,
        severity,
        impact: vec![Impact::Breaking],
        reason: is_end(kind).then_some(EndReason::Reverted),
        at: at(0),
    }
}

fn told(receiver: &str, kind: AlertType, revision: u32) -> Told {
    Told { receiver: receiver.to_owned(), incident: "4F7K2".parse().unwrap(), revision, event: kind, at: at(0) }
}

fn route(severity: Severity, to: &[&str], goes_on: bool) -> Route {
    Route {
        matches: RouteMatch { severity: Some((Comparison::AtLeast, severity)), ..RouteMatch::default() },
        to: to.iter().map(|name| (*name).to_owned()).collect(),
        goes_on,
        group_wait: Duration::from_secs(60),
        group_interval: Duration::from_secs(900),
        repeat: None,
    }
}

/// Receivers and due times of one event's notices.
fn owed(event: &Event, routes: &[Route], told: &[Told], now: i64) -> Vec<(String, i64)> {
    let receivers = ["hook".to_owned(), "mail".to_owned()];
    let summary = summary();
    let audience = Audience { target: &summary, routes, receivers: &receivers, told };
    let notices = notice_step(std::slice::from_ref(event), &audience, at(now));
    let due = |notice: Notice| (notice.receiver.clone(), notice.due_at.duration_since(at(0)).as_secs());
    notices.into_iter().map(due).collect()
}

fn to(receivers: &[(&str, i64)]) -> Vec<(String, i64)> {
    receivers.iter().map(|(name, due)| ((*name).to_owned(), *due)).collect()
}

#[test]
fn without_routes_medium_and_above_and_sight_go_to_all_at_once() {
    let all = to(&[("hook", 7), ("mail", 7)]);
    let cases = [
        (AlertType::DriftOpened, Severity::Critical, true),
        (AlertType::DriftOpened, Severity::Medium, true),
        (AlertType::DriftOpened, Severity::Low, false),
        (AlertType::DriftChanged, Severity::Info, false),
        (AlertType::SightLost, Severity::Low, true),
    ];
    for (kind, severity, goes) in cases {
        let expected = if goes { all.clone() } else { vec![] };
        assert_eq!(owed(&event(kind, 1, severity), &[], &[], 7), expected, "{kind:?} {severity}");
    }
}

#[test]
fn the_first_route_that_matches_takes_it_unless_it_goes_on() {
    let high = event(AlertType::DriftOpened, 1, Severity::High);
    let first = [route(Severity::High, &["mail"], false), route(Severity::Info, &["hook"], false)];
    assert_eq!(owed(&high, &first, &[], 0), to(&[("mail", 60)]));
    let on = [route(Severity::High, &["mail"], true), route(Severity::Info, &["hook", "mail"], false)];
    assert_eq!(owed(&high, &on, &[], 0), to(&[("hook", 60), ("mail", 60)]));
}

#[test]
fn what_no_route_matches_goes_to_all_at_once() {
    let low = event(AlertType::DriftOpened, 1, Severity::Low);
    assert_eq!(owed(&low, &[route(Severity::High, &["mail"], false)], &[], 0), to(&[("hook", 0), ("mail", 0)]));
}

#[test]
fn a_route_asks_for_severity_labels_impact_and_target() {
    let summary = summary();
    let high = event(AlertType::DriftOpened, 1, Severity::High);
    let labels = |team: &str| std::collections::BTreeMap::from([("team".to_owned(), team.to_owned())]);
    let any = RouteMatch::default;
    let cases = [
        (any(), true),
        (RouteMatch { severity: Some((Comparison::Equal, Severity::High)), ..any() }, true),
        (RouteMatch { severity: Some((Comparison::AtMost, Severity::Medium)), ..any() }, false),
        (RouteMatch { severity: Some((Comparison::AtLeast, Severity::Critical)), ..any() }, false),
        (RouteMatch { labels: labels("payments"), ..any() }, true),
        (RouteMatch { labels: labels("search"), ..any() }, false),
        (RouteMatch { impact: vec![Impact::Security, Impact::Breaking], ..any() }, true),
        (RouteMatch { impact: vec![Impact::Security], ..any() }, false),
        (RouteMatch { targets: vec![summary.id.clone()], ..any() }, true),
        (RouteMatch { targets: vec!["other".parse().unwrap()], ..any() }, false),
    ];
    for (asks, expected) in cases {
        assert_eq!(matches(&asks, &high, &summary), expected, "{asks:?}");
    }
}

#[test]
fn a_known_group_waits_for_its_interval() {
    let changed = event(AlertType::DriftChanged, 2, Severity::High);
    let routes = [route(Severity::Info, &["mail"], false)];
    let before = [told("mail", AlertType::DriftOpened, 1)];
    assert_eq!(owed(&changed, &routes, &before, 100), to(&[("mail", 900)]));
    assert_eq!(owed(&changed, &routes, &before, 5000), to(&[("mail", 5000)]));
}

#[test]
fn an_end_is_owed_to_whoever_was_told_whatever_the_routes_say_now() {
    let end = event(AlertType::DriftResolved, 2, Severity::Low);
    let routes = [route(Severity::Info, &["mail"], false)];
    let before = [told("gone", AlertType::DriftOpened, 1)];
    assert_eq!(owed(&end, &routes, &before, 5), to(&[("gone", 5), ("mail", 65)]));
    assert_eq!(owed(&end, &[], &before, 5), to(&[("gone", 5)]));
}

#[test]
fn a_notice_is_the_same_for_the_same_receiver_incident_revision_and_event() {
    let id = |receiver: &str, revision, kind| notice_id(receiver, &event(kind, revision, Severity::High));
    let one = id("mail", 1, AlertType::DriftOpened);
    assert_eq!(one, id("mail", 1, AlertType::DriftOpened));
    let others = [
        id("hook", 1, AlertType::DriftOpened),
        id("mail", 2, AlertType::DriftOpened),
        id("mail", 1, AlertType::DriftResolved),
    ];
    assert!(others.iter().all(|other| *other != one));
    assert_eq!(one.len(), 34);
}

fn notice(kind: AlertType, revision: u32, due: i64) -> Notice {
    let event = event(kind, revision, Severity::High);
    Notice {
        id: notice_id("mail", &event),
        receiver: "mail".to_owned(),
        incident: event.incident,
        revision,
        event: kind,
        due_at: at(due),
        at: at(0),
    }
}

/// Type and revision of the one message that `waiting` comes to at second 100; whether it answers an earlier one.
fn folded(waiting: &[Notice], told: &[Told]) -> Option<(AlertType, u32, bool)> {
    let body = |_, revision| Some(sample_body(revision));
    let folded = fold_notices(waiting, &body, told, at(100));
    let ids = folded.dropped.len() + folded.messages.iter().map(|(_, ids)| ids.len()).sum::<usize>();
    assert_eq!(ids, waiting.len(), "each notice is paid or dropped");
    let (message, _) = folded.messages.first()?;
    assert_eq!(message.body.alert.id, message.id);
    Some((message.body.alert.kind, message.body.alert.incident.as_ref().unwrap().revision, message.body.reply))
}

fn sample_body(revision: u32) -> Body {
    use crate::model::alert::{
        ALERT_SCHEMA, Alert, AlertAfter, AlertBefore, AlertCommands, AlertEvidence, AlertIncident, AlertLedger,
    };
    let incident =
        AlertIncident { id: "4F7K2".parse().unwrap(), revision, state: "open".to_owned(), reason: None, url: None };
    let alert = Alert {
        schema: ALERT_SCHEMA.to_owned(),
        id: String::new(),
        kind: AlertType::DriftOpened,
        at: at(0),
        incident: Some(incident),
        severity: Severity::High,
        impact: vec![],
        headline: String::new(),
        summary: vec![],
        passages: vec![],
        targets: vec![],
        consumers: vec![],
        units: vec![],
        more: 0,
        before: AlertBefore { digest: None, accepted: None },
        after: AlertAfter { digest: None, version: None },
        unseen: vec![],
        commands: AlertCommands::default(),
        ledger: AlertLedger::default(),
        evidence: AlertEvidence::default(),
    };
    Body { alert, full_diff: String::new(), reply: false }
}

use AlertType::{DriftChanged, DriftOpened, DriftResolved, SightBack, SightLost};

#[test]
fn notices_of_one_group_become_the_newest_and_by_what_was_told() {
    let opened = || notice(DriftOpened, 1, 0);
    let cases = [
        // (waiting, told before, message)
        (vec![opened()], None, Some((DriftOpened, 1, false))),
        (vec![opened(), notice(DriftChanged, 2, 50)], None, Some((DriftOpened, 2, false))),
        (vec![opened(), notice(DriftResolved, 1, 500)], None, None),
        (vec![notice(DriftChanged, 3, 0)], Some((DriftOpened, 1)), Some((DriftChanged, 3, true))),
        // Whom a change reaches first, to them it is opened.
        (vec![notice(DriftChanged, 3, 0)], None, Some((DriftOpened, 3, false))),
        (
            vec![notice(DriftChanged, 2, 0), notice(DriftResolved, 2, 0)],
            Some((DriftOpened, 1)),
            Some((DriftResolved, 2, true)),
        ),
        (vec![notice(DriftResolved, 1, 0)], Some((DriftOpened, 1)), Some((DriftResolved, 1, true))),
        (vec![notice(DriftResolved, 1, 0)], None, None),
        (vec![notice(DriftResolved, 1, 0)], Some((DriftResolved, 1)), None),
        (vec![opened()], Some((DriftOpened, 1)), None),
        (vec![notice(SightLost, 1, 0)], None, Some((SightLost, 1, false))),
        (vec![notice(SightLost, 2, 0)], Some((SightLost, 1)), Some((SightLost, 2, true))),
        (vec![notice(SightBack, 1, 0)], Some((SightLost, 1)), Some((SightBack, 1, true))),
        (vec![notice(SightLost, 1, 0), notice(SightBack, 1, 0)], None, None),
    ];
    for (waiting, before, expected) in cases {
        let told: Vec<Told> = before.into_iter().map(|(kind, revision)| told("mail", kind, revision)).collect();
        assert_eq!(folded(&waiting, &told), expected, "{waiting:?} {told:?}");
    }
}

#[test]
fn a_group_without_a_due_notice_is_left_alone() {
    let waiting = [notice(DriftOpened, 1, 101)];
    assert_eq!(fold_notices(&waiting, &|_, revision| Some(sample_body(revision)), &[], at(100)), Folded::default());
    assert_eq!(fold_notices(&waiting, &|_, _| None, &[], at(101)), Folded::default());
}

#[test]
fn a_message_has_the_id_of_its_notices_in_whatever_order() {
    let (one, two) = (notice(DriftOpened, 1, 0), notice(DriftChanged, 2, 0));
    let body = |_, revision| Some(sample_body(revision));
    let there = fold_notices(&[one.clone(), two.clone()], &body, &[], at(100));
    let back = fold_notices(&[two, one.clone()], &body, &[], at(900));
    assert_eq!(there.messages[0].0.id, back.messages[0].0.id);
    assert!(there.messages[0].0.id.starts_with("m-") && there.messages[0].0.id.len() == 34);
    assert_ne!(fold_notices(&[one], &body, &[], at(100)).messages[0].0.id, there.messages[0].0.id);
}

#[test]
fn receivers_and_incidents_do_not_share_messages() {
    let other = Notice { receiver: "hook".to_owned(), id: "n-other".to_owned(), ..notice(DriftOpened, 1, 0) };
    let body = |_, revision| Some(sample_body(revision));
    let folded = fold_notices(&[notice(DriftOpened, 1, 0), other], &body, &[], at(100));
    assert_eq!(
        folded.messages.iter().map(|(message, _)| message.receiver.as_str()).collect::<Vec<_>>(),
        ["hook", "mail"]
    );
}
