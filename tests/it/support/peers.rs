//! Published servers and SDKs, each pinned, as processes of their own. `scripts/peers` installs them.

pub(crate) mod command;

use std::path::PathBuf;

use self::command::PinnedCommand;
use super::checkout;
use super::ports::free_port;
use super::process::{Process, Program};

/// A published server, or one of three tools on a published SDK, at one version, over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pinned {
    /// The package and its version.
    pub(crate) name: &'static str,
    kind: Kind,
    /// How it speaks HTTP.
    pub(crate) transport: Transport,
    /// The newest date it speaks, hence the one that a scan ends up with.
    pub(crate) date: &'static str,
    /// Whether it answers `server/discover`.
    pub(crate) modern: bool,
    /// Whether it sends `/mcp` on to `/mcp/` by 307.
    pub(crate) redirects: bool,
    /// How many tools it has.
    pub(crate) tools: usize,
    /// Whether it ends when a client leaves.
    pub(crate) mortal: bool,
}

/// The ways to speak MCP over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// One endpoint, `/mcp`.
    Streamable,
    /// HTTP+SSE of 2024-11-05: a stream at `/sse`, which names where to post.
    Sse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `server-everything`, under this name in `.peers/npm/node_modules`.
    Everything { package: &'static str, script: &'static str },
    /// `context7-mcp`.
    Context7(&'static str),
    /// `supergateway` around a program that speaks over its standard input and output.
    Bridge { inner: PinnedCommand, stateful: bool },
    /// `tests/peers/npm/modern.mjs`.
    Node,
    /// A script of `tests/peers/python` in an environment of `.peers/python`.
    Python { environment: &'static str, script: &'static str },
}

const fn pinned(name: &'static str, kind: Kind, date: &'static str, tools: usize) -> Pinned {
    let transport = Transport::Streamable;
    Pinned { name, kind, transport, date, modern: false, redirects: false, tools, mortal: false }
}

const fn everything(name: &'static str, package: &'static str, tools: usize) -> Pinned {
    pinned(name, Kind::Everything { package, script: "index.js" }, "2025-11-25", tools)
}

const fn python(environment: &'static str, script: &'static str, date: &'static str) -> Pinned {
    pinned(environment, Kind::Python { environment, script }, date, 3)
}

const fn bridge(inner: PinnedCommand, stateful: bool) -> Kind {
    Kind::Bridge { inner, stateful }
}

/// The same over HTTP+SSE, under another name.
const fn over_sse(name: &'static str, pinned: Pinned) -> Pinned {
    Pinned { name, transport: Transport::Sse, ..pinned }
}

const MCP: &str = "three_tools_mcp.py";
const FASTMCP: &str = "three_tools_fastmcp.py";

pub(crate) const EVERYTHING_2025_8_18: Pinned = everything("everything-2025.8.18", "everything-2025-8-18", 11);
pub(crate) const EVERYTHING_2025_11_25: Pinned = everything("everything-2025.11.25", "everything-2025-11-25", 11);
pub(crate) const EVERYTHING_2025_12_18: Pinned = everything("everything-2025.12.18", "everything-2025-12-18", 11);
pub(crate) const EVERYTHING_2026_1_26: Pinned = everything("everything-2026.1.26", "everything-2026-1-26", 13);
pub(crate) const EVERYTHING_2026_8_31: Pinned = everything("everything-2026.8.31", "everything-2026-8-31", 13);
pub(crate) const CONTEXT7_1_0_14: Pinned =
    pinned("context7-1.0.14", Kind::Context7("context7-1-0-14"), "2025-11-25", 2);
pub(crate) const SERVER_2_4_0: Pinned = Pinned { modern: true, ..pinned("server-2.4.0", Kind::Node, "2026-07-28", 3) };
pub(crate) const MCP_2_3_0: Pinned = Pinned { modern: true, ..python("mcp-2.3.0", MCP, "2026-07-28") };
pub(crate) const FASTMCP_4_2_3: Pinned = Pinned { modern: true, ..python("fastmcp-4.2.3", FASTMCP, "2026-07-28") };
pub(crate) const MCP_1_30_0: Pinned = python("mcp-1.30.0", MCP, "2025-11-25");
pub(crate) const MCP_1_12_4: Pinned = python("mcp-1.12.4", MCP, "2025-06-18");
pub(crate) const FASTMCP_2_3_5: Pinned = Pinned { redirects: true, ..python("fastmcp-2.3.5", FASTMCP, "2025-03-26") };
pub(crate) const MCP_1_8_1: Pinned = Pinned { redirects: true, ..python("mcp-1.8.1", MCP, "2024-11-05") };

/// `server-filesystem` behind a bridge, which keeps a program for each session.
pub(crate) const BRIDGE_2025_8_21: Pinned =
    pinned("bridge-2025.8.21", bridge(command::FILESYSTEM_2025_8_21, true), "2025-11-25", 14);
pub(crate) const BRIDGE_2026_8_31: Pinned =
    pinned("bridge-2026.8.31", bridge(command::FILESYSTEM_2026_8_31, true), "2025-11-25", 14);
/// Without sessions the bridge starts the program anew for each request.
pub(crate) const SESSIONLESS_BRIDGE_2026_8_31: Pinned =
    pinned("sessionless-bridge-2026.8.31", bridge(command::FILESYSTEM_2026_8_31, false), "2025-11-25", 14);

