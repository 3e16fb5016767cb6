//! Verbatim runs: tokens that both texts have one after another.

use std::collections::HashMap;

use crate::hash::Roll;

/// Tokens that both texts have, from `left` and from `right` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) length: usize,
}

impl Run {
    pub(crate) fn left_end(&self) -> usize {
        self.left + self.length
    }

    pub(crate) fn right_end(&self) -> usize {
        self.right + self.length
    }
}

/// Places of one window in the right text that are looked at: enough for any text but a litany.
const MOST_PLACES: usize = 32;

/// The runs of at least `k` tokens that both texts have, each as long as it can be, in the order of the left text. Of
/// several places in the right text the one with the longest run counts; among equals the one that goes on where the
/// run before it ended, else the first. A run reaches back into the one before it by at most k tokens.
pub(crate) fn shared_runs(left: &[u64], right: &[u64], k: usize) -> Vec<Run> {
    if k == 0 || left.len() < k || right.len() < k {
        return Vec::new();
    }
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, tokens) in right.windows(k).enumerate() {
        let places = places.entry(Roll::start(tokens)).or_default();
        if places.len() < MOST_PLACES {
            places.push(at);
        }
    }
    let mut runs: Vec<Run> = Vec::new();
    let mut at = 0;
    let mut covered = 0;
    while at + k <= left.len() {
        let expected = runs.last().map_or(0, Run::right_end);
        let run_at = |place: &usize| {
            let length = left[at..].iter().zip(&right[*place..]).take_while(|(a, b)| a == b).count();
            (length, *place)
        };
        let candidates = places.get(&Roll::start(&left[at..at + k])).into_iter().flatten().map(run_at);
        let longest = candidates.max_by_key(|(length, place)| {
            (*length, std::cmp::Reverse(place.abs_diff(expected)), std::cmp::Reverse(*place))
        });
        match longest {
            Some((length, place)) if length >= k && at + length > covered => {
                let before = left[..at].iter().rev().zip(right[..place].iter().rev());
                let earlier = before.take(k).take_while(|(a, b)| a == b).count();
                runs.push(Run { left: at - earlier, right: place - earlier, length: length + earlier });
                covered = at + length;
                // The next run may begin inside this one, but must reach beyond it.
                at = covered + 1 - k;
            }
            _ => at += 1,
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn among_equal_places_the_one_that_goes_on_counts() {
        let left = [1, 2, 3, 9, 4, 5, 6];
        let right = [4, 5, 6, 7, 1, 2, 3, 8, 4, 5, 6];
        let expected = [Run { left: 0, right: 4, length: 3 }, Run { left: 4, right: 8, length: 3 }];
        assert_eq!(shared_runs(&left, &right, 3), expected);
    }

    proptest! {
        /// Every window of the left text that the right text has lies in a run, and runs are what they say.
        #[test]
        fn runs_cover_whatever_is_shared(
            left in prop::collection::vec(0u64..4, 0..60),
            right in prop::collection::vec(0u64..4, 0..60),
            k in 1usize..6,
        ) {
            let runs = shared_runs(&left, &right, k);
            for run in &runs {
                prop_assert!(run.length >= k);
                prop_assert_eq!(&left[run.left..run.left_end()], &right[run.right..run.right_end()]);
            }
            // More places than are looked at would need a longer text than these.
            for at in 0..(left.len() + 1).saturating_sub(k) {
                let window = &left[at..at + k];
                let is_shared = right.windows(k).any(|other| other == window);
                let covered = |token: usize| runs.iter().any(|run| (run.left..run.left_end()).contains(&token));
                if is_shared {
                    prop_assert!((at..at + k).all(covered), "{at} in {runs:?}");
                }
            }
        }
    }
}
