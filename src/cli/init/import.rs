//! Reads the servers of an MCP client's configuration (`mcpServers`, or `servers`).
//!
//! Secrets are never copied: a token, a header or a variable of a program becomes a reference to an environment variable,
//! whose name is told. What may hold a secret elsewhere (a URL's query, a word of a command) is left out, and said.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Map, Value};

use super::wishes::{NewTarget, Place, Setup, is_variable};
use crate::config::sounds_secret;
use crate::model::target::TargetId;
use crate::model::text;

/// Such files have a few kilobytes.
const MAX_FILE: u64 = 4 << 20;
/// And a few servers.
const MAX_SERVERS: usize = 1_000;
/// And a command a few words.
const MAX_WORDS: usize = 256;

/// The servers of `file`.
///
/// # Errors
/// When it cannot be read, or is no such configuration.
pub(super) fn read(file: &Path) -> anyhow::Result<Setup> {
    let mut content = Vec::new();
    let opened = File::open(file).with_context(|| format!("failed to open {}", file.display()))?;
    let read = opened.take(MAX_FILE + 1).read_to_end(&mut content);
    let read = read.with_context(|| format!("failed to read {}", file.display()))?;
    anyhow::ensure!(
        u64::try_from(read).is_ok_and(|read| read <= MAX_FILE),
        "{} is larger than any client's configuration",
        file.display()
    );
    // The parser's own words would show a part of the file, which may be a secret.
    let document: Value = serde_json::from_slice(&content).map_err(|error| {
        anyhow::anyhow!("{} is no JSON (line {}, column {})", file.display(), error.line(), error.column())
    })?;
    let servers = ["mcpServers", "servers"].into_iter().find_map(|name| document.get(name)?.as_object());
    let servers = servers.with_context(|| format!("{} names no `mcpServers`", file.display()))?;
    Ok(setup(servers))
}

fn setup(servers: &Map<String, Value>) -> Setup {
    let mut setup = Setup::default();
    for (name, server) in servers.iter().take(MAX_SERVERS) {
        match target(name, server, &setup.targets) {
            Ok((target, notes)) => {
                setup.targets.push(target);
                setup.notes.extend(notes);
            }
            Err(why) => setup.notes.push(format!("{} was left out: {why}", text::name(name))),
        }
    }
    let more = servers.len().saturating_sub(MAX_SERVERS);
    if more > 0 {
        setup.notes.push(format!("{more} further servers were left out: put them into files of their own"));
    }
    setup
}

fn target(name: &str, server: &Value, before: &[NewTarget]) -> Result<(NewTarget, Vec<String>), &'static str> {
    if let Some(program) = server.get("command") {
        return self::program(name, program, server, before);
    }
    let text_of = |member: &str| server.get(member).and_then(Value::as_str);
    let url = text_of("url").or_else(|| text_of("serverUrl")).ok_or("it has no `url`")?;
    let parsed: url::Url = url.parse().map_err(|_| "its `url` is no URL")?;
    if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
        return Err("its `url` is no http or https URL");
    }
    if parsed.query().is_some()
        || parsed.fragment().is_some()
        || !parsed.username().is_empty()
        || parsed.password().is_some()
    {
        return Err("its `url` may hold a secret (a query, a user): add it by hand");
    }
    let id = free_id(name, before);
    let mut notes = Vec::new();
    let mut made = NewTarget { id, place: Place::Url(parsed.into()), token_env: None, headers: Vec::new() };
    let headers = server.get("headers").and_then(Value::as_object);
    for (header, value) in headers.into_iter().flatten() {
        let Some(value) = value.as_str() else { continue };
        header_of(&mut made, &mut notes, header, value);
    }
    Ok((made, notes))
}

/// A program that the client starts: driftd starts it too, for each scan.
fn program(
    name: &str,
    program: &Value,
    server: &Value,
    before: &[NewTarget],
) -> Result<(NewTarget, Vec<String>), &'static str> {
    let program = program.as_str().filter(|program| !program.trim().is_empty()).ok_or("its `command` is no program")?;
    let mut words = vec![program.to_owned()];
    for arg in server.get("args").and_then(Value::as_array).into_iter().flatten() {
        words.push(arg.as_str().ok_or("its `args` are not all texts")?.to_owned());
    }
    if words.len() > MAX_WORDS {
        return Err("its `args` are more than a command has");
    }
    if may_hold_secret(&words) {
        return Err("its `args` may hold a secret: add it by hand, and give the secret by `env`");
    }
    let id = free_id(name, before);
    let mut notes = vec![format!("{id}: driftd starts this program for each scan; `commands` allows it word for word")];
    let mut env = Vec::new();
    for (variable, value) in server.get("env").and_then(Value::as_object).into_iter().flatten() {
        if !is_variable(variable) {
            notes.push(format!("{id}: the variable {} was left out: it is no name of one", text::name(variable)));
            continue;
        }
        let ours = value.as_str().and_then(referred).unwrap_or_else(|| named(&id, variable));
        notes.push(format!("{id}: the value of {variable} is read from the environment: set {ours}"));
        env.push((variable.clone(), ours));
    }
    Ok((NewTarget { id, place: Place::Program { words, env }, token_env: None, headers: Vec::new() }, notes))
}

