//! The settings, one file each: how a value is decoded, what is said of a wrong one, and tests of both.
//!
//! The tables of [`Element`]s are the one list of keys: what is not in them is an unknown key, and the editors' schema
//! is generated from them.

pub(super) mod address;
pub(super) mod auth;
pub(super) mod baseline;
pub(super) mod cadence;
pub(super) mod command;
pub(super) mod confirm;
pub(super) mod consumers;
pub(super) mod count;
pub(super) mod defaults;
pub(super) mod duration;
pub(super) mod egress;
pub(super) mod email;
pub(super) mod flag;
pub(super) mod headers;
pub(super) mod hosts;
pub(super) mod id;
pub(super) mod impact;
pub(super) mod inventory;
pub(super) mod kind;
pub(super) mod labels;
pub(super) mod listed;
pub(super) mod metrics;
pub(super) mod person;
pub(super) mod place;
pub(super) mod profile;
pub(super) mod receiver;
pub(super) mod retention;
pub(super) mod route;
pub(super) mod rule;
pub(super) mod scan;
pub(super) mod secret;
pub(super) mod severity;
pub(super) mod smtp;
pub(super) mod socket;
pub(super) mod store;
pub(super) mod target;
pub(super) mod text;
pub(super) mod tls;
pub(super) mod until;
pub(super) mod url;
pub(super) mod was;
pub(super) mod webhook;
pub(super) mod wish;
pub(super) mod wishes;
pub(super) mod word;

use super::tree::Value;

#[cfg(test)]
pub(super) mod testing;

/// A key, and what may stand after it.
#[derive(Debug)]
pub(super) struct Element {
    pub(super) key: &'static str,
    pub(super) shape: Shape,
    /// Whether the map is nothing without it.
    pub(super) required: bool,
    /// What it is for, in a few words.
    pub(super) says: &'static str,
    /// What people call it who come from elsewhere.
    pub(super) also_called: &'static [&'static str],
}

impl Element {
    pub(super) const fn new(key: &'static str, shape: Shape, says: &'static str) -> Self {
        Self { key, shape, required: false, says, also_called: &[] }
    }

    pub(super) const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    pub(super) const fn also_called(self, names: &'static [&'static str]) -> Self {
        Self { also_called: names, ..self }
    }
}

