//! For the tests of elements: one value, and what is said of it.

use std::path::Path;

use super::super::inventory_file;
use super::super::reader::Reader;
use super::super::tree::Node;
use crate::secret::Environment;

/// Variables that these tests may refer to.
const VARIABLES: [(&str, &str); 6] = [
    ("HOOK_URL", "https://hooks.example.com/T0/s3cr3t"),
    ("HOOK_SECRET", "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"),
    ("PASSWORD", "correct horse"),
    ("NOT_A_URL", "plain-s3cr3t"),
    ("TOKEN", "t0ken-of-thirty-two-letters-long"),
    ("SHORT", "t0ken"),
];

/// Rules that these tests may name.
const RULES: [&str; 3] = ["tool.removed", "tool.added", "prompt.removed"];

type Decode<T> = fn(&mut Reader<'_>, &Node) -> Option<T>;

/// The value of a text that is right.
pub(in crate::config) fn taken<T>(text: &str, decode: Decode<T>) -> T {
    let environment = Environment::from_map(VARIABLES);
    let mut reader = Reader::new(&environment, Some(&RULES));
    let node = reader.take(Path::new("config/f.yaml"), text.to_owned(), inventory_file::KEYS).unwrap();
    let value = decode(&mut reader, &node);
    reader.finish(value).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// The messages about a text that is wrong, each with its remedy, without places.
pub(in crate::config) fn refused<T>(text: &str, decode: Decode<T>) -> Vec<String> {
    let environment = Environment::from_map(VARIABLES);
    let mut reader = Reader::new(&environment, Some(&RULES));
    let node = reader.take(Path::new("config/f.yaml"), text.to_owned(), inventory_file::KEYS);
    let value = node.and_then(|node| decode(&mut reader, &node));
    let Err(mistakes) = reader.finish(value.map(|_| ())) else { return Vec::new() };
    let one = |mistake: &super::super::error::Mistake| {
        let remedy = mistake.error.remedy();
        let space = if remedy.is_empty() { "" } else { "; " };
        format!("{}{space}{remedy}", mistake.error)
    };
    mistakes.list.iter().map(one).collect()
}
