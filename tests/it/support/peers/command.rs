//! Pinned servers that speak over their standard input and output: the commands that start them.

use std::ffi::OsString;
use std::path::PathBuf;

use super::super::checkout;
use super::{installed, interpreter};

/// A published server, started by who speaks to it. It needs nothing of its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PinnedCommand {
    /// The package and its version.
    pub(crate) name: &'static str,
    kind: Kind,
    /// The newest date it speaks.
    pub(crate) date: &'static str,
    /// Whether it answers `server/discover`; if so it takes no `initialize` afterwards.
    pub(crate) modern: bool,
    /// How many tools it has.
    pub(crate) tools: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `server-filesystem`, under this name in `.peers/npm/node_modules`, on one directory.
    Filesystem(&'static str),
    /// `server-everything`, likewise.
    Everything(&'static str),
    /// `mcp-server-time`, in an environment of `.peers/python`.
    Time(&'static str),
}

const fn node(name: &'static str, kind: Kind, tools: usize) -> PinnedCommand {
    PinnedCommand { name, kind, date: "2025-11-25", modern: false, tools }
}

pub(crate) const FILESYSTEM_2025_8_21: PinnedCommand =
    node("filesystem-2025.8.21", Kind::Filesystem("filesystem-2025-8-21"), 14);
pub(crate) const FILESYSTEM_2026_8_31: PinnedCommand =
    node("filesystem-2026.8.31", Kind::Filesystem("filesystem-2026-8-31"), 14);
pub(crate) const EVERYTHING_2026_1_26: PinnedCommand =
    node("everything-2026.1.26", Kind::Everything("everything-2026-1-26"), 13);
pub(crate) const EVERYTHING_2026_8_31: PinnedCommand =
    node("everything-2026.8.31", Kind::Everything("everything-2026-8-31"), 13);
pub(crate) const TIME_2025_8_4: PinnedCommand = PinnedCommand {
    name: "time-2025.8.4",
    kind: Kind::Time("mcp-server-time-2025.8.4"),
    date: "2025-06-18",
    modern: false,
    tools: 2,
};
pub(crate) const TIME_2026_10_19: PinnedCommand = PinnedCommand {
    name: "time-2026.10.19",
    kind: Kind::Time("mcp-server-time-2026.10.19"),
    date: "2026-07-28",
    modern: true,
    tools: 2,
};

/// All of them.
pub(crate) const ALL: [PinnedCommand; 6] = [
    FILESYSTEM_2025_8_21,
    FILESYSTEM_2026_8_31,
    EVERYTHING_2026_1_26,
    EVERYTHING_2026_8_31,
    TIME_2025_8_4,
    TIME_2026_10_19,
];

impl PinnedCommand {
    /// The program, by its full path, and its arguments.
    pub(crate) fn argv(self) -> Vec<OsString> {
        let script = |package| installed("npm").join("node_modules").join(package).join("dist/index.js").into();
        match self.kind {
            Kind::Filesystem(package) => vec![on_path("node").into(), script(package), checkout("tests/peers").into()],
            Kind::Everything(package) => vec![on_path("node").into(), script(package), "stdio".into()],
            Kind::Time(environment) => {
                let module = ["-m", "mcp_server_time", "--local-timezone=Etc/UTC"];
                [interpreter(environment).into()].into_iter().chain(module.map(OsString::from)).collect()
            }
        }
    }

    /// The command as a shell takes it.
    pub(crate) fn line(self) -> String {
        let quoted = |word: OsString| format!("\"{}\"", word.to_string_lossy());
        self.argv().into_iter().map(quoted).collect::<Vec<_>>().join(" ")
    }
}

/// Where a shell would find a program.
pub(crate) fn on_path(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join(name)).find(|program| program.is_file());
    found.unwrap_or_else(|| panic!("{name} is not on the PATH"))
}
