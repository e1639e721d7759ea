//! The hand that decoding goes through: the files read so far, the mistakes found so far, and the environment.
//!
//! A decoder takes a node and gives its value, or `None` when it has reported why not. `None` never stops another
//! decoder: a mistake anywhere refuses the whole at the end, and until then everything is looked at.

use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::elements::{Element, Shape};
use super::error::{ConfigError, MOST_LISTED, Mistake, Mistakes, Place, Spot, tell};
use super::held::{HeldReason, Warning};
use super::hiding::{hide_in_text, hide_in_tree, hide_values};
use super::source::{Source, Span};
use super::spelling;
use super::tree::{self, Entry, Node, Value};
use crate::secret::{Environment, SecretError};

/// See the module.
#[derive(Debug)]
pub(super) struct Reader<'e> {
    pub(super) environment: &'e Environment,
    /// The ids of all rules; `None`: a rule may have any.
    pub(super) rules: Option<&'e [&'e str]>,
    sources: Vec<Source>,
    findings: Findings,
    absent: Absent,
}

/// What becomes of a secret that is not there.
#[derive(Debug)]
enum Absent {
    /// It is a mistake.
    Mistake,
    /// A credential that only the unit passes is told as not looked at, anything else is a mistake.
    Told(Vec<Warning>),
    /// No secret is needed.
    PassedOver,
}

/// Mistakes that were found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    found: Vec<Found>,
    more: usize,
}

/// A place in one of the files read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At {
    file: usize,
    span: Option<Span>,
}

/// A mistake as it is told.
struct Told<'r> {
    sources: &'r [Source],
    found: &'r Found,
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found { at, error, other } = self.found;
        let other = other.map(|(at, role)| (spot(self.sources, at), role));
        tell(f, error, &spot(self.sources, *at), other.as_ref())
    }
}

#[derive(Debug)]
struct Found {
    at: At,
    error: ConfigError,
    other: Option<(At, &'static str)>,
}

impl<'e> Reader<'e> {
    pub(super) fn new(environment: &'e Environment, rules: Option<&'e [&'e str]>) -> Self {
        Self { environment, rules, sources: Vec::new(), findings: Findings::default(), absent: Absent::Mistake }
    }

    /// One that reads where the unit's credentials need not be: it says which of them it did not look at.
    pub(super) fn outside_the_unit(self) -> Self {
        Self { absent: Absent::Told(Vec::new()), ..self }
    }

    /// One for whom no secret has to be there.
    pub(super) fn without_secrets(self) -> Self {
        Self { absent: Absent::PassedOver, ..self }
    }

    /// Whether a secret may be missing for this reason.
    pub(super) fn passes_over(&mut self, span: Span, error: &SecretError) -> bool {
        let at = spot(&self.sources, self.at(span)).to_string();
        match &mut self.absent {
            Absent::Mistake => false,
            Absent::PassedOver => true,
            Absent::Told(warnings) => {
                let SecretError::NoCredentials(name) = error else { return false };
                warnings.push(Warning::NotLookedAt { at, credential: name.clone() });
                true
            }
        }
    }

    /// What was not looked at.
    pub(super) fn not_looked_at(&mut self) -> Vec<Warning> {
        match &mut self.absent {
            Absent::Mistake | Absent::PassedOver => Vec::new(),
            Absent::Told(warnings) => std::mem::take(warnings),
        }
    }

    /// Reads a file of at most so many MiB; what is decoded next is in it.
    pub(super) fn open(&mut self, path: &Path, most_mib: u64, keys: &'static [Element]) -> Option<Node> {
        match read_text(path, most_mib) {
            Ok(text) => self.take(path, text, keys),
            Err(error) => {
                self.refuse(path, error);
                None
            }
        }
    }

    /// A mistake of a file that is not read.
    pub(super) fn refuse(&mut self, path: &Path, error: ConfigError) {
        self.sources.push(Source::new(path.to_owned(), String::new()));
        self.mistake_at(self.whole_file(), error, None);
    }

    /// Does something whose mistakes are not the configuration's, but of what was done: a file may be wrong without
    /// refusing the whole.
    pub(super) fn aside<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> (T, Findings) {
        let before = std::mem::take(&mut self.findings);
        let done = work(self);
        (done, std::mem::replace(&mut self.findings, before))
    }

    /// Takes mistakes for the configuration's.
    pub(super) fn put_back(&mut self, findings: Findings) {
        self.findings.extend(findings);
    }

    /// The nearest of the known words, for a mistake that will be listed: comparing takes longer than all else, and a
    /// generated file can be wrong a hundred thousand times.
    pub(super) fn nearest<'k>(&self, word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
        if self.findings.is_full() { None } else { spelling::nearest(word, known) }
    }

