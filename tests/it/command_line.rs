//! The real program: what it prints, and how it exits.

use std::process::Output;

use serde_json::Value;

use crate::sight;
use crate::support::daemon::{Daemon, Home};
use crate::support::peer::{Quirk, Script, ScriptedPeer, tool};
use crate::support::webhook::Hook;

const EMPTY: &str =
    "metrics_listen: 127.0.0.1:0\ninventory: [ inventory.yaml ]\nreceivers: [ { name: terminal, console: {} } ]\n";

fn empty() -> Home {
    let home = Home::new();
    home.write("driftd.yaml", EMPTY);
    home.write("inventory.yaml", "targets: []\n");
    home
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}{}", out(output), err(output)))
}

#[tokio::test(flavor = "multi_thread")]
async fn scan_of_a_url_writes_the_snapshot_document() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = empty();
    let saved = home.path().join("one.json");
    let scan = home.driftd(&["scan", &peer.url(), "--output", "json", "--save", saved.to_str().unwrap()]).await;
    assert_eq!(scan.status.code(), Some(0), "{}", err(&scan));
    let snapshot = document(&scan);
    assert_eq!(snapshot["schema"], "driftd.snapshot/1");
    assert_eq!(snapshot["model"], 1);
    assert_eq!(snapshot["target"]["kind"], "mcp");
    assert_eq!(snapshot["verdict"], "ok", "{snapshot:#}");
    assert_eq!(snapshot["protocols"]["mcp"]["state"], "confirmed");
    assert_eq!(snapshot["protocols"]["mcp"]["era"], "stateless");
    assert_eq!(snapshot["protocols"]["mcp"]["version"], "2026-07-28");
    assert_eq!(snapshot["facets"]["mcp.tools"]["state"], "seen");
    assert_eq!(snapshot["facets"]["mcp.tools"]["value"]["order"], serde_json::json!(["list_invoices", "get_invoice"]));
    assert_eq!(snapshot["facets"]["mcp.prompts"]["state"], "absent");
    assert_eq!(serde_json::from_slice::<Value>(&std::fs::read(&saved).unwrap()).unwrap(), snapshot);

    let human = home.driftd(&["scan", &peer.url()]).await;
    assert!(out(&human).contains("MCP 2026-07-28, stateless, streamable_http"), "{}", out(&human));
    assert!(!home.path().join("driftd.db").exists(), "a scan needs no store and writes none");
}

