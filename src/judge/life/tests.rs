use super::*;
use crate::judge::sample::{TOOLS, alarm, at, drift, made, sight, target, unseen};
use crate::model::json::Json;
use crate::model::policy::NO_POLICY;
use crate::model::rule::{RuleCase, Severity};

/// One target's drifts through scans, without incidents.
struct Life {
    rows: Vec<DriftRow>,
    facets: BTreeMap<FacetName, FacetMemory>,
    confirm: Confirm,
    now: Timestamp,
}

impl Life {
    fn new() -> Self {
        Self { rows: Vec::new(), facets: BTreeMap::new(), confirm: Confirm::default(), now: at(0) }
    }

    /// A scan `seconds` later that sees tools and these drifts in it.
    fn see(&mut self, seconds: i64, drifts: &[Drift]) -> LifeStep {
        let values = drifts.iter().map(|drift| drift.fingerprint.to_string());
        let digest = Digest::of_parts(values);
        self.see_value(seconds, digest, drifts)
    }

    fn see_value(&mut self, seconds: i64, digest: Digest, drifts: &[Drift]) -> LifeStep {
        self.now += SignedDuration::from_secs(seconds);
        let memory = self.facets.entry(TOOLS).or_default();
        remember_run(memory, Some(digest), self.now);
        memory.last_seen = Some(self.now);
        self.judge(&Judgment { drifts: drifts.to_vec(), seen: BTreeSet::from([TOOLS]), ..Judgment::default() })
    }

    /// A scan `seconds` later with these failures.
    fn fail(&mut self, seconds: i64, sights: &[Drift], seen: bool) -> LifeStep {
        self.now += SignedDuration::from_secs(seconds);
        let (seen, unseen) = if seen { (vec![TOOLS], vec![]) } else { (vec![], vec![(TOOLS, unseen())]) };
        self.judge(&Judgment {
            sights: sights.to_vec(),
            seen: seen.into_iter().collect(),
            unseen,
            ..Judgment::default()
        })
    }

