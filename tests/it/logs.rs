//! The log: its fields are those of `docs/LOGGING.md`, and neither peers nor secrets speak in it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::support::checkout;
use crate::support::peer::{Script, ScriptedPeer, tool};
use crate::support::real::{CONSOLE, Real, home};
use crate::support::until;

const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

#[test]
fn every_field_of_the_sources_is_documented_and_no_other() {
    let mut used = BTreeSet::new();
    visit(&checkout("src"), &mut |path| {
        let text = fs::read_to_string(path).unwrap();
        for call in calls(&text) {
            used.extend(fields(call));
        }
    });
    let documented = documented();
    let of = |one: &BTreeSet<String>, other: &BTreeSet<String>| one.difference(other).cloned().collect::<Vec<_>>();
    assert!(used.len() > 10, "the sources are read: {used:?}");
    for own in ["timestamp", "level", "target", "message", "left_out"] {
        assert!(!used.contains(own), "{own} is a member of every JSON line: a field of that name would hide it");
    }
    assert_eq!(of(&used, &documented), [""; 0], "not in docs/LOGGING.md");
    assert_eq!(of(&documented, &used), [""; 0], "in docs/LOGGING.md and logged nowhere");
}

/// `?` writes a value as the code names it.
#[test]
fn no_field_shows_a_name_of_the_code() {
    visit(&checkout("src"), &mut |path| {
        let text = fs::read_to_string(path).unwrap();
        for call in calls(&text) {
            let spelt = call.replace(char::is_whitespace, "");
            let shown = spelt.starts_with('?') || spelt.contains(",?") || spelt.contains("=?");
            assert!(!shown, "{}: {call}", path.display());
        }
    });
}

/// The first column of the table of fields.
fn documented() -> BTreeSet<String> {
    let text = fs::read_to_string(checkout("docs/LOGGING.md")).unwrap();
    let table = text.split("## Fields").nth(1).unwrap().split("\n## ").next().unwrap();
    table.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned())).collect()
}

fn visit(directory: &Path, each: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit(&path, each);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test(&path) {
            each(&path);
        }
    }
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs")
}

/// The arguments of each `tracing::LEVEL!(..)`.
fn calls(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for level in LEVELS {
        let opening = format!("tracing::{level}!(");
        found.extend(text.match_indices(&opening).map(|(at, _)| arguments(text.split_at(at + opening.len()).1)));
    }
    found
}

/// Up to the bracket that closes the call.
fn arguments(text: &str) -> &str {
    let (mut depth, mut quoted, mut escaped) = (1, false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if !quoted => depth += step(character),
            _ => {}
        }
        if depth == 0 {
            return text.split_at(at).0;
        }
    }
    panic!("a call of tracing does not end: {text}")
}

/// The names of the fields before the message.
fn fields(arguments: &str) -> Vec<String> {
    // A string ends the fields: it is the message.
    let end = arguments.match_indices('"').map(|(at, _)| at).find(|at| {
        let before = arguments.split_at(*at).0.trim_end();
        before.is_empty() || before.ends_with(',') && depth_of(before) == 0
    });
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for character in arguments.split_at(end.unwrap_or(arguments.len())).0.chars() {
        depth += step(character);
        match (character, parts.last_mut()) {
            (',', _) if depth == 0 => parts.push(String::new()),
            (_, Some(part)) => part.push(character),
            (_, None) => {}
        }
    }
    let names = parts.into_iter().map(|part| {
        let name = part.split('=').next().unwrap_or_default();
        name.trim().trim_start_matches(['%', '?']).to_owned()
    });
    names.filter(|name| !name.is_empty()).collect()
}

fn depth_of(text: &str) -> i32 {
    text.chars().map(step).sum()
}

fn step(character: char) -> i32 {
    match character {
        '(' | '[' | '{' => 1,
        ')' | ']' | '}' => -1,
        _ => 0,
    }
}

#[test]
fn the_reader_of_sources_finds_fields_of_all_shapes() {
    let text =
        r#"tracing::warn!(target_id = %target.id, %error, ?fault, count, text = f("a, b", c), "said: {x}, y", x = 1);"#;
    let [call] = calls(text).try_into().unwrap();
    assert_eq!(fields(call), ["target_id", "error", "fault", "count", "text"]);
    assert_eq!(fields("\"only words\""), [""; 0]);
}

/// A server whose every text would like to be somebody else's.
fn hostile() -> Script {
    let text = "PEERTEXT\n<3>ERROR driftd: forged\u{1b}[2J\u{9b}2J\u{202e}";
    Script {
        name: text.to_owned(),
        instructions: Some(text.to_owned()),
        tools: Some(vec![tool(text, text), tool("PEERTEXT", text)]),
        ..Script::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_a_peers_text_nor_a_secret_is_in_the_log_at_any_level() {
    let peer = ScriptedPeer::start(hostile()).await;
    let (home, _) = home(&peer.url(), CONSOLE);
    let secret = home.write("token", "s3cret-t0ken-of-ours");
    home.write(
        "inventory.yaml",
        &format!(
            "targets:\n  - {{ id: peer, kind: mcp, url: {:?}, every: 1s, auth: {{ bearer: {{ file: {secret:?} }} }} }}\n",
            peer.url()
        ),
    );
    let mut real = Real::start_with(&home, |command| {
        command.env("DRIFTD_LOG", "trace").stderr(File::create(home.path().join("log")).unwrap());
        command.stdout(File::create(home.path().join("console")).unwrap());
    });
    until("it has scanned some times", || (real.log().matches(": scanned ").count() > 5).then_some(())).await;
    peer.change(|script| script.tools = Some(Vec::new()));
    until("a message is told", || real.log().contains("message delivered").then_some(())).await;
    real.signal("TERM").await;
    assert!(real.end().await.success());
    let log = real.log();
    assert!(!log.contains("PEERTEXT") && !log.contains("forged"), "{log}");
    assert!(!log.contains("s3cret"), "{log}");
    assert!(!log.chars().any(|c| c.is_control() && c != '\n'), "{log:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn json_lines_are_whole_and_have_the_documented_members() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (home, _) = home(&peer.url(), CONSOLE);
    let mut real = Real::start_with(&home, |command| {
        command.env("DRIFTD_LOG_FORMAT", "json").env("DRIFTD_LOG", "debug");
        command.stderr(File::create(home.path().join("log")).unwrap()).stdout(std::process::Stdio::null());
    });
    until("it has scanned", || real.log().contains("\"scanned\"").then_some(())).await;
    real.signal("TERM").await;
    assert!(real.end().await.success());
    for line in real.log().lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for member in ["timestamp", "level", "target", "message"] {
            assert!(value[member].is_string(), "{member}: {line}");
        }
    }
    assert!(real.log().contains("\"message\":\"stopped\""), "{}", real.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_journal_reads_lines_have_a_priority_and_no_time() {
    let peer = ScriptedPeer::start(Script::default()).await;
    let (home, _) = home(&peer.url(), CONSOLE);
    let mut real = Real::start_with(&home, |command| {
        let file = File::create(home.path().join("log")).unwrap();
        let journal = file.metadata().unwrap();
        command.env("JOURNAL_STREAM", format!("{}:{}", journal.dev(), journal.ino()));
        command.stderr(file).stdout(std::process::Stdio::null());
    });
    real.until_said("READY=1", 1).await;
    real.signal("TERM").await;
    assert!(real.end().await.success());
    for line in real.log().lines() {
        assert!(line.starts_with("<6> INFO driftd"), "{line}");
    }
    assert!(real.log().contains("stopped"), "{}", real.log());
}
