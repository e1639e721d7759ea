//! Shortens lists of names: numbered runs become `first ... last`, long lists end in a count.

use std::collections::BTreeMap;

use crate::model::text;

/// Longest number that is taken for a counter.
const DIGITS: usize = 9;

/// What a list of names shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Names {
    /// `a, b, c/1 ... 100 and 7 more`
    pub(super) text: String,
    /// Not every name is in it.
    pub(super) shortened: bool,
}

/// The names as one line of at most about `columns`, at least one of them; `more` others were cut before.
pub(super) fn list(names: &[String], more: u32, columns: usize) -> Names {
    let mut text = String::new();
    let mut left = usize::try_from(more).unwrap_or(usize::MAX);
    let mut shortened = left > 0;
    for run in runs(names) {
        let shown = run.shown();
        let glue = if text.is_empty() { 0 } else { 2 };
        if !text.is_empty() && text::width(&text) + glue + text::width(&shown) > columns {
            left = left.saturating_add(run.count);
            continue;
        }
        shortened |= run.last.is_some();
        if glue > 0 {
            text.push_str(", ");
        }
        text.push_str(&shown);
    }
    if left > 0 {
        text.push_str(&format_more(&text, left));
    }
    Names { text, shortened: shortened || left > 0 }
}

fn format_more(text: &str, left: usize) -> String {
    if text.is_empty() { format!("{left} items") } else { format!(" and {left} more") }
}

/// A name, or a run of names that count up.
#[derive(Debug)]
struct Run<'a> {
    first: &'a str,
    last: Option<Last<'a>>,
    count: usize,
}

/// How a run ends: its last name, and how much of it differs.
#[derive(Debug)]
struct Last<'a> {
    name: &'a str,
    number: u64,
    /// Nothing follows the number, so that it alone says which the last one is.
    at_end: bool,
}

impl Run<'_> {
    fn shown(&self) -> String {
        let first = text::item(self.first);
        match &self.last {
            None => first,
            Some(last) if last.at_end && !first.starts_with('"') => format!("{first} ... {}", last.number),
            Some(last) => format!("{first} ... {}", text::item(last.name)),
        }
    }
}

/// Names in their order, runs of three and more together at the place of their first.
fn runs(names: &[String]) -> Vec<Run<'_>> {
    let mut families: BTreeMap<(&str, &str), BTreeMap<u64, usize>> = BTreeMap::new();
    for (index, name) in names.iter().enumerate() {
        if let Some((before, number, after)) = numbered(name) {
            families.entry((before, after)).or_default().entry(number).or_insert(index);
        }
    }
    let mut gone = vec![false; names.len()];
    let mut out: BTreeMap<usize, Run<'_>> = BTreeMap::new();
    for ((_, after), members) in &families {
        for stretch in stretches(members) {
            let ends = stretch.first().zip(stretch.last());
            let Some(((_, first), (number, last))) = ends.filter(|_| stretch.len() >= 3) else { continue };
            let names_of = names.get(*first).zip(names.get(*last));
            let Some((first_name, last_name)) = names_of else { continue };
            let place = stretch.iter().map(|(_, index)| *index).min().unwrap_or(*first);
            for (_, index) in &stretch {
                if let Some(gone) = gone.get_mut(*index) {
                    *gone = true;
                }
            }
            let last = Some(Last { name: last_name, number: *number, at_end: after.is_empty() });
            out.insert(place, Run { first: first_name, last, count: stretch.len() });
        }
    }
    let single = names.iter().enumerate().zip(gone).filter(|(_, gone)| !gone);
    out.extend(single.map(|((index, name), _)| (index, Run { first: name.as_str(), last: None, count: 1 })));
    out.into_values().collect()
}

/// Stretches of numbers without a gap, each number with the index of its name.
fn stretches(members: &BTreeMap<u64, usize>) -> Vec<Vec<(u64, usize)>> {
    let mut out: Vec<Vec<(u64, usize)>> = Vec::new();
    for (&number, &index) in members {
        match out.last_mut() {
            Some(stretch) if stretch.last().is_some_and(|(last, _)| last + 1 == number) => {
                stretch.push((number, index))
            }
            Some(_) | None => out.push(vec![(number, index)]),
        }
    }
    out
}

/// A name cut at its last number, written without leading zeros.
fn numbered(name: &str) -> Option<(&str, u64, &str)> {
    let end = name.rfind(|character: char| character.is_ascii_digit())? + 1;
    let (head, after) = name.split_at_checked(end)?;
    let before = head.trim_end_matches(|character: char| character.is_ascii_digit());
    let digits = head.get(before.len()..)?;
    let plain = digits.len() <= DIGITS && (digits == "0" || !digits.starts_with('0'));
    // U+0000 before a number belongs to the key of a repeated name.
    let counts = plain && !before.ends_with('\0');
    if counts { digits.parse().ok().map(|number| (before, number, after)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(names: &[&str], columns: usize) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        list(&names, 0, columns).text
    }

    #[test]
    fn numbered_runs_are_told_by_their_ends_whatever_their_order() {
        let mut names: Vec<String> = (1..=100).map(|n| format!("test://static/resource/{n}")).collect();
        names.sort();
        let listed = list(&names, 0, 200);
        assert_eq!(listed, Names { text: "test://static/resource/1 ... 100".to_owned(), shortened: true });
        assert_eq!(shown(&["a1.txt", "a2.txt", "a3.txt", "b"], 200), "a1.txt ... a3.txt, b");
        assert_eq!(shown(&["a 1", "a 2", "a 3"], 200), "\"a 1\" ... \"a 3\"");
        assert_eq!(shown(&["a1", "a2", "a4"], 200), "a1, a2, a4");
        assert_eq!(shown(&["a01", "a02", "a03"], 200), "a01, a02, a03");
        assert_eq!(shown(&["v2", "x\u{0}1", "x\u{0}2", "x\u{0}3"], 200), "v2, x#1, x#2, x#3");
    }

    #[test]
    fn a_long_list_ends_in_a_count() {
        assert_eq!(shown(&["alpha", "beta", "gamma", "delta"], 12), "alpha, beta and 2 more");
        assert_eq!(list(&["a".to_owned()], 5, 80).text, "a and 5 more");
        assert_eq!(list(&[], 5, 80).text, "5 items");
    }
}
