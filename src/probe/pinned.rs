//! Whether a command starts a package without saying which version (`scan.command-unpinned`): then what is watched is
//! whatever the registry has today, and not what agents run.

use crate::model::endpoint::Command;

/// How a runner names versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registry {
    /// `name@1.2.3`, `@scope/name@1.2.3`.
    Npm,
    /// `name==1.2.3`, `name@1.2.3`.
    PyPi,
    /// `name:1.2.3`, `name@sha256:…`.
    Images,
}

/// A program that fetches what it runs: its name, the words that make it do so, its options that have a value, and
/// those whose value is the package.
struct Runner {
    program: &'static str,
    words: &'static [&'static str],
    valued: &'static [&'static str],
    packages: &'static [&'static str],
    registry: Registry,
}

const NPM_VALUED: &[&str] = &["-c", "--call", "--cache", "--prefix", "--registry", "-w", "--workspace"];
const NPM_PACKAGES: &[&str] = &["-p", "--package"];
const PY_VALUED: &[&str] = &["-p", "--python", "--with", "--index", "--index-url", "--default-index", "--env-file"];
const PY_PACKAGES: &[&str] = &["--from", "--spec"];
const RUN_VALUED: &[&str] = &[
    "-e",
    "--env",
    "--env-file",
    "-v",
    "--volume",
    "--mount",
    "-p",
    "--publish",
    "--name",
    "--network",
    "--net",
    "-w",
    "--workdir",
    "-u",
    "--user",
    "--entrypoint",
    "-l",
    "--label",
    "-m",
    "--memory",
    "--cpus",
    "--platform",
    "--pull",
    "--tmpfs",
    "--add-host",
    "-h",
    "--hostname",
    "--cap-add",
    "--cap-drop",
    "--security-opt",
    "--gpus",
    "--device",
    "--restart",
    "--log-driver",
    "--log-opt",
    "--ulimit",
    "--dns",
    "--pids-limit",
    "--userns",
    "--ipc",
];

const fn npm(program: &'static str, words: &'static [&'static str]) -> Runner {
    Runner { program, words, valued: NPM_VALUED, packages: NPM_PACKAGES, registry: Registry::Npm }
}

const fn python(program: &'static str, words: &'static [&'static str]) -> Runner {
    Runner { program, words, valued: PY_VALUED, packages: PY_PACKAGES, registry: Registry::PyPi }
}

const fn images(program: &'static str) -> Runner {
    Runner { program, words: &["run"], valued: RUN_VALUED, packages: &[], registry: Registry::Images }
}

const RUNNERS: &[Runner] = &[
    npm("npx", &[]),
    npm("pnpx", &[]),
    npm("bunx", &[]),
    npm("npm", &["exec"]),
    npm("npm", &["x"]),
    npm("pnpm", &["dlx"]),
    npm("yarn", &["dlx"]),
    npm("bun", &["x"]),
    python("uvx", &[]),
    python("uv", &["tool", "run"]),
    python("pipx", &["run"]),
    images("docker"),
    images("podman"),
    images("nerdctl"),
];

/// The package that `command` starts without a version.
pub(super) fn unpinned(command: &Command) -> Option<&str> {
    let program = command.program.rsplit('/').next().unwrap_or_default();
    let runner = RUNNERS.iter().find(|runner| {
        let mut args = command.args.iter();
        runner.program == program && runner.words.iter().all(|word| args.next().is_some_and(|arg| arg == word))
    })?;
    let package = package(runner, command.args.get(runner.words.len()..)?)?;
    (!is_pinned(runner.registry, package)).then_some(package)
}

/// What is run: what an option names, else the first word that belongs to no option.
fn package<'a>(runner: &Runner, args: &'a [String]) -> Option<&'a str> {
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let (name, value) = arg.split_once('=').map_or((arg, None), |(name, value)| (name, Some(value)));
        if runner.packages.contains(&name) {
            return value.or_else(|| args.next());
        } else if arg == "--" {
            return args.next();
        } else if runner.valued.contains(&arg) {
            args.next();
        } else if !arg.starts_with('-') {
            return Some(arg);
        }
    }
    None
}