    /// Takes a step, and keeps what it leaves alive.
    fn at_this_moment(&mut self, step: impl FnOnce(&Self, &Moment<'_>) -> LifeStep) -> LifeStep {
        let target = target();
        let moment = Moment {
            target: &target,
            seq: 1,
            confirm: &self.confirm,
            policy: &NO_POLICY,
            blind_until: None,
            now: self.now,
        };
        let step = step(self, &moment);
        self.rows = step.rows.iter().filter(|row| !row.state.is_ended()).cloned().collect();
        step
    }

    fn judge(&mut self, judgment: &Judgment) -> LifeStep {
        self.at_this_moment(|life, moment| life_step(&life.rows, judgment, &life.facets, moment))
    }

    fn tick(&mut self, seconds: i64) -> LifeStep {
        self.now += SignedDuration::from_secs(seconds);
        self.at_this_moment(|life, moment| life_tick(&life.rows, &life.facets, moment))
    }

    fn only(&self) -> &DriftRow {
        assert_eq!(self.rows.len(), 1, "{:#?}", self.rows);
        &self.rows[0]
    }
}

fn turns(step: &LifeStep) -> Vec<Turn> {
    step.transitions.iter().map(|transition| transition.turn).collect()
}

fn ended(from: DriftState, to: DriftState) -> Turn {
    Turn::Ended { from, to }
}

#[test]
fn surface_is_confirmed_by_two_sightings_five_minutes_apart() {
    let mut life = Life::new();
    let step = life.see(0, &[drift(TOOLS, "a", "1")]);
    assert_eq!((turns(&step), step.recheck), (vec![Turn::Appeared], Some(at(300))));
    assert_eq!(turns(&life.see(299, &[drift(TOOLS, "a", "1")])), vec![]);
    assert_eq!(turns(&life.see(1, &[drift(TOOLS, "a", "1")])), vec![Turn::Confirmed]);
    assert_eq!((life.only().state, life.only().confirmed_at), (DriftState::Open, Some(at(300))));
}

#[test]
fn security_is_confirmed_by_two_sightings_thirty_seconds_apart() {
    let mut life = Life::new();
    let step = life.see(0, &[alarm(TOOLS, "a", "1"), drift(TOOLS, "b", "1")]);
    assert_eq!(step.recheck, Some(at(30)));
    let step = life.see(30, &[alarm(TOOLS, "a", "1"), drift(TOOLS, "b", "1")]);
    assert_eq!((turns(&step), step.recheck), (vec![Turn::Confirmed], Some(at(300))));
}

#[test]
fn one_sighting_is_enough_where_confirm_says_so() {
    let mut life = Life::new();
    life.confirm.surface = crate::model::confirm::Threshold { sightings: 1, after: std::time::Duration::ZERO };
    assert_eq!(turns(&life.see(0, &[drift(TOOLS, "a", "1")])), vec![Turn::Appeared, Turn::Confirmed]);
}

#[test]
fn further_sightings_are_spread_over_the_time_asked_for() {
    let mut life = Life::new();
    life.confirm.surface =
        crate::model::confirm::Threshold { sightings: 4, after: std::time::Duration::from_secs(300) };
    let a = [drift(TOOLS, "a", "1")];
    assert_eq!(life.see(0, &a).recheck, Some(at(100)));
    assert_eq!(life.see(100, &a).recheck, Some(at(200)));
    assert_eq!(life.see(100, &a).recheck, Some(at(300)));
    assert_eq!(turns(&life.see(100, &a)), vec![Turn::Confirmed]);
}

#[test]
fn a_pending_drift_that_is_not_seen_again_is_transient() {
    let mut life = Life::new();
    life.see(0, &[drift(TOOLS, "a", "1")]);
    assert_eq!(turns(&life.see(60, &[])), vec![ended(DriftState::Pending, DriftState::Transient)]);
    assert!(life.rows.is_empty());
}

#[test]
fn another_value_starts_the_count_again() {
    let mut life = Life::new();
    life.see(0, &[drift(TOOLS, "a", "1")]);
    assert_eq!(turns(&life.see(300, &[drift(TOOLS, "a", "2")])), vec![]);
    assert_eq!((life.only().sightings, life.only().since), (1, at(300)));
    assert_eq!(turns(&life.see(300, &[drift(TOOLS, "a", "2")])), vec![Turn::Confirmed]);
}

fn opened() -> Life {
    let mut life = Life::new();
    life.see(0, &[drift(TOOLS, "a", "1")]);
    life.see(300, &[drift(TOOLS, "a", "1")]);
    assert_eq!(life.only().state, DriftState::Open);
    life
}

#[test]
fn an_open_drift_that_stands_is_not_touched() {
    let mut life = opened();
    let step = life.see(900, &[drift(TOOLS, "a", "1")]);
    assert!(step.changed.is_empty() && step.transitions.is_empty() && step.recheck.is_none(), "{step:#?}");
}

#[test]
fn an_open_drift_reverts_as_it_was_opened() {
    let mut life = opened();
    let step = life.see(900, &[]);
    assert_eq!((turns(&step), step.recheck), (vec![], Some(at(1500))));
    assert_eq!(turns(&life.see(299, &[])), vec![]);
    assert_eq!(turns(&life.see(1, &[])), vec![ended(DriftState::Open, DriftState::Reverted)]);
}

#[test]
fn a_sighting_between_breaks_the_way_back() {
    let mut life = opened();
    life.see(900, &[]);
    life.see(100, &[drift(TOOLS, "a", "1")]);
    assert_eq!((life.only().back_count, life.only().back_since), (0, None));
}

#[test]
fn another_confirmed_value_is_the_same_drift_changed() {
    let mut life = opened();
    let id = life.only().id;
    assert_eq!(turns(&life.see(900, &[drift(TOOLS, "a", "2")])), vec![]);
    assert_eq!(life.only().drift.fingerprint, drift(TOOLS, "a", "1").fingerprint);
    assert_eq!(turns(&life.see(300, &[drift(TOOLS, "a", "2")])), vec![Turn::Changed]);
    assert_eq!((life.only().id, life.only().drift.fingerprint), (id, drift(TOOLS, "a", "2").fingerprint));
}

#[test]
fn a_rejected_drift_stands_until_it_reverts_or_has_another_value() {
    let mut life = opened();
    life.rows[0].state = DriftState::Rejected;
    assert!(life.see(900, &[drift(TOOLS, "a", "1")]).changed.is_empty());
    life.see(300, &[drift(TOOLS, "a", "2")]);
    assert_eq!(life.only().state, DriftState::Rejected);
    life.see(300, &[drift(TOOLS, "a", "2")]);
    assert_eq!(life.only().state, DriftState::Open);
    life.rows[0].state = DriftState::Rejected;
    life.see(300, &[]);
    assert_eq!(turns(&life.see(300, &[])), vec![ended(DriftState::Rejected, DriftState::Reverted)]);
}

#[test]
fn a_severity_that_changes_on_the_same_value_is_told() {
    let mut life = opened();
    let worse = Drift { severity: Severity::High, ..drift(TOOLS, "a", "1") };
    assert_eq!(turns(&life.see(900, &[worse])), vec![Turn::Changed]);
    let reworded = Drift { message: "other words".to_owned(), ..life.only().drift.clone() };
    let step = life.see(900, &[reworded]);
    assert_eq!((turns(&step), step.changed.len()), (vec![], 1));
}

#[test]
fn what_a_scan_did_not_see_counts_neither_way() {
    let mut life = Life::new();
    life.see(0, &[drift(TOOLS, "a", "1")]);
    let before = life.rows.clone();
    let step = life.fail(60, &[], false);
    assert_eq!((&life.rows, step.changed.len()), (&before, 0));
    assert_eq!(turns(&life.see(240, &[drift(TOOLS, "a", "1")])), vec![Turn::Confirmed]);
    life.see(900, &[]);
    let before = life.rows.clone();
    life.fail(3600, &[], false);
    assert_eq!(life.rows, before);
}

#[test]
fn an_unseen_pending_drift_is_not_asked_for_without_a_pause() {
    let mut life = Life::new();
    life.see(0, &[drift(TOOLS, "a", "1")]);
    assert_eq!(life.fail(60, &[], false).recheck, Some(at(300)));
    assert_eq!(life.fail(300, &[], false).recheck, None);
}

#[test]
fn drifts_of_an_unseen_facet_are_ignored() {
    let mut life = Life::new();
    let judgment = Judgment { drifts: vec![drift(TOOLS, "a", "1")], ..Judgment::default() };
    assert!(life.judge(&judgment).rows.is_empty());
}

#[test]
fn the_fourth_value_within_a_day_is_unstable_and_told_at_once() {
    let mut life = Life::new();
    for value in ["1", "2", "3"] {
        life.see(60, &[drift(TOOLS, "a", value)]);
        assert_eq!(life.only().state, DriftState::Pending);
    }
    let step = life.see(60, &[drift(TOOLS, "a", "4")]);
    assert_eq!(turns(&step), vec![Turn::Confirmed]);
    let row = life.only();
    assert_eq!(row.drift.rule, RuleCase::new("x.value-unstable", "model_read"));
    assert_eq!((row.drift.severity, row.drift.fingerprint), (Severity::High, drift(TOOLS, "a", "4").fingerprint));
    // Further values are what was told already.
    assert!(life.see(60, &[drift(TOOLS, "a", "5")]).transitions.is_empty());
    assert!(life.see(60, &[drift(TOOLS, "a", "6")]).transitions.is_empty());
}

#[test]
fn an_unstable_place_that_settles_is_an_ordinary_drift_again() {
    let mut life = Life::new();
    for value in ["1", "2", "3", "4", "5"] {
        life.see(60, &[drift(TOOLS, "a", value)]);
    }
    let day = 24 * 3600;
    assert!(life.see(day, &[drift(TOOLS, "a", "5")]).transitions.is_empty());
    assert_eq!(turns(&life.see(300, &[drift(TOOLS, "a", "5")])), vec![Turn::Changed]);
    assert_eq!(life.only().drift.rule.rule, "sample.changed");
}

#[test]
fn four_values_in_more_than_a_day_are_four_values() {
    let mut life = Life::new();
    for value in ["1", "2", "3", "4", "5", "6"] {
        life.see(9 * 3600, &[drift(TOOLS, "a", value)]);
    }
    assert_eq!(life.only().drift.rule.rule, "sample.changed");
}

#[test]
fn where_no_model_reads_unstable_is_medium() {
    let mut life = Life::new();
    for value in ["1", "2", "3", "4"] {
        let path = Pointer::of(["rest", "a"]);
        let drift = made(TOOLS, path, RuleCase::new("x.other-changed", "-"), None, Some(value), Severity::Low);
        life.see(60, &[drift]);
    }
    assert_eq!((life.only().drift.rule.case.as_str(), life.only().drift.severity), ("other", Severity::Medium));
}

fn fleet(life: &Life) -> Option<&DriftRow> {
    life.rows.iter().find(|row| row.drift.rule.rule == "x.mixed-fleet")
}

#[test]
fn a_rollback_reverts() {
    let mut life = Life::new();
    let b = [drift(TOOLS, "a", "B")];
    life.see(0, &[]);
    life.see(300, &b);
    life.see(300, &b);
    life.see(300, &[]);
    let step = life.see(300, &[]);
    assert_eq!(turns(&step), vec![ended(DriftState::Open, DriftState::Reverted)]);
    assert!(fleet(&life).is_none());
}

#[test]
fn two_versions_that_alternate_are_held_and_told_as_one() {
    let mut life = Life::new();
    let b = [alarm(TOOLS, "a", "B"), drift(TOOLS, "b", "B")];
    life.see(0, &[]);
    life.see(600, &b);
    life.see(600, &[]);
    let step = life.see(600, &b);
    assert_eq!(turns(&step), vec![Turn::Appeared, Turn::Confirmed, Turn::Appeared, Turn::Appeared]);
    let told = fleet(&life).unwrap();
    assert_eq!((told.drift.rule.case.as_str(), told.drift.severity), ("high", Severity::High));
    assert_eq!((told.drift.after.len(), told.drift.path.clone()), (2, Pointer::root()));
    // From now on nothing opens or closes, however often they take turns.
    for _ in 0..4 {
        assert!(life.see(600, &[]).transitions.is_empty());
        assert!(life.see(600, &b).transitions.is_empty());
    }
    assert!(life.rows.iter().all(|row| row.held || row.drift.path == Pointer::root()));
}

#[test]
fn a_further_scan_of_the_same_variant_changes_nothing() {
    let mut life = Life::new();
    let b = [drift(TOOLS, "a", "B")];
    for shows in [&[][..], &b, &[], &b] {
        life.see(600, shows);
    }
    assert!(life.see(600, &b).changed.is_empty());
}

fn mixed(a: &[Drift], b: &[Drift]) -> Life {
    let mut life = Life::new();
    for shows in [a, b, a, b] {
        life.see(600, shows);
    }
    assert!(fleet(&life).is_some());
    life
}

#[test]
fn the_variant_that_stands_alone_for_six_hours_is_judged_once() {
    let b = [drift(TOOLS, "a", "B"), drift(TOOLS, "b", "B")];
    let mut life = mixed(&[], &b);
    let since = life.now;
    assert!(life.see(6 * 3600 - 1, &b).transitions.is_empty());
    let step = life.see(1, &b);
    assert_eq!(
        turns(&step),
        vec![ended(DriftState::Open, DriftState::Reverted), Turn::Confirmed, Turn::Confirmed],
        "since {since}"
    );
    assert!(life.rows.iter().all(|row| row.state == DriftState::Open && !row.held));
}

#[test]
fn when_the_baselines_variant_stands_alone_all_is_over() {
    let b = [drift(TOOLS, "a", "B")];
    let mut life = mixed(&[], &b);
    life.see(600, &[]);
    let step = life.see(6 * 3600, &[]);
    assert_eq!(
        turns(&step),
        vec![ended(DriftState::Open, DriftState::Reverted), ended(DriftState::Pending, DriftState::Transient)]
    );
}

#[test]
fn a_mixed_fleet_ends_by_the_clock_too() {
    let b = [drift(TOOLS, "a", "B")];
    let mut life = mixed(&[], &b);
    assert_eq!(next_tick(&life.rows, &life.facets), Some(at(4 * 600 + 6 * 3600)));
    assert!(life.tick(6 * 3600 - 1).transitions.is_empty());
    assert_eq!(turns(&life.tick(1)), vec![ended(DriftState::Open, DriftState::Reverted), Turn::Confirmed]);
}

#[test]
fn a_mixed_fleet_does_not_end_while_nothing_is_seen() {
    let mut life = mixed(&[], &[drift(TOOLS, "a", "B")]);
    life.facets.get_mut(&TOOLS).unwrap().unseen_since = Some(life.now);
    assert!(life.tick(7 * 3600).transitions.is_empty());
}

#[test]
fn an_open_drift_in_a_mixed_fleet_takes_the_value_that_stands() {
    let mut life = Life::new();
    let (b, c) = ([drift(TOOLS, "a", "B")], [drift(TOOLS, "a", "C")]);
    life.see(0, &b);
    life.see(300, &b);
    for shows in [&c, &b, &c] {
        life.see(100, shows);
    }
    assert!(fleet(&life).is_some());
    let step = life.see(6 * 3600, &c);
    assert_eq!(turns(&step), vec![ended(DriftState::Open, DriftState::Reverted), Turn::Changed]);
    assert_eq!(life.only().drift.fingerprint, c[0].fingerprint);
}

#[test]
fn a_third_variant_or_a_worse_drift_changes_a_mixed_fleet() {
    let mut life = mixed(&[], &[drift(TOOLS, "a", "B")]);
    let step = life.see(600, &[alarm(TOOLS, "c", "C")]);
    assert_eq!(turns(&step), vec![Turn::Changed, Turn::Appeared]);
    assert_eq!(fleet(&life).unwrap().drift.severity, Severity::High);
}

#[test]
fn a_drift_of_the_whole_facet_becomes_the_mixed_fleets() {
    let mut life = Life::new();
    let gone = made(TOOLS, Pointer::root(), RuleCase::new("sample.gone", "-"), Some("v"), None, Severity::Medium);
    let b = [gone];
    for shows in [&[][..], &b, &[], &b] {
        life.see(600, shows);
    }
    assert_eq!(life.only().drift.rule.rule, "x.mixed-fleet");
    let step = life.see(6 * 3600, &b);
    assert_eq!(turns(&step), vec![ended(DriftState::Open, DriftState::Reverted), Turn::Appeared, Turn::Confirmed]);
    assert_eq!(life.only().drift.rule.rule, "sample.gone");
}

#[test]
fn values_that_take_turns_within_a_baseline_that_holds_both_are_no_drift() {
    let mut life = Life::new();
    for value in ["A", "B", "A", "B", "A"] {
        life.see_value(600, Digest::of(&Json::from(value)), &[]);
    }
    assert!(life.rows.is_empty());
}

#[test]
fn runs_are_bounded_and_those_of_the_last_six_hours() {
    let mut memory = FacetMemory::default();
    for n in 0..200 {
        remember_run(&mut memory, Some(Digest::of(&Json::from(i64::from(n)))), at(i64::from(n) * 10));
        memory.last_seen = Some(at(i64::from(n) * 10));
    }
    assert_eq!(memory.runs.len(), 24);
    remember_run(&mut memory, None, at(100_000));
    assert_eq!(memory.runs.len(), 1);
}

#[test]
fn a_run_lasts_until_it_was_last_seen_though_quiet_scans_wrote_nothing() {
    let mut memory = FacetMemory::default();
    remember_run(&mut memory, None, at(0));
    memory.last_seen = Some(at(36_000));
    remember_run(&mut memory, Some(Digest::ZERO), at(36_600));
    assert_eq!(memory.runs.len(), 2);
}

const ENDPOINT: &str = "endpoint";

#[test]
fn sight_is_lost_after_three_failures_over_ten_minutes() {
    let mut life = Life::new();
    let down = [sight("scan.unreachable", ENDPOINT)];
    let step = life.fail(0, &down, false);
    assert_eq!((turns(&step), step.recheck), (vec![Turn::Appeared], Some(at(60))));
    assert_eq!(life.fail(60, &down, false).recheck, Some(at(240)));
    assert_eq!(life.fail(180, &down, false).recheck, Some(at(600)));
    assert_eq!(turns(&life.fail(360, &down, false)), vec![Turn::Confirmed]);
}

#[test]
fn failures_count_in_a_row_whatever_their_reason() {
    let mut life = Life::new();
    life.fail(0, &[sight("scan.unreachable", ENDPOINT)], false);
    life.fail(300, &[sight("scan.http-error", ENDPOINT)], false);
    life.fail(300, &[sight("scan.blocked", ENDPOINT)], false);
    assert_eq!((life.only().state, life.only().drift.rule.rule.as_str()), (DriftState::Open, "scan.blocked"));
}

#[test]
fn one_scan_that_sees_ends_it() {
    let mut life = Life::new();
    let down = [sight("scan.unreachable", ENDPOINT)];
    life.fail(0, &down, false);
    assert_eq!(turns(&life.fail(60, &[], true)), vec![ended(DriftState::Pending, DriftState::Transient)]);
    for _ in 0..3 {
        life.fail(300, &down, false);
    }
    assert_eq!(life.only().state, DriftState::Open);
    assert_eq!(turns(&life.fail(60, &[], true)), vec![ended(DriftState::Open, DriftState::Reverted)]);
}

#[test]
fn a_failing_endpoint_says_nothing_of_its_facets() {
    let mut life = Life::new();
    let partial = sight("scan.partial", "mcp.tools");
    life.fail(0, std::slice::from_ref(&partial), false);
    let before = life.only().clone();
    life.fail(60, &[sight("scan.unreachable", ENDPOINT), partial], false);
    assert_eq!(life.rows.len(), 2);
    assert!(life.rows.contains(&before));
}

#[test]
fn a_block_stands_for_everything_else_its_scan_would_say() {
    let mut life = Life::new();
    let step = life.fail(0, &[sight("scan.partial", "mcp.prompts"), sight("scan.blocked", "mcp.tools")], false);
    assert_eq!(step.rows.len(), 1);
    assert_eq!(life.only().drift.rule.rule, "scan.blocked");
}

#[test]
fn a_rate_limit_is_a_block_only_when_it_outlasts_the_class() {
    let mut life = Life::new();
    let limited = [sight("scan.rate-limited", ENDPOINT)];
    life.fail(0, &limited, false);
    life.fail(300, &limited, false);
    assert_eq!(life.only().drift.rule.rule, "scan.rate-limited");
    life.fail(300, &limited, false);
    let row = life.only();
    assert_eq!(
        (row.drift.rule.clone(), row.drift.severity),
        (RuleCase::new("scan.blocked", "under_24h"), Severity::Medium)
    );
    assert!(life.fail(300, &limited, false).changed.is_empty());
}

#[test]
fn a_block_turns_high_after_a_day_by_scan_or_by_clock() {
    let mut life = Life::new();
    let blocked = [sight("scan.blocked", ENDPOINT)];
    for _ in 0..3 {
        life.fail(300, &blocked, false);
    }
    let by_scan = life.fail(24 * 3600 - 601, &blocked, false);
    assert!(by_scan.transitions.is_empty());
    assert_eq!(next_tick(&life.rows, &life.facets), Some(at(300 + 24 * 3600)));
    let step = life.tick(1);
    assert_eq!(turns(&step), vec![Turn::Changed]);
    assert_eq!((life.only().drift.rule.case.as_str(), life.only().drift.severity), ("over_24h", Severity::High));
    assert!(life.fail(300, &blocked, false).changed.is_empty());
    assert_eq!(next_tick(&life.rows, &life.facets), None);
}

#[test]
fn another_failure_of_an_open_sight_is_confirmed_like_the_first() {
    let mut life = Life::new();
    for _ in 0..3 {
        life.fail(300, &[sight("scan.unreachable", ENDPOINT)], false);
    }
    life.fail(300, &[sight("scan.blocked", ENDPOINT)], false);
    life.fail(300, &[sight("scan.blocked", ENDPOINT)], false);
    assert_eq!(life.only().drift.rule.rule, "scan.unreachable");
    assert_eq!(turns(&life.fail(300, &[sight("scan.blocked", ENDPOINT)], false)), vec![Turn::Changed]);
    assert_eq!(life.only().drift.rule.rule, "scan.blocked");
}

#[test]
fn a_facet_that_is_not_watched_any_more_is_not_missed() {
    let mut life = Life::new();
    life.fail(0, &[sight("scan.partial", "mcp.prompts")], true);
    let step = life.fail(60, &[], true);
    assert_eq!(turns(&step), vec![ended(DriftState::Pending, DriftState::Transient)]);
}
