//! `store`: where everything is kept.

use std::path::PathBuf;
use std::time::Duration;

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Bounds, Element, Form, Shape, count, duration};
use crate::model::settings::Backups;

/// How often the store is copied.
const EVERY: Bounds = Bounds { least: 60, most: 30 * 86_400 };
const KEEP: Bounds = Bounds { least: 1, most: 1_000 };

pub(in crate::config) const BACKUPS: &[Element] = &[
    Element::new("directory", Shape::Text(Form::Path), "where copies are written")
        .required()
        .also_called(&["path", "dir"]),
    Element::new("every", Shape::Duration(EVERY), "from one copy to the next; 24h when not given")
        .also_called(&["interval"]),
    Element::new("keep", Shape::Count(KEEP), "how many are kept; 7 when not given"),
];

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("sqlite", Shape::Text(Form::Path), "the path of the database").also_called(&["path", "file"]),
    Element::new("backups", Shape::Map(BACKUPS), "copies that are made by themselves").also_called(&["backup"]),
];

/// What is said of the store.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::config) struct Store {
    pub(in crate::config) sqlite: Option<PathBuf>,
    pub(in crate::config) backups: Option<Backups>,
}

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Store> {
    let fields = Fields::of(reader, node, "`store`", KEYS);
    Some(Store {
        sqlite: fields.read(reader, "sqlite", |reader, node| path(reader, node, "path of a database")),
        backups: fields.read(reader, "backups", backups),
    })
}

fn backups(reader: &mut Reader<'_>, node: &Node) -> Option<Backups> {
    let fields = Fields::of(reader, node, "`backups`", BACKUPS);
    let directory = fields.read(reader, "directory", |reader, node| {
        let text = reader.text(node);
        if text.is_empty() || text.contains('\0') {
            let why = "it is empty".to_owned();
            reader.mistake(node.span, ConfigError::Malformed { what: "directory", why, remedy: String::new() });
            return None;
        }
        Some(reader.path(&text))
    });
    let every = fields.read(reader, "every", |reader, node| duration::decode(reader, node, EVERY));
    let keep = fields.read(reader, "keep", |reader, node| count::decode(reader, node, KEEP));
    Some(Backups { directory: directory?, every: every.unwrap_or(Duration::from_hours(24)), keep: keep.unwrap_or(7) })
}

/// A file that need not be there yet.
pub(in crate::config) fn path(reader: &mut Reader<'_>, node: &Node, what: &'static str) -> Option<PathBuf> {
    let text = reader.text(node);
    if text.is_empty() || text.contains('\0') || text.ends_with('/') {
        let why = "it names no file".to_owned();
        reader.mistake(node.span, ConfigError::Malformed { what, why, remedy: String::new() });
        return None;
    }
    Some(reader.path(&text))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_database_lies_beside_the_file_that_names_it() {
        let sqlite = |text| taken(text, decode).sqlite.unwrap();
        assert_eq!(sqlite("{ sqlite: d.db }"), PathBuf::from("config/d.db"));
        assert_eq!(sqlite("{ sqlite: /var/lib/driftd/d.db }"), PathBuf::from("/var/lib/driftd/d.db"));
    }

    #[test]
    fn copies_are_made_daily_and_a_week_of_them_is_kept() {
        let backups = |text| taken(text, decode).backups.unwrap();
        let directory = PathBuf::from("config/copies/");
        let daily = Backups { directory: directory.clone(), every: Duration::from_hours(24), keep: 7 };
        assert_eq!(backups("{ backups: { directory: copies/ } }"), daily);
        let hourly = Backups { directory, every: Duration::from_hours(1), keep: 48 };
        assert_eq!(backups("{ backups: { directory: copies/, every: 1h, keep: 48 } }"), hourly);
    }

    #[test]
    fn another_database_is_an_unknown_key() {
        assert_eq!(
            refused("{ sqlite: data/, postgres: { env: URL }, backups: { every: 1s, keep: 0 } }", decode),
            [
                "this is no path of a database: it names no file",
                "unknown key `postgres` in `store`; known here: sqlite, backups",
                "`backups` has no `directory`; add `directory`: where copies are written",
                "this is out of range; from 1m to 30d",
                "this is out of range; from 1 to 1000",
            ]
        );
    }
}