/// What a value looks like.
#[derive(Debug)]
pub(super) enum Shape {
    /// One of the named forms of text.
    Text(Form),
    /// `true` or `false`.
    Flag,
    /// A whole number in a range.
    Count(Bounds),
    /// A number and a unit, in a range of seconds.
    Duration(Bounds),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A map of `env`, `file` or `credential`.
    Secret,
    /// The same, or written out.
    TextOrSecret(Form),
    /// Nothing, or an empty map.
    Empty,
    /// A list.
    List(&'static Self),
    /// A list, or one that stands alone.
    OneOrList(&'static Self),
    /// A map with keys of a person's choice.
    Names(&'static Self),
    /// A map with these keys.
    Map(&'static [Element]),
    /// Either.
    Or(&'static Self, &'static Self),
}

/// The smallest and the largest; durations in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) least: u64,
    pub(super) most: u64,
}

/// What a text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Anything.
    Free,
    /// A word of a command.
    Argument,
    /// IP address and port.
    Address,
    /// Of a profile: a name, an address, or `*.` and a name.
    Host,
    /// A whole number and `%`.
    Percent,
    /// Facet and path.
    Place,
    /// The id of a rule, or a pattern of such.
    Rule,
    /// A date or an instant.
    When,
    /// `mailto:` or `https:`.
    Contact,
    /// Five or six fields.
    Cron,
    /// `>=high`, `high` or `<=high`.
    Comparison,
    /// Of a target.
    Id,
    /// Address with an optional name.
    Mailbox,
    /// CIDR.
    Network,
    /// Of a file.
    Path,
    /// `http:` or `https:`.
    Url,
    /// IANA.
    Zone,
}

impl Shape {
    /// Whether a value is of the right outer kind.
    pub(super) fn admits(&self, value: &Value) -> bool {
        let scalar = matches!(value, Value::Flag(_) | Value::Number | Value::Text(_));
        match self {
            Self::Text(_) | Self::Count(_) | Self::Duration(_) | Self::Word(_) => scalar,
            Self::Flag => matches!(value, Value::Flag(_)),
            // A secret that is written out has a mistake of its own.
            Self::Secret | Self::TextOrSecret(_) => scalar || matches!(value, Value::Map(_)),
            Self::Empty => match value {
                Value::Null => true,
                Value::Map(entries) => entries.is_empty(),
                Value::Flag(_) | Value::Number | Value::Text(_) | Value::List(_) => false,
            },
            Self::List(_) => matches!(value, Value::List(_)),
            Self::OneOrList(one) => matches!(value, Value::List(_)) || one.admits(value),
            Self::Names(_) | Self::Map(_) => matches!(value, Value::Map(_)),
            Self::Or(one, other) => one.admits(value) || other.admits(value),
        }
    }

    /// What it has to be, in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Text(form) => form.words().to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Count(Bounds { least, most }) => format!("a number from {least} to {most}"),
            Self::Duration(Bounds { least, most }) => {
                format!("a duration from {} to {}", duration::spelled(*least), duration::spelled(*most))
            }
            Self::Word(words) => format!("one of {}", quoted(words.iter().copied())),
            Self::Secret => "a reference to a secret".to_owned(),
            Self::TextOrSecret(form) => format!("{} or a reference to a secret", form.words()),
            Self::Empty => "an empty map, `{}`".to_owned(),
            Self::List(item) => format!("a list, each item {}", item.words()),
            Self::OneOrList(one) => format!("{} or a list of such", one.words()),
            Self::Names(value) => format!("a map, each value {}", value.words()),
            Self::Map(elements) => {
                let needed = elements.iter().filter(|element| element.required).map(|element| element.key);
                if elements.iter().any(|element| element.required) {
                    format!("a map with {}", quoted(needed))
                } else {
                    format!("a map of {}", quoted(elements.iter().map(|element| element.key)))
                }
            }
            Self::Or(one, other) => format!("{} or {}", one.words(), other.words()),
        }
    }
}

impl Form {
    const fn words(self) -> &'static str {
        match self {
            Self::Free | Self::Argument => "a text",
            Self::Address => "an address and a port",
            Self::Host => "a host",
            Self::Percent => "a share, as `20%`",
            Self::Place => "a place, as `mcp.tools/items/*/description`",
            Self::Rule => "a rule",
            Self::When => "a date or an instant",
            Self::Contact => "a `mailto:` or `https:` URL",
            Self::Cron => "a cron expression",
            Self::Comparison => "a severity",
            Self::Id => "an id",
            Self::Mailbox => "a mail address",
            Self::Network => "a network",
            Self::Path => "a path",
            Self::Url => "a URL",
            Self::Zone => "a time zone",
        }
    }
}

fn quoted<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every table, reached from the two files.
    fn tables(shape: &Shape, seen: &mut Vec<&'static [Element]>) {
        match shape {
            Shape::Map(elements) => {
                seen.push(elements);
                elements.iter().for_each(|element| tables(&element.shape, seen));
            }
            Shape::List(one) | Shape::OneOrList(one) | Shape::Names(one) => tables(one, seen),
            Shape::Or(one, other) => {
                tables(one, seen);
                tables(other, seen);
            }
            Shape::Text(_)
            | Shape::Flag
            | Shape::Count(_)
            | Shape::Duration(_)
            | Shape::Word(_)
            | Shape::Secret
            | Shape::TextOrSecret(_)
            | Shape::Empty => {}
        }
    }

    #[test]
    fn a_key_stands_once_in_its_table_and_is_nobodys_other_name() {
        let mut all = Vec::new();
        tables(&Shape::Map(super::super::daemon_file::KEYS), &mut all);
        tables(&Shape::Map(super::super::inventory_file::KEYS), &mut all);
        assert!(all.len() > 15, "{}", all.len());
        for table in all {
            for (index, element) in table.iter().enumerate() {
                let mut others = table.iter().skip(index + 1);
                assert!(others.all(|other| other.key != element.key), "{}", element.key);
                for name in element.also_called {
                    assert!(table.iter().all(|other| other.key != *name), "{name}");
                }
            }
        }
    }
}
