//! What lies in `deploy/`, held against the program: every name that rules and dashboard use is exposed, the shipped
//! configuration is one, and real tools read the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Output;

use driftd::config;
use driftd::secret::Environment;
use tokio::process::Command;

use crate::support::checkout;

/// What names metrics, apart from the tests of the rules, whose series are the rules' own.
const FILES: [&str; 4] =
    ["deploy/alerts.yml", "deploy/alerts_test.yml", "deploy/alerts_days_test.yml", "deploy/dashboard.json"];

/// Labels that Prometheus itself puts on every series, on buckets, or that a rule makes.
const FOREIGN_LABELS: [&str; 4] = ["job", "instance", "le", "drift"];

fn text(name: &str) -> String {
    std::fs::read_to_string(checkout(name)).unwrap()
}

/// Metrics and their labels as `docs/metrics.md` has them, which is generated from the program.
fn exposed() -> BTreeMap<String, BTreeSet<String>> {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
        let name = cells.next()?.trim_end_matches('`').to_owned();
        let kind = cells.next()?;
        let labels = cells.next()?.split(", ").filter(|label| !label.is_empty()).map(str::to_owned).collect();
        // Words for people name a histogram as a whole.
        let parts: &[&str] = if kind == "histogram" { &["", "_bucket", "_sum", "_count"] } else { &[""] };
        Some(parts.iter().map(move |part| (format!("{name}{part}"), BTreeSet::clone(&labels))).collect::<Vec<_>>())
    };
    let all: BTreeMap<_, _> = text("docs/metrics.md").lines().filter_map(row).flatten().collect();
    assert!(all.len() > 30, "{all:?}");
    all
}

/// The words of `text` that start as our metrics do, each with the labels that a selector behind it names.
fn named(text: &str) -> Vec<(String, Vec<String>)> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut all = Vec::new();
    for prefix in ["driftd_", "process_"] {
        for (at, _) in text.match_indices(prefix) {
            let (before, from) = text.split_at(at);
            if before.ends_with(word) {
                continue;
            }
            let name: String = from.chars().take_while(|c| word(*c)).collect();
            let behind = from.strip_prefix(name.as_str()).unwrap_or_default();
            let selector =
                behind.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(inside, _)| inside);
            let labels = selector.split(',').filter_map(|part| {
                let label = part.trim().split(['=', '!']).next()?.trim();
                (!label.is_empty() && label.chars().all(word)).then(|| label.to_owned())
            });
            all.push((name, labels.collect()));
        }
    }
    all
}

#[test]
fn every_metric_that_rules_and_dashboard_name_is_exposed_with_its_labels() {
    let exposed = exposed();
    let mut wrong = Vec::new();
    for file in FILES {
        let names = named(&text(file));
        assert!(names.len() > 10, "{file}: {names:?}");
        for (name, labels) in names {
            let Some(known) = exposed.get(&name) else {
                wrong.push(format!("{file}: {name} is not exposed"));
                continue;
            };
            let strange = |label: &&String| !known.contains(*label) && !FOREIGN_LABELS.contains(&label.as_str());
            wrong.extend(labels.iter().filter(strange).map(|label| format!("{file}: {name} has no label {label}")));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_its_tests_and_its_row_in_the_documentation() {
    let (tests, page) = (text(FILES[1]) + &text(FILES[2]), text("docs/prometheus.md"));
    let rules = text(FILES[0]);
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() > 15, "{alerts:?}");
    for alert in alerts {
        assert!(page.contains(&format!("\n| {alert} |")), "docs/prometheus.md does not tell of {alert}");
        let mentions: Vec<&str> =
            tests.split("eval_time").filter(|part| part.contains(&format!("alertname: {alert}"))).collect();
        assert!(mentions.iter().any(|part| part.contains("exp_alerts")), "no test in which {alert} fires");
        assert!(mentions.iter().any(|part| !part.contains("exp_alerts")), "no test in which {alert} is silent");
    }
}

#[test]
fn the_configuration_of_the_compose_file_is_one() {
    let environment = Environment::from_map([("STATE_DIRECTORY", "state"), ("RUNTIME_DIRECTORY", "run")]);
    // As mounted: the daemon's file in one directory, the inventory of `config` below it.
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("config")).unwrap();
    for (from, to) in [("deploy/driftd.yaml", "driftd.yaml"), ("config/inventory.yaml", "config/inventory.yaml")] {
        std::fs::copy(checkout(from), home.path().join(to)).unwrap();
    }
    let config = config::load(&home.path().join("driftd.yaml"), &environment).unwrap();
    let compose = text("deploy/compose.yaml");
    for mounted in ["./driftd.yaml:/etc/driftd/driftd.yaml:ro", "../config:/etc/driftd/config:ro"] {
        assert!(compose.contains(mounted), "{mounted}");
    }
    assert_eq!(config.receivers.len(), 2);
}

async fn promtool(arguments: &[&str]) -> Output {
    let program = checkout(".peers/debian/usr/bin/promtool");
    Command::new(program).current_dir(checkout("deploy")).args(arguments).output().await.unwrap()
}

#[tokio::test]
async fn promtool_takes_every_expression_of_the_dashboard() {
    let dashboard: serde_json::Value = serde_json::from_str(&text("deploy/dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let expressions: Vec<String> = targets
        .map(|target| target["expr"].as_str().unwrap().replace("$job", "driftd").replace("$instance", ".*"))
        .collect();
    assert!(expressions.len() > 20, "{expressions:?}");
    let rules: Vec<_> = expressions
        .iter()
        .enumerate()
        .map(|(n, expression)| serde_json::json!({ "record": format!("panel:{n}"), "expr": expression }))
        .collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    // JSON is YAML.
    let groups = serde_json::json!({ "groups": [{ "name": "dashboard", "rules": rules }] });
    std::fs::write(file.path(), groups.to_string()).unwrap();
    let said = promtool(&["check", "rules", file.path().to_str().unwrap()]).await;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
}
