//! Where a secret is kept. The value itself is read by `crate::secret` at each use and lives nowhere else.

use std::fmt;
use std::path::PathBuf;

/// A reference to a secret (law 9).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretRef {
    /// An environment variable.
    Env(String),
    /// A file; one trailing line end is not part of the secret.
    File(PathBuf),
    /// A systemd credential: a file of that name in `$CREDENTIALS_DIRECTORY`.
    Credential(String),
}

/// Names the reference, as in `env TICKETS_TOKEN`; never the value.
impl fmt::Display for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env {name}"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Credential(name) => write!(f, "credential {name}"),
        }
    }
}

/// A setting that is written out or kept as a secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TextOrSecret {
    /// As written.
    Text(String),
    /// Kept elsewhere.
    Secret(SecretRef),
}
