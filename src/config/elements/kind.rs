//! `kind` of a target.

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::tree::Node;
use crate::model::target::Kind;

/// The kinds that this version watches.
pub(in crate::config) const WORDS: &[&str] = &["mcp"];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Kind> {
    let word = reader.text(node);
    let error = match word.as_str() {
        "mcp" => return Some(Kind::Mcp),
        "a2a" => ConfigError::NotSupported("`kind: a2a`", "this version watches MCP servers: `kind: mcp`"),
        word => ConfigError::UnknownWord { what: "kind of target", remedy: reader.advice(word, WORDS, "one of") },
    };
    reader.mistake(node.span, error);
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn this_version_watches_mcp_alone() {
        assert_eq!(taken("mcp", decode), Kind::Mcp);
        assert_eq!(
            refused("a2a", decode),
            ["`kind: a2a` is not supported by this version; this version watches MCP servers: `kind: mcp`"]
        );
        assert_eq!(refused("MCP", decode), ["this is no kind of target; did you mean `mcp`?"]);
        assert_eq!(refused("http", decode), ["this is no kind of target; one of: mcp"]);
    }
}
