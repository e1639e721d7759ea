//! Mistakes in configuration, each with its place, a snippet and what would be right.

use std::fmt;
use std::path::PathBuf;

/// All the mistakes in a configuration.
#[derive(Debug, Default)]
pub struct Mistakes(Vec<Mistake>);

impl std::error::Error for Mistakes {}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.len())
    }
}

/// One mistake.
#[derive(Debug)]
pub struct Mistake {
    /// What is wrong.
    pub error: ConfigError,
    /// Where; a second place is the other half of a mistake that takes two.
    pub spots: Vec<Spot>,
}

/// A place in a file.
#[derive(Debug)]
pub struct Spot {
    /// The file.
    pub file: PathBuf,
    /// Line and column, from 1; `None` when the mistake is the file itself.
    pub at: Option<(u32, u32)>,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
}
