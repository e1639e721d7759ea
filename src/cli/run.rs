//! `run` and `demo`: the daemon in the foreground.

use std::path::Path;

use super::exit::Exit;
use super::{DemoArgs, page};
use crate::clock::Clock;
use crate::daemon::Daemon;
use crate::logging::{self, Format};
use crate::secret::Environment;
use crate::signals::{Hup, Stop};
use crate::{config, demo};

/// Runs the daemon until it is told to stop.
///
/// # Errors
/// Configuration, and whatever kept a part from starting or made it end.
pub(super) async fn daemon(file: Option<&Path>, filter: &str, json: bool) -> anyhow::Result<Exit> {
    logging::init(if json { Format::Json } else { Format::Human }, filter)?;
    let environment = Environment::process();
    let file = config::locate(file, &environment);
    let mut stop = Stop::signals()?;
    let daemon = Daemon::open(&file, environment, Clock::system(), Hup::signal()?).await?;
    daemon.run(&mut stop).await?;
    Ok(Exit::Fine)
}

/// Runs the demo.
///
/// # Errors
/// When a part does not start or a step takes too long.
pub(super) async fn demo(args: &DemoArgs, filter: &str) -> anyhow::Result<Exit> {
    // The daemon's own lines would stand between the demo's.
    let filter = if filter == super::DEFAULT_LOG { "warn" } else { filter };
    logging::init(Format::Human, filter)?;
    let mut stop = Stop::signals()?;
    demo::run(&mut Terminal, args.stay, &mut stop).await?;
    Ok(Exit::Fine)
}

struct Terminal;

impl demo::Narrator for Terminal {
    fn say(&mut self, line: &str) -> std::io::Result<()> {
        page::write(&format!("\n>> {line}\n\n"))
    }
}
