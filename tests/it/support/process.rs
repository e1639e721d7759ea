//! A child process that does not outlive its test, nor this program.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use tempfile::TempDir;

use super::until;

/// What the child's group is led by: it starts the program (its arguments) and kills the whole group once our end of
/// its standard input closes, so that nothing is left behind even where no destructor runs.
const LEADER: &str = r#"
exec 3<&0
"$@" </dev/null 3<&- &
program=$!
{ cat <&3 >/dev/null; kill -9 0; } &
exec 3<&-
wait $program
"#;

/// A program to start.
#[derive(Debug)]
pub(crate) struct Program {
    /// The program and its arguments.
    pub(crate) command: Vec<OsString>,
    /// Added to the environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Where it runs.
    pub(crate) directory: PathBuf,
}

impl Program {
    /// A program and its arguments.
    pub(crate) fn new<A: Into<OsString>>(directory: impl Into<PathBuf>, command: impl IntoIterator<Item = A>) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            environment: Vec::new(),
            directory: directory.into(),
        }
    }

    /// With one more variable in its environment.
    pub(crate) fn with(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }
}

/// A running program, in a process group of its own. Dropping it kills the group; if the test is failing, what it
/// printed is shown.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    leader: Child,
    logs: TempDir,
}

impl Process {
    /// Starts it.
    pub(crate) fn start(name: &str, program: &Program) -> Self {
        let logs = tempfile::tempdir().unwrap();
        let log = File::create(logs.path().join("log")).unwrap();
        let leader = Command::new("/bin/sh")
            .args(["-c", LEADER, "sh"])
            .args(&program.command)
            .envs(program.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&program.directory)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0)
            .spawn();
        match leader {
            Ok(leader) => Self { name: name.to_owned(), leader, logs },
            Err(error) => panic!("{name} does not start ({error}): {program:?}"),
        }
    }

    /// What it printed so far.
    pub(crate) fn log(&self) -> String {
        read(&self.logs.path().join("log")).unwrap_or_default()
    }

    /// How it ended, if it did.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.leader.try_wait().unwrap()
    }

    /// Waits until somebody accepts connections on `port`. Gives how the process ended if it did so before.
    pub(crate) async fn listening(&mut self, port: u16) -> Result<(), ExitStatus> {
        let what = format!("{} accepts connections on port {port}", self.name);
        until(&what, || match self.ended() {
            Some(status) => Some(Err(status)),
            None => TcpStream::connect(("127.0.0.1", port)).is_ok().then_some(Ok(())),
        })
        .await
    }

    /// Waits until it ends by itself.
    pub(crate) async fn end(&mut self) -> ExitStatus {
        let what = format!("{} ends", self.name);
        until(&what, || self.ended()).await
    }

    /// Lets go of it without a signal, as this program's own end would.
    pub(crate) fn abandon(&mut self) {
        drop(self.leader.stdin.take());
    }

    /// Kills it and all that it started, at once.
    pub(crate) fn kill(&mut self) {
        if self.ended().is_none() {
            // A signal to a group: std sends them to single processes only.
            let group = format!("kill -9 -{}", self.leader.id());
            let killed = Command::new("/bin/sh").args(["-c", &group]).status();
            assert!(killed.is_ok_and(|status| status.success()), "{} cannot be killed", self.name);
        }
        self.leader.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- {} printed:\n{}---", self.name, self.log());
            // No second panic on the way out; the leader kills its group when our end of its input closes.
            self.abandon();
            let _ = self.leader.wait();
        } else {
            self.kill();
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
}
