//! Programs as targets: spoken to over standard streams, capped, ended and reaped.

use std::path::PathBuf;

use super::*;
use crate::model::endpoint::Endpoint;
use crate::model::observation::{DetectionState, Outcome};

/// A server in a shell: `$1` is the date it answers `initialize` with, `$2` what is done at each line, before.
const SERVER: &str = r#"
while IFS= read -r line; do
    id=${line#\{\"id\":}; id=${id%%,*}
    eval "$2"
    case $line in
    *'"method":"initialize"'*)
        echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"'$1'","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}}' ;;
    *'"method":"tools/list"'*)
        echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}' ;;
    *'"method":"server/discover"'*)
        echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}' ;;
    esac
done
"#;

fn command(words: &[&str]) -> Scan<'static> {
    let command = Command {
        program: words[0].to_owned(),
        args: words[1..].iter().map(|word| (*word).to_owned()).collect(),
        env: Vec::new(),
        cwd: None,
    };
    let mut scan = scan(&"http://unused.invalid/".parse().unwrap());
    scan.target.endpoint = Endpoint::Command(command);
    scan
}

fn shell(script: &str) -> Scan<'static> {
    command(&["/bin/sh", "-c", script])
}

fn server(date: &str, hook: &str) -> Scan<'static> {
    command(&["/bin/sh", "-c", SERVER, "sh", date, hook])
}

#[tokio::test]
async fn a_program_is_a_target_like_any_other() {
    let seen = server("2025-06-18", "").run().await;
    assert_eq!(seen.outcome, Outcome::Ok, "{:?}", seen.sights);
    assert_eq!(seen.mcp.state, DetectionState::Confirmed);
    assert_eq!(seen.mcp.transport, Some(Transport::Stdio));
    assert_eq!(tools(&seen), [["a"], ["a"]]);
    let expected = [("transport", "stdio"), ("era", "session"), ("date", "2025-06-18")];
    assert_eq!(*page(&seen, "mcp.transport"), Json::from(expected.map(|(name, value)| (name, Json::from(value)))));
}

#[tokio::test]
async fn a_program_that_does_not_know_discover_may_be_silent_about_it_or_end() {
    for hook in ["case $line in *discover*) continue;; esac", "case $line in *discover*) exit 1;; esac"] {
        let seen = server("2024-11-05", hook).with_timeout(1_500).run().await;
        assert_eq!(seen.outcome, Outcome::Ok, "{hook}: {:?}", seen.sights);
        assert_eq!(seen.mcp.version.as_deref(), Some("2024-11-05"));
    }
}

#[tokio::test]
async fn what_is_no_message_on_its_output_is_passed_over() {
    let seen =
        server("2025-11-25", "echo starting up; echo; echo '{\"jsonrpc\":\"2.0\",\"method\":\"x\"}'").run().await;
    assert_eq!(seen.outcome, Outcome::Ok, "{:?}", seen.sights);
}

#[tokio::test]
async fn a_program_gets_its_own_variables_and_few_of_ours() {
    let mut ask = shell("env >&2; exit 1");
    if let Endpoint::Command(command) = &mut ask.target.endpoint {
        command.env = vec![("LEVEL".to_owned(), TextOrSecret::Text("debug".to_owned()))];
    }
    let seen = ask.run().await;
    let said = seen.stderr.unwrap();
    assert!(said.contains("LEVEL=debug"), "{said}");
    assert!(!said.contains("CARGO_PKG_NAME"), "{said}");
}

#[tokio::test]
async fn a_program_that_ends_is_told_with_its_status_and_its_last_words() {
    let seen = shell("echo one >&2; echo 'cannot open \u{1b}[31mthe file' >&2; exit 3").run().await;
    assert_eq!(sights(&seen), ["scan.unreachable/- /endpoint"]);
    assert_eq!(
        seen.sights[0].detail,
        "the program ended before it answered (exit status: 3); it wrote \"cannot open <U+001B>[31mthe file\""
    );
    assert_eq!(unseen(&seen, "mcp.tools").1, "the program ended before it answered (exit status: 3)");
}

#[tokio::test]
async fn what_is_no_program_is_told() {
    for words in [&["/nonexistent/program"][..], &["no-such-program-anywhere"], &["/etc/passwd"], &["/"]] {
        let seen = command(words).run().await;
        assert_eq!(
            unseen(&seen, "mcp.tools"),
            (UnseenKind::Unreachable, "the program could not be started".to_owned())
        );
    }
}

/// A pid that a script wrote, once it is there.
async fn pid(file: &PathBuf) -> i32 {
    loop {
        if let Some(pid) = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok()) {
            return pid;
        }
        tokio::task::yield_now().await;
    }
}

fn is_there(pid: i32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test]
async fn nothing_is_left_of_a_program_that_will_not_end() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let script =
        format!("trap '' TERM; sh -c \"trap '' TERM; while :; do sleep 1; done\" & echo $! > {}; wait", file.display());
    let seen = shell(&script).with_timeout(300).run().await;
    assert_eq!(seen.outcome, Outcome::Unreachable);
    let grandchild = pid(&file).await;
    assert!(!is_there(grandchild), "killed and reaped");
}

#[tokio::test]
async fn what_leaves_its_group_is_ended_too() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let script = format!("setsid sh -c 'echo $$ > {}; sleep 1000' >/dev/null 2>&1 </dev/null & wait", file.display());
    let seen = shell(&script).with_timeout(500).run().await;
    assert_eq!(seen.outcome, Outcome::Unreachable);
    assert!(!is_there(pid(&file).await), "killed and reaped");
}

#[tokio::test]
async fn an_answer_that_comes_late_is_not_taken_for_the_next_one() {
    let late = "case $line in *discover*) sleep 1;; esac";
    let seen = server("2025-06-18", late).with_timeout(700).run().await;
    assert_eq!(seen.outcome, Outcome::Ok, "{:?}", seen.sights);
    assert_eq!(seen.mcp.version.as_deref(), Some("2025-06-18"));
}

#[tokio::test]
async fn a_scan_that_is_given_up_leaves_no_program_behind() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let script = format!("echo $$ > {}; while :; do sleep 1; done", file.display());
    let program = {
        let scan = shell(&script);
        tokio::select! {
            seen = scan.run() => panic!("it never answers: {seen:?}"),
            pid = pid(&file) => pid,
        }
    };
    // The runtime reaps it when it hears that a child has ended.
    while is_there(program) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_program_that_floods_its_output_is_cut() {
    for script in ["yes", "while :; do printf xxxxxxxxxxxxxxxx; done", "head -c 5000000 /dev/zero; sleep 100"] {
        let seen = shell(script).run().await;
        assert_eq!(unseen(&seen, "mcp.tools").0, UnseenKind::TooLarge, "{script}");
    }
}

#[tokio::test]
async fn a_program_that_floods_its_error_output_is_heard_out() {
    let seen = server("2025-06-18", "head -c 300000 /dev/zero | tr '\\0' e >&2").run().await;
    assert_eq!(seen.outcome, Outcome::Ok, "{:?}", seen.sights);
    assert!(seen.stderr.unwrap().len() <= 4 * 1024);
}
