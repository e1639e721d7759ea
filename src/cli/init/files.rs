//! The two files as `init` writes them. Texts stand as JSON strings, which YAML reads as they are.

use std::fmt::Write as _;

use super::wishes::{Hook, Mail, NewTarget, Place, Setup};

/// `config/driftd.yaml`.
pub(super) fn daemon(setup: &Setup, quick: bool) -> String {
    let mut page = String::from(
        "# yaml-language-server: $schema=driftd.schema.json\n\
         # What driftd does, and whom it tells. `driftd config check` says all that is wrong with it.\n\
         # Secrets are never written here: { env: NAME }, { file: PATH } or { credential: NAME } says where one is.\n\
         inventory: [ inventory.yaml ]\n",
    );
    page.push_str(&commands(setup));
    if quick {
        page.push_str(
            "\n# For trying it out: take this line away (and `every` in inventory.yaml) once you mean it. By default a change\n\
             # counts when it is seen again, after 30 s where it weakens a protection and after 5 min elsewhere.\n\
             confirm: { sightings: 2, after: 2s }\n",
        );
    }
    page.push_str("\nreceivers:\n- { name: terminal, console: {} }\n");
    match &setup.webhook {
        Some(Hook::Url(url)) => {
            let _ = writeln!(page, "- {{ name: hook, webhook: {{ url: {}, format: standard }} }}", quoted(url));
        }
        Some(Hook::Variable(name)) => {
            let _ = writeln!(page, "- {{ name: hook, webhook: {{ url: {{ env: {name} }}, format: standard }} }}");
        }
        None => {}
    }
    if let Some(mail) = &setup.mail {
        page.push_str(&receiver(mail));
    }
    page.push_str(
        "\n# /metrics, /-/healthy and /-/ready; nothing that changes anything.\nmetrics_listen: 127.0.0.1:7439\n",
    );
    page
}

/// Which programs may be started: those of the targets, word for word.
fn commands(setup: &Setup) -> String {
    let programs = setup.targets.iter().filter_map(|target| match &target.place {
        Place::Url(_) => None,
        Place::Program { words, .. } => Some(format!("  - {}\n", list(words))),
    });
    let programs: String = programs.collect();
    if programs.is_empty() {
        return programs;
    }
    format!("\n# Programs that targets may be: no others are started.\ncommands:\n  allow:\n{programs}")
}

fn receiver(mail: &Mail) -> String {
    let Mail { from, to, host, port, tls, user } = mail;
    let to: Vec<String> = to.iter().map(|address| quoted(address)).collect();
    let login = user
        .as_ref()
        .map(|user| format!("      username: {}\n      password: {{ env: SMTP_PASSWORD }}\n", quoted(user)));
    format!(
        "- name: mail\n  email:\n    from: {}\n    to: [ {} ]\n    smtp:\n      host: {}\n      port: {port}\n      tls: {tls}\n{}",
        quoted(from),
        to.join(", "),
        quoted(host),
        login.unwrap_or_default()
    )
}

/// `config/inventory.yaml`.
pub(super) fn inventory(setup: &Setup, quick: bool) -> String {
    let mut page = String::from(
        "# yaml-language-server: $schema=inventory.schema.json\n\
         # What is watched. The id is the target: its baseline and its history are kept under it.\n",
    );
    if quick {
        page.push_str("defaults: { every: 5s }\n");
    }
    if setup.targets.is_empty() {
        page.push_str(
            "targets: []\n\n#targets:\n#- id: docs\n#  kind: mcp\n#  url: https://docs.example.com/mcp\n#  auth: { bearer: { env: DOCS_TOKEN } }\n",
        );
        return page;
    }
    page.push_str("targets:\n");
    for target in &setup.targets {
        page.push_str(&entry(target));
    }
    page
}

fn entry(target: &NewTarget) -> String {
    let mut lines = vec![format!("- id: {}", id(target.id.as_str())), "  kind: mcp".to_owned()];
    match &target.place {
        Place::Url(url) => lines.push(format!("  url: {}", quoted(url))),
        Place::Program { words, env } => {
            lines.push(format!("  command: {}", list(words)));
            lines.extend(references("env", env));
        }
    }
    lines.extend(target.token_env.as_ref().map(|name| format!("  auth: {{ bearer: {{ env: {name} }} }}")));
    lines.extend(references("headers", &target.headers));
    lines.join("\n") + "\n"
}

/// A map whose values are variables of ours; nothing for an empty one.
fn references(key: &str, entries: &[(String, String)]) -> Option<String> {
    let entries: Vec<String> =
        entries.iter().map(|(name, variable)| format!("{}: {{ env: {variable} }}", quoted(name))).collect();
    (!entries.is_empty()).then(|| format!("  {key}: {{ {} }}", entries.join(", ")))
}

fn list(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[ {} ]", words.join(", "))
}

/// As it is, unless YAML would read a number or one of its words in it.
fn id(id: &str) -> String {
    let word = matches!(id, "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n");
    if id.starts_with(|c: char| c.is_ascii_alphabetic()) && !word { id.to_owned() } else { quoted(id) }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
