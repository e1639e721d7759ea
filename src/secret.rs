//! Reads secrets at each use, and takes their values out of what arrives (law 9).
//!
//! Decides where a [`SecretRef`] is looked up and what counts as a value. What a value must look like for its use (a
//! header, a password, a signing key) is the caller's matter. Nothing else reads the process environment.

mod redactor;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

use crate::model::secret::SecretRef;

pub use redactor::Redactor;

/// The most bytes a secret's file may hold.
const FILE_CAP: u64 = 64 * 1024;

/// The variable in which systemd names the directory of credentials.
const CREDENTIALS_DIRECTORY: &str = "CREDENTIALS_DIRECTORY";

/// Where variables and credentials come from: the process, or a test's map.
#[derive(Clone)]
pub struct Environment(Variables);

#[derive(Clone)]
enum Variables {
    Process,
    Map(Arc<BTreeMap<String, String>>),
}

impl Environment {
    /// The process's own environment, looked up anew at each use.
    pub const fn process() -> Self {
        Self(Variables::Process)
    }

    /// An environment of these variables alone; credentials lie in its `CREDENTIALS_DIRECTORY`.
    pub fn from_map<N: Into<String>, V: Into<String>>(variables: impl IntoIterator<Item = (N, V)>) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self(Variables::Map(Arc::new(variables)))
    }

    /// A variable that names a place (`STATE_DIRECTORY`, `DRIFTD_CONFIG`); `None` when it is unset or empty.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    /// Reads a secret.
    ///
    /// # Errors
    /// When there is no value, or none that can be a secret. The error names the reference, never the value.
    pub fn read(&self, secret: &SecretRef) -> Result<SecretString, SecretError> {
        let value = match secret {
            SecretRef::Env(name) => self
                .variable(name)
                .ok_or_else(|| SecretError::Unset(name.clone()))?
                .into_string()
                .map_err(|_| SecretError::NotText(secret.clone()))?,
            SecretRef::File(path) => read_file(secret, path)?,
            SecretRef::Credential(name) => read_file(secret, &self.credential(name)?)?,
        };
        if value.is_empty() { Err(SecretError::Empty(secret.clone())) } else { Ok(SecretString::from(value)) }
    }

    /// Finds the values that these references have now, each under the reference's own name. What has no value, or
    /// none that can be a secret, cannot arrive either.
    pub fn redactor<'s>(&self, secrets: impl IntoIterator<Item = &'s SecretRef>) -> Redactor {
        let pairs = secrets.into_iter().filter_map(|secret| {
            let name = match secret {
                SecretRef::Env(name) | SecretRef::Credential(name) => name.clone(),
                SecretRef::File(path) => path.display().to_string(),
            };
            self.read(secret).ok().map(|value| (name, value))
        });
        Redactor::new(pairs.map(|(name, value)| (name, value.expose_secret().to_owned())))
    }

    /// A variable as it is.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        match &self.0 {
            Variables::Process => std::env::var_os(name),
            Variables::Map(variables) => variables.get(name).map(OsString::from),
        }
    }

    fn credential(&self, name: &str) -> Result<PathBuf, SecretError> {
        if !is_credential_name(name) {
            return Err(SecretError::CredentialName(name.to_owned()));
        }
        let directory = self.path(CREDENTIALS_DIRECTORY).ok_or_else(|| SecretError::NoCredentials(name.to_owned()))?;
        Ok(directory.join(name))
    }
}

/// Says which kind it is; a map's values stay out.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Variables::Process => f.write_str("Environment(process)"),
            Variables::Map(variables) => {
                f.debug_tuple("Environment").field(&variables.keys().collect::<Vec<_>>()).finish()
            }
        }
    }
}

/// Whether systemd would take this for a credential's name: one segment of a path.
pub fn is_credential_name(name: &str) -> bool {
    let ordinary = |c: char| !c.is_control() && c != '/';
    (1..=255).contains(&name.len()) && name != "." && name != ".." && name.chars().all(ordinary)
}

/// Why a secret has no value; it never holds one.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// No such variable.
    #[error("the environment variable {0} is not set")]
    Unset(String),
    /// The unit passes no credentials.
    #[error("credential {0}: $CREDENTIALS_DIRECTORY is not set, the unit passes no credentials")]
    NoCredentials(String),
    /// The name would leave the directory of credentials.
    #[error("`{}` is no name of a credential", .0.escape_debug())]
    CredentialName(String),
    /// The file cannot be read.
    #[error("{secret} cannot be read: {error}")]
    Read {
        /// Which.
        secret: SecretRef,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A directory, a pipe or a device: reading it might never end.
    #[error("{0} is not a regular file")]
    NotAFile(SecretRef),
    /// Too long to be a secret.
    #[error("{0} is longer than 64 KiB")]
    TooLong(SecretRef),
    /// Not UTF-8.
    #[error("{0} is not UTF-8 text")]
    NotText(SecretRef),
    /// Nothing in it.
    #[error("{0} is empty")]
    Empty(SecretRef),
}

fn read_file(secret: &SecretRef, path: &Path) -> Result<String, SecretError> {
    let failed = |error| SecretError::Read { secret: secret.clone(), error };
    // Looked at before it is opened: opening a pipe waits for its writer.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(SecretError::NotAFile(secret.clone()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(FILE_CAP.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_CAP {
        return Err(SecretError::TooLong(secret.clone()));
    }
    let mut text = String::from_utf8(bytes).map_err(|_| SecretError::NotText(secret.clone()))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
