//! How many elements two texts share, along the order in which they have them.
//!
//! What the bands bring together is mostly the same, in the same order, with a few places changed. So both are walked side by side
//! as long as they agree; behind a difference they meet again a few elements later. What was passed over on both sides, and
//! may have moved, is compared as sets. So no list is sorted as a whole, but for very long ones, which came sorted.

use crate::shingle::{BitMap, LONG, sort_hashes};
use crate::verify::shared;

/// How far ahead, and how far apart, two lists are looked at behind a difference.
const REACH: usize = 16;
/// How long a passage may be that only one of them has.
const PASSAGE: usize = 1024;

/// Compares lists in which no element occurs twice. One a thread; it reuses its buffers.
#[derive(Debug, Default)]
pub(crate) struct Overlap {
    left: Vec<u64>,
    right: Vec<u64>,
    seen: BitMap,
}

impl Overlap {
    /// How many elements the two lists share. Very long ones are sorted, and nothing is copied of them.
    pub(crate) fn count(&mut self, left: &[u64], right: &[u64]) -> usize {
        match (left.len() > LONG, right.len() > LONG) {
            (false, false) => self.count_in_order(left, right),
            (true, true) => shared(left, right),
            (true, false) => self.count_in_long(right, left),
            (false, true) => self.count_in_long(left, right),
        }
    }

    fn count_in_long(&mut self, list: &[u64], long: &[u64]) -> usize {
        self.left.clear();
        self.left.extend_from_slice(list);
        sort_hashes(&mut self.left);
        shared(&self.left, long)
    }

    fn count_in_order(&mut self, mut left: &[u64], mut right: &[u64]) -> usize {
        self.left.clear();
        self.right.clear();
        let mut together = 0;
        loop {
            let same = same_start(left, right);
            together += same;
            (left, right) = (&left[same..], &right[same..]);
            let Some((on_left, on_right)) = meet_again(left, right) else { break };
            self.left.extend_from_slice(&left[..on_left]);
            self.right.extend_from_slice(&right[..on_right]);
            (left, right) = (&left[on_left..], &right[on_right..]);
        }
        let same = same_end(left, right);
        together += same;
        self.left.extend_from_slice(&left[..left.len() - same]);
        self.right.extend_from_slice(&right[..right.len() - same]);
        together + self.count_moved()
    }

    /// How many elements were passed over on both sides: usually none. What no bit of the other side's hints at is left out
    /// first, so that only little is sorted.
    fn count_moved(&mut self) -> usize {
        for _ in 0..2 {
            if self.left.is_empty() || self.right.is_empty() {
                return 0;
            }
            self.seen.clear(self.left.len(), 16);
            self.left.iter().for_each(|element| _ = self.seen.insert(*element));
            self.right.retain(|element| self.seen.may_have(*element));
            std::mem::swap(&mut self.left, &mut self.right);
        }
        sort_hashes(&mut self.left);
        sort_hashes(&mut self.right);
        shared(&self.left, &self.right)
    }
}

/// How many elements are the same from the beginning.
fn same_start(left: &[u64], right: &[u64]) -> usize {
    let eights = left.as_chunks::<8>().0.iter().zip(right.as_chunks::<8>().0);
    // A call to compare so few bytes would take longer than to compare them.
    let are_same = |(left, right): &(&[u64; 8], &[u64; 8])| {
        left.iter().zip(*right).fold(0, |all, (left, right)| all | left ^ right) == 0
    };
    let same = 8 * eights.take_while(are_same).count();
    same + left[same..].iter().zip(&right[same..]).take_while(|(left, right)| left == right).count()
}

/// How many elements are the same up to the end.
fn same_end(left: &[u64], right: &[u64]) -> usize {
    left.iter().rev().zip(right.iter().rev()).take_while(|(left, right)| left == right).count()
}

/// After how many elements on either side the same one comes: first as many on both sides, then more and more on one of them,
/// at last a whole passage on one of them.
fn meet_again(left: &[u64], right: &[u64]) -> Option<(usize, usize)> {
    let near = |apart: usize| {
        let on_right = right.get(apart..).and_then(|right| first_same(left, right)).map(|at| (at, at + apart));
        on_right.or_else(|| left.get(apart..).and_then(|left| first_same(left, right)).map(|at| (at + apart, at)))
    };
    (0..REACH).find_map(near).or_else(|| {
        let on_right = left.first().and_then(|element| find(*element, right)).map(|at| (0, at));
        on_right.or_else(|| right.first().and_then(|element| find(*element, left)).map(|at| (at, 0)))
    })
}

