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
    let nightly = Cadence::Cron { expression: "30 2 * * *".to_owned(), timezone: "UTC".to_owned() };
    for plan in [Cadence::Every(minutes(15)), nightly] {
        let dues: Vec<Due> = (0..50).map(|n| step(&plan, &id(&format!("t{n}")), &Past::default(), now)).collect();
        let waits: Vec<i128> = dues.iter().map(|due| due.at.duration_since(now).as_millis()).collect();
        assert!(waits.iter().all(|wait| (0..10_000).contains(wait)), "{plan:?}: {waits:?}");
        assert!(waits.iter().max().unwrap() - waits.iter().min().unwrap() > 5_000, "{plan:?}: {waits:?}");
        assert!(dues.iter().all(|due| due.why == Why::First), "{plan:?}: {dues:?}");
    }
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
        let scanned = Past { last: Some(now), ..Past::default() };
        assert_eq!(step(&plan, &id("a"), &scanned, now), Due { at: later(now, NEVER), why: Why::Never });
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

#[test]
fn a_last_scan_in_the_future_freezes_nobody() {
    let now = at("2026-11-30T12:00:00Z");
    let past = Past { hold: Some(at("2026-12-07T13:00:00Z")), ..scanned("2026-12-07T12:00:00Z") };
    let every = Cadence::Every(minutes(15));
    let held = step(&every, &id("a"), &past, now);
    assert_eq!(held, Due { at: at("2026-11-30T13:00:00Z"), why: Why::Hold }, "an hour was left, and is");
    let free = step(&every, &id("a"), &Past { hold: None, ..past }, now);
    assert!(free.at > now && free.at <= later(now, minutes(15)), "{free:?}");
    let recheck = Past { hold: None, recheck: Some(at("2026-12-07T12:00:30Z")), ..past };
    assert_eq!(step(&Cadence::Every(minutes(60)), &id("a"), &recheck, now).at, at("2026-11-30T12:00:30Z"));
    let cron = Cadence::Cron { expression: "0 * * * *".to_owned(), timezone: "UTC".to_owned() };
    assert_eq!(step(&cron, &id("a"), &Past { hold: None, ..past }, now).at, at("2026-11-30T13:00:00Z"));
    let blocked = Past { hold: None, blocked: true, ..past };
    assert_eq!(step(&every, &id("a"), &blocked, now), Due { at: at("2026-11-30T13:00:00Z"), why: Why::Blocked });
}

#[test]
fn a_peer_that_asks_for_a_year_gets_a_day() {
    let now = at("2026-11-30T12:00:00Z");
    let past = Past { hold: Some(at("2027-11-30T12:00:00Z")), ..scanned("2026-11-30T12:00:00Z") };
    let due = step(&Cadence::Every(minutes(15)), &id("a"), &past, now);
    assert_eq!(due, Due { at: at("2026-12-01T12:00:00Z"), why: Why::Hold });
}

#[test]
fn what_repeats_keeps_its_beat_through_half_hours_and_whole_days_that_are_skipped() {
    // (zone, from, hours): half an hour back and forth, a day that never was, gaps and repeats at midnight.
    let cases = [
        ("Australia/Lord_Howe", "2026-04-04T10:00:00Z", 12),
        ("Australia/Lord_Howe", "2026-10-03T10:00:00Z", 12),
        ("Pacific/Apia", "2011-12-30T04:00:00Z", 12),
        ("America/Sao_Paulo", "2018-11-03T20:00:00Z", 12),
        ("America/Sao_Paulo", "2019-02-16T20:00:00Z", 12),
        ("Africa/Casablanca", "2026-02-14T20:00:00Z", 12),
        ("Europe/Dublin", "2026-10-24T20:00:00Z", 12),
        ("Antarctica/Troll", "2026-03-28T20:00:00Z", 12),
        ("Antarctica/Troll", "2026-10-24T20:00:00Z", 12),
        ("Asia/Kathmandu", "2026-10-24T20:00:00Z", 2),
    ];
    for (zone, from, hours) in cases {
        let mut now = at(from);
        for _ in 0..hours * 12 {
            let next = next_cron("*/5 * * * *", zone, now).unwrap();
            assert_eq!(next.duration_since(now).as_secs(), 300, "{zone} at {now}: {next}");
            now = next;
        }
    }
}

