//! Mistakes in configuration: what is wrong, where, and what would be right.
//!
//! Start, `config check` and reload say a mistake in these words. A value is never quoted, only shown in its snippet,
//! where secrets are hidden; a key or a name is.

use std::fmt::{self, Write as _};
use std::io;
use std::path::PathBuf;

use super::elements::secret::reason;
use super::held::HeldReason;
pub use super::source::Snippet;
use super::source::{short, visible};
use crate::model::target::TargetId;
use crate::secret::SecretError;

/// More mistakes are counted and not listed: a generated file can be wrong a hundred thousand times.
pub(super) const MOST_LISTED: usize = 200;

/// All the mistakes in a configuration, in the order of files and lines.
#[derive(Debug)]
pub struct Mistakes {
    /// The mistakes; at least one.
    pub list: Vec<Mistake>,
    /// How many there are besides.
    pub more: usize,
}

impl std::error::Error for Mistakes {}

impl Mistakes {
    /// Each in words, and how many there are besides.
    pub fn each(&self) -> Vec<String> {
        let more = (self.more > 0).then(|| format!("and {} more mistakes", self.more));
        self.list.iter().map(ToString::to_string).chain(more).collect()
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.list.iter().enumerate() {
            if index > 0 {
                f.write_str("\n\n")?;
            }
            mistake.fmt(f)?;
        }
        match self.more {
            0 => Ok(()),
            1 => f.write_str("\n\nand 1 more mistake"),
            more => write!(f, "\n\nand {more} more mistakes"),
        }
    }
}

/// One mistake.
#[derive(Debug)]
pub struct Mistake {
    /// What is wrong.
    pub error: ConfigError,
    /// Where it is wrong.
    pub spot: Spot,
    /// The other half of a mistake that takes two places, and what it is.
    pub other: Option<(Spot, &'static str)>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The file.
    pub file: PathBuf,
    /// The place in it; `None` when the file as a whole is meant.
    pub place: Option<Place>,
}

/// Line, column and how they look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// The line.
    pub snippet: Snippet,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        tell(f, &self.error, &self.spot, self.other.as_ref())
    }
}

/// Writes a mistake: where and what, the line, what would be right, and the other place.
pub(super) fn tell(
    f: &mut fmt::Formatter<'_>,
    error: &ConfigError,
    spot: &Spot,
    other: Option<&(Spot, &'static str)>,
) -> fmt::Result {
    let f = &mut Harmless(f);
    write!(f, "{spot}: {error}")?;
    let remedy = error.remedy();
    match &spot.place {
        Some(place) => place.draw(f, "", &remedy)?,
        None if remedy.is_empty() => {}
        None => write!(f, "; {remedy}")?,
    }
    match other {
        Some((spot, role)) => {
            write!(f, "\n  {spot}: {role}")?;
            spot.place.as_ref().map_or(Ok(()), |place| place.draw(f, "  ", ""))
        }
        None => Ok(()),
    }
}

/// Lets nothing through that a terminal or a log would act on, whichever part of a mistake it comes from. The lines
/// of the mistake itself stay.
struct Harmless<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Harmless<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for line in text.split_inclusive('\n') {
            match line.strip_suffix('\n') {
                Some(line) => writeln!(self.0, "{}", visible(line))?,
                None => self.0.write_str(&visible(line))?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.file.to_string_lossy()))?;
        match &self.place {
            Some(place) => write!(f, ":{}:{}", place.line, place.column),
            None => Ok(()),
        }
    }
}

