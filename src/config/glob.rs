//! Whether a text is of a pattern in which `*` stands for any characters: names of files, ids of rules.

/// Whether `text` is of `pattern`.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        // The first place that fits leaves the most for what follows.
        let Some((_, after)) = text.split_once(piece) else { return false };
        text = after;
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text, expected) in [
            ("tool.*", "tool.removed", true),
            ("tool.*", "prompt.removed", false),
            ("*.removed", "tool.removed", true),
            ("a*b*c", "abc", true),
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("**", "anything", true),
            ("*", "", true),
            ("[ab]", "a", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
