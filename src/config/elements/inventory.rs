//! `inventory`: the files that list targets, and how far each is trusted; a `*` in a file's name stands for any
//! characters.
//!
//! A file of `trust: full`, the default, is written by the person who writes `driftd.yaml`. One of `trust: listed` is
//! written by another program: it may say little, and not remove much at a time.

use std::path::{Path, PathBuf};

use super::super::error::ConfigError;
use super::super::reader::{At, Fields, Reader};
use super::super::spelling;
use super::super::tree::{Node, Value};
use super::{Element, Form, Shape};

const PATH: Shape = Shape::Text(Form::Path);

const TRUST: &[&str] = &["full", "listed"];

/// The share of its targets that a listed file may drop at once when nothing is said, in percent.
const MAY_REMOVE: u8 = 20;

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("path", PATH, "the path of a file, or a pattern of such").required().also_called(&["file"]),
    Element::new("trust", Shape::Word(TRUST), "`full`, or `listed` for what another program writes"),
    Element::new(
        "may_remove",
        Shape::Text(Form::Percent),
        "the share of its targets that a listed file may drop at once; 20% when not given",
    ),
];

/// One entry.
pub(in crate::config) const ENTRY: Shape = Shape::Or(&PATH, &Shape::Map(KEYS));

/// Files to read, as an entry names them.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::config) struct Files {
    /// Relative to the working directory, or absolute. The file's name may hold `*`.
    pub(in crate::config) path: PathBuf,
    pub(in crate::config) at: At,
    pub(in crate::config) trust: Trust,
}

/// Who writes a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) enum Trust {
    /// The person who writes `driftd.yaml`.
    Full,
    /// Another program.
    Listed {
        /// The share of its targets that it may drop at once, in percent.
        may_remove: u8,
    },
}

impl Trust {
    pub(in crate::config) const fn is_listed(self) -> bool {
        matches!(self, Self::Listed { .. })
    }

    /// The smaller of the two.
    pub(in crate::config) fn least(self, other: Self) -> Self {
        match (self, other) {
            (Self::Full, trust) | (trust, Self::Full) => trust,
            (Self::Listed { may_remove: one }, Self::Listed { may_remove: another }) => {
                Self::Listed { may_remove: one.min(another) }
            }
        }
    }
}

impl Files {
    /// The pattern of file names, when it is one.
    pub(in crate::config) fn pattern(&self) -> Option<String> {
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Some(name).filter(|name| name.contains('*'))
    }

    /// Where they lie.
    pub(in crate::config) fn directory(&self) -> PathBuf {
        let directory = self.path.parent().filter(|directory| !directory.as_os_str().is_empty());
        directory.unwrap_or_else(|| Path::new(".")).to_owned()
    }
}

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<Files>> {
    Some(reader.items(node, &ENTRY, "an entry of `inventory`", |reader, node| match node.value {
        Value::Map(_) => {
            let fields = Fields::of(reader, node, "an entry of `inventory`", KEYS);
            let files = fields.read(reader, "path", path);
            let trust = trust(reader, &fields);
            files.map(|files| Files { trust, ..files })
        }
        Value::Null | Value::Flag(_) | Value::Number | Value::Text(_) | Value::List(_) => path(reader, node),
    }))
}

