//! `driftd demo`: sample servers that drift, the daemon and its alerts, in one process, with nothing to set up.
//!
//! Everything is real but the time it takes: the servers speak MCP on a loopback port, the daemon is the one that
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

use server::{HELP_DESK, Releases, SHOP, WEATHER};

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

/// Runs the demo: baselines, drift, alerts; then what a person does about them, or, with `stay`, until `stop`.
///
/// # Errors
/// When a part does not start, or a step takes longer than two minutes.
pub async fn run(narrator: &mut impl Narrator, stay: bool, stop: &mut Stop) -> anyhow::Result<()> {
    let home = tempfile::Builder::new().prefix("driftd-demo-").tempdir().context("failed to make a directory")?;
    let listener = TcpListener::bind("127.0.0.1:0").await.context("failed to listen for the sample servers")?;
    let url = format!("http://{}", listener.local_addr()?);
    let releases = Releases::default();
    let servers = axum::serve(listener, server::router(releases.clone()));
    let config = config(home.path(), &url)?;
    let socket = config.control.clone();
    let file = config.file.clone();
    let daemon = Daemon::start(config, Environment::process(), Clock::system()).await?;
    let (mut daemon_stop, hand) = Stop::by_hand();
    let mut running = std::pin::pin!(daemon.run(&mut daemon_stop));
    let stage = Stage { releases: &releases, socket: &socket, url: &url, file: &file, stay };
    let told = tokio::select! {
        told = tell(narrator, &stage) => told,
        served = servers => served.context("the sample servers stopped"),
        ran = &mut running => return ran.map(drop),
        _ = stop.asked() => narrator.say("Stopped; nothing stays behind.").map_err(Into::into),
    };
    hand.stop();
    running.await?;
    told
}

/// What the story is told with.
struct Stage<'a> {
    releases: &'a Releases,
    socket: &'a Path,
    url: &'a str,
    file: &'a Path,
    stay: bool,
}

async fn tell(narrator: &mut impl Narrator, stage: &Stage<'_>) -> anyhow::Result<()> {
    let Stage { releases, socket, url, file, stay } = *stage;
    narrator.say(&format!(
        "Three sample servers speak MCP on {url}: {HELP_DESK}, {SHOP} and {WEATHER}.\n   driftd looks at each twice and \
         holds it to what it saw."
    ))?;
    for target in [HELP_DESK, SHOP, WEATHER] {
        until(socket, Request::Baseline { id: target.to_owned() }, |answer| {
            if let Answer::Baseline(baseline) = answer { Some(()).filter(|()| has_tools(&baseline)) } else { None }
        })
        .await?;
    }
    narrator.say(
        "The baselines are taken. Now two of the servers ship a new release, under the same version number:\n   \
         the help desk's description of a tool got longer, in characters that nobody sees; the shop lost a tool.",
    )?;
    releases.ship();
    let desk = opened(socket, HELP_DESK).await?;
    let shop = opened(socket, SHOP).await?;
    delivered(socket, 2).await?;
    if stay {
        narrator.say(&format!(
            "Decide from another terminal, with\n   driftd --config {file} drift accept {shop} --reason \"...\"\n   or look \
             around with `drift`, `targets`, `why {HELP_DESK}`, `history`; stop with Ctrl-C.",
            file = file.display()
        ))?;
        return std::future::pending().await;
    }
    narrator.say(&format!(
        "Both were told within seconds; the weather stays quiet. You knew that the refund tool would go:\n   driftd drift \
         accept {shop} --reason \"we knew of the release\""
    ))?;
    let decision = Decision {
        reference: shop,
        except: Vec::new(),
        reason: Some("we knew of the release".to_owned()),
        ticket: None,
        until: None,
    };
    ask(socket, Request::Accept(decision)).await?;
    delivered(socket, 3).await?;
    narrator.say(&format!(
        "You did not know of the hidden words, and call the help desk ({desk} stays open meanwhile). They take it back ..."
    ))?;
    releases.take_back();
    delivered(socket, 4).await?;
    narrator.say(
        "That is the whole life of a drift: told once, decided or gone, and told again when it is over.\n   Watch a server \
         of your own: driftd init --url URL, then driftd run",
    )?;
    Ok(())
}

/// The incident of `target`, once it is open.
async fn opened(socket: &Path, target: &str) -> anyhow::Result<String> {
    until(socket, Request::Drifts {}, |answer| {
        let Answer::Drifts(incidents) = answer else { return None };
        let mine = incidents.into_iter().find(|incident| incident.state == "open" && incident.target == target);
        mine.map(|incident| incident.reference)
    })
    .await
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
defaults: { every: 1s }
targets:
  - { id: help-desk, kind: mcp, url: \"URL/help-desk/mcp\", labels: { team: sample } }
  - { id: shop, kind: mcp, url: \"URL/shop/mcp\", labels: { team: sample } }
  - { id: weather, kind: mcp, url: \"URL/weather/mcp\", labels: { team: sample } }
";
