//! The newcomer's walk: the README's own commands, in their order, on a real published server that is upgraded.
//!
//! Everything in a block marked `sh` below the heading of the walk is executed as it stands there; what cannot be on
//! this machine (the registry of packages, the address) is put in the place of what is written.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::process::{Child, Command};

use crate::support::front::Front;
use crate::support::peers::{EVERYTHING_2025_12_18, EVERYTHING_2026_1_26, Pinned, PinnedPeer};
use crate::support::{checkout, eventually, until};

/// The heading of the walk in README.md.
const HEADING: &str = "## Watch a server of your own";
/// The address that the README's server has.
const ADDRESS: &str = "http://127.0.0.1:3001/mcp";
/// The reference that stands for the reader's own incident.
const REFERENCE: &str = "4F7K2.1";
const PACKAGE: &str = "@modelcontextprotocol/server-everything@";

/// The commands of the walk, in their order.
fn commands() -> Vec<String> {
    let readme = fs::read_to_string(checkout("README.md")).unwrap();
    let (_, walk) = readme.split_once(HEADING).unwrap_or_else(|| panic!("README.md has no {HEADING:?}"));
    let walk = walk.split("\n## ").next().unwrap_or(walk);
    let blocks = walk.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let lines = blocks.flat_map(str::lines).map(|line| line.split("  #").next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// The machine that the reader sits at.
struct Desk {
    home: tempfile::TempDir,
    front: Option<Front>,
    peers: Vec<PinnedPeer>,
    daemon: Option<Child>,
}

impl Desk {
    async fn follow(&mut self, command: &str) {
        if let Some((_, version)) = command.split_once(PACKAGE) {
            let pinned = match version.split(' ').next() {
                Some("2025.12.18") => EVERYTHING_2025_12_18,
                Some("2026.1.26") => EVERYTHING_2026_1_26,
                other => panic!("the README starts a version that is not pinned: {other:?}"),
            };
            self.serve(pinned).await;
        } else if command == "driftd run" {
            self.run();
            until("the daemon is there", || self.home.path().join("driftd.sock").exists().then_some(())).await;
        } else if let Some(arguments) = command.strip_prefix("driftd ") {
            let arguments = self.own(arguments).await;
            let output = self.driftd(&arguments).await;
            assert!(output.status.success(), "{command}\n{}{}", text(&output.stdout), text(&output.stderr));
            println!("$ {command}\n{}", text(&output.stdout));
        } else {
            panic!("the walk has a command that this test does not know: {command}");
        }
    }

    /// The reader stops the old server and starts the new one at the same address.
    async fn serve(&mut self, pinned: Pinned) {
        let peer = PinnedPeer::start(pinned).await;
        match &self.front {
            Some(front) => front.swap(peer.port()),
            None => self.front = Some(Front::of(peer.port()).await),
        }
        self.peers.push(peer);
    }

    fn run(&mut self) {
        // Its port would be taken where two of these run.
        let file = self.home.path().join("config/driftd.yaml");
        let config = fs::read_to_string(&file).unwrap().replace("127.0.0.1:7439", "127.0.0.1:0");
        fs::write(&file, config).unwrap();
        let out = fs::File::create(self.log()).unwrap();
        let mut command = self.command();
        self.daemon = Some(command.arg("run").stdout(out).stderr(Stdio::inherit()).spawn().unwrap());
    }

    /// What the reader would put in the place of what is written.
    async fn own(&self, arguments: &str) -> Vec<String> {
        let url = self.front.as_ref().map(Front::url).unwrap_or_default();
        let mut arguments = arguments.replace(ADDRESS, &url);
        if arguments.contains(REFERENCE) {
            arguments = arguments.replace(REFERENCE, &self.incident().await);
        }
        words(&arguments)
    }

    /// The incident, once all that changed is confirmed.
    async fn incident(&self) -> String {
        eventually("the change is an incident, and all of it is confirmed", async || {
            let drifts = self.driftd(&["drift", "--output", "json"].map(str::to_owned)).await;
            let drifts: Value = serde_json::from_slice(&drifts.stdout).ok()?;
            let open = drifts.as_array()?.iter().find(|incident| incident["state"] == "open")?;
            let settled = open["units"].as_array()?.iter().all(|unit| unit["mark"] == "open");
            settled.then(|| open["reference"].as_str().map(str::to_owned)).flatten()
        })
        .await
    }

    async fn driftd(&self, arguments: &[String]) -> Output {
        self.command().args(arguments).output().await.unwrap()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_driftd"));
        command.current_dir(self.home.path()).env_remove("DRIFTD_CONFIG").env_remove("STATE_DIRECTORY");
        command.env_remove("RUNTIME_DIRECTORY").stdin(Stdio::null()).kill_on_drop(true);
        command
    }

    fn log(&self) -> std::path::PathBuf {
        self.home.path().join("said")
    }

    /// Waits until the daemon has said `wanted` on its terminal.
    async fn says(&self, wanted: &str) -> String {
        until(&format!("driftd says {wanted}"), || Some(said(&self.log())).filter(|said| said.contains(wanted))).await
    }
}

fn said(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The words of a command line; double quotes keep blanks together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[tokio::test(flavor = "multi_thread")]
async fn the_readmes_walk_leads_from_nothing_to_an_alert_and_a_decision() {
    let commands = commands();
    for wanted in ["driftd scan ", "driftd init ", "driftd run", "driftd drift accept "] {
        assert!(commands.iter().any(|command| command.starts_with(wanted)), "{wanted} is missing in {commands:#?}");
    }
    let upgrades = commands.iter().filter(|command| command.contains(PACKAGE)).count();
    assert_eq!(upgrades, 2, "one server, then its upgrade: {commands:#?}");
    let mut desk = Desk { home: tempfile::tempdir().unwrap(), front: None, peers: Vec::new(), daemon: None };
    let mut served = 0;
    for command in &commands {
        if command.contains(PACKAGE) {
            served += 1;
            if served == 2 {
                // A reader waits for what `targets` says before going on; a change before the baseline is none.
                baseline(&desk).await;
            }
        }
        desk.follow(command).await;
    }
    let said = desk.says("accepted").await;
    for wanted in ["everything", "HIGH", "get-sum", "driftd drift accept"] {
        assert!(said.contains(wanted), "{wanted} is missing in:\n{said}");
    }
}

/// Waits until the server has its baseline.
async fn baseline(desk: &Desk) {
    eventually("the baseline is taken", async || {
        let targets = desk.driftd(&["targets", "--output", "json"].map(str::to_owned)).await;
        let targets: Value = serde_json::from_slice(&targets.stdout).ok()?;
        (targets[0]["baseline_facets"].as_u64()? >= 5).then_some(())
    })
    .await;
}
