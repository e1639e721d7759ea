//! Texts compared by words: what counts as the same, how much was kept, and the word diff that people read.
//!
//! Work is bounded by a budget for a whole judgment, so that no list of texts can make it quadratic (law 6).

use std::cell::Cell;
use std::cmp::Ordering;

use similar::{Algorithm, ChangeTag, TextDiff};
use unicode_normalization::UnicodeNormalization as _;

use crate::model::drift::Detail;

/// Longest text that is diffed by words.
const LONGEST: usize = 64 * 1024;

/// Steps that the word diffs of one judgment may take together.
#[derive(Debug)]
pub(super) struct Budget(Cell<usize>);

impl Default for Budget {
    fn default() -> Self {
        Self(Cell::new(40_000_000))
    }
}

impl Budget {
    /// Takes `steps`, when so many are left.
    fn take(&self, steps: usize) -> bool {
        let left = self.0.get().checked_sub(steps);
        if let Some(left) = left {
            self.0.set(left);
        }
        left.is_some()
    }
}

/// The text in Unicode normal form C, white space collapsed.
pub(super) fn collapsed(text: &str) -> String {
    let normal: String = text.nfc().collect();
    normal.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words of a text: runs of letters and digits, in lower case.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let runs = text.split(|character: char| !character.is_alphanumeric()).filter(|run| !run.is_empty());
    runs.map(str::to_lowercase)
}

/// The words of a text, as often as they stand there: sorted hashes, so that two texts are compared in one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bag(Vec<u64>);

impl Bag {
    /// The words of `text`.
    pub(super) fn of(text: &str) -> Self {
        let mut hashes: Vec<u64> = words(text).map(|word| fnv(word.as_bytes())).collect();
        hashes.sort_unstable();
        Self(hashes)
    }
}

/// FNV-1a. Whoever makes two words collide makes two texts look more alike than they are, and no more.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// How many words two texts share, and how many the shorter one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overlap {
    /// Words that both have, counted as often as both have them.
    pub(super) kept: usize,
    /// Words of the shorter text.
    pub(super) shorter: usize,
}

impl Overlap {
    /// Of two texts.
    pub(super) fn of(old: &str, new: &str) -> Self {
        Self::between(&Bag::of(old), &Bag::of(new))
    }

    /// Of two texts whose words are known.
    pub(super) fn between(old: &Bag, new: &Bag) -> Self {
        let shorter = old.0.len().min(new.0.len());
        let (mut left, mut right) = (old.0.iter().peekable(), new.0.iter().peekable());
        let mut kept = 0;
        while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
            match one.cmp(other) {
                Ordering::Less => drop(left.next()),
                Ordering::Greater => drop(right.next()),
                Ordering::Equal => {
                    kept += 1;
                    left.next();
                    right.next();
                }
            }
        }
        Self { kept, shorter }
    }

    /// Whether the share kept is at least `percent`; two empty texts share everything.
    pub(super) const fn at_least(self, percent: usize) -> bool {
        self.kept * 100 >= self.shorter * percent
    }
}

/// The word diff of two texts, `[-old-] {+new+}`; counts alone where it would cost too much.
pub(super) fn diff(old: &str, new: &str, budget: &Budget) -> Detail {
    let overlap = Overlap::of(old, new);
    let short = old.len() <= LONGEST && new.len() <= LONGEST;
    let text = if short { worded(old, new, budget) } else { None };
    Detail::Words {
        diff: text.unwrap_or_else(|| counted(old, new)),
        before_chars: old.chars().count(),
        after_chars: new.chars().count(),
        kept_words: overlap.kept,
        total_words: overlap.shorter,
    }
}

