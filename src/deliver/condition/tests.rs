use super::*;

fn at(seconds: u64) -> Timestamp {
    later("2026-11-30T12:00:00Z".parse().unwrap(), Duration::from_secs(seconds))
}

const DAY: u64 = 86_400;

fn refused() -> Failure {
    DeliveryError::transient(Reason::Refused).into()
}

fn gone() -> Failure {
    DeliveryError::permanent(Reason::Gone).into()
}

/// The condition after failures at these seconds, and what was said at each.
fn after(failures: &[u64]) -> (Condition, Vec<Option<Say>>) {
    let mut condition = Condition::default();
    let mut said = Vec::new();
    for second in failures {
        let (next, say) = failed(&condition, &refused(), false, true, at(*second));
        condition = next;
        said.push(say);
    }
    (condition, said)
}

#[test]
fn a_receiver_is_told_failing_once_after_four_failures_over_a_quarter_of_an_hour() {
    assert_eq!(after(&[0, 5, 305, 2105]).1, [None, None, None, Some(Say::Failing)]);
    let (condition, said) = after(&[0, 1, 2, 3, 4, 899, 900, 5000]);
    assert_eq!(said.iter().flatten().count(), 1, "many messages met one short outage: {said:?}");
    assert_eq!(said[6], Some(Say::Failing));
    assert_eq!((condition.failures, condition.since, condition.told), (8, Some(at(0)), Some(at(900))));
}

#[test]
fn who_was_told_failing_is_told_when_it_works_again_and_nobody_else() {
    let (condition, _) = after(&[0, 5, 305, 2105]);
    assert_eq!(taken(&condition), (Condition::default(), Some(Say::Recovered { since: at(0) })));
    let (condition, _) = after(&[0, 5, 305]);
    assert_eq!(taken(&condition), (Condition::default(), None));
}

#[test]
fn a_schedule_that_ends_suspends_only_after_five_days_without_a_success() {
    let (condition, _) = after(&[0, 5, 305, 2105]);
    let (early, said) = failed(&condition, &refused(), true, true, at(4 * DAY));
    assert_eq!((early.suspended, said), (None, Some(Say::GivenUp)));
    let (lost, said) = failed(&early, &refused(), true, true, at(5 * DAY));
    assert_eq!((lost.suspended, said), (Some(at(5 * DAY)), Some(Say::Suspended)));
    assert_eq!(lost.not_before, Some(at(6 * DAY)), "one try a day");
    assert!(waits(&lost, &refused()), "what it does not take then is not given up");
    let (probed, said) = failed(&lost, &refused(), false, true, at(6 * DAY));
    assert_eq!((probed.not_before, said), (Some(at(7 * DAY)), None));
    assert_eq!(taken(&probed).1, Some(Say::Recovered { since: at(0) }));
}

#[test]
fn who_is_gone_for_good_is_suspended_at_once_so_that_nothing_further_is_lost() {
    let (condition, said) = failed(&Condition::default(), &gone(), true, true, at(0));
    assert_eq!((condition.suspended, said), (Some(at(0)), Some(Say::Suspended)));
    assert!(waits(&condition, &gone()));
}

#[test]
fn a_message_that_is_refused_says_nothing_of_its_receiver() {
    let refusal = DeliveryError::permanent(Reason::Rejected).into();
    let (condition, said) = failed(&Condition::default(), &refusal, true, true, at(0));
    assert_eq!(said, Some(Say::GivenUp));
    assert_eq!((condition.failures, condition.not_before), (0, None));
    assert_eq!(failed(&condition, &refusal, true, true, at(DAY - 1)).1, None, "once a day at most");
    assert_eq!(failed(&condition, &refusal, true, true, at(DAY)).1, Some(Say::GivenUp));
    assert_eq!(taken(&condition).0.told_given_up, Some(at(0)), "a success in between does not start it anew");
    let suspended = Condition { suspended: Some(at(0)), ..Condition::default() };
    assert!(!waits(&suspended, &refusal), "or one such message would hold up all others for ever");
}

#[test]
fn a_bulletin_that_is_lost_makes_no_further_one() {
    let refusal = DeliveryError::permanent(Reason::Rejected).into();
    assert_eq!(failed(&Condition::default(), &refusal, true, false, at(0)).1, None);
}

#[test]
fn an_overloaded_receiver_rests_as_a_whole_as_long_as_it_asks_within_limits() {
    let rests = |reason, asked: Option<u64>| {
        let error = DeliveryError::Transient { reason, code: None, retry_after: asked.map(Duration::from_secs) };
        let (condition, _) = failed(&Condition::default(), &error.into(), false, true, at(0));
        condition.not_before.map(|until| until.duration_since(at(0)).as_secs())
    };
    assert_eq!(rests(Reason::RateLimited, None), Some(60));
    assert_eq!(rests(Reason::Timeout, None), Some(60));
    assert_eq!(rests(Reason::RateLimited, Some(90)), Some(90));
    assert_eq!(rests(Reason::Unavailable, Some(1)), Some(60));
    assert_eq!(rests(Reason::Unavailable, Some(u64::MAX)), Some(600));
    assert_eq!(rests(Reason::Refused, None), None);
}

#[test]
fn none_and_one_are_said_as_such() {
    let waits = |n| counted(n, "message waits for it", "messages wait for it");
    assert_eq!(
        [waits(0), waits(1), waits(2)],
        ["no message waits for it", "1 message waits for it", "2 messages wait for it"]
    );
    assert_eq!(counted(0, "was given up", "were given up"), "none was given up");
    let (condition, _) = after(&[0]);
    let report = Report {
        say: Say::Failing,
        receiver: "hook",
        condition: &condition,
        waiting: 0,
        given_up: 0,
        message: "m-5f0c2a",
        error: "status 500",
        now: at(0),
    };
    assert!(bulletin(&report).summary[0].starts_with("1 try has failed since"), "{:?}", bulletin(&report).summary);
}

#[test]
fn each_report_reads_like_a_letter() {
    let (condition, _) = after(&[0, 5, 305, 2105]);
    let says = [Say::Failing, Say::Suspended, Say::GivenUp, Say::Recovered { since: at(0) }];
    let read = says.map(|say| {
        let report = Report {
            say,
            receiver: "hook",
            condition: &condition,
            waiting: 3,
            given_up: u64::from(say != Say::Failing),
            message: "m-5f0c2a",
            error: condition.error.as_deref().unwrap_or_default(),
            now: at(2105),
        };
        let bulletin = bulletin(&report);
        let lines: Vec<String> = bulletin.sections.into_iter().flat_map(|passage| passage.lines).collect();
        format!(
            "{} {}\n[{}]\n{}\n{}\n",
            bulletin.severity,
            bulletin.headline,
            bulletin.key,
            bulletin.summary.join("\n"),
            lines.join("\n")
        )
    });
    insta::assert_snapshot!(read.join("\n"));
    let [fails, suspended] = failing_keys("hook", at(0));
    assert!(read[0].contains(&format!("[{fails}]")) && read[1].contains(&format!("[{suspended}]")));
}
