//! The door to targets that are programs of this machine: started for one conversation, spoken to over standard input
//! and output, ended and reaped with everything that they started.
//!
//! A program is as hostile as a server: its lines and bytes are capped, what it writes to standard error is kept in
//! part, and nothing of driftd's own environment reaches it but what [`INHERITED`] names. Standard error is no sign of an
//! error (MCP, stdio transport); it is kept for people.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::Instant;

use super::error::NetError;
use super::{MAX_ANSWER, MAX_SCAN, exhausted};

/// Variables of ours that a program gets too: what it needs to find others, its home and its language.
pub const INHERITED: [&str; 6] = ["HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "TZ"];

/// Lines of one conversation.
const MAX_LINES: usize = 1_000;
/// Bytes kept of standard error: its end, which says most. Much more than is shown: secrets are taken out before it is
/// cut to that, so that no part of one is left at the cut.
const KEPT: usize = 64 * 1024;
/// Time for a program to end when its input has, and again when it is asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(20);

/// A program to start, its variables resolved.
#[derive(Clone)]
pub struct Launch {
    /// Its name, looked for in the `PATH` of `env`, or its path.
    pub program: String,
    /// What follows it.
    pub args: Vec<String>,
    /// Its whole environment.
    pub env: Vec<(String, OsString)>,
    /// Where it runs.
    pub cwd: PathBuf,
}

/// Without the values of variables, which may be secrets.
impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch").field("program", &self.program).field("args", &self.args.len()).finish_non_exhaustive()
    }
}

/// What marks a program and all that it starts, also what leaves its process group: a variable with a number of its own.
const MARK: &str = "DRIFTD_PROGRAM";

/// Process groups whose last members are still to be reaped, with their marks: those of programs that were dropped.
static LEFT: Mutex<Vec<(Pid, String)>> = Mutex::new(Vec::new());

/// Those that were killed outside of any group and are still to be reaped.
static STRAYS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// A program that runs. Dropping it kills it and all of its process group.
#[derive(Debug)]
pub struct Program {
    child: Child,
    /// Its process group, which is its own; `None` once everything in it was killed.
    group: Option<Pid>,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    heard: Heard,
    mark: String,
    /// It has closed its input or its output before it was told to end.
    hung_up: bool,
}

/// How a program ended, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Farewell {
    /// It had ended before it was told to: how.
    pub ended: Option<String>,
    /// The end of what it wrote to standard error.
    pub stderr: Vec<u8>,
}

/// What a program has written.
#[derive(Debug, Default)]
struct Heard {
    line: Vec<u8>,
    lines: VecDeque<Vec<u8>>,
    count: usize,
    bytes: usize,
    stderr: VecDeque<u8>,
}

impl Program {
    /// Starts it.
    ///
    /// # Errors
    /// When there is none of that name, or it may not be run; when we have no processes or descriptors left.
    pub fn start(launch: &Launch) -> Result<Self, NetError> {
        let mark = format!("{:016x}", rand::random::<u64>());
        let mut command = Command::new(&launch.program);
        command
            .args(&launch.args)
            .env_clear()
            .envs(launch.env.iter().map(|(name, value)| (name, value)))
            .env(MARK, &mark)
            .current_dir(&launch.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        adopt_orphans();
        sweep();
        let mut child = command.spawn().map_err(|error| start_error(&error))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Ok(Self { child, group, stdin, stdout, stderr, heard: Heard::default(), mark, hung_up: false })
    }

    /// Writes one message as a line, and reads meanwhile what the program writes.
    ///
    /// # Errors
    /// When it no longer reads, or has written more than it may.
    pub async fn send(&mut self, message: &[u8]) -> Result<(), NetError> {
        let mut line = message.to_vec();
        line.push(b'\n');
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            let Self { stdin, stdout, stderr, heard, .. } = self;
            let Some(input) = stdin else { return Err(NetError::Ended) };
            tokio::select! {
                written = input.write(rest) => match written {
                    Ok(count) if count > 0 => rest = rest.get(count..).unwrap_or_default(),
                    Ok(_) | Err(_) => {
                        self.hung_up = true;
                        return Err(NetError::Ended);
                    }
                },
                heard = hear(stdout, stderr, heard) => heard?,
            }
        }
        Ok(())
    }

