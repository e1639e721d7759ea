//! `rule` of a wish: the id of a rule, in which `*` stands for any characters.
//!
//! Which rules there are is told by the caller of `load`; without that any name will do.

use super::super::error::ConfigError;
use super::super::glob;
use super::super::reader::Reader;
use super::super::tree::Node;

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<String> {
    let text = reader.text(node);
    let ordinary = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_' | '*');
    let remedy = if !(1..=64).contains(&text.len()) || !text.chars().all(ordinary) {
        "write it as `tool.removed` or `tool.*`".to_owned()
    } else if let Some(rules) = reader.rules {
        if rules.iter().any(|rule| glob::matches(&text, rule)) {
            return Some(text);
        }
        match reader.nearest(&text, rules.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`driftd rules` lists them".to_owned(),
        }
    } else {
        return Some(text);
    };
    reader.mistake(node.span, ConfigError::UnknownWord { what: "rule", remedy });
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_rule_is_one_that_there_is_or_a_pattern_of_some() {
        for text in ["tool.removed", "tool.*", "\"*\"", "\"*.removed\""] {
            assert_eq!(taken(text, decode), text.trim_matches('"'));
        }
        assert_eq!(refused("tool.remvoed", decode), ["this is no rule; did you mean `tool.removed`?"]);
        assert_eq!(refused("gadget.*", decode), ["this is no rule; `driftd rules` lists them"]);
        assert_eq!(refused("Tool Removed", decode), ["this is no rule; write it as `tool.removed` or `tool.*`"]);
    }
}
