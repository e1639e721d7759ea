//! The due-queue: which target is next. Pure; what the instants mean is `schedule`'s.
//!
//! A heap by instant whose outdated entries are skipped when they surface, so that moving or removing a target costs
//! no search. The heap is rebuilt when outdated entries outnumber the living, so memory stays linear in the targets.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use jiff::Timestamp;

use crate::model::target::TargetId;

/// Targets by the instant at which they are due; one instant for each.
#[derive(Debug, Default)]
pub struct DueQueue {
    heap: BinaryHeap<Reverse<Entry>>,
    living: HashMap<TargetId, (Timestamp, u64)>,
    /// Tells a target's newest entry from its older ones; among equal instants, first in is first out.
    stamp: u64,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Timestamp,
    stamp: u64,
    target: TargetId,
}

impl DueQueue {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of targets that wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.living.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.living.is_empty()
    }

    /// When `target` is due.
    #[must_use]
    pub fn due(&self, target: &TargetId) -> Option<Timestamp> {
        self.living.get(target).map(|(at, _)| *at)
    }

    /// Makes `target` due at `at`, instead of whenever it was.
    pub fn set(&mut self, target: TargetId, at: Timestamp) {
        self.stamp += 1;
        let stamp = self.stamp;
        self.living.insert(target.clone(), (at, stamp));
        self.heap.push(Reverse(Entry { at, stamp, target }));
        self.shrink();
    }

    /// Forgets `target`; says whether it waited.
    pub fn remove(&mut self, target: &TargetId) -> bool {
        let waited = self.living.remove(target).is_some();
        self.shrink();
        waited
    }

    /// The earliest instant at which a target is due.
    pub fn next_at(&mut self) -> Option<Timestamp> {
        self.drop_outdated();
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    /// Takes the target that has been due the longest at `now`, with its instant.
    pub fn pop_due(&mut self, now: Timestamp) -> Option<(TargetId, Timestamp)> {
        if self.next_at()? > now {
            return None;
        }
        let Reverse(entry) = self.heap.pop()?;
        self.living.remove(&entry.target);
        Some((entry.target, entry.at))
    }

    fn drop_outdated(&mut self) {
        while let Some(Reverse(entry)) = self.heap.peek() {
            if self.living.get(&entry.target).is_some_and(|(_, stamp)| *stamp == entry.stamp) {
                return;
            }
            self.heap.pop();
        }
    }

    fn shrink(&mut self) {
        if self.heap.len() > 2 * self.living.len() + 64 {
            let living = &self.living;
            self.heap
                .retain(|Reverse(entry)| living.get(&entry.target).is_some_and(|(_, stamp)| *stamp == entry.stamp));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(text: &str) -> TargetId {
        text.parse().unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_target_that_is_due_longest_comes_first() {
        let mut queue = DueQueue::new();
        queue.set(id("b"), at(20));
        queue.set(id("a"), at(30));
        queue.set(id("c"), at(10));
        assert_eq!(queue.pop_due(at(9)), None);
        assert_eq!(queue.pop_due(at(25)), Some((id("c"), at(10))));
        assert_eq!(queue.pop_due(at(25)), Some((id("b"), at(20))));
        assert_eq!(queue.pop_due(at(25)), None);
        assert_eq!(queue.next_at(), Some(at(30)));
    }

    #[test]
    fn a_target_waits_once_and_its_newest_instant_counts() {
        let mut queue = DueQueue::new();
        queue.set(id("a"), at(10));
        queue.set(id("a"), at(40));
        assert_eq!((queue.len(), queue.due(&id("a"))), (1, Some(at(40))));
        assert_eq!(queue.pop_due(at(39)), None);
        assert_eq!(queue.pop_due(at(40)), Some((id("a"), at(40))));
        assert_eq!(queue.pop_due(at(99)), None);
    }

    #[test]
    fn a_removed_target_is_never_due() {
        let mut queue = DueQueue::new();
        queue.set(id("a"), at(10));
        assert!(queue.remove(&id("a")));
        assert!(!queue.remove(&id("a")));
        assert_eq!(queue.pop_due(at(99)), None);
        assert!(queue.is_empty());
    }

    #[test]
    fn moving_one_target_for_ever_costs_no_memory() {
        let mut queue = DueQueue::new();
        (0..10_000).for_each(|second| queue.set(id("a"), at(second)));
        assert!(queue.heap.len() <= 66, "{}", queue.heap.len());
    }

    proptest! {
        #[test]
        fn targets_leave_in_the_order_of_their_last_instants(moves in prop::collection::vec((0_u8..6, 0_i64..50, any::<bool>()), 0..60)) {
            let mut queue = DueQueue::new();
            let mut model = HashMap::new();
            for (name, second, remove) in moves {
                let target = id(&format!("t{name}"));
                if remove {
                    prop_assert_eq!(queue.remove(&target), model.remove(&target).is_some());
                } else {
                    queue.set(target.clone(), at(second));
                    model.insert(target, at(second));
                }
            }
            let mut out = Vec::new();
            while let Some(popped) = queue.pop_due(at(100)) {
                out.push(popped);
            }
            prop_assert!(out.is_sorted_by_key(|(_, at)| *at));
            prop_assert_eq!(out.into_iter().collect::<HashMap<_, _>>(), model);
        }
    }
}