    /// Its next line, without its end; `None` when it has closed its output.
    ///
    /// # Errors
    /// When a line is too long, or there are too many.
    pub async fn line(&mut self) -> Result<Option<Vec<u8>>, NetError> {
        loop {
            if let Some(line) = self.heard.lines.pop_front() {
                return Ok(Some(line));
            }
            if self.stdout.is_none() {
                self.hung_up = true;
                return Ok(None);
            }
            hear(&mut self.stdout, &mut self.stderr, &mut self.heard).await?;
        }
    }

    /// Ends it: closes its input, waits, asks it to end, waits, kills whatever is left of its group, and reaps it.
    pub async fn end(mut self) -> Farewell {
        drop(self.stdin.take());
        if !self.is_gone_within(GRACE).await {
            self.signal(Signal::SIGTERM);
            self.is_gone_within(GRACE).await;
        }
        // The leader is not reaped yet, so that the number of its group is nobody else's.
        self.signal(Signal::SIGKILL);
        let status = self.child.wait().await.ok();
        self.hear_out().await;
        if let Some(group) = self.group.take() {
            reap_all(group, std::mem::take(&mut self.mark)).await;
        }
        Farewell {
            ended: status.filter(|_| self.hung_up).map(|status| status.to_string()),
            stderr: std::mem::take(&mut self.heard.stderr).into(),
        }
    }

    async fn is_gone_within(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        while Instant::now() < end {
            if self.group.is_none_or(is_gone) {
                return true;
            }
            // What it has to say on its way out must not hold it up; how much it is does not matter any more.
            let _ = tokio::time::timeout(LOOK, hear(&mut self.stdout, &mut self.stderr, &mut self.heard)).await;
        }
        false
    }

    /// Reads what it has written until nobody holds the other ends any more: all of its group is dead by now.
    async fn hear_out(&mut self) {
        let end = Instant::now() + GRACE;
        while (self.stdout.is_some() || self.stderr.is_some()) && Instant::now() < end {
            let heard = hear(&mut self.stdout, &mut self.stderr, &mut self.heard);
            if tokio::time::timeout_at(end, heard).await.is_ok_and(|heard| heard.is_err()) {
                // What it says on its output does not matter any more.
                self.stdout = None;
            }
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // There may be nobody left.
            let _ = killpg(group, signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
        // The leader is reaped by the runtime.
        if let Some(group) = self.group.take() {
            left().push((group, std::mem::take(&mut self.mark)));
        }
    }
}

/// From now on what a program started and left behind is ours to reap, and not that of the first process, which in a
/// container may be driftd itself or nobody who does.
fn adopt_orphans() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if let Err(error) = nix::sys::prctl::set_child_subreaper(true) {
            tracing::debug!(%error, "orphans of programs are left to the first process");
        }
    });
}

/// Reaps what is left of groups that were killed in passing.
fn sweep() {
    left().retain(|(group, mark)| reap(*group) | kill_strays(mark));
}