/// It has one client at a time, and ends with it.
pub(crate) const SSE_0_6_2: Pinned = Pinned {
    mortal: true,
    transport: Transport::Sse,
    ..pinned(
        "everything-0.6.2-sse",
        Kind::Everything { package: "everything-0-6-2", script: "sse.js" },
        "2024-11-05",
        5,
    )
};
pub(crate) const SSE_2025_12_18: Pinned = over_sse("everything-2025.12.18-sse", EVERYTHING_2025_12_18);
pub(crate) const SSE_2026_1_26: Pinned = over_sse("everything-2026.1.26-sse", EVERYTHING_2026_1_26);
pub(crate) const SSE_2026_8_31: Pinned = over_sse("everything-2026.8.31-sse", EVERYTHING_2026_8_31);
pub(crate) const MCP_1_30_0_SSE: Pinned = over_sse("mcp-1.30.0-sse", MCP_1_30_0);
/// It answers `server/discover` here too, and takes no `initialize` on that connection afterwards.
pub(crate) const MCP_2_3_0_SSE: Pinned = over_sse("mcp-2.3.0-sse", MCP_2_3_0);
/// The bridge's other side; it starts a program for each connection.
pub(crate) const BRIDGE_2026_8_31_SSE: Pinned = over_sse("bridge-2026.8.31-sse", SESSIONLESS_BRIDGE_2026_8_31);

/// All of Streamable HTTP.
pub(crate) const ALL: [Pinned; 16] = [
    EVERYTHING_2025_8_18,
    EVERYTHING_2025_11_25,
    EVERYTHING_2025_12_18,
    EVERYTHING_2026_1_26,
    EVERYTHING_2026_8_31,
    CONTEXT7_1_0_14,
    SERVER_2_4_0,
    MCP_2_3_0,
    FASTMCP_4_2_3,
    MCP_1_30_0,
    MCP_1_12_4,
    FASTMCP_2_3_5,
    MCP_1_8_1,
    BRIDGE_2025_8_21,
    BRIDGE_2026_8_31,
    SESSIONLESS_BRIDGE_2026_8_31,
];

/// All of HTTP+SSE.
pub(crate) const ALL_SSE: [Pinned; 7] =
    [SSE_0_6_2, SSE_2025_12_18, SSE_2026_1_26, SSE_2026_8_31, MCP_1_30_0_SSE, MCP_2_3_0_SSE, BRIDGE_2026_8_31_SSE];

/// A running one, on a loopback port of its own. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct PinnedPeer {
    process: Process,
    port: u16,
    path: &'static str,
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
                Ok(()) => return Self { process, port, path: pinned.transport.path() },
                Err(status) => last = format!("{status}; it printed:\n{}", process.log()),
            }
        }
        panic!("{} does not stay up: {last}", pinned.name);
    }

    /// Its MCP endpoint: of HTTP+SSE where its stream is.
    pub(crate) fn url(&self) -> String {
        self.at(self.path)
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

    /// Waits until it ends by itself.
    pub(crate) async fn end(&mut self) {
        self.process.end().await;
    }
}

impl Transport {
    const fn path(self) -> &'static str {
        match self {
            Self::Streamable => "/mcp",
            Self::Sse => "/sse",
        }
    }
}

impl Pinned {
    fn program(self, port: u16) -> Program {
        let npm = installed("npm");
        let streams = self.transport == Transport::Sse;
        match self.kind {
            Kind::Everything { package, script } => {
                let script = format!("node_modules/{package}/dist/{script}");
                let mode = if streams { "sse" } else { "streamableHttp" };
                Program::new(npm, ["node", &script, mode]).with("PORT", port.to_string())
            }
            Kind::Context7(package) => {
                let script = format!("node_modules/{package}/dist/index.js");
                Program::new(npm, ["node", &script, "--transport", "http", "--port", &port.to_string()])
            }
            Kind::Bridge { inner, stateful } => {
                let output = if streams { "sse" } else { "streamableHttp" };
                let (script, port) = ("node_modules/supergateway/dist/index.js", port.to_string());
                let command = ["node", script, "--stdio", &inner.line(), "--outputTransport", output, "--port", &port];
                Program::new(npm, command.into_iter().chain(stateful.then_some("--stateful")))
            }
            Kind::Node => {
                let script = checkout("tests/peers/npm/modern.mjs").into_os_string();
                Program::new(npm, ["node".into(), script, port.to_string().into()])
            }
            Kind::Python { environment, script } => {
                let interpreter = interpreter(environment).into_os_string();
                let script = checkout("tests/peers/python").join(script).into_os_string();
                let mode = if streams { "sse" } else { "streamable-http" };
                let program = Program::new(checkout("."), [interpreter, script, port.to_string().into(), mode.into()]);
                program.with("PYTHONUNBUFFERED", "1")
            }
        }
    }
}

/// The interpreter of an environment of `.peers/python`.
fn interpreter(environment: &str) -> PathBuf {
    installed("python").join(environment).join("bin/python")
}

/// A directory of `.peers`.
pub(crate) fn installed(name: &str) -> PathBuf {
    let place = checkout(".peers").join(name);
    assert!(place.is_dir(), "{} is missing: run scripts/peers", place.display());
    place
}