fn trust(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Trust {
    let word = fields.read(reader, "trust", |reader, node| {
        let word = reader.text(node);
        if !TRUST.contains(&word.as_str()) {
            let remedy = spelling::advice(&word, TRUST, "one of");
            reader.mistake(node.span, ConfigError::UnknownWord { what: "trust in a file", remedy });
        }
        Some(word)
    });
    let may_remove = fields.read(reader, "may_remove", share);
    let is_listed = word.as_deref() == Some("listed");
    // A word that is none has been reported: which one was meant is not known.
    if fields.has("may_remove") && !is_listed && word.as_deref().is_none_or(|word| word == "full") {
        let why = "you may remove as much as you want from your own files";
        let error = ConfigError::Needs { key: "may_remove", other: "trust: listed", why };
        reader.mistake(fields.key_span("may_remove"), error);
    }
    if is_listed { Trust::Listed { may_remove: may_remove.unwrap_or(MAY_REMOVE) } } else { Trust::Full }
}

/// A share in percent.
fn share(reader: &mut Reader<'_>, node: &Node) -> Option<u8> {
    let text = reader.text(node);
    let digits = text.strip_suffix('%').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    let share = digits.and_then(|digits| digits.parse::<u8>().ok()).filter(|share| *share <= 100);
    if share.is_none() {
        let is_number = !text.is_empty() && text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        let (why, remedy) = if is_number {
            ("it has no `%`", format!("did you mean `{text}%`?"))
        } else {
            ("it is no whole number of percent", "from 0% to 100%".to_owned())
        };
        reader.mistake(node.span, ConfigError::Malformed { what: "share", why: why.to_owned(), remedy });
    }
    share
}

fn path(reader: &mut Reader<'_>, node: &Node) -> Option<Files> {
    let text = reader.text(node);
    let directory = text.rsplit_once('/').map_or("", |(directory, _)| directory);
    let why = if text.is_empty() || text.ends_with('/') || text.contains('\0') {
        "it names no file"
    } else if directory.contains('*') {
        "a `*` stands in the file's name, not in a directory's"
    } else {
        return Some(Files { path: reader.path(&text), at: reader.at(node.span), trust: Trust::Full });
    };
    let remedy = "write it as `inventory.yaml` or `inventory.d/*.yaml`".to_owned();
    reader.mistake(node.span, ConfigError::Malformed { what: "path of a file", why: why.to_owned(), remedy });
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_file_is_named_by_its_path_or_a_map_of_it() {
        let files = taken("[ a.yaml, { path: \"d/*.yaml\" }, /etc/x.yaml ]", decode);
        let paths: Vec<_> = files.iter().map(|files| files.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["config/a.yaml", "config/d/*.yaml", "/etc/x.yaml"]);
        assert!(files.iter().all(|files| files.trust == Trust::Full));
    }

    #[test]
    fn a_file_that_another_program_writes_may_remove_a_share() {
        let files = taken(
            "[ { path: a, trust: listed, may_remove: 5% }, { path: b, trust: listed }, { path: c, trust: full } ]",
            decode,
        );
        let trust: Vec<_> = files.iter().map(|files| files.trust).collect();
        assert_eq!(trust, [Trust::Listed { may_remove: 5 }, Trust::Listed { may_remove: 20 }, Trust::Full]);
    }

    #[test]
    fn of_two_trusts_the_smaller_counts() {
        let listed = |may_remove| Trust::Listed { may_remove };
        assert_eq!(Trust::Full.least(listed(7)), listed(7));
        assert_eq!(listed(30).least(listed(7)), listed(7));
        assert_eq!(Trust::Full.least(Trust::Full), Trust::Full);
    }

    #[test]
    fn what_names_no_file_is_refused() {
        let remedy = "write it as `inventory.yaml` or `inventory.d/*.yaml`";
        assert_eq!(
            refused("[ d/, \"*/a.yaml\", [], { path: a, turst: listed } ]", decode),
            [
                format!("this is no path of a file: it names no file; {remedy}"),
                format!("this is no path of a file: a `*` stands in the file's name, not in a directory's; {remedy}"),
                "an entry of `inventory` has to be a path or a map with `path`, this is a list".to_owned(),
                "unknown key `turst` in an entry of `inventory`; did you mean `trust`?".to_owned(),
            ]
        );
    }

    #[test]
    fn a_share_is_said_of_a_listed_file_and_in_percent() {
        assert_eq!(
            refused(
                "[ { path: a, trust: lsited }, { path: b, may_remove: 20% }, \
                 { path: c, trust: listed, may_remove: 20 }, { path: d, trust: listed, may_remove: 101% } ]",
                decode
            ),
            [
                "this is no trust in a file; did you mean `listed`?",
                "`may_remove` needs `trust: listed`; you may remove as much as you want from your own files",
                "this is no share: it has no `%`; did you mean `20%`?",
                "this is no share: it is no whole number of percent; from 0% to 100%",
            ]
        );
    }
}
