use std::collections::BTreeMap;

use super::*;

fn row(id: &str, labels: &[(&str, &str)]) -> TargetRow {
    let mut row = targets::sample().targets.remove(0);
    row.summary.id = id.parse().unwrap();
    row.summary.labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    row
}

#[test]
fn the_list_of_metrics_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/metrics.md");
    let page = markdown().unwrap();
    if std::env::var_os("DRIFTD_UPDATE").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), page, "stale: run the tests once with DRIFTD_UPDATE=1");
}

#[test]
fn series_leave_with_their_target() {
    let metrics = Metrics::new(&[], 1).unwrap();
    let gauges = TargetGauges { targets: vec![row("one", &[]), row("two", &[])], ..TargetGauges::default() };
    assert!(metrics.exposition(gauges).unwrap().contains("driftd_target_up{target=\"two\"} 1"));
    let gauges = TargetGauges { targets: vec![row("one", &[])], ..TargetGauges::default() };
    let exposition = metrics.exposition(gauges).unwrap();
    assert!(exposition.contains("driftd_target_up{target=\"one\"} 1"));
    assert!(!exposition.contains("\"two\""), "{exposition}");
}

#[test]
fn labels_that_share_a_prometheus_name_share_a_label() {
    let metrics = Metrics::new(&[], 1).unwrap();
    let targets = vec![row("one", &[("a-b", "x")]), row("two", &[("a_b", "y\"\n")]), row("three", &[("kind", "z")])];
    let exposition = metrics.exposition(TargetGauges { targets, ..TargetGauges::default() }).unwrap();
    for wanted in [
        "driftd_target_info{kind=\"mcp\",label_a_b=\"x\",label_kind=\"\",target=\"one\"} 1",
        "driftd_target_info{kind=\"mcp\",label_a_b=\"y\\\"\\n\",label_kind=\"\",target=\"two\"} 1",
        "driftd_target_info{kind=\"mcp\",label_a_b=\"\",label_kind=\"z\",target=\"three\"} 1",
    ] {
        assert!(exposition.contains(wanted), "{wanted} is missing in {exposition}");
    }
}

#[test]
fn severities_of_a_target_are_shown_while_above_zero() {
    let metrics = Metrics::new(&[], 1).unwrap();
    let mut calm = row("calm", &[]);
    calm.drift_open = BTreeMap::from([(crate::model::rule::Severity::High, 0)]);
    let exposition = metrics.exposition(TargetGauges { targets: vec![calm], ..TargetGauges::default() }).unwrap();
    assert!(!exposition.contains("driftd_drift_open{"), "{exposition}");
}
