//! verify: candidates → pairs with their exact similarity.
//!
//! Shingle sets are asked for by record, in ascending order, and only for records that are in candidates which the
//! filters let through.

use rayon::prelude::*;

use crate::classes::Classes;
use crate::collection::Collection;
use crate::error::Result;
use crate::plan::Scheme;
use crate::settings::Verify;
use crate::shingle::sort_distinct;
use crate::sketch::agreement;
use crate::watch::{Watch, check_cancelled};

/// Two classes that are alike.
///
/// For Jaccard the earlier in keep order is on the left; for containment the left one is contained in the right one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Edge {
    pub(crate) left: u32,
    pub(crate) right: u32,
    pub(crate) similarity: f64,
}

/// Candidates looked at between two questions whether to stop.
const PIECE: usize = 1 << 14;

/// The candidates that are alike, in their order.
pub(crate) fn verify(
    collection: &Collection,
    classes: &Classes,
    scheme: &Scheme,
    how: Verify,
    threshold: f64,
    candidates: Vec<(u32, u32)>,
    watch: &dyn Watch,
) -> Result<Vec<Edge>> {
    let estimated = estimate(collection, classes, scheme, how, threshold, candidates, watch)?;
    if how != Verify::Exact {
        return Ok(estimated);
    }
    let sets = DistinctSets::of(collection, classes, &estimated);
    let pieces = estimated
        .par_chunks(PIECE)
        .map(|piece| {
            check_cancelled(watch)?;
            watch.advance(piece.len() as u64);
            let alike = piece.iter().filter_map(|candidate| {
                let similarity = jaccard(sets.set(candidate.left), sets.set(candidate.right));
                (similarity >= threshold).then_some(Edge { similarity, ..*candidate })
            });
            Ok(alike.collect::<Vec<_>>())
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(pieces.concat())
}

/// The candidates whose sketches agree often enough, with the estimate of their similarity.
fn estimate(
    collection: &Collection,
    classes: &Classes,
    scheme: &Scheme,
    how: Verify,
    threshold: f64,
    candidates: Vec<(u32, u32)>,
    watch: &dyn Watch,
) -> Result<Vec<Edge>> {
    let slots = f64::from(scheme.slots);
    let passes = |agreeing: u32| match how {
        Verify::Exact => agreeing >= scheme.least_agreement,
        Verify::Estimate => f64::from(agreeing) / slots >= threshold,
        Verify::Off => true,
    };
    let pieces = candidates
        .par_chunks(PIECE)
        .map(|piece| {
            check_cancelled(watch)?;
            let passing = piece.iter().filter_map(|(left, right)| {
                let agreeing = agreement(
                    collection.sketch(classes.representative(*left)),
                    collection.sketch(classes.representative(*right)),
                );
                let edge = || Edge { left: *left, right: *right, similarity: f64::from(agreeing) / slots };
                passes(agreeing).then(edge)
            });
            Ok(passing.collect::<Vec<_>>())
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(pieces.concat())
}

/// The sets of the classes that are asked for, sorted, each element once.
pub(crate) struct DistinctSets {
    pieces: Vec<Vec<u64>>,
    /// For each class: the piece that holds its set, and where.
    places: Vec<(u32, usize, usize)>,
}

impl DistinctSets {
    /// The sets of all classes that these edges join.
    pub(crate) fn of(collection: &Collection, classes: &Classes, edges: &[Edge]) -> Self {
        let mut needed = vec![false; classes.len()];
        for edge in edges {
            needed[edge.left as usize] = true;
            needed[edge.right as usize] = true;
        }
        let needed: Vec<u32> = (0u32..).zip(needed).filter(|(_, needed)| *needed).map(|(class, _)| class).collect();
        Self::of_classes(collection, classes, &needed)
    }

    /// The sets of these classes.
    pub(crate) fn of_classes(collection: &Collection, classes: &Classes, needed: &[u32]) -> Self {
        const CLASSES_IN_A_PIECE: usize = 1024;
        let pieces: Vec<(Vec<u64>, Vec<usize>)> = needed
            .par_chunks(CLASSES_IN_A_PIECE)
            .map(|piece| {
                let shingles = |class: &u32| collection.shingles(classes.representative(*class));
                let mut elements = Vec::with_capacity(piece.iter().map(|class| shingles(class).len()).sum());
                let mut ends = Vec::with_capacity(piece.len());
                for class in piece {
                    let start = elements.len();
                    elements.extend_from_slice(shingles(class));
                    let distinct = sort_distinct(&mut elements[start..]);
                    elements.truncate(start + distinct);
                    ends.push(elements.len());
                }
                (elements, ends)
            })
            .collect();
        let mut places = vec![(0, 0, 0); classes.len()];
        for (at, (classes, (_, ends))) in needed.chunks(CLASSES_IN_A_PIECE).zip(&pieces).enumerate() {
            let mut start = 0;
            for (class, end) in classes.iter().zip(ends) {
                places[*class as usize] = (at as u32, start, *end);
                start = *end;
            }
        }
        Self { pieces: pieces.into_iter().map(|(elements, _)| elements).collect(), places }
    }

    /// The set of a class that was asked for.
    pub(crate) fn set(&self, class: u32) -> &[u64] {
        let (piece, start, end) = self.places[class as usize];
        &self.pieces[piece as usize][start..end]
    }
}

/// How many elements two sorted sets share.
pub fn shared<T: Copy + Ord>(left: &[T], right: &[T]) -> usize {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < left.len() && j < right.len() {
        // Without branches on the data: which set is ahead cannot be predicted.
        let (a, b) = (left[i], right[j]);
        shared += usize::from(a == b);
        i += usize::from(a <= b);
        j += usize::from(b <= a);
    }
    shared
}

/// The Jaccard similarity of two sorted sets; that of two empty ones is 0.
pub fn jaccard<T: Copy + Ord>(left: &[T], right: &[T]) -> f64 {
    let shared = shared(left, right);
    ratio(shared, left.len() + right.len() - shared)
}

/// How much of the left sorted set is in the right one; of an empty one, nothing.
pub fn containment<T: Copy + Ord>(left: &[T], right: &[T]) -> f64 {
    ratio(shared(left, right), left.len())
}

/// A similarity as the nearest float: 4/5 equals the literal 0.8, so that pairs at the threshold count as alike.
pub(crate) fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_textbook_columns() {
        let rows = |bits: &str| -> Vec<usize> {
            bits.char_indices().filter(|(_, bit)| *bit == '1').map(|(at, _)| at).collect()
        };
        assert_eq!(jaccard(&rows("10111"), &rows("10011")), 0.75);
    }

    #[test]
    fn a_ratio_at_the_threshold_reaches_it() {
        for hundredths in 1..=100usize {
            let threshold: f64 = format!("{}.{:02}", hundredths / 100, hundredths % 100).parse().unwrap();
            for times in 1..2000 {
                assert!(ratio(hundredths * times, 100 * times) >= threshold);
                assert!(ratio(hundredths * times - 1, 100 * times) < threshold);
            }
        }
    }

    proptest! {
        #[test]
        fn similarity_laws(left: BTreeSet<u8>, right: BTreeSet<u8>) {
            let (a, b): (Vec<u8>, Vec<u8>) = (left.iter().copied().collect(), right.iter().copied().collect());
            prop_assert_eq!(shared(&a, &b), left.intersection(&right).count());
            prop_assert_eq!(jaccard(&a, &b), jaccard(&b, &a));
            prop_assert_eq!(jaccard(&a, &a), if a.is_empty() { 0.0 } else { 1.0 });
            prop_assert!(containment(&a, &b) >= jaccard(&a, &b));
        }
    }
}