fn left() -> MutexGuard<'static, Vec<(Pid, String)>> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the last members of a group that was killed, and kills what has left it.
async fn reap_all(group: Pid, mark: String) {
    let end = Instant::now() + GRACE;
    while reap(group) | kill_strays(&mark) {
        if Instant::now() >= end {
            // It may hang in the kernel.
            left().push((group, mark));
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Reaps those members of a group that have ended; whether any are left. Its leader must have been reaped.
fn reap(group: Pid) -> bool {
    loop {
        match waitid(Id::PGid(group), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG) {
            Ok(WaitStatus::StillAlive) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

/// Whether it has ended; it is left to be reaped.
fn is_gone(leader: Pid) -> bool {
    let looked = waitid(Id::Pid(leader), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT);
    !matches!(looked, Ok(WaitStatus::StillAlive))
}

/// Reads what comes first, of standard output or error.
async fn hear(
    stdout: &mut Option<ChildStdout>,
    stderr: &mut Option<ChildStderr>,
    heard: &mut Heard,
) -> Result<(), NetError> {
    let (mut out, mut err) = (vec![0; 16 * 1024], vec![0; 4 * 1024]);
    tokio::select! {
        read = read(stdout, &mut out) => match read {
            Ok(count) if count > 0 => heard.out(out.get(..count).unwrap_or_default())?,
            Ok(_) | Err(_) => {
                *stdout = None;
                heard.finish();
            }
        },
        read = read(stderr, &mut err) => match read {
            Ok(count) if count > 0 => heard.err(err.get(..count).unwrap_or_default()),
            Ok(_) | Err(_) => *stderr = None,
        },
    }
    Ok(())
}

/// Waits for ever where there is nothing to read from; the other end comes first then.
async fn read(from: &mut Option<impl tokio::io::AsyncRead + Unpin>, into: &mut [u8]) -> io::Result<usize> {
    match from {
        Some(from) => from.read(into).await,
        None => std::future::pending().await,
    }
}

impl Heard {
    fn out(&mut self, bytes: &[u8]) -> Result<(), NetError> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > MAX_SCAN {
            return Err(NetError::ScanTooLarge);
        }
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = piece.strip_suffix(b"\n").map_or((piece, false), |text| (text, true));
            self.line.extend_from_slice(text);
            if self.line.len() > MAX_ANSWER {
                return Err(NetError::BodyTooLarge);
            }
            if ends {
                self.end_line()?;
            }
        }
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), NetError> {
        let mut line = std::mem::take(&mut self.line);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        self.count += 1;
        if self.count > MAX_LINES {
            return Err(NetError::TooManyMessages);
        }
        self.lines.push_back(line);
        Ok(())
    }

    /// What was left without a line's end is a line too.
    fn finish(&mut self) {
        if !self.line.is_empty() {
            self.lines.push_back(std::mem::take(&mut self.line));
        }
    }

    fn err(&mut self, bytes: &[u8]) {
        self.stderr.extend(bytes);
        let above = self.stderr.len().saturating_sub(KEPT);
        self.stderr.drain(..above);
    }
}

fn start_error(error: &io::Error) -> NetError {
    let is_ours = matches!(error.kind(), io::ErrorKind::OutOfMemory | io::ErrorKind::WouldBlock);
    if is_ours || exhausted::comes_of_it(error) { NetError::Exhausted } else { NetError::NoProgram }
}

/// Kills and reaps what a program started in groups of its own, as daemons do: orphans, hence children of ours, that
/// still have its mark. Whether any are left.
fn kill_strays(mark: &str) -> bool {
    let mut strays = STRAYS.lock().unwrap_or_else(PoisonError::into_inner);
    for pid in orphans(&format!("{MARK}={mark}")) {
        let _ = kill(pid, Signal::SIGKILL);
        strays.push(pid);
    }
    // One that has ended has no environment any more, so that it is known by its number alone.
    let waits = |pid: &Pid| waitid(Id::Pid(*pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG);
    strays.retain(|pid| matches!(waits(pid), Ok(WaitStatus::StillAlive)));
    !strays.is_empty()
}

/// Children of this process with this variable in their environment.
fn orphans(marked: &str) -> Vec<Pid> {
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    let us = nix::unistd::getpid();
    let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_marked = |pid: &i32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        parent(*pid) == Some(us) && environ.split(|byte| *byte == 0).any(|variable| variable == marked.as_bytes())
    };
    pids.filter(is_marked).map(Pid::from_raw).collect()
}

/// The fourth field of `/proc/PID/stat`; the second is a name in parentheses, which may hold anything.
fn parent(pid: i32) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok().map(Pid::from_raw)
}
