//! Published servers and SDKs, each pinned, as processes of their own. `scripts/peers` installs them.

use std::path::PathBuf;

use super::checkout;
use super::ports::free_port;
use super::process::{Process, Program};

/// A published server, or one of three tools on a published SDK, at one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pinned {
    /// The package and its version.
    pub(crate) name: &'static str,
    kind: Kind,
    /// The newest date it speaks, hence the one that a scan ends up with.
    pub(crate) date: &'static str,
    /// Whether it answers `server/discover`.
    pub(crate) modern: bool,
    /// Whether it sends `/mcp` on to `/mcp/` by 307.
    pub(crate) redirects: bool,
    /// How many tools it has.
    pub(crate) tools: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `server-everything`, under this name in `.peers/npm/node_modules`.
    Everything(&'static str),
    /// The same over HTTP+SSE, at `/sse`.
    EverythingSse(&'static str),
    /// `server-filesystem` of this name behind `supergateway`.
    Bridge(&'static str),
    /// `tests/peers/npm/modern.mjs`.
    Node,
    /// A script of `tests/peers/python` in an environment of `.peers/python`.
    Python { environment: &'static str, script: &'static str },
}

const fn everything(name: &'static str, package: &'static str, tools: usize) -> Pinned {
    Pinned { name, kind: Kind::Everything(package), date: "2025-11-25", modern: false, redirects: false, tools }
}

const fn sse(name: &'static str, package: &'static str, tools: usize) -> Pinned {
    Pinned { kind: Kind::EverythingSse(package), ..everything(name, package, tools) }
}

const fn bridge(name: &'static str, package: &'static str) -> Pinned {
    Pinned { kind: Kind::Bridge(package), ..everything(name, package, 14) }
}

const fn python(environment: &'static str, script: &'static str, date: &'static str) -> Pinned {
    let kind = Kind::Python { environment, script };
    Pinned { name: environment, kind, date, modern: false, redirects: false, tools: 3 }
}

const MCP: &str = "three_tools_mcp.py";
const FASTMCP: &str = "three_tools_fastmcp.py";

pub(crate) const EVERYTHING_2025_8_18: Pinned = everything("everything-2025.8.18", "everything-2025-8-18", 11);
pub(crate) const EVERYTHING_2025_11_25: Pinned = everything("everything-2025.11.25", "everything-2025-11-25", 11);
pub(crate) const EVERYTHING_2025_12_18: Pinned = everything("everything-2025.12.18", "everything-2025-12-18", 11);
pub(crate) const EVERYTHING_2026_1_26: Pinned = everything("everything-2026.1.26", "everything-2026-1-26", 13);
pub(crate) const SERVER_2_4_0: Pinned =
    Pinned { name: "server-2.4.0", kind: Kind::Node, date: "2026-07-28", modern: true, redirects: false, tools: 3 };
pub(crate) const MCP_2_3_0: Pinned = Pinned { modern: true, ..python("mcp-2.3.0", MCP, "2026-07-28") };
pub(crate) const FASTMCP_4_2_3: Pinned = Pinned { modern: true, ..python("fastmcp-4.2.3", FASTMCP, "2026-07-28") };
pub(crate) const MCP_1_30_0: Pinned = python("mcp-1.30.0", MCP, "2025-11-25");
pub(crate) const MCP_1_12_4: Pinned = python("mcp-1.12.4", MCP, "2025-06-18");
pub(crate) const FASTMCP_2_3_5: Pinned = Pinned { redirects: true, ..python("fastmcp-2.3.5", FASTMCP, "2025-03-26") };
pub(crate) const MCP_1_8_1: Pinned = Pinned { redirects: true, ..python("mcp-1.8.1", MCP, "2024-11-05") };

pub(crate) const SSE_2025_12_18: Pinned = sse("everything-sse-2025.12.18", "everything-2025-12-18", 11);
pub(crate) const SSE_2026_1_26: Pinned = sse("everything-sse-2026.1.26", "everything-2026-1-26", 13);
pub(crate) const BRIDGE_2025_8_21: Pinned = bridge("bridged-filesystem-2025.8.21", "filesystem-2025-8-21");
pub(crate) const BRIDGE_2026_8_31: Pinned = bridge("bridged-filesystem-2026.8.31", "filesystem-2026-8-31");

/// All of them.
pub(crate) const ALL: [Pinned; 11] = [
    EVERYTHING_2025_8_18,
    EVERYTHING_2025_11_25,
    EVERYTHING_2025_12_18,
    EVERYTHING_2026_1_26,
    SERVER_2_4_0,
    MCP_2_3_0,
    FASTMCP_4_2_3,
    MCP_1_30_0,
    MCP_1_12_4,
    FASTMCP_2_3_5,
    MCP_1_8_1,
];

/// A running one, on a loopback port of its own. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct PinnedPeer {
    process: Process,
    port: u16,
}

impl PinnedPeer {
    /// Starts it and waits until it accepts connections.
    pub(crate) async fn start(pinned: Pinned) -> Self {
        let mut last = String::new();
        // A port that another program took in the meantime shows as an early end.
        for _ in 0..3 {
            let port = free_port();
            let mut process = Process::start(pinned.name, &pinned.program(port));
            match process.listening(port).await {
                Ok(()) => return Self { process, port },
                Err(status) => last = format!("{status}; it printed:\n{}", process.log()),
            }
        }
        panic!("{} does not stay up: {last}", pinned.name);
    }

    /// Its MCP endpoint.
    pub(crate) fn url(&self) -> String {
        self.at("/mcp")
    }

    /// Another place at the same address.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Its port.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Whether it still runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.process.ended().is_none()
    }
}

impl Pinned {
    fn program(self, port: u16) -> Program {
        let npm = installed("npm");
        match self.kind {
            Kind::Everything(package) => {
                let script = format!("node_modules/{package}/dist/index.js");
                Program::new(npm, ["node", &script, "streamableHttp"]).with("PORT", port.to_string())
            }
            Kind::EverythingSse(package) => {
                let script = format!("node_modules/{package}/dist/index.js");
                Program::new(npm, ["node", &script, "sse"]).with("PORT", port.to_string())
            }
            Kind::Bridge(package) => {
                let server = format!("node node_modules/{package}/dist/index.js {}", checkout("tests/peers").display());
                let port = port.to_string();
                let bridge = "node_modules/supergateway/dist/index.js";
                // Without sessions it starts the program anew for each request.
                let transport = ["--outputTransport", "streamableHttp", "--stateful", "--port", &port];
                Program::new(npm, ["node", bridge, "--stdio", &server].into_iter().chain(transport))
            }
            Kind::Node => {
                let script = checkout("tests/peers/npm/modern.mjs").into_os_string();
                Program::new(npm, ["node".into(), script, port.to_string().into()])
            }
            Kind::Python { environment, script } => {
                let interpreter = installed("python").join(environment).join("bin/python").into_os_string();
                let script = checkout("tests/peers/python").join(script).into_os_string();
                let program = Program::new(checkout("."), [interpreter, script, port.to_string().into()]);
                program.with("PYTHONUNBUFFERED", "1")
            }
        }
    }
}

/// A directory of `.peers`.
pub(crate) fn installed(name: &str) -> PathBuf {
    let place = checkout(".peers").join(name);
    assert!(place.is_dir(), "{} is missing: run scripts/peers", place.display());
    place
}
