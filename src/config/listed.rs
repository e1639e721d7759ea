//! The inventory files that a list of paths and patterns stands for.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::elements::inventory::Listed;
use super::error::ConfigError;
use super::reader::Reader;

/// The files to read, in the order of the list; those of a pattern by name, each file once.
///
/// A file that is not there is a mistake; a pattern that matches nothing is an empty directory yet to be filled.
pub(super) fn files(reader: &mut Reader<'_>, listed: Vec<Listed>) -> Vec<PathBuf> {
    let (mut files, mut seen) = (Vec::new(), BTreeSet::new());
    for Listed { path, at } in listed {
        match expand(&path) {
            Ok(found) => files.extend(found.into_iter().filter(|file| seen.insert(identity(file)))),
            Err(error) => {
                reader.mistake_at(at, ConfigError::NoInventory(error), None);
            }
        }
    }
    files
}

/// The files that an entry of `inventory` stands for now: its own, or those whose names are of its pattern.
///
/// # Errors
/// When the file is not there, or the pattern's directory cannot be read.
pub fn expand(listed: &Path) -> io::Result<Vec<PathBuf>> {
    let name = listed.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if name.contains('*') { matching(listed, &name) } else { present(listed) }
}

fn present(path: &Path) -> io::Result<Vec<PathBuf>> {
    fs::metadata(path)?;
    Ok(vec![path.to_owned()])
}

fn matching(path: &Path, pattern: &str) -> io::Result<Vec<PathBuf>> {
    let directory = path.parent().unwrap_or_else(|| Path::new(""));
    let readable = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let entries = match fs::read_dir(readable) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        if matches(pattern, &name.to_string_lossy()) {
            files.push(directory.join(name));
        }
    }
    files.sort();
    Ok(files)
}

/// The same file under two spellings is read once.
fn identity(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether a name is of the pattern. Like in a shell, a `*` at the start does not stand for a dot.
fn matches(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        // The first place that fits leaves the most for what follows.
        let Some((_, after)) = name.split_once(piece) else { return false };
        name = after;
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_of_a_name() {
        for (pattern, name, expected) in [
            ("*.yaml", "a.yaml", true),
            ("*.yaml", ".yaml", false),
            ("*.yaml", ".hidden.yaml", false),
            (".*.yaml", ".hidden.yaml", true),
            ("*.yaml", "a.yml", false),
            ("team-*.yaml", "team-.yaml", true),
            ("team-*.yaml", "teams.yaml", false),
            ("a*b*c", "abc", true),
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("**", "anything", true),
            ("*", "anything", true),
            ("[ab].yaml", "a.yaml", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
