//! `true` and `false`, and no other word for them.

use super::super::reader::Reader;
use super::super::tree::{Node, Value};

/// The shape admits flags alone, so that what is none has been reported.
pub(in crate::config) const fn decode(_: &mut Reader<'_>, node: &Node) -> Option<bool> {
    match node.value {
        Value::Flag(flag) => Some(flag),
        Value::Null | Value::Number | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
    }
}
