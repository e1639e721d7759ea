//! Whether it is we who are offline (`scan.self-offline`): when most targets fail within a minute, of hosts that have
//! nothing in common, the cause is likely ours.
//!
//! Only what was heard of each target last counts, and only what was heard within the minute. Whether anybody asks a
//! reference of ours as well is for the caller.

use std::collections::{HashMap, VecDeque};

use jiff::{SignedDuration, Timestamp};

use crate::model::target::TargetId;

const WITHIN: SignedDuration = SignedDuration::from_mins(1);
/// Hosts that must fail: fewer may share a cause that is not ours.
const LEAST_HOSTS: usize = 3;

/// What was heard of targets within the last minute.
#[derive(Clone, Debug, Default)]
pub struct Hearing {
    words: HashMap<TargetId, Word>,
    order: VecDeque<(Timestamp, TargetId)>,
    failing: HashMap<String, usize>,
    failed: usize,
}

#[derive(Clone, Debug)]
struct Word {
    at: Timestamp,
    host: String,
    reached: bool,
}

impl Hearing {
    /// Takes in how a scan ended.
    pub fn hear(&mut self, target: &TargetId, host: &str, reached: bool, now: Timestamp) {
        self.forget(now);
        self.take(target);
        if !reached {
            self.failed += 1;
            *self.failing.entry(host.to_owned()).or_default() += 1;
        }
        self.words.insert(target.clone(), Word { at: now, host: host.to_owned(), reached });
        self.order.push_back((now, target.clone()));
    }

    /// Whether more than half of those heard of failed, on three hosts or more.
    #[must_use]
    pub fn most_fail(&self) -> bool {
        self.failing.len() >= LEAST_HOSTS && self.failed * 2 > self.words.len()
    }

    /// Hosts of which a target failed.
    pub fn failing_hosts(&self) -> impl Iterator<Item = &str> {
        self.failing.keys().map(String::as_str)
    }

    /// Forgets everything: what was heard before says nothing of what comes.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn forget(&mut self, now: Timestamp) {
        let is_old = |at: Timestamp| now.duration_since(at) >= WITHIN || at > now;
        while let Some((at, target)) = self.order.front().filter(|(at, _)| is_old(*at)).cloned() {
            self.order.pop_front();
            if self.words.get(&target).is_some_and(|word| word.at == at) {
                self.take(&target);
            }
        }
    }

    fn take(&mut self, target: &TargetId) {
        let Some(word) = self.words.remove(target).filter(|word| !word.reached) else { return };
        self.failed = self.failed.saturating_sub(1);
        match self.failing.get_mut(&word.host) {
            Some(targets) if *targets > 1 => *targets -= 1,
            Some(_) | None => drop(self.failing.remove(&word.host)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    /// Target, host, whether it was reached, and when.
    type Word = (&'static str, &'static str, bool, i64);

    fn heard(words: &[Word]) -> Hearing {
        let mut hearing = Hearing::default();
        for (target, host, reached, second) in words {
            hearing.hear(&target.parse().unwrap(), host, *reached, at(*second));
        }
        hearing
    }

    #[test]
    fn we_are_offline_when_more_than_half_fail_on_three_hosts_within_a_minute() {
        let cases: [(&str, &[Word], bool); 7] = [
            ("three of three", &[("a", "x", false, 0), ("b", "y", false, 9), ("c", "z", false, 50)], true),
            ("two hosts", &[("a", "x", false, 0), ("b", "x", false, 9), ("c", "z", false, 50)], false),
            ("over more than a minute", &[("a", "x", false, 0), ("b", "y", false, 9), ("c", "z", false, 61)], false),
            (
                "half of six",
                &[
                    ("a", "x", false, 0),
                    ("b", "y", false, 1),
                    ("c", "z", false, 2),
                    ("d", "x", true, 3),
                    ("e", "y", true, 4),
                    ("f", "z", true, 5),
                ],
                false,
            ),
            (
                "three of five",
                &[
                    ("d", "x", true, 0),
                    ("e", "y", true, 1),
                    ("a", "x", false, 2),
                    ("b", "y", false, 3),
                    ("c", "z", false, 4),
                ],
                true,
            ),
            (
                "one that answers again",
                &[("a", "x", false, 0), ("b", "y", false, 1), ("c", "z", false, 2), ("a", "x", true, 3)],
                false,
            ),
            ("one target thrice", &[("a", "x", false, 0), ("a", "y", false, 1), ("a", "z", false, 2)], false),
        ];
        for (name, words, offline) in cases {
            assert_eq!(heard(words).most_fail(), offline, "{name}");
        }
    }

    #[test]
    fn a_clock_that_is_put_back_leaves_nothing_behind() {
        let mut hearing = heard(&[("a", "x", false, 900), ("b", "y", false, 901)]);
        hearing.hear(&"c".parse().unwrap(), "z", false, at(0));
        assert!(!hearing.most_fail());
        assert_eq!((hearing.words.len(), hearing.order.len(), hearing.failed), (1, 1, 1));
    }

    #[test]
    fn what_is_kept_is_a_minutes_worth() {
        let mut hearing = Hearing::default();
        for second in 0..10_000 {
            hearing.hear(&"a".parse().unwrap(), "x", second % 2 == 0, at(second));
        }
        assert!(hearing.order.len() <= 60 && hearing.words.len() == 1 && hearing.failing.len() <= 1);
    }
}
