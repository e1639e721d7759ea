//! What comes later by itself: reminders, and the digest.

use super::*;

#[test]
fn each_message_about_drift_owes_the_next_reminder_and_an_end_takes_it_along() {
    let fold = fold_at(&[notice(DriftOpened, 1, 0)], &[], at(0));
    let [owed] = fold.owed.as_slice() else { panic!("one reminder: {fold:?}") };
    assert_eq!((owed.event, owed.due_at), (AlertType::DriftReminder, at(DAY)));
    let before = [told("mail", DriftOpened, 1)];
    let fold = fold_at(&[owed.clone(), notice(DriftResolved, 1, HOUR)], &before, at(HOUR));
    assert_eq!((fold.payments[0].notices.len(), fold.owed.len()), (2, 0));
    let sight = fold_at(&[notice(SightLost, 1, 0)], &[], at(0));
    assert_eq!(sight.owed, [], "sight waits for no decision");
}

#[test]
fn who_was_told_is_reminded_once_a_day_of_what_is_high_however_far_the_clock_jumped() {
    let office = Office { told: vec![told("mail", DriftOpened, 1)], ..Office::default() };
    assert_eq!(office.put_off(at(DAY - 1)), Some(at(DAY)));
    for now in [DAY, 40 * DAY] {
        let fold = office.fold(&[reminder(at(DAY))], at(now));
        let message = &fold.payments[0].message;
        assert_eq!((message.body.alert.kind, message.body.reply), (AlertType::DriftReminder, true));
        assert_eq!(fold.payments[0].told[0].event, AlertType::DriftReminder);
        assert_eq!(fold.owed[0].due_at, at(now + DAY), "one, not one for each day that was missed");
    }
    let message = office.reminded(at(3 * DAY)).unwrap();
    let alert = &message.body.alert;
    assert_eq!(alert.headline, "undecided: 2 tools gone; calls fail");
    assert_eq!(alert.summary[0], "Nobody has decided on this for 3 d.");
}

#[test]
fn nobody_is_reminded_of_what_ended_was_never_told_or_is_not_high() {
    let before = vec![told("mail", DriftOpened, 1)];
    let week = Some(at(2 * DAY + 7 * DAY));
    let ended = Ended { at: at(1), reason: EndReason::Accepted };
    let over = Some(Incident { ended: Some(ended), ..standing(Severity::High) });
    let cases = [
        (Office { told: before.clone(), incident: over, ..Office::default() }, None),
        (Office { told: before.clone(), incident: None, ..Office::default() }, None),
        (Office::default(), None),
        (Office { told: vec![told("mail", DriftResolved, 1)], ..Office::default() }, None),
        // A person may yet reject it, or a route ask for more.
        (Office { told: before, incident: Some(standing(Severity::Medium)), ..Office::default() }, week),
    ];
    for (office, put_off) in cases {
        let fold = office.fold(&[reminder(at(2 * DAY))], at(2 * DAY));
        assert_eq!((fold.payments.len(), fold.dropped.len()), (0, usize::from(put_off.is_none())));
        assert_eq!(fold.put_off.first().map(|later| later.due_at), put_off);
    }
}

#[test]
fn who_is_on_it_is_left_alone_until_then() {
    let ack = |until| Ack { by: "person:a".to_owned(), at: at(0), until };
    let acked = |until| Office {
        told: vec![told("mail", DriftOpened, 1)],
        incident: Some(Incident { acked: Some(ack(until)), ..standing(Severity::High) }),
        ..Office::default()
    };
    assert_eq!(acked(Some(at(5 * DAY))).put_off(at(DAY)), Some(at(5 * DAY)));
    assert!(acked(Some(at(5 * DAY))).reminded(at(5 * DAY)).is_some());
    assert_eq!(acked(None).put_off(at(DAY)), Some(at(8 * DAY)), "looked at again, never sent");
}

#[test]
fn what_was_rejected_is_recalled_once_a_week_whatever_its_severity() {
    let rejected = Incident {
        units: vec![unit(Severity::Medium, &[Impact::Breaking], UnitMark::Rejected)],
        ..standing(Severity::Medium)
    };
    let office = Office { told: vec![told("mail", DriftOpened, 1)], incident: Some(rejected), ..Office::default() };
    assert_eq!(office.put_off(at(DAY)), Some(at(7 * DAY)));
    let alert = office.reminded(at(7 * DAY)).unwrap().body.alert;
    assert_eq!(alert.incident.unwrap().state, "rejected");
    assert_eq!(alert.summary[0], "Rejected, and still there 7 d after it was seen first.");
}

#[test]
fn a_route_says_how_often_and_also_never() {
    let office = |repeat: Option<u64>| Office {
        told: vec![told("mail", DriftOpened, 1)],
        routes: vec![Route { repeat: repeat.map(Duration::from_secs), ..route(Severity::Info, &["mail"], false) }],
        ..Office::default()
    };
    assert!(office(Some(3600)).reminded(at(HOUR)).is_some());
    assert_eq!(office(None).put_off(at(HOUR)), Some(at(DAY)));
    assert_eq!(office(Some(0)).put_off(at(DAY)), Some(at(8 * DAY)), "looked at again, never sent");
    let elsewhere = Office {
        told: vec![told("mail", DriftOpened, 1)],
        routes: vec![route(Severity::Info, &["hook"], false)],
        ..Office::default()
    };
    assert_eq!(elsewhere.put_off(at(DAY)), Some(at(8 * DAY)), "it is not mail's any more");
}