impl Place {
    fn draw(&self, f: &mut impl fmt::Write, margin: &str, label: &str) -> fmt::Result {
        let Snippet { line, before, width } = &self.snippet;
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        let marks = "^".repeat(*width);
        let space = if label.is_empty() { "" } else { " " };
        write!(f, "\n{margin} {gutter} |")?;
        write!(f, "\n{margin} {number} | {line}")?;
        write!(f, "\n{margin} {gutter} | {}{marks}{space}{label}", " ".repeat(*before))
    }
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// No file, no permission, no directory.
    #[error("the file cannot be read: {0}")]
    Unreadable(io::Error),
    /// A directory, a pipe or a device.
    #[error("this is not a regular file")]
    NotAFile,
    /// Longer than any configuration.
    #[error("the file is longer than {0} MiB")]
    TooLong(u64),
    /// No text at all, where a comment would do.
    #[error("the file is empty")]
    EmptyFile,
    /// Not UTF-8.
    #[error("the file is not UTF-8 text")]
    NotText,
    /// The parser's words, and what to do about it.
    #[error("this is not YAML: {}", visible(.0))]
    NotYaml(String, &'static str),
    /// A second `---`.
    #[error("the file holds more than one document")]
    TwoDocuments,
    /// A bomb, or near one.
    #[error("the file nests too deeply, or its aliases and merge keys make too much of it")]
    TooComplex,
    /// A key that means nothing there.
    #[error("unknown key `{}` in {inside}", short(.key))]
    UnknownKey {
        /// As written.
        key: String,
        /// In what.
        inside: &'static str,
        /// What was meant, if it is near.
        remedy: String,
    },
    /// A key that stands twice in a map.
    #[error("the key `{}` stands twice in {inside}", short(.key))]
    DuplicateKey {
        /// The key.
        key: String,
        /// In what.
        inside: &'static str,
    },
    /// A key that must be there.
    #[error("{inside} has no `{key}`")]
    MissingKey {
        /// The key.
        key: &'static str,
        /// In what.
        inside: &'static str,
        /// What it says.
        says: &'static str,
    },
    /// A key with nothing after it.
    #[error("`{0}` has no value")]
    NoValue(&'static str),
    /// A list where a map belongs, and the like.
    #[error("{what} has to be {expected}, this is {found}")]
    WrongKind {
        /// Of what.
        what: String,
        /// What it has to be.
        expected: String,
        /// What it is.
        found: &'static str,
    },
    /// Two keys of which one may stand.
    #[error("`{0}` and `{1}` exclude each other")]
    Excludes(&'static str, &'static str),
    /// A program that no entry of `commands` allows.
    #[error("the program `{program}` may not be started")]
    NotAllowed {
        /// As it is written.
        program: String,
    },
    /// A key that says nothing without another.
    #[error("`{key}` needs `{other}`")]
    Needs {
        /// The key.
        key: &'static str,
        /// The other.
        other: &'static str,
        /// Why.
        why: &'static str,
    },
    /// A secret written out.
    #[error("a secret is written out here")]
    PlainSecret,
    /// A map that is no reference.
    #[error("this is no reference to a secret")]
    SecretShape,
    /// A receiver's secret without a value.
    #[error("a secret has no value: {}", reason(.0))]
    SecretUnavailable(SecretError),
    /// A secret whose value is of no use.
    #[error("the value of that secret is no {needed}")]
    SecretUnfit {
        /// What it had to be.
        needed: &'static str,
        /// How such a value looks.
        remedy: &'static str,
    },
    /// Something that another version does.
    #[error("{0} is not supported by this version")]
    NotSupported(&'static str, &'static str),
    /// A number or duration out of its range.
    #[error("this is out of range")]
    OutOfRange {
        /// The smallest, as it is written.
        least: String,
        /// The largest, as it is written.
        most: String,
    },
    /// A list that has to hold something.
    #[error("this list is empty")]
    EmptyList,
    /// One of these keys must stand, and none does.
    #[error("{inside} has none of {}", keys.join(", "))]
    NoneOf {
        /// In what.
        inside: &'static str,
        /// The keys.
        keys: &'static [&'static str],
    },
    /// A listed inventory file, or the directory of a pattern.
    #[error("the inventory cannot be read: {0}")]
    NoInventory(io::Error),
    /// A request that may take longer than its scan.
    #[error("a request may take {timeout}, its whole scan only {scan_timeout}")]
    Limits {
        /// As it is written.
        timeout: String,
        /// As it is written.
        scan_timeout: String,
    },
    /// Not one of the words.
    #[error("this is no {what}")]
    UnknownWord {
        /// Of what.
        what: &'static str,
        /// What was meant, or all words.
        remedy: String,
    },
    /// A value with a form of its own.
    #[error("this is no {what}: {why}")]
    Malformed {
        /// What it had to be.
        what: &'static str,
        /// What is wrong with it.
        why: String,
        /// How it is written.
        remedy: String,
    },
    /// A route to nobody.
    #[error("there is no receiver `{}`", short(.name))]
    UnknownReceiver {
        /// The name.
        name: String,
        /// What was meant, or all receivers.
        remedy: String,
    },
    /// An id of two targets.
    #[error("two targets have the id `{0}`")]
    DuplicateTarget(String),
    /// A name of two receivers.
    #[error("two receivers have the name `{}`", short(.0))]
    DuplicateReceiver(String),
    /// A header named twice.
    #[error("the header `{}` stands twice", short(.0))]
    DuplicateHeader(String),
    /// A header that is not the inventory's to set.
    #[error("the header `{}` cannot be set", short(.name))]
    ForbiddenHeader {
        /// The header.
        name: String,
        /// Whose it is.
        why: &'static str,
    },
    /// Neither of the files that are looked for is there.
    #[error("there is no such file")]
    NoConfig,
    /// Two sockets at one address.
    #[error("`listen` and `metrics_listen` are the same address")]
    SameAddress,
    /// A name of two people or consumers.
    #[error("two {what} have the name `{}`", short(.name))]
    DuplicateName {
        /// Of what.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// One token of two people.
    #[error("two people have the same token")]
    SameToken,
    /// A target that names a profile that is not there.
    #[error("there is no profile `{}`", short(.name))]
    UnknownProfile {
        /// The name.
        name: String,
        /// What was meant, or all profiles.
        remedy: String,
    },
    /// A target where its profile may not be used.
    #[error("the host `{}` is not of the profile `{}`", short(.host), short(.profile))]
    NotOfProfile {
        /// The target's host.
        host: String,
        /// The profile's name.
        profile: String,
        /// The profile's hosts.
        hosts: String,
    },
    /// A secret of a profile that a listed file would send without TLS.
    #[error("the profile `{}` sends a secret, which could be read on its way", short(.profile))]
    InClear {
        /// The profile's name.
        profile: String,
    },
    /// A key that a listed file may not give.
    #[error("a listed file may not give `{}`", short(.key))]
    NotListed {
        /// The key.
        key: String,
        /// Where it belongs.
        why: &'static str,
    },
    /// A URL of a listed file where no service of ours can be.
    #[error("a listed file may not name an address of this kind: {}", .0.replace('_', "-"))]
    ForbiddenAddress(&'static str),
    /// An id of a listed file that belongs to another one.
    #[error("the id `{0}` belongs to another file")]
    TakenTarget(TargetId),
    /// An id that is claimed while its target is there.
    #[error("`was` claims `{0}`, which is still a target")]
    StillTarget(TargetId),
    /// An id that is claimed twice.
    #[error("`{0}` is claimed twice")]
    ClaimedTwice(TargetId),
    /// A file of a pattern that was there before.
    #[error("the file is gone, and all its targets with it")]
    Vanished,
    /// A listed file without most of its targets.
    #[error("{gone} of its {had} targets {} gone ({}); it may remove {may_remove}% at once", are(*.gone), short(.names))]
    RemovesTooMany {
        /// How many are gone.
        gone: usize,
        /// Of how many.
        had: usize,
        /// How many are left of all.
        left: usize,
        /// Some of those that are gone.
        names: String,
        /// The share that it may remove, in percent.
        may_remove: u8,
    },
    /// Defaults in two files.
    #[error("`defaults` stands in two inventory files")]
    DefaultsTwice,
}

const fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

impl ConfigError {
    /// Whether `driftd inventory release` lets a file in that has this mistake: it is what a file removes, and may be
    /// meant.
    pub(super) const fn can_be_released(&self) -> bool {
        matches!(self, Self::Vanished | Self::RemovesTooMany { .. })
    }

    /// As what a file is held that has this mistake.
    pub(super) fn held_as(&self) -> HeldReason {
        match self {
            Self::Unreadable(_) | Self::NotAFile | Self::TooLong(_) | Self::NotText => HeldReason::Unreadable,
            Self::NoInventory(error) if error.kind() == io::ErrorKind::NotFound => HeldReason::Gone,
            Self::NoInventory(_) => HeldReason::Unreadable,
            Self::Vanished => HeldReason::Gone,
            Self::MissingKey { key: "targets", .. }
            | Self::NoValue("targets")
            | Self::EmptyFile
            | Self::RemovesTooMany { left: 0, .. } => HeldReason::Empty,
            Self::NotListed { .. }
            | Self::ForbiddenAddress(_)
            | Self::NotOfProfile { .. }
            | Self::InClear { .. }
            | Self::PlainSecret => HeldReason::Forbidden,
            Self::TakenTarget(_) => HeldReason::Conflict,
            Self::RemovesTooMany { .. } => HeldReason::RemovesTooMany,
            Self::NotYaml(..)
            | Self::TwoDocuments
            | Self::TooComplex
            | Self::UnknownKey { .. }
            | Self::DuplicateKey { .. }
            | Self::MissingKey { .. }
            | Self::NoValue(_)
            | Self::WrongKind { .. }
            | Self::Excludes(..)
            | Self::NotAllowed { .. }
            | Self::Needs { .. }
            | Self::SecretShape
            | Self::SecretUnavailable(_)
            | Self::SecretUnfit { .. }
            | Self::NotSupported(..)
            | Self::OutOfRange { .. }
            | Self::EmptyList
            | Self::NoneOf { .. }
            | Self::Limits { .. }
            | Self::UnknownWord { .. }
            | Self::Malformed { .. }
            | Self::UnknownReceiver { .. }
            | Self::DuplicateTarget(_)
            | Self::DuplicateReceiver(_)
            | Self::DuplicateHeader(_)
            | Self::ForbiddenHeader { .. }
            | Self::NoConfig
            | Self::SameAddress
            | Self::DuplicateName { .. }
            | Self::SameToken
            | Self::UnknownProfile { .. }
            | Self::StillTarget(_)
            | Self::ClaimedTwice(_)
            | Self::DefaultsTwice => HeldReason::Invalid,
        }
    }

    /// What would be right, in a few words; empty when the mistake says it.
    pub fn remedy(&self) -> String {
        match self {
            Self::UnknownKey { remedy, .. }
            | Self::UnknownWord { remedy, .. }
            | Self::Malformed { remedy, .. }
            | Self::UnknownReceiver { remedy, .. }
            | Self::UnknownProfile { remedy, .. } => visible(remedy),
            Self::SecretUnfit { remedy, .. } => (*remedy).to_owned(),
            Self::Unreadable(_)
            | Self::NotAFile
            | Self::NotText
            | Self::WrongKind { .. }
            | Self::NoInventory(_)
            | Self::NoneOf { .. } => String::new(),
            Self::EmptyFile => "a comment or `{}` says that nothing is meant".to_owned(),
            Self::EmptyList => "name at least one".to_owned(),
            Self::Limits { .. } => "raise `scan_timeout` or lower `timeout`".to_owned(),
            Self::TooLong(_) => "split the inventory".to_owned(),
            Self::TwoDocuments => "one file holds one document".to_owned(),
            Self::TooComplex => "write it out".to_owned(),
            Self::DuplicateKey { .. } => "keep one of them".to_owned(),
            Self::MissingKey { key, says, .. } => format!("add `{key}`: {says}"),
            Self::NoValue(_) => "give it a value, or leave the key out".to_owned(),
            Self::NotAllowed { .. } => {
                "allow it in driftd.yaml: `commands: { allow: [ PROGRAM ] }`, or the command's first words".to_owned()
            }
            Self::Excludes(key, other) => format!("keep either `{key}` or `{other}`"),
            Self::Needs { why, .. }
            | Self::NotYaml(_, why)
            | Self::NotSupported(_, why)
            | Self::ForbiddenHeader { why, .. } => (*why).to_owned(),
            Self::PlainSecret | Self::SecretShape => {
                "refer to it: `{ env: NAME }`, `{ file: PATH }` or `{ credential: NAME }`".to_owned()
            }
            Self::SecretUnavailable(SecretError::Unset(_)) => {
                "secrets of receivers and people must be there at start: \
                                                               the unit's environment may have it where this one has \
                                                               not"
                .to_owned()
            }
            Self::SecretUnavailable(_) => "secrets of receivers and people must be there at start".to_owned(),
            Self::OutOfRange { least, most } => format!("from {least} to {most}"),
            Self::DuplicateTarget(_) => "the id is the target: each has its own".to_owned(),
            Self::DuplicateReceiver(_) => "routes could not tell them apart".to_owned(),
            Self::DuplicateHeader(_) => "names of headers do not differ by case".to_owned(),
            Self::DefaultsTwice => "keep them in one file".to_owned(),
            Self::NoConfig => "`./config/driftd.yaml` is not there either; name a file by `--config FILE` or \
                               `DRIFTD_CONFIG`, or write one with `driftd init`"
                .to_owned(),
            Self::SameAddress => "give each its own".to_owned(),
            Self::DuplicateName { .. } => "one name stands for one of them".to_owned(),
            Self::SameToken => "each has their own, else the ledger could not tell them apart".to_owned(),
            Self::NotOfProfile { hosts, .. } => format!("it is for {}", visible(hosts)),
            Self::InClear { .. } => "write the URL with `https`".to_owned(),
            Self::NotListed { why, .. } => (*why).to_owned(),
            Self::ForbiddenAddress(_) => "what must be watched there is written by a person".to_owned(),
            Self::TakenTarget(_) => "the id is the target: the file that had it keeps it".to_owned(),
            Self::StillTarget(_) => "a target carries on what is no target any more".to_owned(),
            Self::ClaimedTwice(_) => "one target carries it on".to_owned(),
            Self::Vanished => "put it back, or let it go: `driftd inventory release FILE`".to_owned(),
            Self::RemovesTooMany { .. } => {
                "if that is meant, `driftd inventory release FILE` takes the file as it is".to_owned()
            }
        }
    }
}
