//! The inventory files that a list of paths and patterns stands for, with their texts.
//!
//! Decides which files there are, which of them another program writes, and which of those are gone. What is in them is
//! `inventory_file`'s matter.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::elements::inventory::{Files, Trust};
use super::error::ConfigError;
use super::glob;
use super::held::{LastGood, Warning, key};
use super::reader::{At, Reader, read_text};

/// A hundred thousand targets fit.
const MOST_MIB: u64 = 64;

/// More files of another program's are not read: nobody said how many it may write.
const MOST_FILES: usize = 1_000;

/// One file.
#[derive(Debug)]
pub(super) struct InventoryFile {
    /// As it is shown.
    pub(super) path: PathBuf,
    /// As it is remembered.
    pub(super) key: PathBuf,
    pub(super) trust: Trust,
    pub(super) text: Result<String, Missing>,
}

/// A text that is not there.
#[derive(Debug)]
pub(super) struct Missing {
    pub(super) error: ConfigError,
    /// Where that is said; `None`: of the file as a whole.
    pub(super) at: Option<At>,
}

/// The files to read, in the order of the list; those of a pattern by name, each file once.
///
/// A file that is not there is a mistake; a pattern that matches nothing is an empty directory yet to be filled. A file
/// that two entries stand for is a listed one if either says so.
pub(super) fn of(
    reader: &mut Reader<'_>,
    entries: Vec<Files>,
    last_good: &LastGood,
    warnings: &mut Vec<Warning>,
) -> Vec<InventoryFile> {
    let mut files: Vec<InventoryFile> = Vec::new();
    let mut seen: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for entry in entries {
        let found = match entry.pattern() {
            None => vec![named(&entry)],
            Some(pattern) => match matching(&entry, &pattern, last_good) {
                Ok((found, unread)) => {
                    if unread > 0 {
                        warnings.push(Warning::TooManyFiles { pattern: entry.path.clone(), unread });
                    }
                    found
                }
                Err(error) => {
                    reader.mistake_at(entry.at, ConfigError::NoInventory(error), None);
                    continue;
                }
            },
        };
        for file in found {
            match seen.get(&identity(&file.path)).and_then(|index| files.get_mut(*index)) {
                Some(first) => first.trust = first.trust.least(file.trust),
                None => {
                    seen.insert(identity(&file.path), files.len());
                    files.push(file);
                }
            }
        }
    }
    // What was let go and is gone is no file any more.
    let is_let_go = |file: &InventoryFile| is_gone(file) && last_good.released.contains(&file.key);
    files.retain(|file| !(file.trust.is_listed() && is_let_go(file)));
    files
}

fn is_gone(file: &InventoryFile) -> bool {
    match &file.text {
        Err(Missing { error: ConfigError::Vanished, .. }) => true,
        Err(Missing { error: ConfigError::NoInventory(error), .. }) => error.kind() == io::ErrorKind::NotFound,
        _ => false,
    }
}

fn named(entry: &Files) -> InventoryFile {
    match fs::metadata(&entry.path) {
        Ok(_) => present(entry.path.clone(), entry.trust),
        Err(error) => {
            let missing = Missing { error: ConfigError::NoInventory(error), at: Some(entry.at) };
            InventoryFile { path: entry.path.clone(), key: key(&entry.path), trust: entry.trust, text: Err(missing) }
        }
    }
}

fn present(path: PathBuf, trust: Trust) -> InventoryFile {
    let text = read_text(&path, MOST_MIB).map_err(|error| Missing { error, at: None });
    InventoryFile { key: key(&path), path, trust, text }
}

/// The files of a pattern by name, and how many are not read; among those of another program also what was there before
/// and is gone.
fn matching(entry: &Files, pattern: &str, last_good: &LastGood) -> io::Result<(Vec<InventoryFile>, usize)> {
    let gone = gone(entry, pattern, last_good);
    let mut names = match names(&entry.directory(), pattern) {
        Ok(names) => names,
        // Nothing can be said of them.
        Err(error) if !gone.is_empty() => {
            let held = |(path, key)| {
                let error = ConfigError::Unreadable(io::Error::from(error.kind()));
                InventoryFile { path, key, trust: entry.trust, text: Err(Missing { error, at: None }) }
            };
            return Ok((gone.into_iter().map(held).collect(), 0));
        }
        Err(error) => return Err(error),
    };
    let most = if entry.trust.is_listed() { MOST_FILES } else { usize::MAX };
    let unread = names.len().saturating_sub(most);
    names.truncate(most);
    let mut files: Vec<InventoryFile> =
        names.into_iter().map(|name| present(entry.path.with_file_name(name), entry.trust)).collect();
    let there: BTreeSet<PathBuf> = files.iter().map(|file| file.key.clone()).collect();
    for (path, key) in gone.into_iter().filter(|(_, key)| !there.contains(key)) {
        let text = Err(Missing { error: ConfigError::Vanished, at: None });
        files.push(InventoryFile { path, key, trust: entry.trust, text });
    }
    files.sort_by(|left, right| left.path.cmp(&right.path));
    Ok((files, unread))
}

/// What the pattern of a listed entry stood for before: path and key.
fn gone(entry: &Files, pattern: &str, last_good: &LastGood) -> Vec<(PathBuf, PathBuf)> {
    if !entry.trust.is_listed() {
        return Vec::new();
    }
    let directory = key(&entry.path).parent().map(Path::to_owned);
    let of_the_pattern = |file: &&PathBuf| {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        file.parent() == directory.as_deref() && is_of(pattern, &name)
    };
    let files = last_good.files.keys().filter(of_the_pattern);
    files.map(|file| (entry.path.with_file_name(file.file_name().unwrap_or_default()), file.clone())).collect()
}

fn names(directory: &Path, pattern: &str) -> io::Result<Vec<std::ffi::OsString>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        if is_of(pattern, &name.to_string_lossy()) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The files that an entry of `inventory` stands for now: its own, there or not, or those whose names are of its
/// pattern.
///
/// # Errors
/// When the pattern's directory cannot be read.
pub fn expand(listed: &Path) -> io::Result<Vec<PathBuf>> {
    let name = listed.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if !name.contains('*') {
        return Ok(vec![listed.to_owned()]);
    }
    let directory = listed.parent().filter(|directory| !directory.as_os_str().is_empty());
    let names = names(directory.unwrap_or_else(|| Path::new(".")), &name)?;
    Ok(names.into_iter().map(|name| listed.with_file_name(name)).collect())
}

/// The same file under two spellings is read once.
fn identity(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| key(path))
}

/// Whether a name is of the pattern. Like in a shell, a `*` at the start does not stand for a dot.
fn is_of(pattern: &str, name: &str) -> bool {
    (!name.starts_with('.') || pattern.starts_with('.')) && glob::matches(pattern, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_of_a_name_but_a_dot_at_its_start() {
        for (pattern, name, expected) in [
            ("*.yaml", "a.yaml", true),
            ("*.yaml", ".yaml", false),
            ("*.yaml", ".hidden.yaml", false),
            (".*.yaml", ".hidden.yaml", true),
            ("*.yaml", "a.yml", false),
            ("team-*.yaml", "team-.yaml", true),
            ("team-*.yaml", "teams.yaml", false),
            ("[ab].yaml", "a.yaml", false),
        ] {
            assert_eq!(is_of(pattern, name), expected, "{pattern} {name}");
        }
    }
}
