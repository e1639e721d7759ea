//! `path` of a wish: facet and path, in which `*` is one segment and `**` any number (design, section 3).

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::spelling;
use super::super::tree::Node;
use crate::model::facet::{Facet, FacetName};
use crate::model::policy::{PathPattern, PatternSegment};

/// Nobody writes longer ones, and each is compared with each change.
const LONGEST: usize = 1_024;

/// Each `**` makes what is compared branch.
const MOST_MANY: usize = 4;

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<PathPattern> {
    match parse(&reader.text(node)) {
        Ok(pattern) => Some(pattern),
        Err((why, remedy)) => {
            reader.mistake(node.span, ConfigError::Malformed { what: "place in a facet", why: why.to_owned(), remedy });
            None
        }
    }
}

fn parse(text: &str) -> Result<PathPattern, (&'static str, String)> {
    let example = || "write it as `mcp.tools/items/*/description`".to_owned();
    if text.is_empty() {
        return Err(("it is empty", example()));
    }
    if text.len() > LONGEST {
        return Err(("it is longer than 1024 bytes", String::new()));
    }
    if text.starts_with('/') {
        return Err(("the facet stands before the path", example()));
    }
    let mut segments = text.split('/');
    let facet = segments.next().unwrap_or_default();
    let mut pattern = vec![match facet {
        "*" => PatternSegment::One,
        "**" => PatternSegment::Many,
        name => PatternSegment::Exactly(self::facet(name)?),
    }];
    for part in segments {
        pattern.push(segment(part)?);
    }
    if pattern.iter().filter(|segment| **segment == PatternSegment::Many).count() > MOST_MANY {
        return Err(("it has more than four `**`", String::new()));
    }
    Ok(PathPattern(pattern))
}

/// The name of a facet, which may say a face.
fn facet(name: &str) -> Result<String, (&'static str, String)> {
    if name.parse::<FacetName>().is_ok() {
        return Ok(name.to_owned());
    }
    let (name, face) = name.split_once('@').map_or((name, ""), |(name, _)| (name, "@auth"));
    let known = Facet::ALL.map(Facet::as_str);
    let remedy = match spelling::nearest(name, known) {
        Some(near) => format!("did you mean `{near}{face}`?"),
        None => format!("facets are: {}", known.join(", ")),
    };
    Err(("no facet is called so", remedy))
}

fn segment(part: &str) -> Result<PatternSegment, (&'static str, String)> {
    match part {
        "" => return Err(("it has an empty segment", "take the `/` away".to_owned())),
        "*" => return Ok(PatternSegment::One),
        "**" => return Ok(PatternSegment::Many),
        _ if part.contains('*') => {
            return Err(("a `*` stands for a whole segment", "a literal `*` is written `~2`".to_owned()));
        }
        _ => {}
    }
    let mut name = String::new();
    let mut characters = part.chars();
    while let Some(character) = characters.next() {
        name.push(match character {
            '~' => match characters.next() {
                Some('0') => '~',
                Some('1') => '/',
                Some('2') => '*',
                _ => {
                    let remedy = "a literal `~` is written `~0`, a `/` is `~1`, a `*` is `~2`".to_owned();
                    return Err(("a `~` stands alone in it", remedy));
                }
            },
            other => other,
        });
    }
    Ok(PatternSegment::Exactly(name))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    fn exactly(name: &str) -> PatternSegment {
        PatternSegment::Exactly(name.to_owned())
    }

    #[test]
    fn a_place_is_a_facet_and_a_path_with_wildcards() {
        for (text, expected) in [
            ("mcp.tools", vec![exactly("mcp.tools")]),
            ("mcp.tools@auth/**", vec![exactly("mcp.tools@auth"), PatternSegment::Many]),
            (
                "mcp.tools/items/*/description",
                vec![exactly("mcp.tools"), exactly("items"), PatternSegment::One, exactly("description")],
            ),
            ("\"**/title\"", vec![PatternSegment::Many, exactly("title")]),
            ("\"*/items\"", vec![PatternSegment::One, exactly("items")]),
            ("mcp.tools/items/a~1b~0~2", vec![exactly("mcp.tools"), exactly("items"), exactly("a/b~*")]),
        ] {
            assert_eq!(taken(text, decode), PathPattern(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_place_says_why() {
        for (text, message) in [
            ("\"\"", "it is empty; write it as `mcp.tools/items/*/description`"),
            ("/items/a", "the facet stands before the path; write it as `mcp.tools/items/*/description`"),
            ("mcp.tolls/items", "no facet is called so; did you mean `mcp.tools`?"),
            ("mcp.tolls@auht/items", "no facet is called so; did you mean `mcp.tools@auth`?"),
            ("mcp.tools@auht/items", "no facet is called so; did you mean `mcp.tools@auth`?"),
            ("mcp.tools/", "it has an empty segment; take the `/` away"),
            ("mcp.tools/items/create_*", "a `*` stands for a whole segment; a literal `*` is written `~2`"),
            (
                "mcp.tools/items/~x",
                "a `~` stands alone in it; a literal `~` is written `~0`, a `/` is `~1`, a `*` is `~2`",
            ),
            ("mcp.tools/**/a/**/b/**/c/**/d/**", "it has more than four `**`"),
        ] {
            assert_eq!(refused(text, decode), [format!("this is no place in a facet: {message}")], "{text}");
        }
        let messages = refused("x/items", decode);
        assert!(messages[0].contains("facets are: mcp.handshake, mcp.tools, "), "{messages:?}");
    }
}
