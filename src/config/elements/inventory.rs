//! `inventory`: the files that list targets; a `*` in a file's name stands for any characters.

use std::path::PathBuf;

use super::super::error::ConfigError;
use super::super::reader::{At, Fields, Reader};
use super::super::tree::{Node, Value};
use super::{Element, Form, Shape};

const PATH: Shape = Shape::Text(Form::Path);

const KEYS: &[Element] = &[Element::new("path", PATH, "the path of a file").required().also_called(&["file"])];

/// One entry.
pub(in crate::config) const ENTRY: Shape = Shape::Or(&PATH, &Shape::Map(KEYS));

/// Files to read, as they are listed.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::config) struct Listed {
    /// Relative to the working directory, or absolute. The file's name may hold `*`.
    pub(in crate::config) path: PathBuf,
    pub(in crate::config) at: At,
}

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<Listed>> {
    Some(reader.items(node, &ENTRY, "an entry of `inventory`", |reader, node| match node.value {
        Value::Map(_) => {
            let fields = Fields::of(reader, node, "an entry of `inventory`", KEYS);
            fields.read(reader, "path", path)
        }
        Value::Null | Value::Flag(_) | Value::Number | Value::Text(_) | Value::List(_) => path(reader, node),
    }))
}

fn path(reader: &mut Reader<'_>, node: &Node) -> Option<Listed> {
    let text = reader.text(node);
    let directory = text.rsplit_once('/').map_or("", |(directory, _)| directory);
    let why = if text.is_empty() || text.ends_with('/') || text.contains('\0') {
        "it names no file"
    } else if directory.contains('*') {
        "a `*` stands in the file's name, not in a directory's"
    } else {
        return Some(Listed { path: reader.path(&text), at: reader.at(node.span) });
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
    fn a_file_is_listed_by_its_path_or_a_map_of_it() {
        let listed = taken("[ a.yaml, { path: \"d/*.yaml\" }, /etc/x.yaml ]", decode);
        let paths: Vec<_> = listed.iter().map(|listed| listed.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["config/a.yaml", "config/d/*.yaml", "/etc/x.yaml"]);
    }

    #[test]
    fn what_names_no_file_is_refused() {
        let remedy = "write it as `inventory.yaml` or `inventory.d/*.yaml`";
        assert_eq!(
            refused("[ d/, \"*/a.yaml\", [], { path: a, trust: listed } ]", decode),
            [
                format!("this is no path of a file: it names no file; {remedy}"),
                format!("this is no path of a file: a `*` stands in the file's name, not in a directory's; {remedy}"),
                "an entry of `inventory` has to be a path or a map with `path`, this is a list".to_owned(),
                "unknown key `trust` in an entry of `inventory`; known here: path".to_owned(),
            ]
        );
    }
}
