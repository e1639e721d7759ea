use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn id(text: &str) -> TargetId {
    text.parse().unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn minutes(n: u64) -> Duration {
    Duration::from_mins(n)
}

fn scanned(last: &str) -> Past {
    Past { last: Some(at(last)), ..Past::default() }
}

#[test]
fn a_target_keeps_its_phase_of_the_interval() {
    let plan = Cadence::Every(minutes(15));
    let first = step(&plan, &id("a"), &scanned("2026-11-30T12:00:00Z"), at("2026-11-30T12:00:01Z"));
    let second = step(&plan, &id("a"), &Past { last: Some(first.at), ..Past::default() }, first.at);
    assert_eq!(second.at.duration_since(first.at).as_secs(), 900);
    // A restart and a scan that took its time move nobody.
    let slow = later(first.at, Duration::from_secs(50));
    assert_eq!(step(&plan, &id("a"), &Past { last: Some(slow), ..Past::default() }, slow).at, second.at);
}

#[test]
fn targets_spread_over_the_interval() {
    let plan = Cadence::Every(minutes(15));
    let past = scanned("2026-11-30T12:00:00Z");
    let minutes: BTreeSet<i64> = (0..200)
        .map(|n| step(&plan, &id(&format!("t{n}")), &past, at("2026-11-30T12:00:01Z")).at.as_second() / 60 % 15)
        .collect();
    assert_eq!(minutes.len(), 15);
}

#[test]
fn a_new_target_is_scanned_within_ten_seconds_and_not_all_at_once() {
    let now = at("2026-11-30T12:00:00Z");
    let plan = Cadence::Every(minutes(15));
    let waits: Vec<i128> = (0..50)
        .map(|n| step(&plan, &id(&format!("t{n}")), &Past::default(), now).at.duration_since(now).as_millis())
        .collect();
    assert!(waits.iter().all(|wait| (0..10_000).contains(wait)), "{waits:?}");
    assert!(waits.iter().max().unwrap() - waits.iter().min().unwrap() > 5_000);
    let quick = step(&Cadence::Every(Duration::from_secs(2)), &id("q"), &Past::default(), now);
    assert_eq!(quick.why, Why::First);
    assert!(quick.at.duration_since(now).as_millis() < 2_000);
}

#[test]
fn a_recheck_comes_before_the_plan_and_nothing_before_the_hold() {
    let now = at("2026-11-30T12:00:00Z");
    let plan = Cadence::Every(minutes(60));
    let past = Past { recheck: Some(at("2026-11-30T12:00:30Z")), ..scanned("2026-11-30T12:00:00Z") };
    assert_eq!(step(&plan, &id("a"), &past, now), Due { at: at("2026-11-30T12:00:30Z"), why: Why::Recheck });
    let held = Past { hold: Some(at("2026-11-30T18:00:00Z")), ..past };
    assert_eq!(step(&plan, &id("a"), &held, now), Due { at: at("2026-11-30T18:00:00Z"), why: Why::Hold });
    let far = Past { recheck: Some(at("2026-11-30T23:00:00Z")), ..past };
    assert_eq!(step(&plan, &id("a"), &far, now).why, Why::Plan);
}

#[test]
fn who_refuses_us_is_asked_once_an_hour() {
    let past = Past {
        blocked: true,
        recheck: Some(at("2026-11-30T12:00:30Z")),
        hold: None,
        last: Some(at("2026-11-30T12:00:00Z")),
    };
    let due = step(&Cadence::Every(minutes(5)), &id("a"), &past, at("2026-11-30T12:00:01Z"));
    assert_eq!(due, Due { at: at("2026-11-30T13:00:00Z"), why: Why::Blocked });
}

#[test]
fn cron_runs_in_its_zone() {
    let cases = [
        // (expression, zone, after, next)
        ("0 */6 * * *", "Europe/Madrid", "2026-11-30T12:00:00Z", "2026-11-30T17:00:00Z"),
        ("0 */6 * * *", "Europe/Madrid", "2026-07-01T12:00:00Z", "2026-07-01T16:00:00Z"),
        ("30 0 */6 * * *", "UTC", "2026-11-30T12:00:00Z", "2026-11-30T12:00:30Z"),
        ("0 9 * * MON", "Asia/Kolkata", "2026-11-30T03:30:00Z", "2026-12-07T03:30:00Z"),
        // A fixed time in the gap (02:00 to 03:00 on 29 March) runs once, when the gap ends.
        ("30 2 * * *", "Europe/Madrid", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"),
        ("30 2 * * *", "Europe/Madrid", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"),
        // What repeats simply has an hour less.
        ("*/30 * * * *", "Europe/Madrid", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"),
        // A fixed time that comes twice (02:30 on 25 October) runs the first time only.
        ("30 2 * * *", "Europe/Madrid", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"),
        ("30 2 * * *", "Europe/Madrid", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"),
        ("30 2 * * *", "Europe/Madrid", "2026-10-25T01:10:00Z", "2026-10-26T01:30:00Z"),
        // What repeats runs through both hours.
        ("*/30 * * * *", "Europe/Madrid", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z"),
        ("*/30 * * * *", "Europe/Madrid", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z"),
        ("*/30 * * * *", "Europe/Madrid", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z"),
    ];
    for (expression, zone, after, next) in cases {
        assert_eq!(next_cron(expression, zone, at(after)).unwrap(), at(next), "{expression} {zone} {after}");
    }
}

#[test]
fn a_pause_is_made_up_for_by_one_run() {
    let plan = Cadence::Cron { expression: "0 * * * *".to_owned(), timezone: "UTC".to_owned() };
    let now = at("2026-11-30T12:34:00Z");
    let overdue = step(&plan, &id("a"), &scanned("2026-11-28T07:00:00Z"), now);
    assert!(overdue.at < now);
    let after = step(&plan, &id("a"), &Past { last: Some(now), ..Past::default() }, now);
    assert_eq!(after.at, at("2026-11-30T13:00:00Z"));
}

#[test]
fn a_plan_without_instants_is_said_and_never_spins() {
    let now = at("2026-11-30T12:00:00Z");
    for (expression, timezone) in [("nonsense", "UTC"), ("0 * * * *", "Europe/Nowhere")] {
        let plan = Cadence::Cron { expression: expression.to_owned(), timezone: timezone.to_owned() };
        assert_eq!(step(&plan, &id("a"), &Past::default(), now), Due { at: later(now, NEVER), why: Why::Never });
    }
}

proptest! {
    #[test]
    fn the_next_instant_is_later_and_within_one_and_a_half_intervals(
        every in 1_u64..100_000, last in 0_i64..2_000_000_000_000, name in "[a-z]{1,8}"
    ) {
        let every = Duration::from_millis(every);
        let last = Timestamp::from_millisecond(last).unwrap();
        let wait = next_slot(every, &id(&name), last).duration_since(last).as_millis();
        let every = i128::try_from(every.as_millis()).unwrap();
        prop_assert!(wait > 0 && wait >= every / 2 && wait <= every + every / 2 + 1, "{wait} of {every}");
    }

    #[test]
    fn cron_always_moves_on_and_names_matching_local_times(second in 1_700_000_000_i64..1_900_000_000, which in 0_usize..4) {
        let expression = ["*/20 * * * *", "15 2 * * *", "*/30 2 * * *", "0 0 * * *"][which];
        let after = Timestamp::from_second(second).unwrap();
        let next = next_cron(expression, "America/New_York", after).unwrap();
        prop_assert!(next > after);
        prop_assert!(next.duration_since(after).as_hours() <= 50);
    }
}