fn is_pinned(registry: Registry, package: &str) -> bool {
    // What lies here is what it is.
    let is_local = package.starts_with(['.', '/', '~']) || package.starts_with("file:");
    let is_exact = |version: &str| {
        let is_number = version.starts_with(|c: char| c.is_ascii_digit());
        is_number && !version.contains(['x', 'X', '*', ' ', '|', '<', '>', '^', '~', ',']) && version.contains('.')
    };
    is_local
        || match registry {
            Registry::Npm => {
                let at = package.get(1..).and_then(|rest| rest.rsplit_once('@')).map(|(_, version)| version);
                // A commit says it all; a name of a branch does not.
                let commit = package.rsplit_once('#').map(|(_, commit)| commit);
                at.is_some_and(is_exact) || commit.is_some_and(|commit| commit.len() == 40)
            }
            Registry::PyPi => {
                let version = package.split_once("==").or_else(|| package.rsplit_once('@')).map(|(_, version)| version);
                version.is_some_and(|version| is_exact(version.trim_start_matches('=')) || is_commit(version))
            }
            Registry::Images => {
                let tag = package.rsplit('/').next().and_then(|last| last.split_once(':')).map(|(_, tag)| tag);
                package.contains("@sha256:") || tag.is_some_and(|tag| tag != "latest")
            }
        }
}

fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.chars().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Command {
        let mut words = line.split(' ').map(str::to_owned);
        Command { program: words.next().unwrap(), args: words.collect(), env: Vec::new(), cwd: None }
    }

    #[test]
    fn a_package_without_a_version_is_named() {
        for (line, expected) in [
            ("npx -y @scope/server /srv", "@scope/server"),
            ("/usr/bin/npx server@latest", "server@latest"),
            ("npx -y server@^1.2.0", "server@^1.2.0"),
            ("npx server@1", "server@1"),
            ("npx -p server@1.x cli", "server@1.x"),
            ("npx --package=server cli", "server"),
            ("npx -y github:someone/server", "github:someone/server"),
            ("npm exec -- server", "server"),
            ("pnpm dlx server", "server"),
            ("bun x server", "server"),
            ("uvx mcp-server-time --local-timezone UTC", "mcp-server-time"),
            ("uvx --python 3.12 mcp-server-time@latest", "mcp-server-time@latest"),
            ("uvx --from mcp-server-time>=1.0 serve", "mcp-server-time>=1.0"),
            ("uv tool run server", "server"),
            ("pipx run server", "server"),
            ("docker run -i --rm -e A=b -v /a:/b mcp/time", "mcp/time"),
            ("docker run -i registry.example.com:5000/mcp/time:latest", "registry.example.com:5000/mcp/time:latest"),
        ] {
            assert_eq!(unpinned(&of(line)), Some(expected), "{line}");
        }
    }

    #[test]
    fn a_package_with_a_version_and_what_is_none_are_left_alone() {
        for line in [
            "npx -y @scope/server@1.2.3 /srv",
            "npx server@2026.8.31",
            "npx server@1.0.0-beta.2",
            "npx ./server",
            "npx -y github:someone/server#1234567890123456789012345678901234567890",
            "uvx mcp-server-time@2026.1.26",
            "uvx --from mcp-server-time==1.0 serve",
            "uvx --with x mcp-server-time==1.0",
            "docker run -i --rm mcp/time:1.2",
            "docker run mcp/time@sha256:0123",
            "docker compose up",
            "node dist/index.js",
            "python3 -m mcp_server_time",
            "npx",
            "npm run serve",
        ] {
            assert_eq!(unpinned(&of(line)), None, "{line}");
        }
    }
}
