//! What was probably meant by a word that is not known.

/// Longer words are not compared: nobody mistypes them, and comparing is quadratic.
const LONGEST: usize = 64;

/// The nearest of the known words, if it is near enough to ask.
pub(super) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let word = folded(word);
    if word.is_empty() || word.len() > LONGEST {
        return None;
    }
    let near = |candidate: &'k str| {
        let other = folded(candidate);
        let length = word.len().max(other.len());
        let distance = if other.len() > LONGEST { length } else { distance(&word, &other) };
        // A third of the letters may be wrong; of three letters, one.
        (distance <= length / 3).then_some((distance, candidate))
    };
    known.into_iter().filter_map(near).min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// `did you mean …?` or, when nothing is near, all that is known.
pub(super) fn advice(word: &str, known: &[&str], all: &str) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => format!("{all}: {}", known.join(", ")),
    }
}

/// Case, `-` and `_` are not what makes two keys different to a person.
fn folded(word: &str) -> Vec<char> {
    word.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).take(LONGEST + 1).collect()
}

/// Letters to insert, remove, replace or swap with their neighbour (optimal string alignment).
fn distance(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    let mut from_before = None;
    for (row, a) in from.iter().enumerate() {
        let mut current = Vec::with_capacity(last.len());
        current.push(row.saturating_add(1));
        let mut to_before = None;
        for (column, b) in to.iter().enumerate() {
            let cell = |line: &[usize], at: usize| line.get(at).copied().unwrap_or(usize::MAX);
            let next = column.saturating_add(1);
            let replaced = cell(&last, column).saturating_add(usize::from(a != b));
            let one_more = cell(&last, next).min(cell(&current, column)).saturating_add(1);
            let mut best = replaced.min(one_more);
            if from_before == Some(b) && to_before == Some(a) {
                best = best.min(cell(&before, column.saturating_sub(1)).saturating_add(1));
            }
            current.push(best);
            to_before = Some(b);
        }
        before = std::mem::replace(&mut last, current);
        from_before = Some(a);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_is_recognized_and_a_far_one_is_not() {
        let known = ["receivers", "routes", "metrics_listen", "every", "url", "to"];
        for (word, expected) in [
            ("recievers", Some("receivers")),
            ("receiver", Some("receivers")),
            ("Metrics-Listen", Some("metrics_listen")),
            ("evrey", Some("every")),
            ("ulr", Some("url")),
            ("uri", Some("url")),
            ("listen", None),
            ("x", None),
            ("", None),
            ("completely_different", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }

    #[test]
    fn a_swap_of_neighbours_is_one_mistake() {
        let letters = |word: &str| word.chars().collect::<Vec<_>>();
        assert_eq!(distance(&letters("abcd"), &letters("abdc")), 1);
        assert_eq!(distance(&letters("kitten"), &letters("sitting")), 3);
        assert_eq!(distance(&letters(""), &letters("abc")), 3);
    }

    #[test]
    fn a_word_without_end_is_not_compared() {
        assert_eq!(nearest(&"e".repeat(10_000_000), ["every"]), None);
    }

    #[test]
    fn advice_lists_what_is_known_when_nothing_is_near() {
        assert_eq!(advice("gold", &["low", "high"], "one of"), "one of: low, high");
        assert_eq!(advice("hihg", &["low", "high"], "one of"), "did you mean `high`?");
    }
}
