//! The `driftd` program: arguments in, an exit code out.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use driftd::cli::{self, Cli, exit::Exit};
use driftd::logging;

/// How long what was cut off may take to let go.
const LEAVE: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    logging::tell_panics();
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&anyhow::Error::new(error).context("failed to start the runtime")),
    };
    let ended = runtime.block_on(cli::run(cli));
    // A thread that is blocked does not keep the process.
    runtime.shutdown_timeout(LEAVE);
    match ended {
        Ok(exit) => exit.into(),
        Err(error) => fail(&error),
    }
}

fn fail(error: &anyhow::Error) -> ExitCode {
    // Its last word: who closed standard error does not want it.
    let _ = writeln!(std::io::stderr(), "driftd: {error:#}");
    Exit::Usage.into()
}
