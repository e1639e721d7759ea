//! `scan`: one look at a target, with no store and no past.

use std::path::Path;

use anyhow::Context as _;

use super::exit::Exit;
use super::style::Style;
use super::{Output, ScanArgs, page as out, progress};
use crate::clock::Clock;
use crate::config::{self, Config};
use crate::judge::document;
use crate::model::inventory::Target;
use crate::model::observation::{Observation, Outcome};
use crate::model::snapshot::{CheckVerdict, Snapshot};
use crate::model::target::{Kind, TargetId};
use crate::net::{Door, DoorSettings, Roots, SystemResolver};
use crate::secret::Environment;

mod view;

pub(super) use view::page;

/// Scans once, writes what was seen and says how it ended.
///
/// # Errors
/// Usage, configuration, and a file that cannot be written.
pub(super) async fn scan(file: Option<&Path>, output: Output, args: &ScanArgs) -> anyhow::Result<Exit> {
    let environment = Environment::process();
    let (mut target, config) = target(file, &environment, &args.target)?;
    target.egress_allow.extend(args.allow_address.iter().copied());
    let door = Door::new(DoorSettings {
        contact: config.as_ref().and_then(|config| config.scan.contact.clone()),
        allow: config.map(|config| config.egress_allow).unwrap_or_default(),
        resolver: std::sync::Arc::new(SystemResolver),
        roots: Roots::Platform,
    })?;
    let look = crate::scan::look(&door, &target, &environment, Clock::system().now());
    let (observation, snapshot) = progress::shown(&format!("scanning {}", target.endpoint), look).await;
    let document = document::snapshot_document(&snapshot).with_stderr(observation.stderr.clone());
    if let Some(path) = &args.save {
        let text = serde_json::to_string_pretty(&document)?;
        std::fs::write(path, text + "\n").with_context(|| format!("failed to write {}", path.display()))?;
    }
    match output {
        Output::Json => out::json(&document)?,
        Output::Human => out::write(&page(&snapshot, &observation, Style::stdout()))?,
    }
    Ok(exit(&snapshot, args))
}

/// One look at `target` by the rules of a configuration that does not exist yet.
///
/// # Errors
/// When no connection can be made at all on this machine.
pub(super) async fn look_alone(target: &Target) -> anyhow::Result<(Observation, Snapshot)> {
    let door = Door::new(DoorSettings {
        contact: None,
        allow: Vec::new(),
        resolver: std::sync::Arc::new(SystemResolver),
        roots: Roots::Platform,
    })?;
    Ok(crate::scan::look(&door, target, &Environment::process(), Clock::system().now()).await)
}

/// A target of the inventory, or one made of a URL: an argument with `://`, or with a dot and no such id.
fn target(file: Option<&Path>, environment: &Environment, name: &str) -> anyhow::Result<(Target, Option<Config>)> {
    if name.contains("://") {
        return Ok((from_url(name)?, None));
    }
    let path = config::locate(file, environment);
    if name.contains('.') && file.is_none() && !path.exists() {
        return Ok((from_url(&format!("https://{name}"))?, None));
    }
    let config = config::load_to_look(&path, environment)?;
    match config.targets.iter().find(|target| target.id.as_str() == name) {
        Some(found) => Ok((found.clone(), Some(config))),
        None if name.contains('.') => Ok((from_url(&format!("https://{name}"))?, Some(config))),
        None => anyhow::bail!("no target is called {name:?} in {}; give an id or a URL", path.display()),
    }
}

/// A target made of a URL alone.
pub(super) fn from_url(text: &str) -> anyhow::Result<Target> {
    let url: url::Url = text.parse().with_context(|| format!("{text:?} is no URL"))?;
    anyhow::ensure!(matches!(url.scheme(), "http" | "https"), "an MCP server is at an http or https URL, not {text:?}");
    anyhow::ensure!(
        url.username().is_empty() && url.password().is_none(),
        "a URL carries no user or password; put the credential into the inventory (auth:)"
    );
    let name: String = url
        .host_str()
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '.' || c == '-' { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let id: TargetId = name.trim_start_matches(['-', '.']).parse().or_else(|_| "target".parse())?;
    Ok(Target::at(id, Kind::Mcp, url))
}

fn exit(snapshot: &Snapshot, args: &ScanArgs) -> Exit {
    let found =
        snapshot.checks.iter().any(|check| check.verdict == CheckVerdict::Finding && check.severity >= args.fail_on);
    if found {
        Exit::Found
    } else if snapshot.outcome == Outcome::Ok {
        Exit::Fine
    } else {
        Exit::NoVerdict
    }
}
