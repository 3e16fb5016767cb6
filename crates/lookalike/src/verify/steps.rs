//! Pairs in steps, those among the first classes first, and how long their sets are held.

use std::ops::Range;

/// Steps at least: enough that nobody waits long for the first of them.
const LEAST_STEPS: u64 = 16;
/// What the sets that are loaded for a step take, about.
const STEP_BYTES: u64 = 64 << 20;
/// Classes in a step at least, so that all threads have something to do.
const LEAST_IN_A_STEP: u64 = 1024;

/// All classes, cut into steps of equally many. A pair is looked at in the step of the later one of the two.
#[derive(Debug)]
pub(super) struct Steps {
    classes: u32,
    size: u32,
    /// For each class, the step behind which its set is not needed any more, counted from 1; 0 if it never is.
    until: Vec<u32>,
}

impl Steps {
    /// Steps for pairs of so many classes, the earlier one on the left. `set_bytes` is what the set of a class takes.
    pub(super) fn of(classes: usize, pairs: impl Iterator<Item = (u32, u32)>, set_bytes: impl Fn(u32) -> u64) -> Self {
        // By classes first, as long as the size of a step is not known.
        let mut until = vec![0; classes];
        for (left, right) in pairs {
            for class in [left, right] {
                until[class as usize] = until[class as usize].max(right + 1);
            }
        }
        let total: u64 = (0..).zip(&until).filter(|(_, until)| **until > 0).map(|(class, _)| set_bytes(class)).sum();
        let count = (total / STEP_BYTES).max(LEAST_STEPS);
        let size = (classes as u64).div_ceil(count).max(LEAST_IN_A_STEP) as u32;
        until.iter_mut().for_each(|until| *until = until.div_ceil(size));
        Self { classes: classes as u32, size, until }
    }

    /// How many steps there are.
    pub(super) fn len(&self) -> usize {
        self.classes.div_ceil(self.size) as usize
    }

    /// The step in which a pair is looked at of which this class is the later one.
    pub(super) fn step_of(&self, class: u32) -> u32 {
        class / self.size
    }

    /// The classes of a step.
    pub(super) fn classes(&self, step: u32) -> Range<u32> {
        step * self.size..step.saturating_add(1).saturating_mul(self.size).min(self.classes)
    }

    /// The classes of a step whose sets are needed.
    pub(super) fn compared(&self, step: u32) -> impl Iterator<Item = u32> {
        self.classes(step).filter(|class| self.until[*class as usize] > 0)
    }

    /// The last step in which the set of a class is needed that is compared.
    pub(super) fn last(&self, class: u32) -> u32 {
        self.until[class as usize] - 1
    }

    /// What the sets take at most that are held at the same time; those that were loaded last are there twice for a moment.
    pub(super) fn most_bytes(&self, set_bytes: impl Fn(u32) -> u64) -> u64 {
        let mut goes = vec![0; self.len() + 1];
        let (mut held, mut most) = (0, 0);
        for step in 0..self.len() as u32 {
            let mut loaded = 0;
            for class in self.compared(step) {
                loaded += set_bytes(class);
                goes[self.last(class) as usize] += set_bytes(class);
            }
            held += loaded;
            most = most.max(held + loaded);
            held -= goes[step as usize];
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn sets_are_held_from_their_step_to_that_of_the_last_they_are_compared_with() {
        let mut random = SplitMix(3);
        for (classes, count) in [(0, 0), (1, 0), (900, 50), (40_000, 3), (40_000, 5_000)] {
            let mut class = || random.below(classes) as u32;
            let pairs: Vec<(u32, u32)> =
                (0..count).map(|_| (class(), class())).filter(|(left, right)| left < right).collect();
            let bytes = |class: u32| u64::from(class % 7 + 1);
            let steps = Steps::of(classes as usize, pairs.iter().copied(), bytes);
            let all: Vec<u32> = (0..steps.len() as u32).flat_map(|step| steps.classes(step)).collect();
            assert_eq!(all, (0..classes as u32).collect::<Vec<_>>());
            let mut most = 0;
            for step in 0..steps.len() as u32 {
                assert!(steps.classes(step).all(|class| steps.step_of(class) == step));
                let needed = |class: &u32| {
                    let is_needed =
                        |(left, right): &(u32, u32)| steps.step_of(*right) >= step && (left == class || right == class);
                    steps.step_of(*class) <= step && pairs.iter().any(is_needed)
                };
                let held: Vec<u32> = pairs.iter().flat_map(|(left, right)| [*left, *right]).collect();
                let mut held: Vec<u32> = held.into_iter().filter(needed).collect();
                held.sort_unstable();
                held.dedup();
                let loaded: Vec<u32> = steps.compared(step).collect();
                let is_held = |class: &u32| steps.step_of(*class) <= step && steps.last(*class) >= step;
                assert!(held.iter().all(is_held), "nothing goes too early");
                assert!(loaded.iter().all(|class| held.contains(class)), "nothing is loaded needlessly");
                let sum = |classes: &[u32]| classes.iter().map(|class| bytes(*class)).sum::<u64>();
                most = most.max(sum(&held) + sum(&loaded));
            }
            assert_eq!(steps.most_bytes(bytes), most, "{classes} classes, {count} pairs");
        }
    }
}