#[tokio::test(flavor = "multi_thread")]
async fn scan_exits_3_where_it_got_no_verdict() {
    let refused = ScriptedPeer::start(Script { guard: Some("t0ken"), ..Script::default() }).await;
    let guarded = empty().driftd(&["scan", &refused.url()]).await;
    assert_eq!(guarded.status.code(), Some(0), "lists behind a 401 are not watched without a credential");
    assert!(out(&guarded).contains("ok (door only: tools not read, no credential"), "{}", out(&guarded));
    let mut peer = ScriptedPeer::start(Script { quirk: Quirk::ListStatus(500), ..Script::default() }).await;
    let home = empty();
    let partial = home.driftd(&["scan", &peer.url()]).await;
    assert_eq!(partial.status.code(), Some(3), "{}", out(&partial));
    assert!(out(&partial).contains("mcp.tools"), "{}", out(&partial));
    peer.down().await;
    let nothing = home.driftd(&["scan", &peer.url(), "--output", "json"]).await;
    assert_eq!(nothing.status.code(), Some(3));
    assert_eq!(document(&nothing)["facets"]["mcp.tools"]["state"], "unseen");
    let usage = home.driftd(&["scan", "ftp://127.0.0.1/"]).await;
    assert_eq!(usage.status.code(), Some(2));
    let unknown = home.driftd(&["scan", "nobody"]).await;
    assert_eq!(unknown.status.code(), Some(2));
    assert!(err(&unknown).contains("nobody"), "{}", err(&unknown));
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_of_saved_snapshots_tells_what_the_daemon_would() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = empty();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    home.driftd(&["scan", &peer.url(), "--save", &path("old.json")]).await;
    peer.change(|script| {
        script.tools = Some(vec![tool("list_invoices", "Lists the invoices of a customer.")]);
    });
    home.driftd(&["scan", &peer.url(), "--save", &path("new.json")]).await;
    let same = home.driftd(&["diff", &path("old.json"), &path("old.json")]).await;
    assert_eq!((same.status.code(), out(&same).as_str()), (Some(0), "no drift\n"), "{}", err(&same));
    let drift = home.driftd(&["diff", &path("old.json"), &path("new.json"), "--output", "json"]).await;
    assert_eq!(drift.status.code(), Some(1), "{}", err(&drift));
    let document = document(&drift);
    assert_eq!(document["schema"], "driftd.diff/1");
    assert_eq!(document["drifts"][0]["rule"], "tool.removed");
    assert_eq!(document["drifts"][0]["path"], "/items/get_invoice");
    assert_eq!(document["units"][0]["items"], serde_json::json!(["get_invoice"]));
    let human = home.driftd(&["diff", &path("old.json"), &path("new.json")]).await;
    assert!(out(&human).contains("[tool.removed]") && out(&human).contains("get_invoice"), "{}", out(&human));
    let lenient = home.driftd(&["diff", &path("old.json"), &path("new.json"), "--fail-on", "critical"]).await;
    assert_eq!(lenient.status.code(), Some(0));

    peer.change(|script| {
        script.tools = Some(vec![tool("list_invoices", "Lists the invoices of a supplier.")]);
        script.version = "3.2.0".to_owned();
    });
    home.driftd(&["scan", &peer.url(), "--save", &path("newest.json")]).await;
    let words = home.driftd(&["diff", &path("new.json"), &path("newest.json")]).await;
    assert!(out(&words).contains("[-customer.-] {+supplier.+}"), "what differs is shown: {}", out(&words));
    assert!(out(&words).contains("3.1.0") && out(&words).contains("-> "), "{}", out(&words));

    let bare = |tools: Value| serde_json::json!({ "tools": tools }).to_string();
    home.write("bare-old.json", &bare(serde_json::json!([tool("a", "One."), tool("b", "Two.")])));
    home.write("bare-new.json", &bare(serde_json::json!([tool("a", "One.")])));
    let bare = home.driftd(&["diff", &path("bare-old.json"), &path("bare-new.json")]).await;
    assert_eq!(bare.status.code(), Some(1), "{}", err(&bare));
    home.write("nonsense.json", "[1, 2");
    let nonsense = home.driftd(&["diff", &path("nonsense.json"), &path("new.json")]).await;
    assert_eq!(nonsense.status.code(), Some(2));
    assert!(err(&nonsense).contains("nonsense.json"), "{}", err(&nonsense));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_in_the_configuration_names_file_line_and_column() {
    let home = empty();
    assert_eq!(home.driftd(&["config", "check"]).await.status.code(), Some(0));
    home.write("inventory.yaml", "targets:\n  - { id: one, kind: mcp, url: \"http://127.0.0.1:1/mcp\", evry: 15m }\n");
    let check = home.driftd(&["config", "check"]).await;
    assert_eq!(check.status.code(), Some(2));
    let said = err(&check);
    for wanted in ["inventory.yaml:2:", "evry", "every"] {
        assert!(said.contains(wanted), "{wanted} is missing in: {said}");
    }
    let run = home.driftd(&["run"]).await;
    assert_eq!(run.status.code(), Some(2));
    assert!(err(&run).contains("inventory.yaml:2:"), "start says the same: {}", err(&run));
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_listed_and_explained_by_id_and_alias() {
    let home = empty();
    let rules = home.driftd(&["rules", "--output", "json"]).await;
    let rules = document(&rules);
    let removed = rules.as_array().unwrap().iter().find(|rule| rule["id"] == "tool.removed").unwrap().clone();
    assert_eq!(removed["cases"][0]["severity"], "high");
    assert_eq!(removed["cases"][0]["impact"], serde_json::json!(["breaking"]));
    let explain = home.driftd(&["explain", "tool.renamed"]).await;
    assert!(out(&explain).contains("tool.renamed") && out(&explain).contains("What to do"), "{}", out(&explain));
    let unknown = home.driftd(&["explain", "tool.renamd"]).await;
    assert_eq!(unknown.status.code(), Some(2));
    assert!(err(&unknown).contains("tool.renamed"), "{}", err(&unknown));
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_answered_with_the_daemon_and_without() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    let with = home.driftd(&["targets", "--output", "json"]).await;
    assert_eq!(document(&with)[0]["id"], "peer", "{}", err(&with));
    let baseline = home.driftd(&["baseline", "show", "peer", "--output", "json"]).await;
    let digest = document(&baseline)["newest"].as_str().unwrap().to_owned();
    daemon.stop().await;

    let without = home.driftd(&["targets", "--output", "json"]).await;
    assert_eq!(document(&without)[0]["outcome"], "ok", "{}", err(&without));
    let scan = home.driftd(&["targets", "scan", "peer"]).await;
    assert_eq!(scan.status.code(), Some(2));
    assert!(err(&scan).contains("daemon"), "{}", err(&scan));
    let prefix: String = digest.chars().skip("sha256:".len()).take(8).collect();
    let accept = ["baseline", "accept", &format!("peer@{prefix}"), "--reason", "read and trusted"];
    let accept = home.driftd(&accept).await;
    assert!(accept.status.success(), "{}", err(&accept));
    let baseline = home.driftd(&["baseline", "show", "peer", "--output", "json"]).await;
    let facets = document(&baseline)["facets"].clone();
    assert!(facets.as_array().unwrap().iter().all(|facet| facet["reviewed"] == true), "{facets:#}");
    let history = home.driftd(&["history", "peer"]).await;
    assert!(out(&history).contains("base.approved"), "{}", out(&history));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_daemon_on_one_store_is_refused() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let hook = Hook::start().await;
    let home = sight::home(&peer.url(), &hook);
    let daemon = Daemon::start(&home).await;
    let second = home.driftd(&["run"]).await;
    assert_eq!(second.status.code(), Some(4), "the first may end");
    assert!(err(&second).contains("lock"), "{}", err(&second));
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_shows_drift_caught_decided_and_resolved() {
    let home = empty();
    let demo = tokio::time::timeout(crate::support::PATIENCE * 2, home.command().arg("demo").output()).await;
    let demo = demo.expect("the demo ends").unwrap();
    let said = out(&demo);
    assert!(demo.status.success(), "{said}{}", err(&demo));
    for wanted in ["help-desk", "CRITICAL", "search_tickets", "create_refund", "drift accept", "accepted", "whole life"]
    {
        assert!(said.contains(wanted), "{wanted} is missing in:\n{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bearer_token_reaches_the_server_and_nothing_else() {
    const TOKEN: &str = "tok-5f2c9a71e0d34b";
    let peer = ScriptedPeer::start(Script { name: format!("echo {TOKEN}"), ..Script::default() }).await;
    let hook = Hook::start().await;
    let home = sight::home_with(&peer.url(), &hook, "every: 24h, auth: { bearer: { file: token } }");
    home.write("token", TOKEN);
    let daemon = Daemon::start(&home).await;
    daemon.take_baseline("peer").await;
    peer.change(|script| script.instructions = Some(format!("Use {TOKEN} everywhere.")));
    daemon.scan_twice("peer", std::time::Duration::from_mins(5)).await;
    daemon.delivered().await;
    let body = hook.wait_for(1).await.remove(0).body.to_string();
    assert!(!body.contains(TOKEN), "{body}");
    for arguments in [&["targets", "show", "peer"][..], &["drift"], &["history"], &["scan", "peer", "--output", "json"]]
    {
        let said = home.driftd(arguments).await;
        assert!(!out(&said).contains(TOKEN) && !err(&said).contains(TOKEN), "{arguments:?}: {}", out(&said));
    }
    assert!(!daemon.metrics().await.contains(TOKEN));
    daemon.stop().await;
    for entry in std::fs::read_dir(home.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && !path.ends_with("token") {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes());
            assert!(!found, "the token is in {}", path.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_message_to_the_console_leaves_standard_output_to_the_document() {
    let said = empty().driftd(&["--output", "json", "receiver", "test", "terminal"]).await;
    assert_eq!(said.status.code(), Some(0), "{}", err(&said));
    assert_eq!(document(&said)["receiver"], "terminal");
    assert!(err(&said).contains("terminal"), "the message: {}", err(&said));
}

#[tokio::test(flavor = "multi_thread")]
async fn before_the_first_run_targets_says_that_nothing_was_scanned() {
    let home = empty();
    home.write("inventory.yaml", "targets:\n  - { id: a, kind: mcp, url: \"http://127.0.0.1:9/\" }\n");
    assert_eq!(out(&home.driftd(&["targets"]).await), "nothing was scanned yet: start `driftd run`\n");
    home.write("inventory.yaml", "targets: []\n");
    assert!(out(&home.driftd(&["targets"]).await).starts_with("no targets"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_without_a_reason_is_told_so_before_its_incident_is_looked_for() {
    let home = empty();
    for verb in ["accept", "reject"] {
        let said = home.driftd(&["drift", verb, "4F7K2.1"]).await;
        assert_eq!(said.status.code(), Some(2));
        assert!(err(&said).contains("add --reason") && !err(&said).contains("4F7K2"), "{}", err(&said));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_another_command_holds_is_told_as_that() {
    let home = empty();
    let _lock = driftd::store::Store::lock(&home.path().join("driftd.db")).unwrap();
    let said = home.driftd(&["targets"]).await;
    assert_eq!(said.status.code(), Some(2));
    let holder = format!("in use by process {}, and nothing listens on", std::process::id());
    assert!(err(&said).contains(&holder) && !err(&said).contains('?'), "{}", err(&said));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_system_is_told_once() {
    let home = empty();
    let said = home.driftd(&["store", "check"]).await;
    assert_eq!(err(&said).matches("os error").count(), 1, "{}", err(&said));
}
