//! `run` and `demo`: the daemon in the foreground.

use std::path::Path;

use super::exit::Exit;
use super::{DemoArgs, page};
use crate::clock::Clock;
use crate::daemon::{Daemon, Stopped};
use crate::logging::{self, Format};
use crate::secret::Environment;
use crate::signals::{Hup, Stop};
use crate::store::StoreError;
use crate::{config, demo};

/// Runs the daemon until it is told to stop.
///
/// # Errors
/// Configuration, and whatever kept a part from starting or made it end.
pub(super) async fn daemon(file: Option<&Path>, filter: &str, format: Format) -> anyhow::Result<Exit> {
    logging::init(format, filter)?;
    let environment = Environment::process();
    let file = config::locate(file, &environment);
    let mut stop = Stop::signals()?;
    let daemon = tokio::select! {
        started = Daemon::open(&file, environment, Clock::system(), Hup::signal()?) => match started {
            Ok(daemon) => daemon,
            // What is wrong with a configuration is told as `config check` tells it.
            Err(error) if error.is::<config::Mistakes>() => return Err(error),
            Err(error) => {
                tracing::error!(error = format!("{error:#}"), "driftd did not start");
                let stays = error.downcast_ref::<StoreError>().is_some_and(StoreError::stays);
                return Ok(if stays { Exit::Usage } else { Exit::Broken });
            }
        },
        by = stop.asked() => {
            tracing::info!(by, "stopped while starting");
            return Ok(Exit::Fine);
        }
    };
    Ok(match daemon.run(&mut stop).await {
        Ok(Stopped::InOrder) => Exit::Fine,
        Ok(Stopped::AtOnce("SIGINT")) => Exit::Interrupted,
        Ok(Stopped::AtOnce(_)) => Exit::Terminated,
        // Told where it happened.
        Err(_) => Exit::Broken,
    })
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
