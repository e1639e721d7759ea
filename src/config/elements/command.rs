//! `command`, `env` and `cwd` of a target that is a program, and `commands: { allow }`, without which none is started.
//!
//! Who may write an inventory shall not decide by it which programs run: `driftd.yaml` allows them. An entry of `allow`
//! is the program alone, or the first words of what may be started.

use std::path::PathBuf;

use super::super::error::ConfigError;
use super::super::hiding::sounds_secret;
use super::super::reader::{Fields, Reader};
use super::super::source::short;
use super::super::tree::{Entry, Node, Value};
use super::{Element, Form, Shape, secret};
use crate::model::endpoint::Command;
use crate::model::secret::TextOrSecret;

const WORD: Shape = Shape::Text(Form::Argument);
const WORDS: Shape = Shape::List(&WORD);
const ALLOWED: Shape = Shape::OneOrList(&WORD);
const VALUE: Shape = Shape::TextOrSecret(Form::Free);

/// Words of one command, and bytes of one of them.
const MOST_WORDS: usize = 256;
const LONGEST_WORD: usize = 16 * 1024;

pub(in crate::config) const COMMAND: Element =
    Element::new("command", WORDS, "a program that speaks over its standard input and output, and what follows it")
        .also_called(&["cmd", "args"]);
pub(in crate::config) const ENV: Element =
    Element::new("env", Shape::Names(&VALUE), "variables that the program of `command` gets")
        .also_called(&["environment"]);
pub(in crate::config) const CWD: Element =
    Element::new("cwd", Shape::Text(Form::Path), "where the program of `command` runs; `/` when not given")
        .also_called(&["workdir", "working_directory"]);

pub(in crate::config) const KEYS: &[Element] = &[Element::new(
    "allow",
    Shape::List(&ALLOWED),
    "programs, as `npx`, or the first words of commands, as `[ npx, -y, PACKAGE@1.2.3 ]`",
)
.required()];

/// What may be started: each the first words of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::config) struct Allowed(Vec<Vec<String>>);

impl Allowed {
    /// Whether `command` begins with one of them.
    pub(in crate::config) fn admits(&self, command: &Command) -> bool {
        self.0.iter().any(|words| {
            let mut given = command.words();
            words.iter().all(|word| given.next() == Some(word.as_str()))
        })
    }
}

/// `commands`.
pub(in crate::config) fn allowed(reader: &mut Reader<'_>, node: &Node) -> Option<Allowed> {
    let fields = Fields::of(reader, node, "`commands`", KEYS);
    fields.read(reader, "allow", |reader, list| {
        let entry = |reader: &mut Reader<'_>, node: &Node| {
            let words = reader.items(node, &WORD, "a word of a command", word);
            program(reader, node, words).map(|(program, args)| std::iter::once(program).chain(args).collect())
        };
        Some(Allowed(reader.items(list, &ALLOWED, "a command of `allow`", entry)))
    })
}

/// `command` of a target, without what the other keys say.
pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Command> {
    let before = reader.count();
    let words = reader.items(node, &WORD, "a word of `command`", word);
    if reader.count() > before {
        return None;
    }
    let (program, args) = program(reader, node, words)?;
    Some(Command { program, args, env: Vec::new(), cwd: None })
}

/// A program with a slash in it is a path, relative to the file's directory.
fn program(reader: &mut Reader<'_>, node: &Node, words: Vec<String>) -> Option<(String, Vec<String>)> {
    let count = words.len();
    let mut words = words.into_iter();
    let why = match words.next() {
        None => "it is empty".to_owned(),
        Some(program) if program.trim().is_empty() => "its program has no name".to_owned(),
        Some(_) if count > MOST_WORDS => format!("it has more than {MOST_WORDS} words"),
        Some(program) if program.contains('/') => {
            // The program runs elsewhere than we do.
            let path = absolute(reader.path(&program));
            return Some((path.to_string_lossy().into_owned(), words.collect()));
        }
        Some(program) if program.contains(char::is_whitespace) && count == 1 => {
            "it is one text; write each word for itself, as `[ npx, -y, PACKAGE@1.2.3 ]`".to_owned()
        }
        Some(program) => return Some((program, words.collect())),
    };
    reader.mistake(node.span, ConfigError::Malformed { what: "command", why, remedy: String::new() });
    None
}

fn word(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let text = reader.text(node);
    let why = if text.contains('\0') {
        "it holds a NUL"
    } else if text.len() > LONGEST_WORD {
        "it is longer than 16 KiB"
    } else {
        return Some(text);
    };
    reader.mistake(
        node.span,
        ConfigError::Malformed { what: "word of a command", why: why.to_owned(), remedy: String::new() },
    );
    None
}