    /// `did you mean …?` or all that is known; nothing for a mistake that is only counted.
    pub(super) fn advice(&self, word: &str, known: &[&str], all: &str) -> String {
        if self.findings.is_full() { String::new() } else { spelling::advice(word, known, all) }
    }

    /// How many mistakes there are.
    pub(super) const fn count(&self) -> usize {
        self.findings.found.len().saturating_add(self.findings.more)
    }

    /// Mistakes in full, one text each.
    pub(super) fn told(&self, findings: &mut Findings) -> Vec<String> {
        findings.found.sort_by_key(|found| found.at);
        let mut told: Vec<String> =
            findings.found.iter().map(|found| Told { sources: &self.sources, found }.to_string()).collect();
        match findings.more {
            0 => {}
            1 => told.push("and 1 more mistake".to_owned()),
            more => told.push(format!("and {more} more mistakes")),
        }
        told
    }

    /// Takes a text for the content of a file of these `keys`, which say what of it may be shown.
    pub(super) fn take(&mut self, path: &Path, text: String, keys: &'static [Element]) -> Option<Node> {
        let mut source = Source::new(path.to_owned(), text);
        let read = tree::parse(&source);
        match &read {
            Ok(node) => hide_in_tree(&mut source, node, &Shape::Map(keys)),
            Err((span, _)) => hide_in_text(&mut source, *span),
        }
        self.sources.push(source);
        read.map_err(|(span, error)| self.mistake(span, error)).ok()
    }

    /// Whether nothing at all stands in the current file, not even a comment.
    pub(super) fn is_blank(&self) -> bool {
        let blank = |line: &str| matches!(line.trim_matches(['\u{feff}', ' ', '\t', '\r']), "" | "---" | "...");
        self.sources.last().is_some_and(|source| source.text().lines().all(blank))
    }

    /// A mistake in the current file.
    pub(super) fn mistake(&mut self, span: Span, error: ConfigError) {
        self.mistake_at(self.at(span), error, None);
    }

    /// A mistake anywhere, perhaps with its other half.
    pub(super) fn mistake_at(&mut self, at: At, error: ConfigError, other: Option<(At, &'static str)>) {
        self.findings.add(Found { at, error, other });
    }

    /// A stretch of the current file, to be remembered when another is current.
    pub(super) fn at(&self, span: Span) -> At {
        At { file: self.current(), span: Some(span) }
    }

    /// The current file as a whole.
    pub(super) const fn whole_file(&self) -> At {
        At { file: self.current(), span: None }
    }

    /// Keeps a value of the current file out of every snippet.
    pub(super) fn hide(&mut self, node: &Node) {
        let current = self.current();
        if let Some(source) = self.sources.get_mut(current) {
            source.hide(node.defined);
        }
    }

    /// Keeps everything in a value out of every snippet, but for names of references.
    pub(super) fn hide_all(&mut self, node: &Node) {
        let current = self.current();
        if let Some(source) = self.sources.get_mut(current) {
            hide_values(source, node);
        }
    }

    /// A path as written in the current file: relative to its directory.
    pub(super) fn path(&self, written: &str) -> PathBuf {
        let directory = self.sources.last().and_then(|source| source.path.parent());
        directory.map_or_else(|| PathBuf::from(written), |directory| directory.join(written))
    }

    /// A scalar's text, numbers as they are written; empty for what is no scalar.
    pub(super) fn text(&self, node: &Node) -> String {
        match &node.value {
            Value::Text(text) => text.clone(),
            Value::Number | Value::Flag(_) => {
                self.sources.last().map_or_else(String::new, |source| source.written(node.defined).trim().to_owned())
            }
            Value::Null | Value::List(_) | Value::Map(_) => String::new(),
        }
    }

    /// Whether a value is of the outer kind that its shape asks for; reports it when not.
    pub(super) fn is_of(&mut self, node: &Node, shape: &Shape, what: &str) -> bool {
        if shape.admits(&node.value) {
            return true;
        }
        let (what, expected) = (what.to_owned(), shape.words());
        self.mistake(node.span, ConfigError::WrongKind { what, expected, found: node.value.kind() });
        false
    }

    /// The items of a list that can be decoded; a value that stands alone is a list of one.
    pub(super) fn items<'n, T>(
        &mut self,
        node: &'n Node,
        shape: &Shape,
        what: &str,
        mut decode: impl FnMut(&mut Self, &'n Node) -> Option<T>,
    ) -> Vec<T> {
        let items = match &node.value {
            Value::List(items) => items.as_slice(),
            Value::Null | Value::Flag(_) | Value::Number | Value::Text(_) | Value::Map(_) => std::slice::from_ref(node),
        };
        let mut decoded = Vec::new();
        for item in items {
            if self.is_of(item, shape, what) {
                decoded.extend(decode(self, item));
            }
        }
        decoded
    }

    /// Whether a list holds anything; reports it when not.
    pub(super) fn is_filled(&mut self, node: &Node) -> bool {
        let filled = !matches!(&node.value, Value::List(items) if items.is_empty());
        if !filled {
            self.mistake(node.span, ConfigError::EmptyList);
        }
        filled
    }

    /// Everything that was found, or `value` when nothing was.
    pub(super) fn finish<T>(self, value: Option<T>) -> Result<T, Mistakes> {
        let Self { sources, findings: Findings { mut found, more }, .. } = self;
        match value {
            Some(value) if found.is_empty() => Ok(value),
            _ => {
                found.sort_by_key(|found| found.at);
                let spot = |at: At| spot(&sources, at);
                let list = found.into_iter().map(|Found { at, error, other }| Mistake {
                    error,
                    spot: spot(at),
                    other: other.map(|(at, role)| (spot(at), role)),
                });
                Err(Mistakes { list: list.collect(), more })
            }
        }
    }

    const fn current(&self) -> usize {
        self.sources.len().saturating_sub(1)
    }
}

impl Findings {
    pub(super) const fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Adds others.
    pub(super) fn extend(&mut self, others: Self) {
        for found in others.found {
            self.add(found);
        }
        self.more = self.more.saturating_add(others.more);
    }

