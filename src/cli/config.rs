//! `config check` and `config schema`: what needs neither store nor daemon.

use std::fmt::Write as _;
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::exit::Exit;
use super::page::{self, counted};
use super::{Output, SchemaFile};
use crate::clock::Clock;
use crate::config::{self, Config, Described, Held};
use crate::judge::rules;
use crate::model::policy::Ignore;
use crate::model::target::TargetId;
use crate::model::text;
use crate::secret::Environment;

/// Reads all files and tells every mistake; what a daemon would hold is a mistake here. What was in use before is not
/// known, so that a file which removes too much is found by the daemon alone; and credentials are the unit's, so that in
/// a shell they are not looked at.
///
/// # Errors
/// The mistakes.
pub(super) fn check(file: Option<&Path>, output: Output) -> anyhow::Result<Exit> {
    let environment = Environment::process();
    let file = config::locate(file, &environment);
    let rules: Vec<&str> = rules::all().map(|rule| rule.id).collect();
    let config = config::check(&file, &environment, &rules)?;
    let now = Clock::system().now();
    match output {
        Output::Human => page::write(&in_words(&config, now))?,
        Output::Json => page::json(&document(&config, now))?,
    }
    Ok(if config.held.is_empty() { Exit::Fine } else { Exit::Usage })
}

/// Writes the schema of a file.
///
/// # Errors
/// When standard output cannot be written to.
pub(super) fn schema(file: SchemaFile) -> anyhow::Result<Exit> {
    page::json(&config::schema(match file {
        SchemaFile::Driftd => Described::Daemon,
        SchemaFile::Inventory => Described::Inventory,
        SchemaFile::Listed => Described::Listed,
    }))?;
    Ok(Exit::Fine)
}

fn in_words(config: &Config, now: Timestamp) -> String {
    let counts = [
        counted(config.targets.len(), "target"),
        counted(config.receivers.len(), "receiver"),
        counted(config.routes.len(), "route"),
    ];
    let mut page = format!("{} is right: {}\n", text::inert(&config.file.to_string_lossy(), 300), counts.join(", "));
    if !config.held.is_empty() {
        let _ = writeln!(page, "but {} would be held:", counted(config.held.len(), "inventory file"));
    }
    for held in &config.held {
        let _ = writeln!(page, "\n{}: {}", text::inert(&held.path.to_string_lossy(), 300), held.reason);
        for mistake in &held.mistakes {
            let _ = writeln!(page, "\n{mistake}");
        }
    }
    for warning in &config.warnings {
        let _ = writeln!(page, "\n{warning}");
    }
    for (ignore, targets) in config.expired(now) {
        let _ = writeln!(page, "\n{}", expired(ignore, &targets));
    }
    page
}

fn expired(ignore: &Ignore, targets: &[&TargetId]) -> String {
    let until = ignore.until.map(|until| until.to_string()).unwrap_or_default();
    let named: Vec<&str> = targets.iter().take(3).map(|id| id.as_str()).collect();
    let more = targets.len().saturating_sub(named.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    let reason = text::inert(&ignore.reason, 300);
    format!("an `ignore` of {}{more} ended at {until} and may be taken out: {reason}", named.join(", "))
}

fn document(config: &Config, now: Timestamp) -> Value {
    let held = |held: &Held| json!({ "file": held.path, "reason": held.reason.as_str(), "mistakes": held.mistakes });
    let expired = |(ignore, targets): (&Ignore, Vec<&TargetId>)| json!({ "targets": targets, "rule": ignore.matches.rule, "reason": ignore.reason, "until": ignore.until });
    json!({
        "targets": config.targets.len(),
        "receivers": config.receivers.len(),
        "routes": config.routes.len(),
        "held": config.held.iter().map(held).collect::<Vec<_>>(),
        "warnings": config.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "expired": config.expired(now).into_iter().map(expired).collect::<Vec<_>>(),
    })
}