#[test]
fn who_has_not_got_the_last_message_is_not_reminded_on_top_of_it() {
    let before = vec![told("mail", DriftOpened, 1)];
    let office = Office { told: before, undelivered: true, ..Office::default() };
    assert_eq!(office.put_off(at(DAY)), Some(at(2 * DAY)));
}

#[test]
fn a_reminder_waits_for_the_news_that_wait() {
    let before = [told("mail", DriftOpened, 1)];
    let news = notice(DriftChanged, 2, 900);
    let fold = fold_at(&[reminder(at(DAY)), Notice { due_at: at(DAY + 900), ..news.clone() }], &before, at(DAY));
    assert_eq!((fold.put_off[0].due_at, fold.payments.len()), (at(DAY + 900), 0));
    let fold = fold_at(&[reminder(at(2 * DAY)), news], &before, at(DAY));
    assert_eq!(fold.payments[0].notices.len(), 2, "the news remind as well");
    assert_eq!(fold.owed[0].due_at, at(2 * DAY));
}

/// A notice of incident `id` that waits for the digest due at second 100.
fn waiting(id: &str, kind: AlertType) -> Notice {
    let event = Event { incident: id.parse().unwrap(), ..event(kind, 1, Severity::Low) };
    let lane = Lane::Digest;
    Notice { id: notice_id("mail", &event), incident: event.incident, lane, ..notice(kind, 1, 100) }
}

#[test]
fn the_digest_is_one_message_and_tells_of_an_end_only_whom_it_told_of_the_beginning() {
    let office = Office {
        told: vec![Told { incident: "55555".parse().unwrap(), ..told("mail", DriftOpened, 1) }],
        incident: Some(standing(Severity::Low)),
        ..Office::default()
    };
    let notices = [
        waiting("11111", DriftOpened),
        waiting("22222", DriftOpened),
        waiting("33333", DriftOpened),
        waiting("33333", DriftResolved),
        waiting("55555", DriftResolved),
    ];
    assert_eq!(office.fold(&notices, at(99)), Fold::default());
    let fold = office.fold(&notices, at(3 * DAY));
    let [payment] = fold.payments.as_slice() else { panic!("one message: {fold:#?}") };
    assert_eq!((payment.notices.len(), fold.dropped.len()), (5, 0));
    assert_eq!((payment.message.incident, payment.message.body.alert.kind), (None, AlertType::Digest));
    let told: Vec<(String, AlertType)> =
        payment.told.iter().map(|told| (told.incident.to_string(), told.event)).collect();
    let opened = |id: &str| (id.to_owned(), DriftOpened);
    assert_eq!(told, [opened("11111"), opened("22222"), ("55555".to_owned(), DriftResolved)]);
    let alert = &payment.message.body.alert;
    let mut shown = vec![alert.headline.clone()];
    shown.extend(alert.passages.iter().map(|passage| format!("{}\n  {}", passage.heading, passage.lines.join("\n  "))));
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn what_came_and_went_makes_no_digest_by_itself() {
    let fold = fold_at(&[waiting("33333", DriftOpened), waiting("33333", DriftResolved)], &[], at(100));
    assert_eq!((fold.payments.len(), fold.dropped.len()), (0, 2));
}

#[test]
fn what_becomes_urgent_does_not_wait_for_the_digest_and_is_not_in_it() {
    let changed = notice(DriftChanged, 2, 50);
    let fold = fold_at(&[waiting("4F7K2", DriftOpened), changed], &[], at(50));
    let [payment] = fold.payments.as_slice() else { panic!("one message: {fold:#?}") };
    assert_eq!((payment.message.body.alert.kind, payment.notices.len()), (DriftOpened, 2));
}

#[test]
fn a_reminder_of_what_can_wait_is_a_line_of_the_digest() {
    let rejected = Incident {
        units: vec![unit(Severity::Low, &[Impact::Cosmetic], UnitMark::Rejected)],
        ..standing(Severity::Low)
    };
    let office = Office { told: vec![told("mail", DriftOpened, 1)], incident: Some(rejected), ..Office::default() };
    let fold = office.fold(&[reminder(at(7 * DAY))], at(7 * DAY));
    let monday = next_digest(at(7 * DAY));
    assert_eq!((fold.put_off[0].lane, fold.put_off[0].due_at), (Lane::Digest, monday));
    let fold = office.fold(&[Notice { lane: Lane::Digest, ..reminder(monday) }], monday);
    let alert = &fold.payments[0].message.body.alert;
    assert_eq!((alert.kind, alert.passages[0].heading.as_str()), (AlertType::Digest, "STILL THERE"));
    assert_eq!(fold.payments[0].told[0].event, AlertType::DriftReminder);
}