/// `env`: names and values; a name that sounds like a secret has a reference.
pub(in crate::config) fn env(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<(String, TextOrSecret)>> {
    let Value::Map(entries) = &node.value else { return None };
    let mut variables: Vec<(String, TextOrSecret)> = Vec::new();
    for entry in entries {
        if !secret::is_variable_name(&entry.key) {
            let why = "it has letters, digits and `_`, and starts with no digit".to_owned();
            let error = ConfigError::Malformed { what: "name of an environment variable", why, remedy: String::new() };
            reader.mistake(entry.span, error);
        } else if variables.iter().any(|(name, _)| *name == entry.key) {
            reader.mistake(entry.span, ConfigError::DuplicateKey { key: entry.key.clone(), inside: "`env`" });
        } else if let Some(value) = variable(reader, entry) {
            variables.push((entry.key.clone(), value));
        }
    }
    Some(variables)
}

fn variable(reader: &mut Reader<'_>, entry: &Entry) -> Option<TextOrSecret> {
    let node = &entry.value;
    if matches!(node.value, Value::Map(_)) || sounds_secret(&entry.key) {
        return secret::decode(reader, node).map(TextOrSecret::Secret);
    }
    if !reader.is_of(node, &VALUE, &format!("the variable `{}`", short(&entry.key))) {
        return None;
    }
    word(reader, node).map(TextOrSecret::Text)
}

/// `cwd`.
pub(in crate::config) fn cwd(reader: &mut Reader<'_>, node: &Node) -> Option<PathBuf> {
    let text = reader.text(node);
    if text.is_empty() || text.contains('\0') {
        let why = "it is empty".to_owned();
        reader.mistake(node.span, ConfigError::Malformed { what: "path", why, remedy: String::new() });
        return None;
    }
    Some(absolute(reader.path(&text)))
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;
    use crate::model::secret::SecretRef;

    fn shown(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
        decode(reader, node).map(|command| command.to_string())
    }

    #[test]
    fn a_command_is_a_program_and_its_words() {
        assert_eq!(taken("[ npx, -y, \"@scope/server@1.2.3\", 8080 ]", shown), "npx -y @scope/server@1.2.3 8080");
        assert_eq!(taken("[ /usr/bin/python3, -m, server ]", shown), "/usr/bin/python3 -m server");
    }

    #[test]
    fn what_is_no_command_says_why() {
        assert_eq!(refused("[]", shown), ["this is no command: it is empty"]);
        assert_eq!(refused("[ \"\" ]", shown), ["this is no command: its program has no name"]);
        assert_eq!(
            refused("[ \"npx -y server\" ]", shown),
            ["this is no command: it is one text; write each word for itself, as `[ npx, -y, PACKAGE@1.2.3 ]`"]
        );
        assert_eq!(refused("[ a, [ b ] ]", shown), ["a word of `command` has to be a text, this is a list"]);
        assert_eq!(refused("[ a, \"b\\0c\" ]", shown), ["this is no word of a command: it holds a NUL"]);
    }

    #[test]
    fn a_command_is_allowed_by_its_program_or_by_its_first_words() {
        let allowed = taken("{ allow: [ uvx, [ npx, -y, \"a@1\" ] ] }", allowed);
        let is_allowed = |words: &str| allowed.admits(&taken(words, decode));
        assert!(is_allowed("[ uvx, anything ]"));
        assert!(is_allowed("[ npx, -y, a@1, /srv ]"));
        assert!(!is_allowed("[ npx, -y, a@2 ]"), "another version");
        assert!(!is_allowed("[ npx, -y ]"), "less than the words");
        assert!(!is_allowed("[ /usr/bin/uvx, anything ]"), "a path is not the name");
        assert!(!Allowed::default().admits(&taken("[ uvx ]", decode)), "none by default");
    }

    #[test]
    fn variables_are_written_out_or_kept_elsewhere() {
        let variables = taken("{ LOG_LEVEL: debug, PORT: 80, API_KEY: { env: KEY } }", env);
        assert_eq!(variables[1], ("PORT".to_owned(), TextOrSecret::Text("80".into())));
        assert_eq!(variables[2], ("API_KEY".to_owned(), TextOrSecret::Secret(SecretRef::Env("KEY".into()))));
        let messages = refused("{ API_KEY: hunter2, \"A B\": x, A: [], A: y }", env);
        assert!(messages.iter().any(|message| message.starts_with("a secret is written out here; ")), "{messages:?}");
        assert!(!messages.concat().contains("hunter2"));
    }
}