/// Where an element stands, not too far from the beginning.
fn find(element: u64, list: &[u64]) -> Option<usize> {
    list[..list.len().min(PASSAGE)].iter().position(|other| *other == element)
}

/// Where the same element stands in both, not far from the beginning.
#[inline]
fn first_same(left: &[u64], right: &[u64]) -> Option<usize> {
    let same = |(at, (left, right)): (usize, (&u64, &u64))| u32::from(left == right) << at;
    let same = match (left.first_chunk::<REACH>(), right.first_chunk::<REACH>()) {
        (Some(left), Some(right)) => left.iter().zip(right).enumerate().map(same).sum::<u32>(),
        _ => left.iter().zip(right).take(REACH).enumerate().map(same).sum::<u32>(),
    };
    (same != 0).then(|| same.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::SplitMix;

    #[test]
    fn what_is_shared_is_counted_wherever_it_stands() {
        let mut random = SplitMix(4);
        let mut overlap = Overlap::default();
        for round in 0..4_000 {
            let mut left: Vec<u64> = (0..random.below(300)).map(|_| random.next()).collect();
            let mut right = left.clone();
            // Elements change, come and go on both sides, and passages move.
            for _ in 0..random.below(1 + round % 12) {
                let list = if random.below(2) == 0 { &mut left } else { &mut right };
                let at = random.below(list.len() as u64 + 1) as usize;
                let end = (at + random.below(40) as usize).min(list.len());
                match random.below(4) {
                    0 => list[at..end].iter_mut().for_each(|element| *element = random.next()),
                    1 => drop(list.drain(at..end)),
                    2 => drop(list.splice(at..at, (0..end - at).map(|_| random.next()).collect::<Vec<_>>())),
                    _ => {
                        let moved: Vec<u64> = list.drain(at..end).collect();
                        let to = random.below(list.len() as u64 + 1) as usize;
                        drop(list.splice(to..to, moved));
                    }
                }
            }
            let expected = left.iter().filter(|element| right.contains(element)).count();
            assert_eq!(overlap.count(&left, &right), expected, "round {round}");
            assert_eq!(overlap.count(&right, &left), expected, "round {round}");
            right.reverse();
            assert_eq!(overlap.count(&left, &right), expected, "round {round}, reversed");
        }
    }

    #[test]
    fn long_lists_are_compared_whatever_is_moved() {
        let mut random = SplitMix(6);
        let mut overlap = Overlap::default();
        // Both in order, one of them sorted, both sorted.
        for length in [5_000, LONG - 500, LONG - 300, LONG + 500] {
            let list: Vec<u64> = (0..length).map(|_| random.next()).collect();
            let mut other = [&list[3_000..], &list[1_000..2_500], &list[..1_000]].concat();
            other.extend((0..1_000).map(|_| random.next()));
            let ordered = |mut list: Vec<u64>| {
                if list.len() > LONG {
                    list.sort_unstable();
                }
                list
            };
            let (list, other) = (ordered(list), ordered(other));
            assert_eq!(overlap.count(&list, &other), length - 500);
            assert_eq!(overlap.count(&other, &list), length - 500);
        }
    }

    #[test]
    fn a_word_changed_added_or_left_out_is_stepped_over() {
        let list: Vec<u64> = (0..40).collect();
        let changed = |at: usize, gone: usize, new: u64| {
            let mut other = list.clone();
            drop(other.splice(at..at + gone, 100..100 + new));
            meet_again(&list[at..], &other[at..])
        };
        assert_eq!(changed(7, 5, 5), Some((5, 5)));
        assert_eq!(changed(7, 4, 5), Some((4, 5)));
        assert_eq!(changed(7, 5, 4), Some((5, 4)));
        assert_eq!(changed(0, 5, 12), Some((5, 12)));
        assert_eq!(changed(38, 2, 3), None, "up to the end");
        assert_eq!(changed(0, 20, 20), None, "too far");
        assert_eq!(changed(3, 30, 0), Some((30, 0)), "a passage");
        assert_eq!(changed(3, 0, 900), Some((0, 900)));
    }
}
