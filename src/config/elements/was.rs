//! `was` of a target: ids that it had before, whose baseline, decisions and history it carries on.

use super::super::error::ConfigError;
use super::super::reader::{At, Reader};
use super::super::tree::Node;
use super::{Form, Shape, id};
use crate::model::target::TargetId;

const ID: Shape = Shape::Text(Form::Id);

/// One id, or a list of them.
pub(in crate::config) const SHAPE: Shape = Shape::OneOrList(&ID);

/// A claim and its place; that the id is free to be claimed is known when all files are read.
pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<(TargetId, At)>> {
    let mut claims: Vec<(TargetId, At)> = Vec::new();
    reader.items(node, &ID, "an id of `was`", |reader, node| {
        let (id, at) = (id::decode(reader, node)?, reader.at(node.span));
        if let Some((_, first)) = claims.iter().find(|(claimed, _)| *claimed == id) {
            reader.mistake_at(at, ConfigError::ClaimedTwice(id), Some((*first, "the first claim stands here")));
        } else {
            claims.push((id, at));
        }
        Some(())
    });
    Some(claims)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    fn ids(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<String>> {
        decode(reader, node).map(|claims| claims.into_iter().map(|(id, _)| id.to_string()).collect())
    }

    #[test]
    fn a_target_had_one_id_or_several() {
        assert_eq!(taken("old", ids), ["old"]);
        assert_eq!(taken("[ old, older ]", ids), ["old", "older"]);
        assert_eq!(
            refused("[ old, old, Old Name ]", ids),
            [
                "`old` is claimed twice; one target carries it on",
                "this is no id: an id has 1 to 64 characters of a-z, 0-9, `.`, `_` and `-`, and starts with a letter \
                 or digit; did you mean `old-name`?",
            ]
        );
    }
}