    /// Whether a release lets the file in that has them.
    pub(super) fn can_be_released(&self) -> bool {
        self.more == 0 && self.found.iter().all(|found| found.error.can_be_released())
    }

    /// As what a file is held that has them.
    pub(super) fn held_as(&self) -> Option<HeldReason> {
        self.found.iter().map(|found| found.error.held_as()).min()
    }

    /// Whether further ones are only counted.
    const fn is_full(&self) -> bool {
        self.found.len() >= MOST_LISTED
    }

    fn add(&mut self, found: Found) {
        if self.is_full() {
            self.more = self.more.saturating_add(1);
        } else {
            self.found.push(found);
        }
    }
}

fn spot(sources: &[Source], at: At) -> Spot {
    let Some(source) = sources.get(at.file) else { return Spot { file: PathBuf::new(), place: None } };
    let place = at.span.map(|span| {
        let (line, column) = source.position(span);
        Place { line, column, snippet: source.snippet(span) }
    });
    Spot { file: source.path.clone(), place }
}

/// Reads a file of at most so many MiB.
pub(super) fn read_text(path: &Path, most_mib: u64) -> Result<String, ConfigError> {
    // Looked at before it is opened: opening a pipe waits for its writer.
    if !fs::metadata(path).map_err(ConfigError::Unreadable)?.is_file() {
        return Err(ConfigError::NotAFile);
    }
    let most = most_mib.saturating_mul(1 << 20);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(ConfigError::Unreadable)?;
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(ConfigError::Unreadable)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
        return Err(ConfigError::TooLong(most_mib));
    }
    String::from_utf8(bytes).map_err(|_| ConfigError::NotText)
}

/// The known keys of a map, each once, each of the right outer kind; everything else has been reported.
#[derive(Debug)]
pub(super) struct Fields<'n> {
    pub(super) span: Span,
    known: Vec<(&'static str, &'n Entry)>,
    /// Also those whose value was refused.
    written: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// Reads a map of these elements. `inside` is what it is, in words.
    pub(super) fn of(
        reader: &mut Reader<'_>,
        node: &'n Node,
        inside: &'static str,
        elements: &'static [Element],
    ) -> Self {
        Self::beside(reader, node, inside, elements, Elsewhere::Nowhere)
    }

    /// The same, where people also write keys of another place.
    pub(super) fn beside(
        reader: &mut Reader<'_>,
        node: &'n Node,
        inside: &'static str,
        elements: &'static [Element],
        elsewhere: Elsewhere,
    ) -> Self {
        let entries = match &node.value {
            Value::Map(entries) => entries.as_slice(),
            Value::Null | Value::Flag(_) | Value::Number | Value::Text(_) | Value::List(_) => &[],
        };
        let mut fields = Self { span: node.span, known: Vec::new(), written: Vec::new() };
        for entry in entries {
            match elements.iter().find(|element| element.key == entry.key) {
                Some(element) => fields.add(reader, entry, element, inside),
                None => unknown(reader, entry, inside, elements, elsewhere),
            }
        }
        for element in elements.iter().filter(|element| element.required) {
            if !fields.written.contains(&element.key) {
                let Element { key, says, .. } = *element;
                reader.mistake(node.span, ConfigError::MissingKey { key, inside, says });
            }
        }
        fields
    }

