//! `store`: where everything is kept.

use std::path::PathBuf;

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::Node;
use super::{Element, Form, Shape};

pub(in crate::config) const KEYS: &[Element] =
    &[Element::new("sqlite", Shape::Text(Form::Path), "the path of the database")
        .required()
        .also_called(&["path", "file"])];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<PathBuf> {
    let fields = Fields::of(reader, node, "`store`", KEYS);
    fields.read(reader, "sqlite", |reader, node| path(reader, node, "path of a database"))
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
        assert_eq!(taken("{ sqlite: d.db }", decode), PathBuf::from("config/d.db"));
        assert_eq!(taken("{ sqlite: /var/lib/driftd/d.db }", decode), PathBuf::from("/var/lib/driftd/d.db"));
    }

    #[test]
    fn another_database_is_an_unknown_key() {
        assert_eq!(
            refused("{ sqlite: data/, postgres: { env: URL } }", decode),
            [
                "this is no path of a database: it names no file",
                "unknown key `postgres` in `store`; known here: sqlite",
            ]
        );
    }
}
