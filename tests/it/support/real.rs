//! The real program as a service manager runs it: told by signals, tells over `NOTIFY_SOCKET`.

use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::daemon::Home;
use super::ports::free_port;
use super::{PATIENCE, until};

/// A home whose only target is at `url`, scanned each second and confirmed within one; `receivers` as in the file.
pub(crate) fn home(url: &str, receivers: &str) -> (Home, SocketAddr) {
    let metrics: SocketAddr = ([127, 0, 0, 1], free_port()).into();
    let driftd = format!(
        "metrics_listen: {metrics}\n\
         inventory: [ inventory.yaml ]\n\
         confirm: {{ sightings: 2, after: 1s }}\n\
         receivers:\n{receivers}"
    );
    (Home::with(&driftd, &format!("  - {{ id: peer, kind: mcp, url: {url:?}, every: 1s }}\n")), metrics)
}

/// A receiver that writes into the daemon's own output.
pub(crate) const CONSOLE: &str = "  - { name: terminal, console: {} }\n";

/// `driftd run`, and what hears it.
#[derive(Debug)]
pub(crate) struct Real {
    child: Child,
    manager: Manager,
    log: PathBuf,
}

impl Real {
    /// Starts it on `home`, with these variables too.
    pub(crate) fn start(home: &Home, environment: &[(&str, &str)]) -> Self {
        let log = home.path().join("log");
        Self::start_with(home, |command| {
            command.envs(environment.iter().copied()).stderr(File::create(&log).unwrap());
        })
    }

    /// The same, with what `set` does to the command.
    pub(crate) fn start_with(home: &Home, set: impl FnOnce(&mut Command)) -> Self {
        let manager = Manager::listen(home.path().join("notify"));
        let mut command = home.command();
        // One worker may be blocked by the test.
        command.env("NOTIFY_SOCKET", &manager.path).env("TOKIO_WORKER_THREADS", "4").arg("run");
        set(&mut command);
        Self { child: command.spawn().unwrap(), manager, log: home.path().join("log") }
    }

    /// What the service manager heard, one variable each.
    pub(crate) fn said(&self) -> Vec<String> {
        self.manager.said()
    }

    /// How often it heard `variable`.
    pub(crate) fn times(&self, variable: &str) -> usize {
        self.said().iter().filter(|said| *said == variable).count()
    }

    /// Waits until it heard `variable` `count` times.
    pub(crate) async fn until_said(&self, variable: &str, count: usize) {
        until(&format!("{variable} is said {count} times"), || (self.times(variable) >= count).then_some(())).await;
    }

    /// Waits for a status that `is` the one waited for.
    pub(crate) async fn until_status(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        until(what, || {
            let said = self.said();
            said.iter().filter_map(|said| said.strip_prefix("STATUS=")).find(|line| is(line)).map(ToOwned::to_owned)
        })
        .await
    }

    /// Its log so far.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Sends it a signal, as `TERM`.
    pub(crate) async fn signal(&self, signal: &str) {
        let pid = self.child.id().expect("it runs").to_string();
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(pid).status().await.unwrap();
        assert!(sent.success());
    }

    /// Waits until it ends.
    pub(crate) async fn end(&mut self) -> ExitStatus {
        match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(ended) => ended.unwrap(),
            Err(_) => panic!("it does not end: {:?}\n{}", self.said(), self.log()),
        }
    }
}

/// What `address` answers to a request for `path`, from its status line on.
pub(crate) async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// A service manager's end of the socket.
#[derive(Debug)]
struct Manager {
    path: PathBuf,
    said: Arc<Mutex<Vec<String>>>,
    ended: Arc<AtomicBool>,
}

impl Manager {
    fn listen(path: PathBuf) -> Self {
        // A daemon before this one may have left it.
        let _ = std::fs::remove_file(&path);
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let manager = Self { path, said: Arc::default(), ended: Arc::default() };
        let (said, ended) = (Arc::clone(&manager.said), Arc::clone(&manager.ended));
        // A thread, so that who speaks is never held up by a full socket.
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while !ended.load(Ordering::Relaxed) {
                let Ok(length) = socket.recv(&mut bytes) else { continue };
                let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
                said.lock().unwrap_or_else(PoisonError::into_inner).extend(text.lines().map(ToOwned::to_owned));
            }
        });
        manager
    }

    fn said(&self) -> Vec<String> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}
