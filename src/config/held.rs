//! Inventory files that are held at their last good version, and what a load leaves behind for the next one.
//!
//! Decides which words there are for being held, and what of a file is remembered. When a file is held is decided where
//! its text is looked at (`inventories`); keeping [`InventoryPart`]s over a restart is the store's matter.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::source::visible;
use crate::model::digest::Digest;
use crate::model::target::TargetId;

/// What was in use of the inventory before: the [`InventoryPart`]s of the configuration in force, or those that the
/// store kept from the last run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastGood {
    /// Each file by [`key`].
    pub files: BTreeMap<PathBuf, LastFile>,
    /// Files whose next version is taken whatever it removes (`driftd inventory release FILE`), by [`key`]. The caller
    /// forgets one once a configuration that does not hold it is in force.
    pub released: BTreeSet<PathBuf>,
}

/// The version of a file that was in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastFile {
    /// Its text.
    pub text: String,
    /// The ids that it may carry on: of its targets, and those that they had before.
    pub ids: BTreeSet<TargetId>,
}

/// What is in use of one inventory file. To be kept: the next load takes it as [`LastGood`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InventoryPart {
    /// The file's [`key`].
    pub path: PathBuf,
    /// Of the text.
    pub digest: Digest,
    /// The text in use: what the file holds now, or its last good version when it is held.
    pub text: String,
    /// The ids that it may carry on: of its targets, and those that they had before.
    pub ids: BTreeSet<TargetId>,
    /// Whether another program writes it (`trust: listed`).
    pub listed: bool,
}

/// A file that is not used as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The file's [`key`].
    pub path: PathBuf,
    /// Why, as a word.
    pub reason: HeldReason,
    /// Why, in full: each with its place, its snippet and what would be right.
    pub mistakes: Vec<String>,
    /// Whether `driftd inventory release` lets its current version in.
    pub releasable: bool,
    /// Whether another version of it is in use; without one it contributes nothing.
    pub has_last_good: bool,
}

/// Why a file is held: a label of `driftd_inventory_file_held`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeldReason {
    /// No permission, not a regular file, too long, not UTF-8.
    Unreadable,
    /// It was there and is not any more.
    Gone,
    /// It has nothing in it, or no targets where it had some.
    Empty,
    /// It says what a listed file may not say.
    Forbidden,
    /// Not YAML, or wrong in itself.
    Invalid,
    /// An id of it belongs to another file.
    Conflict,
    /// More of its targets are gone than `may_remove` allows.
    RemovesTooMany,
}

impl HeldReason {
    /// All reasons, the one that counts first where several hold.
    pub const ALL: [Self; 7] = [
        Self::Unreadable,
        Self::Gone,
        Self::Empty,
        Self::Forbidden,
        Self::Invalid,
        Self::Conflict,
        Self::RemovesTooMany,
    ];

    /// The word in metrics and documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Gone => "gone",
            Self::Empty => "empty",
            Self::Forbidden => "forbidden",
            Self::Invalid => "invalid",
            Self::Conflict => "conflict",
            Self::RemovesTooMany => "removes_too_many",
        }
    }
}

impl fmt::Display for HeldReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl LastGood {
    /// What these parts leave for the next load.
    #[must_use]
    pub fn of(parts: &[InventoryPart]) -> Self {
        let file = |part: &InventoryPart| LastFile { text: part.text.clone(), ids: part.ids.clone() };
        let files = parts.iter().map(|part| (part.path.clone(), file(part))).collect();
        Self { files, released: BTreeSet::new() }
    }
}

/// Something that is no mistake and that a person should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A listed file claims an id (`was`) that was no target of it: the target starts anew.
    ForeignClaim {
        /// The file.
        file: PathBuf,
        /// The target that claims.
        target: TargetId,
        /// The id that it claims.
        was: TargetId,
    },
    /// More files are of a pattern than are read.
    TooManyFiles {
        /// The pattern.
        pattern: PathBuf,
        /// How many are not read.
        unread: usize,
    },
    /// A credential that only the unit passes (`config check` alone).
    NotLookedAt {
        /// File, line and column.
        at: String,
        /// Its name.
        credential: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForeignClaim { file, target, was } => write!(
                f,
                "{}: `{target}` does not carry on `{was}`, which was no target of this file; it starts anew",
                visible(&file.to_string_lossy())
            ),
            Self::TooManyFiles { pattern, unread } => write!(
                f,
                "{}: too many files are of this pattern, {unread} of them are not read; put their targets into fewer",
                visible(&pattern.to_string_lossy())
            ),
            Self::NotLookedAt { at, credential } => write!(
                f,
                "{at}: credential {} is read from $CREDENTIALS_DIRECTORY, which is set in the unit only: not looked at",
                visible(credential)
            ),
        }
    }
}

/// The name by which a file is remembered: its absolute path, symbolic links left as they are, since what they lead to
/// is what changes.
pub fn key(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