fn worded(old: &str, new: &str, budget: &Budget) -> Option<String> {
    let old: Vec<&str> = pieces(old);
    let new: Vec<&str> = pieces(new);
    let alike = |(left, right): &(&&str, &&str)| left.trim_end() == right.trim_end();
    let prefix = old.iter().zip(&new).take_while(alike).count();
    let (old_rest, new_rest) = (old.get(prefix..)?, new.get(prefix..)?);
    let suffix = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(alike).count();
    let old_middle = old_rest.get(..old_rest.len() - suffix)?;
    let new_middle = new_rest.get(..new_rest.len() - suffix)?;
    // Myers' algorithm takes at worst the square of what differs.
    let size = old_middle.len() + new_middle.len();
    if !budget.take(size.saturating_mul(size)) {
        return None;
    }
    let mut out = Marked::default();
    new.get(..prefix)?.iter().for_each(|piece| out.push(ChangeTag::Equal, piece));
    let bare = |pieces: &[&'_ str]| pieces.iter().map(|piece| piece.trim_end().to_owned()).collect::<Vec<_>>();
    let (old_words, new_words) = (bare(old_middle), bare(new_middle));
    let old_words: Vec<&str> = old_words.iter().map(String::as_str).collect();
    let new_words: Vec<&str> = new_words.iter().map(String::as_str).collect();
    let middle = TextDiff::configure().algorithm(Algorithm::Myers).diff_slices(&old_words, &new_words);
    for change in middle.iter_all_changes() {
        let piece = match change.tag() {
            ChangeTag::Delete => change.old_index().and_then(|index| old_middle.get(index)),
            ChangeTag::Equal | ChangeTag::Insert => change.new_index().and_then(|index| new_middle.get(index)),
        };
        out.push(change.tag(), piece?);
    }
    new_rest.get(new_middle.len()..)?.iter().for_each(|piece| out.push(ChangeTag::Equal, piece));
    Some(out.finish())
}

/// Words, each with the white space behind it; they are compared without it.
fn pieces(text: &str) -> Vec<&str> {
    text.split_inclusive(char::is_whitespace).collect()
}

/// Gathers runs of one kind and puts the marks around them, white space outside.
#[derive(Default)]
struct Marked {
    out: String,
    gone: String,
    come: String,
}

impl Marked {
    fn push(&mut self, tag: ChangeTag, piece: &str) {
        match tag {
            ChangeTag::Equal => {
                self.flush();
                self.out.push_str(piece);
            }
            ChangeTag::Delete => self.gone.push_str(piece),
            ChangeTag::Insert => self.come.push_str(piece),
        }
    }

    fn flush(&mut self) {
        let both = !self.gone.is_empty() && !self.come.is_empty();
        let gone = std::mem::take(&mut self.gone);
        let come = std::mem::take(&mut self.come);
        let joins = !self.out.is_empty() && !self.out.ends_with(char::is_whitespace);
        if joins && (!gone.is_empty() || !come.is_empty()) {
            self.out.push(' ');
        }
        for (open, close, text) in [("[-", "-]", &gone), ("{+", "+}", &come)] {
            if text.is_empty() {
                continue;
            }
            let body = text.trim_end();
            self.out.push_str(open);
            self.out.push_str(if body.is_empty() { text } else { body });
            self.out.push_str(close);
            let trailing = text.get(body.len()..).unwrap_or_default();
            self.out.push_str(if both && open == "[-" || trailing.is_empty() { " " } else { trailing });
        }
    }

    fn finish(mut self) -> String {
        self.flush();
        self.out.trim_end().to_owned()
    }
}

fn counted(old: &str, new: &str) -> String {
    let (before, after) = (old.lines().count(), new.lines().count());
    format!("(too long to compare by words: {before} lines before, {after} lines now)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diffed(old: &str, new: &str) -> String {
        match diff(old, new, &Budget::default()) {
            Detail::Words { diff, .. } => diff,
            other @ (Detail::Text { .. } | Detail::Moved { .. } | Detail::Quote { .. }) => panic!("{other:?}"),
        }
    }

    #[test]
    fn words_that_went_and_came_are_marked() {
        assert_eq!(diffed("Takes one text", "Takes a short text"), "Takes [-one-] {+a short+} text");
        assert_eq!(diffed("Gives it back", "Gives it back whole"), "Gives it back {+whole+}");
        assert_eq!(diffed("one two", "one"), "one [-two-]");
    }

    #[test]
    fn texts_beyond_the_bound_are_counted() {
        let long = "word ".repeat(20_000);
        assert!(diffed(&long, "short").starts_with("(too long"));
        let budget = Budget(Cell::new(10));
        let Detail::Words { diff, .. } = diff("a b c d e", "f g h i j", &budget) else { panic!() };
        assert!(diff.starts_with("(too long"));
    }

    #[test]
    fn overlap_counts_words_of_the_shorter_text() {
        let overlap = Overlap::of("Adds two numbers", "Gives the sum of two numbers");
        assert_eq!(overlap, Overlap { kept: 2, shorter: 3 });
        assert!(overlap.at_least(60) && !overlap.at_least(70));
    }

    #[test]
    fn white_space_and_normal_form_do_not_count() {
        assert_eq!(collapsed("e\u{301}  a\n b "), collapsed("é a b"));
    }
}
