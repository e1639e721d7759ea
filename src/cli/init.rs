//! `init`: an own configuration to start from. Asks on a terminal when it is told nothing; overwrites nothing.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::exit::Exit;
use super::style::Style;
use super::{InitArgs, page, progress, scan};
use crate::config::{self, Described};
use crate::model::observation::Outcome;
use crate::model::snapshot::Snapshot;
use crate::model::target::TargetId;
use crate::secret::Environment;

mod files;
mod import;
mod wishes;

use wishes::Setup;

/// Writes `config/driftd.yaml` and `config/inventory.yaml`, and says what to do next.
///
/// # Errors
/// When a file is there already or cannot be written, or what was given makes no configuration.
pub(super) async fn init(args: &InitArgs) -> anyhow::Result<Exit> {
    let place = Place::of(&args.directory)?;
    let args = if is_told_nothing(args) && std::io::stdin().is_terminal() { asked(args)? } else { args.clone() };
    let mut setup = match &args.from {
        Some(file) => import::read(file)?,
        None => Setup::default(),
    };
    setup.add(&args)?;
    if let Some(target) = args.url.as_ref().and_then(|_| setup.targets.first()) {
        let target = target.inventory()?;
        let look = scan::look_alone(&target);
        let (observation, snapshot) = progress::shown(&format!("scanning {}", target.endpoint), look).await?;
        page::write(&format!("{}\n", scan::page(&snapshot, &observation, Style::stdout())))?;
        setup.notes.extend(advice(&snapshot, setup.targets.first().and_then(|target| target.token_env.as_deref())));
    }
    place.write(&setup, args.quick)?;
    page::write(&told(&place, &setup))?;
    Ok(Exit::Fine)
}

const fn is_told_nothing(args: &InitArgs) -> bool {
    args.url.is_none() && args.from.is_none() && args.webhook.is_none() && args.mail.is_empty()
}

/// Where the files go.
struct Place {
    daemon: PathBuf,
    inventory: PathBuf,
}

impl Place {
    /// In `directory`, where neither may be.
    fn of(directory: &Path) -> anyhow::Result<Self> {
        let config = directory.join("config");
        let place = Self { daemon: config.join("driftd.yaml"), inventory: config.join("inventory.yaml") };
        for file in [&place.daemon, &place.inventory] {
            anyhow::ensure!(
                std::fs::symlink_metadata(file).is_err(),
                "{} is there already and stays as it is: use another directory (--directory), or add to it by hand",
                file.display()
            );
        }
        Ok(place)
    }

    fn write(&self, setup: &Setup, quick: bool) -> anyhow::Result<()> {
        let directory = self.daemon.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory).with_context(|| format!("failed to make {}", directory.display()))?;
        // The inventory first: a daemon's file that names a missing inventory would be the worse half.
        create(&self.inventory, &files::inventory(setup, quick))?;
        create(&self.daemon, &files::daemon(setup, quick))?;
        describe(directory)
    }
}

/// What editors complete and check with. It is ours, and one that stands there may be of an older version.
fn describe(directory: &Path) -> anyhow::Result<()> {
    for (name, described) in [("driftd", Described::Daemon), ("inventory", Described::Inventory)] {
        let file = directory.join(format!("{name}.schema.json"));
        let schema = serde_json::to_string_pretty(&config::schema(described))? + "\n";
        std::fs::write(&file, schema).with_context(|| format!("failed to write {}", file.display()))?;
    }
    Ok(())
}

/// Whatever came to stand there meanwhile stays.
fn create(file: &Path, content: &str) -> anyhow::Result<()> {
    let open = std::fs::OpenOptions::new().write(true).create_new(true).open(file);
    open.and_then(|mut open| open.write_all(content.as_bytes()))
        .with_context(|| format!("failed to write {}", file.display()))
}

/// What a first scan asks a person to do.
fn advice(snapshot: &Snapshot, token_env: Option<&str>) -> Vec<String> {
    let guarded = crate::judge::document::verdict(snapshot).coverage.starts_with("door only");
    match (snapshot.outcome, token_env) {
        (Outcome::Ok, None) if guarded => vec![
            "It wants a token: put one into the environment and add `auth: { bearer: { env: NAME } }` to the target; until \
             then driftd watches its door."
                .to_owned(),
        ],
        (Outcome::Ok | Outcome::Partial, _) => Vec::new(),
        (Outcome::CredentialRejected, Some(name)) => vec![format!("It refused the token in {name}.")],
        (other, _) => vec![format!(
            "The first scan gave no verdict ({other}); driftd keeps asking, and tells when it answers."
        )],
    }
}

fn told(place: &Place, setup: &Setup) -> String {
    let mut out = String::new();
    let targets = setup.targets.len();
    let noun = if targets == 1 { "target" } else { "targets" };
    let (daemon, inventory) = (place.daemon.display(), place.inventory.display());
    let _ = writeln!(out, "wrote {daemon} and {inventory} ({targets} {noun})");
    for note in &setup.notes {
        out.push_str(&page::wrap("  - ", 4, note, Style::stdout().width));
    }
    let environment = Environment::process();
    // What cannot be read yet (a variable that is not set) is told now, and not at the first start.
    if let Err(mistakes) = config::load(&place.daemon, &environment) {
        let _ = writeln!(out, "\nbefore it can run:\n{mistakes}");
    }
    let flag = if place.daemon == Path::new("./config/driftd.yaml") || place.daemon == Path::new("config/driftd.yaml") {
        String::new()
    } else {
        format!(" --config {}", place.daemon.display())
    };
    let _ = writeln!(out, "\nnext: driftd{flag} run");
    out
}

/// Asks a person; an empty answer leaves a thing out.
fn asked(args: &InitArgs) -> anyhow::Result<InitArgs> {
    let mut args = args.clone();
    args.url = question("URL of an MCP server to watch (empty: none yet)")?;
    if args.url.is_some() {
        args.id = id_asked()?;
        args.token_env = question("environment variable with its bearer token (empty: it needs none)")?;
    }
    args.webhook = question("webhook to tell: its URL, or the environment variable that holds it (empty: none)")?;
    if let Some(mail) = question("mailbox to tell (empty: none)")? {
        args.mail = vec![mail];
        args.smtp = question("mail relay, as smtp.example.com:587")?;
        anyhow::ensure!(args.smtp.is_some(), "mail needs a relay");
        args.smtp_user = question("the relay's user (empty: it needs none)")?;
    }
    Ok(args)
}

/// An id that is none is asked for again at once, and not refused after all that follows.
fn id_asked() -> anyhow::Result<Option<String>> {
    loop {
        let Some(id) = question("its id in the inventory (empty: made of its host)")? else { return Ok(None) };
        match id.parse::<TargetId>() {
            Ok(_) => return Ok(Some(id)),
            Err(error) => page::write(&format!("{id:?}: {error}\n"))?,
        }
    }
}

fn question(words: &str) -> anyhow::Result<Option<String>> {
    page::write(&format!("{words}: "))?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(Some(line.trim().to_owned()).filter(|line| !line.is_empty()))
}