#[test]
fn a_daily_time_in_any_gap_or_repeat_runs_once() {
    let cases = [
        // (expression, zone, from, runs within 48 hours)
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", ["2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"]),
        ("45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00Z", ["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"]),
        ("30 0 * * *", "America/Sao_Paulo", "2018-11-03T04:00:00Z", ["2018-11-04T03:00:00Z", "2018-11-05T02:30:00Z"]),
        ("30 23 * * *", "America/Sao_Paulo", "2019-02-16T04:00:00Z", ["2019-02-17T01:30:00Z", "2019-02-18T02:30:00Z"]),
        // Of two equal hours the first, for each of several times.
        ("0 1-3 * * *", "Europe/Madrid", "2026-10-25T00:10:00Z", ["2026-10-25T02:00:00Z", "2026-10-26T00:00:00Z"]),
        // After a gap at midnight.
        ("1 1 * * *", "Africa/Cairo", "2028-04-27T12:00:00Z", ["2028-04-27T22:01:00Z", "2028-04-28T22:01:00Z"]),
        // Two times in one gap are one run.
        ("0,30 2 * * *", "Europe/Madrid", "2026-03-28T12:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]),
    ];
    for (expression, zone, from, runs) in cases {
        let mut now = at(from);
        for run in runs {
            now = next_cron(expression, zone, now).unwrap();
            assert_eq!(now, at(run), "{expression} {zone}");
        }
    }
}

/// Zones with changes of an hour, half an hour and two hours, with none, and on both halves of the earth.
const ZONES: [&str; 9] = [
    "Europe/Madrid",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Africa/Casablanca",
    "Antarctica/Troll",
    "Asia/Kolkata",
    "Africa/Cairo",
    "UTC",
];

proptest! {
    #[test]
    fn what_repeats_each_five_minutes_does_so_whatever_the_zone_says(second in 1_700_000_000_i64..1_900_000_000, zone in 0..ZONES.len()) {
        let after = Timestamp::from_second(second).unwrap();
        let next = next_cron("*/5 * * * *", ZONES[zone], after).unwrap();
        prop_assert_eq!(next.as_second(), (second / 300 + 1) * 300, "{}", ZONES[zone]);
    }

    #[test]
    fn a_daily_time_runs_once_on_every_date(
        day in 19_700_i64..22_000, minute in 0_u32..1440, zone in 0..ZONES.len()
    ) {
        let expression = format!("{} {} * * *", minute % 60, minute / 60);
        let zone: Tz = ZONES[zone].parse().unwrap();
        let mut now = Timestamp::from_second(day * 86_400).unwrap();
        let mut dates = Vec::new();
        for _ in 0..4 {
            now = next_cron(&expression, zone.name(), now).unwrap();
            dates.push(DateTime::from_timestamp(now.as_second(), 0).unwrap().with_timezone(&zone).date_naive());
        }
        for pair in dates.windows(2) {
            prop_assert_eq!(pair[0].succ_opt().unwrap(), pair[1], "{} in {}: {:?}", &expression, zone, &dates);
        }
    }

    #[test]
    fn whatever_the_clock_does_nobody_waits_for_longer_than_his_due(
        every in 1_000_u64..90_000_000,
        now in 0_i64..4_000_000_000_000,
        last in prop::option::of(0_i64..4_000_000_000_000),
        recheck in prop::option::of(0_i64..4_000_000_000_000),
        hold in prop::option::of(0_i64..4_000_000_000_000),
        blocked: bool,
    ) {
        let millisecond = |ms: i64| Timestamp::from_millisecond(ms).unwrap();
        let (now, every) = (millisecond(now), Duration::from_millis(every));
        let past = Past { last: last.map(millisecond), recheck: recheck.map(millisecond), hold: hold.map(millisecond), blocked };
        let due = step(&Cadence::Every(every), &id("a"), &past, now);
        let put_back = past.last.is_some_and(|last| last > now);
        let longest = match due.why {
            Why::Hold => LONGEST_HOLD,
            Why::Blocked => BLOCKED_EVERY,
            Why::First => FIRST_WITHIN,
            Why::Plan | Why::Recheck | Why::Never | Why::Asked if put_back => every,
            Why::Plan | Why::Recheck | Why::Never | Why::Asked => every + every / 2 + Duration::from_millis(1),
        };
        prop_assert!(due.at <= later(now, longest), "{due:?} at {now}");
        // Planned again at the same moment, it is due at the same moment: planning anew postpones nobody.
        prop_assert_eq!(step(&Cadence::Every(every), &id("a"), &past, now), due);
    }

    #[test]
    fn over_any_clock_each_leap_costs_one_run_and_the_phase_stays(
        every in 1_u64..3_600, leaps in prop::collection::vec(-400_000_i64..400_000, 1..30)
    ) {
        let plan = Cadence::Every(Duration::from_secs(every));
        let mut now = at("2026-11-30T12:00:00Z");
        let mut past = Past { last: Some(now), ..Past::default() };
        let phase = |at: Timestamp| at.as_millisecond().rem_euclid(i64::try_from(every).unwrap() * 1000);
        let slot = phase(step(&plan, &id("a"), &past, now).at);
        for leap in leaps {
            now += jiff::SignedDuration::from_secs(leap);
            let mut runs = 0;
            // All that is due at this instant, as the loop would do it.
            while step(&plan, &id("a"), &past, now).at <= now {
                past = Past { last: Some(now), ..Past::default() };
                runs += 1;
            }
            prop_assert!(runs <= 1, "{runs} runs after a leap of {leap} s");
            prop_assert_eq!(phase(step(&plan, &id("a"), &past, now).at), slot);
        }
    }
}
