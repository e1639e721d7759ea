//! `init`: files that work, secrets that are never copied, nothing overwritten.

use std::path::Path;
use std::process::{Output, Stdio};

use tokio::process::Command;

use crate::support::peer::{Script, ScriptedPeer};

async fn driftd(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_driftd"));
    command.current_dir(directory).args(arguments).env_remove("DRIFTD_CONFIG").stdin(Stdio::null()).kill_on_drop(true);
    command.output().await.unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn init_scans_a_server_writes_files_that_are_right_and_overwrites_nothing() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let home = tempfile::tempdir().unwrap();
    let arguments = [
        "init",
        "--url",
        &peer.url(),
        "--id",
        "tickets",
        "--webhook",
        "https://hook.example.com/x",
        "--mail",
        "ops@example.com",
        "--smtp",
        "smtp.example.com",
    ];
    let init = driftd(home.path(), &arguments).await;
    assert!(init.status.success(), "{}", said(&init));
    for wanted in ["list_invoices", "verdict", "1 target", "next: driftd run"] {
        assert!(said(&init).contains(wanted), "{wanted} is missing in:\n{}", said(&init));
    }
    let check = driftd(home.path(), &["config", "check"]).await;
    assert!(said(&check).contains("1 target, 3 receivers"), "{}", said(&check));
    for name in ["driftd", "inventory"] {
        let config = home.path().join("config");
        let file = std::fs::read_to_string(config.join(format!("{name}.yaml"))).unwrap();
        assert!(file.starts_with(&format!("# yaml-language-server: $schema={name}.schema.json\n")), "{file}");
        assert!(config.join(format!("{name}.schema.json")).exists(), "what the editor is sent to is there");
    }
    let scan = driftd(home.path(), &["scan", "tickets"]).await;
    assert!(scan.status.success(), "{}", said(&scan));

    let inventory = home.path().join("config/inventory.yaml");
    let written = std::fs::read_to_string(&inventory).unwrap();
    let again = driftd(home.path(), &["init"]).await;
    assert_eq!(again.status.code(), Some(2));
    assert!(said(&again).contains("is there already"), "{}", said(&again));
    assert_eq!(std::fs::read_to_string(&inventory).unwrap(), written);
}

#[tokio::test(flavor = "multi_thread")]
async fn init_without_anything_starts_anywhere() {
    let home = tempfile::tempdir().unwrap();
    let init = driftd(home.path(), &["init"]).await;
    assert!(init.status.success(), "{}", said(&init));
    let check = driftd(home.path(), &["config", "check"]).await;
    assert!(said(&check).contains("0 targets, 1 receiver,"), "{}", said(&check));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_refers_to_secrets_and_says_which_are_missing() {
    const SECRET: &str = "sk-5a41c0ffee";
    let home = tempfile::tempdir().unwrap();
    let servers = serde_json::json!({ "mcpServers": {
        "tickets": { "url": "https://mcp.example.com/mcp", "headers": { "Authorization": format!("Bearer {SECRET}"), "X-Api-Key": SECRET } },
        "7": { "url": "https://seven.example.com/mcp" },
        "files": { "command": "npx", "args": ["server-filesystem", SECRET] },
        "clock": { "command": "uvx", "args": ["mcp-server-time@2026.1.26"], "env": { "TZ": "UTC", "API_KEY": SECRET } },
    } });
    std::fs::write(home.path().join("mcp.json"), servers.to_string()).unwrap();
    let init = driftd(home.path(), &["init", "--from", "mcp.json"]).await;
    assert!(init.status.success(), "{}", said(&init));
    for wanted in ["TICKETS_TOKEN", "TICKETS_X_API_KEY", "files was left out", "CLOCK_API_KEY", "3 targets"] {
        assert!(said(&init).contains(wanted), "{wanted} is missing in:\n{}", said(&init));
    }
    let check = driftd(home.path(), &["config", "check"]).await;
    assert!(said(&check).contains("3 targets"), "{}", said(&check));
    for file in ["config/driftd.yaml", "config/inventory.yaml"] {
        assert!(!std::fs::read_to_string(home.path().join(file)).unwrap().contains(SECRET), "{file}");
    }
    assert!(!said(&init).contains(SECRET), "{}", said(&init));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_init_is_told_wrongly_writes_nothing() {
    let home = tempfile::tempdir().unwrap();
    for arguments in [
        &["init", "--url", "ftp://a.example/"][..],
        &["init", "--url", "https://me:secret@a.example/mcp"],
        &["init", "--url", "http://127.0.0.1:1/mcp", "--id", "Two Words"],
        &["init", "--url", "http://127.0.0.1:1/mcp", "--token-env", "sk-1234"],
        &["init", "--webhook", "not a variable"],
        &["init", "--mail", "nobody", "--smtp", "localhost"],
        &["init", "--mail", "ops@example.com"],
        &["init", "--from", "missing.json"],
    ] {
        let init = driftd(home.path(), arguments).await;
        assert_eq!(init.status.code(), Some(2), "{arguments:?}: {}", said(&init));
        assert!(!said(&init).contains("sk-1234"), "{}", said(&init));
        assert!(!home.path().join("config").exists(), "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn completions_and_the_man_page_need_nothing() {
    let home = tempfile::tempdir().unwrap();
    let bash = driftd(home.path(), &["completions", "bash"]).await;
    assert!(bash.status.success() && said(&bash).contains("_driftd"), "{}", said(&bash));
    let man = driftd(home.path(), &["man"]).await;
    assert!(
        man.status.success() && said(&man).starts_with(".ie") || said(&man).contains(".TH DRIFTD"),
        "{}",
        said(&man)
    );
}
