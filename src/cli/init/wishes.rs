//! What `init` is to write, checked: ids, URLs, names of variables, mailboxes.

use anyhow::Context as _;

use crate::cli::InitArgs;
use crate::cli::scan::from_url;
use crate::model::inventory::{Auth, Target};
use crate::model::secret::SecretRef;
use crate::model::target::TargetId;

/// All of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Setup {
    pub(super) targets: Vec<NewTarget>,
    pub(super) webhook: Option<Hook>,
    pub(super) mail: Option<Mail>,
    /// What a person has to know or do.
    pub(super) notes: Vec<String>,
}

/// A target of the inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewTarget {
    pub(super) id: TargetId,
    pub(super) place: Place,
    /// The variable that holds its bearer token.
    pub(super) token_env: Option<String>,
    /// Further headers, each with the variable that holds its value.
    pub(super) headers: Vec<(String, String)>,
}

/// Where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Url(String),
    Program {
        /// The program and what follows it.
        words: Vec<String>,
        /// Variables that it gets, each with the variable of ours that holds its value.
        env: Vec<(String, String)>,
    },
}

/// A webhook, written out or in a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    Url(String),
    Variable(String),
}

/// Mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mail {
    pub(super) from: String,
    pub(super) to: Vec<String>,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: &'static str,
    pub(super) user: Option<String>,
}

impl NewTarget {
    /// As the inventory would have it, for a first look.
    pub(super) fn inventory(&self) -> anyhow::Result<Target> {
        let Place::Url(url) = &self.place else { anyhow::bail!("a program is started by an inventory alone") };
        let target = from_url(url)?;
        let auth = self.token_env.clone().map(|name| Auth::Bearer(SecretRef::Env(name)));
        Ok(Target { id: self.id.clone(), auth, ..target })
    }
}

impl Setup {
    /// Adds what the command line says.
    pub(super) fn add(&mut self, args: &InitArgs) -> anyhow::Result<()> {
        if let Some(url) = &args.url {
            let made = from_url(url)?;
            let id = match &args.id {
                Some(id) => id.parse().with_context(|| format!("--id {id:?}"))?,
                None => made.id,
            };
            let token_env = args.token_env.as_deref().map(variable).transpose()?;
            self.targets.push(NewTarget { id, place: Place::Url(url.clone()), token_env, headers: Vec::new() });
        }
        if let Some(hook) = &args.webhook {
            self.webhook = Some(if hook.contains("://") {
                let url: url::Url = hook.parse().with_context(|| format!("--webhook {hook:?} is no URL"))?;
                anyhow::ensure!(matches!(url.scheme(), "http" | "https"), "a webhook is at an http or https URL");
                Hook::Url(hook.clone())
            } else {
                Hook::Variable(variable(hook)?)
            });
        }
        if let (Some(first), Some(smtp)) = (args.mail.first(), &args.smtp) {
            for address in args.mail.iter().chain(&args.mail_from) {
                anyhow::ensure!(is_mailbox(address), "{address:?} is no mailbox: write it as ops@example.com");
            }
            self.mail = Some(mail(first, args, smtp)?);
        }
        Ok(())
    }
}

/// Mail is protected unless it stays on this machine.
fn mail(first: &str, args: &InitArgs, smtp: &str) -> anyhow::Result<Mail> {
    let (host, port) = match smtp.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().with_context(|| format!("{port:?} is no port"))?),
        None => (smtp, 587),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    anyhow::ensure!(
        !host.is_empty() && host.chars().all(plain),
        "{host:?} is no host: write it as smtp.example.com:587"
    );
    let here = matches!(host, "localhost" | "127.0.0.1");
    let tls = match port {
        465 => "implicit",
        _ if here => "none",
        _ => "starttls",
    };
    Ok(Mail {
        from: args.mail_from.clone().unwrap_or_else(|| first.to_owned()),
        to: args.mail.clone(),
        host: host.to_owned(),
        port,
        tls,
        user: args.smtp_user.clone(),
    })
}

fn is_mailbox(address: &str) -> bool {
    let whole = !address.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | ',' | '"'));
    whole && address.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
}

/// The name of an environment variable. What looks like a secret itself is not repeated.
pub(super) fn variable(name: &str) -> anyhow::Result<String> {
    anyhow::ensure!(
        is_variable(name),
        "that is no name of an environment variable (letters, digits and _): driftd reads a secret from where it is, and \
         never writes it into a file"
    );
    Ok(name.to_owned())
}

pub(super) fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.len() <= 100
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
