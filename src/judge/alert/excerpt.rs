//! Shortens a word diff to what changed and a little around it; the whole stands in the attachment.

use std::fmt::Write as _;

/// Unchanged text kept on each side of a change.
const AROUND: usize = 80;
/// Characters of one changed stretch.
const STRETCH: usize = 1_500;

/// What changed, with a little around it, at most about `max` characters. Linear in `diff`.
///
/// Marks that a peer writes itself are taken for ours here: they decide what is shown, never whose words it is.
pub(super) fn excerpt(diff: &str, max: usize) -> String {
    if next_mark(diff).is_none() {
        return cut(diff, max);
    }
    let mut out = String::new();
    let mut rest = diff;
    let mut shown = 0_usize;
    let mut first = true;
    while !rest.is_empty() && shown < max {
        let (plain, marked) = rest.split_at_checked(next_mark(rest).unwrap_or(rest.len())).unwrap_or((rest, ""));
        let piece = shorten(plain, first, marked.is_empty());
        shown += piece.chars().count();
        out.push_str(&piece);
        let close = if marked.starts_with("[-") { "-]" } else { "+}" };
        let end = marked.find(close).map_or(marked.len(), |at| at + close.len());
        let (changed, after) = marked.split_at_checked(end).unwrap_or((marked, ""));
        let piece = cut(changed, STRETCH);
        shown += piece.chars().count();
        out.push_str(&piece);
        rest = after;
        first = false;
    }
    if !rest.is_empty() {
        let _ = write!(out, " [+{} characters]", rest.chars().count());
    }
    out
}

/// Where the next changed stretch opens.
fn next_mark(text: &str) -> Option<usize> {
    let opens =
        |(at, _): &(usize, &str)| text.get(*at..).is_some_and(|rest| rest.starts_with("[-") || rest.starts_with("{+"));
    text.match_indices(['[', '{']).find(opens).map(|(at, _)| at)
}

/// `text` as it is, at most `max` characters of it, what is cut counted.
pub(super) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((at, _)) => {
            let (kept, rest) = text.split_at_checked(at).unwrap_or((text, ""));
            format!("{kept} [+{} characters]", rest.chars().count())
        }
    }
}

/// An unchanged stretch: its end at the start of a diff, its start at the end, both between two changes.
fn shorten(plain: &str, first: bool, last: bool) -> String {
    let length = plain.chars().count();
    let wanted = if first || last { AROUND } else { 2 * AROUND };
    if length <= wanted + 10 {
        return plain.to_owned();
    }
    let head: String = if first { String::new() } else { plain.chars().take(AROUND).collect() };
    let tail: String = if last { String::new() } else { plain.chars().skip(length - AROUND).collect() };
    let glue = match (first, last) {
        (true, _) => "[...] ",
        (false, true) => " [...]",
        (false, false) => " [...] ",
    };
    format!("{head}{glue}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_at_the_end_of_a_long_text_is_shown() {
        let diff = format!("{}[-old-] {{+new+}}{}", "same ".repeat(10_000), " after".repeat(1_000));
        let shown = excerpt(&diff, 2_000);
        assert!(shown.contains("[-old-] {+new+}"), "{shown}");
        assert!(shown.starts_with("[...] ") && shown.ends_with(" [...]"), "{shown}");
        assert!(shown.len() < 250);
    }

    #[test]
    fn short_diffs_stay_as_they_are() {
        for diff in ["Echoes back the input {+string+}", "no marks", "", "[-all-]", "open {+ never closed"] {
            assert_eq!(excerpt(diff, 1_000), diff);
        }
    }

    #[test]
    fn many_marks_are_read_once_and_cut_with_a_count() {
        let diff = "[-".repeat(200_000);
        assert!(excerpt(&diff, 1_000).contains("characters]"));
        let diff = "[-a-]{+b+}".repeat(100_000);
        let shown = excerpt(&diff, 1_000);
        assert!(shown.len() < 1_100 && shown.ends_with(" characters]"), "{}", shown.len());
    }
}
