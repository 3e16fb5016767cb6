//! Winnowing: the least shingle of every window.

use std::collections::VecDeque;

/// Calls `selected` with the least of every `window` consecutive shingles, in order, once for neighbouring windows that have
/// it in common; among equals the last. A text with fewer shingles is one window.
pub fn winnow(shingles: &[u64], window: usize, mut selected: impl FnMut(u64)) {
    let window = window.max(1).min(shingles.len());
    // Places of shingles that may become the least: their values ascend.
    let mut hopeful: VecDeque<usize> = VecDeque::new();
    let mut last = None;
    for (at, shingle) in shingles.iter().enumerate() {
        while hopeful.back().is_some_and(|before| shingles[*before] >= *shingle) {
            hopeful.pop_back();
        }
        hopeful.push_back(at);
        if hopeful[0] + window <= at {
            hopeful.pop_front();
        }
        if at + 1 >= window && last != Some(hopeful[0]) {
            last = Some(hopeful[0]);
            selected(shingles[hopeful[0]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Shingles;
    use crate::shingle::Shingler;
    use proptest::prelude::*;

    fn winnowed(shingles: &[u64], window: usize) -> Vec<u64> {
        let mut selected = Vec::new();
        winnow(shingles, window, |shingle| selected.push(shingle));
        selected
    }

    #[test]
    fn the_least_of_every_window_once() {
        // The example that the method was published with: windows of four.
        let hashes = [77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98];
        assert_eq!(winnowed(&hashes, 4), [17, 17, 8, 39, 17]);
        assert_eq!(winnowed(&[3, 1, 2], 4), [1], "fewer than a window are one window");
        assert_eq!(winnowed(&[3, 1, 2], 1), [3, 1, 2]);
        assert!(winnowed(&[], 4).is_empty());
    }

    #[test]
    fn it_selects_two_of_w_plus_one() {
        let mut random = crate::hash::SplitMix(5);
        let shingles: Vec<u64> = (0..90_000).map(|_| random.next()).collect();
        let share = winnowed(&shingles, 8).len() as f64 / shingles.len() as f64;
        assert!((share - 2.0 / 9.0).abs() < 0.005, "{share}");
    }

    fn shingles_of(k: usize, tokens: &[u8]) -> Vec<u64> {
        let words = Shingles::words(k);
        let text: String = tokens.iter().map(|token| format!("t{token} ")).collect();
        let mut shingles = Vec::new();
        Shingler::new(words, words.default_normalize(), false).append_text(&text, &mut shingles);
        shingles
    }

    proptest! {
        /// The guarantee: two texts that share w + k − 1 tokens in a row share a selected shingle, and all shingles of one
        /// meet a selected one of the other.
        #[test]
        fn every_long_enough_run_is_found(
            k in 1usize..6,
            window in 1usize..10,
            run in prop::collection::vec(0u8..200, 15..40),
            before in prop::collection::vec(any::<u8>(), 0..50),
            behind in prop::collection::vec(any::<u8>(), 0..50),
            other_before in prop::collection::vec(any::<u8>(), 0..50),
            other_behind in prop::collection::vec(any::<u8>(), 0..50),
        ) {
            let run = &run[..window + k - 1];
            let one = shingles_of(k, &[&before, run, &behind].concat());
            let other = shingles_of(k, &[&other_before, run, &other_behind].concat());
            let inside = shingles_of(k, run);
            let (selected, selected_in_other) = (winnowed(&one, window), winnowed(&other, window));
            prop_assert!(selected.iter().any(|shingle| selected_in_other.contains(shingle)));
            prop_assert!(inside.iter().any(|shingle| selected_in_other.contains(shingle)));
        }

        /// Every window has its least shingle selected.
        #[test]
        fn no_window_is_left_out(shingles in prop::collection::vec(0u64..30, 1..80), window in 1usize..12) {
            let selected = winnowed(&shingles, window);
            for window in shingles.windows(window.min(shingles.len())) {
                prop_assert!(selected.contains(window.iter().min().unwrap()));
            }
        }
    }
}
