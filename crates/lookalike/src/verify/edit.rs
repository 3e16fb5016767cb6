//! Edit similarity: how much of the longer text need not be changed to make one out of the other.

use std::collections::HashMap;

/// 1 − edits / the length of the longer one, edits being insertions, deletions and replacements of single elements; of two
/// empty ones, 0.
pub fn edit_similarity<T: Copy + Ord + std::hash::Hash>(left: &[T], right: &[T]) -> f64 {
    let longer = left.len().max(right.len());
    if longer == 0 { 0.0 } else { 1.0 - edits(left, right) as f64 / longer as f64 }
}

/// The least number of edits, 64 cells of the table at a time (Myers 1999, in blocks after Hyyrö 2003).
fn edits<T: Copy + Ord + std::hash::Hash>(left: &[T], right: &[T]) -> usize {
    let same = |(left, right): &(&T, &T)| left == right;
    let prefix = left.iter().zip(right).take_while(same).count();
    let (left, right) = (&left[prefix..], &right[prefix..]);
    let suffix = left.iter().rev().zip(right.iter().rev()).take_while(same).count();
    let (left, right) = (&left[..left.len() - suffix], &right[..right.len() - suffix]);
    let (pattern, text) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    if pattern.is_empty() {
        return text.len();
    }
    let blocks = pattern.len().div_ceil(64);
    let mut places: HashMap<T, Vec<u64>> = HashMap::new();
    for (at, element) in pattern.iter().enumerate() {
        places.entry(*element).or_insert_with(|| vec![0; blocks])[at / 64] |= 1 << (at % 64);
    }
    let nowhere = vec![0; blocks];
    // Whether each cell is one more, or one less, than the one above it.
    let mut more = vec![u64::MAX; blocks];
    let mut less = vec![0u64; blocks];
    let last = 1u64 << ((pattern.len() - 1) % 64);
    let mut edits = pattern.len();
    for element in text {
        let equal = places.get(element).unwrap_or(&nowhere);
        // Along the first row, each cell is one more than the one before it.
        let (mut enters_more, mut enters_less) = (1u64, 0u64);
        for block in 0..blocks {
            let (up, down) = (more[block], less[block]);
            let vertical = equal[block] | down;
            let equal = equal[block] | enters_less;
            let horizontal = ((equal & up).wrapping_add(up) ^ up) | equal;
            let (grows, shrinks) = (down | !(horizontal | up), up & horizontal);
            if block + 1 == blocks {
                edits += usize::from(grows & last != 0);
                edits -= usize::from(shrinks & last != 0);
            }
            let shifted_grows = grows << 1 | enters_more;
            let shifted_shrinks = shrinks << 1 | enters_less;
            (enters_more, enters_less) = (grows >> 63, shrinks >> 63);
            more[block] = shifted_shrinks | !(vertical | shifted_grows);
            less[block] = shifted_grows & vertical;
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The table, cell by cell.
    fn by_the_book(left: &[u8], right: &[u8]) -> usize {
        let mut row: Vec<usize> = (0..=right.len()).collect();
        for (at, a) in left.iter().enumerate() {
            let mut before = std::mem::replace(&mut row[0], at + 1);
            for (j, b) in right.iter().enumerate() {
                let replaced = before + usize::from(a != b);
                before = row[j + 1];
                row[j + 1] = replaced.min(before + 1).min(row[j] + 1);
            }
        }
        row[right.len()]
    }

    #[test]
    fn well_known_distances() {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        for (left, right, expected) in
            [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "abc", 0), ("flaw", "lawn", 2), ("gumbo", "gambol", 2)]
        {
            assert_eq!(edits(&letters(left), &letters(right)), expected, "{left} {right}");
        }
        assert_eq!(edit_similarity::<u8>(&[], &[]), 0.0);
        assert_eq!(edit_similarity(b"abcd", b"abcx"), 0.75);
    }

    proptest! {
        #[test]
        fn it_is_the_table(left in prop::collection::vec(0u8..4, 0..300), right in prop::collection::vec(0u8..4, 0..300)) {
            prop_assert_eq!(edits(&left, &right), by_the_book(&left, &right));
            prop_assert_eq!(edits(&right, &left), edits(&left, &right));
        }

        #[test]
        fn near_texts_too(left in prop::collection::vec(0u8..200, 1..400), changes in prop::collection::vec((0usize..400, 0u8..200), 0..9)) {
            let mut right = left.clone();
            for (at, element) in changes {
                match at % 3 {
                    0 => right.insert(at % (right.len() + 1), element),
                    1 if right.len() > 1 => drop(right.remove(at % right.len())),
                    _ => { let length = right.len(); right[at % length] = element; }
                }
            }
            prop_assert_eq!(edits(&left, &right), by_the_book(&left, &right));
        }
    }
}
