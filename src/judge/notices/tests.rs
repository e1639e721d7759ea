use std::collections::BTreeSet;

use super::route::matches;
use super::*;
use crate::judge::sample::{at, summary};
use crate::model::incident::{Ack, EndReason, Ended, Incident, IncidentId, IncidentKind, Unit, UnitMark};
use crate::model::notice::{Body, Comparison, Fold, Lane, Message, RouteMatch};
use crate::model::rule::{Impact, RuleCase, Severity};

mod later;

fn event(kind: AlertType, revision: u32, severity: Severity) -> Event {
    Event {
        kind,
        incident: "4F7K2".parse().unwrap(),
        revision,
        target: summary().id,
        severity,
        impact: vec![Impact::Breaking],
        urgent: severity >= Severity::Medium,
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
fn without_routes_what_is_urgent_goes_to_all_at_once_and_the_rest_with_mondays_digest() {
    let receivers = ["hook".to_owned(), "mail".to_owned()];
    let summary = summary();
    let audience = Audience { target: &summary, routes: &[], receivers: &receivers, told: &[] };
    for urgent in [true, false] {
        let event = Event { urgent, ..event(AlertType::DriftOpened, 1, Severity::High) };
        let notices = notice_step(&[event], &audience, at(7));
        let (lane, due) = if urgent { (Lane::Message, at(7)) } else { (Lane::Digest, next_digest(at(7))) };
        assert!(notices.iter().all(|notice| (notice.lane, notice.due_at) == (lane, due)), "{notices:?}");
        assert_eq!(notices.len(), 2);
    }
}

fn unit(severity: Severity, impact: &[Impact], mark: UnitMark) -> Unit {
    Unit {
        n: 1,
        fold_key: String::new(),
        rule: RuleCase { rule: "sample.changed".to_owned(), case: "-".to_owned() },
        severity,
        impact: impact.to_vec(),
        title: "changed".to_owned(),
        items: Vec::new(),
        members: Vec::new(),
        mark,
    }
}

#[test]
fn what_gives_power_or_breaks_callers_is_urgent() {
    let cases = [
        (Severity::Critical, Impact::Behavior, true),
        (Severity::High, Impact::Security, true),
        (Severity::High, Impact::Exposure, true),
        (Severity::High, Impact::Behavior, false),
        (Severity::Medium, Impact::Security, false),
        (Severity::Medium, Impact::Breaking, true),
        // What breaks items that nobody uses is low by policy.
        (Severity::Low, Impact::Breaking, false),
        (Severity::Info, Impact::Cosmetic, false),
    ];
    for (severity, impact, urgent) in cases {
        let second = unit(severity, &[Impact::Cosmetic, impact], UnitMark::Open);
        assert_eq!(is_urgent(&unit(severity, &[impact], UnitMark::Open)), urgent, "{severity} {impact}");
        assert_eq!(is_urgent(&second), urgent, "{severity}: also when it is not the main one");
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
    let monday = next_digest(at(5)).duration_since(at(0)).as_secs();
    assert_eq!(
        owed(&end, &[], &before, 5),
        to(&[("gone", 5), ("hook", monday), ("mail", monday)]),
        "to whom it is news is decided when it is folded"
    );
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
        lane: Lane::Message,
        due_at: at(due),
        at: at(0),
    }
}

/// Type and revision of the one message that `waiting` comes to at second 100; whether it answers an earlier one.
fn folded(waiting: &[Notice], told: &[Told]) -> Option<(AlertType, u32, bool)> {
    let folded = fold_at(waiting, told, at(100));
    let ids = folded.dropped.len() + folded.payments.iter().map(|payment| payment.notices.len()).sum::<usize>();
    assert_eq!(ids, waiting.len(), "each notice is paid or dropped");
    let message = &folded.payments.first()?.message;
    assert_eq!(message.body.alert.id, message.id);
    Some((message.body.alert.kind, message.body.alert.incident.as_ref().unwrap().revision, message.body.reply))
}

/// Folds with an incident that stands, is undecided, and of which everything is delivered.
fn fold_at(waiting: &[Notice], told: &[Told], now: Timestamp) -> Fold {
    Office { told: told.to_vec(), ..Office::default() }.fold(waiting, now)
}

/// What folding looks up, to be varied.
struct Office {
    told: Vec<Told>,
    incident: Option<Incident>,
    routes: Vec<Route>,
    undelivered: bool,
    no_revision: bool,
}

impl Default for Office {
    fn default() -> Self {
        Self {
            told: Vec::new(),
            incident: Some(standing(Severity::High)),
            routes: Vec::new(),
            undelivered: false,
            no_revision: false,
        }
    }
}

/// An incident that opened at second 0.
fn standing(severity: Severity) -> Incident {
    Incident {
        id: "4F7K2".parse().unwrap(),
        owner: summary().id,
        with: Vec::new(),
        kind: IncidentKind::Drift,
        revision: 1,
        units: vec![unit(severity, &[Impact::Breaking], UnitMark::Open)],
        acked: None,
        opened_at: at(0),
        ended: None,
    }
}

impl Office {
    fn fold(&self, waiting: &[Notice], now: Timestamp) -> Fold {
        let severity = self.incident.as_ref().map_or(Severity::High, |incident| incident.units[0].severity);
        let body = |_, revision| {
            let mut body = sample_body(revision);
            body.alert.severity = severity;
            body.alert.targets = vec![summary()];
            body.alert.headline = "2 tools gone; calls fail".to_owned();
            Some(body).filter(|_| !self.no_revision)
        };
        let pair = |receiver: &str| (receiver.to_owned(), "4F7K2".parse::<IncidentId>().unwrap());
        let undelivered: BTreeSet<_> = [pair("mail")].into_iter().filter(|_| self.undelivered).collect();
        let desk = Desk {
            revisions: &body,
            incidents: &|_| self.incident.clone(),
            told: &self.told,
            undelivered: &undelivered,
            routes: &self.routes,
            receivers: &["hook".to_owned(), "mail".to_owned()],
        };
        fold_notices(waiting, &desk, now)
    }

    /// When the reminder that is due at `now` is looked at again; `None` when it is sent or dropped.
    fn put_off(&self, now: Timestamp) -> Option<Timestamp> {
        self.fold(&[reminder(now)], now).put_off.first().map(|later| later.due_at)
    }

    /// The message that the reminder that is due at `now` comes to.
    fn reminded(&self, now: Timestamp) -> Option<Message> {
        self.fold(&[reminder(now)], now).payments.into_iter().next().map(|payment| payment.message)
    }
}

fn reminder(due: Timestamp) -> Notice {
    Notice { due_at: due, ..notice(AlertType::DriftReminder, 1, 0) }
}

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

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
fn a_group_without_a_due_notice_or_a_revision_is_left_alone() {
    let waiting = [notice(DriftOpened, 1, 101)];
    assert_eq!(fold_at(&waiting, &[], at(100)), Fold::default());
    let office = Office { no_revision: true, ..Office::default() };
    assert_eq!(office.fold(&waiting, at(101)), Fold::default());
}

#[test]
fn a_message_has_the_id_of_its_notices_in_whatever_order() {
    let (one, two) = (notice(DriftOpened, 1, 0), notice(DriftChanged, 2, 0));
    let id = |waiting: &[Notice], now| fold_at(waiting, &[], at(now)).payments[0].message.id.clone();
    let there = id(&[one.clone(), two.clone()], 100);
    assert_eq!(there, id(&[two, one.clone()], 900));
    assert!(there.starts_with("m-") && there.len() == 34);
    assert_ne!(id(&[one], 100), there);
}

#[test]
fn receivers_and_incidents_do_not_share_messages() {
    let other = Notice { receiver: "hook".to_owned(), id: "n-other".to_owned(), ..notice(DriftOpened, 1, 0) };
    let folded = fold_at(&[notice(DriftOpened, 1, 0), other], &[], at(100));
    let receivers: Vec<&str> = folded.payments.iter().map(|payment| payment.message.receiver.as_str()).collect();
    assert_eq!(receivers, ["hook", "mail"]);
}
