//! `driftd demo`: a sample server that drifts, the daemon and its alerts, in one process, with nothing to set up.
//!
//! Everything is real but the time it takes: the server speaks MCP on a loopback port, the daemon is the one that
//! `run` starts, its store is a file. Only the confirmation is short: one second instead of minutes.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;

use crate::clock::Clock;
use crate::config::{self, Config};
use crate::control;
use crate::daemon::Daemon;
use crate::operations::{Answer, Decision, Request, document};
use crate::secret::Environment;
use crate::signals::Stop;

mod server;

use server::Release;

/// The sample target's id.
const TARGET: &str = "help-desk";
/// Long enough for any step of the demo on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// What the demo says between the daemon's own messages.
pub trait Narrator {
    /// Says a line.
    ///
    /// # Errors
    /// When nobody can hear it.
    fn say(&mut self, line: &str) -> std::io::Result<()>;
}

/// Runs the demo: baseline, drift, alert; then a decision and its resolved message, or, with `stay`, until `stop`.
///
/// # Errors
/// When a part does not start, or a step takes longer than two minutes.
pub async fn run(narrator: &mut impl Narrator, stay: bool, stop: &mut Stop) -> anyhow::Result<()> {
    let home = tempfile::Builder::new().prefix("driftd-demo-").tempdir().context("failed to make a directory")?;
    let listener = TcpListener::bind("127.0.0.1:0").await.context("failed to listen for the sample server")?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let release = Release::default();
    let server = axum::serve(listener, server::router(release.clone()));
    let config = config(home.path(), &url)?;
    let socket = config.control.clone();
    let file = config.file.clone();
    let daemon = Daemon::start(config, Environment::process(), Clock::system()).await?;
    let (mut daemon_stop, hand) = Stop::by_hand();
    let mut running = std::pin::pin!(daemon.run(&mut daemon_stop));
    let stage = Stage { release: &release, socket: &socket, url: &url, file: &file, stay };
    let told = tokio::select! {
        told = tell(narrator, &stage) => told,
        served = server => served.context("the sample server stopped"),
        ran = &mut running => return ran,
        _ = stop.asked() => Ok(()),
    };
    hand.stop();
    running.await?;
    told
}

/// What the story is told with.
struct Stage<'a> {
    release: &'a Release,
    socket: &'a Path,
    url: &'a str,
    file: &'a Path,
    stay: bool,
}

async fn tell(narrator: &mut impl Narrator, stage: &Stage<'_>) -> anyhow::Result<()> {
    let Stage { release, socket, url, file, stay } = *stage;
    narrator.say(&format!("A sample help desk speaks MCP on {url}; driftd takes its baseline."))?;
    let baseline = until(socket, Request::Baseline { id: TARGET.to_owned() }, |answer| {
        if let Answer::Baseline(baseline) = answer { Some(baseline).filter(has_tools) } else { None }
    })
    .await?;
    narrator.say(&format!(
        "Baseline taken: {} facets, first seen. Now the help desk ships a new release ...",
        baseline.facets.len()
    ))?;
    release.ship();
    let incident = until(socket, Request::Drifts {}, |answer| {
        let Answer::Drifts(incidents) = answer else { return None };
        incidents.into_iter().find(|incident| incident.state == "open")
    })
    .await?;
    let reference = incident.reference;
    delivered(socket, 1).await?;
    if stay {
        narrator.say(&format!(
            "Decide from another terminal, with `driftd --config {} drift accept {reference} --reason ...`, or look \
             around with `drift`, `targets`, `history`; stop with Ctrl-C.",
            file.display()
        ))?;
        return std::future::pending().await;
    }
    narrator
        .say(&format!("You read it and decide: driftd drift accept {reference} --reason \"we knew of the release\""))?;
    let decision = Decision {
        reference,
        except: Vec::new(),
        reason: Some("we knew of the release".to_owned()),
        ticket: None,
        until: None,
    };
    ask(socket, Request::Accept(decision)).await?;
    delivered(socket, 2).await?;
    narrator.say(
        "That is the whole life of a drift. `driftd run` does it with config/driftd.yaml, by mail and webhook too.",
    )?;
    Ok(())
}

fn has_tools(baseline: &document::Baseline) -> bool {
    baseline.facets.iter().any(|facet| facet.facet == "mcp.tools")
}

/// Waits until so many messages have arrived.
async fn delivered(socket: &Path, count: usize) -> anyhow::Result<()> {
    until(socket, Request::Alerts {}, |answer| {
        let Answer::Alerts(messages) = answer else { return None };
        let of_drift = messages.iter().filter(|message| message.kind.starts_with("drift."));
        (of_drift.filter(|message| message.sent_at.is_some()).count() >= count).then_some(())
    })
    .await
}

/// Asks each 200 ms until the answer is the one waited for.
async fn until<T>(socket: &Path, request: Request, wanted: impl Fn(Answer) -> Option<T>) -> anyhow::Result<T> {
    let asked = async {
        loop {
            if let Some(found) = wanted(ask(socket, request.clone()).await?) {
                return Ok(found);
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.context("the demo waited for two minutes in vain")?
}

async fn ask(socket: &Path, request: Request) -> anyhow::Result<Answer> {
    Ok(control::ask(socket, &request).await??)
}

/// Writes a configuration like anybody's and reads it.
fn config(home: &Path, url: &str) -> anyhow::Result<Config> {
    let file = home.join("driftd.yaml");
    std::fs::write(&file, DRIFTD_YAML)?;
    std::fs::write(home.join("inventory.yaml"), INVENTORY_YAML.replace("URL", url))?;
    let home = [("STATE_DIRECTORY", home), ("RUNTIME_DIRECTORY", home)];
    let environment = Environment::from_map(home.map(|(name, path)| (name, path.to_string_lossy())));
    Ok(config::load(&file, &environment)?)
}

const DRIFTD_YAML: &str = "\
metrics_listen: 127.0.0.1:0
inventory: [ inventory.yaml ]
confirm: { sightings: 2, after: 1s }
receivers:
  - { name: terminal, console: {} }
";

const INVENTORY_YAML: &str = "\
targets:
  - { id: help-desk, kind: mcp, url: \"URL\", every: 1s, labels: { team: sample } }
";
