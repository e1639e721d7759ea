//! Where a target is: a URL, or a program of ours that speaks over its standard input and output.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use url::Url;

use super::secret::TextOrSecret;

/// Where a target is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `http` or `https`, with a host, without user information or fragment.
    Url(Url),
    /// It is started for each scan.
    Command(Command),
}

/// A program, as the inventory gives it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Command {
    /// Its name, looked for in `PATH`, or its path.
    pub program: String,
    /// What follows it.
    pub args: Vec<String>,
    /// Its environment, besides the few variables that every program gets.
    pub env: Vec<(String, TextOrSecret)>,
    /// Its working directory; `/` when not given.
    pub cwd: Option<PathBuf>,
}

impl Endpoint {
    /// The URL, where it is one.
    #[must_use]
    pub const fn url(&self) -> Option<&Url> {
        match self {
            Self::Url(url) => Some(url),
            Self::Command(_) => None,
        }
    }

    /// The program, where it is one.
    #[must_use]
    pub const fn command(&self) -> Option<&Command> {
        match self {
            Self::Url(_) => None,
            Self::Command(command) => Some(command),
        }
    }

    /// The host of the URL; empty for a program, which shares none.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url().and_then(Url::host_str).unwrap_or_default()
    }
}

impl Command {
    /// The program and what follows it.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.program.as_str()).chain(self.args.iter().map(String::as_str))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => f.write_str(url.as_str()),
            Self::Command(command) => write!(f, "stdio: {command}"),
        }
    }
}

/// As it would be typed into a shell.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, word) in self.words().enumerate() {
            if index > 0 {
                f.write_char(' ')?;
            }
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=+,%".contains(c);
            if !word.is_empty() && word.chars().all(is_plain) {
                f.write_str(word)?;
            } else {
                write!(f, "'{}'", word.replace('\'', "'\\''"))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let words = ["npx", "-y", "@scope/server@1.2.3", "/srv/it's here", ""];
        let command = Command {
            program: words[0].to_owned(),
            args: words[1..].iter().map(|word| (*word).to_owned()).collect(),
            env: vec![("TOKEN".to_owned(), TextOrSecret::Text("never shown".to_owned()))],
            cwd: None,
        };
        assert_eq!(Endpoint::Command(command).to_string(), "stdio: npx -y @scope/server@1.2.3 '/srv/it'\\''s here' ''");
    }
}
