//! Configuration from outside: files in; what `config check` and `config schema` say, and their exit codes.

use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::support::checkout;
use crate::support::daemon::{Daemon, Home};

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const TARGET: &str = "- { id: one, kind: mcp, url: \"http://127.0.0.1:1/mcp\" }\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_check_counts_one_as_one() {
    let home = Home::with("inventory: [ inventory.yaml ]\nreceivers: [ { name: a, console: {} } ]\n", TARGET);
    let check = home.driftd(&["config", "check"]).await;
    assert_eq!(check.status.code(), Some(0), "{}", err(&check));
    assert!(out(&check).ends_with("is right: 1 target, 1 receiver, 0 routes\n"), "{}", out(&check));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_knows_the_rules_that_there_are() {
    let target = |rule: &str| {
        format!("- {{ id: a, kind: mcp, url: \"http://127.0.0.1:1/\", ignore: [ {{ rule: {rule}, reason: x }} ] }}\n")
    };
    let home = Home::with("inventory: [ inventory.yaml ]\n", &target("tool.removed"));
    assert_eq!(home.driftd(&["config", "check"]).await.status.code(), Some(0));
    home.write("inventory.yaml", &format!("targets:\n{}", target("tool.remvoed")));
    let check = home.driftd(&["config", "check"]).await;
    assert_eq!(check.status.code(), Some(2));
    for wanted in ["this is no rule", "inventory.yaml:2:", "did you mean `tool.removed`?"] {
        assert!(err(&check).contains(wanted), "{wanted} is missing in: {}", err(&check));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_in_a_shell_says_which_credentials_it_did_not_look_at_and_a_start_takes_none_of_it() {
    let people = "people: [ { name: oncall, token: { credential: oncall }, may: [ decide ] } ]\n";
    let receivers = "receivers:\n\
                     - { name: hook, webhook: { url: { credential: url }, secret: { credential: key } } }\n\
                     - { name: mail, email: { from: a@example.com, to: [ b@example.com ], smtp: { host: localhost, \
                     username: u, password: { credential: smtp } } } }\n";
    let home = Home::with(&format!("metrics_listen: 127.0.0.1:0\n{people}{receivers}"), TARGET);
    let run = async |arguments: &[&str]| {
        home.command().env_remove("CREDENTIALS_DIRECTORY").args(arguments).output().await.unwrap()
    };
    let check = run(&["config", "check"]).await;
    assert_eq!(check.status.code(), Some(0), "{}", err(&check));
    for (place, name) in [(":2:", "oncall"), (":4:", "url"), (":4:", "key"), (":5:", "smtp")] {
        let told = format!(
            "credential {name} is read from $CREDENTIALS_DIRECTORY, which is set in the unit only: not looked at"
        );
        let line = out(&check).lines().find(|line| line.contains(&told)).map(str::to_owned);
        assert!(line.is_some_and(|line| line.contains(place)), "{name}: {}", out(&check));
    }
    let started = run(&["run"]).await;
    assert_eq!(started.status.code(), Some(2), "{}", err(&started));
    assert!(err(&started).contains("the unit passes no credentials"), "{}", err(&started));
    // What is passed is looked at, and a variable that is not set stays a mistake.
    let bad =
        home.command().env("CREDENTIALS_DIRECTORY", home.path()).args(["config", "check"]).output().await.unwrap();
    assert_eq!(bad.status.code(), Some(2), "{}", out(&bad));
    home.write("driftd.yaml", "receivers: [ { name: hook, webhook: { url: { env: DRIFTD_NOT_SET } } } ]\n");
    let unset = run(&["config", "check"]).await;
    assert_eq!(unset.status.code(), Some(2));
    assert!(err(&unset).contains("the unit's environment may have it"), "{}", err(&unset));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_tells_what_would_be_held_and_what_has_ended() {
    let home = Home::with(
        "inventory: [ inventory.yaml, { path: gen.yaml, trust: listed } ]\n",
        "- id: a\n  kind: mcp\n  url: http://127.0.0.1:1/mcp\n\
         \x20 ignore: [ { rule: tool.removed, reason: their move, until: 2020-01-01 } ]\n",
    );
    home.write("gen.yaml", "targets:\n- { id: g, kind: mcp, url: \"http://169.254.169.254/\", command: [ sh ] }\n");
    let check = home.driftd(&["config", "check"]).await;
    assert_eq!(check.status.code(), Some(2), "{}", err(&check));
    for wanted in [
        "but 1 inventory file would be held",
        "gen.yaml: forbidden",
        "gen.yaml:2:28: a listed file may not name an address of this kind: metadata",
        "a listed file may not give `command`",
        "an `ignore` of a ended at 2020-01-02T00:00:00Z and may be taken out: their move",
    ] {
        assert!(out(&check).contains(wanted), "{wanted} is missing in: {}", out(&check));
    }
    let check = home.driftd(&["config", "check", "--output", "json"]).await;
    let document: Value = serde_json::from_slice(&check.stdout).unwrap();
    assert_eq!((&document["targets"], &document["held"][0]["reason"]), (&1.into(), &"forbidden".into()));
    assert_eq!(document["expired"][0]["targets"][0], "a");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_configuration_all_places_are_named() {
    // The file in /etc is another's to write: without it both places are named.
    if Path::new("/etc/driftd/driftd.yaml").exists() {
        return;
    }
    let home = Home::new();
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_driftd"));
    command.env_remove("DRIFTD_CONFIG").args(["config", "check"]).current_dir(home.path()).kill_on_drop(true);
    let check = command.output().await.unwrap();
    assert_eq!(check.status.code(), Some(2));
    for wanted in ["/etc/driftd/driftd.yaml", "./config/driftd.yaml", "--config", "DRIFTD_CONFIG"] {
        assert!(err(&check).contains(wanted), "{wanted} is missing in: {}", err(&check));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schemas_that_are_shipped_are_what_the_program_writes() {
    let home = Home::new();
    for (name, file) in [("driftd", "config/driftd.schema.json"), ("inventory", "config/inventory.schema.json")] {
        let schema = home.driftd(&["config", "schema", name]).await;
        assert_eq!(schema.status.code(), Some(0), "{}", err(&schema));
        assert_eq!(out(&schema), std::fs::read_to_string(checkout(file)).unwrap(), "{file}");
    }
    let listed = home.driftd(&["config", "schema", "listed"]).await;
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let keys = &listed["properties"]["targets"]["items"]["properties"];
    assert!(keys.get("profile").is_some() && keys.get("auth").is_none(), "{keys}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_the_shipped_examples_name_are_rules() {
    let rules: Value =
        serde_json::from_slice(&Home::new().driftd(&["rules", "--output", "json"]).await.stdout).unwrap();
    let ids: Vec<&str> = rules.as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    let mut named = 0;
    for file in ["config/driftd.yaml", "config/inventory.yaml"] {
        let text = std::fs::read_to_string(checkout(file)).unwrap();
        for rule in text.split("{ rule: ").skip(1).filter_map(|rest| rest.split([',', ' ']).next()) {
            assert!(ids.contains(&rule), "{rule} of {file}");
            named += 1;
        }
    }
    assert!(named >= 4, "{named}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_is_asked_also_while_its_inventory_file_is_wrong() {
    let home = Home::with("metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\n", "  []\n");
    let daemon = Daemon::start(&home).await;
    home.write("inventory.yaml", "targets: {}\n");
    let targets = home.driftd(&["targets"]).await;
    assert_eq!(targets.status.code(), Some(0), "{}", err(&targets));
    daemon.stop().await;
    let targets = home.driftd(&["targets"]).await;
    assert_eq!(targets.status.code(), Some(2));
    assert!(err(&targets).contains("inventory.yaml:1:10:"), "{}", err(&targets));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_is_asked_also_beside_a_wrong_file_of_its_own_and_secrets_that_it_alone_has() {
    let home = Home::with("metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\n", "  []\n");
    let daemon = Daemon::start(&home).await;
    home.write(
        "driftd.yaml",
        "inventory: [ inventory.yaml ]\nroutes2: []\npeople: [ { name: a, token: { credential: a }, may: decide } ]\n",
    );
    for verb in [&["targets"][..], &["drift"], &["alerts"], &["review"], &["history"], &["store", "check"]] {
        let said = home.driftd(verb).await;
        assert_eq!(said.status.code(), Some(0), "{verb:?}: {}", err(&said));
    }
    // What was meant by it is not known.
    home.write("driftd.yaml", "control: [ a ]\n");
    let said = home.driftd(&["targets"]).await;
    assert_eq!(said.status.code(), Some(2));
    assert!(err(&said).contains("driftd.yaml:1:10: `control` has to be a path"), "{}", err(&said));
    daemon.stop().await;
    // Without a daemon, secrets of people and receivers are nothing that an answer needs.
    home.write(
        "driftd.yaml",
        "inventory: [ inventory.yaml ]\npeople: [ { name: a, token: { credential: a }, may: decide } ]\n",
    );
    for verb in [&["targets"][..], &["history"], &["store", "check"]] {
        let said = home.driftd(verb).await;
        assert_eq!(said.status.code(), Some(0), "{verb:?}: {}", err(&said));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_standard_error_is_full_ends_as_it_would() {
    let home = Home::with("routes2: []\n", "  []\n");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let status = home.command().args(["config", "check"]).stderr(full).stdout(Stdio::null()).status().await.unwrap();
    assert_eq!(status.code(), Some(2));
}
