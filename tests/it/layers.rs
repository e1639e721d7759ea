//! Holds the sources to the picture in `docs/ARCHITECTURE.md`: which module may name which, and what the pure core
//! never names. A new module, or a new arrow, is drawn there and here first.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::checkout;

/// Each module of `src` and those that it may name.
const ARROWS: [(&str, &[&str]); 32] = [
    // Nouns and pure steps.
    ("model", &[]),
    ("judge", &["model"]),
    // What serves loops and edges.
    ("clock", &[]),
    ("backoff", &[]),
    ("crash", &[]),
    ("pulse", &[]),
    ("service_manager", &[]),
    ("secret", &["model"]),
    ("signals", &[]),
    ("serving", &[]),
    ("logging", &["model"]),
    ("net", &["model", "secret"]),
    ("metrics", &["model"]),
    // Edges: they do not know each other.
    ("config", &["model", "secret", "net"]),
    ("probe", &["model", "net", "secret"]),
    ("store", &["model"]),
    ("receiver", &["model"]),
    // Loops and doors: time, order, retries, questions.
    ("plan", &["model", "config"]),
    ("fleet", &["model", "judge", "clock", "net", "metrics", "store", "plan"]),
    ("scan", &["model", "judge", "clock", "crash", "net", "secret", "metrics", "probe", "store", "plan", "fleet"]),
    ("watch", &["model", "clock", "crash", "metrics", "plan", "pulse", "scan"]),
    ("deliver", &["model", "clock", "crash", "backoff", "pulse", "receiver"]),
    ("reload", &["model", "config", "signals"]),
    ("operations", &["model", "judge", "clock", "plan", "receiver", "reload", "store", "scan", "watch"]),
    ("http", &["model", "secret", "metrics", "serving", "plan", "operations", "pulse"]),
    ("control", &["operations", "serving"]),
    ("supervise", &["pulse", "signals"]),
    // The whole.
    (
        "daemon",
        &[
            "model",
            "judge",
            "clock",
            "secret",
            "signals",
            "net",
            "metrics",
            "config",
            "plan",
            "store",
            "receiver",
            "scan",
            "watch",
            "deliver",
            "reload",
            "operations",
            "http",
            "control",
            "pulse",
            "service_manager",
            "supervise",
        ],
    ),
    ("demo", &["clock", "config", "control", "daemon", "operations", "secret", "signals"]),
    (
        "cli",
        &[
            "model",
            "judge",
            "clock",
            "secret",
            "signals",
            "logging",
            "net",
            "config",
            "plan",
            "store",
            "receiver",
            "reload",
            "scan",
            "operations",
            "control",
            "daemon",
            "demo",
        ],
    ),
    ("lib", &[]),
    ("main", &[]),
];

/// What no file of the pure core may contain, whatever it is called there.
const IMPURE: [&str; 14] = [
    "async ",
    ".await",
    "tokio",
    "rand",
    "std::fs",
    "std::net",
    "std::env",
    "std::thread",
    "std::process",
    "Instant",
    "SystemTime",
    "Timestamp::now",
    "reqwest",
    "sqlx",
];

const PURE: [&str; 2] = ["model", "judge"];

#[test]
fn no_module_names_another_that_the_picture_does_not_allow() {
    let arrows = BTreeMap::from(ARROWS);
    let mut wrong = Vec::new();
    for (module, path) in sources() {
        let Some(allowed) = arrows.get(module.as_str()) else {
            wrong.push(format!("{}: the module {module} is not in the picture", path.display()));
            continue;
        };
        for named in named_modules(&code_of(&path)) {
            if named != module && !allowed.contains(&named.as_str()) {
                wrong.push(format!("{}: {module} may not name {named}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_core_is_pure() {
    let mut wrong = Vec::new();
    for (module, path) in sources() {
        if PURE.contains(&module.as_str()) {
            let code = code_of(&path);
            let found = IMPURE.iter().filter(|word| mentions(&code, word));
            wrong.extend(found.map(|word| format!("{}: {word}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "the core has no clock, randomness, async or I/O:\n{}", wrong.join("\n"));
}

#[test]
fn the_picture_has_no_module_that_is_gone() {
    let present: BTreeSet<String> = sources().into_iter().map(|(module, _)| module).collect();
    let gone: Vec<&str> =
        ARROWS.iter().map(|(module, _)| *module).filter(|module| !present.contains(*module)).collect();
    assert!(gone.is_empty(), "{gone:?}");
}

#[test]
fn every_way_to_name_a_module_is_read() {
    let code = "use crate::net::Client;\nuse crate::{judge, model::{drift, rule}};\nlet x = crate::store::open();\n\
                pub(crate) fn f() {}\npub(in crate::probe) fn g() {}\nuse crate::{\n    clock::Clock,\n    scan,\n};\n";
    let named: Vec<String> = named_modules(code).into_iter().collect();
    assert_eq!(named, ["clock", "judge", "model", "net", "probe", "scan", "store"]);
}

#[test]
fn a_word_is_found_whole_or_not_at_all() {
    assert!(mentions("use tokio::time;", "tokio"));
    assert!(mentions("x.await?", ".await"));
    assert!(!mentions("\"base.awaiting-approval\"", ".await"));
    assert!(!mentions("let operand = 1;", "rand"));
}

/// Each Rust file under `src` and the top-level module that it belongs to.
fn sources() -> Vec<(String, PathBuf)> {
    let root = checkout("src");
    let mut found = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test(&path) {
                found.push((module_of(path.strip_prefix(&root).unwrap()), path));
            }
        }
    }
    assert!(found.len() > ARROWS.len(), "the sources are not where they were");
    found
}

/// Tests may read fixtures and name what they like.
fn is_test(path: &Path) -> bool {
    let inside = path.strip_prefix(checkout("src")).unwrap();
    inside.iter().any(|part| part == "tests" || part == "tests.rs" || part == "sample.rs")
}

fn module_of(path: &Path) -> String {
    let first = path.iter().next().unwrap().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The file without its comments, in which any module may be named.
fn code_of(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned() + "\n";
    text.lines().map(code).collect()
}

/// Whether `word` stands in `code`, not as a part of a longer one.
fn mentions(code: &str, word: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code.get(..at).and_then(|before| before.chars().next_back());
        let after = code.get(at + word.len()..).and_then(|after| after.chars().next());
        let begins = !word.starts_with(part) || !before.is_some_and(part);
        begins && !after.is_some_and(part)
    })
}

/// The modules that code names by way of `crate::`.
fn named_modules(code: &str) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(group) => named.extend(first_segments(group)),
            None => named.extend(identifier(rest)),
        }
    }
    named
}

/// The first segment of each path of a braced group, whose opening brace is behind us.
fn first_segments(group: &str) -> Vec<String> {
    let mut segments = Vec::new();
    let (mut depth, mut start) = (0_usize, 0_usize);
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' | ',' if depth == 0 => {
                segments.extend(group.get(start..at).and_then(|path| identifier(path.trim_start())));
                start = at + 1;
                if character == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    segments
}

fn identifier(text: &str) -> Option<String> {
    let name: String = text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    // A type or macro at the crate's root is no module.
    name.starts_with(|c: char| c.is_ascii_lowercase()).then_some(name)
}