/// How tokens of well-known issuers begin.
const TOKENS: [&str; 11] = ["sk-", "sk_", "pk-", "ghp_", "gho_", "github_pat_", "glpat-", "xox", "AKIA", "eyJ", "hf_"];

/// Whether a word may be one: what stands behind `--token` or in `--token=`, and what no person would choose.
fn may_hold_secret(words: &[String]) -> bool {
    let is_option = |word: &str| word.starts_with('-') && sounds_secret(word.split('=').next().unwrap_or_default());
    let is_assigned = |word: &str| word.split_once('=').is_some_and(|(name, _)| sounds_secret(name));
    let is_token = |word: &str| TOKENS.iter().any(|start| word.starts_with(start));
    let is_opaque = |word: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let digits = word.chars().filter(char::is_ascii_digit).count();
        word.len() >= 24 && !word.starts_with("--") && word.chars().all(plain) && digits >= 3
    };
    let is_login = |word: &str| word.contains("://") && word.contains('@');
    let mut words = words.iter().skip(1).map(|word| word.trim_matches(['"', '\'']));
    words.any(|word| is_option(word) || is_assigned(word) || is_token(word) || is_opaque(word) || is_login(word))
}

fn header_of(target: &mut NewTarget, notes: &mut Vec<String>, header: &str, value: &str) {
    let id = target.id.clone();
    if header.eq_ignore_ascii_case("authorization") {
        let bearer = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, token)) = bearer else {
            notes.push(format!("{id}: its Authorization is no bearer token and was left out"));
            return;
        };
        let variable = referred(token).unwrap_or_else(|| named(&id, "TOKEN"));
        notes.push(format!("{id}: its token is read from the environment: set {variable}"));
        target.token_env = Some(variable);
        return;
    }
    if !is_sent_by_us(header) {
        notes.push(format!("{id}: the header {} was left out: it belongs to the protocol", text::name(header)));
        return;
    }
    let variable = referred(value).unwrap_or_else(|| named(&id, header));
    notes.push(format!("{id}: the value of {} is read from the environment: set {variable}", text::name(header)));
    target.headers.push((header.to_ascii_lowercase(), variable));
}

/// Whether the inventory may set a header (`config` refuses the same).
fn is_sent_by_us(header: &str) -> bool {
    let name = header.to_ascii_lowercase();
    let of_protocol = ["mcp-", "content-", "accept", "proxy-"].iter().any(|start| name.starts_with(start));
    let of_connection = matches!(
        name.as_str(),
        "host"
            | "user-agent"
            | "connection"
            | "keep-alive"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
            | "last-event-id"
    );
    http::HeaderName::from_bytes(name.as_bytes()).is_ok() && !of_protocol && !of_connection
}

/// The variable that a client's placeholder names: `${NAME}`, `${env:NAME}`, `$NAME`.
fn referred(value: &str) -> Option<String> {
    let value = value.trim();
    let inner = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    let name = inner.map(|inner| inner.strip_prefix("env:").unwrap_or(inner)).or_else(|| value.strip_prefix('$'))?;
    is_variable(name).then(|| name.to_owned())
}

/// A name for a variable: `TICKETS_TOKEN`.
fn named(id: &TargetId, what: &str) -> String {
    let word = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).take(40).collect()
    };
    let name = format!("{}_{}", word(id.as_str()), word(what));
    if is_variable(&name) { name } else { format!("MCP_{name}") }
}