    fn add(&mut self, reader: &mut Reader<'_>, entry: &'n Entry, element: &'static Element, inside: &'static str) {
        let key = element.key;
        if self.written.contains(&key) {
            let first = self.known.iter().find(|(known, _)| *known == key).map(|(_, first)| reader.at(first.span));
            let error = ConfigError::DuplicateKey { key: key.to_owned(), inside };
            reader.mistake_at(reader.at(entry.span), error, first.map(|first| (first, "it stands here first")));
            return;
        }
        self.written.push(key);
        if matches!(entry.value.value, Value::Null) && !element.shape.admits(&Value::Null) {
            reader.mistake(entry.span, ConfigError::NoValue(key));
        } else if reader.is_of(&entry.value, &element.shape, &format!("`{key}`")) {
            self.known.push((key, entry));
        }
    }

    /// Whether the key is written, rightly or not.
    pub(super) fn has(&self, key: &str) -> bool {
        self.written.contains(&key)
    }

    pub(super) fn node(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// Where the key stands, else where the map does.
    pub(super) fn key_span(&self, key: &str) -> Span {
        self.entry(key).map_or(self.span, |entry| entry.span)
    }

    /// Decodes the value of a key, if it is there.
    pub(super) fn read<T>(
        &self,
        reader: &mut Reader<'_>,
        key: &str,
        decode: impl FnOnce(&mut Reader<'_>, &'n Node) -> Option<T>,
    ) -> Option<T> {
        self.node(key).and_then(|node| decode(reader, node))
    }

    fn entry(&self, key: &str) -> Option<&'n Entry> {
        self.known.iter().find(|(known, _)| *known == key).map(|(_, entry)| *entry)
    }
}

/// Where a key that is unknown here may mean something.
#[derive(Clone, Copy, Debug)]
pub(super) enum Elsewhere {
    /// Nowhere.
    Nowhere,
    /// It is not for this reading to say.
    Unread,
    /// These belong there.
    Belongs(&'static [Element], &'static str),
    /// Some have a mistake of their own; what they hold is not shown.
    Refused(fn(&str) -> Option<ConfigError>),
}

fn unknown(
    reader: &mut Reader<'_>,
    entry: &Entry,
    inside: &'static str,
    elements: &'static [Element],
    elsewhere: Elsewhere,
) {
    let (others, belongs) = match elsewhere {
        Elsewhere::Nowhere => (&[] as &[Element], ""),
        Elsewhere::Unread => return,
        Elsewhere::Belongs(others, belongs) => (others, belongs),
        Elsewhere::Refused(refused) => {
            if let Some(error) = refused(&entry.key) {
                reader.hide_all(&entry.value);
                reader.mistake(entry.span, error);
                return;
            }
            (&[] as &[Element], "")
        }
    };
    let keys: Vec<&str> = elements.iter().map(|element| element.key).collect();
    let called = elements.iter().find(|element| element.also_called.contains(&entry.key.as_str()));
    let remedy = if let Some(element) = called {
        format!("it is called `{}`", element.key)
    } else if others.iter().any(|element| element.key == entry.key) {
        belongs.to_owned()
    } else {
        reader.advice(&entry.key, &keys, "known here")
    };
    let key = entry.key.clone();
    reader.mistake(entry.span, ConfigError::UnknownKey { key, inside, remedy });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_only_for_mistakes_that_are_listed() {
        let environment = Environment::from_map([("A", "b")]);
        let mut reader = Reader::new(&environment, None);
        let node = reader.take(Path::new("f.yaml"), "a: b".to_owned(), crate::config::inventory_file::KEYS).unwrap();
        for _ in 0..MOST_LISTED {
            assert_eq!(reader.nearest("evrey", ["every"]), Some("every"));
            assert_eq!(reader.advice("evrey", &["every"], "one of"), "did you mean `every`?");
            reader.mistake(node.span, ConfigError::EmptyList);
        }
        assert_eq!(reader.nearest("evrey", ["every"]), None);
        assert_eq!(reader.advice("evrey", &["every"], "one of"), "");
    }

    #[test]
    fn a_line_of_a_million_characters_with_thousands_of_mistakes_is_told_in_its_first_mistakes() {
        let targets: String =
            (0..20_000).map(|n| format!("{{ id: t{n}, knd: mcp, url: \"http://127.0.0.1:9/{n}\" }}, ")).collect();
        let text = format!("targets: [ {targets} ]\n");
        assert!(text.len() > 1_000_000);
        let environment = Environment::from_map([("A", "b")]);
        let mut reader = Reader::new(&environment, None);
        let node = reader.take(Path::new("f.yaml"), text, crate::config::inventory_file::KEYS).unwrap();
        let written = super::super::inventory_file::decode(&mut reader, &node);
        assert!(written.drafts.is_empty());
        let mistakes = reader.finish(None::<()>).unwrap_err();
        assert_eq!((mistakes.list.len(), mistakes.more), (MOST_LISTED, 40_000 - MOST_LISTED));
    }
}