/// The id that a name makes, and that nobody has yet.
fn free_id(name: &str, before: &[NewTarget]) -> TargetId {
    let kept =
        |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c.to_ascii_lowercase() } else { '-' };
    let stem: String = name.chars().take(56).map(kept).collect();
    let stem = stem.trim_matches(['-', '.', '_']);
    let stem = if stem.is_empty() { "server" } else { stem };
    let mut n = 1_usize;
    loop {
        let id = if n == 1 { stem.to_owned() } else { format!("{stem}-{n}") };
        if let Ok(id) = id.parse::<TargetId>()
            && !before.iter().any(|target| target.id == id)
        {
            return id;
        }
        n += 1;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SECRET: &str = "sk-3f9a-very-secret";

    fn read(servers: Value) -> Setup {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("mcp.json");
        std::fs::write(&file, json!({ "mcpServers": servers }).to_string()).unwrap();
        super::read(&file).unwrap()
    }

    #[test]
    fn servers_become_targets_and_their_secrets_references() {
        let setup = read(json!({
            "Tickets EU": { "url": "https://mcp.example.com/mcp", "headers": { "Authorization": format!("Bearer {SECRET}") } },
            "tickets-eu": { "type": "http", "url": "https://eu.example.com/mcp", "headers": { "X-Api-Key": SECRET } },
            "wiki": { "url": "https://wiki.example.com/mcp", "headers": { "authorization": "Bearer ${env:WIKI_KEY}" } },
        }));
        let shown: Vec<_> = setup
            .targets
            .iter()
            .map(|target| (target.id.as_str(), target.token_env.as_deref(), target.headers.clone()))
            .collect();
        assert_eq!(
            shown,
            [
                ("tickets-eu", Some("TICKETS_EU_TOKEN"), vec![]),
                ("tickets-eu-2", None, vec![("x-api-key".to_owned(), "TICKETS_EU_2_X_API_KEY".to_owned())]),
                ("wiki", Some("WIKI_KEY"), vec![]),
            ]
        );
        assert!(!format!("{setup:?}").contains(SECRET), "{setup:?}");
    }

    #[test]
    fn programs_become_targets_and_their_variables_references() {
        let setup = read(json!({
            "files": { "command": "npx", "args": ["-y", "server-filesystem@1.2.3", "/srv"],
                "env": { "API_KEY": SECRET, "LEVEL": "${LEVEL}", "no name": "x" } },
            "old": { "type": "sse", "url": "https://old.example.com/sse" },
        }));
        let words = ["npx", "-y", "server-filesystem@1.2.3", "/srv"].map(str::to_owned).to_vec();
        let env = vec![("API_KEY".to_owned(), "FILES_API_KEY".to_owned()), ("LEVEL".to_owned(), "LEVEL".to_owned())];
        assert_eq!(setup.targets[0].place, Place::Program { words, env });
        assert_eq!(setup.targets[1].place, Place::Url("https://old.example.com/sse".to_owned()));
        assert!(!format!("{setup:?}").contains(SECRET), "{setup:?}");
    }

    #[test]
    fn what_cannot_be_watched_is_left_out_and_said() {
        let setup = read(json!({
            "token": { "command": "npx", "args": ["-y", "server", "--api-key", SECRET] },
            "assigned": { "command": "docker", "args": ["run", "-e", format!("API_KEY={SECRET}"), "x"] },
            "opaque": { "command": "npx", "args": ["server", "ghp0123456789abcdefghijklmno"] },
            "empty": { "command": "" },
            "keyed": { "url": format!("https://keyed.example.com/mcp?key={SECRET}") },
            "user": { "url": format!("https://me:{SECRET}@keyed.example.com/mcp") },
            "\u{202e}none": {},
            "number": 7,
        }));
        assert!(setup.targets.is_empty(), "{setup:?}");
        let notes = setup.notes.join("\n");
        for wanted in
            ["no program", "`args` may hold a secret", "`url` may hold a secret", "\"<U+202E>none\"", "number"]
        {
            assert!(notes.contains(wanted), "{wanted}: {notes}");
        }
        assert!(!notes.contains(SECRET), "{notes}");
    }

    #[test]
    fn a_file_that_is_none_is_refused_and_not_shown() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("mcp.json");
        for content in [format!("{{ \"token\": {SECRET} "), "[]".to_owned(), "{}".to_owned(), "[".repeat(100_000)] {
            std::fs::write(&file, &content).unwrap();
            let error = format!("{:#}", super::read(&file).unwrap_err());
            assert!(error.contains("mcp.json") && !error.contains(SECRET), "{error}");
        }
        assert!(super::read(Path::new("/dev/zero")).is_err());
    }

    proptest::proptest! {
        #[test]
        fn whatever_stands_in_it_makes_targets_with_ids_of_their_own(names in proptest::collection::vec(".{0,80}", 0..12), value in ".{0,20}") {
            let servers: Map<String, Value> = names
                .iter()
                .map(|name| (name.clone(), json!({ "url": "https://a.example/mcp", "headers": { value.clone(): value.clone() } })))
                .collect();
            let setup = setup(&servers);
            let ids: std::collections::BTreeSet<_> = setup.targets.iter().map(|target| target.id.clone()).collect();
            proptest::prop_assert_eq!(ids.len(), servers.len());
        }
    }
}
